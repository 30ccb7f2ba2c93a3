"""Numbers with units of weight or volume, found in any text in linear time."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lmms_eval_food.filters.numbers import parse_number

# Grams of one unit; millilitres at 1 g/ml. The families in the order in which they count.
FAMILIES = {
    "metric": {"g": 1.0, "kg": 1000.0, "mg": 0.001},
    "imperial": {"oz": 28.349523125, "lb": 453.59237},
    "volume": {"ml": 1.0, "cl": 10.0, "dl": 100.0, "l": 1000.0, "fl oz": 29.5735295625},
}
_FACTORS = {
    unit: (family, factor) for family, units in FAMILIES.items() for unit, factor in units.items()
}
_SPELLINGS = {
    "g": r"g|gr|gm|gms|grams?|grammes?|gramm[io]?|gramos?|гр?|грамма?|グラム|그램|กรัม|克|公克",
    "kg": r"kg|kgs|kilos?|kilograms?|kilogrammes?|кг|千克|公斤",
    "mg": r"mg|milligrams?|毫克",
    "fl oz": r"fl\.?\s?oz|fluid\sounces?",
    "oz": r"oz|ounces?",
    "lb": r"lbs?|pounds?",
    "ml": r"ml|cc|mill?ilit(?:er|re|ro)s?|millilitri|мл|毫升",
    "cl": r"cl|centilit(?:er|re)s?",
    "dl": r"dl|decilit(?:er|re)s?",
    "l": r"l|lit(?:er|re|ro)s?|litri|升",
}
UNIT = "|".join(_SPELLINGS.values())
# A unit in Latin or Cyrillic letters ends there; 克 may be followed by the next word.
_UNIT_END = r"(?![a-zà-öø-ÿа-я])"
_SMALLER = {"kg": "g", "lb": "oz", "l": "ml"}

_FRACTIONS = {"½": 0.5, "¼": 0.25, "¾": 0.75, "⅓": 1 / 3, "⅔": 2 / 3}
# Every repeat is bounded: a text of numbers only must not be tried from each number to its end.
NUMBER = (
    r"(?:(?:\d{1,4}[ \u00a0])?\d/\d{1,2}(?![\d/])|(?:\d{1,4}[ \u00a0]?)?[½¼¾⅓⅔]"
    r"|\d{1,3}(?:[ \u00a0\u2009\u202f'’]\d{3}){1,3}(?:[.,]\d{1,9})?(?!\d)"
    r"|\d{1,15}(?:[.,]\d{1,15}){0,4}(?:e[+-]?\d{1,6})?(?!\d))"
)
# Not inside another number, not what a tolerance or "per 100 g" gives.
_FRESH = (
    r"(?<![\d.,])(?<!\d/)(?<!\d/ )(?<!cal/)(?<!cal / )(?<!kj/)(?<!\de)(?<!\de[+-])"
    r"(?<!±)(?<!± )(?<!\+/-)(?<!\+/- )(?<!per )"
)
# "and" joins two quantities, except after "between".
_BETWEEN = r"\s{0,3}(?:[-–—~〜至到]|to|or|bis|à|から|(?(between)and|to))\s{0,3}"
TOLERANCE = rf"\s{{0,3}}(?:±|\+/?-)\s{{0,3}}{NUMBER}"
START = rf"{_FRESH}(?P<between>between\s)?(?P<low>{NUMBER})"
SPAN = (
    rf"(?:\s{{0,3}}(?P<first>{UNIT})?{_BETWEEN}(?P<high>{NUMBER})"
    rf"|\s?/\s?(?P<other>{NUMBER})|{TOLERANCE})?"
)
_QUANTITY = re.compile(
    rf"{START}{SPAN}(?:\+|\.(?=[a-z]))?\s{{0,3}}[-(]?(?P<unit>{UNIT}){_UNIT_END}"
)
# "150 g to 200": the unit stands at the first number only.
_UNIT_AHEAD = re.compile(
    rf"(?:\s{{0,3}}(?:to|bis)\s{{1,3}}|[-–—])(?P<high>{NUMBER})(?=\s{{0,3}}(?:$|[,;.()]))"
)
_TIMES = re.compile(r"(?<![\d.,/])\d{1,2}(?:\s?[-–]\s?\d{1,2})?\s{0,3}[x×*]\s{0,3}$")
_JOIN = re.compile(r"\s{0,3}(?:and\s)?$")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A weight or volume in a text.

    Attributes:
        start: Where its first number begins.
        end: Where its unit ends.
        unit: A key of `FAMILIES`' units.
        grams: In g, >= 0, volumes at 1 g/ml; None for a number that cannot be read.
        is_range: Two numbers, `grams` being their middle.
    """

    start: int
    end: int
    unit: str
    grams: float | None
    is_range: bool

    @property
    def family(self) -> str:
        """A key of `FAMILIES`."""
        return _FACTORS[self.unit][0]


