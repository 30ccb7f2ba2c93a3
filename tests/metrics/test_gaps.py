"""Gaps between forms, conditions and models: hand-worked values, published tables, properties."""

from __future__ import annotations

import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.confusion import count_from_share
from lmms_eval_food.metrics.gaps import (
    difficulty_agreement,
    dish_subsets,
    form_gap,
    paired_gap,
    paired_gap_by_group,
)

FEW = 200  # Resamples, where their number does not matter.
DISHES = [*"abcde"]

Rows = list[tuple[bool, str]]
form_rows = st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh")), max_size=25)
paired_rows = st.lists(
    st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcdefgh")), max_size=25
)


def columns(rows: Rows) -> tuple[list[bool], list[str]]:
    return [flag for flag, _ in rows], [dish for _, dish in rows]


def test_form_gap_by_hand() -> None:
    # First form: two of three right over dishes a, a, b; second: one of four over b, b, c, d.
    gap = form_gap([1, 0, 1], [*"aab"], [1, 0, 0, 0], [*"bbcd"], resamples=FEW)
    assert (gap.first, gap.second) == (2 / 3, 1 / 4)
    assert gap.gap.difference == pytest.approx(5 / 12)
    assert (gap.dishes, gap.shared) == (4, 1)


def test_form_gap_on_shared_dishes_by_hand() -> None:
    first, second = ([1, 0, 1, 1], [*"aabc"]), ([0, 1, 0], [*"abz"])
    gap = form_gap(*first, *second, shared_only=True, resamples=FEW)
    assert (gap.first, gap.second) == (2 / 3, 1 / 2)
    assert (gap.dishes, gap.shared) == (2, 2)
    # Dish a has 1 of 2 against 0 of 1, dish b 1 of 1 against 1 of 1.
    assert sorted(gap.subset_gaps[:2]) == [0.0, 0.5]
    assert (gap.gap.low, gap.gap.high) == (0.0, 0.5)


def test_subset_gaps_of_one_dish_each_by_hand() -> None:
    # Gaps of the five dishes: 1, 1, 0, 0, -1; mean 0.2, squares about it 2.8.
    gap = form_gap([1, 1, 1, 0, 0], DISHES, [0, 0, 1, 0, 1], DISHES, resamples=FEW, seed=4)
    dealt = dish_subsets(DISHES, seed=4)
    by_dish = [gap.subset_gaps[dealt[dish]] for dish in DISHES]
    assert by_dish == [1, 1, 0, 0, -1]
    assert gap.subset_sd == pytest.approx(math.sqrt(2.8 / 4))
    assert gap.subset_min == -1


def test_the_same_answers_in_both_forms_are_no_gap_in_any_resample() -> None:
    flags = [1, 0, 1, 1, 0]
    gap = form_gap(flags, DISHES, flags, DISHES, resamples=FEW)
    assert (gap.gap.difference, gap.gap.low, gap.gap.high) == (0, 0, 0)
    assert (gap.gap.share_above, gap.gap.p_value) == (0, 1)


def test_the_same_accuracy_on_other_dishes_is_a_gap_of_unknown_sign() -> None:
    flags = [1, 0, 1, 1, 0]
    gap = form_gap(flags, DISHES, flags, [*"vwxyz"], resamples=FEW)
    assert gap.gap.difference == 0
    assert gap.gap.low < 0 < gap.gap.high


@pytest.mark.parametrize(("first", "second", "expected"), [(1, 0, 1.0), (0, 1, -1.0), (1, 1, 0.0)])
def test_all_right_or_all_wrong(first: int, second: int, expected: float) -> None:
    gap = form_gap([first] * 5, DISHES, [second] * 5, DISHES, resamples=FEW)
    assert gap.gap.difference == gap.gap.low == gap.gap.high == expected
    assert gap.subset_gaps == (expected,) * 5
    assert gap.subset_sd == 0


@pytest.mark.parametrize(
    ("first", "second"),
    [([], []), ([(True, "a")], []), ([], [(True, "a"), (False, "b")])],
    ids=["both empty", "second empty", "first empty"],
)
def test_a_form_without_answers_has_no_gap(first: Rows, second: Rows) -> None:
    gap = form_gap(*columns(first), *columns(second), resamples=FEW)
    numbers = (gap.gap.difference, gap.gap.low, gap.gap.share_above, gap.subset_min, gap.subset_sd)
    assert all(map(math.isnan, numbers))


def test_one_dish_has_a_gap_but_no_interval() -> None:
    gap = form_gap([1, 1], ["a", "a"], [0], ["a"], resamples=FEW)
    assert gap.gap.difference == gap.subset_min == 1
    assert all(map(math.isnan, (gap.gap.low, gap.gap.high, gap.subset_sd)))


