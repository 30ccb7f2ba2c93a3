import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.bootstrap import resample_counts
from lmms_eval_food.metrics.portion_bootstrap import (
    PORTION_METRICS,
    THRESHOLDS,
    common_images,
    score_resamples,
)
from lmms_eval_food.metrics.portions import ImageResult, flatten, score_items, take_images

NAN = math.nan
ONCE = np.ones((1, 2), dtype=np.int64)

# Photo a: the soup is found (error 20 g), the bread missed, the cake (30 g) invented.
# Photo b: the water is found at 0.6 without grams, the apple at 0.9 (error 50 g).
TRAYS = [
    ImageResult(
        "a", ("soup", "cake"), (120.0, 30.0), ("soup", "bread"), (100.0, 40.0), ((0, 0, 1.0),)
    ),
    ImageResult(
        "b",
        ("aqua", "apple"),
        (NAN, 150.0),
        ("water", "apple"),
        (200.0, 100.0),
        ((0, 0, 0.6), (1, 1, 0.9)),
    ),
]


@pytest.mark.parametrize(
    ("metric", "both", "only_a", "a_twice_b_once"),
    [
        ("precision", 3 / 4, 1 / 2, 4 / 6),
        ("recall", 3 / 4, 1 / 2, 4 / 6),
        ("f1", 3 / 4, 1 / 2, 4 / 6),
        ("mae", 35.0, 20.0, 30.0),
        ("medae", 35.0, 20.0, 20.0),
        ("rmse", math.sqrt(1450), 20.0, math.sqrt(1100)),
        ("medape", 35.0, 20.0, 20.0),
        ("nmae", (70 + 2 * 129) / 4, (20 + 129) / 2, (90 + 3 * 129) / 6),
        ("cpmae", (70 + 240) / 4, 60 / 2, (90 + 80 + 200) / 6),
        ("cpmae_fp", (70 + 240 + 30) / 4, 90 / 2, (90 + 80 + 200 + 60) / 6),
        # Totals: 150 against 140 on photo a, 150 against 300 on photo b.
        ("meal_ae", 80.0, 10.0, 170 / 3),
    ],
)
def test_by_hand(metric, both, only_a, a_twice_b_once):
    scores = score_resamples([flatten(TRAYS)], np.array([[1, 1], [1, 0], [2, 1]]), [0.5])
    assert scores[metric].tolist()[0][0] == pytest.approx([both, only_a, a_twice_b_once])


def test_thresholds_and_penalty_reach_the_scores():
    scores = score_resamples([flatten(TRAYS)], ONCE, [0.5, 0.7, 0.95], w0=100.0)
    assert scores["f1"][0, :, 0].tolist() == pytest.approx([3 / 4, 2 / 4, 1 / 4])
    assert scores["nmae"][0, :, 0].tolist() == pytest.approx([270 / 4, 270 / 4, 320 / 4])


def test_a_resample_without_items_or_photos_is_undefined():
    empty = [replace(tray, pred_names=(), pred_grams=(), pairs=()) for tray in TRAYS]
    scores = score_resamples([flatten(empty)], np.array([[1, 1], [0, 0]]), [0.5])
    assert scores["f1"][0, 0].tolist() == pytest.approx([0.0, NAN], nan_ok=True)
    assert scores["nmae"][0, 0].tolist() == pytest.approx([129.0, NAN], nan_ok=True)
    assert scores["meal_ae"][0, 0].tolist() == pytest.approx([220.0, NAN], nan_ok=True)
    for metric in ("precision", "mae", "medae", "rmse", "medape"):
        assert np.isnan(scores[metric]).all()


def test_items_that_weigh_nothing_have_no_percentage():
    tray = ImageResult("c", ("tea",), (30.0,), ("tea",), (0.0,), ((0, 0, 1.0),))
    scores = score_resamples([flatten([tray])], np.array([[3]]), [0.5])
    assert scores["mae"][0, 0, 0] == 30.0
    assert math.isnan(scores["medape"][0, 0, 0])


