"""`lmms-eval-food compare`: paired differences between runs on the documents that they share."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lmms_eval_food.metrics.bootstrap import PairedDifference, paired_difference, resample_counts
from lmms_eval_food.metrics.confusion import holm
from lmms_eval_food.metrics.meals import flatten
from lmms_eval_food.metrics.portion_bootstrap import common_images, score_resamples
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, score_portions
from lmms_eval_food.results import page
from lmms_eval_food.results.completeness import TaskState, task_states
from lmms_eval_food.results.dining.items import classification_items, vqa_items
from lmms_eval_food.results.dining.measures import Items, comparisons
from lmms_eval_food.results.dining.nutrition import nutrition_answers, nutrition_items
from lmms_eval_food.results.joined import Record, Settings, table
from lmms_eval_food.results.logs import LogError, Run, Shared, named, read_run, results_files
from lmms_eval_food.results.page.text import short
from lmms_eval_food.results.provenance import (
    provenance_tables,
    report_versions,
    run_provenance,
    task_provenance,
)
from lmms_eval_food.results.recompute import kind
from lmms_eval_food.results.tables import Cell, Table, interval, markdown
from lmms_eval_food.tasks.canteen.record import TrayRecord

SHOWN = 10  # documents that are listed for a task and pair of runs
# What decides which documents differ most.
_MAIN = {"choice": "accuracy", "nutrition": "MAE", "canteen": "F1"}
_PORTIONS = {"f1": "F1", "nmae": "NMAE"}


class CompareError(Exception):
    """There is nothing to compare; the message says why."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One score of two runs on the documents that both have.

    Attributes:
        items: Documents in which it counts for both.
        first: The first run's score on them.
        second: The second run's.
        gap: First minus second, over resamples of dishes or photos.
    """

    items: int
    first: float
    second: float
    gap: PairedDifference


def compare_tables(
    runs: Mapping[str, Run], *, resamples: int = 2000, seed: int = 0, reader: str = "robust"
) -> list[Table]:
    """Compare every two runs on every task that both asked.

    Args:
        runs: Name -> run, at least two.
        resamples: Bootstrap resamples of dishes (canteen: of photos).
        seed: Their seed.
        reader: Whose readings, "official" or "robust".

    Returns:
        The differences with intervals and p-values, what was not compared and why, and the
        documents on which two runs differ most.

    Raises:
        CompareError: fewer than two runs, or no task that two of them share.

    Source: the canteen paper, Section 2.2.3; S. Holm, Scand. J. Statist. 6 (1979).
    """
    if len(runs) < 2:
        raise CompareError("two runs at least are needed")
    settings = Settings(resamples, seed, reader)
    states = {name: task_states(run) for name, run in runs.items()}
    found: list[tuple[tuple[str, str, str, str], Difference]] = []
    skipped: list[tuple[Cell, ...]] = []
    documents: list[tuple[Cell, ...]] = []
    for one, two in itertools.combinations(runs, 2):
        for task in (task for task in runs[one].records if task in runs[two].records):
            first, second = (runs[name].records[task].get(reader, []) for name in (one, two))
            reason = _reason(states[one][task], states[two][task], (first, second))
            if reason:
                skipped.append((task, one, two, reason))
                continue
            for score, difference in _differences(task, first, second, settings).items():
                found.append(((task, score, one, two), difference))
            documents += [(task, one, two, *row) for row in _documents(task, first, second)]
    if not found and not skipped:
        raise CompareError(f"no two of these runs share a food task read by the {reader} reader")
    return [
        *_difference_table(found, states, settings),
        *table("Not compared", ("task", "first", "second", "why"), skipped, ""),
        *_documents_table(documents),
    ]


def _reason(first: TaskState, second: TaskState, both: Sequence[Sequence[Record]]) -> str:
    """Return why two runs of a task cannot be compared, "" where they can."""
    if not all(both):
        return "no records of this reader"
    names = ("task version", "data", "matcher")
    return "; ".join(
        f"other {name}: {own} and {other}"
        for name, own, other in zip(names, first.key, second.key, strict=True)
        if own != other
    )


def _differences(
    task: str, first: Sequence[Record], second: Sequence[Record], settings: Settings
) -> dict[str, Difference]:
    if kind(task) == "canteen":
        return _canteen(first, second, settings)
    found = comparisons(_items(task, first), _items(task, second), settings)
    return {
        name: Difference(one.items, one.first, one.second, one.difference)
        for name, one in found.items()
    }


def _items(task: str, records: Sequence[Record]) -> Items:
    if kind(task) == "nutrition":
        return nutrition_items(nutrition_answers(records), records[0]["reader"])
    return vqa_items(records) if kind(task) == "vqa" else classification_items(records)


def _canteen(
    first: Sequence[Record], second: Sequence[Record], settings: Settings
) -> dict[str, Difference]:
    photos = common_images([[tray.result() for tray in _trays(rows)] for rows in (first, second)])
    runs = [flatten(own) for own in photos]
    size = len(photos[0])
    counts = resample_counts(size, settings.resamples, settings.seed)
    resampled = score_resamples(runs, counts, [PRIMARY_THRESHOLD])
    whole = score_resamples(runs, np.ones((1, size), dtype=np.int64), [PRIMARY_THRESHOLD])
    found = {}
    for metric, name in _PORTIONS.items():
        one, two = (float(value) for value in whole[metric][:, 0, 0])
        gap = paired_difference(one - two, *resampled[metric][:, 0])
        found[name] = Difference(size, one, two, gap)
    return found


def _trays(records: Sequence[Record]) -> list[TrayRecord]:
    return [tray for record in records if not (tray := TrayRecord.from_dict(record)).failed]


def _difference_table(
    found: Sequence[tuple[tuple[str, str, str, str], Difference]],
    states: Mapping[str, Mapping[str, TaskState]],
    settings: Settings,
) -> list[Table]:
    adjusted = holm([one.gap.p_value for _, one in found])
    rows = []
    for ((task, score, first, second), one), p in zip(found, adjusted, strict=True):
        unfinished = [name for name in (first, second) if states[name][task].problems]
        rows.append(
            (
                *(task, score, first, second, one.items, one.first, one.second),
                *(one.gap.difference, interval(one.gap.low, one.gap.high)),
                *(one.gap.p_value, float(p)),
                "incomplete: " + ", ".join(unfinished) if unfinished else "complete",
            )
        )
    columns = (
        *("task", "score", "first", "second", "documents", "first score", "second score"),
        *("first minus second", "95% interval", "p", "Holm p", "runs"),
    )
    note = (
        f"{settings.note} Canteen: resamples of photos, similarity >= {PRIMARY_THRESHOLD:g}, NMAE "
        "in grams. Documents that count in both runs, paired by id. p: two-sided bootstrap; Holm p "
        "is adjusted over all rows of this table. Errors (MAE, RMSE, MAPE, NMAE) are better where "
        f"they are lower. {report_versions()}."
    )
    return table("Differences", columns, rows, note)


def _documents(
    task: str, first: Sequence[Record], second: Sequence[Record]
) -> list[tuple[Cell, ...]]:
    """Return the documents on which two runs differ most: id, scores, difference, answers."""
    score = _main_score(task, (*first, *second))
    values = [_by_document(task, score, records) for records in (first, second)]
    texts = [{str(record["id"]): str(record["raw"]) for record in rows} for rows in (first, second)]
    gaps = {
        name: values[0][name] - values[1][name]
        for name in values[0]
        if name in values[1] and not math.isnan(values[0][name] - values[1][name])
    }
    differing = sorted((n for n in gaps if gaps[n]), key=lambda name: (-abs(gaps[name]), name))
    return [
        (
            *(score, name, values[0][name], values[1][name], gaps[name]),
            *(short(own[name], 80) for own in texts),
        )
        for name in differing[:SHOWN]
    ]


def _main_score(task: str, records: Sequence[Record]) -> str:
    """Return what decides which documents differ most: of VQA the verdicts, where there are any."""
    if kind(task) != "vqa":
        return _MAIN[kind(task)]
    judged = any(record["verdicts"] is not None for record in records)
    return "judged accuracy" if judged else "ROUGE-L"


def _by_document(task: str, score: str, records: Sequence[Record]) -> dict[str, float]:
    """Return each document's own part of a score, nan where it does not count."""
    if kind(task) == "canteen":
        return {tray.id: score_portions([tray.result()]).f1 for tray in _trays(records)}
    items = _items(task, records)
    measure = items.measures[score]
    means = measure.values.mean(axis=0)
    return {str(name): float(mean) for name, mean in zip(items.ids, means, strict=True)}


