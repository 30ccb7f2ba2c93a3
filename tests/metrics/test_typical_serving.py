import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.bootstrap import resample_counts
from lmms_eval_food.metrics.matches import accepted_matches, typical_servings
from lmms_eval_food.metrics.portions import ImageResult
from lmms_eval_food.metrics.typical_serving import (
    compare_with_typical_serving,
    within_food_correlation,
)

NAN = math.nan


def photos_of(items):
    """One photo an item: (food, predicted grams, true grams)."""
    return [
        ImageResult(f"{n}", (food,), (pred,), (food,), (true,), ((0, 0, 1.0),))
        for n, (food, pred, true) in enumerate(items)
    ]


def compare(photos, typical=None, resamples=50):
    typical = typical_servings(photos) if typical is None else np.array(typical)
    counts = resample_counts(len(photos), resamples)
    return compare_with_typical_serving(accepted_matches(photos), typical, counts)


def within(photos, resamples=50, **options):
    counts = resample_counts(len(photos), resamples)
    return within_food_correlation(accepted_matches(photos), counts, **options)


def test_the_same_items_by_hand():
    photos = photos_of([("a", 90.0, 100.0), ("b", NAN, 50.0), ("c", 60.0, 40.0), ("d", 5.0, 0.0)])
    found = compare(photos, typical=[130.0, 50.0, 30.0, 1.0])
    assert found.n == 3
    assert found.model_mae == pytest.approx((10 + 20 + 5) / 3)
    assert found.typical_mae == pytest.approx((30 + 10 + 1) / 3)
    assert found.model_medape == pytest.approx((10 + 50) / 2)
    assert found.typical_medape == pytest.approx((30 + 25) / 2)
    # Two photos do not determine a fit of two columns and an intercept.
    assert math.isnan(found.combined_mae)
    assert found.gain.undefined == 1.0


def test_a_combination_that_holds_everywhere_is_found():
    rng = np.random.default_rng(0)
    pred, typical = rng.uniform(50, 300, 20), rng.uniform(50, 300, 20)
    true = 5 + 0.5 * pred + 0.25 * typical
    photos = photos_of([(str(n), *pair) for n, pair in enumerate(zip(pred, true, strict=True))])
    found = compare(photos, typical)
    assert found.combined_mae == pytest.approx(0.0, abs=1e-8)
    assert found.gain.difference == pytest.approx(found.typical_mae)
    assert 0 < found.gain.low < found.gain.difference < found.gain.high
    assert found.gain.share_above == 1.0


def test_random_estimates_add_nothing_to_the_food():
    rng = np.random.default_rng(1)
    base = rng.uniform(50, 300, 300)
    true, pred = base + rng.normal(0, 20, 300), rng.uniform(50, 300, 300)
    photos = photos_of(
        [(str(n), p, max(0.0, t)) for n, (p, t) in enumerate(zip(pred, true, strict=True))]
    )
    found = compare(photos, base, resamples=400)
    assert found.gain.low < 0 < found.gain.high
    assert found.model_mae > 3 * found.typical_mae


def test_nothing_to_compare():
    found = compare([])
    assert found.n == 0
    for value in (found.model_mae, found.typical_mae, found.model_medape, found.combined_mae):
        assert math.isnan(value)


def test_one_photo_has_errors_and_no_interval():
    found = compare(photos_of([("a", 90.0, 100.0)]), typical=[120.0])
    assert (found.model_mae, found.typical_mae) == (10.0, 20.0)
    assert math.isnan(found.gain.low)


def test_within_food_by_hand():
    # Around the food means x is -1, 0, 1 and -10, 10; y is -1, 1, 0 and -2, 2.
    rice = [("rice", 1.0, 4.0), ("rice", 2.0, 6.0), ("rice", 3.0, 5.0)]
    others = [("tea", 80.0, 1.0), ("tea", 100.0, 5.0), ("egg", 7.0, 9.0)]
    photos = photos_of([*rice, *others])
    found = within(photos, minimum=2)
    assert (found.n_foods, found.n_items) == (2, 5)
    assert found.r == pytest.approx((1 + 40) / math.sqrt((2 + 200) * (2 + 8)))


def test_differences_between_foods_do_not_count():
    # Larger foods are estimated larger, but within a food the estimates run the wrong way.
    items = [
        (food, base + step, base - step)
        for food, base in (("a", 100.0), ("b", 500.0))
        for step in range(5)
    ]
    found = within(photos_of(items))
    assert found.r == pytest.approx(-1.0)
    assert found.low == pytest.approx(-1.0)
    assert found.high == pytest.approx(-1.0)


def test_five_items_make_a_food():
    items = [("rice", float(n), float(n)) for n in range(5)] + [
        ("tea", float(n), 9.0 - n) for n in range(4)
    ]
    found = within(photos_of(items))
    assert (found.n_foods, found.n_items) == (1, 5)
    assert found.r == pytest.approx(1.0)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [("rice", 100.0, 90.0)],
        [("rice", 100.0, float(n)) for n in range(6)],
        [("rice", float(n), 0.1) for n in range(6)],
        [("rice", NAN, float(n)) for n in range(6)],
    ],
)
def test_estimates_or_weights_that_do_not_vary_have_no_correlation(items):
    found = within(photos_of(items))
    assert math.isnan(found.r)
    assert math.isnan(found.low)


def test_items_of_one_photo_are_resampled_together():
    # All items on one photo: no spread between photos to speak of.
    names, grams = ("rice",) * 6, tuple(float(n) for n in range(6))
    photo = ImageResult("a", names, grams, names, grams, tuple((n, n, 1.0) for n in range(6)))
    found = within([photo])
    assert found.r == pytest.approx(1.0)
    assert math.isnan(found.low)


FOODS = st.lists(
    st.tuples(st.sampled_from(["rice", "tea"]), *[st.integers(0, 90).map(float)] * 2), max_size=25
)


@given(FOODS)
def test_correlation_equals_that_of_centred_items(items):
    found = within(photos_of(items), resamples=5, minimum=3)
    x, y = [], []
    for food in ("rice", "tea"):
        rows = np.array([row[1:] for row in items if row[0] == food])
        if len(rows) >= 3:
            x += list(rows[:, 0] - rows[:, 0].mean())
            y += list(rows[:, 1] - rows[:, 1].mean())
    assert found.n_items == len(x)
    if x and np.abs(x).max() > 1e-9 and np.abs(y).max() > 1e-9:
        expected = np.dot(x, y) / math.sqrt(np.dot(x, x) * np.dot(y, y))
        assert found.r == pytest.approx(expected, abs=1e-9)
    else:
        assert math.isnan(found.r)


def test_resamples_are_correlations_of_the_photos_drawn():
    rng = np.random.default_rng(6)
    items = [("rice", *rng.uniform(0, 100, 2).tolist()) for _ in range(7)]
    counts = np.array([[2, 0, 1, 1, 1, 2, 0]] * 3)
    found = within_food_correlation(accepted_matches(photos_of(items)), counts)
    drawn = np.array([items[n][1:] for n, times in enumerate(counts[0]) for _ in range(times)])
    expected = np.corrcoef(drawn.T)[0, 1]
    assert (found.low, found.high) == pytest.approx((expected, expected))
