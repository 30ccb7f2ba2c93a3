"""What a model tends to answer whatever is asked: a letter, yes or no.

A failed request is no answer: leave it out before calling anything here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    PairedDifference,
    cluster_index,
    cluster_sums,
    paired_difference,
    percentile_interval,
    resample_counts,
    resampled_means,
    resampled_sums,
)
from lmms_eval_food.metrics.classification import rate
from lmms_eval_food.metrics.shares import Share, check_lengths

LETTERS = ("A", "B", "C", "D")


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A chi-square test of counts; nan where it cannot be made.

    Attributes:
        statistic: Sum of (observed - expected)^2 / expected, >= 0.
        p_value: In [0, 1], as if answers were independent: too small where a model answers
            questions about one dish alike.
        p_over_dishes: Two-sided bootstrap p of the same statistic over dishes, in (0, 1], never 0;
            nan with fewer than two dishes.
        smallest_expected: The smallest expected count: below 5 `p_value` is a rough one.
    """

    statistic: float
    p_value: float
    p_over_dishes: float
    smallest_expected: float


@dataclass(frozen=True, slots=True)
class OptionPreference:
    """Which option letters a model picks, over the answers with a letter.

    Attributes:
        picked: The share of each letter among the picked ones, with its interval over dishes.
        true_counts: How often each was right, over the same answers.
        unreadable: Answers without a letter, in neither count.
        against_truth: Picked letters against the right ones' distribution.
        against_uniform: Picked letters against all equally often.
    """

    picked: Mapping[str, Share]
    true_counts: Mapping[str, int]
    unreadable: int
    against_truth: ChiSquare
    against_uniform: ChiSquare

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each letter was picked."""
        return {letter: share.count for letter, share in self.picked.items()}


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


def option_preference(
    chosen: Sequence[str | None],
    truth: Sequence[str],
    dishes: Sequence[str],
    letters: Sequence[str] = LETTERS,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> OptionPreference:
    """Compare the letters a model picks with the right ones, and with all equally often.

    A model that is mostly right picks what is right, so `against_truth` finds less the better the
    model is. Letters that are neither picked nor right do not count there.

    Answers about one dish are not independent, and the chi-square's own p takes them to be.
    `p_over_dishes` draws whole dishes: of what each dish adds to observed minus expected, centred
    on the mean as no preference would be, it counts the resamples whose sum of squares over the
    same expected counts reaches the statistic. Where picks within a dish are all alike and 100
    dishes have no preference, it is below 0.05 about 5% of the time (10 dishes: 8%), the
    chi-square's own p 93%. A few dishes that are all alike have no spread to draw from, so their p
    says too much.

    Args:
        chosen: The letter read from each answer, length n; None for none.
        truth: The right letter of each question, length n.
        dishes: The dish of each question, length n.
        letters: All letters, at least two.
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Shares, counts and two chi-square tests. A test is nan when no letter was read, when fewer
        than two letters count, or when a letter was picked that is never right.

    Raises:
        ValueError: lengths differ, or a letter is none of `letters`.

    Source: CulturalMenuBench, Appendix D (response bias); J. Rao and A. Scott, JASA 76 (1981)
    (chi-square tests of clustered counts); A. Davison and D. Hinkley, Bootstrap Methods and their
    Application (1997), Section 4.4 (tests by resampling from a centred sample).
    """
    check_lengths(len(truth), chosen=len(chosen), dishes=len(dishes))
    _check_words({*chosen, *truth}, letters)
    read = [place for place, pick in enumerate(chosen) if pick is not None]
    names, dish = cluster_index([dishes[place] for place in read])
    # Counts by dish and letter: of the letters picked, and of the right ones.
    picks, rights = (
        cluster_sums(_one_hot([words[place] for place in read], letters), dish, len(names)).T
        for words in (chosen, truth)
    )
    even = np.repeat(picks.sum(axis=1, keepdims=True) / len(letters), len(letters), axis=1)
    counts = resample_counts(len(names), resamples, seed)
    totals = rights.sum(axis=0)
    return OptionPreference(
        picked=_picked(picks, counts, letters, confidence),
        true_counts=dict(zip(letters, map(int, totals), strict=True)),
        unreadable=len(chosen) - len(read),
        against_truth=_chi_square(picks, rights, counts),
        against_uniform=_chi_square(picks, even, counts),
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


def _check_words(words: set[str | None], known: Sequence[str]) -> None:
    unknown = sorted(words - {None, *known}, key=str)
    if unknown:
        raise ValueError(f"answers other than {', '.join(known)}: {unknown}")


def _one_hot(words: Sequence[str | None], letters: Sequence[str]) -> FloatArray:
    """Return 1.0 where a word is a letter, shape (n_letters, n)."""
    return np.array([[word == letter for word in words] for letter in letters], dtype=np.float64)


def _picked(
    picks: FloatArray, counts: IntArray, letters: Sequence[str], confidence: float
) -> dict[str, Share]:
    """Return each letter's share of all picks; `picks` by dish and letter, `counts` by resample."""
    sums, sizes = resampled_sums(picks.T, counts), resampled_sums(picks.sum(axis=1), counts)
    shares = np.divide(sums, sizes, out=np.full_like(sums, np.nan), where=sizes > 0)
    n = int(picks.sum())
    found = {}
    for letter, count, resampled in zip(letters, picks.sum(axis=0), shares, strict=True):
        share = float(count) / n if n else math.nan
        found[letter] = Share(n, int(count), share, *percentile_interval(resampled, confidence))
    return found


def _chi_square(observed: FloatArray, expected: FloatArray, counts: IntArray) -> ChiSquare:
    """Test observed against expected counts of the same sum; see `option_preference` for nan.

    Args:
        observed: Counts by dish and letter.
        expected: The same.
        counts: How often each resample drew each dish.
    """
    used = (observed.sum(axis=0) > 0) | (expected.sum(axis=0) > 0)
    observed, expected = observed[:, used], expected[:, used]
    totals = expected.sum(axis=0)
    smallest = float(totals.min()) if totals.size else math.nan
    if totals.size < 2 or not smallest > 0:
        return ChiSquare(math.nan, math.nan, math.nan, smallest)
    # Imported here: scipy.special costs time that most imports need not pay.
    from scipy.special import chdtrc

    excess = observed - expected
    statistic = float((excess.sum(axis=0) ** 2 / totals).sum())
    p_over_dishes = math.nan
    if len(excess) > 1:
        drawn = resampled_sums((excess - excess.mean(axis=0)).T, counts)
        reached = (drawn**2 / totals[:, None]).sum(axis=0) >= statistic * (1 - 1e-9)
        p_over_dishes = (1 + int(reached.sum())) / (1 + len(counts))
    return ChiSquare(statistic, float(chdtrc(totals.size - 1, statistic)), p_over_dishes, smallest)
