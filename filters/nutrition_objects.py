"""The four nutrients in objects: where a reply's objects are, and what one of them states."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lmms_eval_food.filters.nutrients import (
    NUTRIENTS,
    PER_100,
    convert,
    is_per_100,
    nutrient_of,
    tidy,
    unit_key_of,
)
from lmms_eval_food.filters.nutrition_amounts import read_amount
from lmms_eval_food.filters.nutrition_text import names_all, read_text, states_any

_BRACKET = re.compile(r"\\boxed\s{0,3}\{|\\?[{}]|[\[\]]")
# "Whole wheat bread", "dim sum" and 总汇 (club sandwich) are dishes.
_TOTAL = re.compile(
    r"total|(?<![a-z])(?:overall|final|answer|whole[ _-]?(?:dish|meal|plate|portion|bowl))(?![a-z])"
    r"|^sum$|[总總](?!汇|匯|会)|合计|合計|最终|答案|整[道份盘碗体餐]",
    re.MULTILINE,
)
_BASIS_PER_100 = re.compile(rf"\s{{0,3}}\(?{PER_100}\w{{0,5}}\)?\s{{0,3}}")
_AMOUNT_KEYS = ("value", "amount", "quantity", "total", "数值", "值", "含量", "数量", "总量")
_UNIT_KEYS = ("unit", "units", "单位")
# Two amounts for one nutrient may differ by rounding (kJ beside kcal).
_ROUNDING = 0.01


@dataclass(frozen=True, slots=True)
class Span:
    r"""Where an object, a list or the content of a box stands in a reply.

    Attributes:
        start: Where it begins.
        end: Where it ends; the end of the reply where nothing closes it.
        boxed: It is the content of a ``\boxed{…}``.
        closed: Something closes it.
    """

    start: int
    end: int
    boxed: bool = False
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Stated:
    """What an object states.

    Attributes:
        amounts: kcal or grams of each nutrient that can be read; empty where none can, where it is
            not clear which of several objects counts, and where two amounts contradict each other.
        names_any: It names at least one nutrient.
        names_all: It names all four, in one object.
        step: The rule that read it.
    """

    amounts: dict[str, float]
    names_any: bool
    names_all: bool
    step: str


def load_json(text: str) -> Any:
    """Return the JSON value, None where there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def outermost_spans(text: str) -> list[Span]:
    r"""Return the outermost brackets of a text in order, those of boxes without the box.

    Brackets that nothing closes are no span. Where a brace is left open the reply was cut off, and
    what follows the last closed span, or the brace behind it, is the last span. Linear time.
    """
    opened: list[tuple[int, int, str]] = []
    waiting = {"{": 0, "[": 0}
    spans: list[Span] = []
    starts: list[int] = []
    for match in _BRACKET.finditer(text):
        sign = match.group()[-1]
        if sign in waiting:
            opened.append((match.start(), match.end(), sign))
            waiting[sign] += 1
            continue
        wanted = "{" if sign == "}" else "["
        if not waiting[wanted]:
            continue
        start, inside, kind = opened.pop()
        while kind != wanted:
            waiting[kind] -= 1
            start, inside, kind = opened.pop()
        waiting[kind] -= 1
        while starts and starts[-1] >= start:
            starts.pop()
            spans.pop()
        boxed = text.startswith("\\boxed", start)
        starts.append(start)
        spans.append(Span(inside, match.start(), True) if boxed else Span(start, match.end()))
    if waiting["{"]:
        after = spans[-1].end if spans else 0
        cut = next((at for at, _, kind in opened if kind == "{" and at >= after), after)
        spans.append(Span(cut, len(text), closed=False))
    return spans


def read_span(text: str, cut_short: bool = False) -> Stated:
    """Return what an object, a list or the content of a box states of the four nutrients.

    In nested objects the outermost level that names nutrients counts; of several objects there,
    the one called total. An object in it may hold those of the four that it lacks ("macros"). What
    is no valid JSON is read as text.

    Args:
        text: The object with its brackets, or the content of a box.
        cut_short: The text may end within an amount, so one at its very end does not count.
    """
    parsed, step = load_json(text), "json"
    if parsed is None:
        parsed, step = load_json(tidy(text).replace("\\{", "{").replace("\\}", "}")), "tidied"
    if isinstance(parsed, dict | list):
        found = [_with_rest(value) for value in _outermost(parsed)]
        whole = any(_nutrients(value) == set(NUTRIENTS) for value in found)
        return Stated(_amounts(found[0]) if len(found) == 1 else {}, bool(found), whole, step)
    # Not by json_repair: it drops what it cannot place, so 1464 kJ would become 1464, and 1 200
    # would become 1.
    value, step = read_text(text, cut_short)
    if value:
        return Stated(value, True, True, step)
    named = states_any(text)
    return Stated({}, named, named and names_all(text), step)


