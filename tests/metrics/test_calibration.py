import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import curve_fit
from scipy.stats import linregress

from lmms_eval_food.metrics.calibration import calibrate

GRAMS = st.integers(0, 60).map(lambda n: 10.0 * n)


def test_by_hand():
    # Slope 2 through the mean (1, 3); residuals -1, 2, -1.
    found = calibrate([0.0, 1.0, 2.0], [0.0, 5.0, 4.0], ["a", "b", "c"])
    assert (found.n, found.b, found.k) == (3, pytest.approx(1.0), pytest.approx(2.0))
    # Residual variance 6 / (3 - 2); spread of x 2, mean of x 1.
    assert found.covariance[1] == pytest.approx((-3.0, 3.0))
    assert found.covariance[0] == pytest.approx((6 * (1 / 3 + 1 / 2), -3.0))
    assert (found.raw.mae, found.raw.medae) == pytest.approx((2.0, 2.0))
    assert (found.in_sample.mae, found.in_sample.medae) == pytest.approx((4 / 3, 1.0))
    # Lines through the other two points miss by 6, 3 and 6.
    assert (found.left_out.mae, found.left_out.medae) == pytest.approx((5.0, 6.0))


def test_estimates_that_are_half_the_truth_are_calibrated_away():
    pred = np.array([50.0, 100.0, 150.0, 200.0])
    found = calibrate(pred, 2 * pred + 10, ["a", "a", "b", "c"])
    assert found.k == pytest.approx(2.0)
    assert found.b == pytest.approx(10.0)
    assert found.raw.mae == pytest.approx(135.0)
    assert found.left_out.mae == pytest.approx(0.0, abs=1e-9)


def test_no_items():
    found = calibrate([], [], [])
    assert found.n == 0
    values = [found.b, found.k, *found.covariance[0], *found.covariance[1]]
    for errors in (found.raw, found.in_sample, found.left_out):
        values += [errors.mae, errors.medae]
    assert all(math.isnan(value) for value in values)


@pytest.mark.parametrize("pred", [[50.0], [50.0, 50.0, 50.0]])
def test_estimates_that_are_all_alike_have_raw_errors_only(pred):
    found = calibrate(pred, [60.0] * len(pred), list("abc")[: len(pred)])
    assert found.raw.mae == 10.0
    assert math.isnan(found.k)
    assert math.isnan(found.in_sample.mae)
    assert math.isnan(found.left_out.medae)


def test_two_items_have_a_line_without_covariance():
    found = calibrate([1.0, 2.0], [3.0, 5.0], ["a", "b"])
    assert (found.b, found.k) == (pytest.approx(1.0), pytest.approx(2.0))
    assert math.isnan(found.covariance[1][1])
    assert math.isnan(found.left_out.mae)


def test_the_items_of_one_photo_cannot_be_left_out():
    found = calibrate([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], ["a", "a", "a"])
    assert found.in_sample.mae == pytest.approx(0.0, abs=1e-12)
    assert math.isnan(found.left_out.mae)


@pytest.mark.parametrize(
    ("pred", "true", "images", "message"),
    [
        ([1.0], [1.0, 2.0], ["a"], "lengths differ: pred 1, true 2, images 1"),
        ([1.0], [1.0], [], "lengths differ: pred 1, true 1, images 0"),
        ([math.nan], [1.0], ["a"], "pred must be finite"),
        ([1.0], [math.inf], ["a"], "true must be finite"),
    ],
)
def test_bad_input(pred, true, images, message):
    with pytest.raises(ValueError, match=message):
        calibrate(pred, true, images)


@given(st.lists(st.tuples(GRAMS, GRAMS), min_size=4, max_size=30))
def test_agrees_with_scipy(rows):
    pred, true = np.array(rows).T
    # scipy gives no standard error where all true weights are alike.
    assume(len(set(pred.tolist())) > 1 and len(set(true.tolist())) > 1)
    found, line = calibrate(pred, true, ["a"] * len(rows)), linregress(pred, true)
    assert found.k == pytest.approx(line.slope, rel=1e-6, abs=1e-7)
    assert found.b == pytest.approx(line.intercept, rel=1e-6, abs=1e-6)
    assert math.sqrt(found.covariance[1][1]) == pytest.approx(line.stderr, rel=1e-4, abs=1e-6)
    assert math.sqrt(found.covariance[0][0]) == pytest.approx(
        line.intercept_stderr, rel=1e-4, abs=1e-4
    )


def test_the_covariance_agrees_with_scipy():
    rng = np.random.default_rng(4)
    pred = rng.uniform(20, 400, 50)
    true = 15 + 1.2 * pred + rng.normal(0, 30, 50)
    found = calibrate(pred, true, [str(n) for n in range(50)])
    fit, covariance = curve_fit(lambda x, b, k: b + k * x, pred, true, p0=[0.0, 1.0])
    assert (found.b, found.k) == pytest.approx(tuple(fit), rel=1e-5)
    assert np.array(found.covariance) == pytest.approx(covariance, rel=1e-4)


@given(
    st.lists(st.tuples(GRAMS, GRAMS, st.sampled_from("abcd")), min_size=1, max_size=20),
    st.randoms(),
)
def test_the_order_of_the_items_does_not_matter(rows, random):
    shuffled = random.sample(rows, len(rows))
    one, two = (calibrate(*map(list, zip(*order, strict=True))) for order in (rows, shuffled))
    assert one.k == pytest.approx(two.k, nan_ok=True, rel=1e-7, abs=1e-9)
    assert one.left_out.mae == pytest.approx(two.left_out.mae, nan_ok=True, rel=1e-6, abs=1e-6)
