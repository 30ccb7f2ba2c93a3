"""Turns what a source's record holds into a value of our normal form."""

from __future__ import annotations

import json
import reprlib
from typing import Any

from lmms_eval_food.tasks.culturalmenu.field_map import FieldRule
from lmms_eval_food.tasks.culturalmenu.pictures import PictureError, Pictures
from lmms_eval_food.tasks.culturalmenu.records import Record

_LETTERS = ("A", "B", "C", "D")


class MisfitError(Exception):
    """A value has no form that the field can take; the message completes "field x ..."."""


def map_value(kind: str, record: Record, rule: FieldRule, pictures: Pictures | None) -> Any:
    """Return a field's value, None where the record has none of the rule's source fields.

    Args:
        kind: "text", "texts" (a list), "picture" (one path), "pictures" (a list of paths) or
            "picture_groups" (a list of lists of paths).
        record: The source's record.
        rule: Where the value comes from.
        pictures: Finds the pictures that are named; their paths begin with images/. Not needed
            for texts.

    Raises:
        MisfitError: the record's value does not have that form, or names no picture.
    """
    value = _source_value(record, rule)
    if value is None:
        return None
    if kind == "text":
        return _text(value, rule)
    items = _items(value, rule)
    if kind == "texts":
        return [_text(item, rule) for item in items]
    if pictures is None:
        raise ValueError(f"a value of kind {kind!r} needs pictures")
    if kind == "picture_groups":
        return [[_picture(name, rule, pictures) for name in _items(item, rule)] for item in items]
    found = [_picture(name, rule, pictures) for name in items]
    if kind == "pictures":
        return found
    if len(found) != 1:
        raise MisfitError(f"must be one picture, found {len(found)}")
    return found[0]


def _source_value(record: Record, rule: FieldRule) -> Any:
    values = [value for name in rule.sources if (value := record.get(name)) is not None]
    if rule.each:
        return values or None
    return values[0] if values else None


def _text(value: Any, rule: FieldRule) -> str:
    if isinstance(value, list) and rule.separator is not None:
        text = rule.separator.join(_text(item, FieldRule(())) for item in value)
    elif isinstance(value, str):
        text = value
    elif isinstance(value, bool | int | float):
        text = json.dumps(value)
    else:
        raise MisfitError(f"must come from a text, found {reprlib.repr(value)}")
    text = rule.values.get(text.strip(), text)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise MisfitError(f"holds a lone surrogate, which is no text ({error})") from None
    return text


def _items(value: Any, rule: FieldRule) -> list[Any]:
    """Return a list as it is, four lettered values in order, and a text cut into its parts."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        letters = {str(key).strip().upper(): item for key, item in value.items()}
        if sorted(letters) == list(_LETTERS) and len(value) == len(_LETTERS):
            return [letters[letter] for letter in _LETTERS]
        raise MisfitError(
            f"must come from a list or an object of A, B, C, D; found {list(value)[:20]}"
        )
    if not isinstance(value, str):
        return [value]
    if value.lstrip().startswith("["):
        try:
            listed = json.loads(value)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list):
            return listed
    parts = [value] if rule.separator is None else value.split(rule.separator)
    return [part.strip() for part in parts if part.strip()]


def _picture(name: Any, rule: FieldRule, pictures: Pictures) -> str:
    try:
        return f"images/{pictures.find(_text(name, rule))}"
    except PictureError as error:
        raise MisfitError(f"names a picture that cannot be taken: {error}") from None
