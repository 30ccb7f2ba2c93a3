"""Meal photos as records and as flat arrays: who predicted what, and which foods were paired.

A photo's predicted and true foods are paired once (`match_image`); a set of photos becomes flat
arrays once (`flatten`), on which every threshold and every resample is cheap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.matching import (
    Pair,
    greedy_assignment,
    normalise,
    optimal_assignment,
)


@dataclass(frozen=True, slots=True)
class ImageResult:
    """One photo's predicted and true foods and which of them were paired.

    Attributes:
        image: The photo's id.
        pred_names: Predicted names as read, n_pred of them; an empty one is a false positive.
        pred_grams: Predicted grams, nan where a prediction carries none.
        true_names: True names, n_true of them.
        true_grams: True grams.
        pairs: One-to-one (prediction, true item, similarity). Greedy pairs taken at threshold 0
            serve every threshold; optimal pairs must be scored at the threshold they were taken at.
    """

    image: str
    pred_names: tuple[str, ...]
    pred_grams: tuple[float, ...]
    true_names: tuple[str, ...]
    true_grams: tuple[float, ...]
    pairs: tuple[Pair, ...] = ()

    def __post_init__(self) -> None:
        n_pred, n_true = len(self.pred_names), len(self.true_names)
        if len(self.pred_grams) != n_pred or len(self.true_grams) != n_true:
            raise ValueError(f"image {self.image}: names and grams differ in length")
        if any(grams < 0 or math.isinf(grams) for grams in self.pred_grams):
            raise ValueError(f"image {self.image}: predicted grams must be >= 0, or nan for none")
        if not all(0 <= grams < math.inf for grams in self.true_grams):
            raise ValueError(f"image {self.image}: true grams must be finite and >= 0")
        preds, trues = {pair[0] for pair in self.pairs}, {pair[1] for pair in self.pairs}
        if len(preds) < len(self.pairs) or len(trues) < len(self.pairs):
            raise ValueError(f"image {self.image}: pairs must be one to one")
        if not (preds <= set(range(n_pred)) and trues <= set(range(n_true))):
            raise ValueError(f"image {self.image}: a pair names an item that does not exist")


@dataclass(frozen=True, slots=True)
class FlatItems:
    """All items of a set of photos as arrays, in the order of the photos.

    Attributes:
        n_images: Number of photos, those without any item included.
        pred_image: Index of each prediction's photo, shape (n_pred,).
        pred_grams: Predicted grams, nan = none, shape (n_pred,).
        pred_score: Similarity of the prediction's pair, -inf = no pair, shape (n_pred,).
        true_image: Index of each true item's photo, shape (n_true,).
        true_grams: True grams, shape (n_true,).
        true_score: Similarity of the true item's pair, -inf = no pair, shape (n_true,).
        paired_grams: Grams of the paired prediction, nan = no pair or none, shape (n_true,).
    """

    n_images: int
    pred_image: IntArray
    pred_grams: FloatArray
    pred_score: FloatArray
    true_image: IntArray
    true_grams: FloatArray
    true_score: FloatArray
    paired_grams: FloatArray


def match_image(
    image: str,
    predicted: Sequence[tuple[str, float | None]],
    true: Sequence[tuple[str, float]],
    scores: FloatArray,
    *,
    optimal_at: float | None = None,
) -> ImageResult:
    """Pair one photo's foods.

    Args:
        image: The photo's id.
        predicted: (name, grams) of each prediction, None or nan for no grams.
        true: (name, grams) of each true item.
        scores: Similarities, shape (n_pred, n_true).
        optimal_at: None for greedy pairs, which serve every threshold; else the threshold at
            which optimal pairs are taken and must be scored.

    Raises:
        ValueError: the shape of scores, grams or threshold is not as stated.
    """
    if scores.shape != (len(predicted), len(true)):
        raise ValueError(
            f"image {image}: scores must have shape {(len(predicted), len(true))}, "
            f"its shape is {scores.shape}"
        )
    if optimal_at is None:
        pairs = greedy_assignment(scores, 0.0)
    else:
        pairs = optimal_assignment(scores, optimal_at)
    return ImageResult(
        image,
        tuple(name for name, _ in predicted),
        tuple(math.nan if grams is None else float(grams) for _, grams in predicted),
        tuple(name for name, _ in true),
        tuple(float(grams) for _, grams in true),
        tuple(pairs),
    )


def flatten(images: Sequence[ImageResult]) -> FlatItems:
    """Return the items of all photos as arrays. A pair whose predicted name is empty is dropped."""
    pred_counts = np.array([len(result.pred_names) for result in images], dtype=np.int64)
    true_counts = np.array([len(result.true_names) for result in images], dtype=np.int64)
    pred_grams = np.array([g for result in images for g in result.pred_grams], dtype=np.float64)
    true_grams = np.array([g for result in images for g in result.true_grams], dtype=np.float64)
    pred_score = np.full(pred_grams.size, -np.inf)
    true_score = np.full(true_grams.size, -np.inf)
    paired_grams = np.full(true_grams.size, np.nan)
    first_pred = np.cumsum(pred_counts) - pred_counts
    first_true = np.cumsum(true_counts) - true_counts
    for index, result in enumerate(images):
        for pred, true, score in result.pairs:
            if normalise(result.pred_names[pred]):
                pred_score[first_pred[index] + pred] = score
                true_score[first_true[index] + true] = score
                paired_grams[first_true[index] + true] = result.pred_grams[pred]
    owners = np.arange(len(images), dtype=np.int64)
    return FlatItems(
        len(images),
        np.repeat(owners, pred_counts),
        pred_grams,
        pred_score,
        np.repeat(owners, true_counts),
        true_grams,
        true_score,
        paired_grams,
    )


def take_images(items: FlatItems, index: npt.ArrayLike) -> FlatItems:
    """Return the items of the chosen photos, e.g. of one bootstrap resample.

    Args:
        items: Flat items of n_images photos.
        index: Photos to take, in order; a photo may come more than once. Shape (m,).

    Returns:
        Flat items of m photos.
    """
    chosen = np.asarray(index, dtype=np.int64)
    pred_rows, pred_image = _rows_of(items.pred_image, items.n_images, chosen)
    true_rows, true_image = _rows_of(items.true_image, items.n_images, chosen)
    return FlatItems(
        chosen.size,
        pred_image,
        items.pred_grams[pred_rows],
        items.pred_score[pred_rows],
        true_image,
        items.true_grams[true_rows],
        items.true_score[true_rows],
        items.paired_grams[true_rows],
    )


def _rows_of(owner: IntArray, n_images: int, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the rows of the chosen photos and the new photo index of each row."""
    counts = np.bincount(owner, minlength=n_images)
    first = np.cumsum(counts) - counts
    sizes = counts[chosen]
    offset = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(first[chosen], sizes) + offset, np.repeat(np.arange(chosen.size), sizes)
