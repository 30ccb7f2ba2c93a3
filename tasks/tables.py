"""The benchmarks' tables: each file's rows as documents with the columns that the tasks use.

The files and their fields are those of the benchmarks themselves (CulturalMenuBench: our normal
form, which the JSON Schemas in tasks/culturalmenu describe); the tasks' READMEs list them. Pictures
stay paths.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.culturalmenu.schemas import first_problem, shown
from lmms_eval_food.tasks.diningbench.truths import KEYS, amounts
from lmms_eval_food.tasks.rows import DataError, Row, Source

# Each benchmark's tables; a table's columns are what its row reader below returns.
TABLES = {
    "diningbench": (
        *("classification", "classification_en", "nutrition", "nutrition_en"),
        *("vqa", "vqa_en"),
    ),
    "canteen": ("portions",),
    "culturalmenu": ("dishes", "binary", "mc", "region"),
}


def read_table(folder: Path, benchmark: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of one table in `folder`, each with the same columns.

    Raises:
        DataError: the table is unknown, missing, empty, or a row does not fit.
    """
    if table not in TABLES.get(benchmark, ()):
        known = "; ".join(f"{name}: {', '.join(tables)}" for name, tables in TABLES.items())
        raise DataError(f"there is no table {table!r} of {benchmark!r} (known are {known})")
    source = Source(benchmark, folder.absolute())
    if benchmark == "canteen":
        rows = _canteen_rows(source)
    elif benchmark == "diningbench":
        rows = [_dining_row(table, row) for row in source.json_rows(f"{table}.jsonl")]
    else:
        rows = _menu_rows(table, source)
    if not rows:
        raise DataError(f"{table_file(folder, benchmark, table)} holds no rows; {source.remedy}")
    return rows


def table_file(folder: Path, benchmark: str, table: str) -> Path:
    """Return the file that holds a table's rows."""
    return folder / ("labels_flat.csv" if benchmark == "canteen" else f"{table}.jsonl")


def row_images(rows: Iterable[dict[str, Any]]) -> list[str]:
    """Return every picture path that rows name, each once, in order of first appearance."""
    paths: dict[str, None] = {}
    for row in rows:
        paths.update(dict.fromkeys(row.get("images", ())))
        for group in row.get("option_images", ()):
            paths.update(dict.fromkeys(group))
        if "dish_image" in row:
            paths.update(dict.fromkeys([row["dish_image"], *row["practice_images"]]))
    return list(paths)


def missing_images(paths: Iterable[str]) -> list[str]:
    """Return the paths that are no file."""
    return [path for path in paths if not os.path.isfile(path)]


def _dining_row(table: str, row: Row) -> dict[str, Any]:
    kind, _, english = table.partition("_")
    document = {
        "id": row.id(),
        "prompt": row.text("prompt"),
        "language": english or "zh",
        "category": row.text_or("category", ""),
    }
    if kind == "vqa":
        return document | {"ground_truth": row.id("ground_truth"), "images": row.paths("images")}
    # Some dishes have no standard picture; the others' order must not change.
    standard = row.values.get("standard_image")
    images = [row.path("standard_image", standard)] if standard else []
    return document | {
        "ground_truth": _letter(row) if kind == "classification" else _nutrition_truth(row),
        "standard_image": images[0] if images else "",
        "images": images + row.paths("user_images", empty=bool(standard)),
    }


def _letter(row: Row) -> str:
    letter = row.text("ground_truth").strip().upper()
    if letter not in tuple("ABCDEFGH"):
        raise row.wrong("ground_truth", "an option letter from A to H")
    return letter


