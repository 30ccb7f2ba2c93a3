"""Portion texts read as grams, the paper's way and ours."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from lmms_eval_food.filters.numbers import compose, fold_width, parse_number

_OFFICIAL_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*[-–~]\s*(\d+(?:\.\d+)?)")
_OFFICIAL_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_METRIC = {"g": 1.0, "kg": 1000.0, "mg": 0.001}
_IMPERIAL = {"oz": 28.349523125, "lb": 453.59237}
# Millilitres, taken at 1 g/ml.
_VOLUME = {"ml": 1.0, "cl": 10.0, "dl": 100.0, "l": 1000.0, "fl oz": 29.5735295625}
_SPELLINGS = {
    "g": r"g|gr|gm|gms|grams?|grammes?|克|公克",
    "kg": r"kg|kgs|kilos?|kilograms?|kilogrammes?|千克|公斤",
    "mg": r"mg|milligrams?|毫克",
    "fl oz": r"fl\.?\s?oz|fluid\sounces?",
    "oz": r"oz|ounces?",
    "lb": r"lbs?|pounds?",
    "ml": r"ml|cc|millilit(?:er|re)s?|毫升",
    "cl": r"cl|centilit(?:er|re)s?",
    "dl": r"dl|decilit(?:er|re)s?",
    "l": r"l|lit(?:er|re)s?|升",
}
_NAMES = {f"u{index}": unit for index, unit in enumerate(_SPELLINGS)}
_UNIT = "|".join(f"(?P<{name}>{_SPELLINGS[unit]})" for name, unit in _NAMES.items())
_ANY_UNIT = "|".join(_SPELLINGS.values())

_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
_NUMBER = (
    r"(?<![\d.,/])(?:(?:\d{1,4}\s)?\d{1,4}/\d{1,4}|\d{0,4}[½¼¾⅓⅔]"
    r"|\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)*)"
)
# "and" joins two quantities, except after "between".
_BETWEEN = r"\s{0,3}(?:[-–—~〜至到]|to|or|(?(between)and|to))\s{0,3}"
_QUANTITY = re.compile(
    rf"(?<!per )(?P<between>between\s)?(?P<low>{_NUMBER})"
    rf"(?:\s{{0,3}}(?:{_ANY_UNIT})?{_BETWEEN}(?P<high>{_NUMBER}))?"
    rf"\s{{0,3}}[-(]?(?:{_UNIT})(?![a-z])"
)
_BARE = re.compile(
    r"(?:(?:approximately|approx|about|around|roughly|circa|ca|c|estimated|est|from)\.?\s"
    rf"|[~≈≤<>约])*\s*(?P<between>between\s)?(?P<low>{_NUMBER})(?:{_BETWEEN}(?P<high>{_NUMBER}))?"
    r"\s*(?:\((?:approx(?:imately|\.)?|estimated|est\.?|about|uncertain)\)|approx(?:imately|\.)?)?[.\s]*"
)

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_EACH = re.compile(r"\b(?:each|apiece|per (?:piece|slice|unit|item|portion|ball|roll|half))\b")
_COUNT = re.compile(
    rf"(?<![\d.,/])(?P<count>\d{{1,2}}|{'|'.join(_WORDS)})\b"
    rf"(?![.,/]\d|\s{{0,3}}(?:%|[-–—]\s?\d|(?:{_ANY_UNIT})(?![a-z])))"
)
_TIMES_BEFORE = re.compile(r"(?<![\d.,/])(?P<count>\d{1,2})\s{0,3}[x×*]\s{0,3}$")
_TIMES_AFTER = re.compile(r"\s{0,3}[x×*]\s{0,3}(?P<count>\d{1,2})(?![\d.,/])")


@dataclass(frozen=True, slots=True)
class Grams:
    """A portion in grams.

    Attributes:
        grams: Weight in g, finite, >= 0.
        marks: How it was read: "ml_as_g" (a volume at 1 g/ml), "range" (midpoint of two numbers),
            "count" (one piece's weight times the count), "each" (one piece's weight, no count).
    """

    grams: float
    marks: tuple[str, ...] = ()


def official_grams(text: str) -> float | None:
    """Return the portion in grams as the paper's analysis reads it.

    The text is lower-cased and "grams", "gram" and every "g" are taken out. A text that is a bare
    range (``-``, ``–``, ``~``) is its midpoint; else the first number in it counts, whatever its
    unit and sign: "200 ml" is 200, "1,200 g" is 1, "0.2 kg" is 0.2. None without a digit, and
    where the number is too large for a float.

    Source: Metabolic-Intelligence-Lab/vlm-food-benchmark@d1199b5:analysis/evaluation.py,
    extract_grams_robust.

    >>> official_grams("100-150 g"), official_grams("200 ml"), official_grams("uncertain")
    (125.0, 200.0, None)
    """
    bare = text.lower().replace("grams", "").replace("gram", "").replace("g", "").strip()
    if both := _OFFICIAL_RANGE.fullmatch(bare):
        return _finite((float(both[1]) + float(both[2])) / 2)
    number = _OFFICIAL_NUMBER.search(bare)
    return _finite(float(number.group())) if number else None


def robust_grams(text: str) -> Grams | None:
    """Return the portion in grams with its units minded, None where the text gives no weight.

    g, kg, mg, oz and lb are converted, volumes are taken at 1 g/ml. Where several quantities
    stand in the text, the first metric weight counts, else the first imperial one, else the
    first volume. Two numbers of one quantity are a range: its midpoint. "50 g each" and "3 x 50 g"
    are multiplied where the text has the count. A text that is nothing but a number or a range,
    with or without "about", is in grams. Cups, slices and pieces give no weight.

    >>> robust_grams("about 0.2 kg"), robust_grams("two slices")
    (Grams(grams=200.0, marks=()), None)
    """
    folded = compose(fold_width(text)).lower().strip()
    found = list(_quantities(folded))
    for units in (_METRIC, _IMPERIAL, _VOLUME):
        for match, unit in found:
            if unit in units:
                return _converted(folded, match, units[unit], units is _VOLUME)
    bare = _BARE.fullmatch(folded)
    return _of(bare, 1.0, ()) if bare else None


def quantity_span(text: str) -> tuple[int, int] | None:
    """Return where the first number with a unit of weight or volume stands in the text."""
    match = _QUANTITY.search(text.lower()) if len(text.lower()) == len(text) else None
    return match.span() if match else None


def _quantities(text: str) -> list[tuple[re.Match[str], str]]:
    return [(match, _NAMES[str(match.lastgroup)]) for match in _QUANTITY.finditer(text)]


def _converted(text: str, match: re.Match[str], factor: float, volume: bool) -> Grams | None:
    marks: tuple[str, ...] = ("ml_as_g",) if volume else ()
    count = _factor(text, match)
    if count is not None:
        factor *= count
        marks += ("count",)
    elif _EACH.search(text, match.end()):
        marks += ("each",)
    return _of(match, factor, marks)


def _factor(text: str, match: re.Match[str]) -> int | None:
    """Return how many pieces the quantity is to be taken times, None where the text has none."""
    before = _TIMES_BEFORE.search(text, max(0, match.start() - 10), match.start())
    times = before or _TIMES_AFTER.match(text, match.end())
    if times:
        return int(times["count"])
    if not _EACH.search(text, match.end()):
        return None
    rest = f"{text[: match.start()]} \n {text[match.end() :]}"
    count = _COUNT.search(rest)
    if count is None:
        return None
    found = count["count"]
    return _WORDS.index(found) + 1 if found in _WORDS else int(found)


def _of(match: re.Match[str], factor: float, marks: tuple[str, ...]) -> Grams | None:
    low = _value(match["low"])
    high = _value(match["high"]) if match["high"] else low
    if low is None or high is None:
        return None
    grams = _finite((low + high) / 2 * factor)
    if match["high"]:
        marks = (*marks, "range")
    return None if grams is None else Grams(grams, marks)


def _value(number: str) -> float | None:
    """Return the value of a number, a fraction or a whole number and a fraction."""
    if number[-1] in _FRACTIONS:
        return float(number[:-1] or 0) + _FRACTIONS[number[-1]]
    whole, _, fraction = number.rpartition(" ")
    if "/" in fraction:
        top, bottom = fraction.split("/")
        return float(whole or 0) + float(top) / float(bottom) if float(bottom) else None
    return parse_number(number)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
