"""Shares of answers by group with intervals, and what a model tends to answer whatever is asked.

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
    PairedDifference,
    cluster_index,
    paired_difference,
    percentile_interval,
    resample_counts,
    resampled_means,
)
from lmms_eval_food.metrics.classification import rate, wilson_interval

LETTERS = ("A", "B", "C", "D")


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


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A chi-square test of counts; nan where it cannot be made.

    Attributes:
        statistic: Sum of (observed - expected)^2 / expected, >= 0.
        p_value: In [0, 1].
        smallest_expected: The smallest expected count: below 5 the p is a rough one.
    """

    statistic: float
    p_value: float
    smallest_expected: float


@dataclass(frozen=True, slots=True)
class OptionPreference:
    """Which option letters a model picks, over the answers with a letter.

    Attributes:
        counts: How often each letter was picked, by letter.
        true_counts: How often each was right, over the same answers.
        unreadable: Answers without a letter, in neither count.
        against_truth: Picked letters against the right ones' distribution.
        against_uniform: Picked letters against all equally often.
    """

    counts: Mapping[str, int]
    true_counts: Mapping[str, int]
    unreadable: int
    against_truth: ChiSquare
    against_uniform: ChiSquare


@dataclass(frozen=True, slots=True)
class YesBias:
    """How often a model says yes, against how often it should, over the answers that were read.

    Attributes:
        yes: The share of yes, with its interval over dishes.
        true_yes_rate: Share of the same questions whose right answer is yes; nan without answers.
        rejection: The rejection bias, true_yes_rate minus the share of yes, in [-1, 1], over
            dishes: 0.1 where the model says no 60% of the time and 50% would be right.
        unreadable: Answers that were neither.
    """

    yes: Share
    true_yes_rate: float
    rejection: PairedDifference
    unreadable: int


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
        interval (nan), and one whose answers are all alike has one without width.

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
        # A single dish has no spread, though its resamples would give a point.
        spread = np.unique(dish[members]).size > 1
        low, high = percentile_interval(resampled if spread else [], confidence)
        found[breakdown][label] = Share(n, count, count / n, low, high)
    return found


def option_preference(
    chosen: Sequence[str | None], truth: Sequence[str], letters: Sequence[str] = LETTERS
) -> OptionPreference:
    """Compare the letters a model picks with the right ones, and with all equally often.

    A model that is mostly right picks what is right, so `against_truth` finds less the better the
    model is. Letters that are neither picked nor right do not count there.

    Args:
        chosen: The letter read from each answer, length n; None for none.
        truth: The right letter of each question, length n.
        letters: All letters, at least two.

    Returns:
        Counts and two chi-square tests. A test is nan when no letter was read, when fewer than two
        letters count, or when a letter was picked that is never right.

    Raises:
        ValueError: lengths differ, or a letter is none of `letters`.

    Source: CulturalMenuBench, Appendix D (response bias).
    """
    check_lengths(len(truth), chosen=len(chosen))
    _check_words({*chosen, *truth}, letters)
    pairs = [(pick, right) for pick, right in zip(chosen, truth, strict=True) if pick is not None]
    picked, rights = Counter(pick for pick, _ in pairs), Counter(right for _, right in pairs)
    counts = {letter: picked[letter] for letter in letters}
    true_counts = {letter: rights[letter] for letter in letters}
    uniform = len(pairs) / len(letters)
    return OptionPreference(
        counts=counts,
        true_counts=true_counts,
        unreadable=len(chosen) - len(pairs),
        against_truth=_chi_square([(counts[x], float(true_counts[x])) for x in letters]),
        against_uniform=_chi_square([(counts[x], uniform) for x in letters]),
    )


def yes_bias(
    answers: Sequence[str | None],
    truth: Sequence[str],
    dishes: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> YesBias:
    """Compare how often a model says yes with how often yes is right.

    Args:
        answers: "yes", "no" or None (neither) for each question, length n.
        truth: "yes" or "no", length n.
        dishes: The dish of each question, length n; the first one where a question shows two.
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Rates over the answers that were read, nan when there is none; intervals are nan with
        fewer than two dishes.

    Raises:
        ValueError: lengths differ, or a word is neither yes nor no.

    Source: CulturalMenuBench, Appendix D (response bias: 58-65% "no" where half is right).
    """
    check_lengths(len(truth), answers=len(answers), dishes=len(dishes))
    _check_words({*answers, *truth}, ("yes", "no"))
    read = [place for place, word in enumerate(answers) if word is not None]
    said, should = (np.array([words[i] == "yes" for i in read], bool) for words in (answers, truth))
    names, dish = cluster_index([dishes[i] for i in read])
    resampled = resampled_means(
        np.stack([should, said]), dish, resample_counts(len(names), resamples, seed)
    )
    yes = Share(
        said.size, int(said.sum()), rate(said), *percentile_interval(resampled[1], confidence)
    )
    true_rate = rate(should)
    bias = true_rate - yes.share
    rejection = paired_difference(bias, resampled[0], resampled[1], confidence)
    return YesBias(yes, true_rate, rejection, len(answers) - len(read))


def check_lengths(n: int, **lengths: int) -> None:
    """Raise ValueError where something has another length than there are answers."""
    for name, length in lengths.items():
        if length != n:
            raise ValueError(f"there are {n} answers, {name} has length {length}")


def _check_words(words: set[str | None], known: Sequence[str]) -> None:
    unknown = sorted(words - {None, *known}, key=str)
    if unknown:
        raise ValueError(f"answers other than {', '.join(known)}: {unknown}")


def _chi_square(cells: Sequence[tuple[int, float]]) -> ChiSquare:
    """Test observed against expected counts of the same sum; see `option_preference` for nan."""
    cells = [(observed, expected) for observed, expected in cells if observed or expected]
    smallest = min((expected for _, expected in cells), default=math.nan)
    if len(cells) < 2 or not smallest > 0:
        return ChiSquare(math.nan, math.nan, smallest)
    # Imported here: scipy.stats costs half a second that most imports need not pay.
    from scipy.stats import chisquare

    result = chisquare(*zip(*cells, strict=True))
    return ChiSquare(float(result.statistic), float(result.pvalue), smallest)
