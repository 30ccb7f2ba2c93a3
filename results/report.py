"""`lmms-eval-food report`: every table that the sample logs of some runs allow."""

from __future__ import annotations

import argparse
import functools
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lmms_eval_food.metrics.matchers import MatcherError
from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS
from lmms_eval_food.results.canteen import canteen_tables
from lmms_eval_food.results.culture import culture_tables
from lmms_eval_food.results.dining import dining_tables
from lmms_eval_food.results.runs import Run
from lmms_eval_food.results.tables import Table, markdown

# Prefix of a benchmark's tasks -> its tables; called as section(runs, resamples=, seed=, reader=)
# with the runs that have such a task.
SECTIONS: dict[str, Callable[..., list[Table]]] = {
    "diningbench": dining_tables,
    "canteen": canteen_tables,
    "culturalmenu": culture_tables,
}
FILE_NAME = "report.md"


class ReportError(Exception):
    """There is nothing to report, or a log cannot be read; the message says what to do."""


def report_tables(
    runs: Sequence[Run],
    *,
    resamples: int,
    reader: str = "robust",
    sections: dict[str, Callable[..., list[Table]]] | None = None,
) -> list[Table]:
    """Return a table of the runs, then the tables of every benchmark that they ran.

    Args:
        runs: Runs.
        resamples: Bootstrap resamples.
        reader: Whose readings, "official" or "robust".
        sections: As `SECTIONS`, which is the default.

    Raises:
        ReportError: no run has a task of these benchmarks.
    """
    tables: list[Table] = []
    for prefix, section in (SECTIONS if sections is None else sections).items():
        present = [run for run in runs if any(task.startswith(prefix) for task in run.records)]
        if present:
            tables += section(present, resamples=resamples, seed=0, reader=reader)
    if not tables:
        raise ReportError("no sample log of a food task: was the host called with --log_samples?")
    return [_runs_table(runs, reader), *tables]


def _runs_table(runs: Sequence[Run], reader: str) -> Table:
    rows = [
        (
            run.title,
            str(run.results.get("date", "")),
            str(run.results.get("lmms_eval_version", "")),
            ", ".join(
                f"{task} v{run.results.get('versions', {}).get(task, '?')}" for task in run.records
            ),
        )
        for run in runs
    ]
    return Table(
        "Runs",
        ("run", "date", "lmms-eval", "tasks"),
        tuple(rows),
        f"Answers as the {reader} reader reads them. lmms-eval-food {version('lmms-eval-food')}.",
    )


def read_runs(folders: Iterable[Path]) -> list[Run]:
    """Return every run below some folders, oldest first, each once.

    The host puts the runs of one model next to each other when they have one --output_path; all of
    them are read. Logs of tasks that are not ours are left out.

    Raises:
        ReportError: a folder holds no results file, or a file cannot be read.
    """
    found: dict[Path, Path] = {}
    for folder in folders:
        below = list(folder.rglob("*_results.json"))
        if not below:
            raise ReportError(f"no *_results.json below {folder}")
        found |= {path.resolve(): path for path in below}
    return [_read_run(path) for path in sorted(found.values(), key=lambda p: (p.name, str(p)))]


def _read_run(path: Path) -> Run:
    results = _parsed(path, path.read_text(encoding="utf-8"))
    stamp = path.name.removesuffix("_results.json")
    records: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task in results["results"]:
        log = path.parent / f"{stamp}_samples_{task}.jsonl"
        if not log.exists():
            continue
        lines = log.read_text(encoding="utf-8").split("\n")
        rows = [_parsed(log, line) for line in lines if line]
        for row in sorted(rows, key=lambda row: row["doc_id"]):
            if "record" in row:
                readers = records.setdefault(task, {})
                readers.setdefault(row["record"]["reader"], []).append(row["record"])
    return Run(path.parent, results, records)


def _parsed(path: Path, text: str) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(text)
    except ValueError as error:
        raise ReportError(f"{path} is damaged: {error}") from error
    return value


def run(options: argparse.Namespace) -> int:
    """Print the report of the runs named on the command line; return the exit status."""
    primary = options.threshold
    chosen = functools.partial(
        canteen_tables,
        matcher=options.matcher,
        thresholds=(primary, *(at for at in THRESHOLDS if at > primary)),
        categories=options.categories,
    )
    try:
        tables = report_tables(
            read_runs(options.logs),
            resamples=options.resamples,
            reader=options.reader,
            sections={**SECTIONS, "canteen": chosen},
        )
        text = f"# Food benchmarks\n\n{markdown(tables)}"
        print(text)
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            path = options.out / FILE_NAME
            path.write_text(text, encoding="utf-8")
            print(f"report -> {path}", file=sys.stderr)
    except (ReportError, MatcherError, ValueError, OSError) as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 1
    return 0
