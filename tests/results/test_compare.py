import math

import numpy as np
import pytest
from canteen_runs import canteen_run, tray
from made_runs import cells, choice, made_run
from run_files import vqa_record, write_run

from lmms_eval_food.results.cli import main
from lmms_eval_food.results.compare import CompareError, compare_tables, html, named
from lmms_eval_food.results.differences import differences
from lmms_eval_food.results.joined import Settings
from lmms_eval_food.results.logs import Run

TASK = "diningbench_cls"


def answers(right, **fields):
    """Records of one question a dish, right where the flag says so; None is a failed request."""
    return [
        choice(f"q{n}", "A", "failed" if flag is None else "A" if flag else "B", f"d{n}", **fields)
        for n, flag in enumerate(right)
    ]


def compared(*runs, **options):
    named_runs = {f"run {n}": run for n, run in enumerate(runs, 1)}
    return {t.title: t for t in compare_tables(named_runs, resamples=200, **options)}


def test_differences_are_paired_on_shared_documents():
    first = made_run({TASK: answers([True, True, True, False])})
    second = made_run({TASK: answers([True, False, None, False, True])})
    tables = compared(first, second)
    columns = ("task", "score", "documents", "first score", "second score", "first minus second")
    # The failed request and the document that only the second run has do not count.
    assert cells(tables["Differences"], *columns) == [
        (TASK, "accuracy", 3, pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3))
    ]


def test_documents_that_differ_are_listed():
    first = made_run({TASK: answers([True, True, False, False])})
    second = made_run({TASK: answers([True, False, True, False])})
    table = compared(first, second)["Documents that differ most"]
    columns = ("document", "first score", "second score", "first minus second", "first answer")
    assert cells(table, *columns) == [("q1", 1.0, 0.0, 1.0, "A"), ("q2", 0.0, 1.0, -1.0, "B")]


def test_runs_that_agree_have_no_such_list():
    run = made_run({TASK: answers([True, False])})
    tables = compared(run, run)
    assert list(tables) == ["Differences"]
    assert cells(tables["Differences"], "first minus second", "p") == [(0.0, 1.0)]


def test_p_is_mcnemars_where_each_dish_has_one_question():
    # Nine questions that only the first run has right, one that only the second has, two that both
    # have: 2 (1 + 10) / 2 ** 10.
    runs = [
        made_run({TASK: answers([True] * 9 + [False] + [True] * 2)}),
        made_run({TASK: answers([False] * 9 + [True] + [True] * 2)}),
    ]
    ((p, adjusted),) = cells(compared(*runs)["Differences"], "p", "Holm p")
    assert p == pytest.approx(22 / 1024)
    assert adjusted == p


def test_holm_is_within_one_task_and_score():
    good, poor = [True] * 6, [False] * 6
    tasks = (TASK, "diningbench_cls_en")
    runs = [made_run({task: answers(flags) for task in tasks}) for flags in (good, poor, poor)]
    found = cells(compared(*runs)["Differences"], "task", "first", "second", "p", "Holm p")
    # Six of six dishes: p = 2 / 2 ** 6. Three pairs of runs, of which two differ.
    for task in tasks:
        assert [row[1:] for row in found if row[0] == task] == [
            ("run 1", "run 2", 2 / 64, pytest.approx(6 / 64)),
            ("run 1", "run 3", 2 / 64, pytest.approx(6 / 64)),
            ("run 2", "run 3", 1.0, 1.0),
        ]


def test_runs_that_differ_much_are_told_apart_whatever_their_number():
    flags = [[True] * 40, *([False] * 40 for _ in range(11))]
    found = cells(
        compared(*(made_run({TASK: answers(one)}) for one in flags))["Differences"], "Holm p"
    )
    assert len(found) == 66
    assert sum(p < 0.05 for (p,) in found) == 11


def test_p_is_about_uniform_where_runs_are_equally_good():
    rng = np.random.default_rng(7)
    settings = Settings(resamples=2)
    found = []
    for _ in range(300):
        # 80 dishes of three questions, answered alike within a dish, with one success rate.
        flags = [np.repeat(rng.random(80) < 0.6, 3).tolist() for _ in range(2)]
        runs = [
            [choice(f"q{n}", "A", "A" if flag else "B", f"d{n // 3}") for n, flag in enumerate(one)]
            for one in flags
        ]
        found.append(differences(TASK, *runs, settings)["accuracy"].p)
    below = np.array([(np.array(found) <= level).mean() for level in (0.05, 0.25, 0.5)])
    # No more than asked, but for chance; less by the steps that p has with some 40 coins.
    assert (below < [0.08, 0.30, 0.56]).all()
    assert (below > [0.01, 0.10, 0.30]).all()


