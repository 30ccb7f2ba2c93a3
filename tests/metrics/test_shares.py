"""Shares by group, with both kinds of interval: hand-worked values and what always holds."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.confusion import count_from_share
from lmms_eval_food.metrics.shares import shares_by_group, shares_over_dishes, unreadable_by_group

FEW = 200  # Resamples, where their number does not matter.

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
