"""Bias, correlation and agreement of nutrition estimates, by hand and by property."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.bootstrap import resample_counts
from lmms_eval_food.metrics.nutrition_checks import (
    atwater_consistency,
    atwater_flags,
    correlations,
    differences,
    resampled_correlations,
    signed_bias,
)

NAN = math.nan
GONE = [NAN] * 4

TRUE = [[400.0, 20.0, 50.0, 10.0], [600.0, 30.0, 0.0, 40.0]]
PREDICTED = [[500.0, 20.0, 40.0, 15.0], [600.0, 24.0, 5.0, 30.0]]


def test_differences_by_hand() -> None:
    """Unread, not a number, and without a truth: each leaves out what it concerns."""
    predicted = [[500, 20, 40, 15], [NAN, math.inf, 5, 30], GONE]
    true = [[400, 20, 50, 10], [600, 30, NAN, 40], TRUE[0]]
    found = differences(predicted, true, [True, True, False])
    expected = [[100, 0, -10, 5], [NAN, NAN, NAN, -10], GONE]
    np.testing.assert_array_equal(found, expected)


def test_bias_by_hand() -> None:
    bias = signed_bias([*PREDICTED, GONE], [*TRUE, TRUE[0]], [True, True, False])
    assert bias == pytest.approx(
        {"calories": 50, "protein": -3, "carbohydrates": -2.5, "fat": -2.5}
    )


def test_bias_leaves_out_what_is_no_number() -> None:
    bias = signed_bias([[math.inf, 21, NAN, 8], GONE], TRUE, [True, False])
    assert bias["protein"] == 1
    assert bias["fat"] == -2
    assert math.isnan(bias["calories"])
    assert math.isnan(bias["carbohydrates"])


def test_correlations_by_hand() -> None:
    """Proportional, opposed, constant estimates, and 1 2 3 against 1 3 2 (r = 1/2)."""
    true = [[1.0, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [9, 9, 9, 9]]
    predicted = [[10.0, 9, 5, 1], [20, 8, 5, 3], [30, 7, 5, 2], GONE]
    found = correlations(predicted, true, [True, True, True, False])
    assert found["calories"] == pytest.approx(1)
    assert found["protein"] == pytest.approx(-1)
    assert math.isnan(found["carbohydrates"])
    assert found["fat"] == pytest.approx(0.5)


def test_correlations_need_three_answers() -> None:
    assert all(math.isnan(r) for r in correlations(PREDICTED, TRUE, [True, True]).values())


@pytest.mark.parametrize(
    ("row", "consistent"),
    [
        ([350, 12, 40, 15], True),  # 48 + 160 + 135 = 343
        ([100, 10, 10, 0], False),  # 80: 20 off
        ([100, 0, 0, 10], True),  # 90: exactly 10 off
        ([100, 5, 0, 10], True),  # 110: exactly 10 off
        ([100, 5.01, 0, 10], False),
        ([0, 0, 0, 0], True),
        ([0, 1, 0, 0], False),
    ],
)
def test_atwater_by_hand(row: list[float], consistent: bool) -> None:
    assert atwater_consistency([row], [True]) == consistent


def test_atwater_counts_readable_answers_only() -> None:
    rows = [[350, 12, 40, 15], [350, 1, 1, 1], [350, 12, 40, 15], [math.inf, 1, 1, 1]]
    assert atwater_consistency(rows, [True, True, False, True]) == 0.5
    assert math.isnan(atwater_consistency([GONE], [False]))
    assert math.isnan(atwater_consistency([], []))


def test_atwater_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="predicted has 1 rows, readable has 2"):
        atwater_consistency([[1, 1, 1, 1]], [True, True])


def test_atwater_flags_by_hand() -> None:
    rows = [[350, 12, 40, 15], [500, 12, 40, 15], [350, 12, 40, 15], [math.inf, 1, 1, 1]]
    np.testing.assert_array_equal(
        atwater_flags(rows, [True, True, False, True]), [1.0, 0.0, NAN, NAN]
    )


EACH_ITSELF = np.arange(4)


def test_resampled_correlations_by_hand() -> None:
    """Weights: all once; the second twice and no third; one answer alone.

    1 2 3 4 against 1 3 2 4 has r = 4/5. 1 2 2 4 against 1 3 3 4 is, in quarters from the means,
    -5 -1 -1 7 against -7 1 1 5: r = (35 - 1 - 1 + 35) / (25 + 1 + 1 + 49).
    """
    true = [[1.0, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]]
    predicted = [[1.0, 8, 5, 1], [3, 6, 5, 2], [2, 4, 5, NAN], [4, 2, 5, NAN]]
    counts = np.array([[1, 1, 1, 1], [1, 2, 0, 1], [4, 0, 0, 0]])
    found = resampled_correlations(predicted, true, [True] * 4, EACH_ITSELF, counts)
    assert found[0, :2] == pytest.approx([0.8, 68 / 76])
    assert found[1, :2] == pytest.approx([-1, -1])
    # Equal estimates, and two answers alone, have no correlation in any resample.
    assert np.isnan(found[2:]).all()
    assert np.isnan(found[:, 2]).all()


def test_a_resample_of_two_answers_has_no_correlation() -> None:
    true = [[1.0] * 4, [2.0] * 4, [3.0] * 4]
    counts = np.array([[1, 1, 1], [1, 1, 0], [2, 1, 0]])
    found = resampled_correlations(true, true, [True] * 3, np.arange(3), counts)
    assert found[0] == pytest.approx([1, NAN, 1], nan_ok=True)


def test_dishes_are_drawn_with_all_their_answers() -> None:
    true = [[1.0] * 4, [2.0] * 4, [3.0] * 4]
    predicted = [[2.0] * 4, [1.0] * 4, [3.0] * 4]
    dish = np.array([0, 0, 1])
    found = resampled_correlations(predicted, true, [True] * 3, dish, np.array([[2, 0], [1, 1]]))
    # The first dish alone, twice: 1 2 1 2 against 2 1 2 1. Both: 1 2 3 against 2 1 3.
    assert found[0] == pytest.approx([-1, 0.5])


def test_huge_estimates_neither_fail_nor_warn() -> None:
    true = [[1.0] * 4, [2.0] * 4, [3.0] * 4, [5.0] * 4]
    predicted = [[1e308] * 4, [1.0] * 4, [2.0] * 4, [3.0] * 4]
    counts = resample_counts(4, 50)
    found = resampled_correlations(predicted, true, [True] * 4, EACH_ITSELF, counts)
    assert found.shape == (4, 50)
    assert resampled_correlations([], [], [], np.arange(0), np.zeros((3, 0), int)).shape == (4, 3)


AMOUNTS = st.lists(st.integers(0, 2000).map(lambda n: n / 4), min_size=4, max_size=4)
ROWS = st.lists(st.tuples(AMOUNTS, AMOUNTS, st.booleans()), min_size=2, max_size=9)


@settings(max_examples=100)
@given(ROWS, st.integers(0, 100))
def test_a_resample_is_the_set_with_its_answers_repeated(
    rows: list[tuple[list[float], list[float], bool]], seed: int
) -> None:
    predicted, true, readable = (np.array(column) for column in zip(*rows, strict=True))
    counts = resample_counts(len(rows), 5, seed)
    found = resampled_correlations(predicted, true, readable, np.arange(len(rows)), counts)
    whole = [*correlations(predicted, true, readable).values()]
    for place, weights in enumerate(counts):
        drawn = np.repeat(np.arange(len(rows)), weights)
        alone = correlations(predicted[drawn], true[drawn], readable[drawn])
        expected = [NAN if math.isnan(w) else r for r, w in zip(alone.values(), whole, strict=True)]
        assert found[:, place] == pytest.approx(expected, abs=1e-6, nan_ok=True)
