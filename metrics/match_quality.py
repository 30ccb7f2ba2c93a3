"""What the accepted matches are worth: same food, partly the same, or another one?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.agreement import DIFFERENT, PARTIAL, SAME, majority_label
from lmms_eval_food.metrics.arrays import as_finite, as_flags

# Bounds of the similarity intervals, from the primary threshold up.
SCORE_EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


@dataclass(frozen=True, slots=True)
class ScoreInterval:
    """Human labels and accepted matches with a similarity in [low, high).

    Attributes:
        low: Lowest similarity.
        high: Bound of the next interval; the last interval holds its own bound too.
        labelled: Pairs with a majority label.
        same: Share of them that people call the same food, in [0, 1]; nan without labelled pairs.
        partial: Share of partly the same food.
        different: Share of different foods.
        matches: The model's accepted matches, exact ones left out.
    """

    low: float
    high: float
    labelled: int
    same: float
    partial: float
    different: float
    matches: int


@dataclass(frozen=True, slots=True)
class MatchQuality:
    """Estimated make-up of a model's accepted matches.

    Attributes:
        intervals: Labels and matches of each similarity interval.
        matches: Number of accepted matches.
        exact: Share of them with the same name, in [0, 1]; part of `same`.
        same: Estimated share that is the same food; nan without matches, or where an interval
            holds matches but no labelled pair.
        partial: Estimated share of partly the same food.
        different: Estimated share of different foods.
        strict_f1: F1 with only same-food matches as true positives, the others being false
            positives whose true items are missed: `f1 * same`.
    """

    intervals: tuple[ScoreInterval, ...]
    matches: int
    exact: float
    same: float
    partial: float
    different: float
    strict_f1: float


def match_quality(
    ratings: Sequence[Sequence[str]],
    rated_scores: npt.ArrayLike,
    match_scores: npt.ArrayLike,
    exact: npt.ArrayLike,
    f1: float,
    edges: Sequence[float] = SCORE_EDGES,
) -> MatchQuality:
    """Estimate how many accepted matches are the same, partly the same, or different foods.

    The labels seen in each similarity interval are weighted by the model's matches there. Matches
    of equal names are the same food without asking. Pairs without a majority label are left out.

    Args:
        ratings: Labels of each rated pair ("same", "partial", "different"), shape (n, raters).
        rated_scores: Similarity of the rated pairs under the same matcher, shape (n,).
        match_scores: Similarity of the accepted matches, shape (m,).
        exact: Whether a match's names are equal, shape (m,).
        f1: F1 at the threshold of the accepted matches.
        edges: Rising bounds of the intervals; all accepted matches must lie within.

    Raises:
        ValueError: lengths differ, edges do not rise, or a match lies outside of them.

    Source: the canteen paper, Sections 2.2.2 and 3 (matches accepted at the primary threshold). The
    paper does not give its intervals.
    """
    rated, scores = as_finite(rated_scores, "rated_scores"), as_finite(match_scores, "match_scores")
    equal = as_flags(exact, "exact")
    if rated.size != len(ratings) or scores.shape != equal.shape:
        raise ValueError("ratings and rated_scores, match_scores and exact must have one length")
    bounds = as_finite(edges, "edges")
    if bounds.size < 2 or not (np.diff(bounds) > 0).all():
        raise ValueError("edges must rise, two at least")
    if scores.size and not bounds[0] <= scores.min() <= scores.max() <= bounds[-1]:
        raise ValueError(f"accepted matches must lie in [{bounds[0]}, {bounds[-1]}]")
    labels = [majority_label(row) for row in ratings]
    place, matched = _intervals(rated, bounds), _intervals(scores[~equal], bounds)
    intervals = tuple(
        _interval(
            float(low),
            float(high),
            Counter(label for label, at in zip(labels, place, strict=True) if at == index),
            matched.count(index),
        )
        for index, (low, high) in enumerate(pairwise(bounds))
    )
    known = int(equal.sum())
    same, partial, different = (
        _share(intervals, name, start, scores.size)
        for name, start in ((SAME, known), (PARTIAL, 0), (DIFFERENT, 0))
    )
    return MatchQuality(
        intervals=intervals,
        matches=scores.size,
        exact=known / scores.size if scores.size else math.nan,
        same=same,
        partial=partial,
        different=different,
        strict_f1=f1 * same if scores.size else f1,
    )


def _intervals(scores: npt.NDArray[np.float64], bounds: npt.NDArray[np.float64]) -> list[int]:
    """Return each score's interval, -1 or one too many outside; the last bound counts as inside."""
    index = np.searchsorted(bounds, scores, side="right") - 1
    index[scores == bounds[-1]] = bounds.size - 2
    return [int(at) for at in index]


def _interval(low: float, high: float, labels: Counter[str | None], matches: int) -> ScoreInterval:
    counts = [labels[name] for name in (SAME, PARTIAL, DIFFERENT)]
    total = sum(counts)
    same, partial, different = (count / total if total else math.nan for count in counts)
    return ScoreInterval(low, high, total, same, partial, different, matches)


def _share(intervals: Sequence[ScoreInterval], label: str, known: int, total: int) -> float:
    """Return the share of all matches with a label, `known` of them without asking."""
    if not total:
        return math.nan
    found = [part.matches * float(getattr(part, label)) for part in intervals if part.matches]
    return (known + sum(found)) / total
