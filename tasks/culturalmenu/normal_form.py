"""Writes CulturalMenuBench's normal form from a source's own records, read through a field map.

The normal form is dishes.jsonl, binary.jsonl, mc.jsonl, region.jsonl and images/; the JSON Schemas
beside this file describe its rows. A record that does not fit ends it all, and is shown whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.culturalmenu.field_map import Block, FieldMap
from lmms_eval_food.tasks.culturalmenu.pictures import Pictures, is_picture
from lmms_eval_food.tasks.culturalmenu.records import Record, list_files, read_records
from lmms_eval_food.tasks.culturalmenu.schemas import first_problem, schema
from lmms_eval_food.tasks.culturalmenu.values import MisfitError, map_value
from lmms_eval_food.tasks.rows import DataError

Row = dict[str, Any]

# What the data's page on the hub says of them.
PUBLISHED_COUNTS = {
    "dishes": 587,
    "yes/no questions": 4870,
    "Chinese multiple-choice questions": 2607,
    "foreign multiple-choice questions": 3217,
    "sub-region questions": 354,
    "image ids": 12060,
}


@dataclass(frozen=True)
class NormalForm:
    """What was written.

    Attributes:
        counts: The keys of `PUBLISHED_COUNTS` -> how many there are. Image ids are the records of
            the map's picture_ids; without such records, the source's picture files.
        located: Picture path in the tables -> the source's file.
    """

    counts: Mapping[str, int]
    located: Mapping[str, Path]

    def differences(self) -> list[str]:
        """Return what is not as published, in words; empty when everything is."""
        return [
            f"{what}: {self.counts[what]:,} here, {published:,} published"
            for what, published in PUBLISHED_COUNTS.items()
            if self.counts[what] != published
        ]


def write_normal_form(roots: Sequence[Path], target: Path, field_map: FieldMap) -> NormalForm:
    """Write the tables of the normal form into a new folder; no picture is copied.

    Args:
        roots: Folders whose files are the source.
        target: Folder to make.
        field_map: Says which files hold which table, and which field is which.

    Raises:
        DataError: a file cannot be read, a table that is needed has no records, or a record does
            not fit; the message shows the record whole, with its file, place and field.
    """
    files = list_files(roots)
    source = _Source(files, _picture_ids(files, field_map))
    rows = {}
    for table, blocks in field_map.tables.items():
        rows[table] = _table(table, blocks, source)
        if not rows[table] and table in ("dishes", "binary"):
            patterns = [pattern for block in blocks for pattern in block.files]
            raise DataError(
                f"no records for {table}: no file fits {', '.join(patterns)} of {field_map.name}, "
                f"or those that do are empty. The source's files: {_glance(files)}"
            )
    target.mkdir(parents=True)
    for table, found in rows.items():
        if found:
            write_rows(target / f"{table}.jsonl", found)
    return NormalForm(_counts(rows, source), {f"images/{path}": files[path] for path in files})


class _Source:
    """A source's files, its pictures, and the dishes read so far."""

    def __init__(self, files: Mapping[str, Path], picture_ids: Mapping[str, str]) -> None:
        self.files = files
        self.picture_ids = picture_ids
        self.dishes: dict[str, Row] = {}
        self._pictures: dict[tuple[str, ...], Pictures] = {}

    def pictures(self, block: Block) -> Pictures:
        """Return the pictures that a block's records may name."""
        if block.folders not in self._pictures:
            self._pictures[block.folders] = Pictures(self.files, block.folders, self.picture_ids)
        return self._pictures[block.folders]

    def complete(self, table: str, row: Row) -> None:
        """Add what a question's record leaves to its dish, and what a dish's record leaves out."""
        if table == "dishes":
            row.setdefault("region", None)
            row.setdefault("practice_images", [])
            return
        dishes = row.get("dish_ids") or [row.get("dish_id")]
        dish = self.dishes.get(dishes[0], {})
        for field in ("language", "dish_name"):
            if field in dish and field in schema(table)["properties"]:
                row.setdefault(field, dish[field])


