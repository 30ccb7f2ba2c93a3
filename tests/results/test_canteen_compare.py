"""Comparisons of runs, worked out by hand."""

import math

import pytest
from canteen_runs import FAILED, canteen_run, row, titled, tray

from lmms_eval_food.results.canteen import canteen_tables
from lmms_eval_food.results.canteen.entries import MARK

FOODS = ("rice", "soup", "tea", "fish")


def photos(found, grams=100.0, people=("p1", "p1", "p2", "p2")):
    """Four photos of one food of 100 g each; those in `found` are named, with this weight."""
    return [
        tray(f"{at}.jpg", [(food, 100.0)], [(food if at in found else "?", grams)], participant=who)
        for at, (food, who) in enumerate(zip(FOODS, people, strict=True))
    ]


GOOD, FAIR, POOR = photos({0, 1, 2, 3}), photos({0, 1, 2}), photos({0})


def test_differences_of_every_two_models():
    runs = [
        canteen_run(log, f"size={name}") for log, name in ((GOOD, "a"), (FAIR, "b"), (POOR, "c"))
    ]
    table = titled(canteen_tables(runs, resamples=400), "differences between models")
    pairs = [cells[1:3] for cells in table.rows if cells[0] == "F1"]
    assert pairs == [
        ("made size=a", "made size=b"),
        ("made size=a", "made size=c"),
        ("made size=b", "made size=c"),
    ]
    found = row(table, "F1", "made size=a", "made size=c")
    assert found["first minus second"] == 0.75
    assert found["95% interval"] == "[0.250, 1.000]"
    # Only when the first photo is drawn four times do both score 1: 1 resample of 256.
    assert found["p"] < 0.05
    assert found["share of resamples above 0"] > 0.97
    # Missed foods weigh 129 g in NMAE.
    nmae = row(table, "NMAE", "made size=a", "made size=c")
    assert nmae["first minus second"] == -0.75 * 129


def test_a_model_against_itself_does_not_differ():
    runs = [canteen_run(FAIR, "size=a"), canteen_run(FAIR, "size=b")]
    tables = canteen_tables(runs, resamples=50)
    found = row(titled(tables, "differences between models"), "F1")
    assert (found["first minus second"], found["95% interval"]) == (0.0, "[0.000, 0.000]")
    assert (found["p"], found["share of resamples above 0"]) == (1.0, 0.0)
    assert [cells[1] for cells in titled(tables, "probability of ranking first").rows] == [0.5, 0.5]


def test_the_better_model_ranks_first():
    runs = [canteen_run(GOOD, "size=a"), canteen_run(POOR, "size=b")]
    tables = canteen_tables(runs, resamples=200)
    first, second = titled(tables, "probability of ranking first").rows
    assert first[1] > 0.99 > second[1]
    assert first[1] + second[1] == pytest.approx(1.0)


def test_comparisons_use_the_photos_that_all_answered():
    failed = tray("0.jpg", [("rice", 100.0)], status="failed", raw=FAILED)
    runs = [canteen_run([failed, *GOOD[1:]], "size=a"), canteen_run(POOR, "size=b", documents=9)]
    tables = canteen_tables(runs, resamples=20)
    table = titled(tables, "differences between models")
    found = row(table, "F1")
    # Without photo 0 the poor run names nothing; on its own four photos it scores 0.25.
    assert found["first minus second"] == 1.0
    assert "On the 3 photos" in table.note
    assert row(titled(tables, "recognition and portions"), f"{MARK} made size=b")["F1"] == 0.25
    # No run is complete: they are compared among themselves, and marked.
    assert (found["first"], found["second"]) == (f"{MARK} made size=a", f"{MARK} made size=b")
    assert table.note.endswith("the table of runs says why; no run here is complete.")


def everything(tables):
    return {
        (table.title, repr(cells))
        for table in tables
        for cells in table.rows
        if not any(str(cell).startswith(MARK) for cell in cells)
    }