def test_questions_that_share_an_id_are_paired_in_their_order():
    first = [choice("q", "A", "A", "d1"), choice("q", "B", "A", "d1"), choice("p", "A", "A", "d2")]
    second = [choice("q", "A", "A", "d1"), choice("q", "B", "B", "d1"), choice("p", "A", "B", "d2")]
    tables = compared(made_run({TASK: first}), made_run({TASK: second}))
    columns = ("documents", "first score", "second score")
    assert cells(tables["Differences"], *columns) == [
        (3, pytest.approx(2 / 3), pytest.approx(2 / 3))
    ]
    listed = cells(tables["Documents that differ most"], "document", "first minus second")
    assert listed == [("p", 1.0), ("q (2)", -1.0)]


def test_three_runs_make_three_pairs():
    runs = [
        made_run({TASK: answers(flags)}) for flags in ([True, True], [True, False], [False] * 2)
    ]
    found = cells(compared(*runs)["Differences"], "first", "second", "first minus second")
    assert found == [("run 1", "run 2", 0.5), ("run 1", "run 3", 1.0), ("run 2", "run 3", 0.5)]


def test_dishes_are_drawn_whole():
    def questions(flags):
        return [choice(f"q{n}", "A", "A" if f else "B", "one dish") for n, f in enumerate(flags)]

    tables = compared(
        made_run({TASK: questions([True] * 9)}), made_run({TASK: questions([False] * 9)})
    )
    ((between, p),) = cells(tables["Differences"], "95% interval", "p")
    assert between == ""
    assert math.isnan(p)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({"data": "a@1"}, {"data": "a@2"}, "other data: a@1 and a@2"),
        ({"data": "a@1"}, {"data": "a@1 "}, "other data: a@1 and a@1 "),
    ],
)
def test_other_data_are_not_compared(first, second, why):
    runs = [made_run({TASK: [choice("q", "A", "A", **fields)]}) for fields in (first, second)]
    table = compared(*runs)["Not compared"]
    assert cells(table, "task", "why") == [(TASK, why)]


def test_other_matchers_are_not_compared():
    runs = [
        canteen_run([tray("1.jpg", [("rice", 100.0)], [("rice", 90.0)], matcher=name)])
        for name in ("small", "large")
    ]
    table = compared(*runs)["Not compared"]
    assert cells(table, "why") == [("other matcher: small and large",)]


def test_other_judges_are_not_compared():
    runs = [
        made_run({"diningbench_vqa": [vqa_record("1", judge=name), vqa_record("2", judge=name)]})
        for name in ("openai:one prompt@1", "openai:two prompt@1", "")
    ]
    tables = compared(*runs)
    assert cells(tables["Not compared"], "first", "second", "why") == [
        ("run 1", "run 2", "other judge: openai:one prompt@1 and openai:two prompt@1")
    ]
    # Without a judge there is only ROUGE to compare.
    found = cells(tables["Differences"], "first", "second", "score")
    assert [row for row in found if row[2] == "judged accuracy"] == []
    assert ("run 1", "run 3", "ROUGE-L") in found


def test_a_copy_is_no_second_run(tmp_path, capsys):
    write_run(tmp_path / "a")
    write_run(tmp_path / "b")
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == 1
    assert "two runs at least are needed" in capsys.readouterr().err


def test_canteen_runs_are_compared_on_common_photos():
    truth = [("rice", 100.0), ("soup", 200.0)]
    first = canteen_run([tray("1.jpg", truth, [("rice", 100.0), ("soup", 230.0)])])
    second = canteen_run(
        [tray("1.jpg", truth, [("rice", 90.0)]), tray("2.jpg", truth, [("rice", 90.0)])]
    )
    tables = compared(first, second)
    found = cells(tables["Differences"], "score", "documents", "first score", "second score")
    # F1 of one of two foods: 2/3. NMAE: (0 + 30) / 2 and (10 + 129) / 2.
    assert found == [("F1", 1, 1.0, pytest.approx(2 / 3)), ("NMAE", 1, 15.0, 69.5)]
    listed = cells(tables["Documents that differ most"], "document", "first minus second")
    assert listed == [("1.jpg", pytest.approx(1 / 3))]


