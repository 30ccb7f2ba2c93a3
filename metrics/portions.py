"""Recognition and portion size on a set of meal photos: the canteen paper's Equations 1 to 4.

The records, arrays and reference predictors that go with the scores are offered here too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray
from lmms_eval_food.metrics.matching import check_threshold
from lmms_eval_food.metrics.meals import (
    FlatItems,
    ImageResult,
    flatten,
    match_image,
    take_images,
)
from lmms_eval_food.metrics.predictors import (
    global_median_predictions,
    null_predictions,
    perfect_recognition,
    typical_serving_predictions,
)

__all__ = [
    "MISSED_ITEM_PENALTY",
    "PRIMARY_THRESHOLD",
    "FlatItems",
    "ImageResult",
    "PortionScores",
    "flatten",
    "global_median_predictions",
    "match_image",
    "null_predictions",
    "perfect_recognition",
    "score_items",
    "score_portions",
    "take_images",
    "typical_serving_predictions",
]

PRIMARY_THRESHOLD = 0.5
# Grams; the median of the canteen set's 870 portions (Equation 1).
MISSED_ITEM_PENALTY = 129.0


@dataclass(frozen=True, slots=True)
class PortionScores:
    """Every score of a set of photos at one threshold; nan where there is nothing to score.

    Attributes:
        threshold: Lowest accepted similarity.
        n_images: Number of photos.
        n_pred: Number of predictions.
        n_true: Number of true items, N_tot.
        tp: Predictions paired with a true item.
        fp: Predictions that are not, those with an empty name included.
        fn: True items without a prediction.
        precision: tp / (tp + fp), in [0, 1]; nan without predictions.
        recall: tp / (tp + fn), in [0, 1]; nan without true items.
        f1: 2 tp / (2 tp + fp + fn), in [0, 1]; nan only where there are no items at all, so that
            predicting nothing scores 0.
        matched: P, the paired true items whose prediction carries grams.
        mae: Mean absolute error over the P items, g.
        medae: Median absolute error over the P items, g.
        rmse: Root mean squared error over the P items, g.
        medape: Median absolute error in percent of the true grams (100 is whole), over the P items
            that weigh more than 0 g.
        nmae: Equation 1, g: each true item without a matched estimate adds the fixed penalty.
        cpmae: Equation 2, g: each such item adds its own weight.
        cpmae_fp: Equation 3, g: also adds the predicted grams of every false positive.
        meal_ae: Equation 4, g: mean over photos of the error of the meal's total, all predictions
            with grams counted, paired or not.
    """

    threshold: float
    n_images: int
    n_pred: int
    n_true: int
    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float
    matched: int
    mae: float
    medae: float
    rmse: float
    medape: float
    nmae: float
    cpmae: float
    cpmae_fp: float
    meal_ae: float


def score_items(
    items: FlatItems,
    threshold: float = PRIMARY_THRESHOLD,
    w0: float = MISSED_ITEM_PENALTY,
) -> PortionScores:
    """Return every score at one threshold.

    Args:
        items: Flat items.
        threshold: Lowest similarity that counts as a match (itself counts), in [0, 1].
        w0: Penalty of Equation 1, in grams.

    Raises:
        ValueError: threshold lies outside [0, 1].

    Source: the canteen paper, Section 2.2 and Equations 1 to 4.
    """
    check_threshold(threshold)
    n_pred, n_true = items.pred_grams.size, items.true_grams.size
    accepted = items.true_score >= threshold
    quantified = accepted & ~np.isnan(items.paired_grams)
    false_grams = items.pred_grams[~(items.pred_score >= threshold)]
    error = np.abs(items.paired_grams - items.true_grams)[quantified]
    weighed = items.true_grams[quantified]
    tp, matched = int(accepted.sum()), error.size
    error_sum = float(error.sum())
    own_weight = error_sum + float(items.true_grams[~quantified].sum())
    return PortionScores(
        threshold=threshold,
        n_images=items.n_images,
        n_pred=n_pred,
        n_true=n_true,
        tp=tp,
        fp=n_pred - tp,
        fn=n_true - tp,
        precision=_ratio(tp, n_pred),
        recall=_ratio(tp, n_true),
        f1=_ratio(2 * tp, n_pred + n_true),
        matched=matched,
        mae=_ratio(error_sum, matched),
        medae=_median(error),
        rmse=math.sqrt(_ratio(float(np.square(error).sum()), matched)),
        medape=_median(100.0 * error[weighed > 0] / weighed[weighed > 0]),
        nmae=_ratio(error_sum + (n_true - matched) * w0, n_true),
        cpmae=_ratio(own_weight, n_true),
        cpmae_fp=_ratio(own_weight + float(np.nansum(false_grams)), n_true),
        meal_ae=_ratio(float(_meal_errors(items).sum()), items.n_images),
    )


def score_portions(
    images: Sequence[ImageResult],
    threshold: float = PRIMARY_THRESHOLD,
    w0: float = MISSED_ITEM_PENALTY,
) -> PortionScores:
    """Return every score of a list of photos at one threshold; see `score_items`."""
    return score_items(flatten(images), threshold, w0)


def _meal_errors(items: FlatItems) -> FloatArray:
    """Return the absolute error of each photo's total, shape (n_images,)."""
    predicted = np.bincount(items.pred_image, np.nan_to_num(items.pred_grams), items.n_images)
    true = np.bincount(items.true_image, items.true_grams, items.n_images)
    errors: FloatArray = np.abs(predicted - true)
    return errors


def _ratio(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator else math.nan


def _median(values: FloatArray) -> float:
    return float(np.median(values)) if values.size else math.nan
