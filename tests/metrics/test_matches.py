import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.matches import accepted_matches, typical_servings
from lmms_eval_food.metrics.portions import ImageResult, score_portions

NAN = math.nan

PHOTOS = [
    ImageResult(
        "a",
        ("Bread ", "soup", " "),
        (60.0, NAN, 5.0),
        ("soup", "bread", "jam"),
        (200.0, 50.0, 20.0),
        ((0, 1, 1.0), (1, 0, 0.7), (2, 2, 0.9)),
    ),
    ImageResult("b", (), (), ("bread",), (70.0,)),
    ImageResult("c", ("bun",), (55.0,), ("Bread",), (80.0,), ((0, 0, 0.6),)),
]


def test_accepted_matches():
    found = accepted_matches(PHOTOS)
    assert found.images == ("a", "b", "c")
    assert found.image.tolist() == [0, 0, 2]
    assert found.row.tolist() == [0, 1, 4]
    assert found.foods == ("soup", "bread", "bread")
    assert found.exact.tolist() == [True, True, False]
    assert found.similarity.tolist() == [0.7, 1.0, 0.6]
    assert found.pred_grams.tolist() == pytest.approx([NAN, 60.0, 55.0], nan_ok=True)
    assert found.true_grams.tolist() == [200.0, 50.0, 80.0]
    assert found.image_ids == ["a", "a", "c"]


def test_quantified_matches_carry_grams():
    found = accepted_matches(PHOTOS).quantified()
    assert found.images == ("a", "b", "c")
    assert found.row.tolist() == [1, 4]
    assert found.foods == ("bread", "bread")
    assert found.exact.tolist() == [True, False]


@pytest.mark.parametrize("threshold", [0.61, 1.0])
def test_the_threshold_itself_is_accepted(threshold):
    assert accepted_matches(PHOTOS, threshold).row.tolist() == ([0, 1] if threshold < 1 else [1])


def test_no_photos():
    found = accepted_matches([])
    assert found.images == found.foods == ()
    assert found.image.size == found.similarity.size == found.quantified().row.size == 0


def test_thresholds_are_checked():
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\]"):
        accepted_matches([], 2.0)


def test_typical_servings_follow_the_rows():
    # Bread on the other photos: 75 for a, 65 for b, 60 for c; soup and jam are on one photo only
    # and fall back to the median of 200, 50, 20, 70, 80.
    assert typical_servings(PHOTOS).tolist() == [70.0, 75.0, 70.0, 65.0, 60.0]


@given(st.data())
def test_matches_are_the_true_positives(photo_lists, data):
    photos = data.draw(photo_lists)
    threshold = data.draw(st.sampled_from([0.0, 0.5, 0.9]))
    found, scores = accepted_matches(photos, threshold), score_portions(photos, threshold)
    assert len(found.foods) == scores.tp
    items = found.quantified()
    assert len(items.foods) == scores.matched
    if scores.matched:
        error = abs(items.pred_grams - items.true_grams)
        assert error.mean() == pytest.approx(scores.mae)