def test_a_run_of_few_photos_changes_no_number_of_a_complete_one():
    runs = [
        *(canteen_run(FAIR, "size=a", temperature=t) for t in (0.0, 0.6)),
        canteen_run(GOOD, "size=b", temperature=0.0),
        canteen_run(GOOD, "size=b", temperature=0.6, seed=2),
    ]
    # Only the photo that is right, at another temperature: F1 1.0 if it were taken seriously.
    limited = canteen_run(POOR[:1], "size=a", documents=4, temperature=1.0)
    alone, beside = (canteen_tables(r, resamples=50) for r in (runs, [*runs, limited]))
    changed = {title for title, _ in everything(alone) ^ everything(beside)}
    # What names the run or the photos that it answered.
    assert changed == {"Canteen: temperatures", "Canteen: reference predictors"}
    found = row(titled(beside, "temperatures"), "made size=a")
    assert (found["best T"], found["photos"], found["temperatures"]) == (0.0, 4, "0, 0.6")
    assert found["left out as incomplete"] == "1"
    label = f"{MARK} made size=a T=1"
    for title in ("runs", "recognition and portions", "participants", "penalty of a missed item"):
        table = titled(beside, title)
        assert label in {cell for cells in table.rows for cell in cells}
        assert table.note.endswith("in no comparison with complete runs, on its own photos.")
    assert row(titled(beside, "penalty of a missed item"), label)["photos"] == 1
    # Incomplete runs come last.
    assert titled(beside, "recognition and portions").rows[-1][0] == label
    for title in ("differences between models", "probability of ranking first"):
        assert "Without 1 incomplete runs." in titled(beside, title).note
        assert label not in {cell for cells in titled(beside, title).rows for cell in cells}


def test_another_task_version_is_compared_apart():
    runs = [canteen_run(GOOD, "size=a"), canteen_run(GOOD, "size=b")]
    for number, run in enumerate(runs, 1):
        run.results["versions"] = {"canteen_portions": number}
    tables = canteen_tables(runs, resamples=5)
    titles = [table.title for table in tables if "recognition" in table.title]
    assert titles == [
        f"Canteen: recognition and portions (made@1, equal names, v{number})" for number in (1, 2)
    ]
    assert not [table for table in tables if "differences" in table.title]


def test_one_model_alone_is_compared_with_nothing():
    tables = canteen_tables([canteen_run(GOOD)], resamples=2)
    titles = " ".join(table.title for table in tables)
    for absent in ("differences", "ranking", "temperatures", "replicates"):
        assert absent not in titles


def test_scores_with_and_without_each_participant():
    table = titled(canteen_tables([canteen_run(FAIR)], resamples=2), "participants")
    first, second = row(table, "p1"), row(table, "p2")
    assert (first["photos"], second["photos"]) == (2, 2)
    assert (first["F1"], first["F1 without them"]) == (1.0, 0.5)
    assert (second["F1"], second["F1 without them"]) == (0.5, 1.0)
    assert (second["precision"], second["NMAE"]) == (0.5, 129 / 2)


def test_the_ranking_without_a_participant():
    # Run a is better on p1's photos, run b on p2's two of three; over all b leads.
    people = ("p1", "p2", "p2", "p3")
    runs = [
        canteen_run(photos({0, 3}, people=people), "size=a"),
        canteen_run(photos({1, 2, 3}, people=people), "size=b"),
    ]
    table = titled(canteen_tables(runs, resamples=2), "ranking without one participant")
    best = {cells[1]: cells[3] for cells in table.rows if cells[0] == "F1"}
    assert best == {"p1": "made size=b", "p2": "made size=a", "p3": "made size=b"}
    spearman = {cells[1]: cells[4] for cells in table.rows if cells[0] == "F1"}
    assert spearman == pytest.approx({"p1": 1.0, "p2": -1.0, "p3": 1.0})
    assert row(table, "F1", "p2")["photos left"] == 2


def sweep():
    return [
        canteen_run(FAIR, "size=a", temperature=0.0),
        canteen_run(GOOD, "size=a", temperature=0.2),
        canteen_run(POOR, "size=a", temperature=1.0),
    ]


def test_best_and_mean_over_temperatures():
    table = titled(canteen_tables(sweep(), resamples=200), "temperatures")
    found = row(table, "made size=a", "canteen_portions")
    assert (found["best T"], found["F1 at best T"]) == (0.2, 1.0)
    assert found["mean F1 over T"] == pytest.approx((0.75 + 1 + 0.25) / 3)
    assert found["temperatures"] == "0, 0.2, 1"
    # The best run is never beaten on a resample: ties go to the first, which then scores the same.
    assert 0 <= found["selection optimism"] <= 0.25
    assert found["F1 corrected"] == pytest.approx(1.0 - found["selection optimism"])
    assert "Spearman" not in table.note


