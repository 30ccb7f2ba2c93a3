"""Runs of one model taken together: temperatures, replicates, and what choosing among them adds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray
from lmms_eval_food.metrics.bootstrap import out_of_bag_counts
from lmms_eval_food.metrics.ranking import selection_optimism, spearman
from lmms_eval_food.results.canteen.cohort import Cohort, Contest
from lmms_eval_food.results.canteen.entries import MARK
from lmms_eval_food.results.tables import Cell, Table

# Its title is what `page.canteen_figures` looks for.
BY_TEMPERATURE = "Canteen: scores by temperature"
_CHOICE = (
    "Each temperature with its first run; a model's temperatures on the photos that all of them "
    "answered."
)


def scores_table(cohort: Cohort) -> Table | None:
    """Return one row a model and temperature; None where no model was run at several.

    Incomplete runs stand apart, each on its own photos.
    """
    points: dict[tuple[str, str], list[tuple[str, float, tuple[Cell, ...]]]] = {}
    for (model, task), contest in cohort.temperatures.items():
        own = points.setdefault((model, task), [])
        for place, temperature in enumerate(cohort.sweeps[model, task]):
            if temperature is not None:
                own.append((model, temperature, _scores(contest, place)))
    for at, contest in zip(cohort.apart, cohort.alone, strict=True):
        entry = cohort.entries[at]
        if entry.temperature is not None:
            own = points.setdefault((entry.model, entry.task), [])
            own.append((f"{MARK} {entry.model}", entry.temperature, _scores(contest, 0)))
    rows: list[tuple[Cell, ...]] = [
        (model, task, temperature, *scores)
        for (first, task), own in points.items()
        for model, temperature, scores in sorted(own, key=lambda p: (p[0] != first, p[1]))
        if len({temperature for _, temperature, _ in own}) > 1
    ]
    if not rows:
        return None
    return Table(
        BY_TEMPERATURE,
        ("model", "task", "T", "F1", "NMAE, g", "photos"),
        tuple(rows),
        f"{cohort.threshold_note} {_CHOICE} Source: Table 2.",
    )


def _scores(contest: Contest, place: int) -> tuple[Cell, ...]:
    f1, nmae = (float(contest.full[name][place]) for name in ("f1", "nmae"))
    return f1, nmae, contest.size


def temperature_table(cohort: Cohort) -> Table | None:
    """Return one row a model: its best temperature by F1 and its mean over temperatures.

    Each temperature stands with its first run, so that a model with more replicates has no more
    chances. None where no model was run at several temperatures.
    """
    rows = []
    for (model, task), sweep in cohort.sweeps.items():
        if len(sweep) > 1:
            left_out = [cohort.entries[at] for at in cohort.apart]
            others = [e.temperature for e in left_out if (e.model, e.task) == (model, task)]
            scores = _sweep_row(cohort.temperatures[model, task], list(sweep))
            rows.append((model, task, *scores, _listed(sweep), _listed(others)))
    if not rows:
        return None
    rho = spearman([_cell(row, 3) for row in rows], [_cell(row, 4) for row in rows])
    ranking = "" if math.isnan(rho) else f" Spearman of best and mean over models: {rho:.2f}."
    return Table(
        "Canteen: temperatures",
        (
            *("model", "task", "best T", "F1 at best T", "mean F1 over T", "selection optimism"),
            *("F1 corrected", "F1 out of bag", "photos", "temperatures"),
            "left out as incomplete",
        ),
        tuple(rows),
        f"{cohort.threshold_note} {_CHOICE} Optimism: what choosing the best temperature on the "
        f"same photos adds, over {cohort.resamples} resamples, seed {cohort.seed}.{ranking} "
        "Source: Section 3; B. Efron, JASA 78 (1983).",
    )


def _sweep_row(contest: Contest, temperatures: Sequence[float | None]) -> tuple[Cell, ...]:
    full = contest.full["f1"]
    left_out = contest.on(out_of_bag_counts(contest.counts))["f1"]
    found = selection_optimism(full, contest.resampled["f1"], left_out, higher_is_better=True)
    if found is None:
        return None, None, None, None, None, None, contest.size
    return (
        *(temperatures[found.best], found.score, float(full.mean())),
        *(found.optimism, found.corrected, found.out_of_bag, contest.size),
    )


def _listed(temperatures: Iterable[float | None]) -> str:
    return ", ".join("?" if t is None else f"{t:g}" for t in temperatures)


def replicate_table(cohort: Cohort) -> Table | None:
    """Return mean and standard deviation over runs that differ in nothing but the seed.

    None where there are none.
    """
    rows: list[tuple[Cell, ...]] = []
    for (model, task), sweep in cohort.sweeps.items():
        for temperature, runs in sweep.items():
            if len(runs) > 1:
                contest = cohort.contest(runs)
                spreads = (_spread(contest.full[name]) for name in ("f1", "nmae"))
                cells = [cell for spread in spreads for cell in spread]
                rows.append((model, task, temperature, len(runs), *cells, contest.size))
    if not rows:
        return None
    return Table(
        "Canteen: replicates",
        (
            *("model", "task", "T", "runs", "mean F1", "sd of F1"),
            *("mean NMAE", "sd of NMAE", "photos"),
        ),
        tuple(rows),
        f"{cohort.threshold_note} On the photos that all replicates answered; incomplete runs are "
        "no replicates of complete ones. Standard deviations of a sample (n - 1). Source: "
        "Section 3.1.",
    )


def _spread(values: FloatArray) -> tuple[float, float]:
    return float(values.mean()), float(np.std(values, ddof=1))


def _cell(row: Sequence[Cell], index: int) -> float:
    value = row[index]
    return math.nan if value is None else float(value)
