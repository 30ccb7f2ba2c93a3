"""Are wrong cuisines near misses? Confusion within cultural families, against chance."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray

# Probabilities within this factor of the observed one count as equal to it, as in
# scipy.stats.binomtest: outcomes that mirror each other differ by rounding alone.
_TIE = 1 + 1e-7


@dataclass(frozen=True, slots=True)
class RegionAnswer:
    """One answered question about a dish's regional cuisine.

    Attributes:
        truth: The right cuisine.
        chosen: The cuisine of the option read from the answer, None where none was read.
        options: All cuisines offered, the right one included, each once; at least two.
    """

    truth: str
    chosen: str | None
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FamilyConfusion:
    """How often a wrong cuisine is of the right cuisine's family; nan without errors.

    Attributes:
        answers: Number of questions.
        unreadable: Those without a chosen cuisine: wrong, but no confusion, so not among `errors`.
        errors: Those with a wrong cuisine chosen.
        same_family: Errors whose chosen cuisine is of the right one's family.
        share: same_family / errors, in [0, 1].
        chance: Expected share of somebody who picks one of the wrong options blindly: the mean over
            errors of the same-family share of the item's own wrong options, in [0, 1].
        p0: The share that `p_value` tests against: the one given, else `chance`.
        p_value: Exact two-sided binomial p against p0.
        p_own_options: Exact two-sided p against each error's own chance (Poisson-binomial).
    """

    answers: int
    unreadable: int
    errors: int
    same_family: int
    share: float
    chance: float
    p0: float
    p_value: float
    p_own_options: float


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """Which cuisine was taken for which.

    Attributes:
        cuisines: Row and column names, cuisines of one family side by side.
        families: The family of each row.
        counts: Number of answers by (right cuisine, chosen cuisine), shape (n, n).
        unreadable: Number of answers without a chosen cuisine by right cuisine, shape (n,).
    """

    cuisines: tuple[str, ...]
    families: tuple[str, ...]
    counts: IntArray
    unreadable: IntArray


def family_confusion(
    answers: Sequence[RegionAnswer], families: Mapping[str, str], p0: float | None = None
) -> FamilyConfusion:
    """Compare errors within a cultural family with what blind picks would give.

    Both tests take errors as independent. The two questions of one dish are not quite: read a p
    close to the limit with that in mind.

    Args:
        answers: One model's answers, length n.
        families: Cuisine -> family, for every cuisine that is offered.
        p0: Share to test against in `p_value`, in [0, 1]; the errors' own mean chance by default.

    Returns:
        Counts, shares and p-values; shares and p-values are nan when there is no error.

    Raises:
        ValueError: an answer does not fit its options, a cuisine has no family, or p0 is no share.

    Source: CulturalMenuBench, Section 3.4 and Table 9.
    """
    _check(answers, families)
    errors = [a for a in answers if a.chosen is not None and a.chosen != a.truth]
    chances = [family_chance(a, families) for a in errors]
    same = sum(families[a.truth] == families[a.chosen or ""] for a in errors)
    chance = float(np.mean(chances)) if errors else math.nan
    tested = chance if p0 is None else p0
    return FamilyConfusion(
        answers=len(answers),
        unreadable=sum(a.chosen is None for a in answers),
        errors=len(errors),
        same_family=same,
        share=same / len(errors) if errors else math.nan,
        chance=chance,
        p0=tested,
        p_value=binomial_p(same, len(errors), tested) if errors else math.nan,
        p_own_options=poisson_binomial_p(same, chances),
    )


def family_chance(answer: RegionAnswer, families: Mapping[str, str]) -> float:
    """Share of an item's wrong options that are of the right cuisine's family, in [0, 1]."""
    wrong = [option for option in answer.options if option != answer.truth]
    return sum(families[option] == families[answer.truth] for option in wrong) / len(wrong)


def confusion_matrix(
    answers: Sequence[RegionAnswer], families: Mapping[str, str]
) -> ConfusionMatrix:
    """Count right against chosen cuisines.

    Args:
        answers: Answers of one model, or of several together.
        families: Cuisine -> family. Its order, families by their first cuisine, is the order of
            rows and columns.

    Returns:
        Counts over all cuisines of `families`; all 0 without answers.

    Raises:
        ValueError: an answer does not fit its options, or a cuisine has no family.

    Source: CulturalMenuBench, Section 3.4.
    """
    _check(answers, families)
    order = {family: place for place, family in enumerate(dict.fromkeys(families.values()))}
    cuisines = tuple(sorted(families, key=lambda cuisine: order[families[cuisine]]))
    place = {cuisine: row for row, cuisine in enumerate(cuisines)}
    counts = np.zeros((len(cuisines), len(cuisines)), dtype=np.int64)
    unreadable = np.zeros(len(cuisines), dtype=np.int64)
    for answer in answers:
        if answer.chosen is None:
            unreadable[place[answer.truth]] += 1
        else:
            counts[place[answer.truth], place[answer.chosen]] += 1
    return ConfusionMatrix(cuisines, tuple(families[c] for c in cuisines), counts, unreadable)


def binomial_p(successes: int, n: int, p0: float) -> float:
    """Exact two-sided p of a count under a binomial distribution.

    Args:
        successes: How many of the n, in 0..n.
        n: How many in all.
        p0: Probability of each, in [0, 1].

    Returns:
        Probability of all outcomes no likelier than this one, in [0, 1]; nan when n == 0.

    Raises:
        ValueError: successes outside 0..n, or p0 outside [0, 1].

    Source: CulturalMenuBench, Section 3.4 and Table 9; computed by scipy.stats.
    """
    if not 0 <= p0 <= 1:
        raise ValueError(f"p0 must lie in [0, 1], got {p0}")
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, got {successes}")
    if n == 0:
        return math.nan
    # Imported here: scipy.stats costs half a second that most imports need not pay.
    from scipy.stats import binomtest

    return float(binomtest(successes, n, p0).pvalue)


def poisson_binomial_p(successes: int, chances: npt.ArrayLike) -> float:
    """Exact two-sided p of a count of independent events, each with a chance of its own.

    Args:
        successes: How many events happened, in 0..n.
        chances: Probability of each event, shape (n,), in [0, 1].

    Returns:
        Probability of all outcomes no likelier than this one, in [0, 1]; nan when n == 0. Equal to
        `binomial_p` where all chances are equal.

    Raises:
        ValueError: successes outside 0..n, or chances are not one-dimensional shares.

    Source: S. D. Poisson (1837); two-sided as in scipy.stats.binomtest.
    """
    probabilities = np.asarray(chances, dtype=np.float64)
    if probabilities.ndim != 1 or not ((probabilities >= 0) & (probabilities <= 1)).all():
        raise ValueError("chances must be one-dimensional and lie in [0, 1]")
    n = probabilities.size
    if not 0 <= successes <= n:
        raise ValueError(f"successes must lie in 0..{n}, got {successes}")
    if n == 0:
        return math.nan
    from scipy.stats import poisson_binom

    pmf: FloatArray = poisson_binom.pmf(np.arange(n + 1), probabilities)
    return min(1.0, float(pmf[pmf <= pmf[successes] * _TIE].sum()))


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Adjust p-values of several tests so that one false alarm among all stays as rare as asked.

    Args:
        p_values: Raw p-values, shape (n,), in [0, 1] or nan. nan stays nan and counts as no test.

    Returns:
        Adjusted p-values in the same order, in [0, 1], none below its raw one; empty when n == 0.

    Raises:
        ValueError: not one-dimensional, or a value outside [0, 1].

    Source: S. Holm, Scandinavian Journal of Statistics 6 (1979).

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    if raw.ndim != 1 or (raw < 0).any() or (raw > 1).any():
        raise ValueError("p_values must be one-dimensional and lie in [0, 1] or be nan")
    tests = int((~np.isnan(raw)).sum())
    ascending = np.argsort(raw)[:tests]  # nan is sorted to the end
    steps = raw[ascending] * np.arange(tests, 0, -1)
    adjusted = np.full(raw.size, math.nan)
    adjusted[ascending] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def count_from_share(percent: float, n: int, decimals: int = 1) -> int:
    """Return the count behind a published share.

    Args:
        percent: The share in percent (100 is whole), as printed.
        n: How many in all.
        decimals: Digits after the point in print.

    Returns:
        The whole number in 0..n whose share of n is nearest.

    Raises:
        ValueError: no count of n has that share in print.

    Source: arithmetic; turns the shares of CulturalMenuBench, Table 9, into tests.

    >>> count_from_share(17.9, 162)
    29
    """
    count = round(percent * n / 100)
    # Half a unit of the last printed digit, and a little for the rounding of floats.
    if n < 1 or not 0 <= count <= n or abs(100 * count / n - percent) > 0.5001 * 10**-decimals:
        raise ValueError(f"no count out of {n} is {percent}%")
    return count


def _check(answers: Sequence[RegionAnswer], families: Mapping[str, str]) -> None:
    """Raise ValueError where an answer, its options and the families do not fit together."""
    for place, answer in enumerate(answers):
        options = set(answer.options)
        if len(options) < 2 or len(options) != len(answer.options):
            raise ValueError(f"answer {place}: options must differ, at least two: {answer.options}")
        strangers = {answer.truth, answer.chosen} - {None} - options
        if strangers:
            raise ValueError(f"answer {place}: {sorted(map(str, strangers))} not among its options")
        unknown = sorted(option for option in options if option not in families)
        if unknown:
            raise ValueError(f"answer {place}: no family given for {unknown}")
