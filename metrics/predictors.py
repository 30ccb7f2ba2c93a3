"""The canteen paper's three reference predictors: what seeing nothing already scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, as_finite
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.meals import ImageResult


def null_predictions(images: Sequence[ImageResult]) -> list[ImageResult]:
    """Return the photos with no prediction at all.

    Source: the canteen paper, Section 2.2.4 (i).
    """
    return [replace(result, pred_names=(), pred_grams=(), pairs=()) for result in images]


def global_median_predictions(true_grams: npt.ArrayLike) -> FloatArray:
    """Return the median of all true grams for every item.

    Args:
        true_grams: True grams of all items, shape (n,).

    Returns:
        Grams, shape (n,); empty when n == 0.

    Raises:
        ValueError: not one-dimensional, or not finite.

    Source: the canteen paper, Section 2.2.4 (ii).
    """
    grams = as_finite(true_grams, "true_grams")
    return np.full(grams.size, np.median(grams)) if grams.size else grams


def typical_serving_predictions(
    true_names: Sequence[str], true_grams: npt.ArrayLike, images: Sequence[str]
) -> tuple[FloatArray, int]:
    """Return, for every item, the median grams of the same food on the other photos.

    Foods are the same when their normalised names are. An item whose food is on no other photo
    falls back to the median of all items, its own included.

    Args:
        true_names: Names of all items, length n.
        true_grams: Their grams, shape (n,).
        images: The photo of each item, length n.

    Returns:
        (grams of shape (n,), number of items that fell back).

    Raises:
        ValueError: lengths differ, or grams are not finite.

    Source: the canteen paper, Section 2.2.4 (iii).
    """
    grams = as_finite(true_grams, "true_grams")
    if not len(true_names) == grams.size == len(images):
        raise ValueError(
            f"true_names, true_grams and images differ in length: "
            f"{len(true_names)}, {grams.size}, {len(images)}"
        )
    servings: dict[str, list[tuple[str, float]]] = {}
    foods = [normalise(name) for name in true_names]
    for food, image, weight in zip(foods, images, grams.tolist(), strict=True):
        servings.setdefault(food, []).append((image, weight))
    predicted = global_median_predictions(grams)
    fallbacks = 0
    for item, (food, image) in enumerate(zip(foods, images, strict=True)):
        others = [weight for other, weight in servings[food] if other != image]
        if others:
            predicted[item] = np.median(others)
        else:
            fallbacks += 1
    return predicted, fallbacks


def perfect_recognition(images: Sequence[ImageResult], grams: npt.ArrayLike) -> list[ImageResult]:
    """Return the photos with every true item named right and the given grams.

    Args:
        images: Photos; only their true items are used.
        grams: Predicted grams of all true items in the order of the photos, shape (n,), nan for
            none.

    Raises:
        ValueError: grams has another length than there are true items.
    """
    weights = np.asarray(grams, dtype=np.float64)
    counts = [len(result.true_names) for result in images]
    if weights.shape != (sum(counts),):
        raise ValueError(f"grams must have shape {(sum(counts),)}, its shape is {weights.shape}")
    results, first = [], 0
    for result, count in zip(images, counts, strict=True):
        results.append(
            replace(
                result,
                pred_names=result.true_names,
                pred_grams=tuple(weights[first : first + count].tolist()),
                pairs=tuple((item, item, 1.0) for item in range(count)),
            )
        )
        first += count
    return results
