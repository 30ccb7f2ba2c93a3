"""Does a model see the portion, or only the food? The canteen paper's Table 3."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    CONFIDENCE,
    PairedDifference,
    cluster_index,
    cluster_sums,
    paired_difference,
    percentile_interval,
    resampled_means,
    resampled_sums,
)
from lmms_eval_food.metrics.linear_fit import fit_and_leave_out
from lmms_eval_food.metrics.matches import Matches

# Foods need this many matched items to say anything about portions within the food.
WITHIN_FOOD_ITEMS = 5

# Rounding alone can leave this much of a sum of squares.
_LEAST_SPREAD = 1e-12


@dataclass(frozen=True, slots=True)
class SameItems:
    """A model and the typical serving on the same items; nan where there is no item.

    Attributes:
        n: Number of items.
        model_mae: Mean absolute error of the model, g.
        typical_mae: Mean absolute error of the typical servings, g.
        model_medape: Median absolute error in percent of the true grams (100 is whole), items of
            0 g left out.
        typical_medape: The same for the typical servings.
        combined_mae: Mean absolute error, g, of intercept + a * model + c * typical, the three
            fitted by least squares to all other photos; nan where those leave the fit open.
        gain: `typical_mae - combined_mae` with its bootstrap over photos, the fits held: above 0
            where the model adds something to the food's identity.
    """

    n: int
    model_mae: float
    typical_mae: float
    model_medape: float
    typical_medape: float
    combined_mae: float
    gain: PairedDifference


def compare_with_typical_serving(
    matches: Matches,
    typical: FloatArray,
    counts: IntArray,
    confidence: float = CONFIDENCE,
) -> SameItems:
    """Compare a model with the typical serving on exactly the items that it quantified.

    Args:
        matches: Accepted matches; those without grams are left out.
        typical: Typical serving of every true item (`typical_servings`), by `Matches.row`.
        counts: Resamples of the photos, shape (resamples, n_images).
        confidence: Coverage of the interval, in (0, 1).

    Source: the canteen paper, Section 2.2.4 and Table 3. The paper does not say whether the linear
    combination has an intercept; here it has.
    """
    items = matches.quantified()
    serving = typical[items.row]
    columns = np.column_stack([items.pred_grams, serving])
    combined = fit_and_leave_out(columns, items.true_grams, items.image_ids).left_out
    model_error, typical_error, combined_error = (
        np.abs(guess - items.true_grams) for guess in (items.pred_grams, serving, combined)
    )
    resampled = [
        resampled_means(error, items.image, counts) for error in (typical_error, combined_error)
    ]
    typical_mae, combined_mae = _mean(typical_error), _mean(combined_error)
    return SameItems(
        n=items.true_grams.size,
        model_mae=_mean(model_error),
        typical_mae=typical_mae,
        model_medape=_medape(model_error, items.true_grams),
        typical_medape=_medape(typical_error, items.true_grams),
        combined_mae=combined_mae,
        gain=paired_difference(typical_mae - combined_mae, resampled[0], resampled[1], confidence),
    )


@dataclass(frozen=True, slots=True)
class WithinFood:
    """Correlation of estimates and true grams once each food's means are subtracted.

    Attributes:
        n_foods: Foods with enough matched items.
        n_items: Their items.
        r: Pearson's correlation in [-1, 1]; nan where one side does not vary within any food.
        low: Lower end of its percentile interval.
        high: Upper end.
    """

    n_foods: int
    n_items: int
    r: float
    low: float
    high: float


def within_food_correlation(
    matches: Matches,
    counts: IntArray,
    minimum: int = WITHIN_FOOD_ITEMS,
    confidence: float = CONFIDENCE,
) -> WithinFood:
    """Return whether a model tells large portions of a food from small ones of the same food.

    Args:
        matches: Accepted matches; those without grams are left out. Foods are the same when their
            normalised true names are.
        counts: Resamples of the photos, shape (resamples, n_images).
        minimum: Matched items that a food needs, on all photos. The foods stay the same on every
            resample; their means are taken anew.
        confidence: Coverage of the interval, in (0, 1).

    Source: the canteen paper, Section 2.2.4 and Table 3.
    """
    items = matches.quantified()
    names, food = cluster_index(items.foods)
    sizes = np.bincount(food, minlength=len(names))
    kept = np.flatnonzero(sizes[food] >= minimum)
    foods = np.unique(food[kept])
    sums = _food_moments(
        items.pred_grams[kept],
        items.true_grams[kept],
        np.searchsorted(foods, food[kept]),
        items.image[kept],
        (foods.size, counts.shape[1]),
    )
    everything = np.ones((1, counts.shape[1]), dtype=np.int64)
    low, high = percentile_interval(_correlations(resampled_sums(sums, counts)), confidence)
    r = float(_correlations(resampled_sums(sums, everything))[0])
    return WithinFood(foods.size, kept.size, r, low, high)


def _food_moments(
    pred: FloatArray, true: FloatArray, food: IntArray, image: IntArray, shape: tuple[int, int]
) -> FloatArray:
    """Return sums of 1, x, y, xx, yy, xy for each food on each photo, shape (6, foods, images)."""
    cell = food * shape[1] + image
    # Around each food's mean, so that little is lost in the sums of squares.
    sizes = np.bincount(food, minlength=shape[0])
    x = pred - (np.bincount(food, pred, shape[0]) / sizes)[food]
    y = true - (np.bincount(food, true, shape[0]) / sizes)[food]
    with np.errstate(over="ignore"):
        values = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    return cluster_sums(values, cell, shape[0] * shape[1]).reshape(6, *shape)


def _correlations(totals: FloatArray) -> FloatArray:
    """Return the pooled within-food correlation; totals has shape (6, foods, resamples)."""
    n, x, y, xx, yy, xy = totals
    n = np.where(n > 0, n, 1.0)
    with np.errstate(invalid="ignore", over="ignore"):
        spread_x, spread_y, shared = (
            (product - one * two / n).sum(axis=0)
            for product, one, two in ((xx, x, x), (yy, y, y), (xy, x, y))
        )
        varies = (spread_x > _LEAST_SPREAD * xx.sum(axis=0)) & (
            spread_y > _LEAST_SPREAD * yy.sum(axis=0)
        )
        r = shared / np.sqrt(np.where(varies, spread_x * spread_y, np.nan))
    return np.asarray(np.clip(r, -1.0, 1.0))


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else math.nan


def _medape(error: FloatArray, true: FloatArray) -> float:
    """Return the median error in percent of the true grams."""
    weighed = true > 0
    return float(np.median(100.0 * error[weighed] / true[weighed])) if weighed.any() else math.nan
