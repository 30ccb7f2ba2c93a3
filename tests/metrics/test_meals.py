import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.meals import ImageResult, flatten, match_image, take_images

NAN = math.nan


def result(**changes):
    fields = {
        "image": "001.jpg",
        "pred_names": ("soup", "roll"),
        "pred_grams": (150.0, NAN),
        "true_names": ("bread",),
        "true_grams": (50.0,),
        "pairs": ((1, 0, 0.75),),
    }
    return ImageResult(**{**fields, **changes})


def as_lists(items):
    """Field -> list, for comparing arrays that hold nan."""
    return {
        field.name: np.asarray(getattr(items, field.name)).tolist()
        for field in dataclasses.fields(items)
    }


def same(left, right):
    return str(as_lists(left)) == str(as_lists(right))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"pred_grams": (150.0,)}, "image 001.jpg: names and grams differ in length"),
        ({"true_grams": ()}, "names and grams differ in length"),
        ({"pred_grams": (-1.0, NAN)}, "predicted grams must be >= 0, or nan for none"),
        ({"pred_grams": (math.inf, NAN)}, "predicted grams must be >= 0, or nan for none"),
        ({"true_grams": (NAN,)}, "true grams must be finite and >= 0"),
        ({"true_grams": (-1.0,)}, "true grams must be finite and >= 0"),
        ({"pairs": ((0, 0, 0.9), (1, 0, 0.8))}, "pairs must be one to one"),
        ({"pairs": ((2, 0, 0.9),)}, "a pair names an item that does not exist"),
        ({"pairs": ((0, -1, 0.9),)}, "a pair names an item that does not exist"),
    ],
)
def test_impossible_photos_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        result(**changes)


def test_match_image_pairs_greedily_for_every_threshold():
    scores = np.array([[0.80, 0.90], [0.10, 0.85]])
    photo = match_image("7", [("a", None), ("b", 20)], [("c", 30), ("d", 40)], scores)
    assert photo.pairs == ((0, 1, 0.90), (1, 0, 0.10))
    assert photo.pred_names == ("a", "b")
    assert math.isnan(photo.pred_grams[0])
    assert photo.pred_grams[1] == 20
    assert photo.true_grams == (30, 40)


def test_match_image_pairs_optimally_at_one_threshold():
    scores = np.array([[0.80, 0.90], [0.10, 0.85]])
    photo = match_image("7", [("a", 1), ("b", 2)], [("c", 3), ("d", 4)], scores, optimal_at=0.5)
    assert photo.pairs == ((1, 1, 0.85), (0, 0, 0.80))


def test_match_image_refuses_another_shape():
    with pytest.raises(ValueError, match=r"image 7: scores must have shape \(1, 2\), .* \(2, 1\)"):
        match_image("7", [("a", 1)], [("b", 1), ("c", 1)], np.zeros((2, 1)))


def test_flatten():
    photos = [result(), result(image="002.jpg", pred_names=(), pred_grams=(), pairs=())]
    expected = {
        "n_images": 2,
        "pred_image": [0, 0],
        "pred_grams": [150.0, NAN],
        "pred_score": [-math.inf, 0.75],
        "true_image": [0, 1],
        "true_grams": [50.0, 50.0],
        "true_score": [0.75, -math.inf],
        "paired_grams": [NAN, NAN],
    }
    assert str(as_lists(flatten(photos))) == str(expected)


@pytest.mark.parametrize("name", ["", "   ", "\n"])
def test_a_pair_with_an_empty_name_is_dropped(name):
    items = flatten([result(pred_names=("soup", name))])
    assert items.pred_score.tolist() == [-math.inf, -math.inf]
    assert items.true_score.tolist() == [-math.inf]


def test_flatten_nothing():
    items = flatten([])
    assert items.n_images == 0
    assert all(array == [] for name, array in as_lists(items).items() if name != "n_images")


@given(st.data())
def test_taking_photos_is_flattening_them(photo_lists, data):
    photos = data.draw(photo_lists)
    positions = st.integers(0, max(0, len(photos) - 1))
    index = data.draw(st.lists(positions, max_size=8 if photos else 0))
    taken = take_images(flatten(photos), index)
    assert same(taken, flatten([photos[position] for position in index]))