def test_a_weight_beyond_all_bounds_spoils_only_the_resamples_it_is_in():
    wild = replace(TRAYS[1], pred_grams=(NAN, 1e300))
    scores = score_resamples([flatten([TRAYS[0], wild])], np.array([[1, 1], [2, 0]]), [0.5])
    assert scores["rmse"][0, 0].tolist() == [math.inf, 20.0]
    assert scores["mae"][0, 0].tolist() == [5e299, 20.0]


@pytest.mark.parametrize(("runs", "thresholds"), [(0, (0.5,)), (2, ())])
def test_nothing_to_score_keeps_the_shape(runs, thresholds):
    scores = score_resamples([flatten(TRAYS)] * runs, ONCE, thresholds)
    assert set(scores) == set(PORTION_METRICS)
    assert all(array.shape == (runs, len(thresholds), 1) for array in scores.values())


def test_every_run_needs_the_photos_of_the_counts():
    with pytest.raises(ValueError, match="every run must have the 2 photos of counts"):
        score_resamples([flatten(TRAYS), flatten(TRAYS[:1])], ONCE)


def test_thresholds_are_checked():
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\], got 50"):
        score_resamples([flatten(TRAYS)], ONCE, [50])


@settings(max_examples=60)
@given(data=st.data())
def test_equals_scoring_the_photos_of_each_resample(photo_lists, data):
    runs = [flatten(data.draw(photo_lists.filter(len)))]
    n = runs[0].n_images
    other = st.lists(st.permutations(range(n)), max_size=2)
    runs += [take_images(runs[0], order) for order in data.draw(other)]
    seed = data.draw(st.integers(0, 99))
    counts = np.random.default_rng(seed).integers(0, 3, (4, n))
    scores = score_resamples(runs, counts)
    for run, items in enumerate(runs):
        for at, threshold in enumerate(THRESHOLDS):
            for row, count in enumerate(counts):
                expected = score_items(
                    take_images(items, np.repeat(np.arange(n), count)), threshold
                )
                for metric in PORTION_METRICS:
                    assert scores[metric][run, at, row] == pytest.approx(
                        getattr(expected, metric), rel=1e-9, nan_ok=True
                    ), metric


def test_many_photos_equal_scoring_the_photos_of_each_resample():
    # More errors than a block of sorted values holds.
    rng = np.random.default_rng(5)
    photos = [
        ImageResult(
            str(photo),
            ("x",) * 5,
            tuple(rng.integers(0, 500, 5).astype(float)),
            ("y",) * 5,
            tuple(rng.integers(1, 500, 5).astype(float)),
            tuple((item, item, float(score)) for item, score in enumerate(rng.random(5))),
        )
        for photo in range(40)
    ]
    items, counts = flatten(photos), resample_counts(40, 20)
    scores = score_resamples([items], counts)
    for row, count in enumerate(counts):
        for at, threshold in enumerate(THRESHOLDS):
            expected = score_items(take_images(items, np.repeat(np.arange(40), count)), threshold)
            for metric in PORTION_METRICS:
                assert scores[metric][0, at, row] == pytest.approx(
                    getattr(expected, metric), rel=1e-9
                ), metric


def test_runs_are_compared_on_the_photos_they_share():
    c = ImageResult("c", (), (), ("egg",), (60.0,))
    first, second = common_images([[TRAYS[0], TRAYS[1], c], [c, TRAYS[1]]])
    assert [result.image for result in first] == ["b", "c"]
    assert [result.image for result in second] == ["b", "c"]


def test_no_runs_share_nothing():
    assert common_images([]) == []


def test_a_photo_twice_is_refused():
    with pytest.raises(ValueError, match=f"a run holds a photo twice: {TRAYS[0].image}"):
        common_images([[TRAYS[0], TRAYS[0]]])
