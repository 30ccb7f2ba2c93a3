"""Which predicted food is which true one: one-to-one assignment on a similarity matrix."""

from __future__ import annotations

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray

# One accepted pair: (index of the prediction, index of the true item, similarity).
Pair = tuple[int, int, float]


def normalise(name: str) -> str:
    """Return a food name as it is compared: stripped and lower-cased.

    Lone surrogates, which JSON escapes can smuggle into a text and no encoder accepts, become "?".

    Source: the canteen paper, Section 2.2.1.
    """
    return name.strip().lower().encode("utf-8", "replace").decode("utf-8")


def check_threshold(threshold: float) -> None:
    """Raise ValueError unless `threshold` lies in [0, 1]."""
    if not 0 <= threshold <= 1:
        raise ValueError(f"threshold must lie in [0, 1], got {threshold}")


def greedy_assignment(scores: FloatArray, threshold: float) -> list[Pair]:
    """Pair predictions with true items one to one, the most similar pair first.

    Equal similarities are taken in the order of (prediction, true item). Because pairs are
    accepted by falling similarity, the result at a threshold is a prefix of the result at any
    lower one: the pairs at 0 serve every threshold.

    Args:
        scores: Similarities, shape (n_pred, n_true). nan and infinite ones never match.
        threshold: Lowest similarity that is accepted (itself accepted), in [0, 1].

    Returns:
        Accepted pairs by falling similarity; [] where there is nothing to pair.

    Raises:
        ValueError: scores is not two-dimensional, or threshold lies outside [0, 1].

    Source: the canteen paper, Section 2.2.1. The paper says "exceeds"; a pair that scores exactly
    the threshold is accepted here, as the design fixes it.
    """
    allowed = _allowed(scores, threshold)
    n_pred, n_true = scores.shape
    flat = scores.ravel()
    cells = np.flatnonzero(allowed.ravel())
    # Stable, and the cells come in row order: that settles ties by (prediction, true item).
    cells = cells[np.argsort(-flat[cells], kind="stable")]
    free_pred, free_true = [True] * n_pred, [True] * n_true
    pairs: list[Pair] = []
    for cell, score in zip(cells.tolist(), flat[cells].tolist(), strict=True):
        pred, true = divmod(cell, n_true)
        if free_pred[pred] and free_true[true]:
            free_pred[pred] = free_true[true] = False
            pairs.append((pred, true, score))
            if len(pairs) == min(n_pred, n_true):
                break
    return pairs


def optimal_assignment(scores: FloatArray, threshold: float) -> list[Pair]:
    """Pair predictions with true items one to one so that the total similarity is largest.

    The objective is the sum of similarities over the accepted pairs, each of which must reach the
    threshold; pairs below it are never taken, not even to make room for others. It is not the
    number of pairs: one pair at 0.9 is preferred to two at 0.4. Unlike the greedy result, the
    pairs at one threshold say nothing about another threshold.

    Args:
        scores: Similarities, shape (n_pred, n_true). nan and infinite ones never match.
        threshold: Lowest similarity that is accepted (itself accepted), in [0, 1].

    Returns:
        Accepted pairs by falling similarity, ties by (prediction, true item).

    Raises:
        ValueError: scores is not two-dimensional, or threshold lies outside [0, 1].

    Source: the canteen paper, Section 2.2.1 (Hungarian algorithm); solved by scipy.
    """
    # Imported here: scipy.optimize costs half a second that greedy runs need not pay.
    from scipy.optimize import linear_sum_assignment

    allowed = _allowed(scores, threshold)
    # A pair that is not allowed weighs nothing and is dropped again below.
    preds, trues = linear_sum_assignment(np.where(allowed, scores, 0.0), maximize=True)
    pairs = [
        (int(pred), int(true), float(scores[pred, true]))
        for pred, true in zip(preds, trues, strict=True)
        if allowed[pred, true]
    ]
    return sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))


def _allowed(scores: FloatArray, threshold: float) -> BoolArray:
    """Return which pairs may be accepted at all."""
    check_threshold(threshold)
    if scores.ndim != 2:
        raise ValueError(f"scores must have shape (n_pred, n_true), its shape is {scores.shape}")
    allowed: BoolArray = np.isfinite(scores) & (scores >= threshold)
    return allowed
