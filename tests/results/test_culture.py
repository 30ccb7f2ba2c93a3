from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import FAILED, cells, choice, made_run, titled
from support import HostCall

from lmms_eval_food.results.culture import culture_tables
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table, markdown
from lmms_eval_food.tasks.culturalmenu.prompts import families

BINARY, MC, REGION = "culturalmenu_binary", "culturalmenu_mc", "culturalmenu_region"
NAME, STEPS = "dish_image-dish_name", "practice_image-dish_name"
CANTONESE = ("粤菜", "闽菜", "客家菜", "川菜")


def binary(id: str, truth: str, answer: str | None, **fields: Any) -> dict[str, Any]:  # noqa: A002
    groups = {"relation": NAME, "tier": "recognition", "language": "zh"}
    return choice(id, truth, answer, **{**groups, **fields})


def mc(id: str, truth: str, answer: str | None, **fields: Any) -> dict[str, Any]:  # noqa: A002
    groups = {"relation": "dish_image->dish_name", "tier": "recognition", "language": "en"}
    return choice(id, truth, answer, **{**groups, "letter": truth, **fields})


def region(
    id: str,  # noqa: A002
    options: tuple[str, ...],
    truth: str,
    answer: str | None,
    evidence: str = "dish_image",
    **fields: Any,
) -> dict[str, Any]:
    cuisine = options["ABCD".index(truth)]
    groups = {"evidence": evidence, "cuisine": cuisine, "letter": truth}
    return choice(id, truth, answer, options=options, **groups, **fields)


def tables(*runs: Run, **options: Any) -> list[Table]:
    return culture_tables(runs, **{"resamples": 200, **options})


def test_runs_without_such_tasks_give_no_tables() -> None:
    assert tables() == []
    assert tables(made_run({"diningbench_cls": [choice("q", "A", "A")]})) == []


def test_only_tables_whose_tasks_were_asked() -> None:
    found = tables(made_run({BINARY: [binary("q", "yes", "yes")]}))
    assert [table.title.removeprefix("CulturalMenuBench: ") for table in found] == [
        "accuracy",
        "accuracy by relation",
        "accuracy by tier",
        "accuracy by language",
        "yes-rate",
        "unreadable answers by language",
    ]


def test_accuracy_counts_failed_and_unreadable_answers() -> None:
    # Dish d1 is always right, d2 never: a resample of two dishes has accuracy 0, 1/2 or 1 (one in
    # four is 0, one in four 1), so both ends of the interval are reached.
    records = [
        binary("1", "yes", "yes", dish="d1"),
        binary("2", "no", "no", dish="d1", language="fr"),
        binary("3", "no", None, dish="d2"),
        binary("4", "yes", "no", dish="d2", language="fr", relation=STEPS, tier="process"),
        binary("5", "yes", "failed", dish="d3"),
    ]
    found = tables(made_run({BINARY: records}))
    assert titled(found, ": accuracy").rows == (
        ("made size=7b", BINARY, 5, 1, 1, 0.5, "[0.000, 1.000]", "made@1"),
    )
    by_relation = titled(found, "by relation")
    assert cells(by_relation, "relation", "answers", "accuracy") == [
        (NAME, 3, 2 / 3),
        (STEPS, 1, 0),
    ]
    assert cells(by_relation, "95% interval")[1] == ("",)  # a single dish
    by_language = cells(titled(found, "accuracy by language"), "language", "answers", "accuracy")
    assert by_language == [("zh", 2, 0.5), ("fr", 2, 0.5)]
    unreadable = titled(found, "unreadable answers by language")
    assert cells(unreadable, "language", "answers", "unreadable", "share") == [
        ("zh", 2, 1, 0.5),
        ("fr", 2, 0, 0.0),
    ]
    # Wilson's interval of 0 out of n is [0, z^2 / (n + z^2)].
    z = 1.959964
    assert cells(unreadable, "95% interval")[1] == (f"[0.000, {z**2 / (2 + z**2):.3f}]",)


def test_a_task_whose_requests_all_failed_has_no_score() -> None:
    found = tables(made_run({BINARY: [binary("1", "yes", "failed")], MC: [mc("1", "A", "failed")]}))
    counts = cells(titled(found, ": accuracy"), "questions", "failed requests", "unreadable")
    assert counts == [(1, 1, 0), (1, 1, 0)]
    assert all(math.isnan(score) for (score,) in cells(titled(found, ": accuracy"), "accuracy"))
    assert not [table for table in found if table.title.endswith("gap")]
    assert "–" in markdown(found)


