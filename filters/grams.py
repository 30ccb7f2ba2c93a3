"""Portion texts read as grams, the paper's way and ours."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass

from lmms_eval_food.filters.numbers import compose, fold_width
from lmms_eval_food.filters.quantities import (
    FAMILIES,
    SPAN,
    START,
    TOLERANCE,
    UNIT,
    Quantity,
    middle,
    quantities,
    unit_of,
)

_OFFICIAL_RANGE = re.compile(r"(\d+(?:\.\d+)?)\s*[-–~]\s*(\d+(?:\.\d+)?)")
_OFFICIAL_NUMBER = re.compile(r"\d+(?:\.\d+)?")

_LONGEST_BARE = 100
_ABOUT = (
    r"(?:approximately|approx|about|around|roughly|circa|ca|c|estimated|est|from)\.?\s|[~≈≤<>约]"
)
# "2*100", "about 100 to 150 (estimated)", "grams: 150", "150 g" without its unit.
_BARE = re.compile(
    rf"(?:(?P<unit>{UNIT})\s?[:=]?\s)?(?:{_ABOUT}){{0,3}}\s{{0,3}}"
    rf"(?:(?P<count>\d{{1,2}})\s{{0,3}}[x×*]\s{{0,3}})?{START}{SPAN}\+?\s{{0,3}}"
    r"(?:\((?:approx(?:imately|\.)?|estimated|est\.?|about|uncertain)\)|approx(?:imately|\.)?"
    rf"|\({TOLERANCE}[^()\d]{{0,12}}\))?[.\s]{{0,3}}"
)

_WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNT = (
    rf"(?<![\d.,/±])(?P<count>\d{{1,2}}|{'|'.join(_WORDS)})"
    rf"(?:\s?(?:[-–—]|to|or)\s?(?P<more>\d{{1,2}}|{'|'.join(_WORDS)}))?"
)
_EACH = re.compile(r"\b(?:each|apiece|per (?:piece|slice|unit|item|portion|ball|roll|half))\b")
_EACH_BEFORE = re.compile(rf"\beach\s(?:(?:{_ABOUT}){{1,2}})?$")
# The count of a text with "each": a number that is no part of another one and has no unit.
_PIECES = re.compile(rf"{_COUNT}\b(?![.,/]\d|\s{{0,3}}(?:%|[-–—]\s?\d))")
# The same in a food's name, where numbers may mean something else: "2 rolls", "rolls x2".
_PIECES_OF_NAME = re.compile(
    rf"^{_COUNT}\s?[x×]?\s|\b[x×]\s?(?P<after>\d{{1,2}})\b|\((?P<bracket>\d{{1,2}})\)"
)
_TIMES_BEFORE = re.compile(rf"{_COUNT}\s{{0,3}}[x×*]\s{{0,3}}$")
_TIMES_AFTER = re.compile(r"\s{0,3}[x×*]\s{0,3}(?P<count>\d{1,2})(?P<more>)(?![\d.,/])")
# "5 pieces of 20 g".
_OF = re.compile(
    rf"\b{_COUNT}\s(?:[^\W\d_]{{1,15}}\s){{1,2}}(?:of|at|à)\s(?:(?:{_ABOUT}){{1,2}})?$"
)
# A second quantity that says the same in another unit: "25 g (1 oz) each".
_SAME_AGAIN = re.compile(r"\s?[(/]\s?(?:(?:" + _ABOUT + r"){1,2})?$")


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


def robust_grams(text: str, name: str = "", unit: str = "") -> Grams | None:
    """Return the portion in grams with its units minded, None where the text gives no weight.

    g, kg, mg, oz and lb are converted, volumes are taken at 1 g/ml (`quantities` says what one
    quantity is). Where several stand in the text, the first metric weight counts, else the first
    imperial one, else the first volume; one that is meant for each piece only where none is for
    all. "50 g each", "3 x 50 g" and "3 pieces of 50 g" are multiplied where the text or the name
    has the count. A text that is nothing but a number, a range or a product, with or without
    "about", is in the unit given, else in grams. Cups, slices and pieces give no weight.

    Args:
        text: The portion as written.
        name: The food's name, which may hold the count ("2 rolls").
        unit: What a bare number is in, from a table's head or a key beside it; "" for grams.

    >>> robust_grams("about 0.2 kg"), robust_grams("two slices")
    (Grams(grams=200.0, marks=()), None)
    >>> robust_grams("50 g each", name="2 rolls")
    Grams(grams=100.0, marks=('count',))
    """
    folded = compose(fold_width(text)).lower().strip()
    found = list(quantities(folded))
    for family in FAMILIES:
        own = [at for at, quantity in enumerate(found) if quantity.family == family]
        if own:
            whole = (at for at in own if not _is_each(folded, found, at))
            at = next(whole, own[0])
            return _portion(folded, found, at, compose(fold_width(name)).lower())
    return _bare(folded, unit) if len(folded) <= _LONGEST_BARE else None


def _bare(text: str, unit: str) -> Grams | None:
    match = _BARE.fullmatch(text)
    known = unit_of((match["unit"] if match else "") or unit or "g")
    if match is None or known is None:
        return None
    grams, is_range = middle(match, known)
    marks: tuple[str, ...] = ("ml_as_g",) if known in FAMILIES["volume"] else ()
    if match["count"]:
        grams, marks = (None if grams is None else grams * int(match["count"])), (*marks, "count")
    return _marked(grams, marks, is_range)


def _is_each(text: str, found: list[Quantity], at: int) -> bool:
    """Tell whether a quantity is meant for one piece: "each" before it, or before the next one."""
    own, end = found[at], len(text)
    if _EACH_BEFORE.search(text, max(0, own.start - 30), own.start):
        return True
    for last, following in itertools.pairwise(found[at : at + 3]):
        between = text[last.end : following.start] if following.start - last.end < 30 else " "
        if following.family == own.family or not _SAME_AGAIN.fullmatch(between):
            end = following.start
            break
    return bool(_EACH.search(text, own.end, end))


def _portion(text: str, found: list[Quantity], at: int, name: str) -> Grams | None:
    own = found[at]
    grams, is_range = own.grams, own.is_range
    marks: tuple[str, ...] = ("ml_as_g",) if own.family == "volume" else ()
    each = _is_each(text, found, at)
    pieces = _pieces(text, own, name if each else None)
    if pieces is not None and grams is not None:
        grams, is_range = grams * pieces[0], is_range or pieces[1]
        marks = (*marks, "count")
    elif each:
        marks = (*marks, "each")
    return _marked(grams, marks, is_range)


def _pieces(text: str, own: Quantity, name: str | None) -> tuple[float, bool] | None:
    """Return how often a quantity is to be taken, and whether that is a range; None where unsaid.

    `name` is None for a quantity that is not meant for each piece.
    """
    window = max(0, own.start - 50)
    match = (
        _TIMES_BEFORE.search(text, window, own.start)
        or _TIMES_AFTER.match(text, own.end)
        or _OF.search(text, window, own.start)
    )
    if match is None and name is not None:
        rest = _without_quantities(text)
        match = _PIECES.search(rest)
        if match is None and (named := _PIECES_OF_NAME.search(name[:200])):
            alone = named["after"] or named["bracket"]
            if alone:
                return float(alone), False
            match = named
    if match is None:
        return None
    low = _number(match["count"])
    return ((low + _number(match["more"])) / 2, True) if match["more"] else (low, False)


def _without_quantities(text: str) -> str:
    pieces, position = [], 0
    for quantity in quantities(text):
        pieces.append(text[position : quantity.start])
        position = quantity.end
    return " \n ".join([*pieces, text[position:]])


def _number(count: str) -> float:
    return float(_WORDS.index(count) + 1 if count in _WORDS else count)


def _marked(grams: float | None, marks: tuple[str, ...], is_range: bool) -> Grams | None:
    if grams is None or not math.isfinite(grams):
        return None
    return Grams(grams, (*marks, "range") if is_range else marks)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
