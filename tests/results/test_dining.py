from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import FAILED, cells, choice, made_run, titled
from support import HostCall

from lmms_eval_food.metrics.nutrition import nutrition_scores
from lmms_eval_food.results.dining import dining_tables
from lmms_eval_food.results.dining.measures import Items, Measure, comparisons
from lmms_eval_food.results.dining.nutrition import NutritionAnswers, nutrition_items
from lmms_eval_food.results.joined import Settings
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table
from lmms_eval_food.tasks.diningbench.nutrition import NutritionRecord
from lmms_eval_food.tasks.diningbench.vqa_record import VqaRecord

CLS, NUTRITION, VQA = "diningbench_cls", "diningbench_nutrition", "diningbench_vqa"
SYMBOLS = {"x": "failed", "?": None}


def letters(answers: str) -> list[dict[str, Any]]:
    """Records of dishes whose right option is A; x is a failed request, ? is unreadable."""
    return [
        choice(str(n), "A", SYMBOLS.get(answer, answer), dish=f"dish {n}")
        for n, answer in enumerate(answers)
    ]


def tables(*runs: Run, **options: Any) -> list[Table]:
    return dining_tables(runs, **{"resamples": 200, **options})


def test_runs_without_such_tasks_give_no_tables() -> None:
    assert tables() == []
    assert tables(made_run({"culturalmenu_mc": letters("A")})) == []


def test_only_tables_whose_tasks_were_asked() -> None:
    found = tables(made_run({CLS: letters("A")}))
    assert [table.title.removeprefix("DiningBench: ") for table in found] == [
        "answers",
        "scores",
        "faults of reasoning",
    ]


def test_classification_leaves_failed_requests_out() -> None:
    run = made_run({CLS: letters("AB?x")}, results={CLS: {"views_short,robust": 2}})
    found = tables(run)
    assert titled(found, "answers").rows == (("made size=7b", CLS, 4, 1, 1, 2, None, "made@1"),)
    assert cells(titled(found, "scores"), "score", "items", "value") == [
        ("accuracy", 3, pytest.approx(1 / 3))
    ]


def test_the_benchmarks_own_reader_takes_a_failed_request_for_a_wrong_answer() -> None:
    records = [record | {"correct": bool(record["correct"])} for record in letters("AB?x")]
    found = tables(made_run({CLS: records}, reader="official"), reader="official")
    assert cells(titled(found, "answers"), "failed requests", "unreadable") == [(1, 1)]
    assert cells(titled(found, "scores"), "items", "value") == [(4, 0.25)]


def test_the_interval_is_over_dishes() -> None:
    # Two dishes, one always right and one never: a resample has accuracy 0, 1/2 or 1.
    found = tables(made_run({CLS: letters("AB"), f"{CLS}_en": letters("A")}))
    assert cells(titled(found, "scores"), "95% interval") == [("[0.000, 1.000]",), ("",)]


def test_view_curve_is_paired_with_one_view() -> None:
    run = made_run({CLS: letters("ABAx"), f"{CLS}_views2": letters("AAxA")})
    other = made_run({f"{CLS}_views4": letters("BBBA")})
    table = titled(tables(run, other), "number of views")
    columns = ("score", "views", "items", "value", "with one view", "difference")
    assert cells(table, "task", *columns) == [
        ("cls", "accuracy", 1, 3, pytest.approx(2 / 3), None, None),
        ("cls", "accuracy", 2, 2, 1.0, 0.5, 0.5),
        ("cls", "accuracy", 4, 3, 0.0, pytest.approx(2 / 3), pytest.approx(-2 / 3)),
    ]
    assert not [t for t in tables(other) if t.title.endswith("number of views")]


def test_documents_that_share_an_id_are_paired_by_their_order() -> None:
    """Two dishes with a right and a wrong answer each: a run is no better than itself."""
    ids, right = ["7", "7", "8", "8"], Measure(np.array([[1.0, 0.0, 1.0, 0.0]]))
    one = Items(ids, ids, {"accuracy": right})
    found = comparisons(one, one, Settings(50))["accuracy"]
    assert (found.items, found.first, found.second) == (4, 0.5, 0.5)
    assert (found.difference.low, found.difference.high) == (0, 0)


def test_a_failed_request_does_not_shift_the_documents_of_its_id() -> None:
    true = [100.0, 10.0, 20.0, 5.0]
    near, far = ([100.0 + miss, 10, 20, 5] for miss in (4, 40))
    run = made_run(
        {
            NUTRITION: [
                dish("7", true, None, "failed", "robust"),
                dish("7", true, far, reader="robust"),
            ],
            f"{NUTRITION}_cot": [
                dish("7", true, near, reader="robust"),
                dish("7", true, far, reader="robust"),
            ],
        }
    )
    table = titled(tables(run), "minus none")
    # The second question alone was answered in both, off by 40 kcal: 10 over the four nutrients.
    assert cells(table, "score", "items", "first", "second")[0] == ("MAE", 1, 10, 10)


