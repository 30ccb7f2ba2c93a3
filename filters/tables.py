"""Tables of foods, as Markdown and as models write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmms_eval_food.filters.cues import without_emphasis
from lmms_eval_food.filters.grams import robust_grams
from lmms_eval_food.filters.quantities import quantity_span, unit_of

_RULE = re.compile(r"[\s|:+-]+")
_NAME = re.compile(r"\b(?:items?|foods?|names?|dish(?:es)?|ingredients?|beverages?|components?)\b")
# Heads of weights, the surest first.
_WEIGHT = re.compile(r"weights?|grams?|mass|\(g\)")
_PORTION = re.compile(r"portions?|amounts?|sizes?|serving")
_COUNT = re.compile(r"quantit")
_HEAD_UNIT = re.compile(r"[(\[,]\s{0,3}(?:in\s)?(?P<unit>[a-z ]{1,12}?)\s{0,3}(?:[)\]]|$)")
_BARE = re.compile(r"[\s\d.,~≈/–-]{1,40}")


@dataclass(frozen=True, slots=True)
class _Table:
    """What a table's head says: which column names the food, and which may hold its portion."""

    name: int
    portions: tuple[int, ...]
    units: tuple[str, ...]
    counts: frozenset[int]


def table_rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, portion text) of each row of the tables in a text, heads left out.

    A table begins with a line of cells that a rule line follows, or whose cells are the usual
    heads; outer bars may be missing. The columns are found by their heads, else the first column
    is the name and the first cell with a weight the portion. Of several columns for the portion
    the first that gives a weight counts, weights before amounts. A unit in a head is that of bare
    numbers below it. Rows outside such a table are no rows.
    """
    for line, table in _lines(text):
        if table is not None:
            yield _row(table, _cells(line))


def outside_tables(text: str) -> Iterator[str]:
    """Yield the lines that are no part of a table and do not look like one."""
    for line, table in _lines(text, keep_heads=False):
        if table is None and not line.lstrip().startswith("|"):
            yield line


def _lines(text: str, keep_heads: bool = True) -> Iterator[tuple[str, _Table | None]]:
    """Yield each line with the table it is a row of; heads and rules only where asked for."""
    lines = text.splitlines()
    table: _Table | None = None
    in_head = False
    for at, line in enumerate(lines):
        if in_head and _is_rule(line):
            continue
        in_head = False
        if "|" not in line:
            table = None
            yield line, None
            continue
        ruled = at + 1 < len(lines) and _is_rule(lines[at + 1])
        if table is None or ruled:
            table = _table(_cells(line), ruled)
            in_head = table is not None
            if table is None or keep_heads:
                yield line, None
        else:
            yield line, table


def _is_rule(line: str) -> bool:
    return "-" in line and bool(_RULE.fullmatch(line))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _table(head: list[str], ruled: bool) -> _Table | None:
    """Return what a head says; None for a row that is none."""
    heads = [without_emphasis(cell).lower().replace("_", " ").strip() for cell in head]
    portions = dict.fromkeys(
        at
        for form in (_WEIGHT, _PORTION, _COUNT)
        for at, cell in enumerate(heads)
        if form.search(cell)
    )
    named = [at for at, cell in enumerate(heads) if at not in portions and _NAME.search(cell)]
    if not ruled and not (portions and named and all(quantity_span(c) is None for c in heads)):
        return None
    counts = frozenset(at for at in portions if _COUNT.search(heads[at]))
    units = tuple(_head_unit(cell) for cell in heads)
    return _Table(named[0] if named else 0, tuple(portions), units, counts)


def _head_unit(head: str) -> str:
    unit = _HEAD_UNIT.search(head)
    return unit["unit"] if unit and unit_of(unit["unit"]) else ""


def _row(table: _Table, cells: list[str]) -> tuple[str, str]:
    columns: Iterator[int] | tuple[int, ...] = table.portions
    if not table.portions:
        columns = (at for at, cell in enumerate(cells) if at != table.name and quantity_span(cell))
    texts = [_portion(table, cells, at) for at in columns]
    weighed = next((text for text in texts if robust_grams(text)), None)
    return _cell(cells, table.name), weighed if weighed is not None else (texts or [""])[0]


def _portion(table: _Table, cells: list[str], at: int) -> str:
    text = without_emphasis(_cell(cells, at))
    unit = table.units[at] if at < len(table.units) else ""
    if not _BARE.fullmatch(text):
        return text
    if unit:
        return text if unit_of(unit) == "g" else f"{text} {unit}"
    # A bare quantity counts pieces.
    return "" if at in table.counts else text


def _cell(cells: list[str], at: int) -> str:
    return cells[at] if at < len(cells) else ""
