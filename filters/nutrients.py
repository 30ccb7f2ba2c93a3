"""The four nutrients: what they are called, and in which units they are given.

Patterns are made for text that `tidy` has prepared. Every part is bounded or atomic, so that a
search takes linear time for any text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from lmms_eval_food.filters.numbers import fold_width

NUTRIENTS: Final = ("calories", "protein", "carbohydrates", "fat")

KJ_PER_KCAL = 4.184
# Factors to kcal and to grams. "12 g, calories: 350" names the next nutrient with a word that is
# also a unit.
_ENERGY = {
    r"k?cals?(?![ \t]{0,2}[:=])|kilo[ -]?calories?|千卡|大卡"
    r"|(?:calories?|卡路里)(?![ \t]{0,2}[:=|])|卡(?!路里)": 1.0,
    r"kjs?(?![ \t]{0,2}[:=])|kilo[ -]?joules?|kjoules?|千焦耳?": 1 / KJ_PER_KCAL,
}
_MASS = {
    "kgs?|kilograms?|kilogrammes?|kilos?|千克|公斤": 1000.0,
    "mgs?|milligrams?|milligrammes?|毫克": 0.001,
    "g|grs?|gms?|grams?|grammes?|公克|克": 1.0,
}
_FACTORS = {
    kind: {re.compile(units): factor for units, factor in table.items()}
    for kind, table in (("energy", _ENERGY), ("mass", _MASS))
}
ENERGY_UNIT: Final = rf"(?:{'|'.join(_ENERGY)})(?![a-z])"
MASS_UNIT: Final = rf"(?:{'|'.join(_MASS)})(?![a-z])"
UNIT: Final = rf"(?:{ENERGY_UNIT}|{MASS_UNIT})"
# The units whose loss changes a value.
_SCALED = [units for table in (_ENERGY, _MASS) for units, factor in table.items() if factor != 1]
SCALED_UNIT: Final = rf"(?:{'|'.join(_SCALED)})(?![a-z])"
# Units that are not converted. A number in one of them is no amount, and neither is one whose
# unit was cut off (千 of 千卡).
OTHER_UNIT: Final = (
    r"(?:mj|mega[ -]?joules?|j|joules?|[kmgt]?wh|btu|oz|ounces?|lbs?|pounds?|stones?"
    r"|t|tons?|tonnes?|(?:mc|[µμucdh]|da)gs?|micro[ -]?gram(?:me)?s?|[mcd]?l"
    r"|(?:milli|centi|deci)?lit(?:er|re)s?|iu|[mµμ]?mol)(?![a-z'\-])"
)
OTHER_UNIT_ZH: Final = r"(?:[千百万萬亿]|兆焦|焦|微克|盎司|磅|[市公]?[斤两兩钱]|公?吨|毫升|升)"

NAMES: Final = {
    "calories": r"calories?|energy|caloric value|热量|熱量|能量|卡路里",
    "protein": r"proteins?|蛋白质|蛋白質|蛋白",
    "carbohydrates": r"carbohydrates?|carbs?|碳水化合物|碳水",
    "fat": r"fats?|lipids?|脂肪|脂质",
}
# Names of an object's keys only: in text they are units.
_KEY_NAMES = NAMES | {"calories": NAMES["calories"] + "|k?cals?|千卡|大卡"}
_BEFORE = r"(?:total|overall|estimated|approx(?:imate)?|est|总|總|估计|预估)"
_BASIS = r"(?:(?:per[\s_]|/[\s_]?)(?:serving|portion|dish|meal|plate|bowl)|[每/]份)"
_AFTER = rf"(?:content|amount|value|{_BASIS}|含量|总量|量)"
_GAP = r"[\s_.\-]{0,3}"
_KEYS = {
    name: re.compile(
        rf"(?:{_BEFORE}{_GAP}){{0,2}}(?:{words})(?:{_GAP}{_AFTER})?"
        rf"(?:{_GAP}[(\[]?(?:in{_GAP})?(?P<unit>{UNIT})(?:{_GAP}{_AFTER})?[)\]]?)?"
        rf"(?P<unit_key>{_GAP}(?:units?|单位))?"
    )
    for name, words in _KEY_NAMES.items()
}
_LONGEST_KEY = 60
PER_100: Final = r"(?:(?:per|each|every|in|每|/)[\s_]{0,2}100[\s_]{0,2}(?:g|m|克|毫|公克))"
_PER_100 = re.compile(PER_100)

# Signs that look alike become one: quotes, spaces, dashes (an em dash is none), waves. Zero-width
# signs go.
_SIGNS = (
    str.maketrans(dict.fromkeys("“”„‟«»", '"') | {"‘": "'", "’": "'"})
    | dict.fromkeys([0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F], " ")
    | dict.fromkeys([0x0B, 0x0C, 0x85, 0x2028, 0x2029], "\n")
    | dict.fromkeys([0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF], "")
    | dict.fromkeys([*range(0x2010, 0x2014), 0x2212, 0x2796, 0xFE58, 0xFE63], "-")
    | dict.fromkeys([0x2053, 0x223C, 0x301C, 0x3030], "~")
    | {0x2015: "—"}
)


def tidy(text: str) -> str:
    """Return the text in lower case, with full-width signs, quotes, spaces and dashes as ASCII.

    The em dash stays: it is neither a minus nor a hyphen.
    """
    return fold_width(text).translate(_SIGNS).lower()


def is_per_100(text: str) -> bool:
    """Tell whether a tidied text speaks of an amount in 100 g or 100 ml, not in the dish."""
    return bool(_PER_100.search(text))


def nutrient_of(key: str) -> tuple[str, str] | None:
    """Return the nutrient an object's key names, and the unit it states ("" for none).

    Only the whole key counts: ``saturated_fat`` and ``calories from fat`` name none of the four.

    >>> nutrient_of("Energy (kJ)"), nutrient_of("总热量"), nutrient_of("saturated_fat")
    (('calories', 'kj'), ('calories', ''), None)
    """
    nutrient, unit, is_unit = _key(key)
    return (nutrient, unit) if nutrient and not is_unit else None


def unit_key_of(key: str) -> str:
    """Return the nutrient whose unit an object's key announces, "" for none.

    >>> unit_key_of("energy_unit"), unit_key_of("energy")
    ('calories', '')
    """
    nutrient, _, is_unit = _key(key)
    return nutrient if is_unit else ""


def _key(key: str) -> tuple[str, str, bool]:
    return _read_key(key) if len(key) <= _LONGEST_KEY else ("", "", False)


@lru_cache(maxsize=1024)
def _read_key(key: str) -> tuple[str, str, bool]:
    """Return the nutrient, its unit, and whether the key is that of a unit."""
    name = tidy(key).strip(" *`\"'")
    for nutrient, pattern in _KEYS.items():
        match = pattern.fullmatch(name)
        if match:
            return nutrient, match["unit"] or "", bool(match["unit_key"])
    return "", "", False


def convert(nutrient: str, number: float, unit: str) -> float | None:
    """Return an amount in kcal (calories) or grams; None for a unit that is not converted.

    A calorie is a kilocalorie however it is written (``cal``, ``Cal``, ``calories``, 卡): nobody
    gives the energy of a dish in the physicist's calorie, and capitals are lost too easily to tell
    the two apart. Only kcal and kJ are energies here, and kg, g and mg are masses: joules and
    megajoules, micrograms, ounces, pounds, 斤, 两 and volumes are not converted.

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
