"""Lists and reports of foods, read by rule: bullets, numbers, tables, headings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from lmms_eval_food.filters.food_lines import (
    Portion,
    is_no_food,
    may_be_nutrient,
    portion_of,
    split_line,
    without_confidence,
)
from lmms_eval_food.filters.numbers import fold_width
from lmms_eval_food.filters.quantities import quantity_span
from lmms_eval_food.filters.tables import outside_tables, table_rows

_BULLET = re.compile(r"(?P<indent>[ \t]*)[-*•‣◦·–+]\s+(?P<text>\S.*)")
_NUMBERED = re.compile(
    r"(?P<indent>[ \t]*)[*_]{0,3}"
    r"(?:\(?\d{1,3}[.)、:](?!\d)|\(?[a-zA-Z]\)(?=\s)|[①-⑳])\s*(?P<text>\S.*)"
)
_HEADING = re.compile(r"(?P<indent>)(?:#{1,6}\s+|(?=\*\*[^*]{1,120}\*\*:?$))(?P<text>\S.*)")
_NUMBER_MARK = re.compile(r"(?:^|(?<=[\s,;.:]))[*_]{0,3}(?P<number>\d{1,3})[.)、](?!\d)\s*")
_LEADING_NUMBER = re.compile(r"^[\s*_]{0,8}\d{1,3}[.)、:](?!\d)\s*")
# A line without a mark is an entry only where it is a name and a weight and nothing else.
_PLAIN = re.compile(
    r"[^:.;|\d]{1,60}?(?::|\s[-–—=]\s|\s?\()\s?"
    r"(?:about |approx[a-z.]{0,9} |around |[~≈])?\d[\d,.]{0,10}[^.:;,]{0,40}"
)
_KINDS = (("numbered", _NUMBERED), ("bullet", _BULLET), ("heading", _HEADING))


@dataclass(slots=True)
class _Entry:
    """One thing a list names, with the lines below it."""

    kind: str
    indent: int
    head: str
    portion: Portion | None = None
    details: list[str] = field(default_factory=list)


def read_list(text: str) -> list[Portion]:
    """Return the foods that a list or report names, in order; [] for running prose.

    Of bullets, numbers, table rows, headings and plain "Rice: 150 g" lines, the kind that gives
    most weights is the list (then the one with most entries), so a list that is repeated as a
    table counts once; a repeat inside the list stays. A heading or plain line counts only with a
    weight. Linear time.
    """
    entries = list(_table_entries(text)) + _line_entries(text)
    nutrients = any(
        split_line(line).is_nutrient for entry in entries for line in (entry.head, *entry.details)
    )
    kinds: dict[str, list[Portion]] = {}
    for entry in entries:
        food = _food(entry)
        if food is not None and not (nutrients and may_be_nutrient(food.name)):
            kinds.setdefault(entry.kind, []).append(food)
    if not kinds:
        return []
    return max(
        kinds.values(), key=lambda foods: (sum(food.has_grams for food in foods), len(foods))
    )


def _table_entries(text: str) -> Iterator[_Entry]:
    for name, portion in table_rows(text):
        food = None if is_no_food(name, portion) else portion_of(name, portion)
        yield _Entry("table", 0, name, portion=food)


def _line_entries(text: str) -> list[_Entry]:
    entries: list[_Entry] = []
    for line in map(str.rstrip, outside_tables(text)):
        parts = _numbered_parts(line)
        if len(parts) > 1:
            entries += [_Entry("numbered", 0, part) for part in parts]
        else:
            _add_line(entries, line)
    return entries


def _add_line(entries: list[_Entry], line: str) -> None:
    """Add a line as an entry of its own or as a detail of the one before."""
    kind, match = next(
        ((kind, match) for kind, mark in _KINDS if (match := mark.match(line))), ("plain", None)
    )
    head = match["text"] if match else line.strip()
    indent = len(match["indent"].expandtabs(4)) if match else 0
    previous = entries[-1] if entries else None
    if not head:
        return
    if previous and _is_detail(previous, kind, indent, head):
        previous.details.append(head)
        return
    if previous and indent > previous.indent:
        previous.kind = "group"
    if kind == "heading":
        entries.append(_Entry(kind, indent, _LEADING_NUMBER.sub("", head)))
    else:
        entries.append(_Entry(kind, indent, head))


def _is_detail(previous: _Entry, kind: str, indent: int, head: str) -> bool:
    """Tell whether a line says more about the entry before it."""
    if kind in ("heading", "numbered") and indent <= previous.indent:
        return False
    line = split_line(head)
    if line.is_label:
        return True
    if indent <= previous.indent or previous.kind not in ("numbered", "bullet"):
        return False
    # Below an entry without a weight, lines with one are the entries and it is their group.
    return bool(split_line(previous.head).portion) or not quantity_span(line.portion)


def _food(entry: _Entry) -> Portion | None:
    """Return the food an entry names, with the portion its details give; None for no food."""
    if entry.portion or entry.kind in ("group", "table"):
        return entry.portion
    line = split_line(entry.head)
    if line.is_label or line.is_prose:
        return None
    if entry.kind == "plain" and not (
        line.is_named or _PLAIN.fullmatch(without_confidence(fold_width(entry.head)))
    ):
        return None
    food = portion_of(line.name, line.portion)
    for detail in entry.details:
        below = split_line(detail)
        if not (food and food.has_grams) and below.gives_portion:
            food = portion_of(line.name, below.portion)
    needs_grams = entry.kind in ("heading", "plain")
    return None if food and needs_grams and not food.has_grams else food


def _numbered_parts(line: str) -> list[str]:
    """Return the parts of a line that holds several numbers in sequence ("1. Rice, 2. Tofu")."""
    starts: list[tuple[int, int]] = []
    expected = None
    for mark in _NUMBER_MARK.finditer(line):
        number = int(mark["number"])
        if number == expected or (expected is None and (number == 1 or mark.start() == 0)):
            starts.append(mark.span())
            expected = number + 1
    starts.append((len(line), len(line)))
    return [line[begin:end].strip(" ,;") for (_, begin), (end, _) in itertools.pairwise(starts)]