def test_yes_rate_and_rejection_bias() -> None:
    # Of the four read answers one is yes; two should be.
    records = [
        binary("1", "yes", "yes", dish="a"),
        binary("2", "yes", "no", dish="b"),
        binary("3", "no", "no", dish="c"),
        binary("4", "no", "no", dish="d"),
        binary("5", "no", None, dish="e"),
        binary("6", "no", "failed", dish="f"),
    ]
    table = titled(tables(made_run({BINARY: records, f"{BINARY}_first_step": records})), "yes-rate")
    columns = ("answers read", "unreadable", "yes-rate", "right yes-rate", "rejection bias")
    assert cells(table, "task", *columns) == [
        (BINARY, 4, 1, 0.25, 0.5, 0.25),
        (f"{BINARY}_first_step", 4, 1, 0.25, 0.5, 0.25),
    ]


def chi_square_p(statistic: float) -> float:
    """Return the upper tail of chi-square with three degrees of freedom, in closed form."""
    tail = math.sqrt(2 * statistic / math.pi) * math.exp(-statistic / 2)
    return math.erfc(math.sqrt(statistic / 2)) + tail


def test_option_preference() -> None:
    # Twelve letters: A six times, the others twice; each is right three times.
    picks, truths = "AAAAAABBCCDD", "ABCDABCDABCD"
    records = [
        mc(str(n), *pair, dish=f"d{n}") for n, pair in enumerate(zip(truths, picks, strict=True))
    ]
    records += [mc("x", "A", None), mc("y", "A", "failed")]
    found = tables(made_run({MC: records, BINARY: [binary("b", "no", "no")]}))
    table = titled(found, "preference")
    assert cells(table, "answers read") == [(12,)]
    # (6 - 3)^2 / 3 + 3 (2 - 3)^2 / 3 = 4
    for kind in ("even", "right options"):
        columns = (f"chi-square ({kind})", f"p of independent answers ({kind})")
        (test,) = cells(table, *columns)
        assert test == pytest.approx((4, chi_square_p(4)))
        ((over_dishes,),) = cells(table, f"p over dishes ({kind})")
        assert 0.05 < over_dishes < 1
    assert cells(table, "smallest expected count") == [(3.0,)]
    picked = titled(found, "options picked")
    columns = ("option", "picked", "share of picks", "share of right options")
    assert cells(picked, *columns) == [
        ("A", 6, 1 / 2, 1 / 4),
        *((letter, 2, 1 / 6, 1 / 4) for letter in "BCD"),
    ]
    ((interval,), *_) = cells(picked, "95% interval")
    low, high = (float(end) for end in interval.strip("[]").split(", "))
    assert 0.15 < low < 0.35 < 0.65 < high < 0.85


def test_a_preference_of_one_dish_is_none_over_dishes() -> None:
    # One dish answered A fourteen times, fourteen dishes answered evenly.
    records = [mc(f"x{n}", "ABCD"[n % 4], "A", dish="x") for n in range(14)]
    records += [mc(f"y{n}", "ABCD"[n % 4], "ABCD"[n % 4], dish=f"d{n}") for n in range(16)]
    table = titled(tables(made_run({MC: records})), "preference")
    columns = ("p over dishes (even)", "p of independent answers (even)")
    ((over_dishes, independent),) = cells(table, *columns)
    assert independent < 0.01 < 0.05 < over_dishes


def test_unreadable_regional_answers_and_answers_in_another_language() -> None:
    marked = {"marks": ["other_language"]}
    yes_no = [
        binary("1", "yes", "yes", language="th", dish="a") | marked,
        binary("2", "yes", "yes", language="th", dish="b"),
        binary("3", "no", None, language="th", dish="c"),
        binary("4", "no", "yes", language="ko", dish="d") | marked,
    ]
    regional = [region("1", CANTONESE, "A", None), region("2", CANTONESE, "A", "A")]
    table = titled(tables(made_run({BINARY: yes_no, REGION: regional})), "answers by language")
    columns = ("task", "language", "answers", "unreadable", "read in another language")
    assert cells(table, *columns) == [
        (BINARY, "th", 3, 1, 1),
        (BINARY, "ko", 1, 0, 1),
        (REGION, "zh", 2, 1, None),
    ]


