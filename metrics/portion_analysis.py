"""Where portion errors come from: size and kind of food, rounding, number of items, matching."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, as_finite
from lmms_eval_food.metrics.matching import normalise, optimal_assignment
from lmms_eval_food.metrics.meals import ImageResult
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, score_portions

# Category and its keywords; the first rule with a keyword in the name decides. A category may come
# more than once, so that exceptions can stand before the rule that they are taken from.
Rules = Sequence[tuple[str, Sequence[str]]]

OTHER = "other"
ROUNDING_STEP = 50.0


@dataclass(frozen=True, slots=True)
class SignedError:
    """Errors of a group of matched items; nan where it has none.

    Attributes:
        group: What the items have in common.
        n: Number of items.
        mean_error: Mean of predicted minus true grams, g; below 0 where portions are
            underestimated.
        median_error: Median of the same, g.
        mae: Mean absolute error, g, lower is better.
        median_ratio: Median of predicted / true grams, items of 0 g left out; 1 is unbiased.
        below: Share of the items whose estimate is below the true grams, in [0, 1].
    """

    group: str
    n: int
    mean_error: float
    median_error: float
    mae: float
    median_ratio: float
    below: float


def quartile_edges(true: npt.ArrayLike) -> tuple[float, float, float]:
    """Return the quartiles of true grams (linear between items); nan without items.

    Source: the canteen paper, Section 3 (median 126 g and upper quartile 187 g over eight models).
    """
    grams = as_finite(true, "true")
    if not grams.size:
        return math.nan, math.nan, math.nan
    low, middle, high = np.quantile(grams, (0.25, 0.5, 0.75)).tolist()
    return low, middle, high


def error_by_quartile(
    pred: npt.ArrayLike, true: npt.ArrayLike, edges: tuple[float, float, float] | None = None
) -> list[SignedError]:
    """Return the errors of small to large portions.

    Args:
        pred: Estimates of matched items in grams, shape (n,), finite.
        true: True grams, shape (n,), finite.
        edges: Upper bounds, themselves included, of the three lower groups; None for the quartiles
            of `true`. Give the quartiles of several models' items to compare those models.

    Returns:
        Four groups, from the smallest portions ("q1") to the largest ("q4").

    Raises:
        ValueError: lengths differ or a value is not finite.

    Source: the canteen paper, Section 3 (signed error by portion size).
    """
    guess, weight = _paired(pred, true)
    bounds = quartile_edges(weight) if edges is None else edges
    quartile = np.searchsorted(np.array(bounds), weight, side="left")
    return [_signed(f"q{at + 1}", guess, weight, quartile == at) for at in range(4)]


def category(name: str, rules: Rules) -> str:
    """Return the category of the first rule with a keyword in the name, "other" where none has.

    A keyword matches anywhere in the name, also within a word; case does not count.

    >>> category("Tomato soup", [("soups", ["soup"]), ("vegetables", ["tomato"])])
    'soups'
    """
    text = normalise(name)
    return next(
        (label for label, keywords in rules if any(normalise(word) in text for word in keywords)),
        OTHER,
    )


def error_by_category(
    foods: Sequence[str], pred: npt.ArrayLike, true: npt.ArrayLike, rules: Rules
) -> list[SignedError]:
    """Return the errors of each food category.

    Args:
        foods: True names of matched items, length n.
        pred: Their estimates in grams, shape (n,), finite.
        true: Their true grams, shape (n,), finite.
        rules: Keyword rules.

    Returns:
        One group a category that has items, in the order of the rules, "other" last.

    Raises:
        ValueError: lengths differ or a value is not finite.

    Source: the canteen paper, Section 3 and Table A1.
    """
    guess, weight = _paired(pred, true)
    if len(foods) != guess.size:
        raise ValueError(f"foods has {len(foods)} items, pred has {guess.size}")
    found = np.array([category(name, rules) for name in foods], dtype=np.object_)
    order = dict.fromkeys([*(label for label, _ in rules if label != OTHER), OTHER])
    return [
        _signed(label, guess, weight, found == label) for label in order if (found == label).any()
    ]


def rounding_share(grams: npt.ArrayLike, step: float = ROUNDING_STEP) -> float:
    """Return the share of estimates that are multiples of a step.

    Args:
        grams: Estimates in grams, shape (n,), nan where none is given (left out).
        step: In grams.

    Returns:
        In [0, 1]; nan without an estimate. 0 g is a multiple.

    Raises:
        ValueError: step is not above 0.

    Source: the canteen paper, Section 3 (95% of one model's estimates are multiples of 50 g).

    >>> rounding_share([50.0, 120.0, 200.0, float("nan")], step=50.0) == 2 / 3
    True
    """
    if not step > 0:
        raise ValueError(f"step must be above 0, got {step}")
    array = np.asarray(grams, dtype=np.float64)
    given = array[~np.isnan(array)]
    return float((np.mod(given, step) == 0).mean()) if given.size else math.nan


@dataclass(frozen=True, slots=True)
class ItemsPerImage:
    """Mean number of items a photo; nan without photos. Source: the canteen paper, Section 4."""

    predicted: float
    true: float


def items_per_image(images: Sequence[ImageResult]) -> ItemsPerImage:
    """Return how many items are predicted and true a photo, empty names counted."""
    if not images:
        return ItemsPerImage(math.nan, math.nan)
    predicted = sum(len(result.pred_names) for result in images)
    return ItemsPerImage(
        predicted / len(images), sum(len(result.true_names) for result in images) / len(images)
    )


@dataclass(frozen=True, slots=True)
class AssignmentDifference:
    """F1 under greedy and under optimal assignment at one threshold.

    Attributes:
        greedy_f1: In [0, 1].
        optimal_f1: In [0, 1].
        difference: `optimal_f1 - greedy_f1`; either sign, since the optimal assignment maximises
            total similarity, not the number of matches.
        changed: Photos whose accepted pairs differ.
    """

    greedy_f1: float
    optimal_f1: float
    difference: float
    changed: int


def assignment_difference(
    images: Sequence[ImageResult],
    scores: Sequence[FloatArray],
    threshold: float = PRIMARY_THRESHOLD,
) -> AssignmentDifference:
    """Compare greedy with optimal (Hungarian) assignment.

    Args:
        images: Photos with greedy pairs.
        scores: Similarities of each photo, shape (n_pred, n_true).
        threshold: Lowest similarity that is accepted, in [0, 1].

    Raises:
        ValueError: the numbers of photos differ, or threshold lies outside [0, 1].

    Source: the canteen paper, Section 2.2.1 (a difference of at most 0.006).
    """
    optimal = [
        replace(result, pairs=tuple(optimal_assignment(matrix, threshold)))
        for result, matrix in zip(images, scores, strict=True)
    ]
    greedy_f1, optimal_f1 = (score_portions(run, threshold).f1 for run in (images, optimal))
    changed = sum(
        {pair[:2] for pair in one.pairs if pair[2] >= threshold} != {pair[:2] for pair in two.pairs}
        for one, two in zip(images, optimal, strict=True)
    )
    return AssignmentDifference(greedy_f1, optimal_f1, optimal_f1 - greedy_f1, changed)


def _paired(pred: npt.ArrayLike, true: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    guess, weight = as_finite(pred, "pred"), as_finite(true, "true")
    if guess.shape != weight.shape:
        raise ValueError(f"pred has {guess.size} items, true has {weight.size}")
    return guess, weight


def _signed(group: str, pred: FloatArray, true: FloatArray, chosen: BoolArray) -> SignedError:
    guess, weight = pred[chosen], true[chosen]
    error = guess - weight
    if not error.size:
        return SignedError(group, 0, *[math.nan] * 5)
    ratio = guess[weight > 0] / weight[weight > 0]
    return SignedError(
        group=group,
        n=error.size,
        mean_error=float(error.mean()),
        median_error=float(np.median(error)),
        mae=float(np.abs(error).mean()),
        median_ratio=float(np.median(ratio)) if ratio.size else math.nan,
        below=float((error < 0).mean()),
    )
