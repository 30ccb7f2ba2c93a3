"""Food items: JSON values as names and portions, and the check that nothing was invented."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lmms_eval_food.filters.grams import official_grams, robust_grams
from lmms_eval_food.filters.numbers import compose, fold_width

_NAME_KEYS = ("name", "food", "item", "food_name", "food_item", "item_name")
_PORTION_KEYS = (
    "portion_estimate",
    "estimated_portion",
    "portion",
    "portion_size",
    "grams",
    "weight",
    "estimated_grams",
    "estimated_weight",
    "portion_grams",
    "weight_grams",
    "weight_g",
)
_LIST_KEYS = ("food_items", "foods", "items", "food")
# Keys of objects that are no map from foods to portions.
_OTHER_KEYS = frozenset(
    {"total", "calories", "kcal", "protein", "fat", "carbohydrates", "confidence"}
)

_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|.)", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]+|\d+")
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
    """Return an item with any of the usual keys; `cut_key` is the key whose value broke off."""
    if isinstance(entry, str):
        return Item(entry.strip(), None, "")
    members = {_key(key): value for key, value in entry.items()}
    named = next((members[key] for key in _NAME_KEYS if key in members), "")
    name = named.strip() if isinstance(named, str) else ""
    portions = [_portion(members[key]) for key in _PORTION_KEYS if key in members]
    best = next((portion for portion in portions if portion[0] is not None), None)
    grams, text, marks = best or next((p for p in portions if p[1]), (None, "", ()))
    if cut_key is not None and _key(cut_key) in _PORTION_KEYS:
        marks = (*marks, "cut_off")
    return Item(name, grams, text, marks)


def loose_items(value: Any) -> list[Item]:
    """Return the items of a JSON value of another shape than the asked one; [] for none.

    One object that is an item, a list under another key, or a map from foods to weights.
    """
    listed = food_list(value)
    if listed is not None:
        return [robust_item(entry) for entry in listed]
    if not isinstance(value, dict):
        return []
    members = {_key(key): entry for key, entry in value.items()}
    for key in _LIST_KEYS:
        inner = members.get(key)
        if isinstance(inner, list):
            return [robust_item(entry) for entry in food_list(inner) or []]
        if isinstance(inner, dict):
            return _weighed(inner)
    return [robust_item(value)] if is_item(value) else _weighed(value)


def is_item(value: Mapping[str, Any]) -> bool:
    """Tell whether an object is a food item and not the holder of a list."""
    keys = {_key(key) for key, entry in value.items() if not isinstance(entry, list | dict)}
    holds = any(_key(key) in _LIST_KEYS and isinstance(value[key], list) for key in value)
    return not holds and not keys.isdisjoint((*_NAME_KEYS, *_PORTION_KEYS))


def repaired_items(value: Mapping[str, Any], cut_key: str | None) -> list[Item]:
    """Return the items of one object found in a broken text: itself, or the strings it lists."""
    if is_item(value):
        item = robust_item(value, cut_key)
        return [Item(_DRAGGED.sub("", item.name).strip(), item.grams, item.text, item.marks)]
    for key, inner in value.items():
        if _key(key) in _LIST_KEYS and isinstance(inner, list):
            return [robust_item(name) for name in inner] if _all_text(inner) else []
    return []


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


def _weighed(value: Mapping[str, Any]) -> list[Item]:
    """Return the items of a map from foods to weights; [] when it is no such map."""
    items = []
    for name, portion in value.items():
        grams, text, marks = _portion(portion)
        if grams is None or _key(name) in _OTHER_KEYS:
            return []
        items.append(Item(name.strip(), grams, text, marks))
    return items


def _portion(value: Any) -> tuple[float | None, str, tuple[str, ...]]:
    """Return grams, text and marks of a portion's JSON value."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None, "", ()
    if isinstance(value, str):
        read = robust_grams(value)
        return (read.grams, value.strip(), read.marks) if read else (None, value.strip(), ())
    try:
        grams = float(value)
    except OverflowError:
        grams = math.inf
    return (grams if math.isfinite(grams) and grams >= 0 else None), _as_text(value), ()


def _key(key: str) -> str:
    return key.strip().lower().replace(" ", "_").replace("-", "_")


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def _as_text(value: Any) -> str:
    try:
        return str(value)
    except RecursionError:  # a value nested almost too deeply for the JSON parser
        return ""
