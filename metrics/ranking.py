"""Who ranks first, how firmly, and how much picking the best flatters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray


def first_place_shares(values: FloatArray, *, higher_is_better: bool) -> FloatArray:
    """Return each run's share of the resamples in which it ranks first.

    Runs that tie for first share that resample equally. A run without a value (nan) cannot be
    first; resamples in which no run has one are left out.

    Args:
        values: Scores on the same resamples, shape (runs, resamples).
        higher_is_better: Which end is first.

    Returns:
        Shares, shape (runs,), that sum to 1; all nan when no resample is left.

    Raises:
        ValueError: values is not two-dimensional.

    Source: the canteen paper, Section 3 (probability of ranking first in paired comparisons).
    """
    if values.ndim != 2:
        raise ValueError(f"values must have shape (runs, resamples), its shape is {values.shape}")
    gains = _gains(values, higher_is_better)
    gains = gains[:, (gains > -np.inf).any(axis=0)]
    if not gains.size:
        return np.full(values.shape[0], np.nan)
    first = gains == gains.max(axis=0)
    return np.asarray((first / first.sum(axis=0)).mean(axis=1))


def best_run(scores: FloatArray, *, higher_is_better: bool) -> int | None:
    """Return the index of the best run, the first of several; None where no run has a score.

    Args:
        scores: Scores, shape (runs,); nan for none.
        higher_is_better: Which end is best.

    >>> best_run(np.array([np.nan, 0.5, 0.7, 0.7]), higher_is_better=True)
    2
    """
    gains = _gains(scores, higher_is_better)
    return int(gains.argmax()) if (gains > -np.inf).any() else None


def spearman(first: npt.ArrayLike, second: npt.ArrayLike) -> float:
    """Spearman's rank correlation, ties given their mean rank.

    Args:
        first: Scores of n runs.
        second: Other scores of the same runs. A run with nan in either is left out.

    Returns:
        In [-1, 1]; nan with fewer than two runs, or where all runs tie.

    Raises:
        ValueError: shapes differ or are not one-dimensional.

    Source: C. Spearman (1904); the canteen paper, Section 3; computed by scipy.stats.
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.ndim != 1 or one.shape != two.shape:
        raise ValueError(f"shapes must be (n,) twice, they are {one.shape} and {two.shape}")
    both = ~(np.isnan(one) | np.isnan(two))
    one, two = one[both], two[both]
    if np.unique(one).size < 2 or np.unique(two).size < 2:
        return math.nan
    # Imported here: scipy.stats costs half a second that most imports of this module need not pay.
    from scipy.stats import spearmanr

    return float(spearmanr(one, two).statistic)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The ranking without one group of photos.

    Attributes:
        group: The group that is left out.
        scores: Each run's score without it, shape (runs,).
        best: Index of the best run without it, the first of several; None where no run has a score.
        spearman: Rank correlation with the scores on all photos, in [-1, 1], or nan.
    """

    group: str
    scores: FloatArray
    best: int | None
    spearman: float


def left_out_rankings(
    groups: Sequence[str], full: FloatArray, without: FloatArray, *, higher_is_better: bool
) -> list[LeftOut]:
    """Compare the ranking on all photos with the rankings that leave out one group each.

    Args:
        groups: The groups, as `bootstrap.leave_one_out_counts` gives them.
        full: Each run's score on all photos, shape (runs,).
        without: Each run's score without each group, shape (runs, n_groups).
        higher_is_better: Which end is best.

    Returns:
        One entry a group; [] without groups.

    Raises:
        ValueError: shapes do not fit.

    Source: the canteen paper, Section 2.2.3 (one participant's photos left out at a time).
    """
    if without.shape != (full.size, len(groups)):
        raise ValueError(f"without must have shape {(full.size, len(groups))}")
    return [
        LeftOut(
            group,
            scores,
            best_run(scores, higher_is_better=higher_is_better),
            spearman(full, scores),
        )
        for group, scores in zip(groups, without.T, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class SelectionOptimism:
    """What choosing the best of several runs on the data they are scored on adds to the score.

    Attributes:
        best: Index of the run that is best on all photos, the first of several.
        score: Its score there.
        optimism: Expected flattery by the choice, >= 0, in the unit of the score.
        corrected: The score without it: `score - optimism`, or `+` where lower is better.
        out_of_bag: Mean score, on the photos a resample left out, of the run chosen on it.
        picked: Share of the resamples in which each run is chosen, shape (runs,).
    """

    best: int
    score: float
    optimism: float
    corrected: float
    out_of_bag: float
    picked: FloatArray


def selection_optimism(
    observed: FloatArray,
    resampled: FloatArray,
    out_of_bag: FloatArray,
    *,
    higher_is_better: bool,
) -> SelectionOptimism | None:
    """Estimate how much reporting the best run (say, the best temperature) flatters a model.

    On each resample the best run is chosen anew. Two answers follow. (1) Efron's optimism: the
    chosen run's lead over the overall best run on the resample, where it was chosen, minus its
    lead on all photos, which stand for the world that the resample was drawn from; averaged over
    resamples. Taking leads over the overall best run, not scores, removes the resampling noise that
    has nothing to do with the choice: one run alone gives exactly 0. (2) The chosen run's mean
    score on the photos that the resample did not draw.

    Args:
        observed: Scores on all photos, shape (runs,).
        resampled: Scores on the resamples, shape (runs, resamples).
        out_of_bag: Scores on the photos each resample left out, same shape.
        higher_is_better: Which end is best.

    Returns:
        The estimate; None when no run has a score on all photos. Resamples in which no run, or not
        the overall best one, has a score are left out; `optimism` is nan when none is left.

    Raises:
        ValueError: shapes do not fit.

    Source: the effect is named in the canteen paper, Section 2.2 (selection of the temperature)
    and Section 3; the estimate is B. Efron, JASA 78 (1983).
    """
    if not observed.shape == resampled.shape[:1] or resampled.shape != out_of_bag.shape:
        raise ValueError("observed must have shape (runs,), the others (runs, resamples)")
    best = best_run(observed, higher_is_better=higher_is_better)
    if best is None:
        return None
    sign = 1.0 if higher_is_better else -1.0
    overall = _gains(observed, higher_is_better)
    # A run without a score on all photos cannot be chosen.
    gains = np.where(overall[:, None] > -np.inf, _gains(resampled, higher_is_better), -np.inf)
    usable = np.flatnonzero(np.isfinite(gains[best]))
    chosen = gains[:, usable].argmax(axis=0)
    leads = gains[chosen, usable] - gains[best, usable] - (overall[chosen] - overall[best])
    left_out = out_of_bag[chosen, usable]
    optimism = float(leads.mean()) if leads.size else math.nan
    score = float(observed[best])
    return SelectionOptimism(
        best=best,
        score=score,
        optimism=optimism,
        corrected=score - sign * optimism,
        out_of_bag=_mean(left_out),
        picked=np.bincount(chosen, minlength=observed.size) / max(1, chosen.size),
    )


def _gains(values: FloatArray, higher_is_better: bool) -> FloatArray:
    """Return the values so that higher is better, -inf for nan."""
    return np.where(np.isnan(values), -np.inf, values if higher_is_better else -values)


def _mean(values: FloatArray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if defined.size else math.nan
