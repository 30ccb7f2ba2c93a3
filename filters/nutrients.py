"""The four nutrients: what they are called, in which units, and how an amount is written.

Patterns are made for text that `tidy` has prepared. Every part is bounded or atomic, so that a
search takes linear time for any text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lmms_eval_food.filters.numbers import fold_width, parse_number

NUTRIENTS: Final = ("calories", "protein", "carbohydrates", "fat")

KJ_PER_KCAL = 4.184
# Factors to kcal and to grams. In speech about food a "calorie" (卡) is a kilocalorie.
# "12 g, calories: 350" names the next nutrient with a word that is also a unit.
_ENERGY = {
    r"k?cals?|kilo-?calories?|千卡|大卡|(?:calories?|卡路里)(?![ \t]{0,2}[:=|])|卡(?!路里)": 1.0,
    "kj|kilo-?joules?|千焦耳?": 1 / KJ_PER_KCAL,
}
_MASS = {
    "kg|kilograms?|千克|公斤": 1000.0,
    "mg|milligrams?|毫克": 0.001,
    "g|gm|grams?|公克|克": 1.0,
}
_FACTORS = {
    kind: {re.compile(units): factor for units, factor in table.items()}
    for kind, table in (("energy", _ENERGY), ("mass", _MASS))
}
ENERGY_UNIT = rf"(?:{'|'.join(_ENERGY)})(?![a-z])"
MASS_UNIT = rf"(?:{'|'.join(_MASS)})(?![a-z])"
UNIT = rf"(?:{ENERGY_UNIT}|{MASS_UNIT})"

NAMES: Final = {
    "calories": r"calories?|energy|caloric value|热量|熱量|能量|卡路里",
    "protein": r"proteins?|蛋白质|蛋白質|蛋白",
    "carbohydrates": r"carbohydrates?|carbs?|碳水化合物|碳水",
    "fat": r"fats?|lipids?|脂肪|脂质",
}
# Names of an object's keys only: in text they are units.
_KEY_NAMES = NAMES | {"calories": NAMES["calories"] + "|k?cals?|千卡|大卡"}
_BEFORE = r"(?:total|overall|estimated|approx(?:imate)?|est|总|總|估计|预估)"
_AFTER = r"(?:content|amount|value|per[\s_](?:serving|portion|dish)|含量|总量|量)"
_GAP = r"[\s_.\-]{0,3}"
_KEYS = {
    name: re.compile(
        rf"(?:{_BEFORE}{_GAP}){{0,2}}(?:{words})(?:{_GAP}{_AFTER})?(?:{_GAP}(?:in{_GAP})?[(\[]?(?P<unit>{UNIT})[)\]]?)?"
    )
    for name, words in _KEY_NAMES.items()
}

# Atomic: a number is taken whole or not at all. Spaces group digits only by threes.
NUMBER = (
    r"(?>\d{1,3}(?:[ \u00a0\u2009\u202f]\d{3}(?!\d)){1,4}(?:[.,]\d+)?"
    r"|\d+(?:[.,'’]\d+)*(?:e[+-]?\d{1,3}(?![a-z\d]))?)"
)
_LONGEST_NUMBER = 40
_LONGEST_KEY = 60
_LONGEST_AMOUNT = 200
# What makes a number something else than the amount: shares, sums, other units, other bases.
_NOT_AMOUNT = (
    r"(?![a-z\d])(?!\s{0,2}(?:[%％‰×÷=+]|\*\s?\d|x\s?\d|/\s?\d|percent\b|or\s\d|或"
    r"|(?:oz|ounces?|lbs?|pounds?|ml|l|mcg|[µμ]g|cups?|tbsp|tsp|servings?|slices?|pieces?)\b"
    r"|[份杯勺升片块个]|毫升|微克|汤匙|茶匙|/\s?g\b|\(?\s?(?:per|each|每|/)\s?100))"
)
_TO = r"(?:-|–|—|~|to\b|至|到)"
_ABOUT = (
    r"(?:(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|estimated|大约|约为|约|大概"
    r"|估计|~|≈)[ \t]{0,2}){0,2}"
)


def amount_pattern(tag: str) -> str:
    """Return the pattern of one amount: a number or a range, with or without units.

    Args:
        tag: Prefix of the group names low, high, first_unit and unit.
    """
    return (
        rf"(?>{_ABOUT}(?P<{tag}between>between\s|from\s|介于|从)?(?P<{tag}low>{NUMBER})"
        rf"(?:[ \t]{{0,2}}(?P<{tag}first_unit>{UNIT}))?"
        rf"(?:[ \t]{{0,2}}(?({tag}between)(?:and\b|{_TO})|{_TO})[ \t]{{0,2}}"
        rf"(?P<{tag}high>{NUMBER}))?(?:[ \t]?(?:±|\+/-)[ \t]?{NUMBER})?"
        rf"(?:[ \t]{{0,2}}\|?[ \t]{{0,2}}(?P<{tag}unit>{UNIT}))?"
        # Digits that go on after a stray sign (1[8, 52 0) leave the number in doubt.
        rf"(?({tag}unit)|(?({tag}first_unit)|(?![ \t]{{0,2}}[\[\]:'_]?[ \t]{{0,2}}\d)))"
        # The same energy, or the energy of the nutrient, said again in brackets.
        rf"(?:[ \t]?[/(][ \t]?{NUMBER}[ \t]?{ENERGY_UNIT}\)?)?)"
        rf"{_NOT_AMOUNT}"
    )


# What may follow an amount in a text of its own: words without digits, and notes in brackets.
_WHOLE = re.compile(rf"\s*{amount_pattern('')}(?P<rest>(?:[^\d(%]|\([^()]{{0,80}}\)){{0,80}})")
_PER_100 = re.compile(r"(?:per|each|every|in|每|/)[\s_]{0,2}100[\s_]{0,2}(?:g|m|克|毫)")

_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»", '"') | {"‘": "'", "’": "'"})


def tidy(text: str) -> str:
    """Return the text in lower case, with full-width signs and curly quotes as ASCII."""
    return fold_width(text).translate(_QUOTES).lower()


def is_per_100(text: str) -> bool:
    """Tell whether a tidied text speaks of an amount in 100 g or 100 ml, not in the dish."""
    return bool(_PER_100.search(text))


def nutrient_of(key: str) -> tuple[str, str] | None:
    """Return the nutrient an object's key names, and the unit it states ("" for none).

    Only the whole key counts: ``saturated_fat`` and ``calories from fat`` name none of the four.

    >>> nutrient_of("Energy (kJ)"), nutrient_of("总热量"), nutrient_of("saturated_fat")
    (('calories', 'kj'), ('calories', ''), None)
    """
    return _nutrient_of(key) if len(key) <= _LONGEST_KEY else None


@lru_cache(maxsize=1024)
def _nutrient_of(key: str) -> tuple[str, str] | None:
    name = tidy(key).strip(" *`\"'")
    for nutrient, pattern in _KEYS.items():
        match = pattern.fullmatch(name)
        if match:
            return nutrient, match["unit"] or ""
    return None


def convert(nutrient: str, number: float, unit: str) -> float | None:
    """Return an amount in kcal (calories) or grams; None for a unit of the other kind.

    Args:
        nutrient: One of the four.
        number: How many units.
        unit: As written, in lower case; "" counts as kcal or g.
    """
    if not unit:
        return number
    kind = "energy" if nutrient == "calories" else "mass"
    for pattern, factor in _FACTORS[kind].items():
        if pattern.fullmatch(unit):
            return number * factor
    return None


def matched_amount(
    nutrient: str, match: re.Match[str], tag: str = "", unit: str = ""
) -> float | None:
    """Return the amount that `amount_pattern` matched, a range as its midpoint.

    Args:
        nutrient: One of the four; decides which units are possible.
        match: Where the pattern matched.
        tag: The pattern's tag.
        unit: The unit stated elsewhere, used where the amount has none.

    Returns:
        kcal or grams; None for a number that cannot be read, a range that falls, or a unit of the
        other kind.
    """
    last_unit = match[f"{tag}unit"] or match[f"{tag}first_unit"] or unit
    low = _converted(nutrient, match[f"{tag}low"], match[f"{tag}first_unit"] or last_unit)
    if match[f"{tag}high"] is None or low is None:
        return low
    high = _converted(nutrient, match[f"{tag}high"], last_unit)
    return None if high is None or high < low else (low + high) / 2


def read_amount(nutrient: str, text: str, unit: str = "") -> float | None:
    """Return the amount that a text of its own states, e.g. "about 12.5 g (24% DV)".

    Args:
        nutrient: One of the four.
        text: The value of an object's key, or a table cell.
        unit: The unit stated elsewhere, used where the text has none.

    Returns:
        kcal or grams; None where the text states none, several, or one per 100 g.
    """
    if len(text) > _LONGEST_AMOUNT:
        return None
    tidied = tidy(text).replace("*", "").replace('"', "")
    match = _WHOLE.fullmatch(tidied)
    if match is None or is_per_100(match["rest"]):
        return None
    return matched_amount(nutrient, match, "", unit)


def _converted(nutrient: str, number: str, unit: str) -> float | None:
    value = parse_number(number) if len(number) <= _LONGEST_NUMBER else None
    return None if value is None else convert(nutrient, value, unit)
