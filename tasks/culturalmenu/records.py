"""A source's own records: found by file patterns, read from JSON, JSON Lines, CSV or TSV."""

from __future__ import annotations

import csv
import fnmatch
import io
import json
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.culturalmenu.field_map import Block
from lmms_eval_food.tasks.culturalmenu.schemas import shown
from lmms_eval_food.tasks.rows import DataError

_SUFFIXES = (".json", ".jsonl", ".csv", ".tsv")


@dataclass(frozen=True)
class Record:
    """One record of a source.

    Attributes:
        file: Its file.
        place: Where in the file, like "line 3".
        values: Its fields.
        pseudo: What file and place say: the fields of `PSEUDO_FIELDS`.
    """

    file: Path
    place: str
    values: Mapping[str, Any]
    pseudo: Mapping[str, str]

    def get(self, name: str) -> Any:
        """Return a field; "a.b" is field b of the object a. None where it is absent or blank."""
        if name.startswith("$"):
            return self.pseudo[name] or None
        found: Any = self.values
        for part in [name] if name in self.values else name.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        return None if isinstance(found, str) and not found.strip() else found

    def misfit(self, field: str, problem: str) -> DataError:
        """Return the error about a field; it shows the record whole."""
        return DataError(
            f"{self.file}, {self.place}: field {field!r} {problem}. The row is {shown(self.values)}"
        )


def list_files(roots: Iterable[Path]) -> dict[str, Path]:
    """Return the files below folders, path relative to its folder (with "/") -> file, sorted.

    Left out are hidden files, the copies of file attributes that macOS puts into archives, and
    names that cannot stand in a table.
    """
    files: dict[str, Path] = {}
    for root in roots:
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if _is_plain(name)]
            for name in names:
                file = Path(folder, name)
                if _is_plain(name):
                    files.setdefault(file.relative_to(root).as_posix(), file)
    return dict(sorted(files.items()))


def _is_plain(name: str) -> bool:
    # A name that is no UTF-8, or holds a backslash, cannot stand in a table.
    is_text = name.encode("utf-8", "ignore").decode() == name and "\\" not in name
    return is_text and not name.startswith(".") and name != "__MACOSX"


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Tell whether a pattern fits a file's name or, where it has a "/", the end of its path."""
    name = path.rpartition("/")[2]
    return any(
        fnmatch.fnmatchcase(f"/{path}", f"*/{pattern}")
        if "/" in pattern
        else fnmatch.fnmatchcase(name, pattern)
        for pattern in patterns
    )


def read_records(files: Mapping[str, Path], block: Block) -> Iterator[Record]:
    """Yield the records of a block's files, in the order of their paths.

    Args:
        files: From `list_files`.
        block: Says which files, and which lists in them.

    Raises:
        DataError: a file cannot be read, or holds something else than objects.
    """
    for path, file in files.items():
        stem, dot, suffix = path.rpartition(".")
        if f".{suffix.lower()}" not in _SUFFIXES or not dot or not matches(path, block.files):
            continue
        folder, _, name = stem.rpartition("/")
        for key, place, number, values in _rows(file, suffix.lower(), block.rows):
            if not isinstance(values, dict):
                raise DataError(f"{file}, {place}: is not an object but {reprlib.repr(values)}")
            inside = f"{stem}/{key}" if key else stem
            pseudo = {
                "$file": name,
                "$folder": folder.rpartition("/")[2],
                "$key": key,
                "$place": f"{inside}:{number}",
            }
            yield Record(file, place, values, pseudo)


def _rows(
    file: Path, suffix: str, keys: Sequence[str]
) -> Iterator[tuple[str, str, int, dict[str, Any] | Any]]:
    """Yield the list's key, the place in words, the row's number from 1, and the row."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read: {error}") from None
    if suffix == "json":
        for key, rows in _lists(file, _parsed(text, str(file)), keys):
            inside = f"row {{}} of {key!r}" if key else "row {}"
            for number, row in enumerate(rows, 1):
                yield key, inside.format(number), number, row
    elif suffix == "jsonl":
        for number, line in enumerate(text.split("\n"), 1):
            if line.strip():
                yield "", f"line {number}", number, _parsed(line, f"{file}, line {number}")
    else:
        for number, row in _table_rows(file, text, "," if suffix == "csv" else "\t"):
            yield "", f"row {number}", number, row


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: is not JSON ({error})") from None


def _lists(file: Path, document: Any, keys: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
    if isinstance(document, list):
        yield "", document
        return
    if not isinstance(document, dict):
        raise DataError(f"{file}: holds neither a list of rows nor an object of such lists")
    lists = {key: rows for key, rows in document.items() if isinstance(rows, list)}
    chosen = [key for key in keys or lists if key in lists]
    if not chosen:
        wanted = " or ".join(map(repr, keys)) or "any key"
        raise DataError(f"{file}: has no list of rows under {wanted} (keys: {list(document)[:20]})")
    for key in chosen:
        yield key, lists[key]


def _table_rows(file: Path, text: str, delimiter: str) -> Iterator[tuple[int, dict[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for number, row in enumerate(reader, 1):
            if None in row:
                raise DataError(
                    f"{file}, row {number}: has more fields than columns. The row is "
                    f"{json.dumps(list(row.values()), ensure_ascii=False)}"
                )
            yield number, row
    except csv.Error as error:
        raise DataError(f"{file}, line {reader.line_num + 1}: is not a table ({error})") from None
