"""The pictures of DiningBench and CulturalMenuBench."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lmms_eval_food.results.culture.tasks import BINARY, BREAKDOWNS, MC
from lmms_eval_food.results.joined import Joined, join_runs, scored
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.page.figures import (
    PANELS,
    Figure,
    Series,
    bars,
    ends,
    heat,
    lines,
    number,
    table_csv,
    titled,
)
from lmms_eval_food.results.tables import Cell, Table


def dining_figures(tables: Sequence[Table]) -> list[Figure]:
    """Return the multi-view curves and what reasoning changes, from the report's tables."""
    found = []
    for table in titled(tables, "DiningBench: scores by number of views"):
        for score in dict.fromkeys((row[1], row[2]) for row in table.rows):
            own = [row for row in table.rows if (row[1], row[2]) == score]
            found.append(_views(f"{table.title}, {score[0]}, {score[1]}", table, own))
    for table in titled(tables, "DiningBench: chain of thought minus none"):
        for name in dict.fromkeys(row[2] for row in table.rows):
            own = [row for row in table.rows if row[2] == name]
            found.append(_differences(f"{table.title}, {name}", str(name), table, own))
    return found


def culture_figures(tables: Sequence[Table], runs: Sequence[Run], reader: str) -> list[Figure]:
    """Return confusion of cuisines, accuracy by language and relation, and the gap."""
    found = [
        _differences(table.title, "accuracy", table, table.rows, (1, 4, 5))
        for table in titled(tables, "CulturalMenuBench: knowledge-application gap")
    ]
    for model in join_runs(runs, "culturalmenu_")[:PANELS]:
        found += [f for task in (BINARY, MC) for f in _languages(model, task, reader)]
    for table in titled(tables, "CulturalMenuBench: confusion of cuisines")[:PANELS]:
        found.append(_confusion(table))
    return found


def _views(title: str, table: Table, rows: Sequence[tuple[Cell, ...]]) -> Figure:
    models: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        models.setdefault(str(row[0]), []).append((number(row[3]), number(row[5])))
    series = [
        Series(model, tuple(x for x, _ in own), tuple(y for _, y in own))
        for model, own in models.items()
    ]
    data = table_csv(table.columns, rows)
    return lines(title, "views", str(rows[0][2]), series, data, table.note)


def _differences(
    title: str,
    score: str,
    table: Table,
    rows: Sequence[tuple[Cell, ...]],
    places: tuple[int, int, int] = (1, 6, 7),
) -> Figure:
    """Return bars of a table of differences; places: what it is of, difference, interval."""
    what, difference, between = places
    names = list(dict.fromkeys(str(row[what]) for row in rows))
    models: dict[str, dict[str, tuple[Cell, ...]]] = {}
    for row in rows:
        models.setdefault(str(row[0]), {})[str(row[what])] = row
    series = []
    for model, own in models.items():
        intervals = [ends(own[n][between]) if n in own else (math.nan, math.nan) for n in names]
        series.append(
            Series(
                model,
                tuple(names),
                tuple(number(own[n][difference]) if n in own else math.nan for n in names),
                tuple(low for low, _ in intervals),
                tuple(high for _, high in intervals),
            )
        )
    data = table_csv(table.columns, rows)
    return bars(title, "comparison", f"difference in {score}", series, data, table.note)


def _languages(model: Joined, task: str, reader: str) -> list[Figure]:
    records = scored(model.records(task, reader))
    cells: dict[tuple[str, str], list[bool]] = {}
    for record in records:
        groups = record["groups"]
        if "language" in groups and "relation" in groups:
            cells.setdefault((groups["relation"], groups["language"]), []).append(
                bool(record["correct"])
            )
    if not cells:
        return []
    rows, columns = (
        [name for name in BREAKDOWNS[what] if any(key[place] == name for key in cells)]
        for place, what in enumerate(("relation", "language"))
    )
    matrix = [
        [
            sum(own) / len(own) if (own := cells.get((row, column))) else math.nan
            for column in columns
        ]
        for row in rows
    ]
    title = f"CulturalMenuBench: accuracy by language and relation, {task}, {model.title}"
    note = f"Answers as the {reader} reader reads them; {len(records)} that count."
    return [heat(title, ("language", "relation", "accuracy"), rows, columns, matrix, note)]


def _confusion(table: Table) -> Figure:
    """Return a confusion matrix; the table already orders cuisines by family."""
    columns = table.columns[2:]
    rows = [f"{row[1]} ({row[0]})" for row in table.rows]
    matrix = [[number(cell) for cell in row[2:]] for row in table.rows]
    note = f"{table.note} Ordered by family."
    labels = ("chosen cuisine", "right cuisine", "answers")
    return heat(table.title, labels, rows, columns, matrix, note)
