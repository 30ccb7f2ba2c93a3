"""Markdown tables of foods."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lmms_eval_food.filters.grams import quantity_span

_RULE = re.compile(r"[\s|:+-]+$")
_NAME = re.compile(r"\b(?:items?|foods?|names?|dish(?:es)?|ingredients?|beverages?|components?)\b")
_PORTION = re.compile(r"portions?|weights?|grams?|amounts?|sizes?|serving|quantit|\(g\)")


def table_rows(text: str) -> Iterator[tuple[str, str]]:
    """Yield (name, portion text) of each row of the tables that a rule line follows the head of.

    The columns are found by their heads, else the first column is the name and the first cell with
    a weight the portion. Rows outside such a table are no rows.
    """
    head: list[str] | None = None
    before: list[str] | None = None
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            head, before = None, None
        elif _RULE.match(line.strip()):
            head = before
        else:
            before = _cells(line)
            if head:
                yield _row(head, before)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _row(head: list[str], cells: list[str]) -> tuple[str, str]:
    heads = [cell.lower() for cell in head]
    portion = next((at for at, cell in enumerate(heads) if _PORTION.search(cell)), None)
    name = next((at for at, cell in enumerate(heads) if at != portion and _NAME.search(cell)), 0)
    if portion is None:
        weighed = (at for at, cell in enumerate(cells) if at != name and quantity_span(cell))
        portion = next(weighed, None)
    return _cell(cells, name), _cell(cells, portion)


def _cell(cells: list[str], at: int | None) -> str:
    return cells[at] if at is not None and at < len(cells) else ""
