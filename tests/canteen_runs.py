"""Canteen runs made by hand for the tests of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Cell, Table

Food = tuple[str, float | None]
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] no connection"


def tray(
    image: str,
    true: Sequence[tuple[str, float]],
    said: Sequence[Food] = (),
    similarity: Sequence[Sequence[float]] | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """Return a record as a sample log holds it; equal names score 1 and others 0 by default."""
    if similarity is None:
        similarity = [[float(normalise(n) == normalise(f)) for f, _ in true] for n, _ in said]
    return {
        "id": image,
        "reader": "robust",
        "status": "ok",
        "step": "json",
        "marks": [],
        "raw": " ".join(name for name, _ in said),
        "items": [{"name": n, "grams": g, "text": "", "marks": []} for n, g in said],
        "foods": [food for food, _ in true],
        "grams": [grams for _, grams in true],
        "similarity": [list(row) for row in similarity],
        "matcher": "equal names",
        "participant": "p1",
        "data": "made@1",
        "broken_pictures": 0,
        **fields,
    }


def canteen_run(
    records: Sequence[dict[str, Any]],
    model_args: Any = "size=7b",
    task: str = "canteen_portions",
    documents: int | None = None,
    **generation: Any,
) -> Run:
    """Return a run of the model "made"; generation settings as --gen_kwargs leaves them.

    The task has as many documents as there are photos in the records, or `documents`.
    """
    readers: dict[str, list[dict[str, Any]]] = {}
    for record in records:
        readers.setdefault(record["reader"], []).append(record)
    expected = len({record["id"] for record in records}) if documents is None else documents
    return Run(
        folder=Path("made"),
        results={
            "config": {"model": "made", "model_args": model_args},
            "configs": {task: {"generation_kwargs": {"temperature": 0.0, **generation}}},
            "n-samples": {task: {"original": expected, "effective": len(records)}},
        },
        records={task: readers},
    )


def titled(tables: Sequence[Table], title: str) -> Table:
    """Return the table of that title."""
    (found,) = (table for table in tables if table.title == f"Canteen: {title}")
    return found


def row(table: Table, *start: Cell) -> dict[str, Cell]:
    """Return the one row that starts with these cells, by column."""
    (found,) = (cells for cells in table.rows if cells[: len(start)] == start)
    return dict(zip(table.columns, found, strict=True))
