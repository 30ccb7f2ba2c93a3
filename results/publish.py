"""Writes a report's files: page, Markdown, tidy scores, and an entry a run for the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from lmms_eval_food.results import page
from lmms_eval_food.results.completeness import TaskState, main_key, marks, task_states
from lmms_eval_food.results.log_files import SAMPLES
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.page.headlines import Marks, headlines
from lmms_eval_food.results.provenance import report_versions, run_provenance, task_provenance
from lmms_eval_food.results.scores import Score
from lmms_eval_food.results.scoring import scoring_of
from lmms_eval_food.results.tables import Cell, Table

INTRO = (
    "Food benchmarks for vision-language models. Own runs stand beside the published rows; each "
    "number has a 95% interval where it is a mean or a rate, and says how it was made."
)


def marks_of(states: Sequence[tuple[str, dict[str, TaskState]]]) -> Marks:
    """Return (run, task) -> what keeps it out of the ranking.

    Args:
        states: Name of each run and the states of its tasks.
    """
    tasks = dict.fromkeys(task for _, own in states for task in own)
    keys = {task: main_key([own[task] for _, own in states if task in own]) for task in tasks}
    return {
        (name, task): marks(state, keys[task])
        for name, own in states
        for task, state in own.items()
    }


def submitted(
    run: Run, scores: Sequence[Score], states: Mapping[str, TaskState]
) -> tuple[Run, list[Score], dict[str, TaskState]]:
    """Return what of one run goes to the leaderboard: all but tasks scored otherwise than logged.

    There every score is at the benchmark's own threshold and follows from the log alone.
    """
    rescored = {score.task for score in scores if score.logged_with}
    kept = [score for score in scores if score.task not in rescored]
    return run, kept, {task: state for task, state in states.items() if task not in rescored}


def made_note(resamples: int, seed: int = 0) -> str:
    """Return how intervals were made, and with which versions."""
    return f"{resamples} resamples of dishes (canteen: of photos), seed {seed}; {report_versions()}"


def page_of(
    runs: Sequence[Run],
    scores: Sequence[Sequence[Score]],
    tables: Sequence[Table],
    *,
    resamples: int,
    reader: str,
    states: Sequence[dict[str, TaskState]] | None = None,
) -> str:
    """Return the page of some runs as HTML.

    Args:
        runs: The runs, with the records of `reader` at least.
        scores: Each run's scores (`scores.numbered`).
        tables: The report's tables.
        resamples: How many resamples the intervals are of.
        reader: Whose readings the tables and pictures show.
        states: Each run's task states, where its records are not all in `runs`.
    """
    own_states = states or [task_states(run) for run in runs]
    names = [own[0].run if own else run.title for own, run in zip(scores, runs, strict=True)]
    made = made_note(resamples)
    return page.render(
        page.Page(
            title="Food benchmarks",
            intro=INTRO,
            headlines=headlines(
                [score for own in scores for score in own],
                marks_of(list(zip(names, own_states, strict=True))),
                made,
            ),
            figures=page.figures_of(tables, runs, reader),
            tables=tables,
            provenance=[
                (name, run_provenance(run), task_provenance(run))
                for name, run in zip(names, runs, strict=True)
            ],
            made=made,
        )
    )


def state_table(
    runs: Mapping[str, Run],
    states: Sequence[dict[str, TaskState]],
    found: Marks,
    strays: Sequence[Path] = (),
) -> Table:
    """Return how complete each run's tasks are, and what keeps them out of the ranking.

    Args:
        runs: Name -> run.
        states: Each run's task states.
        found: What keeps them out (`marks_of`).
        strays: Sample logs without a results file; nothing else of them is known.
    """
    rows: list[tuple[Cell, ...]] = [
        (
            *(name, task, state.version, state.expected, state.found, state.failed, state.data),
            *(scoring_of(run.records.get(task, {})), state.judge),
            "; ".join(found[name, task]) or "complete",
        )
        for (name, run), own in zip(runs.items(), states, strict=True)
        for task, state in own.items()
    ]
    for log in strays:
        run_name, _, task = log.stem.partition(SAMPLES)
        rows.append((run_name, task, "?", *[None] * 3, "", "", "", "left out: no results file"))
    columns = (
        *("run", "task", "version", "documents expected", "found", "failed requests"),
        *("data", "matcher and threshold", "judge", "status"),
    )
    note = (
        "Runs whose status is not `complete` are in no ranking: documents are missing, requests "
        "failed, or task version, data, matcher or judge are not those of most complete runs."
    )
    return Table("Completeness", columns, tuple(rows), note)