def test_reasoning_and_language_are_paired_by_document() -> None:
    run = made_run(
        {
            CLS: letters("AABB"),
            f"{CLS}_cot": list(reversed(letters("ABBx"))),
            f"{CLS}_en": letters("ABBB"),
            f"{CLS}_en_cot": letters("AAAA"),
        }
    )
    found = tables(run)
    columns = ("items", "first", "second", "difference")
    assert cells(titled(found, "minus none"), "difference of", *columns) == [
        (f"{CLS}_cot - {CLS}", 3, *map(pytest.approx, (1 / 3, 2 / 3, -1 / 3))),
        (f"{CLS}_en_cot - {CLS}_en", 4, 1.0, 0.25, 0.75),
    ]
    assert cells(titled(found, "minus English"), "difference of", *columns) == [
        (f"{CLS} - {CLS}_en", 4, 0.5, 0.25, 0.25),
        (f"{CLS}_cot - {CLS}_en_cot", 3, *map(pytest.approx, (1 / 3, 1, -2 / 3))),
    ]


def test_a_difference_that_every_dish_shows_has_an_interval_without_width() -> None:
    run = made_run({CLS: letters("BBBBB"), f"{CLS}_cot": letters("AAAAA")})
    table = titled(tables(run), "minus none")
    # No resample is at or below 0: p = 2 (1 + 0) / (1 + 200).
    assert cells(table, "95% interval", "p") == [("[1.000, 1.000]", pytest.approx(2 / 201))]


def test_faults_of_reasoning() -> None:
    loop = "Let me look at the plate again, it may be rice. " * 20
    records = [
        choice("1", "A", None, raw="<think>Rice or noodles"),
        choice("2", "A", "A", raw="<think>Rice</think>A"),
        choice("3", "A", None, raw=loop),
        choice("4", "A", None, raw=""),
        choice("5", "A", "failed", raw=FAILED),
    ]
    table = titled(tables(made_run({CLS: records})), "faults of reasoning")
    length = (22 + 20 + 48 * 20) / 4
    assert cells(table, "answers", "cut off", "in a loop") == [(4, 0.25, 0.25)]
    assert cells(table, "mean length, characters") == [(length,)]


def test_reasoning_that_the_prompt_opens_is_cut_off_where_no_tag_ends_it() -> None:
    raws = ["Rice? No.</think>B", "Rice or noodles", "Noodles", FAILED]
    answers = ["B", None, None, "failed"]
    records = [
        choice(str(n), "A", answer, raw=raw)
        for n, (answer, raw) in enumerate(zip(answers, raws, strict=True))
    ]
    table = titled(tables(made_run({CLS: records})), "faults of reasoning")
    assert cells(table, "answers", "cut off") == [(3, pytest.approx(2 / 3))]


def dish(
    id: str,  # noqa: A002 # a record's own field
    true: list[float],
    predicted: list[float] | None,
    status: str = "",
    reader: str = "official",
) -> dict[str, Any]:
    read = "ok" if predicted else "unreadable"
    record = NutritionRecord(
        *(id, reader, status or read, "", (), "{}", predicted, true),
        counts=reader == "official" or status != "failed",
        views_short=False,
        data="made@1",
        broken_pictures=0,
    )
    return {name: getattr(record, name) for name in NutritionRecord.__slots__}


def test_nutrition_by_hand_and_with_more_views() -> None:
    first, second = [100.0, 10.0, 20.0, 0.0], [200.0, 20.0, 20.0, 10.0]
    one = [dish("1", first, [110, 10, 10, 5]), dish("2", second, None)]
    two = [dish("2", second, second), dish("1", first, [110, 10, 10, 5])]
    run = made_run({NUTRITION: one, f"{NUTRITION}_views2": two}, reader="official")
    found = tables(run, reader="official")

    # Errors 10, 0, 10, 5 and, for the unreadable answer, the true values.
    mae = (105 + 10 + 15 + 7.5) / 4
    rmse = (math.sqrt(20050) + math.sqrt(200) + math.sqrt(250) + math.sqrt(62.5)) / 4
    # In percent 10, 0, 50 and none for fat, whose true value is 0; then 100 each.
    mape = (55 + 50 + 75 + 100) / 4
    columns = ("task", "score", "items", "value")
    assert cells(titled(found, "scores"), *columns)[:3] == [
        (NUTRITION, "MAE", 2, pytest.approx(mae)),
        (NUTRITION, "RMSE", 2, pytest.approx(rmse)),
        (NUTRITION, "MAPE, %", 2, pytest.approx(mape)),
    ]
    curve = cells(titled(found, "number of views"), "score", "views", "value", "difference")
    better = (5 + 0 + 5 + 2.5) / 4
    assert curve[0] == ("MAE", 1, pytest.approx(mae), None)
    assert curve[3] == ("MAE", 2, pytest.approx(better), pytest.approx(better - mae))

    nutrients = cells(titled(found, "nutrients"), "nutrient", "MAE", "bias", "MAPE, %")
    assert nutrients[:4] == [
        ("calories", 105, 10, 55),
        ("protein", 10, 0, 50),
        ("carbohydrates", 15, -10, 75),
        ("fat", 7.5, 5, 100),
    ]
    whole = ("true values of 0", "unreadable (whole task)", "Atwater (whole task)")
    # 4 * 10 + 4 * 10 + 9 * 5 = 125, not within a tenth of 110.
    assert cells(titled(found, "nutrients"), *whole)[3] == (1, 0.5, 0.0)
    assert cells(titled(found, "answers"), "questions", "unreadable") == [(2, 1), (2, 0)]


