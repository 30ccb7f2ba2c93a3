"""Does a matcher agree with people, and do people agree with each other?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, as_finite, as_flags

# What a rater can say about a (predicted, true) pair of names.
SAME, PARTIAL, DIFFERENT = "same", "partial", "different"


def roc_auc(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Area under the ROC curve: how often a match outscores a non-match, ties counting half.

    Args:
        labels: Whether people call the pair a match, shape (n,).
        scores: The matcher's similarity, shape (n,).

    Returns:
        In [0, 1], higher is better, 0.5 is chance; nan unless both kinds of pair are there.

    Raises:
        ValueError: shapes differ, labels are not flags, or a score is not finite.

    Source: the canteen paper, Section 2.2.2; computed by scikit-learn.
    """
    flags, values = _labelled(labels, scores)
    if flags.all() or not flags.any():
        return math.nan
    # Imported here: scikit-learn costs over a second that most imports need not pay.
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(flags, values))


def youden_threshold(labels: npt.ArrayLike, scores: npt.ArrayLike) -> float:
    """Score threshold with the largest true positive rate minus false positive rate.

    Args:
        labels: Whether people call the pair a match, shape (n,).
        scores: The matcher's similarity, shape (n,).

    Returns:
        One of the scores; pairs at or above it count as matches. The highest one where several are
        equally good; nan unless both kinds of pair are there.

    Raises:
        ValueError: shapes differ, labels are not flags, or a score is not finite.

    Source: the canteen paper, Section 2.2.2; W. J. Youden, Cancer 3 (1950).
    """
    flags, values = _labelled(labels, scores)
    if flags.all() or not flags.any():
        return math.nan
    thresholds = np.unique(values)[::-1]
    # Pairs at or above each threshold, counted on sorted scores. Comparing counts, not rates,
    # keeps equally good thresholds exactly equal.
    true_hits = _at_or_above(values[flags], thresholds)
    false_hits = _at_or_above(values[~flags], thresholds)
    gain = true_hits * int((~flags).sum()) - false_hits * int(flags.sum())
    return float(thresholds[np.argmax(gain)])


def majority_label(labels: Sequence[str]) -> str | None:
    """Return the label that more than half of the raters gave, None where there is none.

    >>> majority_label(["same", "partial", "same"])
    'same'
    """
    if not labels:
        return None
    label, count = Counter(labels).most_common(1)[0]
    return label if 2 * count > len(labels) else None


def majority_matches(ratings: Sequence[Sequence[str]], *, lenient: bool = False) -> BoolArray:
    """Return which pairs the raters' majority calls a match.

    The majority label is formed first, over the three labels. A pair counts strictly when that
    label is "same", leniently when it is "same" or "partial". A pair without a majority label (all
    raters differ) is no match either way. This is the definition that gives the published lenient
    AUC of 0.885; a majority over labels already merged into match and no match gives 0.898.

    Args:
        ratings: The labels of each pair, shape (n, raters), each "same", "partial" or "different".
        lenient: Whether "partial" counts too.

    Returns:
        Flags, shape (n,).

    Raises:
        ValueError: a label is none of the three.

    Source: the canteen paper, Section 2.2.2.
    """
    unknown = {label for labels in ratings for label in labels} - {SAME, PARTIAL, DIFFERENT}
    if unknown:
        raise ValueError(f"unknown labels: {sorted(unknown)}")
    accepted = {SAME, PARTIAL} if lenient else {SAME}
    return np.array([majority_label(labels) in accepted for labels in ratings], dtype=np.bool_)


def cohen_kappa(first: Sequence[str], second: Sequence[str]) -> float:
    """Cohen's kappa: agreement of two raters beyond chance.

    Args:
        first: Labels of one rater, length n.
        second: Labels of the other rater, length n.

    Returns:
        In [-1, 1], higher is better, 0 is chance; nan when n == 0 or both use one label only.

    Raises:
        ValueError: lengths differ.

    Source: J. Cohen (1960); the canteen paper, Section 2.2.2; computed by scikit-learn.
    """
    if len(first) != len(second):
        raise ValueError(f"the raters gave {len(first)} and {len(second)} labels")
    if len({*first, *second}) < 2:
        return math.nan
    # Imported here: scikit-learn costs over a second that most imports need not pay.
    from sklearn.metrics import cohen_kappa_score

    return float(cohen_kappa_score(list(first), list(second)))


def fleiss_kappa(ratings: Sequence[Sequence[str]]) -> float:
    """Fleiss' kappa: agreement of several raters beyond chance.

    Args:
        ratings: The labels of each subject, shape (n, raters), raters >= 2.

    Returns:
        In [-1, 1], higher is better, 0 is chance; nan when n == 0 or only one label is used.

    Raises:
        ValueError: fewer than two raters, or a different number for some subject.

    Source: J. L. Fleiss (1971); the canteen paper, Section 2.2.2.
    """
    if not ratings:
        return math.nan
    raters = len(ratings[0])
    if raters < 2 or any(len(labels) != raters for labels in ratings):
        raise ValueError("every subject needs the same number of raters, at least two")
    labels = sorted({label for row in ratings for label in row})
    if len(labels) < 2:
        return math.nan
    counts = np.array([[Counter(row)[label] for label in labels] for row in ratings], np.float64)
    observed = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))
    chance = float(((counts.sum(axis=0) / counts.sum()) ** 2).sum())
    return (float(observed.mean()) - chance) / (1 - chance)


def _labelled(labels: npt.ArrayLike, scores: npt.ArrayLike) -> tuple[BoolArray, FloatArray]:
    """Return both as arrays, or raise ValueError."""
    flags, values = as_flags(labels, "labels"), as_finite(scores, "scores")
    if flags.shape != values.shape:
        raise ValueError(f"labels has {flags.size} pairs, scores has {values.size}")
    return flags, values


def _at_or_above(values: FloatArray, thresholds: FloatArray) -> npt.NDArray[np.int64]:
    """Return how many values reach each threshold."""
    return values.size - np.searchsorted(np.sort(values), thresholds, side="left")
