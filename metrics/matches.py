"""The accepted matches of a set of photos, one row a match: what portion analyses look at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, IntArray
from lmms_eval_food.metrics.matching import check_threshold, normalise
from lmms_eval_food.metrics.meals import ImageResult
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.metrics.predictors import typical_serving_predictions


@dataclass(frozen=True, slots=True)
class Matches:
    """Accepted (prediction, true item) pairs, m of them, in the order of photos and true items.

    Attributes:
        images: Ids of all photos, those without a match included.
        image: Index of each match's photo, shape (m,).
        row: Index of its true item among those of all photos, shape (m,).
        foods: Normalised names of the true items, m of them.
        exact: Whether the predicted name is the same after normalising, shape (m,).
        similarity: Shape (m,).
        pred_grams: Predicted grams, nan = none, shape (m,).
        true_grams: Shape (m,).
    """

    images: tuple[str, ...]
    image: IntArray
    row: IntArray
    foods: tuple[str, ...]
    exact: BoolArray
    similarity: FloatArray
    pred_grams: FloatArray
    true_grams: FloatArray

    @property
    def image_ids(self) -> list[str]:
        """The photo of each match."""
        return [self.images[index] for index in self.image]

    def quantified(self) -> Matches:
        """Return the matches whose prediction carries grams: the paper's P items."""
        kept = np.flatnonzero(~np.isnan(self.pred_grams))
        return Matches(
            self.images,
            self.image[kept],
            self.row[kept],
            tuple(self.foods[index] for index in kept),
            self.exact[kept],
            self.similarity[kept],
            self.pred_grams[kept],
            self.true_grams[kept],
        )


def accepted_matches(
    images: Sequence[ImageResult], threshold: float = PRIMARY_THRESHOLD
) -> Matches:
    """Return the pairs that count as matches at a threshold; empty predicted names never do.

    Args:
        images: Photos.
        threshold: Lowest similarity that is accepted, in [0, 1].

    Raises:
        ValueError: threshold lies outside [0, 1].
    """
    check_threshold(threshold)
    rows: list[tuple[int, int, str, bool, float, float, float]] = []
    first = 0
    for index, result in enumerate(images):
        for pred, true, score in sorted(result.pairs, key=lambda pair: pair[1]):
            said, food = normalise(result.pred_names[pred]), normalise(result.true_names[true])
            if said and score >= threshold:
                grams = result.pred_grams[pred], result.true_grams[true]
                rows.append((index, first + true, food, said == food, score, *grams))
        first += len(result.true_names)
    image, row, foods, exact, similarity, pred_grams, true_grams = (
        zip(*rows, strict=True) if rows else ((),) * 7
    )
    return Matches(
        tuple(result.image for result in images),
        np.array(image, dtype=np.int64),
        np.array(row, dtype=np.int64),
        tuple(foods),
        np.array(exact, dtype=np.bool_),
        np.array(similarity, dtype=np.float64),
        np.array(pred_grams, dtype=np.float64),
        np.array(true_grams, dtype=np.float64),
    )


def typical_servings(images: Sequence[ImageResult]) -> FloatArray:
    """Return the typical serving of every true item in grams, by `Matches.row`.

    It is the median of the same food on the other photos given; see `typical_serving_predictions`.
    """
    names = [name for result in images for name in result.true_names]
    grams = [weight for result in images for weight in result.true_grams]
    owners = [result.image for result in images for _ in result.true_names]
    return typical_serving_predictions(names, grams, owners)[0]
