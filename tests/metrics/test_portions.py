import csv
import json
import math
import re
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.portions import (
    ImageResult,
    flatten,
    score_items,
    score_portions,
    take_images,
)

NAN = math.nan
THRESHOLDS = st.sampled_from([0.0, 0.3, 0.5, 0.6, 0.9, 1.0])

# Two trays: the roll carries no grams, the cake and the nameless item are on no tray, the apple is
# missed, and the water weighs nothing.
TRAYS = [
    ImageResult(
        "001.jpg",
        ("soup", "roll", "cake", " "),
        (150.0, NAN, 80.0, 30.0),
        ("vegetable soup", "bread", "apple"),
        (200.0, 50.0, 100.0),
        ((0, 0, 0.9), (1, 1, 0.6), (3, 2, 0.0)),
    ),
    ImageResult(
        "002.jpg",
        ("rice", "water"),
        (130.0, 10.0),
        ("pilaf", "water"),
        (100.0, 0.0),
        ((1, 1, 0.95), (0, 0, 0.55)),
    ),
]

# Errors: soup 50, rice 30, water 10; without an estimate: bread 50 g, apple 100 g.
AT_50 = {
    "threshold": 0.5,
    "n_images": 2,
    "n_pred": 6,
    "n_true": 5,
    "tp": 4,
    "fp": 2,
    "fn": 1,
    "precision": 4 / 6,
    "recall": 4 / 5,
    "f1": 8 / 11,
    "matched": 3,
    "mae": 30.0,
    "medae": 30.0,
    "rmse": math.sqrt((2500 + 900 + 100) / 3),
    "medape": (25 + 30) / 2,  # the water's true 0 g is left out
    "nmae": (90 + 2 * 129) / 5,
    "cpmae": (90 + 50 + 100) / 5,
    "cpmae_fp": (90 + 50 + 100 + 80 + 30) / 5,
    "meal_ae": (abs(150 + 80 + 30 - 350) + abs(140 - 100)) / 2,
}
# The rice is no match any more: 100 g missed, 130 g made up.
AT_60 = AT_50 | {
    "threshold": 0.6,
    "tp": 3,
    "fp": 3,
    "fn": 2,
    "precision": 3 / 6,
    "recall": 3 / 5,
    "f1": 6 / 11,
    "matched": 2,
    "mae": 30.0,
    "medae": 30.0,
    "rmse": math.sqrt((2500 + 100) / 2),
    "medape": 25.0,
    "nmae": (60 + 3 * 129) / 5,
    "cpmae": (60 + 50 + 100 + 100) / 5,
    "cpmae_fp": (60 + 50 + 100 + 100 + 80 + 30 + 130) / 5,
}
NOTHING_MATCHED = {
    "tp": 0,
    "fp": 6,
    "fn": 5,
    "precision": 0.0,
    "recall": 0.0,
    "f1": 0.0,
    "matched": 0,
    "mae": NAN,
    "medae": NAN,
    "rmse": NAN,
    "medape": NAN,
    "nmae": 129.0,
    "cpmae": 450 / 5,
    "cpmae_fp": (450 + 150 + 80 + 30 + 130 + 10) / 5,
    "meal_ae": 65.0,
}


@pytest.mark.parametrize(
    ("threshold", "expected"),
    [(0.0, AT_50 | {"threshold": 0.0}), (0.5, AT_50), (0.6, AT_60), (1.0, NOTHING_MATCHED)],
)
def test_hand_worked_trays(threshold, expected):
    scores = asdict(score_portions(TRAYS, threshold))
    assert {name: scores[name] for name in expected} == pytest.approx(expected, nan_ok=True)


def test_another_penalty_moves_only_nmae():
    usual, doubled = score_portions(TRAYS), score_portions(TRAYS, w0=258.0)
    assert doubled.nmae == pytest.approx((90 + 2 * 258) / 5)
    assert replace(doubled, nmae=usual.nmae) == usual


def test_no_photos():
    scores = asdict(score_portions([]))
    counts = {"n_images", "n_pred", "n_true", "tp", "fp", "fn", "matched"}
    assert all(scores.pop(name) == 0 for name in counts)
    assert scores.pop("threshold") == 0.5
    assert all(math.isnan(score) for score in scores.values())


def test_no_predictions_score_zero_not_nan():
    photo = replace(TRAYS[0], pred_names=(), pred_grams=(), pairs=())
    scores = score_portions([photo])
    assert math.isnan(scores.precision)
    assert scores.recall == scores.f1 == 0
    assert scores.nmae == 129
    assert scores.cpmae == scores.cpmae_fp == pytest.approx(350 / 3)
    assert scores.meal_ae == 350


def test_predictions_without_true_items():
    scores = score_portions([ImageResult("a", ("cake",), (80.0,), (), ())])
    assert (scores.precision, scores.f1, scores.meal_ae) == (0, 0, 80)
    assert math.isnan(scores.recall)
    assert math.isnan(scores.nmae)