def _picture_ids(files: Mapping[str, Path], field_map: FieldMap) -> dict[str, str]:
    ids: dict[str, str] = {}
    for block, record in _records(files, field_map.picture_ids):
        row = {field: _value("text", field, record, block, None) for field in block.fields}
        for field in ("id", "path"):
            if row.get(field) is None:
                raise record.misfit(field, f"of {field_map.name} is in no field of this row")
        if ids.setdefault(row["id"], row["path"]) != row["path"]:
            raise record.misfit("id", f"stands for {ids[row['id']]!r} already")
    return ids


def _records(files: Mapping[str, Path], blocks: Iterable[Block]) -> Iterator[tuple[Block, Record]]:
    for block in blocks:
        for record in read_records(files, block):
            yield block, record


def _table(table: str, blocks: Iterable[Block], source: _Source) -> list[Row]:
    key = "dish_id" if table == "dishes" else "id"
    rows: dict[str, Row] = {}
    for block, record in _records(source.files, blocks):
        row = _row(table, block, record, source)
        if row[key] in rows:
            raise record.misfit(key, f"is {row[key]!r}, as in a row before it")
        rows[row[key]] = row
        if table == "dishes":
            source.dishes[row[key]] = row
    return list(rows.values())


def _row(table: str, block: Block, record: Record, source: _Source) -> Row:
    row: Row = {}
    rules = schema(table)["properties"]
    pictures = source.pictures(block)
    # An option's kind hangs on the relation, so that comes first.
    for field in sorted(block.fields, key=lambda name: name != "relation"):
        value = _value(_kind(field, row), field, record, block, pictures)
        if value is not None:
            row[field] = value
        if field == "relation" and value not in rules[field]["enum"]:
            raise _unfit(row, block, record, field, rules[field]["description"])
    source.complete(table, row)
    if problem := first_problem(table, row):
        raise _unfit(row, block, record, *problem)
    for dish in row.get("dish_ids", [row.get("dish_id")]):
        if table != "dishes" and dish not in source.dishes:
            field = "dish_ids" if "dish_ids" in row else "dish_id"
            raise record.misfit(field, f"names {dish!r}, which no dish has")
    return row


def _unfit(row: Row, block: Block, record: Record, field: str, wanted: str) -> DataError:
    looked = ", ".join(block.fields[field].sources) if field in block.fields else "nothing"
    found = f"{row[field]!r:.200}" if field in row else "nothing"
    return record.misfit(field, f"must be {wanted}; found {found}, looked at {looked}")


def _value(kind: str, field: str, record: Record, block: Block, pictures: Pictures | None) -> Any:
    try:
        return map_value(kind, record, block.fields[field], pictures)
    except MisfitError as error:
        raise record.misfit(field, str(error)) from None


def _kind(field: str, row: Row) -> str:
    """Return what kind of value a field has, in the words of `map_value`."""
    if field == "options":
        asked = str(row.get("relation", "")).rpartition("->")[2]
        return "picture_groups" if asked in ("dish_image", "practice_image") else "texts"
    kinds = {
        "dish_image": "picture",
        "images": "pictures",
        "practice_images": "pictures",
        "image_groups": "picture_groups",
        "dish_ids": "texts",
    }
    return kinds.get(field, "text")


def write_rows(file: Path, rows: Iterable[Row]) -> None:
    """Write rows as JSON Lines."""
    with file.open("wb") as out:
        for row in rows:
            out.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")


def _counts(rows: Mapping[str, list[Row]], source: _Source) -> dict[str, int]:
    chinese = sum(row["language"] == "zh" for row in rows.get("mc", ()))
    counts = (
        len(rows["dishes"]),
        len(rows["binary"]),
        chinese,
        len(rows.get("mc", ())) - chinese,
        len(rows.get("region", ())),
        len(source.picture_ids) or sum(map(is_picture, source.files)),
    )
    return dict(zip(PUBLISHED_COUNTS, counts, strict=True))


def _glance(files: Mapping[str, Path]) -> str:
    """Return some of the files that may hold records."""
    names = [path for path in files if not is_picture(path)]
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (", ".join(names[:20]) or "none but pictures") + more
