import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.classification import (
    accuracy,
    grouped_accuracy,
    rate,
    wilson_interval,
)

FLAGS = st.lists(st.booleans(), min_size=1, max_size=40)


@pytest.mark.parametrize("metric", [accuracy, rate])
@pytest.mark.parametrize(
    ("flags", "share"),
    [
        ([True, False, True, True, False], 0.6),
        ([1.0, 0.0], 0.5),
        ([True], 1.0),
        ([False], 0.0),
        ([False] * 7, 0.0),
        ([True] * 7, 1.0),
        (np.array([True, False, False, False]), 0.25),
    ],
)
def test_share_of_set_flags(metric, flags, share):
    assert metric(flags) == pytest.approx(share, rel=1e-12)


@pytest.mark.parametrize("metric", [accuracy, rate])
def test_no_flags_is_nan(metric):
    assert math.isnan(metric([]))


@pytest.mark.parametrize("bad", [[0.5], [2], [-1], [math.nan], [True, math.inf]])
def test_other_values_are_refused(bad):
    with pytest.raises(ValueError, match="correct must hold only true and false"):
        accuracy(bad)


def test_a_matrix_is_refused():
    with pytest.raises(ValueError, match=r"flags must be one-dimensional, its shape is \(1, 2\)"):
        rate([[True, False]])


@given(FLAGS)
def test_right_and_wrong_shares_add_up_to_one(flags):
    assert accuracy(flags) + accuracy([not flag for flag in flags]) == pytest.approx(1)


def test_grouped_accuracy():
    groups = ["zh", "en", "zh", "zh", "en"]
    assert grouped_accuracy([1, 0, 0, 1, 0], groups) == {
        "en": 0.0,
        "zh": pytest.approx(2 / 3),
    }
    assert list(grouped_accuracy([1, 1], ["th", "ko"])) == ["ko", "th"]


def test_grouped_accuracy_of_nothing_is_empty():
    assert grouped_accuracy([], []) == {}


def test_grouped_accuracy_refuses_other_lengths():
    with pytest.raises(ValueError, match="correct has 2 answers, groups has 1"):
        grouped_accuracy([1, 0], ["zh"])


@given(st.lists(st.tuples(st.booleans(), st.sampled_from("abc")), min_size=1, max_size=40))
def test_group_accuracies_average_to_the_whole(rows):
    flags, groups = zip(*rows, strict=True)
    by_group = grouped_accuracy(flags, groups)
    weighted = sum(by_group[group] for group in groups) / len(groups)
    assert weighted == pytest.approx(accuracy(flags))


# Closed form: centre (p + z²/2n) / (1 + z²/n); at p = 0 the upper end is z² / (n + z²).
Z2 = 1.959963984540054**2


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, Z2 / (10 + Z2)),
        (10, 10, 10 / (10 + Z2), 1.0),
        (1, 1, 1 / (1 + Z2), 1.0),
        (5, 10, 0.5 - 0.5 * (Z2 / (10 + Z2)) ** 0.5, 0.5 + 0.5 * (Z2 / (10 + Z2)) ** 0.5),
    ],
)
def test_wilson_interval(successes, n, low, high):
    assert wilson_interval(successes, n) == (pytest.approx(low), pytest.approx(high))


def test_wilson_interval_of_nothing_is_nan():
    low, high = wilson_interval(0, 0)
    assert math.isnan(low)
    assert math.isnan(high)


@pytest.mark.parametrize(
    ("successes", "n", "confidence", "message"),
    [
        (3, 2, 0.95, r"successes must lie in 0\.\.2, got 3"),
        (-1, 2, 0.95, r"successes must lie in 0\.\.2, got -1"),
        (1, 2, 1.0, "confidence must lie strictly between 0 and 1"),
        (1, 2, 0.0, "confidence must lie strictly between 0 and 1"),
    ],
)
def test_wilson_interval_refuses(successes, n, confidence, message):
    with pytest.raises(ValueError, match=message):
        wilson_interval(successes, n, confidence)


@given(st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_interval_holds_the_share_and_widens_with_confidence(case):
    successes, n = case
    low, high = wilson_interval(successes, n, 0.9)
    wider_low, wider_high = wilson_interval(successes, n, 0.99)
    assert 0 <= wider_low <= low <= successes / n <= high <= wider_high <= 1
