"""Bootstrap over clusters: photos, dishes, or whatever the items of a benchmark share.

Resamples are drawn once, as counts (how often each cluster was drawn), and serve every run, metric
and threshold, which also makes differences between runs paired. A sum over a resample is then a
matrix product; medians are in `metrics.medians`.

Source: the canteen paper, Section 2.2.3; B. Efron and R. Tibshirani, An Introduction to the
Bootstrap (1993); A. Davison and D. Hinkley, Bootstrap Methods and their Application (1997).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.classification import wilson_interval

RESAMPLES = 2000
CONFIDENCE = 0.95


def resample_counts(n: int, resamples: int = RESAMPLES, seed: int = 0) -> IntArray:
    """Return how often each of n clusters is drawn in each resample, with replacement.

    Args:
        n: Number of clusters.
        resamples: Number of resamples.
        seed: Seed of the generator; the same one gives the same counts.

    Returns:
        Counts, shape (resamples, n); each row sums to n. A single cluster has no spread: its counts
        are 0, so that every statistic is undefined and every interval nan, not a point.

    Raises:
        ValueError: n or resamples is negative.

    Source: the canteen paper, Section 2.2.3.
    """
    if n < 0 or resamples < 0:
        raise ValueError(f"n and resamples must not be negative, got {n} and {resamples}")
    if n < 2:
        return np.zeros((resamples, n), dtype=np.int64)
    drawn = np.random.default_rng(seed).integers(n, size=(resamples, n))
    cells = drawn + n * np.arange(resamples)[:, None]
    counts: IntArray = np.bincount(cells.ravel(), minlength=resamples * n).reshape(resamples, n)
    return counts


def out_of_bag_counts(counts: IntArray) -> IntArray:
    """Return counts of the clusters that each resample left out: 1 where it drew none, else 0."""
    left_out: IntArray = (counts == 0).astype(np.int64)
    return left_out


def leave_one_out_counts(groups: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return counts that leave out one group of clusters at a time.

    Args:
        groups: The group of each cluster, e.g. who took the photo. Length n.

    Returns:
        (groups in alphabetical order, counts of shape (n_groups, n): 0 for the group's own clusters
        and 1 for the others).

    Source: the canteen paper, Section 2.2.3.
    """
    labels, member = cluster_index(groups)
    return labels, (np.arange(len(labels))[:, None] != member).astype(np.int64)


def cluster_index(clusters: Sequence[str]) -> tuple[list[str], IntArray]:
    """Return the clusters in alphabetical order and the index of each item's own, shape (n,)."""
    labels = sorted(set(clusters))
    index = {label: number for number, label in enumerate(labels)}
    return labels, np.array([index[cluster] for cluster in clusters], dtype=np.int64)


def resampled_sums(sums: FloatArray, counts: IntArray) -> FloatArray:
    """Return the total of each resample.

    Args:
        sums: Sum over the items of each cluster, shape (..., n); may be infinite, not nan.
        counts: Shape (resamples, n).

    Returns:
        Totals, shape (..., resamples). A cluster that was not drawn adds nothing, however large;
        sums that are infinite both ways give nan.

    Raises:
        ValueError: the numbers of clusters differ.
    """
    if sums.shape[-1] != counts.shape[1]:
        raise ValueError(f"sums has {sums.shape[-1]} clusters, counts has {counts.shape[1]}")
    # One product of two matrices: numpy multiplies a stack of them one by one.
    flat = sums.reshape(math.prod(sums.shape[:-1]), counts.shape[1])
    weights = counts.T.astype(np.float64)
    finite = np.isfinite(flat)
    totals = np.where(finite, flat, 0.0) @ weights
    if not finite.all():
        # 0 * inf is nan in a matrix product, so infinite sums are counted apart.
        high, low = ((flat == end) @ weights > 0 for end in (math.inf, -math.inf))
        totals[high] = math.inf
        totals[low] = np.where(high[low], math.nan, -math.inf)
    return np.asarray(totals.reshape(*sums.shape[:-1], counts.shape[0]))


