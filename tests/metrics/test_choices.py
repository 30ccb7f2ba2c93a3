"""Shares by group, option preference and yes-rate: hand-worked values and what always holds."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.choices import (
    option_preference,
    shares_by_group,
    shares_over_dishes,
    unreadable_by_group,
    yes_bias,
)
from lmms_eval_food.metrics.confusion import count_from_share

FEW = 200  # Resamples, where their number does not matter.

words = st.sampled_from(["yes", "no"])
letters = st.sampled_from("ABCD")
answered = st.lists(
    st.tuples(st.booleans(), st.sampled_from("abcdef"), st.none() | st.sampled_from("xyz")),
    max_size=30,
)


def test_shares_by_group_by_hand() -> None:
    found = shares_by_group([1, 1, 0, 1, 0, 1], ["zh", "it", "zh", "zh", None, "it"])
    assert list(found) == ["it", "zh"]
    assert (found["zh"].n, found["zh"].count, found["zh"].share) == (3, 2, 2 / 3)
    assert (found["it"].n, found["it"].count, found["it"].share) == (2, 2, 1.0)


def test_shares_by_group_interval_in_closed_form() -> None:
    found = shares_by_group([True, False] * 5, ["zh"] * 10)["zh"]
    z = NormalDist().inv_cdf(0.975)
    half = z * math.sqrt(0.25 / 10 + z**2 / 400) / (1 + z**2 / 10)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


@pytest.mark.parametrize("right", [True, False], ids=["all right", "all wrong"])
def test_alike_answers_keep_an_interval_with_width(right: bool) -> None:
    found = shares_by_group([right] * 4, ["zh"] * 4)["zh"]
    assert found.share == float(right)
    assert found.high - found.low > 0.4


def test_no_answers_no_groups() -> None:
    assert shares_by_group([], []) == {}
    assert unreadable_by_group([], []) == {}
    assert shares_over_dishes([], [], {"language": []}) == {"language": {}}


def test_groups_must_be_as_many_as_answers() -> None:
    with pytest.raises(ValueError, match="there are 2 answers, groups has length 1"):
        shares_by_group([1, 0], ["zh"])
    with pytest.raises(ValueError, match="2 answers, breakdown 'language' has length 3"):
        shares_over_dishes([1, 0], ["a", "b"], {"language": ["zh"] * 3})
    with pytest.raises(ValueError, match="2 answers, dishes has length 1"):
        shares_over_dishes([1, 0], ["a"], {})


def test_nan_is_no_flag() -> None:
    with pytest.raises(ValueError, match="flags must hold only true and false"):
        shares_by_group([1, math.nan], ["zh", "zh"])


def test_unreadable_by_group_by_hand() -> None:
    found = unreadable_by_group(["A", None, None, "D"], ["th", "th", "hi", "th"])
    assert {group: (s.count, s.n) for group, s in found.items()} == {"hi": (1, 1), "th": (1, 3)}


# Table 7 of the paper: model, dish image (%), practice images (%), overall (%). Each column is a
# share of 189 questions. The mean of the rounded columns can end in a half (44.15), so only the
# counts behind them say how the overall figure rounds (167 of 378 is 44.18).
TABLE_7 = [
    ("Kimi K2.6", 59.8, 52.4, 56.1),
    ("Claude 4.6", 60.3, 51.9, 56.1),
    ("GPT-5.1", 48.1, 49.7, 48.9),
    ("Qwen3.6-Plus", 51.3, 37.0, 44.2),
    ("GPT-5 Mini", 44.4, 42.3, 43.4),
    ("Qwen3.5-35B", 48.1, 38.6, 43.4),
    ("GPT-5 Nano", 46.0, 39.7, 42.9),
    ("Gemma4-26B", 40.7, 35.4, 38.1),
]


@pytest.mark.parametrize(("model", "dish", "practice", "overall"), TABLE_7)
def test_table_7_overall_follows_from_its_columns(
    model: str, dish: float, practice: float, overall: float
) -> None:
    flags = [
        place < count_from_share(percent, 189)
        for percent in (dish, practice)
        for place in range(189)
    ]
    dishes = [str(place) for place in range(189)] * 2
    breakdowns = {"evidence": ["dish"] * 189 + ["practice"] * 189, "all": ["all"] * 378}
    found = shares_over_dishes(flags, dishes, breakdowns, resamples=FEW)
    shares = [*found["evidence"].values(), found["all"]["all"]]
    assert [round(100 * s.share, 1) for s in shares] == [dish, practice, overall]


def test_interval_over_dishes_treats_a_dish_as_one_case() -> None:
    # Of two dishes a resample holds both or one twice: the share is 0, 1/2 or 1.
    flags, dishes = [1] * 10 + [0] * 10, ["a"] * 10 + ["b"] * 10
    found = shares_over_dishes(flags, dishes, {"all": ["all"] * 20}, resamples=FEW)["all"]["all"]
    assert (found.share, found.low, found.high) == (0.5, 0.0, 1.0)


def test_one_dish_has_a_share_but_no_interval() -> None:
    found = shares_over_dishes(
        [1, 0, 1], ["a", "a", "b"], {"language": ["zh", "zh", "it"]}, resamples=FEW
    )["language"]
    assert found["zh"].share == 0.5
    assert math.isnan(found["zh"].low)
    assert math.isnan(found["it"].high)


@settings(max_examples=60)
@given(answered)
def test_both_kinds_of_interval_share_their_counts(
    rows: list[tuple[bool, str, str | None]],
) -> None:
    flags, dishes, groups = ([row[column] for row in rows] for column in range(3))
    over_dishes = shares_over_dishes(flags, dishes, {"all": groups}, resamples=FEW)["all"]
    independent = shares_by_group(flags, groups)
    assert list(over_dishes) == list(independent)
    for group, share in over_dishes.items():
        other = independent[group]
        assert (share.n, share.count, share.share) == (other.n, other.count, other.share)
        assert math.isnan(share.low) or 0 <= share.low <= share.high <= 1


@settings(max_examples=60)
@given(answered)
def test_a_breakdown_does_not_depend_on_the_others(
    rows: list[tuple[bool, str, str | None]],
) -> None:
    flags, dishes, groups = ([row[column] for row in rows] for column in range(3))
    alone = shares_over_dishes(flags, dishes, {"group": groups}, resamples=FEW)
    beside = shares_over_dishes(flags, dishes, {"dish": dishes, "group": groups}, resamples=FEW)
    assert repr(beside["group"]) == repr(alone["group"])


@settings(max_examples=60)
@given(st.lists(st.lists(st.booleans(), min_size=1, max_size=4), min_size=1, max_size=8))
def test_interval_contains_the_share_when_every_dish_has_its_mirror(
    dishes: list[list[bool]],
) -> None:
    flags, names = [], []
    for place, own in enumerate(dishes):
        flags += own + [not flag for flag in own]
        names += [f"{place}"] * len(own) + [f"mirror {place}"] * len(own)
    found = shares_over_dishes(flags, names, {"all": ["all"] * len(flags)}, resamples=FEW)
    share = found["all"]["all"]
    assert share.share == 0.5
    assert share.low <= 0.5 <= share.high


def test_option_preference_by_hand() -> None:
    # Picked 6, 2, 1; right 4, 4, 1; one more answer has no letter. With two degrees of freedom the
    # p of a statistic x is exp(-x / 2).
    found = option_preference([*"AAAAAABBC", None], [*"AAAABBBBC", "A"], letters="ABC")
    assert found.counts == {"A": 6, "B": 2, "C": 1}
    assert found.true_counts == {"A": 4, "B": 4, "C": 1}
    assert found.unreadable == 1
    assert found.against_truth.statistic == pytest.approx(4 / 4 + 4 / 4 + 0)
    assert found.against_truth.p_value == pytest.approx(math.exp(-1))
    assert found.against_truth.smallest_expected == 1
    assert found.against_uniform.statistic == pytest.approx(9 / 3 + 1 / 3 + 4 / 3)
    assert found.against_uniform.p_value == pytest.approx(math.exp(-7 / 3))
    assert found.against_uniform.smallest_expected == 3


def test_option_preference_of_gpt_5_nano() -> None:
    # Appendix D: 29.1% A over 4,085 questions, p < 0.0001. An even rest is the least striking.
    picked = ["A"] * 1189 + ["B"] * 966 + ["C"] * 965 + ["D"] * 965
    assert 100 * picked.count("A") / len(picked) == pytest.approx(29.1, abs=0.05)
    assert option_preference(picked, ["A"] * 4085).against_uniform.p_value < 0.0001


def test_letters_neither_picked_nor_right_do_not_count_against_truth() -> None:
    # Picked 2 and 1, right 1 and 2. With one degree of freedom the p is erfc(sqrt(x / 2)).
    test = option_preference([*"AAB"], [*"ABB"]).against_truth
    assert test.statistic == pytest.approx(1 / 1 + 1 / 2)
    assert test.p_value == pytest.approx(math.erfc(math.sqrt(1.5 / 2)))
    assert test.smallest_expected == 1


def test_all_right_shows_no_preference_against_truth() -> None:
    truth = [*"AAABBCD"]
    found = option_preference(truth, truth)
    assert (found.against_truth.statistic, found.against_truth.p_value) == (0.0, 1.0)
    assert found.against_uniform.statistic > 0


@pytest.mark.parametrize(
    ("chosen", "truth"),
    [([], []), ([None, None], ["A", "B"]), (["A", "A"], ["A", "A"]), (["B", "A"], ["A", "A"])],
    ids=["empty", "nothing read", "one letter only", "picked but never right"],
)
def test_option_preference_that_cannot_be_tested_is_nan(
    chosen: list[str | None], truth: list[str]
) -> None:
    found = option_preference(chosen, truth)
    assert math.isnan(found.against_truth.statistic)
    assert math.isnan(found.against_truth.p_value)


def test_one_answer_is_no_preference() -> None:
    # One A where a quarter is expected: 0.75^2 / 0.25 + 3 * 0.25 = 3.
    assert option_preference(["A"], ["A"]).against_uniform.statistic == pytest.approx(3)
    assert option_preference(["A"], ["A"]).against_uniform.p_value > 0.3


@pytest.mark.parametrize("place", ["chosen", "truth"])
def test_unknown_letters_are_refused(place: str) -> None:
    given_letters = {"chosen": ["A"], "truth": ["A"]} | {place: ["E"]}
    with pytest.raises(ValueError, match=r"other than A, B, C, D: \['E'\]"):
        option_preference(**given_letters)


@given(st.lists(st.tuples(st.none() | letters, letters), max_size=40), st.permutations("ABCD"))
def test_renaming_letters_changes_no_statistic(
    pairs: list[tuple[str | None, str]], names: list[str]
) -> None:
    new = dict(zip("ABCD", names, strict=True))
    one = option_preference([pick for pick, _ in pairs], [right for _, right in pairs])
    other = option_preference(
        [new[pick] if pick else None for pick, _ in pairs], [new[right] for _, right in pairs]
    )
    for test in ("against_truth", "against_uniform"):
        ours, theirs = getattr(one, test), getattr(other, test)
        assert theirs.statistic == pytest.approx(ours.statistic, nan_ok=True)
        assert theirs.p_value == pytest.approx(ours.p_value, nan_ok=True)
    assert sorted(one.counts.values()) == sorted(other.counts.values())
    assert sum(one.counts.values()) + one.unreadable == len(pairs)


def test_yes_bias_by_hand() -> None:
    truth = ["yes"] * 5 + ["no"] * 5
    answers = ["yes", "yes", "no", "no", None, "yes", "no", "no", "no", "no"]
    found = yes_bias(answers, truth, [*"abcdefghij"], resamples=FEW)
    assert (found.yes.n, found.yes.count, found.unreadable) == (9, 3, 1)
    assert found.true_yes_rate == pytest.approx(4 / 9)
    assert found.rejection.difference == pytest.approx(1 / 9)
    assert found.rejection.low < 1 / 9 < found.rejection.high
    assert found.yes.low < 1 / 3 < found.yes.high


@pytest.mark.parametrize(("word", "bias"), [("no", 0.5), ("yes", -0.5)])
def test_always_the_same_word(word: str, bias: float) -> None:
    # Two questions a dish, one of each kind: every resample shows the same bias.
    found = yes_bias([word] * 8, ["yes", "no"] * 4, [*"aabbccdd"], resamples=FEW)
    assert found.yes.share == found.yes.low == found.yes.high == (word == "yes")
    assert found.rejection.difference == found.rejection.low == found.rejection.high == bias


@pytest.mark.parametrize(
    ("answers", "truth", "dishes"),
    [([], [], []), ([None], ["yes"], ["a"])],
    ids=["empty", "nothing read"],
)
def test_yes_bias_without_answers_is_nan(
    answers: list[str | None], truth: list[str], dishes: list[str]
) -> None:
    found = yes_bias(answers, truth, dishes, resamples=FEW)
    assert found.unreadable == len(answers)
    assert all(map(math.isnan, (found.yes.share, found.true_yes_rate, found.rejection.difference)))


def test_yes_bias_of_one_dish_has_no_interval() -> None:
    found = yes_bias(["no", "no"], ["yes", "no"], ["a", "a"], resamples=FEW)
    assert (found.yes.share, found.rejection.difference) == (0.0, 0.5)
    assert math.isnan(found.yes.low)
    assert math.isnan(found.rejection.high)


def test_yes_bias_refuses_other_words() -> None:
    with pytest.raises(ValueError, match=r"other than yes, no: \['Yes'\]"):
        yes_bias(["Yes"], ["yes"], ["a"])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.none() | words, words, st.sampled_from("abcdef")), max_size=30))
def test_swapping_yes_and_no_turns_the_bias_round(
    rows: list[tuple[str | None, str, str]],
) -> None:
    other = {"yes": "no", "no": "yes", None: None}
    dishes = [dish for _, _, dish in rows]
    one = yes_bias([a for a, _, _ in rows], [t for _, t, _ in rows], dishes, FEW)
    two = yes_bias(
        [other[a] for a, _, _ in rows], [other[t] or "" for _, t, _ in rows], dishes, FEW
    )
    assert two.yes.count == one.yes.n - one.yes.count
    ends = (-one.rejection.difference, -one.rejection.high, -one.rejection.low)
    turned = (two.rejection.difference, two.rejection.low, two.rejection.high)
    assert turned == pytest.approx(ends, nan_ok=True, abs=1e-9)
