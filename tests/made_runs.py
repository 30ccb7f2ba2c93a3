"""Runs made by hand for the tests of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table

Record = dict[str, Any]
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] made"


def made_run(
    tasks: Mapping[str, Sequence[Record]],
    model_args: str = "size=7b",
    gen_kwargs: str = "",
    reader: str = "robust",
    results: Mapping[str, Mapping[str, Any]] | None = None,
    max_new_tokens: int = 64,
) -> Run:
    """Return a run of the model "made" with the records given."""
    config = {"model": "made", "model_args": model_args, "gen_kwargs": gen_kwargs}
    return Run(
        folder=Path("made"),
        results={
            "config": config,
            "results": dict(results or {}),
            "configs": {
                task: {"generation_kwargs": {"max_new_tokens": max_new_tokens}} for task in tasks
            },
        },
        records={task: {reader: list(records)} for task, records in tasks.items()},
    )


def choice(
    id: str,  # noqa: A002 # a record's own field
    truth: str,
    answer: str | None,
    dish: str = "d1",
    options: Sequence[str] = (),
    raw: str | None = None,
    data: str = "made@1",
    **groups: str,
) -> Record:
    """Return a choice record as a sample log holds it; answer "failed" is a failed request."""
    failed = answer == "failed"
    read = None if failed else answer
    status = "failed" if failed else "unreadable" if read is None else "ok"
    return {
        "id": id,
        "reader": "robust",
        "truth": truth,
        "answer": read,
        "status": status,
        "correct": None if failed else read == truth,
        "raw": raw if raw is not None else FAILED if failed else read or "?",
        "step": "",
        "marks": [],
        "dish": dish,
        "data": data,
        "broken_pictures": 0,
        "groups": groups,
        "options": list(options),
    }


def titled(tables: Sequence[Table], ending: str) -> Table:
    """Return the one table whose title ends so."""
    (found,) = (table for table in tables if table.title.endswith(ending))
    return found


def cells(table: Table, *columns: str) -> list[tuple[Any, ...]]:
    """Return some columns of a table, row by row."""
    places = [table.columns.index(name) for name in columns]
    return [tuple(row[place] for place in places) for row in table.rows]
