"""`lmms-eval-food compare`: paired differences between runs on the documents that they share."""

from __future__ import annotations

import argparse
import itertools
import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmms_eval_food.metrics.confusion import holm
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results import page
from lmms_eval_food.results.completeness import TaskState, other_than, task_states
from lmms_eval_food.results.differences import Difference, differences, documents
from lmms_eval_food.results.joined import Record, Settings, table
from lmms_eval_food.results.log_files import LogError, distinct, results_files
from lmms_eval_food.results.logs import Run, Shared, named, read_run
from lmms_eval_food.results.page.text import short
from lmms_eval_food.results.provenance import (
    provenance_tables,
    report_versions,
    run_provenance,
    task_provenance,
)
from lmms_eval_food.results.tables import Cell, Table, interval, markdown

SHOWN = 10  # documents that are listed for a task and pair of runs


# Task, score, first and second run.
Place = tuple[str, str, str, str]


class CompareError(Exception):
    """There is nothing to compare; the message says why."""


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

    Source: the canteen paper, Section 2.2.3 (intervals); `metrics.sign_flip` (p-values); S. Holm,
    Scand. J. Statist. 6 (1979).
    """
    if len(runs) < 2:
        raise CompareError("two runs at least are needed")
    settings = Settings(resamples, seed, reader)
    states = {name: task_states(run) for name, run in runs.items()}
    found: list[tuple[Place, Difference]] = []
    skipped: list[tuple[Cell, ...]] = []
    listed: list[tuple[Cell, ...]] = []
    for one, two in itertools.combinations(runs, 2):
        for task in (task for task in runs[one].records if task in runs[two].records):
            first, second = (runs[name].records[task].get(reader, []) for name in (one, two))
            reason = _reason(states[one][task], states[two][task], (first, second))
            if reason:
                skipped.append((task, one, two, reason))
                continue
            for score, difference in differences(task, first, second, settings).items():
                found.append(((task, score, one, two), difference))
            listed += [(task, one, two, *row) for row in _document_rows(task, first, second)]
    if not found and not skipped:
        raise CompareError(f"no two of these runs share a food task read by the {reader} reader")
    return [
        *_difference_table(found, states, settings),
        *table("Not compared", ("task", "first", "second", "why"), skipped, ""),
        *_documents_table(listed),
    ]


def _reason(first: TaskState, second: TaskState, both: Sequence[Sequence[Record]]) -> str:
    """Return why two runs of a task cannot be compared, "" where they can."""
    if not all(both):
        return "no records of this reader"
    apart = other_than(first.key, second.key)
    return "; ".join(f"other {name}: {own} and {other}" for name, own, other in apart)


def _difference_table(
    found: Sequence[tuple[Place, Difference]],
    states: Mapping[str, Mapping[str, TaskState]],
    settings: Settings,
) -> list[Table]:
    adjusted = _adjusted(found)
    rows = []
    for ((task, score, first, second), one), p in zip(found, adjusted, strict=True):
        unfinished = [name for name in (first, second) if states[name][task].problems]
        rows.append(
            (
                *(task, score, first, second, one.items, one.first, one.second),
                *(one.gap.difference, interval(one.gap.low, one.gap.high)),
                *(one.p, p),
                "incomplete: " + ", ".join(unfinished) if unfinished else "complete",
            )
        )
    columns = (
        *("task", "score", "first", "second", "documents", "first score", "second score"),
        *("first minus second", "95% interval", "p", "Holm p", "runs"),
    )
    note = (
        f"{settings.note} Canteen: resamples of photos, similarity >= {PRIMARY_THRESHOLD:g}, NMAE "
        "in grams. Documents that count in both runs, paired by id. p: two-sided, of the sign-flip "
        "test, which swaps the two runs' answers to whole dishes (canteen: photos); of right and "
        "wrong answers with one question a dish it is McNemar's exact p. Holm p is adjusted over "
        "the pairs of runs, within one task and score. Errors (MAE, RMSE, MAPE, NMAE) are better "
        f"where they are lower. {report_versions()}."
    )
    return table("Differences", columns, rows, note)


def _adjusted(found: Sequence[tuple[Place, Difference]]) -> list[float]:
    """Return Holm's p of each row: one task and score, over pairs of runs, is one question."""
    families: dict[tuple[str, str], list[int]] = {}
    for place, ((task, score, _, _), _) in enumerate(found):
        families.setdefault((task, score), []).append(place)
    adjusted = [math.nan] * len(found)
    for places in families.values():
        for place, p in zip(places, holm([found[n][1].p for n in places]), strict=True):
            adjusted[place] = float(p)
    return adjusted


def _document_rows(
    task: str, first: Sequence[Record], second: Sequence[Record]
) -> list[tuple[Cell, ...]]:
    score, found = documents(task, first, second, SHOWN)
    return [
        (
            *(score, one.id, one.first, one.second, one.first - one.second),
            *(short(answer, 80) for answer in one.answers),
        )
        for one in found
    ]


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
    return named([read_run(path, shared) for path in distinct([*unique.values()])])
