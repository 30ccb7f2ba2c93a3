"""What several metric tests share: the published canteen files and made-up photos."""

import csv
import math

import pytest
from hypothesis import strategies as st

from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.portions import ImageResult

NAMES = ("rice", "Rice ", "soup", "bread", "green salad", "", "  ")


@pytest.fixture(scope="session")
def canteen_photos(published_canteen):
    """The 200 published photos with their true foods and no predictions."""
    photos = {}
    with (published_canteen / "labels_flat.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            photos.setdefault(row["image"], []).append((row["food"], float(row["portion"])))
    return [
        ImageResult(image, (), (), tuple(f for f, _ in foods), tuple(g for _, g in foods))
        for image, foods in photos.items()
    ]


@pytest.fixture(scope="session")
def rated_pairs(published_canteen):
    """(predicted, true, published score, three labels) of the 300 rated pairs."""
    with (published_canteen / "matcher_pairs.csv").open(newline="", encoding="utf-8") as stream:
        pairs = {row["pair_id"]: row for row in csv.DictReader(stream)}
    with (published_canteen / "human_labels.csv").open(newline="", encoding="utf-8") as stream:
        ratings = {
            row["pair_id"]: [row["rater_1"], row["rater_2"], row["rater_3"]]
            for row in csv.DictReader(stream)
        }
    assert pairs.keys() == ratings.keys()
    return [
        (normalise(row["pred_name"]), normalise(row["gt_name"]), float(row["score"]), ratings[key])
        for key, row in pairs.items()
    ]


@st.composite
def _photos(draw):
    n_pred, n_true = draw(st.integers(0, 4)), draw(st.integers(0, 4))
    weight = st.integers(0, 900).map(float)
    order = draw(st.permutations(range(n_true)))
    partners = [(pred, true) for pred, true in enumerate(order) if pred < n_pred]
    return ImageResult(
        image=draw(st.sampled_from("abcdef")),
        pred_names=tuple(draw(st.sampled_from(NAMES)) for _ in range(n_pred)),
        pred_grams=tuple(draw(weight | st.just(math.nan)) for _ in range(n_pred)),
        true_names=tuple(draw(st.sampled_from(NAMES[:5])) for _ in range(n_true)),
        true_grams=tuple(draw(weight) for _ in range(n_true)),
        pairs=tuple((p, t, draw(st.integers(0, 100)) / 100) for p, t in partners),
    )


@pytest.fixture(scope="session")
def photo_lists():
    """A hypothesis strategy: lists of photos, empty ones included."""
    return st.lists(_photos(), max_size=6)
