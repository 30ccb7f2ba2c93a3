"""Food items: JSON values as names and portions, and the check that nothing was invented."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmms_eval_food.filters.grams import official_grams, robust_grams
from lmms_eval_food.filters.numbers import compose, fold_width
from lmms_eval_food.filters.quantities import unit_of

NAME_KEYS = ("name", "food", "item", "food_name", "food_item", "item_name")
LIST_KEYS = ("food_items", "foods", "items", "food")
_PORTION_KEY = re.compile(
    r"(?:(?:estimated|approximate|approx|total)_)?"
    r"(?P<kind>portion|weight|grams|serving|amount|quantity)"
    r"(?:_(?:size|weight|estimate|estimation|amount))?(?:_(?:in_)?(?P<unit>[a-z]{1,8}))?"
)
_UNIT_KEYS = ("unit", "units", "portion_unit", "weight_unit", "unit_of_measure")
_VALUE_KEYS = ("value", "amount", "weight", "estimate", "grams", "quantity")
_BARE = re.compile(r"[\d\s.,~≈+/–-]{1,40}")
_KEY_SIGNS = re.compile(r"[\s_()\[\]-]+")

_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_\u2460-\u24ff]+|\d+")  # ① is no part of the word after it
# What a broken quote drags into a name.
_DRAGGED = re.compile(r'"\s{0,5}[:,].*', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Item:
    """One food of an answer.

    Attributes:
        name: As written, stripped; "" where the answer names none (a false positive later).
        grams: Its portion in g, None where there is no estimate.
        text: The portion as written; "" where none is.
        marks: How it was read: those of `Grams`, and "cut_off" for a portion that breaks off.
    """

    name: str
    grams: float | None
    text: str
    marks: tuple[str, ...] = ()

    def to_value(self) -> dict[str, Any]:
        """Return the item as JSON-able data."""
        return {
            "name": self.name,
            "grams": self.grams,
            "text": self.text,
            "marks": list(self.marks),
        }


def food_list(value: Any) -> list[Any] | None:
    """Return the list an answer of the asked shape holds: under "food_items", or the answer itself.

    None for any other shape, also for a list without a single object or string in it (an empty
    list is an answer: no food).
    """
    found = value.get("food_items") if isinstance(value, dict) else value
    if not isinstance(found, list):
        return None
    kept = [entry for entry in found if isinstance(entry, dict | str)]
    return kept if kept or not found else None


def official_item(entry: dict[str, Any] | str) -> Item:
    """Return an item as the paper reads it: keys "name" and "portion_estimate" only."""
    if isinstance(entry, str):
        return Item(entry.strip(), None, "")
    text = _as_text(entry.get("portion_estimate", ""))
    return Item(_as_text(entry.get("name", "")).strip(), official_grams(text), text)


def robust_item(entry: Mapping[str, Any] | str, cut_key: str | None = None) -> Item:
    """Return an item with any of the usual keys; `cut_key` is the key whose value broke off.

    The first portion that gives a weight counts, "portion_estimate" before the others and
    "quantity" last. A unit beside it or in its key ("weight_kg") is that of a bare number. A bare
    "quantity" is no weight; it is the count of a portion "each".
    """
    if isinstance(entry, str):
        return Item(entry.strip(), None, "")
    members = {plain_key(key): value for key, value in entry.items()}
    named = next((members[key] for key in NAME_KEYS if key in members), "")
    name = named.strip() if isinstance(named, str) else ""
    beside = next((members[key] for key in _UNIT_KEYS if isinstance(members.get(key), str)), "")
    count = members.get("quantity")
    counted = f"{count} {name}" if type(count) is int and 0 < count < 100 else name
    portions = [
        portion_of_value(members[key], counted, beside or _unit_of_key(key), key)
        for key in sorted((key for key in members if is_portion_key(key)), key=_rank)
    ]
    best = next((portion for portion in portions if portion[0] is not None), None)
    grams, text, marks = best or next((p for p in portions if p[1]), (None, "", ()))
    if cut_key is not None and is_portion_key(plain_key(cut_key)):
        marks = (*marks, "cut_off")
    return Item(name, grams, text, marks)


def is_item(value: Mapping[str, Any]) -> bool:
    """Tell whether an object is a food item and not the holder of a list."""
    keys = {plain_key(key): entry for key, entry in value.items()}
    if any(isinstance(keys.get(key), list | dict) for key in LIST_KEYS):
        return False
    return any(
        is_portion_key(key) or (key in NAME_KEYS and not isinstance(entry, list | dict))
        for key, entry in keys.items()
    )


def portion_of_value(
    value: Any, name: str = "", unit: str = "", key: str = ""
) -> tuple[float | None, str, tuple[str, ...]]:
    """Return grams, text and marks of a portion's JSON value.

    Args:
        value: A number, a text, a list [number, unit] or an object {"value", "unit"}.
        name: The food's name, which may hold a count.
        unit: What a bare number is in; "" for grams.
        key: The value's key as `plain_key` has it.
    """
    if isinstance(value, dict):
        parts = {plain_key(inner): part for inner, part in value.items()}
        unit = next((parts[at] for at in _UNIT_KEYS if isinstance(parts.get(at), str)), unit)
        value = next((parts[at] for at in _VALUE_KEYS if at in parts), None)
    elif isinstance(value, list) and len(value) == 2 and isinstance(value[1], str):
        value, unit = value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None, "", ()
    text = _as_text(value).strip()
    if unit and _BARE.fullmatch(text):
        text = f"{text} {unit}"
    elif key == "quantity" and _BARE.fullmatch(text):
        return None, "", ()
    read = robust_grams(text, name, unit)
    return (read.grams, text, read.marks) if read else (None, text, ())


def plain_key(key: str) -> str:
    """Return a key in one spelling: "Weight (g)" is "weight_g"."""
    return _KEY_SIGNS.sub("_", key[:80].strip().lower()).strip("_")


def is_portion_key(key: str) -> bool:
    """Tell whether a key, as `plain_key` has it, holds a portion."""
    match = _PORTION_KEY.fullmatch(key)
    return match is not None and (match["unit"] is None or unit_of(match["unit"]) is not None)


def _unit_of_key(key: str) -> str:
    match = _PORTION_KEY.fullmatch(key)
    return (match["unit"] or "") if match else ""


def _rank(key: str) -> int:
    return 0 if key.startswith("portion_estimate") else 2 if "quantity" in key else 1


def dragged_off(name: str) -> str:
    """Return a name without what a broken quote dragged into it."""
    return _DRAGGED.sub("", name).strip()


class Vocabulary:
    """The words a text holds, to check that an item was not invented.

    Args:
        text: The reply as the model wrote it.
    """

    def __init__(self, text: str) -> None:
        decoded = _ESCAPE.sub(_unescaped, text) if "\\" in text else text
        self._words = _words(text) | _words(decoded)

    def holds(self, text: str) -> bool:
        """Tell whether every word and number of a text is in the reply; True for no word."""
        return _words(text) <= self._words


def _words(text: str) -> set[str]:
    return set(_WORD.findall(compose(fold_width(text)).casefold()))


def _unescaped(match: re.Match[str]) -> str:
    return chr(int(match["code"], 16)) if match["code"] else " "


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:  # a value nested almost too deeply for the JSON parser
        return ""
