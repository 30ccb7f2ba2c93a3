import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lmms_eval_food.metrics.linear_fit import fit_and_leave_out

GRAMS = st.integers(1, 60).map(lambda n: 10.0 * n)


def refit(columns, target):
    """Coefficients by numpy's own least squares."""
    return np.linalg.lstsq(np.column_stack([np.ones(len(target)), columns]), target, rcond=None)[0]


def test_points_on_a_line():
    fitted = fit_and_leave_out(
        np.array([[1.0], [2.0], [4.0]]), np.array([5.0, 7.0, 11.0]), ["a", "b", "c"]
    )
    assert fitted.coefficients.tolist() == pytest.approx([3.0, 2.0])
    assert fitted.in_sample.tolist() == pytest.approx([5.0, 7.0, 11.0])
    assert fitted.left_out.tolist() == pytest.approx([5.0, 7.0, 11.0])


def test_left_out_by_hand():
    # Without b the line goes through (0, 0) and (2, 4), without a through (1, 5) and (2, 4),
    # without c through (0, 0) and (1, 5).
    fitted = fit_and_leave_out(
        np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 5.0, 4.0]), ["a", "b", "c"]
    )
    assert fitted.left_out.tolist() == pytest.approx([6.0, 2.0, 10.0])
    # Slope 2 through the mean (1, 3).
    assert fitted.coefficients.tolist() == pytest.approx([1.0, 2.0])


@pytest.mark.parametrize(
    ("columns", "groups"),
    [
        ([[1.0]], ["a"]),
        ([[5.0], [5.0], [5.0]], ["a", "b", "c"]),
        ([[0.1], [0.1], [0.1]], ["a", "b", "c"]),
        ([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [5.0, 10.0]], ["a", "b", "c", "d"]),
        ([[1e200], [1.0], [2.0]], ["a", "b", "c"]),
    ],
)
def test_undetermined_fits_are_nan(columns, groups):
    fitted = fit_and_leave_out(np.array(columns), np.arange(len(groups), dtype=float), groups)
    for values in (fitted.coefficients, fitted.in_sample, fitted.left_out):
        assert np.isnan(values).all()


@pytest.mark.parametrize("groups", [["a", "a", "a"], ["a", "a", "b"]])
def test_groups_that_leave_too_little_are_nan(groups):
    fitted = fit_and_leave_out(np.array([[1.0], [2.0], [4.0]]), np.array([5.0, 7.0, 11.0]), groups)
    assert fitted.coefficients.tolist() == pytest.approx([3.0, 2.0])
    assert np.isnan(fitted.left_out).all()


def test_no_items():
    fitted = fit_and_leave_out(np.zeros((0, 2)), np.zeros(0), [])
    assert np.isnan(fitted.coefficients).all()
    assert fitted.in_sample.size == fitted.left_out.size == 0


def test_one_wild_weight_does_not_blur_the_fits_without_it():
    columns = np.array([[1e9], [1.0], [2.0], [4.0]])
    fitted = fit_and_leave_out(columns, np.array([0.0, 5.0, 7.0, 11.0]), list("abcd"))
    assert fitted.left_out[0] == pytest.approx(3.0 + 2e9, rel=1e-9)


@pytest.mark.parametrize(
    ("columns", "target", "groups", "message"),
    [
        (np.zeros(2), np.zeros(2), ["a", "b"], "one row an item"),
        (np.zeros((2, 1)), np.zeros(3), ["a", "b"], "one row an item"),
        (np.zeros((2, 1)), np.zeros(2), ["a"], "one row an item"),
        (np.array([[math.nan]]), np.zeros(1), ["a"], "must be finite"),
        (np.zeros((1, 1)), np.array([math.inf]), ["a"], "must be finite"),
    ],
)
def test_bad_input(columns, target, groups, message):
    with pytest.raises(ValueError, match=message):
        fit_and_leave_out(columns, target, groups)


@given(
    st.lists(st.tuples(GRAMS, GRAMS, GRAMS, st.sampled_from("abcde")), min_size=8, max_size=30),
    st.sampled_from([1, 2]),
)
def test_equals_refitting(rows, n_columns):
    columns = np.array([row[:n_columns] for row in rows])
    target, groups = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
    for kept in [np.ones(len(rows), bool), *(groups != group for group in set(groups.tolist()))]:
        design = np.column_stack([np.ones(kept.sum()), columns[kept]])
        assume(kept.sum() > n_columns and np.linalg.cond(design) < 1e5)
    fitted = fit_and_leave_out(columns, target, groups.tolist())
    assert fitted.coefficients == pytest.approx(refit(columns, target), rel=1e-6, abs=1e-6)
    for item, group in enumerate(groups):
        line = refit(columns[groups != group], target[groups != group])
        expected = line[0] + columns[item] @ line[1:]
        assert fitted.left_out[item] == pytest.approx(expected, rel=1e-6, abs=1e-5)
