"""The sign-flip test: do two runs score alike on the dishes or photos that both were asked about?

If two runs are equally good, either may have given either answer: swapping their answers to a whole
dish is then as likely as not, and turns the sign of that dish's difference. The p-value is the
share of all such swaps that give a difference at least as large as the one seen. With one question
a dish that is right or wrong, it is McNemar's exact test.

Source: E. Pitman, Suppl. J. R. Stat. Soc. 4 (1937); A. Yeh, More accurate tests for the statistical
significance of result differences (COLING 2000); Q. McNemar, Psychometrika 12 (1947).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray

_LARGEST = 14  # differences whose signs are turned one by one: 2 ** 14 patterns
_LATTICE = 100_000
# A sum that differs from the observed one by rounding alone is as large.
_TIE = 1 - 1e-12


def sign_flip_p(gaps: npt.ArrayLike) -> float:
    """Return the two-sided p of the hypothesis that the sign of each difference is a coin's.

    Exact where all differences are whole numbers (right minus wrong answers of a dish) and for up
    to 14 that are not 0. Otherwise the 14 largest are turned one by one, and the sum of the others
    is taken as normal.

    Args:
        gaps: First run minus second, summed over each dish or photo, shape (n,), finite. Only their
            proportions matter.

    Returns:
        p in (0, 1]; 1 where all are 0; nan for fewer than two, which have no spread.

    Raises:
        ValueError: not one-dimensional, or a value is not finite.

    Source: Pitman (1937), Yeh (2000).

    >>> sign_flip_p([1, 1, 1, 1, 1, -1])
    0.21875
    """
    values = np.asarray(gaps, dtype=np.float64)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ValueError("gaps must be one-dimensional and finite")
    if values.size < 2:
        return math.nan
    sizes = np.sort(np.abs(values[values != 0]))[::-1]
    if not sizes.size:
        return 1.0
    if (sizes == np.floor(sizes)).all() and sizes.sum() <= _LATTICE:
        return _lattice_p(sizes.astype(np.int64), abs(int(values.sum())))
    # Divided first: squares of large numbers overflow.
    seen = abs(float((values / sizes[0]).sum())) * _TIE
    sizes = sizes / sizes[0]
    sums = _all_sums(sizes[:_LARGEST])
    rest = math.sqrt(float(np.square(sizes[_LARGEST:]).sum()))
    if rest == 0:
        return float((np.abs(sums) >= seen).mean())
    from scipy.special import ndtr

    return min(1.0, 2 * float(ndtr((sums - seen) / rest).mean()))


def _all_sums(sizes: FloatArray) -> FloatArray:
    """Return the sum under each pattern of signs, shape (2 ** n,)."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums - size, sums + size])
    return sums


def _lattice_p(sizes: IntArray, seen: int) -> float:
    """Return the share of patterns of signs whose sum is as far from 0 as the one seen."""
    total = int(sizes.sum())
    chances = np.ones(1)  # of the sum of the sizes whose sign is plus
    for size in sizes.tolist():
        longer = np.zeros(chances.size + size)
        longer[: chances.size] += chances
        longer[size:] += chances
        chances = longer / 2
    sums = 2 * np.arange(total + 1) - total
    return min(1.0, float(chances[np.abs(sums) >= seen].sum()))