def test_form_gap_refuses_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="there are 2 answers, first_dishes has length 1"):
        form_gap([1, 0], ["a"], [], [])
    with pytest.raises(ValueError, match="there are 1 answers, second_dishes has length 0"):
        form_gap([], [], [1], [])
    with pytest.raises(ValueError, match="second must hold only true and false"):
        form_gap([1], ["a"], [math.nan], ["a"])


# Table 5 of the paper: model, binary (%), multiple choice (%), gap. Sizes as the paper gives them.
BINARY, CHOICE = 4870, 4085
TABLE_5 = [
    ("GPT-5.5", 81.4, 95.4, 14.0),
    ("GPT-5.1", 78.0, 96.6, 18.6),
    ("GPT-5", 78.6, 96.8, 18.2),
    ("GPT-5 Nano", 68.9, 82.2, 13.3),
    ("GPT-5 Mini", 76.1, 94.7, 18.6),
    ("Claude Opus 4.6", 72.5, 96.2, 23.7),
    ("Claude Sonnet 4", 72.4, 87.1, 14.7),
    ("Gemini 2.5 Pro", 78.2, 94.6, 16.4),
    ("Qwen3.6-Plus", 72.2, 95.1, 22.9),
    ("Qwen3.5-35B", 69.0, 78.8, 9.8),
    ("Kimi-K2.5", 70.7, 94.7, 24.0),
    ("Gemma4-26B", 64.4, 88.4, 24.0),
]


@pytest.mark.parametrize(("model", "binary", "choice", "gap"), TABLE_5)
def test_table_5_gap_follows_from_its_columns(
    model: str, binary: float, choice: float, gap: float
) -> None:
    # The printed gap is the difference of the printed columns. Our flags have whole counts, which
    # moves each column by half an answer at most: 0.0103 and 0.0123 points.
    one = [place < count_from_share(choice, CHOICE) for place in range(CHOICE)]
    two = [place < count_from_share(binary, BINARY) for place in range(BINARY)]
    dishes = [str(place % 587) for place in range(BINARY)]
    found = form_gap(one, dishes[:CHOICE], two, dishes, resamples=20)
    assert 100 * found.gap.difference == pytest.approx(gap, abs=0.0226)
    assert found.gap.share_above == 1


@settings(max_examples=60)
@given(form_rows, form_rows, st.booleans())
def test_swapping_the_forms_turns_the_gap_round(
    first: Rows, second: Rows, shared_only: bool
) -> None:
    options = {"shared_only": shared_only, "resamples": FEW}
    one = form_gap(*columns(first), *columns(second), **options)
    two = form_gap(*columns(second), *columns(first), **options)
    turned = (-one.gap.difference, -one.gap.high, -one.gap.low, one.gap.p_value)
    found = (two.gap.difference, two.gap.low, two.gap.high, two.gap.p_value)
    assert found == pytest.approx(turned, nan_ok=True, abs=1e-12)
    assert two.subset_gaps == pytest.approx([-gap for gap in one.subset_gaps], nan_ok=True)
    assert (one.dishes, one.shared) == (two.dishes, two.shared)


@settings(max_examples=60)
@given(form_rows, form_rows, st.randoms(use_true_random=False))
def test_order_of_answers_does_not_matter(first: Rows, second: Rows, random: Random) -> None:
    one = form_gap(*columns(first), *columns(second), resamples=FEW)
    random.shuffle(first)
    random.shuffle(second)
    two = form_gap(*columns(first), *columns(second), resamples=FEW)
    ours = (one.gap.difference, one.gap.low, one.gap.high, *one.subset_gaps)
    theirs = (two.gap.difference, two.gap.low, two.gap.high, *two.subset_gaps)
    assert theirs == pytest.approx(ours, nan_ok=True, abs=1e-12)


@settings(max_examples=60)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=8))
def test_interval_contains_the_gap_when_every_dish_has_its_mirror(
    dishes: list[list[bool]],
) -> None:
    # The mirror of a dish has its answers of the two forms exchanged, so the gap is 0.
    first: Rows = []
    second: Rows = []
    for place, own in enumerate(dishes):
        flipped = [not flag for flag in own]
        first += [(f, f"{place}") for f in own] + [(f, f"mirror {place}") for f in flipped]
        second += [(f, f"{place}") for f in flipped] + [(f, f"mirror {place}") for f in own]
    gap = form_gap(*columns(first), *columns(second), resamples=FEW)
    assert gap.gap.difference == 0
    assert gap.gap.low <= 0 <= gap.gap.high