def test_one_choice_of_temperature_on_common_photos():
    # Its own four photos: 0.75 at T=0; three photos: 1.0 at T=0.6; on those three 2/3 and 1.
    failed = tray("3.jpg", [("fish", 100.0)], status="failed", raw=FAILED)
    cool = canteen_run(photos({0, 1, 3}), "size=a", documents=5, temperature=0.0)
    warm = canteen_run([*photos({1, 2})[:3], failed], "size=a", temperature=0.6)
    other = canteen_run(POOR, "size=b", documents=5)
    tables = canteen_tables([cool, warm, other], resamples=20)
    found = row(titled(tables, "temperatures"))
    # On the three photos that both answered both name two of three: the first is chosen.
    assert (found["best T"], found["F1 at best T"], found["photos"]) == (0.0, 2 / 3, 3)
    compared = titled(tables, "differences between models")
    assert row(compared, "F1")["first"] == f"{MARK} made size=a T=0"
    shown = titled(tables, "scores by temperature")
    assert [cells[2:4] + cells[5:] for cells in shown.rows] == [(0.0, 2 / 3, 3), (0.6, 2 / 3, 3)]


def test_replicates_are_averaged_on_photos_that_all_answered():
    failed = tray("0.jpg", [("rice", 100.0)], status="failed", raw=FAILED)
    runs = [
        canteen_run(POOR, "size=a,seed=1", documents=5),
        canteen_run([failed, *GOOD[1:]], "size=a,seed=2"),
    ]
    found = row(titled(canteen_tables(runs, resamples=5), "replicates"))
    # Without photo 0: none of three right, and all of three.
    assert (found["mean F1"], found["photos"]) == (0.5, 3)


def test_models_are_ranked_by_best_and_by_mean():
    other = [
        canteen_run(FAIR, "size=b", temperature=0.0),
        canteen_run(FAIR, "size=b", temperature=1.0),
    ]
    # Best: a 1.0, b 0.75. Mean: a 0.667, b 0.75.
    note = titled(canteen_tables([*sweep(), *other], resamples=20), "temperatures").note
    assert "Spearman of best and mean over models: -1.00" in note


def test_models_are_compared_at_their_best_temperature():
    runs = [*sweep(), canteen_run(FAIR, "size=b", temperature=1.0)]
    table = titled(canteen_tables(runs, resamples=2), "differences between models")
    assert row(table, "F1")["first"] == "made size=a T=0.2"
    assert row(table, "F1")["first minus second"] == 0.25


def test_replicates_have_a_mean_and_a_spread():
    runs = [
        canteen_run(FAIR, "size=a,seed=1", temperature=0.6),
        canteen_run(GOOD, "size=a,seed=2", temperature=0.6),
        canteen_run(POOR, "size=a", temperature=0.0),
    ]
    found = row(titled(canteen_tables(runs, resamples=20), "replicates"), "made size=a")
    assert (found["T"], found["runs"]) == (0.6, 2)
    assert found["mean F1"] == 0.875
    assert found["sd of F1"] == pytest.approx(0.25 / math.sqrt(2))
    assert found["mean NMAE"] == 129 / 8


def test_the_first_replicate_stands_for_its_temperature():
    runs = [
        canteen_run(POOR, "size=a,seed=1", temperature=0.6),
        canteen_run(GOOD, "size=a,seed=2", temperature=0.6),
        canteen_run(FAIR, "size=a", temperature=0.0),
    ]
    found = row(titled(canteen_tables(runs, resamples=20), "temperatures"), "made size=a")
    assert (found["best T"], found["F1 at best T"]) == (0.0, 0.75)


def test_both_prompts_of_a_model_are_two_models():
    runs = [canteen_run(GOOD), canteen_run(POOR, task="canteen_portions_concise")]
    tables = canteen_tables(runs, resamples=20)
    found = row(titled(tables, "differences between models"), "F1")
    assert (found["first"], found["second"]) == ("made size=7b", "made size=7b (concise)")
    assert "temperatures" not in " ".join(table.title for table in tables)
