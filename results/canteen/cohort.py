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
from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS, common_images, score_resamples
from lmms_eval_food.metrics.portions import PortionScores, score_items
from lmms_eval_food.metrics.ranking import best_run
from lmms_eval_food.results.canteen.entries import MARK, Entry

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
    """Canteen runs with the same documents, task version and matcher.

    Attributes:
        entries: The runs, at least one, complete ones first.
        resamples: Number of bootstrap resamples of the photos.
        seed: Their seed.
        rules: Keyword rules for categories of foods.
    """

    entries: tuple[Entry, ...]
    resamples: int
    seed: int
    rules: Rules

    @property
    def primary(self) -> float:
        """The threshold that all tables use which do not name another."""
        return self.entries[0].threshold

    @property
    def thresholds(self) -> tuple[float, ...]:
        """The primary threshold and the usual ones above it."""
        return (self.primary, *(at for at in THRESHOLDS if at > self.primary))

    @property
    def bootstrap_note(self) -> str:
        """How intervals were made."""
        return (
            f"95% percentile intervals over {self.resamples} resamples of the photos, "
            f"seed {self.seed}."
        )

    @property
    def threshold_note(self) -> str:
        """What counts as a match, and where the log had it otherwise."""
        note = f"Similarity >= {self.primary:g} by {self.entries[0].source[1]}."
        logged = dict.fromkeys(e.logged_with for e in self.entries if e.logged_with)
        return f"{note} Rescored; logged with {' | '.join(logged)}." if logged else note

    @property
    def mark_note(self) -> str:
        """What the mark of an incomplete run means here."""
        if any(entry.complete for entry in self.entries):
            return (
                f"{MARK}: the table of runs says why; in no comparison with complete runs, on its "
                "own photos."
            )
        return f"{MARK}: the table of runs says why; no run here is complete."

    @cached_property
    def ranked(self) -> list[int]:
        """The runs that are compared: complete ones, or where there is none, all with an answer."""
        answered = [at for at, entry in enumerate(self.entries) if entry.photos]
        return [at for at in answered if self.entries[at].complete] or answered

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
        """All ranked runs on common photos."""
        return self.contest(self.ranked)

    @cached_property
    def apart(self) -> list[int]:
        """The other runs that answered anything: incomplete ones."""
        answered = [at for at, entry in enumerate(self.entries) if entry.photos]
        return [at for at in answered if at not in self.ranked]

    @cached_property
    def alone(self) -> list[Contest]:
        """Each run of `apart` for itself."""
        return [self.contest([at]) for at in self.apart]

    @cached_property
    def sweeps(self) -> dict[tuple[str, str], dict[float | None, list[int]]]:
        """Indices of each model's ranked runs by temperature, in the order of the report.

        Models are told apart by their arguments and task.
        """
        found: dict[tuple[str, str], dict[float | None, list[int]]] = {}
        for index in self.ranked:
            entry = self.entries[index]
            name = entry.model if entry.complete else f"{MARK} {entry.model}"
            runs = found.setdefault((name, entry.task), {})
            runs.setdefault(entry.temperature, []).append(index)
        return found

    @cached_property
    def temperatures(self) -> dict[tuple[str, str], Contest]:
        """Each model's first run at each of its temperatures, on the photos common to them."""
        return {
            key: self.contest([runs[0] for runs in sweep.values()])
            for key, sweep in self.sweeps.items()
        }

    @cached_property
    def best(self) -> Contest:
        """Each model at its best temperature by F1, as in Table 2.

        The choice is made on the photos common to the model's temperatures, here and wherever a
        best temperature is named.
        """
        chosen = []
        for key, sweep in self.sweeps.items():
            place = best_run(self.temperatures[key].full["f1"], higher_is_better=True)
            chosen.append([*sweep.values()][place or 0][0])
        return self.contest(chosen)

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
    def size(self) -> int:
        """How many photos are compared."""
        return int(self.counts.shape[1])

    @property
    def note(self) -> str:
        """Which photos are compared."""
        return f"On the {self.size} photos that all of these runs answered."

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
        everything = np.ones((1, self.size), dtype=np.int64)
        return {name: values[:, 0] for name, values in self.on(everything).items()}

    def on(self, counts: IntArray) -> dict[str, FloatArray]:
        """Return metric -> scores of shape (runs, len(counts)) on other resamples or subsets."""
        scores = score_resamples(self.items, counts, [self.threshold])
        return {name: values[:, 0] for name, values in scores.items()}