@given(st.lists(st.text(max_size=5), max_size=40), st.integers(1, 7), st.integers(0, 3))
def test_subsets_are_disjoint_even_and_free_of_order(
    dishes: list[str], subsets: int, seed: int
) -> None:
    dealt = dish_subsets(dishes, subsets, seed)
    assert dealt.keys() == set(dishes)
    sizes = [list(dealt.values()).count(number) for number in range(subsets)]
    assert sum(sizes) == len(set(dishes))
    assert max(sizes) - min(sizes) <= 1
    assert dish_subsets(dishes[::-1], subsets, seed) == dealt


def test_another_seed_is_another_deal() -> None:
    dishes = [str(number) for number in range(50)]
    assert dish_subsets(dishes, seed=0) != dish_subsets(dishes, seed=1)


def test_a_lone_surrogate_in_a_dish_id_is_no_obstacle() -> None:
    assert dish_subsets(["\ud800"]) == {"\ud800": 0}


def test_paired_gap_by_hand() -> None:
    # Right in both: 2; in the first only: 1; in the second only: 6; in none: 1.
    first = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    second = [1, 1, 0, 1, 1, 1, 1, 1, 1, 0]
    found = paired_gap(first, second, [*"abcdefghij"], resamples=FEW)
    assert (found.n, found.first, found.second) == (10, 0.3, 0.8)
    assert found.gap.difference == pytest.approx(-0.5)
    assert (found.only_first, found.only_second) == (1, 6)
    # Two-sided, of 7 tosses one head or fewer: 2 (1 + 7) / 128.
    assert found.mcnemar_p == pytest.approx(16 / 128)


@pytest.mark.parametrize("right", [0, 1], ids=["all wrong", "all right"])
def test_conditions_that_never_differ_are_no_evidence(right: int) -> None:
    found = paired_gap([right] * 3, [right] * 3, [*"abc"], resamples=FEW)
    assert (found.only_first, found.only_second, found.mcnemar_p) == (0, 0, 1.0)
    assert (found.gap.low, found.gap.high) == (0, 0)


def test_one_item_is_no_evidence() -> None:
    found = paired_gap([1], [0], ["a"], resamples=FEW)
    assert (found.gap.difference, found.mcnemar_p) == (1.0, 1.0)
    assert math.isnan(found.gap.low)


def test_paired_gap_without_items_is_nan() -> None:
    found = paired_gap([], [], [], resamples=FEW)
    assert found.n == 0
    assert all(map(math.isnan, (found.first, found.gap.difference, found.mcnemar_p)))
    assert paired_gap_by_group([], [], [], []) == {}


def test_paired_gap_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="there are 2 answers, second has length 1"):
        paired_gap([1, 0], [1], ["a", "b"])
    with pytest.raises(ValueError, match="there are 2 answers, groups has length 0"):
        paired_gap_by_group([1, 0], [1, 0], ["a", "b"], [])


# Table 17 of the paper: model, image (%), text only (%), difference, all on 189 questions.
TABLE_17 = [
    ("Qwen3.6-Plus", 51.3, 68.8, 17.5),
    ("Kimi K2.6", 59.8, 67.2, 7.4),
    ("GPT-5", 58.2, 69.8, 11.6),
]


@pytest.mark.parametrize(("model", "image", "text", "difference"), TABLE_17)
def test_table_17_text_minus_image(
    model: str, image: float, text: float, difference: float
) -> None:
    flags = [[i < count_from_share(share, 189) for i in range(189)] for share in (text, image)]
    found = paired_gap(*flags, [str(i) for i in range(189)], resamples=FEW)
    assert round(100 * found.gap.difference, 1) == difference


# Table 6 of the paper, in answers: 500 questions, 300 of them with practice images (292 of 300 is
# 97.3%). Model, right answers full and first step with practice images, then without, and the
# printed differences first step minus full overall, with and without practice images.
TABLE_6 = [
    ("Claude 4.6", (292, 275), (190, 190), (-3.4, -5.7, 0.0)),
    ("Qwen3.6-Plus", (290, 255), (187, 185), (-7.4, -11.7, -1.0)),
    ("Kimi K2.5", (277, 259), (185, 183), (-4.0, -6.0, -1.0)),
]


