"""Least-squares lines, fitted to all items and to all items but one group's, without refitting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray
from lmms_eval_food.metrics.bootstrap import cluster_index

# Below these, rounding alone could have made the columns look different or independent.
_LEAST_SPREAD = 1e-12
_WORST_CONDITION = 1e8


@dataclass(frozen=True, slots=True)
class Fitted:
    """What least-squares fits with an intercept say about each item.

    Attributes:
        coefficients: Intercept and slopes of the fit to all items, shape (p + 1,).
        in_sample: Fitted values of that fit, shape (n,).
        left_out: For each item, the value of the fit to the items of all other groups, shape (n,).
            nan in all of them where those items do not determine a fit.
    """

    coefficients: FloatArray
    in_sample: FloatArray
    left_out: FloatArray


def fit_and_leave_out(columns: FloatArray, target: FloatArray, groups: Sequence[str]) -> Fitted:
    """Fit target = intercept + columns @ slopes to all items, and to all groups but each one.

    The fits need only sums over the items. The sums without a group are those of the groups before
    and after it, never a difference of large sums.

    Args:
        columns: Shape (n, p), finite.
        target: Shape (n,), finite.
        groups: The group of each item, e.g. its photo. Length n.

    Returns:
        The fits; nan where the items do not determine a fit: fewer than p + 1 of them, or a column
        that is constant or a combination of the others.

    Raises:
        ValueError: shapes differ or a value is not finite.

    Source: least squares; leave-one-image-out as in the canteen paper, Sections 2.2.4 and 3.2.
    """
    if columns.ndim != 2 or columns.shape[:1] != target.shape or target.size != len(groups):
        raise ValueError("columns, target and groups must have one row an item")
    if not (np.isfinite(columns).all() and np.isfinite(target).all()):
        raise ValueError("columns and target must be finite")
    labels, group = cluster_index(groups)
    rows = np.column_stack([columns, target])
    # Sums of squares lose digits far from zero.
    centre = np.median(rows, axis=0) if target.size else np.zeros(rows.shape[1])
    rows = np.column_stack([np.ones(target.size), rows - centre])
    sums = np.zeros((len(labels), rows.shape[1], rows.shape[1]))
    # A weight that no meal has may overflow; nothing is determined by it then.
    with np.errstate(over="ignore", invalid="ignore"):
        np.add.at(sums, group, rows[:, :, None] * rows[:, None, :])
        others = np.zeros_like(sums)
        others[1:] += np.cumsum(sums[:-1], axis=0)
        others[:-1] += np.cumsum(sums[:0:-1], axis=0)[::-1]
        whole = _solve(sums.sum(axis=0)[None], centre)[0]
        without = _solve(others, centre)[group]
        in_sample = whole[0] + columns @ whole[1:]
        left_out = without[:, 0] + (columns * without[:, 1:]).sum(axis=1)
    if np.isnan(left_out).any():
        left_out = np.full_like(left_out, np.nan)
    return Fitted(whole, in_sample, left_out)


def _solve(sums: FloatArray, centre: FloatArray) -> FloatArray:
    """Return intercept and slopes of each fit.

    Args:
        sums: Sums of products of (1, columns, target) around the centre, shape (f, p + 2, p + 2).
        centre: What was subtracted from columns and target, shape (p + 1,).
    """
    n_columns = centre.size - 1
    count = sums[:, 0, 0]
    mean = sums[:, 0, 1:] / np.where(count > 0, count, np.nan)[:, None]
    spread = sums[:, 1:, 1:] - count[:, None, None] * mean[:, :, None] * mean[:, None, :]
    inner, outer = spread[:, :-1, :-1], spread[:, :-1, -1]
    scale = np.sqrt(np.diagonal(inner, axis1=1, axis2=2))
    correlation = inner / (scale[:, :, None] * scale[:, None, :])
    raw = np.diagonal(sums, axis1=1, axis2=2)[:, 1:-1]
    determined = (scale**2 > _LEAST_SPREAD * raw).all(axis=1) & (count > n_columns)
    determined &= np.isfinite(correlation).all(axis=(1, 2)) & np.isfinite(outer).all(axis=1)
    determined &= _well_conditioned(correlation, determined)
    found = np.full((count.size, n_columns + 1), np.nan)
    right = (outer / scale)[determined, :, None]
    slopes = np.linalg.solve(correlation[determined], right)[:, :, 0] / scale[determined]
    shifted = mean[determined] + centre
    found[determined, 1:] = slopes
    found[determined, 0] = shifted[:, -1] - (slopes * shifted[:, :-1]).sum(axis=1)
    return found


def _well_conditioned(matrices: FloatArray, usable: BoolArray) -> BoolArray:
    """Return which of the usable matrices can be solved without losing most digits."""
    well = np.zeros(usable.size, dtype=np.bool_)
    well[usable] = np.linalg.cond(matrices[usable]) < _WORST_CONDITION
    return well
