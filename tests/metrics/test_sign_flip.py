"""The sign-flip test against values by hand, against all patterns of signs, and by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.confusion import binomial_p
from lmms_eval_food.metrics.sign_flip import sign_flip_p

GAPS = st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=9)


@pytest.mark.parametrize(
    ("gaps", "expected"),
    [
        # Nine for the first run, one for the second: 2 (1 + 10) / 2 ** 10.
        ([1] * 9 + [-1], 22 / 1024),
        ([1, 1, 1], 2 / 8),
        # Sums of +-2 +-1 are 3, 1, -1, -3; seen is 1, and all are as far from 0.
        ([2, -1], 1.0),
        ([2, 1], 2 / 4),
        ([0.5, 0.25], 2 / 4),
        ([0, 0, 0], 1.0),
        ([3.5, 0.0], 1.0),
        ([1e200, 3e200], 2 / 4),
        ([1e-200, 3e-200], 2 / 4),
    ],
)
def test_by_hand(gaps, expected):
    assert sign_flip_p(gaps) == pytest.approx(expected)


@pytest.mark.parametrize("gaps", [[], [1.0], [0.0]])
def test_fewer_than_two_have_no_spread(gaps):
    assert math.isnan(sign_flip_p(gaps))


@pytest.mark.parametrize("gaps", [[math.nan, 1.0], [math.inf, 1.0], [[1.0, 2.0]]])
def test_bad_input(gaps):
    with pytest.raises(ValueError, match="gaps must be one-dimensional and finite"):
        sign_flip_p(gaps)


@given(GAPS)
def test_all_patterns_of_signs_give_the_same(gaps):
    seen = abs(sum(gaps)) * (1 - 1e-9)
    patterns = itertools.product((-1, 1), repeat=len(gaps))
    sums = [abs(sum(s * g for s, g in zip(signs, gaps, strict=True))) for signs in patterns]
    expected = sum(total >= seen for total in sums) / len(sums)
    assert sign_flip_p(gaps) == pytest.approx(expected)


@given(st.integers(0, 60), st.integers(0, 60))
def test_right_and_wrong_is_mcnemars_exact_test(ours, theirs):
    found = sign_flip_p([1] * ours + [-1] * theirs + [0, 0])
    expected = binomial_p(ours, ours + theirs, 0.5) if ours + theirs else 1.0
    assert found == pytest.approx(expected)


@given(GAPS, st.floats(0.01, 100))
def test_swapping_the_runs_or_the_unit_changes_nothing(gaps, factor):
    found = sign_flip_p(gaps)
    assert 0 < found <= 1
    assert sign_flip_p([-gap for gap in gaps]) == pytest.approx(found)


def test_many_differences_are_close_to_all_their_patterns():
    # 20 differences: the six smallest are taken as normal.
    rng = np.random.default_rng(5)
    gaps = rng.normal(0.4, 1, 20)
    signs = 1 - 2 * ((np.arange(2**20)[:, None] >> np.arange(20)) & 1)
    expected = (np.abs(signs @ gaps) >= abs(gaps.sum()) * (1 - 1e-9)).mean()
    assert sign_flip_p(gaps) == pytest.approx(expected, abs=0.002)


def test_p_has_no_smallest_value_but_that_of_the_data():
    assert sign_flip_p([1.0] * 200) == pytest.approx(2.0**-199)
    assert 0 < sign_flip_p([0.3] * 30 + [0.1] * 30) < 1e-12


def test_p_is_about_uniform_where_nothing_differs():
    rng = np.random.default_rng(3)
    found = np.array([sign_flip_p(rng.normal(size=60) ** 3) for _ in range(2000)])
    for level in (0.01, 0.05, 0.2, 0.5, 0.8):
        # Three standard errors of a share of 2000.
        assert (found <= level).mean() == pytest.approx(
            level, abs=3 * math.sqrt(level * (1 - level) / 2000)
        )
