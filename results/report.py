"""`lmms-eval-food report`: every table that the sample logs of some runs allow."""

from __future__ import annotations

import argparse
import functools
import multiprocessing
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lmms_eval_food.metrics.matchers import MatcherError
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results import leaderboard, page, publish
from lmms_eval_food.results.canteen import canteen_tables, rescored
from lmms_eval_food.results.check import check_run
from lmms_eval_food.results.completeness import TaskState, task_states
from lmms_eval_food.results.culture import culture_tables
from lmms_eval_food.results.dining import dining_tables
from lmms_eval_food.results.log_files import stray_logs
from lmms_eval_food.results.logs import LogError, Run, Shared, named, read_run, results_files
from lmms_eval_food.results.provenance import provenance_tables
from lmms_eval_food.results.scores import Score, numbered, scores_of, write_scores
from lmms_eval_food.results.tables import Table, markdown

# Prefix of a benchmark's tasks -> its tables; called as section(runs, resamples=, seed=, reader=)
# with the runs that have such a task.
SECTIONS: dict[str, Callable[..., list[Table]]] = {
    "diningbench": dining_tables,
    "canteen": canteen_tables,
    "culturalmenu": culture_tables,
}
FILE_NAME = "report.md"
BOARD = Path("build/leaderboard")


# Fewer runs than this are read sooner than a second process starts.
_ALONE = 6
Part = tuple[Run, dict[str, TaskState], list[Score]]


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the canteen set is scored.

    Attributes:
        matcher: Name of a matcher (`canteen.open_matcher`); None: as each log has it.
        threshold: Lowest accepted similarity, in [0, 1].
    """

    matcher: str | None = None
    threshold: float = PRIMARY_THRESHOLD

    def of(self, run: Run) -> Run:
        """Return a run so scored; everything that a report says is made from it."""
        return rescored(run, self.matcher, self.threshold)


LOGGED = Scoring()


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
    shared = Shared()
    try:
        return [read_run(path, shared) for path in results_files(folders)]
    except LogError as error:
        raise ReportError(str(error)) from error


def run(options: argparse.Namespace) -> int:
    """Do what the command line asks: report, check or leaderboard; return the exit status."""
    try:
        if options.leaderboard is not None:
            return _leaderboard(options)
        if not options.logs:
            raise ReportError("name at least one LOGDIR, or --leaderboard DIR")
        return _check(options) if options.check else _report(options)
    except (ReportError, LogError, MatcherError, ValueError, OSError) as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 1


def _report(options: argparse.Namespace) -> int:
    section = functools.partial(canteen_tables, categories=options.categories)
    sections: dict[str, Callable[..., list[Table]]] = {**SECTIONS, "canteen": section}
    scoring = Scoring(options.matcher, options.threshold)
    if options.out is None:
        runs = named([scoring.of(one) for one in read_runs(options.logs)])
        tables = report_tables(
            [*runs.values()], resamples=options.resamples, reader=options.reader, sections=sections
        )
        states = [task_states(one) for one in runs.values()]
        print(_text(tables, runs, states, stray_logs(options.logs)))
        return 0
    text = write_report(
        *(options.logs, options.out, options.resamples, options.reader, sections, scoring)
    )
    print(text)
    print(f"report -> {options.out / page.FILE_NAME}", file=sys.stderr)
    return 0


def write_report(
    folders: Iterable[Path],
    out: Path,
    resamples: int,
    reader: str = "robust",
    sections: dict[str, Callable[..., list[Table]]] | None = None,
    scoring: Scoring = LOGGED,
) -> str:
    """Write report.html, report.md, scores.csv, scores.parquet and entries for the leaderboard.

    One run's records are read at a time, and only those of one reader are kept. Tasks that are
    scored otherwise than in their log have no entry.

    Args:
        folders: Folders that were given to the host as --output_path.
        out: Where the files go; made where it is missing.
        resamples: Bootstrap resamples.
        reader: Whose readings the tables and pictures show; scores have both.
        sections: As `SECTIONS`, which is the default.
        scoring: Matcher and threshold of the canteen set.

    Returns:
        The text of report.md.

    Raises:
        ReportError: nothing can be read, or there is no task of these benchmarks.
        LogError: a file is damaged.
        MatcherError: the matcher cannot score.
    """
    shared, given = Shared(), list(folders)
    runs, states, found = [], [], []
    for one, state, own in _read_all(results_files(given), resamples, reader, scoring):
        runs.append(shared.run(one))
        states.append(state)
        found.append(own)
    tables = report_tables(runs, resamples=resamples, reader=reader, sections=sections)
    scores = numbered(found)
    names = [part[0].run if part else one.title for part, one in zip(scores, runs, strict=True)]
    text = _text(tables, dict(zip(names, runs, strict=True)), states, stray_logs(given))
    out.mkdir(parents=True, exist_ok=True)
    (out / FILE_NAME).write_text(text, encoding="utf-8", errors="backslashreplace")
    write_scores([score for part in scores for score in part], out)
    html = publish.page_of(runs, scores, tables, resamples=resamples, reader=reader, states=states)
    (out / page.FILE_NAME).write_text(html, encoding="utf-8")
    kept = [publish.submitted(*part) for part in zip(runs, scores, states, strict=True)]
    entries = [one for one in kept if one[2]]
    leaderboard.write_entries(
        [one for one, _, _ in entries],
        [own for _, own, _ in entries],
        [state for _, _, state in entries],
        out / leaderboard.FOLDER,
    )
    return text


def _read_all(
    paths: Sequence[Path], resamples: int, reader: str, scoring: Scoring
) -> Iterator[Part]:
    """Yield what a report keeps of each run, in order; many runs are read by two processes."""
    read = functools.partial(_read_one, resamples=resamples, reader=reader, scoring=scoring)
    # Two processes would load a matcher twice, and ask a judge twice.
    if len(paths) < _ALONE or scoring.matcher is not None:
        yield from map(read, paths)
        return
    # Spawned: a forked copy of a process that has run threads may hang.
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(read, paths)


def _read_one(path: Path, resamples: int, reader: str, scoring: Scoring) -> Part:
    whole = scoring.of(read_run(path))
    return whole.of_reader(reader), task_states(whole), scores_of(whole, resamples)


def _text(
    tables: list[Table],
    runs: Mapping[str, Run],
    states: Sequence[dict[str, TaskState]],
    strays: Sequence[Path],
) -> str:
    """Return the report as text; how complete the runs are joins the tables, as second."""
    out_of_ranking = publish.marks_of(list(zip(runs, states, strict=True)))
    tables.insert(1, publish.state_table(runs, states, out_of_ranking, strays))
    return f"# Food benchmarks\n\n{markdown([*tables, *provenance_tables(runs)])}"


def _check(options: argparse.Namespace) -> int:
    faults = 0
    for path in results_files(options.logs):
        differences = check_run(path)
        faults += len(differences)
        print(f"{path}: {'no difference' if not differences else ''}".rstrip())
        for line in differences:
            print(f"  {line}")
    return 1 if faults else 0


def _leaderboard(options: argparse.Namespace) -> int:
    out = options.out or BOARD
    print(f"leaderboard -> {leaderboard.write_board(options.leaderboard, out)}")
    return 0
