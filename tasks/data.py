"""Finds a benchmark under the data root, checks its tables, and returns them as documents.

Whatever does not fit ends in one `DataError` that names the file, the line and the field.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_food.tasks.rows import DataError, not_found
from lmms_eval_food.tasks.tables import missing_images, read_table, row_images

if TYPE_CHECKING:
    import datasets

PREPARED = "prepared.json"
# Columns that hold lists (of numbers, texts, lists of texts); all others hold one text.
_NUMBERS = frozenset({"grams"})
_LISTS = frozenset(
    {"images", "foods", "dish_ids", "options", "option_texts", "practice_images"},
)
_GROUPS = frozenset({"image_groups", "option_images"})


@dataclass(frozen=True)
class Provenance:
    """Where a benchmark's data came from.

    Attributes:
        benchmark: "diningbench", "canteen" or "culturalmenu".
        source: Repository or folder the files came from.
        revision: The source's commit or version, "" where it has none.
        checksum: First 12 hex digits of the SHA-256 over the table files as they are now.
        kind: "published", "local" (taken from the user's files, or changed since) or "mini".
        placeholders: True when grey squares stand for the pictures.
    """

    benchmark: str
    source: str
    revision: str
    checksum: str
    kind: str
    placeholders: bool


def cache_folder() -> Path:
    """Return our folder in the user's cache: $XDG_CACHE_HOME, else ~/.cache."""
    cache = os.environ.get("XDG_CACHE_HOME", "")
    # The base directory specification says to ignore a relative XDG_CACHE_HOME.
    base = Path(cache) if os.path.isabs(cache) else Path.home() / ".cache"
    return base / "lmms-eval-food"


def data_root() -> Path:
    """Return the data root: LMMS_EVAL_FOOD_DATA, else our folder in the user's cache."""
    chosen = os.environ.get("LMMS_EVAL_FOOD_DATA")
    return Path(chosen).expanduser().absolute() if chosen else cache_folder()


def load(benchmark: str, table: str) -> datasets.Dataset:
    """Return one table of a benchmark under the data root as a Dataset of documents.

    Rows keep the file's order (canteen: images in order of first appearance). Image paths are
    absolute strings; no picture is opened.

    Args:
        benchmark: A key of `TABLES`.
        table: One of `TABLES[benchmark]`.

    Raises:
        DataError: a file is missing, holds no rows or does not fit, or none of its pictures exists.
    """
    rows = read_table(data_root() / benchmark, benchmark, table)
    images = row_images(rows)
    missing = missing_images(images)
    if missing and len(missing) == len(images):
        raise DataError(not_found(benchmark, f"the pictures of {table}", missing[0]))
    if missing:
        logger.warning(
            f"{benchmark} {table}: {len(missing)} pictures are missing, first {missing[0]}; "
            "a grey square stands for each that is asked for"
        )
    import datasets  # heavy, and not needed to look at a table

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    features = datasets.Features({name: _feature(name) for name in columns})
    return datasets.Dataset.from_dict(columns, features=features)


def _feature(column: str) -> Any:
    # Said, not inferred: a column of empty lists or nulls would otherwise get no type.
    import datasets

    if column in _NUMBERS:
        return datasets.List(datasets.Value("float64"))
    text = datasets.Value("string")
    if column in _GROUPS:
        return datasets.List(datasets.List(text))
    return datasets.List(text) if column in _LISTS else text


def provenance(benchmark: str) -> Provenance:
    """Return where the benchmark's data under the data root came from.

    Raises:
        DataError: there are none, or their prepared.json does not fit.
    """
    return read_provenance(data_root() / benchmark, benchmark)


def read_provenance(folder: Path, benchmark: str) -> Provenance:
    """Return where the data in `folder` came from; "local" without a prepared.json.

    Files that changed since they were prepared count as "local" too. Read again only when a table
    or prepared.json has another size or time.
    """
    tables = _table_files(folder)
    if not tables:
        raise DataError(not_found(benchmark, "data", folder))
    stats = [(file, file.stat()) for file in (*tables, *folder.glob(PREPARED))]
    stamps = tuple((file, stat.st_mtime_ns, stat.st_size) for file, stat in stats)
    return _read_provenance(folder, benchmark, stamps)


@functools.lru_cache(maxsize=32)
def _read_provenance(folder: Path, benchmark: str, stamps: object) -> Provenance:
    checksum = table_checksum(folder)
    file = folder / PREPARED
    if not file.exists():
        return Provenance(benchmark, "files put in place by hand", "", checksum, "local", False)
    try:
        noted = json.loads(file.read_text(encoding="utf-8"))
        source, revision, kind = (str(noted[key]) for key in ("source", "revision", "kind"))
        unchanged = noted["checksum"] == checksum
        placeholders = bool(noted["placeholders"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{file} does not fit ({error!r}); delete it to use the files as your own, or run "
            f"`lmms-eval-food prepare {benchmark} --force`"
        ) from None
    if not unchanged:
        return Provenance(
            benchmark, f"{source}, changed", revision, checksum, "local", placeholders
        )
    return Provenance(benchmark, source, revision, checksum, kind, placeholders)


def table_checksum(folder: Path) -> str:
    """Return the first 12 hex digits of the SHA-256 over the table files' names and contents."""
    digest = hashlib.sha256()
    for file in _table_files(folder):
        digest.update(file.relative_to(folder).as_posix().encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:12]


def _table_files(folder: Path) -> list[Path]:
    found = [
        file for pattern in ("*.jsonl", "*.csv", "prompts/*.txt") for file in folder.glob(pattern)
    ]
    return sorted(found, key=lambda file: file.relative_to(folder).as_posix())