def test_gaps_between_the_layers() -> None:
    standard = [
        mc("1", "A", "A", dish="a"),
        mc("2", "B", "B", dish="a"),
        mc("3", "C", "C", dish="b"),
        mc("4", "D", "A", dish="b"),
        mc("5", "D", "failed", dish="c"),
    ]
    yes_no = [binary("1", "yes", "yes", dish="a"), binary("2", "no", None, dish="d")]
    regional = [
        region("1", CANTONESE, "A", "B", dish="a"),
        region("2", CANTONESE, "A", "A", dish="a", evidence="practice_image"),
        region("3", CANTONESE, "B", "B", dish="e"),
    ]
    found = tables(made_run({BINARY: yes_no}), made_run({MC: standard, REGION: regional}))
    table = titled(found, "gap")
    columns = ("first accuracy", "second accuracy", "difference", "dishes", "of them in both")
    assert cells(table, "gap", *columns) == [
        (f"{MC} - {BINARY}", 0.75, 0.5, 0.25, 3, 1),
        # Dish a alone is asked in both.
        (f"{MC} - {REGION}", 1.0, 0.5, 0.5, 1, 1),
    ]
    (_, second) = cells(table, "difference in five disjoint subsets of dishes", "their sd")
    assert sorted(second[0].split(", ")) == ["0.500", "–", "–", "–", "–"]
    assert math.isnan(second[1])


def test_text_and_name_against_image_on_the_same_items() -> None:
    def answered(letters: str) -> list[dict[str, Any]]:
        return [
            region(f"dish{n}", CANTONESE, "A", {"x": "failed"}.get(letter, letter), dish=f"d{n}")
            for n, letter in enumerate(letters)
        ]

    practice = region("steps", CANTONESE, "A", "A", evidence="practice_image", dish="d0")
    run = made_run(
        {
            REGION: [*answered("ABBCAx"), practice],
            f"{REGION}_text": answered("AAAACA"),
            f"{REGION}_named": answered("AxAACA"),
        }
    )
    table = titled(tables(run), "regional attribution")
    columns = ("items", "first accuracy", "second accuracy", "difference")
    assert cells(table, "difference of", *columns) == [
        ("text - image", 5, 0.8, 0.4, pytest.approx(0.4)),
        ("named - image", 4, 0.75, 0.5, 0.25),
    ]
    # Three against one: 2 (C(4,0) + C(4,1)) / 16; two against one: every outcome is as likely.
    differing = ("right in the first only", "right in the second only", "McNemar p")
    assert cells(table, *differing) == [(3, 1, pytest.approx(10 / 16)), (2, 1, 1.0)]


def test_full_minus_first_step_by_tier_and_pictures() -> None:
    kinds = {
        "a": {"relation": NAME, "tier": "recognition"},
        "b": {"relation": STEPS, "tier": "process"},
        "c": {"relation": "dish_image-dish_image", "tier": "process"},
        "d": {"relation": STEPS, "tier": "process"},
    }

    def answered(answers: dict[str, str]) -> list[dict[str, Any]]:
        return [binary(k, "yes", answer, dish=k, **kinds[k]) for k, answer in answers.items()]

    full = answered({"a": "yes", "b": "yes", "c": "no", "d": "yes"})
    single = answered({"d": "yes", "b": "no", "c": "no", "a": "yes"})
    table = titled(tables(made_run({BINARY: full, f"{BINARY}_first_step": single})), "first step")
    columns = ("questions", "items", "first accuracy", "second accuracy", "difference")
    assert cells(table, *columns) == [
        ("all", 4, 0.75, 0.5, 0.25),
        ("recognition", 1, 1.0, 1.0, 0.0),
        ("process", 3, pytest.approx(2 / 3), pytest.approx(1 / 3), pytest.approx(1 / 3)),
        ("with step pictures", 2, 1.0, 0.5, 0.5),
        ("without step pictures", 2, 0.5, 0.5, 0.0),
    ]


