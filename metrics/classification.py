"""Shares of right or otherwise flagged answers, with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import as_flags


def rate(flags: npt.ArrayLike) -> float:
    """Share of flags that are set.

    Args:
        flags: Booleans (or 0 and 1), shape (n,).

    Returns:
        In [0, 1], where 1 is all of them; nan when n == 0.

    Raises:
        ValueError: not one-dimensional, or a value is neither 0 nor 1.

    Source: relative frequency; used for the unreadable rate and the yes-rate.

    >>> rate([True, False, False, False])
    0.25
    """
    array = as_flags(flags, "flags")
    return float(array.mean()) if array.size else math.nan


def accuracy(correct: npt.ArrayLike) -> float:
    """Share of answers that are right; an unreadable answer is a wrong one.

    Args:
        correct: One flag an answer, shape (n,).

    Returns:
        In [0, 1], higher is better; nan when n == 0.

    Raises:
        ValueError: not one-dimensional, or a value is neither 0 nor 1.

    Source: DiningBench (classification), CulturalMenuBench (all three question forms).

    >>> accuracy([1, 1, 0, 1])
    0.75
    """
    return rate(as_flags(correct, "correct"))


def grouped_accuracy(correct: npt.ArrayLike, groups: Sequence[str]) -> dict[str, float]:
    """Accuracy of each group.

    Args:
        correct: One flag an answer, shape (n,).
        groups: The group of each answer, length n.

    Returns:
        Group -> accuracy in [0, 1], groups in alphabetical order; {} when n == 0.

    Raises:
        ValueError: lengths differ, or `correct` is not made of flags.

    Source: CulturalMenuBench, results by relation, tier and language.
    """
    flags = as_flags(correct, "correct")
    if len(groups) != flags.size:
        raise ValueError(f"correct has {flags.size} answers, groups has {len(groups)}")
    members: dict[str, list[bool]] = {}
    for flag, group in zip(flags.tolist(), groups, strict=True):
        members.setdefault(group, []).append(flag)
    return {group: float(np.mean(members[group])) for group in sorted(members)}


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson score interval of a share, without continuity correction.

    It assumes independent answers: where several questions share a dish or a photo, resample
    dishes instead.

    Args:
        successes: How many of the n, in 0..n.
        n: How many in all.
        confidence: Coverage, in (0, 1).

    Returns:
        (low, high) within [0, 1]; (nan, nan) when n == 0.

    Raises:
        ValueError: successes outside 0..n, or confidence outside (0, 1).

    Source: E. B. Wilson, JASA 22 (1927); computed by scipy.stats.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, got {successes}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    if n == 0:
        return math.nan, math.nan
    # Imported here: scipy.stats costs half a second that most imports of this module need not pay.
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(confidence, "wilson")
    return float(interval.low), float(interval.high)
