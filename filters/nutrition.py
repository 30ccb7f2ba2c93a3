"""Nutrition of a dish: calories (kcal), protein, carbohydrates and fat (g)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.nutrients import (
    NUTRIENTS,
    convert,
    is_per_100,
    nutrient_of,
    read_amount,
    tidy,
)
from lmms_eval_food.filters.nutrition_text import read_text, states_any
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import strip_official

_OFFICIAL_KEYS = {name: name for name in NUTRIENTS} | {
    "卡路里": "calories",
    "蛋白质": "protein",
    "碳水化合物": "carbohydrates",
    "脂肪": "fat",
}
_FENCE_OPENS = re.compile(r"```(?:json)?\s*(?=\{)")
_FENCE_CLOSES = re.compile(r"\}\s*```")

_BRACKET = re.compile(r"\\boxed\s{0,3}\{|\\?[{}]|[\[\]]")
_TOTAL = re.compile(r"total|overall|final|answer|sum|总|合计|最终|答案")
_AMOUNT_KEYS = ("value", "amount", "数值", "值", "含量")
# An answer names its nutrients in one of its last objects; a loop may hold a million of them.
_MOST_OBJECTS = 1000
# Two amounts for one nutrient may differ by rounding (kJ beside kcal).
_ROUNDING = 0.01


class OfficialNutrition(OfficialFilter):
    """The nutrition object as DiningBench's scripts read it.

    Value: the four nutrients as `float` gives them. After `strip_official` the answer must be JSON;
    else the object in a code fence is, or all from the first to the last brace where there is a
    fence. The object needs all four keys, each in English or Chinese (the first of the two counts),
    and values that `float` takes: ``true``, ``"1e3"``, ``"nan"`` and ``"inf"`` are numbers, "350
    kcal" is not. Unreadable otherwise (the scripts' parse failure).

    Args:
        answer_tag: Whether the model writes its answer in ``<answer>``.

    Source: meituan/DiningBench@516fd54:eval_nutrition.py, evaluate_predictions.
    """

    def __init__(self, answer_tag: bool = False) -> None:
        self._answer_tag = answer_tag

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        answer = strip_official(text, self._answer_tag)
        step = "json"
        parsed = _loads(answer)
        if parsed is None and "```" in answer:
            step = "fence"
            parsed = _loads(_fenced(answer))
        value = _official_value(parsed) if isinstance(parsed, dict) else None
        if value is None:
            return Reading(text, None, Status.UNREADABLE)
        return Reading(text, value, Status.OK, step)


class RobustNutrition(RobustFilter):
    r"""The nutrition a reply states, all four nutrients or nothing.

    Value: kcal and grams, finite and at least 0. The last object (or ``\boxed{…}``, or list) that
    names a nutrient decides, so a final object wins over drafts; an object that is no valid JSON is
    read by `nutrition_text.read_text`, and so is a reply without one. In nested objects the
    outermost level that names nutrients counts; of several objects there, the one called total.

    Names in Chinese and English with common synonyms; values as numbers or text, with units (kJ
    becomes kcal, mg and kg become g), ranges as their midpoint, and separators by the rule of
    `numbers.parse_number`. Negative numbers, NaN, infinities, bounds (``<1 g``), percentages and
    amounts per 100 g are no amounts. In an object that is never closed, an amount at the very
    end of the reply may have lost digits or its unit and does not count.

    Status: ok for valid JSON ("json"), repaired for JSON in full-width signs or curly quotes
    ("tidied") and for the rules "pairs" and "table" of `nutrition_text.read_text`.
    """

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        spans, unclosed = _spans(answer)
        for start, end, boxed in reversed(spans[-_MOST_OBJECTS:]):
            value, step, named = _read_span(answer[start:end])
            if value is not None:
                return _reading(raw, value, step)
            # A box may hold one nutrient of four; an object that names one is the answer.
            if named and not boxed:
                return Reading(raw, None, Status.UNREADABLE)
        value, step = read_text(answer, unclosed and not raw[-1:].isspace())
        return _reading(raw, value, step)


def _reading(raw: str, value: dict[str, float] | None, step: str) -> Reading:
    if value is None:
        return Reading(raw, None, Status.UNREADABLE)
    ordered = {name: value[name] for name in NUTRIENTS}
    return Reading(raw, ordered, Status.OK if step == "json" else Status.REPAIRED, step)


def _loads(text: str) -> Any:
    """Return the JSON value, None where there is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _fenced(text: str) -> str:
    """Return the object in the first fence, else all from the first to the last brace."""
    opening = _FENCE_OPENS.search(text)
    closing = _FENCE_CLOSES.search(text, opening.end()) if opening else None
    if opening and closing:
        return text[opening.end() : closing.start() + 1]
    start, end = text.find("{"), text.rfind("}")
    return text[start : end + 1] if 0 <= start < end else text


