"""What the pictures of a page show: numbers, words and data, apart from how they are drawn."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_eval_food.results.page.text import plain
from lmms_eval_food.results.tables import Cell, Table

# Models that get a picture of their own, and lines that a picture of all of them has.
PANELS, LINES = 6, 12
Kind = Literal["lines", "bars", "scatter", "heat"]
_INTERVAL = re.compile(r"\[(-?[\d.]+), (-?[\d.]+)\]")


@dataclass(frozen=True, slots=True)
class Series:
    """One line, group of bars or cloud of points.

    Attributes:
        label: What it is called in the legend.
        x: Places, or names of groups.
        y: Values, nan for none.
        low: Lower ends of intervals; () for none.
        high: Upper ends; () for none.
    """

    label: str
    x: tuple[float | str, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Figure:
    """One picture.

    Attributes:
        name: Part of ids and file names: letters, digits, hyphens.
        title: What it shows.
        kind: "lines", "bars" (grouped), "scatter" (a panel a series, with identity and fitted
            line) or "heat" (`rows` by `columns`).
        x: Label of the horizontal axis, with the unit.
        y: Label of the vertical axis, or of a heat map's colour.
        series: The data of the first three kinds.
        rows: Names of a heat map's rows.
        columns: Names of its columns.
        matrix: Its values, one row a row, nan for none.
        note: How it was made.
        alt: The same in words.
        data: All of the data behind it as CSV, models that have no room in the picture included.
    """

    name: str
    title: str
    kind: Kind
    x: str
    y: str
    series: tuple[Series, ...] = ()
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    matrix: tuple[tuple[float, ...], ...] = ()
    note: str = ""
    alt: str = ""
    data: str = ""


def table_csv(columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> str:
    """Return rows as CSV; None and nan are empty cells."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(["" if cell is None or cell != cell else cell for cell in row])
    return out.getvalue()


def name_of(title: str) -> str:
    """Return a title as part of an id.

    >>> name_of("Canteen: F1 by threshold")
    'canteen-f1-by-threshold'
    """
    return "-".join(re.findall(r"[a-z0-9]+", title.lower()))[:60]


def lines(
    title: str, x: str, y: str, series: Sequence[Series], data: str, note: str = ""
) -> Figure:
    """Return a picture of one line a series; the first `LINES` of them are drawn."""
    drawn = tuple(series[:LINES])
    parts = [f"{plain(one.label)}: {_range(one)}" for one in drawn]
    alt = f"Lines of {y} over {x}. {'; '.join(parts)}.{_left_out(series, LINES)}"
    return Figure(name_of(title), title, "lines", x, y, drawn, note=note, alt=alt, data=data)


def bars(title: str, x: str, y: str, series: Sequence[Series], data: str, note: str = "") -> Figure:
    """Return a picture of grouped bars; the first `LINES` series are drawn."""
    drawn = tuple(series[:LINES])
    parts = []
    for one in drawn:
        values = ", ".join(
            f"{plain(str(name))} {_number(value)}" for name, value in zip(one.x, one.y, strict=True)
        )
        parts.append(f"{plain(one.label)}: {values}")
    alt = f"Bars of {y}. {'; '.join(parts)}.{_left_out(series, LINES)}"
    return Figure(name_of(title), title, "bars", x, y, drawn, note=note, alt=alt, data=data)


def heat(
    title: str,
    labels: tuple[str, str, str],
    rows: Sequence[str],
    columns: Sequence[str],
    matrix: Sequence[Sequence[float]],
    note: str = "",
) -> Figure:
    """Return a heat map; `labels` are those of the columns, the rows and the colour."""
    x, y, colour = labels
    cells = [
        (value, row, column)
        for row, values in zip(rows, matrix, strict=True)
        for column, value in zip(columns, values, strict=True)
        if not math.isnan(value)
    ]
    highest = ", ".join(
        f"{plain(row)} / {plain(column)} {_number(value)}"
        for value, row, column in sorted(cells, key=lambda cell: -cell[0])[:5]
    )
    alt = f"{colour} by {y} (rows) and {x} (columns), {len(cells)} cells. Highest: {highest}."
    data = table_csv(
        (y, *columns), [(row, *values) for row, values in zip(rows, matrix, strict=True)]
    )
    return Figure(
        name=name_of(title),
        title=title,
        kind="heat",
        x=x,
        y=f"{y}\n{colour}",
        rows=tuple(rows),
        columns=tuple(columns),
        matrix=tuple(tuple(values) for values in matrix),
        note=note,
        alt=alt,
        data=data,
    )


def ends(cell: Cell) -> tuple[float, float]:
    """Return the ends of an interval as a table shows it, nan for none.

    >>> ends("[-0.250, 0.500]")
    (-0.25, 0.5)
    """
    found = _INTERVAL.fullmatch(str(cell or ""))
    return (float(found[1]), float(found[2])) if found else (math.nan, math.nan)


def titled(tables: Sequence[Table], start: str) -> list[Table]:
    """Return the tables whose title is this, or this and what tells groups of runs apart."""
    return [
        t for t in tables if t.title == start or t.title.startswith((f"{start} (", f"{start},"))
    ]


def number(cell: Cell) -> float:
    """Return a cell as a number, nan for none."""
    return float(cell) if isinstance(cell, int | float) else math.nan


def _range(one: Series) -> str:
    known = [(x, y) for x, y in zip(one.x, one.y, strict=True) if not math.isnan(y)]
    if not known:
        return "no values"
    (first, start), (last, end) = known[0], known[-1]
    return f"{_number(start)} at {first}, {_number(end)} at {last}"


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.3g}"


def _left_out(series: Sequence[Series], limit: int) -> str:
    more = len(series) - limit
    return f" {more} more are in the data only." if more > 0 else ""