def _documents_table(rows: Sequence[tuple[Cell, ...]]) -> list[Table]:
    columns = (
        *("task", "first", "second", "score", "document", "first score", "second score"),
        *("first minus second", "first answer", "second answer"),
    )
    note = (
        f"For each task and pair the {SHOWN} documents of the largest difference, then by id. A "
        "document's score: right or wrong; mean absolute error of the four nutrients; F1 of one "
        "photo."
    )
    return table("Documents that differ most", columns, rows, note)


def html(runs: Mapping[str, Run], tables: Sequence[Table]) -> str:
    """Return the comparison as a page of its own."""
    return page.render(
        page.Page(
            title="Food benchmarks: comparison",
            intro=f"{len(runs)} runs, paired on the documents that they share.",
            headlines=(),
            figures=(),
            tables=tables,
            provenance=[
                (name, run_provenance(run), task_provenance(run)) for name, run in runs.items()
            ],
            made=report_versions(),
        )
    )


def run(options: argparse.Namespace) -> int:
    """Compare the runs named on the command line; return the exit status."""
    try:
        runs = _read(options.logs)
        tables = compare_tables(runs, resamples=options.resamples, reader=options.reader)
        print(f"# Comparison\n\n{markdown([*tables, *provenance_tables(runs)])}")
        if options.html is not None:
            options.html.parent.mkdir(parents=True, exist_ok=True)
            options.html.write_text(html(runs, tables), encoding="utf-8", newline="\n")
            print(f"comparison -> {options.html}", file=sys.stderr)
    except (CompareError, LogError, ValueError, OSError) as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 1
    return 0


def _read(folders: Sequence[Path]) -> dict[str, Run]:
    """Return the runs in the order in which their folders were typed: the first is the first."""
    shared = Shared()
    paths = [path for folder in folders for path in results_files([folder])]
    unique = {path.resolve(): path for path in paths}
    return named([read_run(path, shared) for path in unique.values()])