def resampled_means(values: npt.ArrayLike, cluster: IntArray, counts: IntArray) -> FloatArray:
    """Return the mean over the items of each resample.

    Args:
        values: One value an item, shape (n_items,), or one row a run, shape (..., n_items); nan for
            an item that is not scored, which is then left out of that mean.
        cluster: Index of each item's cluster, shape (n_items,).
        counts: Shape (resamples, n_clusters).

    Returns:
        Means, shape (..., resamples); nan for a resample without a scored item.

    Raises:
        ValueError: the number of items differs.

    Source: the canteen paper, Section 2.2.3.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.shape[-1:] != cluster.shape:
        raise ValueError(f"values has shape {array.shape}, cluster has {cluster.shape}")
    scored = ~np.isnan(array)
    totals = resampled_sums(
        cluster_sums(np.where(scored, array, 0.0), cluster, counts.shape[1]), counts
    )
    sizes = resampled_sums(
        cluster_sums(scored.astype(np.float64), cluster, counts.shape[1]), counts
    )
    return np.divide(totals, sizes, out=np.full_like(totals, np.nan), where=sizes > 0)


def cluster_sums(values: FloatArray, cluster: IntArray, n_clusters: int) -> FloatArray:
    """Return the sum of each cluster's items, shape (..., n_clusters).

    Args:
        values: One value an item, shape (..., n_items), no nan.
        cluster: Index of each item's cluster, shape (n_items,).
        n_clusters: Number of clusters, those without an item included.
    """
    sums = np.zeros((n_clusters, *values.shape[:-1]))
    np.add.at(sums, cluster, np.moveaxis(values, -1, 0))
    return np.moveaxis(sums, 0, -1)


def percentile_interval(
    values: npt.ArrayLike, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the percentile interval of a bootstrapped statistic.

    Its ends are resampled values, never between two of them: of R values, the k-th smallest and the
    k-th largest, where k is (R + 1)(1 - confidence) / 2, rounded down, at least 1.

    Args:
        values: The statistic on each resample, shape (resamples,). nan where it is undefined (say
            an error without a matched item); those resamples are left out.
        confidence: Coverage, in (0, 1).

    Returns:
        (low, high); (nan, nan) when no resample is left. Where every item scores alike it is a
        point; of a share, `share_interval` says more then.

    Raises:
        ValueError: values is not one-dimensional, or confidence lies outside (0, 1).

    Source: the canteen paper, Section 2.2.3; Davison and Hinkley, Section 5.3.1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie strictly between 0 and 1, got {confidence}")
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"values must be one-dimensional, its shape is {array.shape}")
    defined = np.sort(array[~np.isnan(array)])
    if not defined.size:
        return math.nan, math.nan
    # Rounded first: 1 - 0.9 is a little less than 0.1.
    rank = max(1, math.floor(round((defined.size + 1) * (1 - confidence) / 2, 9)))
    return float(defined[rank - 1]), float(defined[-rank])


def share_interval(
    values: FloatArray,
    cluster: IntArray,
    resampled: npt.ArrayLike,
    confidence: float = CONFIDENCE,
) -> tuple[float, float]:
    """Return the interval of a share: the percentile interval, or Wilson's where that is a point.

    Where all items are 0, or all are 1, so are those of every resample, though nobody would say
    that the share cannot be another. Wilson's interval then takes each cluster as one observation:
    items of one cluster are no independent evidence.

    Args:
        values: What each item adds to the share, in [0, 1], shape (n_items,); nan where an item
            does not count.
        cluster: Index of each item's cluster, shape (n_items,).
        resampled: The share on each resample, shape (resamples,).
        confidence: Coverage, in (0, 1).

    Returns:
        (low, high), within [0, 1]; (nan, nan) where fewer than two clusters count.

    Raises:
        ValueError: the numbers of items differ, or see `percentile_interval`.

    Source: see `percentile_interval`; E. B. Wilson, JASA 22 (1927).
    """
    if values.shape != cluster.shape:
        raise ValueError(f"values has shape {values.shape}, cluster has {cluster.shape}")
    counted = ~np.isnan(values)
    clusters = np.unique(cluster[counted]).size
    if clusters < 2:
        return math.nan, math.nan
    for alike in (0.0, 1.0):
        if (values[counted] == alike).all():
            return wilson_interval(int(alike) * clusters, clusters, confidence)
    return percentile_interval(resampled, confidence)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """First run minus second run, on the same resamples.

    Attributes:
        difference: Difference on all data.
        low: Lower end of its percentile interval.
        high: Upper end.
        share_above: Share of the resamples in which the difference is above 0, in [0, 1].
        p_value: Two-sided bootstrap p: 2 (1 + m) / (1 + R), at most 1, where m is the smaller of
            the numbers of resamples with a difference <= 0 and >= 0. Never 0.
        undefined: Share of all resamples left out because a run has no value there.
    """

    difference: float
    low: float
    high: float
    share_above: float
    p_value: float
    undefined: float


def paired_difference(
    difference: float,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    confidence: float = CONFIDENCE,
) -> PairedDifference:
    """Compare two runs on the same resamples.

    Args:
        difference: First minus second on all data.
        first: The first run's statistic on each resample, shape (resamples,), nan = undefined.
        second: The second run's, on the same resamples.
        confidence: Coverage of the interval, in (0, 1).

    Returns:
        The comparison; all but `difference` and `undefined` nan when no resample is defined for
        both.

    Raises:
        ValueError: shapes differ, or see `percentile_interval`.

    Source: the canteen paper, Section 2.2.3; Davison and Hinkley, Section 4.4 (the p-value).
    """
    one, two = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if one.shape != two.shape:
        raise ValueError(f"first has shape {one.shape}, second has {two.shape}")
    # Equal infinite values are an equality, not an undefined difference.
    gaps = np.subtract(one, two, out=np.zeros_like(one), where=one != two)
    defined = gaps[~np.isnan(gaps)]
    low, high = percentile_interval(gaps, confidence)
    if not defined.size:
        return PairedDifference(difference, low, high, math.nan, math.nan, 1.0)
    smaller = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    return PairedDifference(
        difference=difference,
        low=low,
        high=high,
        share_above=float((defined > 0).mean()),
        p_value=min(1.0, 2 * (1 + smaller) / (1 + defined.size)),
        undefined=1 - defined.size / gaps.size,
    )