def test_checks_of_estimates_have_intervals_over_dishes() -> None:
    """Each of three dishes is off by -10, 0 and 10 kcal, has its own protein, and equal fat."""
    true = [[100.0, 10, 10, 5], [110.0, 20, 10, 5], [120.0, 30, 10, 5]]
    predicted = [[90.0, 20, 10, 1], [110.0, 10, 10, 1], [130.0, 30, 10, 1]]
    rows = [dish(str(n), *values) for n, values in enumerate(zip(true, predicted, strict=True))]
    table = titled(
        tables(made_run({NUTRITION: rows}, reader="official"), reader="official"), "nutrients"
    )
    columns = ("nutrient", "bias", "bias, 95% interval", "correlation", "correlation, 95% interval")
    calories, protein, carbohydrates, fat = cells(table, *columns)
    # Of 200 resamples of three dishes some hold the first alone, others the last.
    assert calories == ("calories", 0, "[-10.000, 10.000]", pytest.approx(1), "[1.000, 1.000]")
    # 1 2 3 against 2 1 3: r = 1/2 of all; the first two alone have -1, the last with one of them 1.
    assert protein == ("protein", 0, "[-10.000, 10.000]", pytest.approx(0.5), "[-1.000, 1.000]")
    assert carbohydrates[1:] == (0, "[0.000, 0.000]", pytest.approx(math.nan, nan_ok=True), "")
    assert fat[1:3] == (-4, "[-4.000, -4.000]")
    # Energy of 129, 89 and 169 kcal against 90, 110 and 130: none within a tenth.
    assert cells(table, "Atwater (whole task)", "Atwater, 95% interval")[0] == (0, "[0.000, 0.000]")


def test_nutrition_leaves_failed_requests_out_of_the_robust_scores() -> None:
    true = [100.0, 10.0, 20.0, 5.0]
    records = [
        dish("1", true, [110.0, 10, 20, 5], reader="robust"),
        dish("2", true, None, "failed", "robust"),
    ]
    found = tables(made_run({NUTRITION: records}))
    assert cells(titled(found, "scores"), "score", "items", "value")[0] == ("MAE", 1, 2.5)
    assert cells(titled(found, "answers"), "failed requests", "unreadable") == [(1, 0)]


def test_true_values_of_0_alone_have_a_mape_of_0_in_the_benchmarks_script() -> None:
    true = [[100.0, 10, 20, 0], [100.0, 10, 20, 0]]
    predicted = [[150.0, 10, 20, 5], [150.0, 10, 20, 5]]
    names = ["1", "2"]
    read = np.array([True, True])
    answers = NutritionAnswers(names, names, np.array(predicted), np.array(true), read)
    mape = {r: nutrition_items(answers, r).measures["MAPE, %"] for r in ("official", "robust")}
    assert mape["official"].score() == (50 + 0 + 0 + 0) / 4
    assert math.isnan(mape["robust"].score())


def test_an_estimate_that_is_no_number_is_never_a_good_one() -> None:
    true = np.array([[100.0, 10, 20, 5]])
    answers = NutritionAnswers(["1"], ["1"], true * [math.nan, 1, 1, 1], true, np.array([True]))
    items = nutrition_items(answers, "official")
    assert [measure.score() for measure in items.measures.values()] == [math.inf] * 3


def asked(id: str, right: bool | None, rouge: float | None, why: str = "") -> dict[str, Any]:  # noqa: A002
    record = VqaRecord(
        *(id, "robust", "ok", "stewed", (), "How is it cooked?", "stewed", "stewed", "en", ""),
        *(id, "made@1", 0, rouge, rouge, rouge),
        verdicts=None if right is None else {"official": right, "strict": right},
        not_judged=why,
    )
    return {name: getattr(record, name) for name in VqaRecord.__slots__}