def quantities(text: str) -> Iterator[Quantity]:
    """Yield the quantities of a text in lower case, in order.

    Two numbers of one quantity are a range ("100-150 g", "100 g to 150", "100/150 g"); a tolerance
    ("100 ± 20 g") leaves its middle. "1 kg 200 g" and "1 lb 4 oz" are one quantity. One digit over
    one or two is a fraction. A minus at the beginning of the text or of a bracket, and a number
    that is not finite, make a quantity without a value.
    """
    last: Quantity | None = None
    for match in _QUANTITY.finditer(text):
        found = _quantity(text, match)
        if last is None:
            last = found
        elif joined := _joined(text, last, found):
            last = joined
        else:
            yield last
            last = found
    if last is not None:
        yield last


def quantity_span(text: str) -> tuple[int, int] | None:
    """Return where the first quantity of a text stands, with the "2 x" before it."""
    lowered = text.lower()
    match = _QUANTITY.search(lowered) if len(lowered) == len(text) else None
    if match is None:
        return None
    times = _TIMES.search(lowered, max(0, match.start() - 12), match.start())
    return (times.start() if times else match.start()), match.end()


def unit_of(text: str) -> str | None:
    """Return the unit that a text names, as a key of `FAMILIES`' units; None for another text.

    >>> unit_of("Kilograms"), unit_of("cup")
    ('kg', None)
    """
    return _unit_of(text.strip().lower()) if len(text) < 40 else None


def factor_of(unit: str) -> float:
    """Return the grams of one unit, a key of `FAMILIES`' units."""
    return _FACTORS[unit][1]


def middle(match: re.Match[str], unit: str) -> tuple[float | None, bool]:
    """Return the grams of a match of `START` and `SPAN`, and whether they are a range's middle."""
    factor = factor_of(unit)
    first, low = match["first"], value_of(match["low"])
    if low is None:
        return None, False
    other = match["high"] or match["other"]
    if other is None:
        return _finite(low * factor), False
    high = value_of(other)
    # "1/150" is neither a fraction nor a range.
    if high is None or (match["other"] and (len(match["low"]) < 2 or high < low)):
        return None, False
    own = (_unit_of(first) if first else None) or unit
    if _FACTORS[own][0] != _FACTORS[unit][0]:
        return None, False
    low *= factor_of(own)
    return _finite((low + high * factor) / 2), True


def value_of(number: str) -> float | None:
    """Return the value of a number, a fraction or a whole number and a fraction."""
    if number[-1] in _FRACTIONS:
        return float(number[:-1] or 0) + _FRACTIONS[number[-1]]
    whole, _, fraction = number.replace("\u00a0", " ").rpartition(" ")
    if "/" in fraction:
        top, bottom = fraction.split("/")
        return float(whole or 0) + float(top) / float(bottom) if float(bottom) else None
    return parse_number(number)


@functools.lru_cache(maxsize=256)
def _unit_of(text: str) -> str | None:
    return next((unit for unit, form in _SPELLINGS.items() if re.fullmatch(form, text)), None)


def _quantity(text: str, match: re.Match[str]) -> Quantity:
    unit = _unit_of(match["unit"]) or "g"
    grams, is_range = middle(match, unit)
    end = match.end()
    ahead = None if is_range else _UNIT_AHEAD.match(text, end)
    if ahead and grams is not None:
        high = value_of(ahead["high"])
        if high is not None and high * factor_of(unit) >= grams:
            grams, is_range, end = (grams + high * factor_of(unit)) / 2, True, ahead.end()
    if _is_negative(text, match.start()):
        grams = None
    return Quantity(match.start(), end, unit, grams, is_range)


def _is_negative(text: str, start: int) -> bool:
    if start == 0 or text[start - 1] not in "-−":
        return False
    return text[max(0, start - 12) : start - 1].rstrip(" ~")[-1:] in ("", "(", ":", "=")


def _joined(text: str, first: Quantity, second: Quantity) -> Quantity | None:
    """Return "1 kg 200 g" as one quantity; None where the two are not written as one."""
    if _SMALLER.get(first.unit) != second.unit or first.is_range or second.is_range:
        return None
    if first.grams is None or second.grams is None or second.grams >= factor_of(first.unit):
        return None
    if second.start - first.end > 8 or not _JOIN.match(text, first.end, second.start):
        return None
    return replace(first, end=second.end, grams=first.grams + second.grams)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
