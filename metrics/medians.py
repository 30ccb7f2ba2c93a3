"""Medians over many resamples at once, without sorting each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import FloatArray, IntArray

# Sorted values a block: small enough to gather for every resample, large enough to keep the
# matrix product over blocks small.
_BLOCK = 16

# Counts of items, exact up to 2**24 and twice as fast to multiply.
Counts = npt.NDArray[np.float32]


def resampled_medians(
    samples: Sequence[tuple[FloatArray, IntArray]], counts: IntArray
) -> FloatArray:
    """Return the median of each sample on each resample of its clusters, as `np.median` gives it.

    Several samples at once share a matrix product, which is what makes them fast.

    Args:
        samples: For each, one value an item, shape (n_items,), without nan, and the index of each
            item's cluster, same shape.
        counts: How often each cluster is in each resample, shape (resamples, n_clusters).

    Returns:
        Medians, shape (n_samples, resamples); nan for a resample without an item.

    Raises:
        ValueError: values and clusters differ in shape, are not one-dimensional, or hold nan.

    Source: the canteen paper, Section 2.2.3 (bootstrap of median errors).
    """
    for values, cluster in samples:
        if values.ndim != 1 or values.shape != cluster.shape or np.isnan(values).any():
            raise ValueError("values and clusters must have one length and hold no nan")
    weights = counts.astype(np.float32)
    ranked = [_RankedItems(values, cluster, counts.shape[1]) for values, cluster in samples]
    none = np.zeros((counts.shape[1], 0), dtype=np.float32)
    # How many items a resample holds up to the end of each block of each sample.
    upto = weights @ np.concatenate([none, *(sample.members for sample in ranked)], axis=1)
    medians = np.full((len(samples), counts.shape[0]), np.nan)
    first = 0
    for row, sample in zip(medians, ranked, strict=True):
        last = first + sample.members.shape[1]
        _fill_medians(row, sample, upto[:, first:last], weights)
        first = last
    return medians


class _RankedItems:
    """Items in the order of their values, cut into blocks.

    Attributes:
        members: Items of each cluster up to the end of each block, shape (n_clusters, blocks).
    """

    def __init__(self, values: FloatArray, cluster: IntArray, n_clusters: int) -> None:
        order = np.argsort(values, kind="stable")
        blocks = -(-values.size // _BLOCK)
        cells = cluster[order] * blocks + np.arange(values.size) // _BLOCK
        members = np.bincount(cells, minlength=n_clusters * blocks).reshape(n_clusters, blocks)
        self.members = np.cumsum(members, axis=1).astype(np.float32)
        self._values = values[order]
        # The last block is filled up: a rank that exists is found before the filling.
        filling = blocks * _BLOCK - values.size
        self._cluster = np.pad(cluster[order], (0, filling)).reshape(blocks, _BLOCK)

    def pick(self, rows: IntArray, ranks: Counts, upto: Counts, weights: Counts) -> FloatArray:
        """Return the value of one rank (from 0) in each of the chosen resamples.

        Args:
            rows: Chosen resamples, shape (m,).
            ranks: Shape (m,).
            upto: Items up to the end of each block, shape (resamples, blocks).
            weights: Shape (resamples, n_clusters).
        """
        ends = upto[rows]
        block = (ends <= ranks[:, None]).sum(axis=1)
        inside = weights[rows[:, None], self._cluster[block]]
        inside[:, 0] += np.where(block > 0, ends[np.arange(rows.size), block - 1], np.float32(0))
        np.cumsum(inside, axis=1, out=inside)
        picked: FloatArray = self._values[block * _BLOCK + (inside <= ranks[:, None]).sum(axis=1)]
        return picked


def _fill_medians(row: FloatArray, sample: _RankedItems, upto: Counts, weights: Counts) -> None:
    """Write the medians of one sample into `row`, shape (resamples,)."""
    if not upto.shape[1]:
        return
    sizes = upto[:, -1]
    filled = np.flatnonzero(sizes)
    row[filled] = sample.pick(filled, np.floor((sizes[filled] - 1) / 2), upto, weights)
    even = filled[sizes[filled] % 2 == 0]
    lower, upper = row[even], sample.pick(even, sizes[even] / 2, upto, weights)
    row[even] = np.where(lower == upper, lower, lower / 2 + upper / 2)
