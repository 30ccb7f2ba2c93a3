"""The field map: where a source's own records keep the fields of our normal form.

A map is YAML; field_map.yaml beside this file is the default one and explains the format. Every
scalar in it is taken as the text that stands there, so that `是: yes` means the word "yes".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.tasks.culturalmenu.schemas import SCHEMAS, schema
from lmms_eval_food.tasks.rows import DataError

DEFAULT_MAP = "field_map.yaml"
PICTURE_IDS = "picture_ids"
_PICTURE_ID_FIELDS = ("id", "path")
# Below these names a record has what its file and place say.
PSEUDO_FIELDS = ("$file", "$folder", "$key", "$place")


@dataclass(frozen=True)
class FieldRule:
    """Where one field comes from.

    Attributes:
        sources: Names of source fields: the first that a record has, or with `each` all of them.
        each: True when the sources are the field's list items.
        values: Source value -> our value; other values stay as they are.
        separator: Cuts a text into a list, and joins a list where a text is wanted.
    """

    sources: tuple[str, ...]
    each: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    separator: str | None = None


@dataclass(frozen=True)
class Block:
    """Files of one kind of record.

    Attributes:
        files: Patterns of file names or, where they have a "/", of the ends of paths.
        rows: Keys of the lists in a JSON file that holds an object; empty: all lists.
        folders: Patterns of the folders in which pictures are looked for; empty: everywhere.
        fields: Our field -> where it comes from.
    """

    files: tuple[str, ...]
    rows: tuple[str, ...]
    folders: tuple[str, ...]
    fields: Mapping[str, FieldRule]


@dataclass(frozen=True)
class FieldMap:
    """A whole map.

    Attributes:
        name: The file, for messages.
        tables: Table of the normal form -> its blocks; their rows follow one another.
        picture_ids: Blocks whose records say which file a picture id stands for.
    """

    name: str
    tables: Mapping[str, tuple[Block, ...]]
    picture_ids: tuple[Block, ...]


def default_map_file() -> Path:
    """Return the packaged map."""
    return Path(str(resources.files("lmms_eval_food.tasks.culturalmenu").joinpath(DEFAULT_MAP)))


def read_field_map(file: Path | None = None) -> FieldMap:
    """Read a map; None is the packaged one.

    Raises:
        DataError: the file cannot be read or is no field map; the message names the place in it.
    """
    file = default_map_file() if file is None else file
    try:
        document = yaml.load(file.read_text("utf-8-sig"), Loader=yaml.BaseLoader)
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as error:
        raise DataError(f"the field map {file} cannot be read: {error}") from None
    return parse_field_map(document, str(file))


def parse_field_map(document: object, name: str) -> FieldMap:
    """Return the map that a YAML document describes; `name` is for messages.

    Raises:
        DataError: it is no field map; the message names the place in it.
    """
    top = _mapping(document, name, ("tables", PICTURE_IDS), needed=("tables",))
    tables = _mapping(top["tables"], f"{name}: tables", tuple(SCHEMAS), needed=("dishes", "binary"))
    return FieldMap(
        name,
        {
            table: _blocks(
                tables[table], f"{name}: tables.{table}", tuple(schema(table)["properties"])
            )
            for table in SCHEMAS
            if table in tables
        },
        _blocks(top.get(PICTURE_IDS, []), f"{name}: {PICTURE_IDS}", _PICTURE_ID_FIELDS),
    )


def _blocks(value: object, place: str, fields: tuple[str, ...]) -> tuple[Block, ...]:
    blocks = value if isinstance(value, list) else [value]
    return tuple(_block(block, place, fields) for block in blocks)


def _block(value: object, place: str, fields: tuple[str, ...]) -> Block:
    block = _mapping(
        value, place, ("files", "rows", "folders", "fields"), needed=("files", "fields")
    )
    rules = _mapping(block["fields"], f"{place}.fields", fields)
    return Block(
        files=_texts(block["files"], f"{place}.files"),
        rows=_texts(block.get("rows", []), f"{place}.rows"),
        folders=_texts(block.get("folders", []), f"{place}.folders"),
        fields={name: _rule(rule, f"{place}.fields.{name}") for name, rule in rules.items()},
    )


def _rule(value: object, place: str) -> FieldRule:
    if not isinstance(value, dict):
        return FieldRule(_sources(value, place))
    rule = _mapping(value, place, ("from", "each", "values", "separator"))
    if ("from" in rule) == ("each" in rule):
        raise DataError(f"{place} must have one of from and each")
    values = _mapping(rule.get("values", {}), f"{place}.values")
    for key, text in values.items():
        if not isinstance(text, str):
            raise DataError(f"{place}.values.{key} must be a text")
    separator = rule.get("separator")
    if separator is not None and (not isinstance(separator, str) or not separator):
        raise DataError(f"{place}.separator must be a text that is not empty")
    sources = _sources(rule.get("from", rule.get("each")), place)
    return FieldRule(sources, "each" in rule, values, separator)


def _sources(value: object, place: str) -> tuple[str, ...]:
    sources = _texts(value, place)
    for source in sources:
        if source.startswith("$") and source not in PSEUDO_FIELDS:
            raise DataError(f"{place}: {source!r} is none of {', '.join(PSEUDO_FIELDS)}")
    return sources


def _texts(value: object, place: str) -> tuple[str, ...]:
    """Return a text, or a list of texts, as texts."""
    texts = value if isinstance(value, list) else [value]
    if not all(isinstance(text, str) and text for text in texts):
        raise DataError(f"{place} must be a text or a list of texts, none of them empty")
    return tuple(texts)


def _mapping(
    value: object,
    place: str,
    known: tuple[str, ...] | None = None,
    needed: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Return a mapping that has the needed keys and none but the known ones (None: any)."""
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise DataError(f"{place} must be a mapping with texts for keys")
    for key in value:
        if known is not None and key not in known:
            raise DataError(f"{place} has no {key!r} (possible are {', '.join(known)})")
    for key in needed:
        if key not in value:
            raise DataError(f"{place} lacks {key!r}")
    return value
