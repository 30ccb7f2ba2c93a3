"""The JSON Schemas of the normal form (draft 2020-12), beside this file, as checks of rows.

They are the one place that says what a row of dishes.jsonl, binary.jsonl, mc.jsonl or region.jsonl
looks like. Each property's description completes the sentence "the field must be ...".
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from lmms_eval_food.tasks.culturalmenu.prompts import normalise_text

# Table -> its schema's file.
SCHEMAS = {
    "dishes": "dish.schema.json",
    "binary": "binary.schema.json",
    "mc": "mc.schema.json",
    "region": "region.schema.json",
}


@functools.cache
def schema(table: str) -> dict[str, Any]:
    """Return the JSON Schema of a row of "dishes", "binary", "mc" or "region"."""
    folder = resources.files("lmms_eval_food.tasks.culturalmenu")
    found: dict[str, Any] = json.loads(folder.joinpath(SCHEMAS[table]).read_text("utf-8"))
    return found


def first_problem(table: str, row: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the first field of a row that does not fit and what it must be; None if all fit.

    Beside the schema, which cannot say so, no two options may be alike for the eye either: equal
    once letter case, width, spaces and unseen characters are ignored.

    Args:
        table: "dishes", "binary", "mc" or "region".
        row: The row as JSON gives it.
    """
    error = next(_validator(table).iter_errors(row), None)
    if error is None:
        fields = schema(table)["properties"]
        if "options" in fields and _look_alike(row["options"]):
            return "options", fields["options"]["description"]
        return None
    if error.absolute_path:
        field = str(error.absolute_path[0])
    else:  # "required", the only rule that the schemas have about a row as a whole
        field = next(name for name in error.validator_value if name not in row)
    return field, schema(table)["properties"][field]["description"]


def shown(row: Mapping[str, Any]) -> str:
    """Return a row as one line of JSON that can be printed."""
    try:
        text = json.dumps(row, ensure_ascii=False, default=repr)
    except RecursionError:
        return reprlib.repr(row)
    # A lone surrogate cannot be printed.
    return text.encode("utf-8", "backslashreplace").decode()


def _look_alike(options: Sequence[Any]) -> bool:
    texts = [normalise_text(option) for option in options if isinstance(option, str)]
    return len(set(texts)) < len(texts)


@functools.cache
def _validator(table: str) -> Any:
    # Imported late: it takes a tenth of a second, and the other benchmarks need none of it.
    from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it has no types
    from jsonschema.validators import extend  # type: ignore[import-untyped] # it has no types

    plain = Draft202012Validator.VALIDATORS["items"]

    def items(validator: Any, rule: Any, instance: Any, whole: Any) -> Iterator[Any]:
        # Most of a table is lists of paths. The library takes 20 us for each path.
        if rule.keys() == {"type", "pattern"} and rule["type"] == "string":
            search = re.compile(rule["pattern"]).search
            if isinstance(instance, list) and all(
                isinstance(i, str) and search(i) for i in instance
            ):
                return
        yield from plain(validator, rule, instance, whole)

    found = schema(table)
    return extend(Draft202012Validator, {"items": items})(_inlined(found, found["$defs"]))


def _inlined(part: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a part of a schema with its references replaced, which are slow to follow."""
    if isinstance(part, list):
        return [_inlined(item, definitions) for item in part]
    if not isinstance(part, dict):
        return part
    rules = {key: value for key, value in part.items() if key not in ("$ref", "$defs")}
    if "$ref" in part:
        rules |= definitions[part["$ref"].rpartition("/")[2]]
    # A property may be called "description": only a text is one.
    return {
        key: _inlined(value, definitions)
        for key, value in rules.items()
        if not (key == "description" and isinstance(value, str))
    }
