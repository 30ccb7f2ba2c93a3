"""The foods in JSON of any shape: groups, maps from foods to weights, JSON inside a string."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lmms_eval_food.filters.food_items import (
    LIST_KEYS,
    NAME_KEYS,
    Item,
    dragged_off,
    is_item,
    is_portion_key,
    plain_key,
    portion_of_value,
    robust_item,
)
from lmms_eval_food.filters.food_lines import portion_of, split_line
from lmms_eval_food.filters.json_text import load_json, without_fence
from lmms_eval_food.filters.quantities import quantity_span

# Keys beside foods and weights.
_BESIDE = re.compile(
    r"(?:grand_|sub)?totals?(?:_.*)?|sum|overall|confidence(?:_.*)?|certainty|notes?|comments?"
    r"|description|disclaimer|explanation|reasoning|image|tray"
)
# Keys of objects that are no map from foods to weights.
_NO_FOOD = re.compile(
    r"answers?|results?|response|output|outputs?|data|content|text|message|errors?|code|status|type"
    r"|success|id|index|version|model|seed|tool|function|role|created|width|height|depth|length"
    r"|size|scale|dpi|x|y|x1|x2|y1|y2|area|bbox|box|score|probability|threshold|temperature"
    r"|tokens?|time|duration|date|year|page|price|cost|kcals?|calories|energy|kj|proteins?|fats?"
    r"|carbs|carbohydrates?|fib(?:er|re)|sodium|cholesterol|serving|servings|unit|units|value"
    r"|counts?|category|meal|food_items?|foods?|items?|names?"
    r"|(?:num|number|n|no|nr|max|min|mean|avg|average)(?:_.*)?"
    r"|.*_(?:count|counts|number|id|ids|code|index|size|tokens?|time|ms|px|score|level|rate)"
)
# Between the foods of one string: "rice (100 g), soup (200 g)".
_COMMA = re.compile(r"(?:,(?!\d)|[;\n、；])(?![^()]{0,200}\))")
# Foods lie less deep, and the search must end on any nesting.
_DEEPEST = 12
_BEGINNING = frozenset((*NAME_KEYS, *LIST_KEYS))
_LONGEST_STRING = 20_000


def foods_of(value: Any) -> list[Item]:
    """Return the items of a JSON value of any shape; [] where it names no food.

    Read are lists of items, also under other keys, in groups and in JSON inside a string; maps
    from foods to portions or to objects with one; under a food key also a string of foods with
    weights. Totals and notes beside the foods are no foods, and an object with keys of another
    kind ("error", "width") is no map of foods.
    """
    return _foods(value, in_list=isinstance(value, list), depth=0)


def by_repeats(pairs: list[tuple[str, Any]]) -> Any:
    """Return an object's members, or a list of objects where foods' keys repeat.

    For `json.loads(object_pairs_hook=…)`, which would keep the last of them only. A repeated key
    begins a new object where it names a food or holds foods; else its last value counts.
    """
    groups: list[dict[str, Any]] = [{}]
    for key, value in pairs:
        plain = plain_key(key)
        if key in groups[-1] and (plain in _BEGINNING or not _is_detail(plain)):
            groups.append({})
        groups[-1][key] = value
    return groups if len(groups) > 1 else groups[0]


def are_items(entries: list[Any]) -> bool:
    """Tell whether a list of objects and strings has the asked shape."""
    return all(isinstance(entry, str) or is_item(entry) for entry in entries)


def repaired_items(value: Mapping[str, Any], cut_key: str | None) -> list[Item]:
    """Return the items of one object found in a broken text: itself, or the strings it lists."""
    if is_item(value):
        item = robust_item(value, cut_key)
        return [Item(dragged_off(item.name), item.grams, item.text, item.marks)]
    for key, inner in value.items():
        if plain_key(key) in LIST_KEYS and isinstance(inner, list):
            named = all(isinstance(name, str) for name in inner)
            return [robust_item(name) for name in inner] if named else []
    return []


def _foods(value: Any, in_list: bool, depth: int) -> list[Item]:
    if depth > _DEEPEST:
        return []
    if isinstance(value, str):
        return _in_string(value, in_list, depth)
    if isinstance(value, list):
        return [item for entry in value for item in _entry(entry, in_list, depth + 1)]
    if not isinstance(value, dict):
        return []
    held = [entry for key, entry in value.items() if _holds(key, entry)]
    if held:
        return [item for entry in held for item in _foods(entry, True, depth + 1)]
    if is_item(value):
        return [robust_item(value)]
    if weighed := _weighed(value):
        return weighed
    inner = [entry for entry in value.values() if isinstance(entry, list | dict | str)]
    in_lists = [(entry, in_list and isinstance(entry, list)) for entry in inner]
    return [item for entry, listed in in_lists for item in _foods(entry, listed, depth + 1)]


def _is_detail(plain: str) -> bool:
    return bool(is_portion_key(plain) or _BESIDE.fullmatch(plain) or _NO_FOOD.fullmatch(plain))


def _holds(key: str, entry: Any) -> bool:
    plain = plain_key(key)
    if isinstance(entry, str):
        return plain in LIST_KEYS and plain not in NAME_KEYS
    return plain in LIST_KEYS and isinstance(entry, list | dict)


def _entry(entry: Any, in_list: bool, depth: int) -> list[Item]:
    """Return the items of a list's entry; one that names none stays as an item without a name."""
    if isinstance(entry, str):
        return _in_string(entry, False, depth) or ([robust_item(entry)] if in_list else [])
    found = _foods(entry, in_list and isinstance(entry, dict), depth)
    if found or not in_list or not isinstance(entry, dict):
        return found
    return [] if any(_holds(key, inner) for key, inner in entry.items()) else [Item("", None, "")]


def _in_string(text: str, in_list: bool, depth: int) -> list[Item]:
    bare = without_fence(text[:_LONGEST_STRING])
    if bare.startswith(("{", "[")):
        try:
            return _foods(load_json(bare, by_repeats), in_list, depth + 1)
        except ValueError:
            return []
    if not in_list or quantity_span(bare) is None:
        return []
    lines = [split_line(piece) for piece in _COMMA.split(bare)]
    if any(line.is_prose for line in lines):
        return []
    foods = [portion_of(line.name, line.portion) for line in lines if not line.is_label]
    return [food.item() for food in foods if food]


def _weighed(value: Mapping[str, Any]) -> list[Item]:
    """Return the items of a map from foods to portions; [] when it is no such map."""
    items = []
    for name, portion in value.items():
        plain = plain_key(name)
        if _BESIDE.fullmatch(plain):
            continue
        if _NO_FOOD.fullmatch(plain):
            return []
        if isinstance(portion, dict) and is_item(portion):
            item = robust_item(portion)
            items.append(Item(item.name or name.strip(), item.grams, item.text, item.marks))
            continue
        grams, text, marks = portion_of_value(portion, name)
        if grams is None:
            return []
        items.append(Item(name.strip(), grams, text, marks))
    return items