def confused(second: str, third: str) -> list[dict[str, Any]]:
    """Three errors, one of which cannot be within the family; a right and an unreadable answer."""
    return [
        region("1", ("川菜", "湘菜", "粤菜", "鲁菜"), "A", "B"),  # 湘菜: kin; chance 1/3
        region("2", ("西北菜", "川菜", "粤菜", "鲁菜"), "A", second),  # chance 0
        region("3", CANTONESE, "A", third),  # B and C are kin; chance 2/3
        region("4", CANTONESE, "B", "B"),
        region("5", CANTONESE, "C", None),
        region("6", ("四川菜", "法国菜", "粤菜", "鲁菜"), "C", "A"),  # 法国菜 is none of the 16
        region("7", CANTONESE, "C", "failed"),
    ]


def test_confusion_within_families_by_hand() -> None:
    # One of three errors is within the family, then two of three. Chance (1/3 + 0 + 2/3) / 3.
    runs = [
        made_run({REGION: confused("B", "D")}, "a"),
        made_run({REGION: confused("C", "B")}, "b"),
    ]
    found = tables(*runs)
    table = titled(found, "right one's family")
    counts = ("answers", "without a family chance", "unreadable", "errors", "within the family")
    assert cells(table, *counts) == [(5, 1, 1, 3, 1), (5, 1, 1, 3, 2)]
    assert cells(table, "share", "own chance") == [pytest.approx((k / 3, 1 / 3)) for k in (1, 2)]
    # Binomial(3, 1/3): 8, 12, 6, 1 of 27. Each error's own: 2/9, 5/9, 2/9. Binomial(3, 0.181):
    # 0 is the likeliest by far, then 1, 2, 3.
    p0 = 0.181
    two_up = 3 * p0**2 * (1 - p0) + p0**3
    own, each, paper = (1.0, 7 / 27), (1.0, 4 / 9), (1 - (1 - p0) ** 3, two_up)
    p = ("p (own chance)", "p (each error's own chance)", "p (paper's 0.181)")
    assert cells(table, *p) == [pytest.approx(x) for x in zip(own, each, paper, strict=True)]
    holm = ("Holm p (own chance)", "Holm p (paper's 0.181)")
    assert cells(table, *holm) == [
        pytest.approx((1.0, 1 - (1 - p0) ** 3)),
        pytest.approx((14 / 27, 2 * two_up)),
    ]

    sichuan, cantonese, northwest = (list(families())[place] for place in (0, 1, 4))
    by_family = titled(found, "confusion by family")
    columns = ("model", "right family", "right", "unreadable")
    wrong = [f"wrong: {family}" for family in (sichuan, cantonese)]
    assert cells(by_family, *columns, *wrong) == [
        ("made a", sichuan, 0, 0, 1, 0),
        ("made a", cantonese, 1, 1, 1, 0),
        ("made a", northwest, 0, 0, 1, 0),
        ("made b", sichuan, 0, 0, 1, 0),
        ("made b", cantonese, 1, 1, 0, 1),
        ("made b", northwest, 0, 0, 0, 1),
    ]
    by_cuisine = titled(found, "made b")
    assert cells(by_cuisine, "right cuisine", "湘菜", "粤菜", "闽菜", "unreadable") == [
        ("川菜", 1, 0, 0, 0),
        ("粤菜", 0, 0, 1, 0),
        ("闽菜", 0, 0, 1, 0),
        ("客家菜", 0, 0, 0, 1),
        ("西北菜", 0, 1, 0, 0),
    ]


def test_models_agree_on_difficult_cuisines() -> None:
    def run(name: str, right: dict[str, int]) -> Run:
        """Two questions a cuisine, so many of them right."""
        records = [
            region(f"{letter}{n}", CANTONESE, letter, letter if n < right[letter] else None)
            for letter in right
            for n in range(2)
        ]
        return made_run({REGION: records}, name)

    a, b = run("a", {"A": 2, "B": 1, "C": 0}), run("b", {"A": 2, "B": 0, "C": 1})
    table = titled(tables(a, b), "difficult cuisines")
    # Ranks 3, 2, 1 against 3, 1, 2: 1 - 6 (0 + 1 + 1) / (3 * 8).
    assert table.rows == (
        ("made a", "made b", 3, pytest.approx(0.5)),
        ("mean of the pairs", "", None, pytest.approx(0.5)),
    )
    by_cuisine = titled(tables(a), "by cuisine")
    assert cells(by_cuisine, "cuisine", "accuracy") == [
        ("粤菜", 1.0),
        ("闽菜", 0.5),
        ("客家菜", 0.0),
    ]
    assert not [t for t in tables(a) if t.title.endswith("difficult cuisines")]


