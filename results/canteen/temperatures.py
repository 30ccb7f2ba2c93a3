"""Runs of one model taken together: temperatures, replicates, and what choosing among them adds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from lmms_eval_food.metrics.bootstrap import out_of_bag_counts
from lmms_eval_food.metrics.ranking import selection_optimism, spearman
from lmms_eval_food.results.canteen.cohort import Cohort
from lmms_eval_food.results.tables import Cell, Table


def temperature_table(cohort: Cohort) -> Table | None:
    """Return one row a model: its best temperature by F1 and its mean over temperatures.

    Each temperature stands with its first run, so that a model with more replicates has no more
    chances. None where no model was run at several temperatures.
    """
    rows = []
    for (model, task), sweep in cohort.sweeps.items():
        if len(sweep) > 1:
            rows.append((model, task, *_sweep_row(cohort, sweep)))
    if not rows:
        return None
    rho = spearman([_cell(row, 3) for row in rows], [_cell(row, 4) for row in rows])
    ranking = "" if math.isnan(rho) else f" Spearman of best and mean over models: {rho:.2f}."
    return Table(
        "Canteen: temperatures",
        (
            *("model", "task", "best T", "F1 at best T", "mean F1 over T", "selection optimism"),
            *("F1 corrected", "F1 out of bag", "temperatures", "photos"),
        ),
        tuple(rows),
        f"{cohort.threshold_note} On the photos that all temperatures answered. Optimism: what "
        f"choosing the best temperature on the same photos adds, over {cohort.resamples} "
        f"resamples, seed {cohort.seed}.{ranking} Source: Section 3; B. Efron, JASA 78 (1983).",
    )


def _sweep_row(cohort: Cohort, sweep: Mapping[float | None, Sequence[int]]) -> tuple[Cell, ...]:
    contest = cohort.contest([runs[0] for runs in sweep.values()])
    full, temperatures = contest.full["f1"], list(sweep)
    left_out = contest.on(out_of_bag_counts(contest.counts))["f1"]
    found = selection_optimism(full, contest.resampled["f1"], left_out, higher_is_better=True)
    shown = ", ".join("?" if t is None else f"{t:g}" for t in temperatures)
    size = contest.counts.shape[1]
    if found is None:
        return None, None, None, None, None, None, shown, size
    return (
        *(temperatures[found.best], found.score, float(full.mean())),
        *(found.optimism, found.corrected, found.out_of_bag, shown, size),
    )


def replicate_table(cohort: Cohort) -> Table | None:
    """Return mean and standard deviation over runs that differ in nothing but the seed.

    None where there are none.
    """
    rows: list[tuple[Cell, ...]] = []
    for (model, task), sweep in cohort.sweeps.items():
        for temperature, runs in sweep.items():
            if len(runs) > 1:
                f1 = [cohort.scores[index].f1 for index in runs]
                nmae = [cohort.scores[index].nmae for index in runs]
                rows.append((model, task, temperature, len(runs), *_spread(f1), *_spread(nmae)))
    if not rows:
        return None
    return Table(
        "Canteen: replicates",
        (
            *("model", "task", "T", "runs", "mean F1", "sd of F1"),
            *("mean NMAE", "sd of NMAE"),
        ),
        tuple(rows),
        f"{cohort.threshold_note} Standard deviations of a sample (n - 1). Source: Section 3.1.",
    )


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1))


def _cell(row: Sequence[Cell], index: int) -> float:
    value = row[index]
    return math.nan if value is None else float(value)