def test_canteen_p_swaps_whole_photos():
    truth = [("rice", 100.0), ("soup", 200.0)]
    images = [f"{n}.jpg" for n in range(6)]
    runs = [
        canteen_run([tray(image, truth, [("rice", 100.0), ("soup", 200.0)]) for image in images]),
        canteen_run([tray(image, truth, [("rice", 100.0)]) for image in images]),
    ]
    found = cells(compared(*runs)["Differences"], "score", "p")
    assert found == [("F1", pytest.approx(2 / 64)), ("NMAE", pytest.approx(2 / 64))]


def test_nutrition_is_compared_by_its_errors():
    def dish(name, predicted):
        return {
            **dict.fromkeys(("step", "raw"), ""),
            "id": name,
            "reader": "robust",
            "status": "ok",
            "marks": [],
            "counts": True,
            "predicted": predicted,
            "true": [100.0, 10.0, 20.0, 5.0],
            "views_short": False,
            "data": "made@1",
            "broken_pictures": 0,
        }

    task = "diningbench_nutrition"
    runs = [
        made_run({task: [dish(str(n), [100.0 + off, 10.0, 20.0, 5.0]) for n in range(6)]})
        for off in (8.0, 40.0)
    ]
    columns = ("score", "first score", "second score", "p")
    found = {row[0]: row[1:] for row in cells(compared(*runs)["Differences"], *columns)}
    # Six dishes of six: 2 / 2 ** 6, whatever the score.
    assert found["MAE"] == (2.0, 10.0, 2 / 64)
    assert found["RMSE"] == (2.0, 10.0, 2 / 64)
    assert found["MAPE, %"][2] == 2 / 64


def test_incomplete_runs_are_told(tmp_path, capsys):
    for name, limit in (("a", None), ("b", 3)):
        write_run(tmp_path / name, model_args=f"size={name}", limit=limit)
    assert main(["compare", str(tmp_path / "b"), str(tmp_path / "a"), "--resamples", "9"]) == 0
    printed = capsys.readouterr().out
    assert "incomplete: made size=b" in printed
    # In the order in which they were typed.
    assert printed.index("made size=b") < printed.index("made size=a")


def test_one_run_alone_is_an_error(tmp_path, capsys):
    with pytest.raises(CompareError, match="two runs"):
        compared(made_run({TASK: answers([True])}))
    write_run(tmp_path)
    assert main(["compare", str(tmp_path)]) == 1
    assert capsys.readouterr().err == "lmms-eval-food: two runs at least are needed\n"


def test_runs_without_a_common_task_are_an_error():
    runs = made_run({TASK: answers([True])}), made_run({"diningbench_cls_en": answers([True])})
    with pytest.raises(CompareError, match="share a food task"):
        compared(*runs)


def test_runs_of_one_title_are_numbered():
    runs = [made_run({}), made_run({}, gen_kwargs="temperature=1"), made_run({})]
    assert list(named(runs)) == ["made size=7b", "made size=7b temperature=1", "made size=7b (2)"]


def test_the_page_shows_hostile_answers_as_text(tmp_path):
    hostile = "<script>alert(1)</script>\"'\u202e"
    first = made_run({TASK: [choice("q", "A", "B", raw=hostile)]}, model_args=hostile)
    second = made_run({TASK: [choice("q", "A", "A")]})
    runs: dict[str, Run] = named([first, second])
    text = html(runs, compare_tables(runs, resamples=5))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert text == html(runs, compare_tables(runs, resamples=5))


def test_the_page_is_written(tmp_path):
    for name in "ab":
        write_run(tmp_path / name, model_args=f"size={name}")
    out = tmp_path / "pages" / "compare.html"
    logs = [str(tmp_path / name) for name in "ab"]
    assert main(["compare", *logs, "--resamples", "9", "--html", str(out)]) == 0
    assert '<h2 id="tables-title">' in out.read_text("utf-8")