def _official_value(parsed: dict[str, Any]) -> dict[str, float] | None:
    found: dict[str, Any] = {}
    for key, value in parsed.items():
        if key in _OFFICIAL_KEYS:
            found.setdefault(_OFFICIAL_KEYS[key], value)
    try:
        return {name: float(found[name]) for name in NUTRIENTS}
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _spans(text: str) -> tuple[list[tuple[int, int, bool]], bool]:
    r"""Return the outermost closed brackets, and whether a brace stays open.

    Each span is (start, end, boxed): an object or a list with its brackets, a ``\boxed{…}``
    without. Brackets that nothing closes are no span; linear time.
    """
    opened: list[tuple[int, int, str]] = []
    waiting = {"{": 0, "[": 0}
    spans: list[tuple[int, int, bool]] = []
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
        while spans and spans[-1][0] >= start:
            spans.pop()
        boxed = text.startswith("\\boxed", start)
        spans.append((inside, match.start(), True) if boxed else (start, match.end(), False))
    return spans, waiting["{"] > 0


def _read_span(text: str) -> tuple[dict[str, float] | None, str, bool]:
    """Return the four nutrients a span holds, by which rule, and whether it names any."""
    parsed, step = _loads(text), "json"
    if parsed is None:
        parsed, step = _loads(tidy(text).replace("\\{", "{").replace("\\}", "}")), "tidied"
    if isinstance(parsed, dict | list):
        found = _outermost(parsed)
        return (_amounts(found) if found else None), step, found is not None
    # Not by json_repair: it drops what it cannot place, so 1464 kJ would become 1464, and 1 200
    # would become 1.
    value, step = read_text(text)
    return value, step, value is not None or states_any(text)


def _outermost(parsed: Any) -> dict[str, Any] | None:
    """Return the object that names nutrients, {} where it is not clear which, None for none."""
    level: list[tuple[str, Any]] = [("", parsed)]
    while level:
        named = [(name, value) for name, value in level if _is_named(value)]
        if len(named) > 1:
            named = [(name, value) for name, value in named if _TOTAL.search(name)]
            return dict(named[0][1]) if len(named) == 1 else {}
        if named:
            return dict(named[0][1])
        level = [child for _, value in level for child in _children(value)]
    return None


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and any(nutrient_of(key) for key in value)


def _children(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the objects and lists in a value, with their keys."""
    if isinstance(value, list):
        yield from (("", child) for child in value if isinstance(child, dict | list))
    elif isinstance(value, dict):
        for key, child in value.items():
            name = tidy(key)
            if isinstance(child, dict | list) and not is_per_100(name):
                yield name, child


def _amounts(found: dict[str, Any]) -> dict[str, float] | None:
    """Return the four nutrients of an object; None where one is missing or stated twice."""
    amounts: dict[str, float] = {}
    for key, value in found.items():
        nutrient, unit = nutrient_of(key) or ("", "")
        amount = _amount(nutrient, value, unit) if nutrient else None
        if amount is None:
            continue
        if not math.isclose(amounts.get(nutrient, amount), amount, rel_tol=_ROUNDING):
            return None
        amounts.setdefault(nutrient, amount)
    return amounts if len(amounts) == len(NUTRIENTS) else None


def _amount(nutrient: str, value: Any, unit: str) -> float | None:
    """Return an object's value in kcal or grams, None where it is no amount."""
    if isinstance(value, str):
        return read_amount(nutrient, value, unit)
    if isinstance(value, dict):
        inner = [value[key] for key in _AMOUNT_KEYS if key in value]
        stated = value.get("unit", value.get("单位", unit))
        if len(inner) != 1 or isinstance(inner[0], dict) or not isinstance(stated, str):
            return None
        return _amount(nutrient, inner[0], tidy(stated).strip())
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return convert(nutrient, number, unit) if math.isfinite(number) and number >= 0 else None
