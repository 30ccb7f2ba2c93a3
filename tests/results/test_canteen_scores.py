"""Tables of recognition, portions and repairs, worked out by hand."""

import math

import pytest
from canteen_runs import FAILED, canteen_run, row, titled, tray
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.results.canteen import canteen_tables, rescored

LABEL = "made size=7b"
# Photo 1: rice 20 g too heavy, soup without grams, cake false. Photo 2: tea missed, bread right.
TRAYS = [
    tray(
        "1.jpg",
        [("rice", 100.0), ("soup", 200.0)],
        [("rice", 120.0), ("soup", None), ("cake", 50.0)],
        participant="p1",
    ),
    tray("2.jpg", [("tea", 300.0), ("bread", 60.0)], [("bread", 60.0)], participant="p2"),
]


@pytest.fixture(scope="module")
def tables():
    return canteen_tables([canteen_run(TRAYS)], resamples=50)


def test_main_table(tables):
    found = row(titled(tables, "recognition and portions"), LABEL)
    assert (found["tp"], found["fp"], found["fn"], found["P"]) == (3, 1, 1, 2)
    assert (found["precision"], found["recall"], found["F1"]) == (0.75, 0.75, 0.75)
    assert (found["MAE"], found["MedAE"], found["MedAPE %"]) == (10.0, 10.0, 10.0)
    assert found["RMSE"] == pytest.approx(math.sqrt(200))
    # Soup and tea have no matched estimate.
    assert found["NMAE"] == (20 + 2 * 129) / 4
    assert found["cpMAE"] == (20 + 200 + 300) / 4
    assert found["cpMAE+FP"] == (20 + 200 + 300 + 50) / 4
    # 170 g said of 300 g; 60 g of 360 g.
    assert found["Meal AE"] == (130 + 300) / 2


def test_intervals_lie_around_the_score(tables):
    shown = row(titled(tables, "recognition and portions"), LABEL)["F1 95% interval"]
    # Photo 1 alone scores 0.8, photo 2 alone 2/3.
    assert shown == "[0.667, 0.800]"
    everything = row(titled(tables, "intervals of all scores"), LABEL)
    assert everything["F1"] == shown
    assert everything["Meal AE"] == "[130.0, 300.0]"


def test_notes_state_threshold_resamples_and_seed(tables):
    note = titled(tables, "recognition and portions").note
    for part in ("Similarity >= 0.5 by equal names", "50 resamples", "seed 0", "w0 = 129 g"):
        assert part in note


def test_penalty_halved_and_doubled(tables):
    found = row(titled(tables, "penalty of a missed item"), LABEL)
    assert found["NMAE w0 = 64.5 g"] == (20 + 2 * 64.5) / 4
    assert found["NMAE w0 = 258 g"] == (20 + 2 * 258) / 4


def test_a_missed_food_that_costs_its_own_weight_turns_the_ranking():
    # One finds nothing: 2 w0. The other's two estimates are 300 g off each: 300 g whatever w0 is.
    true = [("rice", 400.0), ("soup", 400.0)]
    blind = canteen_run([tray("1.jpg", true)], "size=a")
    wild = canteen_run([tray("1.jpg", true, [("rice", 100.0), ("soup", 100.0)])], "size=b")
    tables = canteen_tables([blind, wild], resamples=2)
    found = row(titled(tables, "penalty of a missed item"), "Spearman with w0 = 129 g")
    assert found["NMAE w0 = 64.5 g"] == pytest.approx(1.0)
    assert found["NMAE w0 = 129 g"] == pytest.approx(1.0)
    assert found["NMAE w0 = 258 g"] == pytest.approx(1.0)
    # By their own weight the missed foods cost 400 g each.
    assert found["cpMAE"] == pytest.approx(-1.0)


def test_references_by_hand(tables):
    table = titled(tables, "reference predictors")
    null = row(table, "null")
    assert (null["photos of"], null["photos"], null["true items"]) == ("every run", 2, 4)
    assert (null["NMAE"], null["cpMAE"], null["Meal AE"]) == (129.0, 165.0, 330.0)
    # The median of 60, 100, 200 and 300 g is 150 g.
    median = row(table, "global median")
    assert median["MAE"] == (50 + 50 + 150 + 90) / 4
    assert median["MedAE"] == 70.0
    assert median["Meal AE"] == (0 + 60) / 2
    # No food comes twice: every item falls back to the median.
    assert row(table, "typical serving")["MAE"] == median["MAE"]