def test_the_reader_decides_what_is_scored() -> None:
    official = made_run({MC: [mc("1", "A", "B")]}, reader="official")
    assert tables(official) == []
    assert cells(titled(tables(official, reader="official"), ": accuracy"), "accuracy") == [(0.0,)]


ANSWERS = st.sampled_from(["A", "B", "C", "D", None, "failed"])
QUESTIONS = st.lists(
    st.tuples(st.sampled_from("ABCD"), ANSWERS, ANSWERS, st.sampled_from("pqrs")), max_size=12
)


@settings(max_examples=40)
@given(QUESTIONS)
def test_answers_are_counted_once_wherever_the_runs_lie(
    questions: list[tuple[str, str | None, str | None, str]],
) -> None:
    asked = list(enumerate(questions))
    one = [mc(str(n), truth, first, dish=dish) for n, (truth, first, _, dish) in asked]
    two = [region(str(n), CANTONESE, truth, x, dish=dish) for n, (truth, _, x, dish) in asked]
    tasks = {name: records for name, records in {MC: one, REGION: two}.items() if records}

    together = tables(made_run(tasks), resamples=20)
    parts = (made_run({name: records}) for name, records in tasks.items())
    apart = tables(*parts, resamples=20)
    assert repr(apart) == repr(together)  # nan is no equal of itself

    answered = [answer for _, _, answer, _ in questions if answer != "failed"]
    for table in together:
        if table.title.endswith(": accuracy"):
            for questions_, lost, accuracy in cells(
                table, "questions", "failed requests", "accuracy"
            ):
                assert questions_ == len(questions)
                assert (lost == questions_) == math.isnan(accuracy)
        if "confusion of cuisines" in table.title:
            assert sum(sum(row[2:]) for row in table.rows) == len(answered)


@pytest.mark.slow
def test_every_table_from_the_hosts_own_logs(host: HostCall) -> None:
    tasks = (
        *(BINARY, MC, REGION),
        *(f"{REGION}_text", f"{REGION}_named", f"{BINARY}_first_step"),
    )
    run = host("food_reference", "predictor=random,seed=4", tasks)
    config = {**run.results["config"], "model_args": "predictor=random,seed=4,copy"}
    copy = dataclasses.replace(run, results={**run.results, "config": config})
    found = tables(run, copy)
    assert [table.title.removeprefix("CulturalMenuBench: ") for table in found] == [
        "accuracy",
        "accuracy by relation",
        "accuracy by tier",
        "accuracy by language",
        "accuracy by right option",
        "accuracy by evidence",
        "accuracy by cuisine",
        "yes-rate",
        "options picked",
        "option preference",
        "unreadable answers by language",
        "knowledge-application gap",
        "what name and reasoning change in regional attribution",
        "full minus first step",
        "wrong cuisines within the right one's family",
        "confusion by family",
        f"confusion of cuisines, {run.title}",
        f"confusion of cuisines, {copy.title}",
        "agreement on difficult cuisines",
    ]
    # What the host aggregated and what the report computes from its logs is the same.
    for task, accuracy in cells(titled(found, ": accuracy"), "task", "accuracy"):
        assert accuracy == pytest.approx(run.score(task, "acc", "robust"))
    for what in ("relation", "tier", "language", "letter", "evidence", "cuisine"):
        column = {"letter": "right option"}.get(what, what)
        table = titled(found, f"accuracy by {column}")
        for task, group, accuracy in cells(table, "task", column, "accuracy"):
            assert accuracy == pytest.approx(run.score(task, f"acc_{what}_{group}", "robust"))
    rates = cells(titled(found, "yes-rate"), "task", "yes-rate")
    for task, rate in rates:
        assert rate == pytest.approx(run.score(task, "yes_rate", "robust"))
    assert {rho for (rho,) in cells(titled(found, "difficult cuisines"), "Spearman's rho")} == {1.0}
    assert FAILED not in markdown(found)