def test_one_right_item():
    scores = score_portions([ImageResult("a", ("x",), (7.0,), ("x",), (7.0,), ((0, 0, 1.0),))])
    assert scores.precision == scores.recall == scores.f1 == 1
    assert scores.mae == scores.rmse == scores.medape == scores.nmae == scores.meal_ae == 0


@pytest.mark.parametrize("threshold", [-0.1, 1.5, NAN])
def test_threshold_outside_its_range_is_refused(threshold):
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\]"):
        score_portions(TRAYS, threshold)


def assert_same(left, right):
    assert asdict(left) == pytest.approx(asdict(right), nan_ok=True)


@given(st.data(), THRESHOLDS)
def test_order_of_photos_does_not_matter(photo_lists, data, threshold):
    photos = data.draw(photo_lists)
    shuffled = data.draw(st.permutations(photos))
    assert_same(score_portions(shuffled, threshold), score_portions(photos, threshold))


@given(st.data(), THRESHOLDS)
def test_doubling_every_photo_changes_no_mean(photo_lists, data, threshold):
    photos = data.draw(photo_lists)
    items = flatten(photos)
    once = score_items(items, threshold)
    index = [*range(len(photos)), *range(len(photos))]
    twice = score_items(take_images(items, index), threshold)
    counts = ("n_images", "n_pred", "n_true", "tp", "fp", "fn", "matched")
    doubled = replace(once, **{name: 2 * getattr(once, name) for name in counts})
    assert_same(twice, doubled)


@given(st.data(), THRESHOLDS, st.sampled_from([0.5, 3.0, 1000.0]))
def test_weights_in_another_unit(photo_lists, data, threshold, factor):
    photos = data.draw(photo_lists)
    scaled = [
        replace(
            photo,
            pred_grams=tuple(factor * grams for grams in photo.pred_grams),
            true_grams=tuple(factor * grams for grams in photo.true_grams),
        )
        for photo in photos
    ]
    usual = score_portions(photos, threshold)
    in_grams = ("mae", "medae", "rmse", "nmae", "cpmae", "cpmae_fp", "meal_ae")
    expected = replace(usual, **{name: factor * getattr(usual, name) for name in in_grams})
    assert_same(score_portions(scaled, threshold, w0=factor * 129), expected)


@given(st.data(), THRESHOLDS)
def test_the_equations_hold_together(photo_lists, data, threshold):
    scores = score_portions(data.draw(photo_lists), threshold)
    assert scores.tp + scores.fp == scores.n_pred
    assert scores.tp + scores.fn == scores.n_true
    assert scores.matched <= scores.tp
    if scores.n_true:
        error_sum = scores.mae * scores.matched if scores.matched else 0.0
        without = scores.n_true - scores.matched
        assert scores.nmae * scores.n_true == pytest.approx(error_sum + 129 * without)
        assert scores.cpmae_fp >= scores.cpmae
    if scores.matched:
        assert scores.rmse >= scores.mae - 1e-9


@given(st.data())
def test_a_higher_threshold_matches_no_more(photo_lists, data):
    items = flatten(data.draw(photo_lists))
    scores = [score_items(items, threshold) for threshold in (0.0, 0.5, 0.7, 1.0)]
    assert [s.tp for s in scores] == sorted((s.tp for s in scores), reverse=True)
    assert len({str(s.meal_ae) for s in scores}) == 1


# The recorded answers of GPT-4o for 176 of the photos, grams read as the first number.


@pytest.fixture(scope="module")
def recorded(published_canteen, canteen_photos):
    truth = {photo.image: photo for photo in canteen_photos}
    photos = []
    with (published_canteen / "recorded" / "gpt-4o_T0.2.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            items = json.loads(row["response"])["food_items"]
            numbers = [re.search(r"\d+(\.\d+)?", str(item["portion_estimate"])) for item in items]
            grams = tuple(float(number[0]) if number else NAN for number in numbers)
            names = tuple(item["name"] for item in items)
            photos.append(replace(truth[row["image"]], pred_names=names, pred_grams=grams))
    return photos


def test_recorded_answers_give_the_known_meal_error(recorded):
    scores = score_portions(recorded)
    assert scores.n_images == 176
    assert scores.n_pred / scores.n_images == pytest.approx(4.62, abs=5e-3)
    assert scores.meal_ae == pytest.approx(160.506, abs=5e-4)


def test_published_set_has_the_published_size(published_canteen, canteen_photos):
    scores = score_portions(canteen_photos)
    assert (scores.n_images, scores.n_true) == (200, 870)
    participants = published_canteen / "image_participants.csv"
    with participants.open(newline="", encoding="utf-8") as stream:
        assert {row["resized_filename"] for row in csv.DictReader(stream)} == {
            photo.image for photo in canteen_photos
        }
