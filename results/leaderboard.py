"""The leaderboard: one small JSON file a submitted run, and the page that they make together."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results import page, publish
from lmms_eval_food.results.completeness import TaskState
from lmms_eval_food.results.entries import EntryError, read_entries
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.page.columns import BENCHMARKS
from lmms_eval_food.results.page.headlines import headlines
from lmms_eval_food.results.provenance import report_versions, run_provenance, task_provenance
from lmms_eval_food.results.scores import Score, csv_text, unit

__all__ = ["EntryError", "entry_of", "read_entries", "write_board", "write_entries"]

FOLDER = "leaderboard"
FORMAT = 1
HEADLINE = frozenset(column.metric for one in BENCHMARKS for column in one.columns)


def entry_of(run: Run, scores: Sequence[Score], states: Mapping[str, TaskState]) -> dict[str, Any]:
    """Return a run as a leaderboard entry: headline scores and provenance, no answers.

    Args:
        run: The run.
        scores: Its scores.
        states: Its task states.
    """
    facts = task_provenance(run)
    tasks = {}
    for task, state in states.items():
        own = [s for s in scores if s.task == task and s.metric in HEADLINE]
        readers: dict[str, dict[str, Any]] = {}
        for score in own:
            readers.setdefault(score.reader, {})[score.metric] = _score(score)
        tasks[task] = {
            "version": state.version,
            "data": state.data,
            "matcher": state.matcher,
            "judge": state.judge,
            "expected": state.expected,
            "found": state.found,
            "problems": state.problems,
            "prompts": facts[task]["prompts"],
            "filters": facts[task]["filters"],
            "generation": facts[task]["generation"],
            "scores": readers,
        }
    model = scores[0].model if scores else run.title
    return {
        "format": FORMAT,
        "model": model,
        "made_with": report_versions(),
        "provenance": run_provenance(run),
        "tasks": tasks,
    }


def write_entries(
    runs: Sequence[Run],
    scores: Sequence[Sequence[Score]],
    states: Sequence[Mapping[str, TaskState]],
    folder: Path,
) -> list[Path]:
    """Write each run's entry; returns the files, named by date and model."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for number, (run, own, state) in enumerate(zip(runs, scores, states, strict=True), 1):
        entry = entry_of(run, own, state)
        name = re.sub(r"[^A-Za-z0-9]+", "-", f"{run.results.get('date', '')} {entry['model']}")
        path = folder / f"{name.strip('-')[:80]}-{number}.json"
        text = json.dumps(entry, ensure_ascii=True, indent=1, sort_keys=True, allow_nan=False)
        path.write_text(f"{text}\n", encoding="utf-8")
        written.append(path)
    return written


def write_board(folder: Path, out: Path) -> Path:
    """Write the board of a folder's entries: page and tidy scores; returns the page.

    The same entries give the same bytes: nothing in it depends on the time, the machine or the
    order of the files.

    Raises:
        EntryError: an entry is malformed, says what cannot be, or contradicts another.
        FileNotFoundError: there is no such folder.
    """
    entries = read_entries(folder)
    out.mkdir(parents=True, exist_ok=True)
    scores = [score for name, entry in entries.items() for score in _scores(name, entry)]
    states = [(name, _states(entry)) for name, entry in entries.items()]
    board = page.Page(
        title="Food benchmarks: leaderboard",
        intro=f"{len(entries)} submitted runs beside the published rows.",
        headlines=headlines(
            scores, publish.marks_of(states), "as submitted, see the run's provenance"
        ),
        figures=(),
        tables=(),
        provenance=[
            (
                f"{entry['model']}, {name}",
                {**entry["provenance"], "made with": entry["made_with"]},
                {task: _facts(own) for task, own in entry["tasks"].items()},
            )
            for name, entry in entries.items()
        ],
        made=report_versions(),
    )
    path = out / page.FILE_NAME
    path.write_text(page.render(board), encoding="utf-8", newline="\n")
    text = csv_text(scores)
    (out / "scores.csv").write_text(text, "utf-8", errors="backslashreplace", newline="\n")
    return path


def _score(score: Score) -> dict[str, Any]:
    numbers = {"value": score.value, "low": score.low, "high": score.high}
    return {
        **{name: value if math.isfinite(value) else None for name, value in numbers.items()},
        "n": score.n,
    }


def _scores(name: str, entry: Mapping[str, Any]) -> list[Score]:
    found = []
    for task, own in entry["tasks"].items():
        for reader, metrics in own["scores"].items():
            for metric, value in metrics.items():
                ends = {
                    key: math.nan if value[key] is None else float(value[key])
                    for key in ("value", "low", "high")
                }
                found.append(
                    Score(
                        run=name,
                        model=entry["model"],
                        task=task,
                        version=own["version"],
                        metric=metric,
                        reader=reader,
                        value=ends["value"],
                        low=ends["low"],
                        high=ends["high"],
                        n=value["n"],
                        unit=unit(task, metric),
                        higher_is_better=_directions()[metric],
                        data=own["data"],
                        matcher=own["matcher"],
                        complete=not own["problems"],
                        threshold=PRIMARY_THRESHOLD if own["matcher"] else math.nan,
                    )
                )
    return found


@cache
def _directions() -> dict[str, bool]:
    return {c.metric: c.higher_is_better for one in BENCHMARKS for c in one.columns}


def _states(entry: Mapping[str, Any]) -> dict[str, TaskState]:
    return {
        task: TaskState(
            task=task,
            version=own["version"],
            expected=own["expected"],
            found=own["found"],
            stated=tuple(own["problems"]),
            data=own["data"],
            matcher=own["matcher"],
            judge=own["judge"],
        )
        for task, own in entry["tasks"].items()
    }


def _facts(own: Mapping[str, Any]) -> dict[str, str]:
    names = (
        *("version", "data", "matcher", "judge", "expected", "found"),
        *("prompts", "filters", "generation"),
    )
    return {
        **{name: str(own[name]) for name in names},
        "problems": "; ".join(own["problems"]) or "none",
    }