def _nutrition_truth(row: Row) -> str:
    """Return the four true values as JSON text; the rows hold an object or its JSON text."""
    value: Any = row.values.get("ground_truth")
    try:
        amounts(value)
    except ValueError:
        wanted = " or ".join(", ".join(keys) for keys in zip(*KEYS, strict=True))
        problem = f"an object with numbers, 0 or more, for {wanted}"
        raise row.wrong("ground_truth", problem) from None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _canteen_rows(source: Source) -> list[dict[str, Any]]:
    participants: dict[str, str] = {}
    for row in source.csv_rows("image_participants.csv", ("resized_filename", "participant_id")):
        name = row.text("resized_filename")
        if name in participants:
            raise row.wrong("resized_filename", "named once")
        participants[name] = row.text("participant_id")
    prompts = {kind: source.text(f"prompts/{kind}.txt") for kind in ("system", "user")}
    images: dict[str, dict[str, Any]] = {}
    for row in source.csv_rows("labels_flat.csv", ("image", "food", "portion")):
        name = row.text("image")
        if name not in participants:
            raise row.wrong("image", "an image that image_participants.csv lists")
        document = images.setdefault(
            name,
            {
                "id": name,
                "images": [row.path("image", f"images/{name}")],
                "foods": [],
                "grams": [],
                "participant": participants[name],
                "system_prompt": prompts["system"],
                "user_prompt": prompts["user"],
            },
        )
        document["foods"].append(row.text("food"))
        document["grams"].append(row.number("portion"))
    return list(images.values())


def _menu_rows(table: str, source: Source) -> list[dict[str, Any]]:
    key = "dish_id" if table == "dishes" else "id"
    rows: dict[str, dict[str, Any]] = {}
    for row in source.json_rows(f"{table}.jsonl"):
        document = menu_row(table, row)
        # Of the hub's ids we know nothing; in our own normal form an id names one row.
        if document[key] in rows:
            raise row.wrong(key, "an id that no other row has")
        rows[document[key]] = document
    return list(rows.values())


def menu_row(table: str, row: Row) -> dict[str, Any]:
    """Return a row of CulturalMenuBench's normal form as a document.

    Raises:
        DataError: it does not fit the table's JSON Schema.
    """
    if problem := first_problem(table, row.values):
        raise DataError(f"{row.wrong(*problem)}. The row is {shown(row.values)}")
    return _MENU_ROWS[table](row)


def _dish(row: Row) -> dict[str, Any]:
    texts = ("dish_name", "category", "language", "raw_material", "practice_text")
    return {
        "dish_id": row.id("dish_id"),
        **{field: row.values[field] for field in texts},
        "region": row.values.get("region"),
        "dish_image": row.path("dish_image", row.values["dish_image"]),
        "practice_images": row.paths("practice_images", empty=True),
    }


def _question(row: Row) -> dict[str, Any]:
    texts = ("relation", "language", "prompt")
    return {"id": row.id(), **{field: row.values[field] for field in texts}}


def _binary(row: Row) -> dict[str, Any]:
    grouped = row.values.get("image_groups") is not None
    groups = row.groups("image_groups") if grouped else [row.paths("images")]
    return {
        **_question(row),
        "dish_ids": row.values["dish_ids"],
        "image_groups": groups,
        "images": [path for group in groups for path in group],
        "answer": row.values["answer"],
    }


def _mc(row: Row) -> dict[str, Any]:
    options = row.values["options"]
    in_words = isinstance(options[0], str)
    return {
        **_question(row),
        "dish_id": row.id("dish_id"),
        # Text-to-image questions show pictures in their options only.
        "images": row.paths("images", empty=not in_words),
        "option_texts": options if in_words else [],
        "option_images": [] if in_words else row.groups("options"),
        "answer": row.values["answer"],
    }


def _region(row: Row) -> dict[str, Any]:
    return {
        "id": row.id(),
        "dish_id": row.id("dish_id"),
        **{field: row.values[field] for field in ("dish_name", "evidence", "options", "answer")},
        "images": row.paths("images"),
    }


_MENU_ROWS = {"dishes": _dish, "binary": _binary, "mc": _mc, "region": _region}
