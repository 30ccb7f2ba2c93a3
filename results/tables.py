"""Tables of a report, apart from how they are shown."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Cell = str | float | int | None


@dataclass(frozen=True)
class Table:
    """One table of a report.

    Attributes:
        title: What it shows.
        columns: Names of the columns, units included.
        rows: Rows of cells; None is a value that does not exist, nan one that is not defined.
        note: How it was made: metric, interval, resamples, seed, source in the paper.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""


def interval(low: float, high: float, digits: int = 3) -> str:
    """Return an interval as a cell, "" where it is not defined.

    >>> interval(0.25, 0.5)
    '[0.250, 0.500]'
    """
    if math.isnan(low) or math.isnan(high):
        return ""
    return f"[{low:.{digits}f}, {high:.{digits}f}]"


def markdown(tables: Sequence[Table], digits: int = 3) -> str:
    """Return tables as Markdown: a heading, the table, its note."""
    from pytablewriter import MarkdownTableWriter
    from pytablewriter.typehint import String

    parts = []
    for table in tables:
        writer = MarkdownTableWriter()
        writer.headers = list(table.columns)
        # As text: the library would read 1.000 as a number and write 1.
        writer.type_hints = [String] * len(table.columns)
        writer.value_matrix = [[_shown(cell, digits) for cell in row] for row in table.rows]
        note = f"\n{table.note}\n" if table.note else ""
        parts.append(f"## {table.title}\n\n{writer.dumps()}{note}")
    return "\n".join(parts)


def _shown(cell: Cell, digits: int) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    text = _number(cell, digits) if isinstance(cell, float) else str(cell)
    # A model's name or answer may hold what would end a line.
    return text.replace("\r", " ").replace("\n", " ")


def _number(value: float, digits: int) -> str:
    """Return a number with fixed digits, or two significant ones where it would round to 0."""
    small = 0 < abs(value) < 0.5 * 10**-digits
    return f"{value:.2g}" if small else f"{value:.{digits}f}"