def test_references_of_runs_that_answered_other_photos():
    failed = tray("2.jpg", [("tea", 300.0)], status="failed", raw=FAILED)
    runs = [canteen_run(TRAYS, "size=a"), canteen_run([TRAYS[0], failed], "size=b")]
    table = titled(canteen_tables(runs, resamples=2), "reference predictors")
    sizes = {(cells[1], cells[2]) for cells in table.rows}
    assert sizes == {("made size=a", 2), ("(incomplete) made size=b", 1)}


def test_scores_at_each_threshold():
    record = tray(
        "1.jpg",
        [("rice", 100.0), ("soup", 200.0)],
        [("boiled rice", 100.0), ("broth", 150.0)],
        [[0.85, 0.1], [0.1, 0.55]],
    )
    tables = canteen_tables([canteen_run([record])], resamples=2)
    columns = ("run", ">= 0.5", ">= 0.6", ">= 0.7", ">= 0.8", ">= 0.9")
    assert titled(tables, "F1 by threshold").columns == columns
    assert titled(tables, "F1 by threshold").rows == ((LABEL, 1.0, 0.5, 0.5, 0.5, 0.0),)
    nmae = (LABEL, 25.0, *[129 / 2] * 3, 129.0)
    assert titled(tables, "NMAE by threshold").rows == (nmae,)


def test_the_threshold_is_that_of_the_records():
    record = tray("1.jpg", [("rice", 100.0)], [("boiled rice", 100.0)], [[0.75]])
    found = canteen_tables([rescored(canteen_run([record]), threshold=0.75)], resamples=2)
    main = titled(found, "recognition and portions")
    assert row(main, LABEL)["F1"] == 1.0
    assert (
        "Similarity >= 0.75 by equal names. Rescored; logged with equal names >= 0.5" in main.note
    )
    assert titled(found, "F1 by threshold").columns == ("run", ">= 0.75", ">= 0.8", ">= 0.9")
    assert titled(found, "F1 by threshold").rows == ((LABEL, 1.0, 0.0, 0.0),)


def test_optimal_assignment_can_find_more_than_greedy():
    # Greedy takes 0.9 and leaves 0.1; the optimum takes 0.8 twice.
    record = tray(
        "1.jpg",
        [("rice", 100.0), ("rice salad", 100.0)],
        [("rice dish", 100.0), ("cold rice", 100.0)],
        [[0.9, 0.8], [0.8, 0.1]],
    )
    found = row(
        titled(
            canteen_tables([canteen_run([record])], resamples=2), "greedy and optimal assignment"
        ),
        LABEL,
    )
    assert (found["F1 greedy"], found["F1 Hungarian"], found["difference"]) == (0.5, 1.0, 0.5)
    assert (found["photos changed"], found["largest difference at any threshold"]) == (1, 0.5)


REPAIRS = [
    tray("1.jpg", [("rice", 100.0)], [("rice", 100.0)]),
    tray("2.jpg", [("soup", 100.0)], [("soup", 100.0)], status="repaired", step="json_repair"),
    tray("3.jpg", [("tea", 100.0)], [("tea", 100.0)], status="repaired", step="list"),
    tray("4.jpg", [("fish", 100.0)], [("fish", None)], status="repaired", step="model", raw="fi"),
    tray("5.jpg", [("cake", 100.0)], status="unreadable", step=""),
    tray("6.jpg", [("cake", 100.0)], status="empty", step=""),
    tray("7.jpg", [("cake", 100.0)], status="truncated", step="", broken_pictures=1),
    tray("8.jpg", [("cake", 100.0)], status="failed", step="", raw=FAILED),
]


def test_counts_of_answers():
    run = canteen_run(REPAIRS, documents=200)
    found = row(titled(canteen_tables([run], resamples=2), "runs"))
    assert found["run"] == "(incomplete) made size=7b"
    problems = "8 of 200 documents; 1 failed requests; 1 pictures that could not be opened"
    assert found["status"] == problems
    assert found["command"] == "made size=7b"
    assert (found["photos"], found["of"], found["failed"]) == (8, 200, 1)
    assert (found["unreadable"], found["empty"], found["truncated"]) == (1, 1, 1)
    steps = [found[f"repaired by {step}"] for step in ("json", "json_repair", "list", "model")]
    assert steps == [0, 1, 1, 1]
    assert (found["items a photo"], found["true items a photo"]) == (4 / 7, 1.0)
    assert (found["items without grams"], found["broken pictures"]) == (1, 1)


