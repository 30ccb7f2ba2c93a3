import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.portions import (
    ImageResult,
    global_median_predictions,
    null_predictions,
    perfect_recognition,
    score_portions,
    typical_serving_predictions,
)

SERVINGS = st.lists(
    st.tuples(st.sampled_from(["rice", "Rice", "soup", "tea"]), st.integers(0, 500), st.text("ab")),
    max_size=12,
)


def test_global_median():
    assert global_median_predictions([10, 200, 30, 40]).tolist() == [35.0] * 4
    assert global_median_predictions([7]).tolist() == [7.0]
    assert global_median_predictions([]).shape == (0,)


@pytest.mark.parametrize(
    ("grams", "message"),
    [([1, math.nan], "true_grams must be finite"), ([[1.0]], "true_grams must be one-dimensional")],
)
def test_global_median_refuses(grams, message):
    with pytest.raises(ValueError, match=message):
        global_median_predictions(grams)


def test_typical_serving_looks_at_other_photos_only():
    names = ["Rice", "rice ", "rice", "RICE", "soup", "tea", "tea"]
    grams = [100, 120, 200, 300, 50, 10, 20]
    images = ["1", "1", "2", "3", "1", "2", "2"]
    predicted, fallbacks = typical_serving_predictions(names, grams, images)
    # Rice on photo 1: median of 200 and 300; photo 2: of 100, 120, 300; photo 3: of 100, 120, 200.
    # Soup is on one photo, and so is tea, though twice: the median of all seven, 100.
    assert predicted.tolist() == [250, 250, 120, 120, 100, 100, 100]
    assert fallbacks == 3


def test_typical_serving_of_nothing():
    predicted, fallbacks = typical_serving_predictions([], [], [])
    assert (predicted.shape, fallbacks) == ((0,), 0)


def test_typical_serving_refuses_other_lengths():
    with pytest.raises(ValueError, match="differ in length: 1, 2, 1"):
        typical_serving_predictions(["rice"], [1, 2], ["1"])


@given(SERVINGS)
def test_typical_serving_never_leaves_the_range_of_weights(rows):
    names, grams, images = zip(*rows, strict=True) if rows else ((), (), ())
    predicted, fallbacks = typical_serving_predictions(names, grams, images)
    assert 0 <= fallbacks <= len(rows) == predicted.size
    assert all(min(grams) <= weight <= max(grams) for weight in predicted)


@given(SERVINGS, st.integers(0, 900))
def test_an_items_own_weight_is_not_used(rows, weight):
    rows = [("stew", 150, "first"), ("stew", 250, "second"), *rows]
    names, grams, images = zip(*rows, strict=True)
    changed = (weight, *grams[1:])
    before, _ = typical_serving_predictions(names, grams, images)
    after, _ = typical_serving_predictions(names, changed, images)
    assert before[0] == after[0] == 250
    assert after[1] == weight


def test_perfect_recognition():
    photos = [
        ImageResult("1", ("cake",), (9.0,), ("rice", "tea"), (100.0, 10.0)),
        ImageResult("2", (), (), ("soup",), (50.0,)),
    ]
    named = perfect_recognition(photos, [90, math.nan, 60])
    assert [photo.pred_names for photo in named] == [("rice", "tea"), ("soup",)]
    scores = score_portions(named, threshold=1.0)
    assert (scores.f1, scores.matched, scores.mae) == (1, 2, 10)


def test_perfect_recognition_refuses_other_lengths():
    with pytest.raises(ValueError, match=r"grams must have shape \(0,\), its shape is \(1,\)"):
        perfect_recognition([], [1.0])


def test_null_predictions_keep_only_the_truth():
    photo = ImageResult("1", ("rice",), (90.0,), ("rice",), (100.0,), ((0, 0, 1.0),))
    (emptied,) = null_predictions([photo])
    assert (emptied.pred_names, emptied.pred_grams, emptied.pairs) == ((), (), ())
    assert (emptied.true_names, emptied.true_grams) == (("rice",), (100.0,))


# The paper's reference rows (Table 2), to the digits known for the published 870 items.


def test_published_null_predictor(canteen_photos):
    scores = score_portions(null_predictions(canteen_photos))
    assert scores.matched == 0
    assert scores.f1 == 0
    assert scores.nmae == 129
    assert scores.cpmae == scores.cpmae_fp == pytest.approx(151.854, abs=5e-4)
    assert scores.meal_ae == pytest.approx(660.565, abs=5e-4)


def test_published_global_median(canteen_photos):
    grams = global_median_predictions([g for photo in canteen_photos for g in photo.true_grams])
    assert np.unique(grams).tolist() == [129]
    scores = score_portions(perfect_recognition(canteen_photos, grams))
    assert scores.matched == 870
    assert scores.mae == scores.cpmae == scores.cpmae_fp == pytest.approx(61.254, abs=5e-4)
    assert scores.medae == 45
    assert round(scores.meal_ae) == 134


def test_published_typical_serving(canteen_photos):
    items = [
        (name, grams, photo.image)
        for photo in canteen_photos
        for name, grams in zip(photo.true_names, photo.true_grams, strict=True)
    ]
    names, weights, images = zip(*items, strict=True)
    grams, fallbacks = typical_serving_predictions(names, weights, images)
    assert fallbacks == 207
    scores = score_portions(perfect_recognition(canteen_photos, grams))
    assert scores.mae == pytest.approx(35.417, abs=5e-4)
    assert scores.medae == pytest.approx(18.75, abs=5e-4)
    assert round(scores.meal_ae) == 98
