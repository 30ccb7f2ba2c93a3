"""Nutrition of a dish: calories (kcal), protein, carbohydrates and fat (g)."""

from __future__ import annotations

import re
from typing import Any

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.nutrients import NUTRIENTS, PER_100, is_per_100, tidy
from lmms_eval_food.filters.nutrition_objects import (
    Stated,
    load_json,
    outermost_spans,
    read_span,
)
from lmms_eval_food.filters.nutrition_text import announces, read_text
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

# An answer names its nutrients in one of its last objects; a loop may hold a million of them.
_MOST_OBJECTS = 1000
# The words before an object: what its line or sentence says, past a fence or markup.
_LONGEST_LEAD = 300
_FENCE = re.compile(r"```\w{0,10}")
_SENTENCE_END = re.compile(r"[\n。;!?]|\.\s")
# "{…} (per 100 g)", but not where it leads to the next object.
_PER_100_BEHIND = re.compile(
    rf"[ \t`*(\[,-]{{0,8}}(?:(?:all|values?|amounts?)[ \t]){{0,2}}{PER_100}(?![^\n{{]{{0,60}}[:{{])"
)


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
        parsed = load_json(answer)
        if parsed is None and "```" in answer:
            step = "fence"
            parsed = load_json(_fenced(answer))
        value = _official_value(parsed) if isinstance(parsed, dict) else None
        if value is None:
            return Reading(text, None, Status.UNREADABLE)
        return Reading(text, value, Status.OK, step)


class RobustNutrition(RobustFilter):
    r"""The nutrition a reply states, all four nutrients or nothing.

    Value: kcal and grams, finite and at least 0. What decides, in this order:

    1. The last ``\boxed{…}`` that names all four nutrients, wherever it stands.
    2. The last object or list that does; so a final object wins over drafts. Passed over: amounts
       per 100 g, said on the line before the object or right behind it; and later fragments, which
       name fewer than four (``Without the rice: {"calories": 200}``). A fragment that differs and
       that is announced as final or corrected, or cut off, leaves the answer in doubt: unreadable.
    3. The text, by `nutrition_text.read_text`, where no object names a nutrient but one that was
       cut off.

    What decides by 1 or 2 and cannot be read is unreadable: no draft takes its place. An object is
    read by `nutrition_objects.read_span`.

    Names in Chinese and English with common synonyms; values as numbers or text, with units (kJ
    becomes kcal, mg and kg become g; `nutrients.convert` has the rule), ranges as their midpoint,
    and separators by the rule of `numbers.parse_number`. Negative numbers, NaN, infinities, bounds
    (``<1 g``), percentages, units that are not converted and amounts per 100 g are no amounts. In
    an object that is never closed, an amount at the very end of the reply may have lost digits or
    its unit and does not count.

    Status: ok for valid JSON ("json"), repaired for JSON in full-width signs or curly quotes
    ("tidied") and for the rules "pairs" and "table" of `nutrition_text.read_text`.
    """

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        spans = outermost_spans(answer)
        cut_short = bool(spans) and not spans[-1].closed and not raw[-1:].isspace()
        spans = spans[-_MOST_OBJECTS:]
        for span in reversed(spans):
            said = read_span(answer[span.start : span.end]) if span.boxed else None
            if said and said.names_all:
                return _reading(raw, said.amounts, said.step)
        final: list[Stated] = []
        passed = False
        for n in reversed(range(len(spans))):
            span = spans[n]
            if span.boxed:  # one that names some of the four is read with the text around it
                continue
            said = read_span(answer[span.start : span.end], cut_short and not span.closed)
            if not said.names_any:
                continue
            lead = _lead(answer, spans[n - 1].end if n else 0, span.start)
            if not (is_per_100(lead) or _PER_100_BEHIND.match(_behind(answer, span.end))):
                if said.names_all:
                    doubted = any(_differs(part, said) for part in final)
                    return _reading(raw, {} if doubted else said.amounts, said.step)
                final += [said] if announces(lead) or not span.closed else []
            passed = passed or span.closed
        if passed:
            return Reading(raw, None, Status.UNREADABLE)
        value, step = read_text(answer, cut_short)
        return _reading(raw, value or {}, step)


def _differs(part: Stated, whole: Stated) -> bool:
    """Tell whether a fragment states, or may state, something else than a whole answer."""
    return not part.amounts or bool(part.amounts.items() - whole.amounts.items())


def _lead(text: str, after: int, start: int) -> str:
    """Return the tidied words that lead to an object: the end of their line or sentence."""
    words = tidy(text[max(after, start - _LONGEST_LEAD) : start])
    return _SENTENCE_END.split(_FENCE.sub("", words).rstrip(" \t\n`*#:.。"))[-1]


def _behind(text: str, end: int) -> str:
    return tidy(text[end : end + _LONGEST_LEAD])


def _reading(raw: str, amounts: dict[str, float], step: str) -> Reading:
    if len(amounts) != len(NUTRIENTS):
        return Reading(raw, None, Status.UNREADABLE)
    ordered = {name: amounts[name] for name in NUTRIENTS}
    return Reading(raw, ordered, Status.OK if step == "json" else Status.REPAIRED, step)


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