@pytest.mark.parametrize(("model", "practice", "other", "printed"), TABLE_6)
def test_table_6_full_minus_first_step_by_kind(
    model: str,
    practice: tuple[int, int],
    other: tuple[int, int],
    printed: tuple[float, float, float],
) -> None:
    full, first_step = (
        [i < practice[form] for i in range(300)] + [i < other[form] for i in range(200)]
        for form in (0, 1)
    )
    dishes, kinds = [str(i) for i in range(500)], ["practice"] * 300 + ["other"] * 200
    overall = paired_gap(full, first_step, dishes, resamples=FEW)
    by_kind = paired_gap_by_group(full, first_step, dishes, kinds, resamples=FEW)
    gaps = [found.gap.difference for found in (overall, by_kind["practice"], by_kind["other"])]
    assert [round(-100 * gap, 1) for gap in gaps] == list(printed)


def test_paired_gap_by_group_leaves_out_items_without_a_group() -> None:
    found = paired_gap_by_group(
        [1, 0, 1], [0, 0, 0], [*"abc"], ["process", None, "process"], resamples=FEW
    )
    assert list(found) == ["process"]
    assert (found["process"].n, found["process"].only_first) == (2, 2)


@settings(max_examples=60)
@given(paired_rows)
def test_paired_gap_is_the_form_gap_of_the_same_dishes(
    rows: list[tuple[bool, bool, str]],
) -> None:
    first, second, dishes = ([row[column] for row in rows] for column in range(3))
    paired = paired_gap(first, second, dishes, resamples=FEW)
    form = form_gap(first, dishes, second, dishes, resamples=FEW)
    assert repr(paired.gap) == repr(form.gap)


@settings(max_examples=60)
@given(paired_rows)
def test_swapping_conditions_keeps_mcnemar(rows: list[tuple[bool, bool, str]]) -> None:
    first, second, dishes = ([row[column] for row in rows] for column in range(3))
    one = paired_gap(first, second, dishes, resamples=FEW)
    two = paired_gap(second, first, dishes, resamples=FEW)
    assert two.mcnemar_p == pytest.approx(one.mcnemar_p, nan_ok=True)
    assert (two.only_first, two.only_second) == (one.only_second, one.only_first)
    assert one.n == 0 or 0 < one.mcnemar_p <= 1


def test_difficulty_agreement_by_hand() -> None:
    # Ranks 3 1 2, 3 2 1 and 1 3 2: rho = 1 - 6 sum(d^2) / (3 * 8).
    found = difficulty_agreement(
        {
            "one": {"sichuan": 0.8, "anhui": 0.2, "hunan": 0.5},
            "two": {"hunan": 0.4, "sichuan": 0.9, "anhui": 0.6},
            "three": {"sichuan": 0.1, "anhui": 0.7, "hunan": 0.3, "hakka": 0.9},
        }
    )
    assert found.pairs == {
        ("one", "two"): pytest.approx(1 - 6 * 2 / 24),
        ("one", "three"): pytest.approx(1 - 6 * 8 / 24),
        ("two", "three"): pytest.approx(1 - 6 * 6 / 24),
    }
    assert found.mean == pytest.approx((0.5 - 1 - 0.5) / 3)


@pytest.mark.parametrize(
    "other",
    [{}, {"hunan": 0.5}, {"hunan": 0.5, "anhui": 0.5}, {"hunan": 0.5, "anhui": math.nan}],
    ids=["nothing", "one cuisine", "all alike", "nan"],
)
def test_difficulty_agreement_that_is_undefined(other: dict[str, float]) -> None:
    found = difficulty_agreement({"one": {"hunan": 0.2, "anhui": 0.7}, "two": other})
    assert math.isnan(found.pairs["one", "two"])
    assert math.isnan(found.mean)


def test_undefined_pairs_stay_out_of_the_mean() -> None:
    same = {"hunan": 0.2, "anhui": 0.7}
    assert difficulty_agreement({"one": same, "two": same, "flat": {}}).mean == pytest.approx(1)


def test_eleven_models_are_compared_in_55_pairs() -> None:
    accuracies = {f"model {i}": {"hunan": i / 11, "anhui": 0.5} for i in range(11)}
    assert len(difficulty_agreement(accuracies).pairs) == 55


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=10))
def test_difficulty_agreement_depends_on_ranks_alone(scores: list[tuple[int, int]]) -> None:
    one = {str(place): score / 20 for place, (score, _) in enumerate(scores)}
    two = {str(place): score / 20 for place, (_, score) in enumerate(scores)}
    bent = {cuisine: score**3 for cuisine, score in two.items()}
    straight = difficulty_agreement({"one": one, "two": two}).mean
    assert difficulty_agreement({"one": one, "two": bent}).mean == pytest.approx(
        straight, nan_ok=True
    )
    assert math.isnan(straight) or -1 <= straight <= 1 + 1e-12
