"""How an amount of a nutrient is written: numbers, ranges, units, and what is no amount.

Patterns are made for text that `nutrients.tidy` has prepared. Every part is bounded or atomic, so
that a search takes linear time for any text.
"""

from __future__ import annotations

import re

from lmms_eval_food.filters.numbers import parse_number
from lmms_eval_food.filters.nutrients import (
    ENERGY_UNIT,
    OTHER_UNIT,
    OTHER_UNIT_ZH,
    SCALED_UNIT,
    UNIT,
    convert,
    is_per_100,
    tidy,
)

# Atomic: a number is taken whole or not at all. Spaces group digits only by threes.
NUMBER = (
    r"(?>\d{1,3}(?: \d{3}(?!\d)){1,4}(?:[.,]\d+)?"
    r"|\d+(?:[.,'’]\d+)*(?:e[+-]?\d{1,3}(?![a-z\d]))?)"
)
_LONGEST_NUMBER = 40
_LONGEST_AMOUNT = 200
# Two figures for one energy, in kcal and kJ, may differ by this share: they are rounded.
_SAME_ENERGY = 0.1

# What makes a number something else than the amount: shares, sums, bounds, counts, other bases.
_NOT_AMOUNT = (
    r"(?![a-z\d])(?![ \t]{0,2}(?:[%％‰×÷=+]|\*\s?\d|x\s?\d|/\s?\d|percent\b|or\s(?:\d|more|less)|或"
    r"|(?:cups?|tbsp?s?|tablespoons?|tsps?|teaspoons?|spoons?|servings?|portions?|slices?|pieces?"
    r"|parts?|points?|exchanges?|bowls?|plates?)\b"
    r"|[份杯勺匙片块塊个個碗盘粒]|以[上下内]|/\s?g\b|\(?\s?(?:per|each|每|/)\s?100))"
)
# A unit that is not converted, or one too far away to be surely the number's ("1464; kJ").
_OTHER_UNIT_AHEAD = (
    rf"(?![ \t]{{0,2}}[(\[:;,_|\-]?[ \t]{{0,2}}{OTHER_UNIT})"
    rf"(?![ \t]{{0,2}}[(\[]?[ \t]{{0,2}}{OTHER_UNIT_ZH})"
    rf"(?![^\w\n]{{1,6}}{SCALED_UNIT}(?![ \t]{{0,2}}[:=|\d]))"
)
_TO = r"(?:-|—|~|(?:up )?to\b|至|到|[和与](?=[ \t]?\d[\d.,]{0,12}[ \t]?[^\W\d]{0,3}之间))"
_ABOUT = (
    r"(?:(?:about|around|approximately|approx\.?|roughly|circa|ca\.?|estimated|大约|约为|约|大概"
    r"|估计|~|≈)[ \t]{0,2}){0,2}"
)


def amount_pattern(tag: str) -> str:
    """Return the pattern of one amount: a number or a range, with or without units.

    A unit may stand in brackets or after a sign (``1464 (kJ)``, ``1464-kJ``, ``1464: kJ``), but
    not where a number follows it: there it names the next amount.

    Args:
        tag: Prefix of the group names: low, high, first_unit, unit, again, again_unit.
    """
    return (
        rf"(?>{_ABOUT}(?P<{tag}between>between\s|from\s|介于|从|在)?{_ABOUT}"
        rf"(?P<{tag}low>{NUMBER})(?:[ \t]{{0,2}}(?P<{tag}first_unit>{UNIT}))?"
        rf"(?:[ \t]{{0,2}}(?({tag}between)(?:and\b|{_TO})|{_TO})[ \t]{{0,2}}{_ABOUT}"
        rf"(?P<{tag}high>{NUMBER}))?(?:[ \t]?(?:±|\+/-)[ \t]?{NUMBER})?"
        rf"(?:[ \t]{{0,2}}(?:(?P<{tag}sign>[|:,_(\[\-])[ \t]{{0,2}}(?!cal|卡))?"
        rf"(?P<{tag}unit>{UNIT})(?({tag}sign)(?![ \t]{{0,2}}[:=]?[ \t]{{0,2}}\d)))?"
        # The same energy, or the energy of the nutrient, said again in brackets.
        rf"(?:[)\]]?[ \t]?[/(][ \t]?(?P<{tag}again>{NUMBER})[ \t]?"
        rf"(?P<{tag}again_unit>{ENERGY_UNIT})\)?)?)"
        # Digits that go on after a stray sign (1[8, 52 0) leave the number in doubt.
        rf"(?({tag}unit)|(?({tag}first_unit)|(?![ \t]{{0,2}}[\[\]:'_]?[ \t]{{0,2}}\d)"
        rf"{_OTHER_UNIT_AHEAD})){_NOT_AMOUNT}"
    )


# What may follow an amount in a text of its own: words without digits, and notes in brackets.
_WHOLE = re.compile(rf"\s*{amount_pattern('')}(?P<rest>(?:[^\d(%]|\([^()]{{0,80}}\)){{0,80}})")
# "1464 (in kJ)", "1.4 (energy, MJ)"; but "350 (half a pound of noodles)" is no weight.
_FREE_UNIT = re.compile(
    rf"(?<![^\W_])(?<!\d[ \t])(?P<scaled>{SCALED_UNIT})"
    rf"|(?:[(\[,:][ \t]?|\b(?:in|units?)[ \t]|单位[ \t]?)(?P<other>{OTHER_UNIT}|{OTHER_UNIT_ZH})"
)
_DIGIT = re.compile(r"\d")


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
        kcal or grams; None for a number that cannot be read, a range that falls, a unit of the
        other kind, or an energy without a unit that is then given again as another one.
    """
    last_unit = match[f"{tag}unit"] or match[f"{tag}first_unit"] or unit
    low = _converted(nutrient, match[f"{tag}low"], match[f"{tag}first_unit"] or last_unit)
    if low is None:
        return None
    if match[f"{tag}high"] is not None:
        high = _converted(nutrient, match[f"{tag}high"], last_unit)
        return None if high is None or high < low else (low + high) / 2
    if nutrient == "calories" and not last_unit and match[f"{tag}again"]:
        again = _converted(nutrient, match[f"{tag}again"], match[f"{tag}again_unit"])
        return low if again and abs(low - again) <= _SAME_ENERGY * again else None
    return low


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
    free = None if match["unit"] or match["first_unit"] else _FREE_UNIT.search(match["rest"])
    # "1464 (in kJ)"; in "350 (1464 in kJ)" it is the unit of the other number.
    if free and _DIGIT.search(match["rest"]):
        return None
    return matched_amount(nutrient, match, "", (free["scaled"] or free["other"]) if free else unit)


def _converted(nutrient: str, number: str, unit: str) -> float | None:
    value = parse_number(number) if len(number) <= _LONGEST_NUMBER else None
    return None if value is None else convert(nutrient, value, unit)
