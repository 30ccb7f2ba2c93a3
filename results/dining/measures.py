"""Scores that are means over items, with intervals and paired differences over dishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    PairedDifference,
    cluster_index,
    paired_difference,
    percentile_interval,
    resample_counts,
    resampled_means,
    share_interval,
)
from lmms_eval_food.results.joined import Document, Settings, occurrences


@dataclass(frozen=True, slots=True)
class Measure:
    """What each item adds to a score: the mean over items, or the mean of several such means.

    Attributes:
        values: One row a part (one in all; one a nutrient), shape (parts, n); nan where an item
            does not count.
        root: The square root of each part's mean is taken first: errors are squared (RMSE).
        share: Values lie in [0, 1], in one part, and 1 is whole.
    """

    values: FloatArray
    root: bool = False
    share: bool = False

    @property
    def items(self) -> int:
        """How many items count in any part."""
        return int((~np.isnan(self.values)).any(axis=0).sum())

    def score(self) -> float:
        """Return the score on all items; nan where a part has none that counts."""
        once = np.ones((1, 1), dtype=np.int64)
        return float(self.resampled(np.zeros(self.values.shape[1], dtype=np.int64), once)[0])

    def resampled(self, cluster: IntArray, counts: IntArray) -> FloatArray:
        """Return the score on each resample (see `bootstrap.resampled_means`)."""
        means = resampled_means(self.values, cluster, counts)
        return np.asarray((np.sqrt(means) if self.root else means).mean(axis=0))

    def interval(self, cluster: IntArray, resampled: FloatArray) -> tuple[float, float]:
        """Return the 95% interval, given the score on each resample of the clusters."""
        if self.share:
            return share_interval(self.values[0], cluster, resampled)
        return percentile_interval(resampled)


@dataclass(frozen=True, slots=True)
class Items:
    """One model's answers to one task, as far as scores need them.

    Attributes:
        ids: The documents' ids, length n.
        dishes: The dish of each, length n.
        measures: Name ("accuracy", "MAE") -> what each item adds.
        numbers: How many documents of the same id come before each in the task, length n; None
            where the ids are those of all documents, so that they say it.
    """

    ids: Sequence[str]
    dishes: Sequence[str]
    measures: Mapping[str, Measure]
    numbers: Sequence[int] | None = None

    @property
    def documents(self) -> list[Document]:
        """The documents, by which the items of two conditions are paired."""
        if self.numbers is None:
            return occurrences(self.ids)
        return list(zip(self.ids, self.numbers, strict=True))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A score, its 95% interval over dishes (nan for fewer than two) and its number of items."""

    items: int
    score: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A score in two conditions on the same items, and first minus second over dishes."""

    items: int
    first: float
    second: float
    difference: PairedDifference


def estimates(items: Items, settings: Settings) -> dict[str, Estimate]:
    """Return every measure's score with its interval."""
    names, dish = cluster_index(items.dishes)
    counts = resample_counts(len(names), settings.resamples, settings.seed)
    return {
        name: Estimate(
            measure.items,
            measure.score(),
            *measure.interval(dish, measure.resampled(dish, counts)),
        )
        for name, measure in items.measures.items()
    }


def comparisons(first: Items, second: Items, settings: Settings) -> dict[str, Comparison]:
    """Compare two conditions on the documents that both have (see `joined.occurrences`).

    Each measure is taken over the items, and parts of items, that count in both. Measures that
    only one condition has are left out, and so is one without an item that counts.
    """
    own = {document: place for place, document in enumerate(first.documents)}
    other = {document: place for place, document in enumerate(second.documents)}
    places = [place for document, place in own.items() if document in other]
    others = [other[document] for document in own if document in other]
    names, dish = cluster_index([first.dishes[place] for place in places])
    counts = resample_counts(len(names), settings.resamples, settings.seed)
    found = {}
    for name in (name for name in first.measures if name in second.measures):
        one, two = first.measures[name], second.measures[name]
        values = one.values[:, places], two.values[:, others]
        missing = np.isnan(values[0]) | np.isnan(values[1])
        one, two = (Measure(np.where(missing, np.nan, part), one.root) for part in values)
        if one.items:
            scores = one.score(), two.score()
            found[name] = Comparison(
                one.items,
                *scores,
                paired_difference(
                    scores[0] - scores[1],
                    one.resampled(dish, counts),
                    two.resampled(dish, counts),
                ),
            )
    return found
