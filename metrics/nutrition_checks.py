"""What nutrition estimates show beyond their errors: bias, correlation, whether they agree.

Tables have shape (n, 4), as in `metrics.nutrition`. Each score is the mean of one value a dish, or
made of such sums, so that it can be had on every resample of dishes at once.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray, as_flags
from lmms_eval_food.metrics.bootstrap import cluster_sums, resampled_sums
from lmms_eval_food.metrics.nutrition import NUTRIENTS, checked, table

# kcal per gram (Atwater's general factors), and how far the sum may lie from the stated energy.
_KCAL_PER_GRAM = np.array([4.0, 4.0, 9.0])
_ATWATER_TOLERANCE = 0.1
_FEWEST_PAIRS = 3
# A variance that is this small a part of the mean square is what rounding leaves of equal values.
_NO_VARIANCE = 1e-10


def differences(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> FloatArray:
    """Return estimate minus truth of each answer.

    Args:
        predicted: Estimates, shape (n, 4); values that are not finite are left out.
        true: True values, shape (n, 4), finite and >= 0, or nan for a missing one.
        readable: Which answers were read, shape (n,).

    Returns:
        In kcal and g, shape (n, 4); nan where an answer does not count.

    Raises:
        ValueError: as `nutrition.checked`.
    """
    answers, truths, read = checked(predicted, true, readable)
    counted = read & np.isfinite(answers) & ~np.isnan(truths)
    found = np.full(truths.shape, np.nan)
    found[counted] = answers[counted] - truths[counted]
    return found


def signed_bias(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> dict[str, float]:
    """Mean of estimate minus truth over readable answers: above 0 is overestimation.

    Args:
        predicted: As `differences`.
        true: As `differences`.
        readable: As `differences`.

    Returns:
        Nutrient -> bias in kcal or g; nan where no answer counts.

    Raises:
        ValueError: as `nutrition.checked`.

    Source: ours; the benchmark reports errors without their sign.
    """
    columns = differences(predicted, true, readable).T
    known = [column[~np.isnan(column)] for column in columns]
    means = [float(column.mean()) if column.size else math.nan for column in known]
    return dict(zip(NUTRIENTS, means, strict=True))


def correlations(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> dict[str, float]:
    """Pearson correlation of estimates and truths over readable answers.

    Args:
        predicted: As `differences`.
        true: As `differences`.
        readable: As `differences`.

    Returns:
        Nutrient -> r in [-1, 1]; nan with fewer than three answers, or where the estimates or the
        truths are all the same.

    Raises:
        ValueError: as `nutrition.checked`.

    Source: ours; K. Pearson (1895), computed by numpy.
    """
    counted = ~np.isnan(differences(predicted, true, readable))
    answers, truths = table(predicted, "predicted"), table(true, "true")
    return {
        nutrient: _pearson(answers[cells, column], truths[cells, column])
        for column, (nutrient, cells) in enumerate(zip(NUTRIENTS, counted.T, strict=True))
    }


def resampled_correlations(
    predicted: npt.ArrayLike,
    true: npt.ArrayLike,
    readable: npt.ArrayLike,
    cluster: IntArray,
    counts: IntArray,
) -> FloatArray:
    """Return `correlations` on each resample of dishes.

    Args:
        predicted: As `differences`.
        true: As `differences`.
        readable: As `differences`.
        cluster: Index of each answer's dish, shape (n,).
        counts: How often each dish was drawn, shape (resamples, n_dishes).

    Returns:
        r in [-1, 1], shape (4, resamples); nan where a resample holds fewer than three answers, or
        equal estimates or equal truths alone, and everywhere where the whole set has no r.

    Raises:
        ValueError: as `nutrition.checked`.

    Source: ours; the sums are those of Pearson's formula.
    """
    whole = np.array([*correlations(predicted, true, readable).values()])
    counted = ~np.isnan(differences(predicted, true, readable))
    first, second = (
        _centred(table(values, name), counted)
        for values, name in ((predicted, "predicted"), (true, "true"))
    )
    parts = np.stack([counted, first, second, first**2, second**2, first * second]).swapaxes(1, 2)
    sums = cluster_sums(parts.astype(np.float64), cluster, counts.shape[1])
    size, x, y, xx, yy, xy = resampled_sums(sums, counts)
    spread_x, spread_y = size * xx - x * x, size * yy - y * y
    defined = (
        (size >= _FEWEST_PAIRS)
        & (spread_x > _NO_VARIANCE * size * xx)
        & (spread_y > _NO_VARIANCE * size * yy)
        & ~np.isnan(whole)[:, np.newaxis]
    )
    # Each root by itself: the product of the spreads may be too small or too large for a float.
    scale = np.sqrt(np.where(defined, spread_x, 1.0)) * np.sqrt(np.where(defined, spread_y, 1.0))
    r = np.divide(size * xy - x * y, scale, out=np.full(size.shape, np.nan), where=defined)
    return np.asarray(np.clip(r, -1.0, 1.0))


def atwater_flags(predicted: npt.ArrayLike, readable: npt.ArrayLike) -> FloatArray:
    """Return whether each answer's nutrients give the energy it states.

    4 kcal per gram of protein and carbohydrates and 9 per gram of fat must lie within 10 percent of
    the stated calories.

    Args:
        predicted: Estimates, shape (n, 4); answers with a value that is not finite are left out.
        readable: Which answers were read, shape (n,).

    Returns:
        1 where they do and 0 where not, nan where the answer does not count; shape (n,).

    Raises:
        ValueError: shapes differ, or readable is not made of flags.
    """
    answers, flags = table(predicted, "predicted"), as_flags(readable, "readable")
    if len(answers) != flags.size:
        raise ValueError(f"predicted has {len(answers)} rows, readable has {flags.size}")
    counted = flags & np.isfinite(answers).all(axis=1)
    found = np.full(flags.size, np.nan)
    difference = np.abs(answers[counted, 1:] @ _KCAL_PER_GRAM - answers[counted, 0])
    # Divided, not multiplied: whole numbers exactly at the limit count.
    found[counted] = difference / _ATWATER_TOLERANCE <= answers[counted, 0]
    return found


def atwater_consistency(predicted: npt.ArrayLike, readable: npt.ArrayLike) -> float:
    """Share of readable answers whose nutrients give the energy they state (`atwater_flags`).

    Args:
        predicted: As `atwater_flags`.
        readable: As `atwater_flags`.

    Returns:
        In [0, 1], where 1 is all; nan when no answer counts. It says nothing about the truth.

    Raises:
        ValueError: as `atwater_flags`.

    Source: ours, with Atwater's general factors, by which DiningBench's data were checked
    (Table 11).

    >>> atwater_consistency([[350, 12, 40, 15], [500, 12, 40, 15]], [True, True])
    0.5
    """
    flags = atwater_flags(predicted, readable)
    known = flags[~np.isnan(flags)]
    return float(known.mean()) if known.size else math.nan


def _pearson(first: FloatArray, second: FloatArray) -> float:
    if first.size < _FEWEST_PAIRS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return float(np.corrcoef(first, second)[0, 1])


def _centred(values: FloatArray, counted: npt.NDArray[np.bool_]) -> FloatArray:
    """Return the counted cells minus their column's mean, over the largest of them; others 0.

    r stays the same, and no square is too large for a float.
    """
    kept = np.where(counted, values, 0.0)
    largest = np.abs(kept).max(axis=0, initial=0.0)
    kept = np.divide(kept, largest, out=np.zeros_like(kept), where=largest > 0)
    means = kept.sum(axis=0) / np.maximum(counted.sum(axis=0), 1)
    return np.asarray(np.where(counted, kept - means, 0.0))