def test_vqa_scores_what_was_judged() -> None:
    zh = [asked("1", True, 0.5), asked("2", False, 0.25), asked("3", None, 0.75, "no reply")]
    en = [asked("1", False, 0.5), asked("2", False, None), asked("3", True, 0.25)]
    found = tables(made_run({VQA: zh, f"{VQA}_en": en}))
    assert cells(titled(found, "answers"), "not judged") == [(1,), (0,)]
    assert cells(titled(found, "scores"), "score", "items", "value")[:2] == [
        ("judged accuracy", 2, 0.5),
        ("ROUGE-1", 3, 0.5),
    ]
    difference = titled(found, "minus English")
    assert cells(difference, "score", "items", "first", "second", "difference")[:2] == [
        ("judged accuracy", 2, 0.5, 0.0, 0.5),
        ("ROUGE-1", 2, 0.625, 0.375, 0.25),
    ]


AMOUNTS = st.lists(st.sampled_from([0.0, 1.0, 2.5, 40.0, 300.0]), min_size=4, max_size=4)
DISHES = st.lists(st.tuples(AMOUNTS, AMOUNTS, st.booleans()), min_size=1, max_size=8)


@settings(max_examples=60)
@given(DISHES, st.sampled_from(["official", "robust"]))
def test_the_report_gives_the_scores_of_the_metrics(
    dishes: list[tuple[list[float], list[float], bool]], reader: str
) -> None:
    true, predicted, readable = (np.array(column) for column in zip(*dishes, strict=True))
    names = [str(n) for n in range(len(dishes))]
    answers = NutritionAnswers(names, names, predicted, true, readable)
    expected = nutrition_scores(answers.errors(reader))
    measures = nutrition_items(answers, reader).measures
    for name, key in {"MAE": "mae", "RMSE": "rmse", "MAPE, %": "mape"}.items():
        assert measures[name].score() == pytest.approx(expected[key], nan_ok=True)


SCORES = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, math.nan]), st.sampled_from([0.0, 1.0, math.nan])),
    max_size=10,
)


@settings(max_examples=60)
@given(SCORES)
def test_a_comparison_the_other_way_round_is_its_mirror(scores: list[tuple[float, float]]) -> None:
    names = [str(n) for n in range(len(scores))]
    dishes = [str(n // 2) for n in range(len(scores))]
    one, two = (
        Items(names, dishes, {"s": Measure(np.array([[pair[side] for pair in scores]]))})
        for side in (0, 1)
    )
    there, back = (comparisons(*pair, Settings(50)) for pair in ((one, two), (two, one)))
    both = [pair for pair in scores if not math.isnan(sum(pair))]
    if not both:
        assert there == back == {}
        return
    first, second = there["s"], back["s"]
    assert first.items == second.items == len(both)
    assert first.first == pytest.approx(sum(a for a, _ in both) / len(both))
    assert first.difference.difference == -second.difference.difference
    assert first.difference.low == pytest.approx(-second.difference.high, nan_ok=True)
    assert first.difference.p_value == pytest.approx(second.difference.p_value, nan_ok=True)


@pytest.mark.slow
def test_scores_of_the_hosts_own_logs(host: HostCall) -> None:
    tasks = (CLS, f"{CLS}_views3", f"{CLS}_cot", f"{CLS}_en", NUTRITION)
    keys = {"accuracy": "acc", "MAE": "mae", "RMSE": "rmse", "MAPE, %": "mape"}
    run = host("food_reference", "predictor=random,seed=3", tasks)
    for reader in ("official", "robust"):
        found = tables(run, reader=reader)
        for task, name, value in cells(titled(found, "scores"), "task", "score", "value"):
            assert value == pytest.approx(run.score(task, keys[name], reader))
        for task, short in cells(titled(found, "answers"), "task", "with fewer views than asked"):
            assert short == run.score(task, "views_short", reader)
        for ending in ("number of views", "minus none", "minus English"):
            assert titled(found, ending).rows


def test_an_answer_of_full_length_is_cut_off() -> None:
    records = letters("AABB")
    for record, tokens in zip(records, (64, 63, 2, None), strict=True):
        record["output_tokens"] = tokens
    (found,) = [t for t in tables(made_run({CLS: records})) if "faults" in t.title]
    assert found.rows[0][2:4] == (4, 0.25)
    assert found.rows[0][-1] == 3


def test_questions_by_category() -> None:
    records = [asked("1", True, 1.0), asked("2", False, 0.0), asked("3", True, 1.0)]
    for record, category in zip(records, ("advice", "advice", ""), strict=True):
        record["category"] = category
    (found,) = [t for t in tables(made_run({VQA: records})) if "category" in t.title]
    assert [row[2:5] for row in found.rows] == [("advice", 2, 0.5)]