def test_repair_sensitivity():
    tables = canteen_tables([canteen_run(REPAIRS)], resamples=2)
    found = row(titled(tables, "what repairs change"))
    assert (found["repair rate"], found["empty rate"]) == (3 / 7, 3 / 7)
    # Right items of predicted and 7 true ones: 4 of 4, 1 of 1, 2 of 2.
    assert found["F1"] == pytest.approx(8 / 11)
    assert found["F1 repaired as empty"] == pytest.approx(2 / 8)
    assert found["F1 JSON parser alone"] == pytest.approx(4 / 9)
    assert found["items not in the text"] == 1
    foreign = titled(tables, "items whose words are not in the answer")
    assert foreign.rows == (("(incomplete) made size=7b", "4.jpg", "fish", "model"),)


def test_words_within_json_escapes_are_in_the_text():
    record = tray("1.jpg", [("tè", 100.0)], [("tè", 100.0)], raw='["t\\u00e8"]')
    tables = canteen_tables([canteen_run([record])], resamples=2)
    assert row(titled(tables, "what repairs change"))["items not in the text"] == 0
    assert not [table for table in tables if "not in the answer" in table.title]


def test_the_official_reading_is_reported_on_demand():
    official = tray("1.jpg", [("rice", 100.0)], reader="official", status="unreadable")
    robust = tray("1.jpg", [("rice", 100.0)], [("rice", 100.0)])
    run = canteen_run([official, robust])
    f1 = [
        row(titled(canteen_tables([run], resamples=2, reader=reader), "recognition and portions"))[
            "F1"
        ]
        for reader in ("official", "robust")
    ]
    assert f1 == [0.0, 1.0]


def test_runs_of_another_matcher_are_never_in_one_table():
    other = [{**record, "matcher": "another"} for record in TRAYS]
    tables = canteen_tables([canteen_run(TRAYS, "size=a"), canteen_run(other, "size=b")])
    mains = [table for table in tables if table.title.startswith("Canteen: recognition")]
    assert [len(table.rows) for table in mains] == [1, 1]
    assert [table.title for table in mains] == [
        "Canteen: recognition and portions (made@1, equal names)",
        "Canteen: recognition and portions (made@1, another)",
    ]
    for table, name in zip(mains, ("equal names", "another"), strict=True):
        assert f"Similarity >= 0.5 by {name}." in table.note
    assert not [table for table in tables if "differences" in table.title]


def test_no_runs_no_tables():
    assert canteen_tables([]) == []


def test_a_run_without_an_answer_spoils_no_comparison():
    dead = canteen_run([tray("1.jpg", [("rice", 1.0)], status="failed", raw=FAILED)], "size=c")
    runs = [canteen_run(TRAYS, "size=a"), canteen_run(TRAYS, "size=b"), dead]
    tables = canteen_tables(runs, resamples=20)
    assert len(titled(tables, "runs").rows) == 3
    assert len(titled(tables, "differences between models").rows) == 4
    assert "On the 2 photos" in titled(tables, "differences between models").note


NAMES = st.sampled_from(["rice", "soup", "Rice ", "", "tea\nbag", "🍞|x"])
WEIGHTS = st.integers(0, 900).map(float)


@st.composite
def made_trays(draw):
    found = []
    for number in range(draw(st.integers(0, 4))):
        true = draw(st.lists(st.tuples(NAMES, WEIGHTS), max_size=3))
        said = draw(st.lists(st.tuples(NAMES, st.none() | WEIGHTS), max_size=3))
        cell = st.floats(-1, 1)
        similarity = [[draw(cell) for _ in true] for _ in said]
        status = draw(st.sampled_from(["ok", "repaired", "empty", "failed"]))
        fields = {"status": status, "step": draw(st.sampled_from(["json", "list", ""]))}
        fields["participant"] = draw(st.sampled_from(["p1", "p2"]))
        found.append(tray(f"{number}.jpg", true, said, similarity, **fields))
    return found


@settings(max_examples=60)
@given(st.lists(made_trays(), min_size=1, max_size=3), st.data())
def test_any_records_make_a_report(logs, data):
    runs = [
        canteen_run(log, f"size={data.draw(st.integers(0, 1))}", temperature=at / 10)
        for at, log in enumerate(logs)
    ]
    for table in canteen_tables(runs, resamples=5):
        assert table.rows
        assert all(len(cells) == len(table.columns) for cells in table.rows)
        if table.title.startswith("Canteen: what repairs"):
            for cells in table.rows:
                f1 = cells[3]
                assert math.isnan(f1) or 0 <= f1 <= 1
