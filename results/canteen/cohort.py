"""Runs that may be compared, and the resamples that all their tables share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import percentile_interval, resample_counts
from lmms_eval_food.metrics.matches import Matches, accepted_matches
from lmms_eval_food.metrics.meals import FlatItems, ImageResult, flatten
from lmms_eval_food.metrics.portion_analysis import Rules
from lmms_eval_food.metrics.portion_bootstrap import common_images, score_resamples
from lmms_eval_food.metrics.portions import PortionScores, score_items
from lmms_eval_food.results.canteen.entries import Entry

# Names of scores as tables print them; weights are in grams.
SHOWN = {
    "precision": "precision",
    "recall": "recall",
    "f1": "F1",
    "matched": "P",
    "mae": "MAE",
    "medae": "MedAE",
    "rmse": "RMSE",
    "medape": "MedAPE %",
    "nmae": "NMAE",
    "cpmae": "cpMAE",
    "cpmae_fp": "cpMAE+FP",
    "meal_ae": "Meal AE",
}
HIGHER_IS_BETTER = frozenset({"precision", "recall", "f1"})


@dataclass(frozen=True, eq=False)
class Cohort:
    """Canteen runs with the same documents and the same matcher.

    Attributes:
        entries: The runs, at least one.
        thresholds: Lowest accepted similarities; the first is the primary one.
        resamples: Number of bootstrap resamples of the photos.
        seed: Their seed.
        rules: Keyword rules for categories of foods.
    """

    entries: tuple[Entry, ...]
    thresholds: tuple[float, ...]
    resamples: int
    seed: int
    rules: Rules

    @property
    def primary(self) -> float:
        """The threshold that all tables use which do not name another."""
        return self.thresholds[0]

    @property
    def bootstrap_note(self) -> str:
        """How intervals were made."""
        return (
            f"95% percentile intervals over {self.resamples} resamples of the photos, "
            f"seed {self.seed}."
        )

    @property
    def threshold_note(self) -> str:
        """Where the tables stand."""
        return f"Similarity >= {self.primary:g}."

    @cached_property
    def scores(self) -> list[PortionScores]:
        """Every score of each run on the photos it answered, at the primary threshold."""
        return [score_items(entry.items, self.primary) for entry in self.entries]

    @cached_property
    def matches(self) -> list[Matches]:
        """The accepted matches of each run, at the primary threshold."""
        return [accepted_matches(entry.photos, self.primary) for entry in self.entries]

    def counts(self, photos: int) -> IntArray:
        """Return the resamples of so many photos; the same ones each time they are asked for."""
        return resample_counts(photos, self.resamples, self.seed)

    @cached_property
    def intervals(self) -> list[dict[str, tuple[float, float]]]:
        """The interval of every score of each run, at the primary threshold."""
        found = []
        for entry in self.entries:
            counts = self.counts(entry.items.n_images)
            resampled = score_resamples([entry.items], counts, [self.primary])
            found.append(
                {name: percentile_interval(values[0, 0]) for name, values in resampled.items()}
            )
        return found

    def contest(self, chosen: Sequence[int]) -> Contest:
        """Return some of the runs on the photos that all of them answered."""
        runs = common_images([self.entries[index].photos for index in chosen])
        return Contest(
            labels=[self.entries[index].label for index in chosen],
            photos=runs,
            participants=self._participants(runs[0] if runs else []),
            threshold=self.primary,
            counts=self.counts(len(runs[0]) if runs else 0),
        )

    @cached_property
    def everyone(self) -> Contest:
        """All runs that answered anything, on common photos."""
        return self.contest([at for at, entry in enumerate(self.entries) if entry.photos])

    @cached_property
    def sweeps(self) -> dict[tuple[str, str], dict[float | None, list[int]]]:
        """Indices of each model's runs by temperature, in the order of the report.

        Models are told apart by their arguments and task; runs without an answer are left out.
        """
        found: dict[tuple[str, str], dict[float | None, list[int]]] = {}
        for index, entry in enumerate(self.entries):
            if entry.photos:
                runs = found.setdefault((entry.model, entry.task), {})
                runs.setdefault(entry.temperature, []).append(index)
        return found

    @cached_property
    def best(self) -> Contest:
        """Each model at its best temperature by F1, with its first run there, as in Table 2."""
        firsts = [[runs[0] for runs in sweep.values()] for sweep in self.sweeps.values()]
        return self.contest([max(runs, key=lambda at: self.scores[at].f1) for runs in firsts])

    def _participants(self, photos: Sequence[ImageResult]) -> list[str]:
        took = {record.id: record.participant for e in self.entries for record in e.records}
        return [took[photo.image] for photo in photos]


@dataclass(frozen=True, eq=False)
class Contest:
    """Runs on the same photos, scored on the same resamples.

    Attributes:
        labels: The runs.
        photos: Each run's photos, the same ones in the same order.
        participants: Who took each photo.
        threshold: Lowest accepted similarity.
        counts: Resamples, shape (resamples, n_photos).
    """

    labels: list[str]
    photos: list[list[ImageResult]]
    participants: list[str]
    threshold: float
    counts: IntArray

    @property
    def note(self) -> str:
        """Which photos are compared."""
        return f"On the {self.counts.shape[1]} photos that all of these runs answered."

    @cached_property
    def items(self) -> list[FlatItems]:
        """Each run's items."""
        return [flatten(run) for run in self.photos]

    @cached_property
    def resampled(self) -> dict[str, FloatArray]:
        """Metric -> scores of shape (runs, resamples)."""
        return self.on(self.counts)

    @cached_property
    def full(self) -> dict[str, FloatArray]:
        """Metric -> scores on all photos, shape (runs,)."""
        everything = np.ones((1, self.counts.shape[1]), dtype=np.int64)
        return {name: values[:, 0] for name, values in self.on(everything).items()}

    def on(self, counts: IntArray) -> dict[str, FloatArray]:
        """Return metric -> scores of shape (runs, len(counts)) on other resamples or subsets."""
        scores = score_resamples(self.items, counts, [self.threshold])
        return {name: values[:, 0] for name, values in scores.items()}