def _outermost(parsed: Any) -> list[dict[str, Any]]:
    """Return the objects of the outermost level that names nutrients: the one called total."""
    level: list[tuple[str, Any]] = [("", parsed)]
    while level:
        named = [(name, value) for name, value in level if _nutrients(value)]
        totals = [(name, value) for name, value in named if _TOTAL.search(name)]
        if named:
            return [value for _, value in (totals if len(totals) == 1 else named)]
        level = [child for _, value in level for child in _children(value)]
    return []


def _with_rest(found: dict[str, Any]) -> dict[str, Any]:
    """Return an object with the nutrients it lacks, where one object in it has them.

    ``{"calories": 350, "macros": {"protein": 12, "carbs": 40, "fat": 8}}``
    """
    names = _nutrients(found)
    rest = [value for _, value in _children(found) if _nutrients(value) == set(NUTRIENTS) - names]
    return {**rest[0], **found} if len(rest) == 1 and len(names) < len(NUTRIENTS) else found


def _nutrients(value: Any) -> set[str]:
    """Return the nutrients that an object names."""
    return {_nutrient(key) for key in value} - {""} if isinstance(value, dict) else set()


def _nutrient(key: str) -> str:
    return (nutrient_of(key) or ("", ""))[0]


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects and lists in a value, with their keys."""
    if isinstance(value, list):
        yield from ((_title(child), child) for child in value if isinstance(child, dict | list))
    elif isinstance(value, dict):
        for key, child in value.items():
            name = tidy(key)
            if isinstance(child, dict | list) and not is_per_100(name):
                yield name, child


def _title(child: Any) -> str:
    """Return the texts of an object of a list, one of which may call it the total."""
    texts = child.values() if isinstance(child, dict) else ()
    return tidy("\n".join(text[:100] for text in texts if isinstance(text, str)))


def _amounts(found: dict[str, Any]) -> dict[str, float]:
    """Return the nutrients of an object that can be read.

    None where one is stated twice, and where the object says that it is about 100 g.
    """
    if any(
        isinstance(value, str) and _BASIS_PER_100.fullmatch(tidy(value[:40]))
        for value in found.values()
    ):
        return {}
    units = _units(found)
    amounts: dict[str, float] = {}
    for key, value in found.items():
        nutrient, unit = nutrient_of(key) or ("", "")
        amount = _amount(nutrient, value, unit or units.get(nutrient, "")) if nutrient else None
        if amount is None:
            continue
        if not math.isclose(amounts.get(nutrient, amount), amount, rel_tol=_ROUNDING):
            return {}
        amounts.setdefault(nutrient, amount)
    return amounts


def _units(found: dict[str, Any]) -> dict[str, str]:
    """Return the units that keys of their own state: ``calories_unit``, or an object of units."""
    stated = {unit_key_of(key): value for key, value in found.items()}
    for key in _UNIT_KEYS:
        inner = found.get(key)
        if isinstance(inner, dict):
            stated |= {_nutrient(name): value for name, value in inner.items()}
    return {name: _unit(value) for name, value in stated.items() if name}


def _unit(value: Any) -> str:
    """Return a unit as it is converted; what is no text is a unit nobody knows."""
    return tidy(value).strip() if isinstance(value, str) else "?"


def _amount(nutrient: str, value: Any, unit: str) -> float | None:
    """Return an object's value in kcal or grams, None where it is no amount."""
    if isinstance(value, str):
        return read_amount(nutrient, value, unit)
    if isinstance(value, dict):
        inner = [value[key] for key in _AMOUNT_KEYS if key in value]
        if len(inner) != 1 or isinstance(inner[0], dict):
            return None
        stated = next((_unit(value[key]) for key in _UNIT_KEYS if key in value), unit)
        return _amount(nutrient, inner[0], stated)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return convert(nutrient, number, unit) if math.isfinite(number) and number >= 0 else None
