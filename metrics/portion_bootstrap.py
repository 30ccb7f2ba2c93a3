"""Every portion score of many runs, at many thresholds, on one set of resamples.

`score_resamples` gives what `portions.score_items` would on the photos of each resample. The same
call with other counts scores subsets: photos left out of a resample, or all photos but one
participant's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import resampled_sums
from lmms_eval_food.metrics.matching import check_threshold
from lmms_eval_food.metrics.meals import FlatItems, ImageResult
from lmms_eval_food.metrics.medians import resampled_medians
from lmms_eval_food.metrics.portions import MISSED_ITEM_PENALTY

THRESHOLDS = (0.5, 0.6, 0.7, 0.8, 0.9)

# The fields of `PortionScores` that are scores, not counts.
PORTION_METRICS = (
    "precision",
    "recall",
    "f1",
    "mae",
    "medae",
    "rmse",
    "medape",
    "nmae",
    "cpmae",
    "cpmae_fp",
    "meal_ae",
)


def common_images(runs: Sequence[Sequence[ImageResult]]) -> list[list[ImageResult]]:
    """Return the runs without the photos that some run lacks, in the order of the first run.

    A failed request has no result; comparing runs needs the photos that all of them answered.

    Raises:
        ValueError: a run holds a photo twice; the message names it.
    """
    by_image: list[dict[str, ImageResult]] = []
    for run in runs:
        found: dict[str, ImageResult] = {}
        for result in run:
            if result.image in found:
                raise ValueError(f"a run holds a photo twice: {result.image}")
            found[result.image] = result
        by_image.append(found)
    shared = [
        image for image in (by_image[0] if runs else ()) if all(image in run for run in by_image)
    ]
    return [[results[image] for image in shared] for results in by_image]


def score_resamples(
    runs: Sequence[FlatItems],
    counts: IntArray,
    thresholds: Sequence[float] = THRESHOLDS,
    w0: float = MISSED_ITEM_PENALTY,
) -> dict[str, FloatArray]:
    """Return every portion score of every run at every threshold on every resample.

    Args:
        runs: Flat items of each run, over the same photos in the same order (`common_images`).
        counts: How often each photo is in each resample, shape (resamples, n_images): drawn
            (`resample_counts`), left out (`out_of_bag_counts`, `leave_one_out_counts`), or ones in
            a single row for the score on all photos.
        thresholds: Lowest accepted similarities, each in [0, 1].
        w0: Penalty of Equation 1, in grams.

    Returns:
        Metric -> scores of shape (runs, thresholds, resamples), for `PORTION_METRICS`, with the
        units and ranges of `PortionScores`; nan where a resample leaves nothing to score.

    Raises:
        ValueError: a threshold lies outside [0, 1], or a run has other photos than counts.

    Source: the canteen paper, Section 2.2.3 and Equations 1 to 4.
    """
    for threshold in thresholds:
        check_threshold(threshold)
    if any(items.n_images != counts.shape[1] for items in runs):
        raise ValueError(f"every run must have the {counts.shape[1]} photos of counts")
    shape = (len(runs), len(thresholds), counts.shape[0])
    if not runs or not thresholds:
        return {name: np.empty(shape) for name in PORTION_METRICS}
    scores = _mean_scores(runs, counts, thresholds, w0)
    medians = [
        resampled_medians([pair for at in thresholds for pair in _errors(items, at)], counts)
        for items in runs
    ]
    scores["medae"], scores["medape"] = (
        np.stack([found[start::2] for found in medians]) for start in (0, 1)
    )
    return scores


def _mean_scores(
    runs: Sequence[FlatItems], counts: IntArray, thresholds: Sequence[float], w0: float
) -> dict[str, FloatArray]:
    """Return the scores that are made of sums over photos."""
    whole = np.stack([_photo_sums(items) for items in runs], axis=1)[:, :, None]
    matched = np.stack(
        [np.stack([_match_sums(items, at) for at in thresholds], axis=1) for items in runs], axis=1
    )
    photos, n_pred, n_true, meal_error = resampled_sums(whole, counts)
    tp, quantified, error, squared, missed, false = resampled_sums(matched, counts)
    own_weight = error + missed
    return {
        "precision": _ratio(tp, n_pred),
        "recall": _ratio(tp, n_true),
        "f1": _ratio(2 * tp, n_pred + n_true),
        "mae": _ratio(error, quantified),
        "rmse": np.sqrt(_ratio(squared, quantified)),
        "nmae": _ratio(error + (n_true - quantified) * w0, n_true),
        "cpmae": _ratio(own_weight, n_true),
        "cpmae_fp": _ratio(own_weight + false, n_true),
        "meal_ae": np.repeat(_ratio(meal_error, photos), len(thresholds), axis=1),
    }


def _photo_sums(items: FlatItems) -> FloatArray:
    """Return what no threshold changes: 1, predictions, true items, meal error; (4, n_images)."""
    n = items.n_images
    predicted = np.bincount(items.pred_image, np.nan_to_num(items.pred_grams), n)
    true = np.bincount(items.true_image, items.true_grams, n)
    n_pred = np.bincount(items.pred_image, minlength=n)
    n_true = np.bincount(items.true_image, minlength=n)
    return np.stack([np.ones(n), n_pred, n_true, np.abs(predicted - true)])


def _match_sums(items: FlatItems, threshold: float) -> FloatArray:
    """Return each photo's sums at a threshold, shape (6, n_images).

    They are: matches, matches with grams, absolute and squared error, weight of the true items
    without a matched estimate, grams of false positives.
    """
    n = items.n_images
    accepted = items.true_score >= threshold
    quantified = accepted & ~np.isnan(items.paired_grams)
    error = np.abs(items.paired_grams - items.true_grams)
    false = ~(items.pred_score >= threshold)
    owner = items.true_image[quantified]
    # A weight that no meal has may overflow; its error is infinite then.
    with np.errstate(over="ignore"):
        squared = np.square(error[quantified])
    return np.stack(
        [
            np.bincount(items.true_image[accepted], minlength=n),
            np.bincount(owner, minlength=n),
            np.bincount(owner, error[quantified], n),
            np.bincount(owner, squared, n),
            np.bincount(items.true_image[~quantified], items.true_grams[~quantified], n),
            np.bincount(items.pred_image[false], np.nan_to_num(items.pred_grams[false]), n),
        ]
    )


def _errors(items: FlatItems, threshold: float) -> list[tuple[FloatArray, IntArray]]:
    """Return errors in grams and in percent, each with the photo of each item."""
    quantified = (items.true_score >= threshold) & ~np.isnan(items.paired_grams)
    error = np.abs(items.paired_grams - items.true_grams)
    weighed = quantified & (items.true_grams > 0)
    percent = 100.0 * error[weighed] / items.true_grams[weighed]
    return [
        (error[quantified], items.true_image[quantified]),
        (percent, items.true_image[weighed]),
    ]


def _ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    np.divide(numerator, denominator, out=out, where=denominator > 0)
    return out
