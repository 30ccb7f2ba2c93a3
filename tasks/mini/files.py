"""How the mini sets are read from this folder and written to a data root."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.data import table_checksum

SOURCE = "lmms-eval-food mini"
REVISION = "1"


def read_text(name: str) -> str:
    """Return the text of one of this folder's data files."""
    return resources.files("lmms_eval_food.tasks.mini").joinpath(name).read_text("utf-8")


def read_csv(name: str) -> list[dict[str, str]]:
    """Return the rows of one of this folder's CSV files."""
    return list(csv.DictReader(io.StringIO(read_text(name), newline="")))


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text with its line ends as they are; the folder is made where missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def write_jsonl(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows as JSON Lines, UTF-8 unescaped."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a CSV table."""
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    write_text(path, text.getvalue())


def write_prepared(folder: Path, benchmark: str) -> None:
    """Write prepared.json, which says what the folder holds; the last file of a benchmark."""
    prepared = {
        "benchmark": benchmark,
        "source": SOURCE,
        "revision": REVISION,
        "kind": "mini",
        "placeholders": False,
        "checksum": table_checksum(folder),
    }
    write_text(folder / "prepared.json", json.dumps(prepared, indent=2) + "\n")
