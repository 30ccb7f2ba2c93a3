"""Shares of answers by group: right ones, unreadable ones, with their intervals.

A failed request is no answer: leave it out before calling anything here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import BoolArray, as_flags
from lmms_eval_food.metrics.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    cluster_index,
    resample_counts,
    resampled_means,
    share_interval,
)
from lmms_eval_food.metrics.classification import wilson_interval


@dataclass(frozen=True, slots=True)
class Share:
    """A share of answers with its interval.

    Attributes:
        n: Number of answers.
        count: How many of them are flagged.
        share: count / n, in [0, 1]; nan when n == 0.
        low: Lower end of the interval, nan where there is none.
        high: Upper end.
    """

    n: int
    count: int
    share: float
    low: float
    high: float


def shares_by_group(
    flags: npt.ArrayLike, groups: Sequence[str | None], confidence: float = CONFIDENCE
) -> dict[str, Share]:
    """Share of flagged answers of each group, with a Wilson interval.

    The interval takes answers as independent; that of `shares_over_dishes` does not.

    Args:
        flags: One flag an answer (right, unreadable), shape (n,).
        groups: The group of each answer (a cuisine, a language), length n; None for none.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Group -> share, in alphabetical order; {} when n == 0.

    Raises:
        ValueError: lengths differ, or flags are no flags.

    Source: CulturalMenuBench, Section 3.4 (accuracy by cuisine) and Table 7.
    """
    marked = as_flags(flags, "flags")
    check_lengths(marked.size, groups=len(groups))
    totals = Counter(group for group in groups if group is not None)
    hits = Counter(g for g, flag in zip(groups, marked.tolist(), strict=True) if flag)
    return {
        group: Share(n, hits[group], hits[group] / n, *wilson_interval(hits[group], n, confidence))
        for group, n in sorted(totals.items())
    }


def unreadable_by_group(
    answers: Sequence[str | None], groups: Sequence[str | None], confidence: float = CONFIDENCE
) -> dict[str, Share]:
    """Share of answers of each group (a language) that could not be read, with a Wilson interval.

    Args:
        answers: What was read, None where nothing was; length n.
        groups: See `shares_by_group`.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Group -> share, in alphabetical order; {} when n == 0.

    Raises:
        ValueError: lengths differ.

    Source: relative frequency; the paper asks again instead (CulturalMenuBench, Appendix K).
    """
    return shares_by_group([answer is None for answer in answers], groups, confidence)


def shares_over_dishes(
    flags: npt.ArrayLike,
    dishes: Sequence[str],
    breakdowns: Mapping[str, Sequence[str | None]],
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, dict[str, Share]]:
    """Share of flagged answers of each group of several breakdowns, with intervals over dishes.

    Questions about one dish are not independent, so dishes are resampled, once for all breakdowns.

    Args:
        flags: One flag an answer, shape (n,).
        dishes: The dish of each answer, length n; the first one where a question shows two.
        breakdowns: Name ("relation") -> the group of each answer, length n; None for none.
        resamples: Number of bootstrap resamples.
        seed: Seed of the resampling.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Breakdown -> group -> share, groups in alphabetical order. A group of a single dish has no
        interval (nan), and one whose answers are all alike has Wilson's over its dishes.

    Raises:
        ValueError: lengths differ, or flags are no flags.

    Source: CulturalMenuBench, Section 2.2 (shared dish pool) and Appendix D (bootstrap).
    """
    marked = as_flags(flags, "flags")
    lengths = {f"breakdown {name!r}": len(groups) for name, groups in breakdowns.items()}
    check_lengths(marked.size, dishes=len(dishes), **lengths)
    names, dish = cluster_index(dishes)
    counts = resample_counts(len(names), resamples, seed)
    cells: list[tuple[str, str, BoolArray]] = []
    for breakdown, groups in breakdowns.items():
        labels, codes = cluster_index([group for group in groups if group is not None])
        own = np.full(marked.size, -1)
        own[[group is not None for group in groups]] = codes
        cells += [(breakdown, label, own == code) for code, label in enumerate(labels)]
    # All groups at once, one row each: the product with the resamples is what takes time.
    inside = np.array([members for _, _, members in cells]).reshape(len(cells), marked.size)
    means = resampled_means(np.where(inside, marked, math.nan), dish, counts)
    found: dict[str, dict[str, Share]] = {breakdown: {} for breakdown in breakdowns}
    for (breakdown, label, members), resampled in zip(cells, means, strict=True):
        n, count = int(members.sum()), int((members & marked).sum())
        low, high = share_interval(np.where(members, marked, math.nan), dish, resampled, confidence)
        found[breakdown][label] = Share(n, count, count / n, low, high)
    return found


def check_lengths(n: int, **lengths: int) -> None:
    """Raise ValueError where something has another length than there are answers."""
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"there are {n} answers, {name} has length {length}")
