"""Rows of table files: read, checked field by field, and what is wrong with them worded."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import reprlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any


class DataError(Exception):
    """The data are missing or wrong; the message says where, and what to do."""


@dataclass(frozen=True)
class Source:
    """A benchmark's folder; opens its files and words what is wrong with them."""

    benchmark: str
    folder: Path

    @property
    def remedy(self) -> str:
        """Return what the user can do about wrong files."""
        return (
            "correct it, or put the files in place again with "
            f"`lmms-eval-food prepare {self.benchmark} --force`"
        )

    def read(self, name: str) -> bytes:
        """Return a file's content."""
        path = self.folder / name
        try:
            return path.read_bytes()
        except FileNotFoundError:
            raise DataError(not_found(self.benchmark, name, path)) from None
        except OSError as error:
            raise DataError(f"{path} cannot be read: {error}") from error

    def text(self, name: str) -> str:
        """Return a file's content as text."""
        try:
            return self.read(name).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise DataError(f"{self.folder / name} is not UTF-8 ({error}); {self.remedy}") from None

    def json_rows(self, name: str) -> Iterator[Row]:
        """Yield the objects of a JSON Lines file."""
        for number, line in enumerate(self.read(name).split(b"\n"), 1):
            if not line.strip():
                continue
            try:
                values = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
                if b"\\u" in line:
                    # A lone surrogate is JSON, but no text that can be stored or sent.
                    json.dumps(values, ensure_ascii=False).encode()
            except (ValueError, RecursionError) as error:
                raise self.wrong(name, number, f"is not JSON ({error})") from None
            if not isinstance(values, dict):
                raise self.wrong(name, number, f"is not a JSON object but {reprlib.repr(values)}")
            yield Row(self, name, number, values)

    def csv_rows(self, name: str, columns: Iterable[str]) -> Iterator[Row]:
        """Yield the rows of a CSV file that has these columns at least."""
        reader = csv.DictReader(io.StringIO(self.text(name), newline=""))
        try:
            header = list(reader.fieldnames or ())
            absent = [column for column in columns if column not in header]
            if absent:
                raise self.wrong(name, 1, f"has no column {absent[0]!r} (columns: {header})")
            for values in reader:
                if None in values:
                    raise self.wrong(name, reader.line_num, "has more fields than columns")
                yield Row(self, name, reader.line_num, values)
        except csv.Error as error:
            raise self.wrong(name, reader.line_num + 1, f"is not CSV ({error})") from None

    def wrong(self, name: str, line: int, problem: str) -> DataError:
        """Return the error about one line of a file."""
        return DataError(f"{self.folder / name}, line {line}: {problem}; {self.remedy}")


@dataclass(frozen=True)
class Row:
    """One row of a table file; each method checks and returns a field."""

    source: Source
    file: str
    line: int
    values: dict[str, Any]

    def wrong(self, field: str, wanted: str) -> DataError:
        """Return the error about one field of this row."""
        found = reprlib.repr(self.values[field]) if field in self.values else "no such field"
        return self.source.wrong(
            self.file, self.line, f"field {field!r} must be {wanted}, found {found}"
        )

    def text(self, field: str) -> str:
        """Return a text that is not blank."""
        value = self.values.get(field)
        if not isinstance(value, str) or not value.strip():
            raise self.wrong(field, "a text that is not blank")
        return value

    def text_or(self, field: str, default: str | None) -> str | None:
        """Return a text, or `default` where the field is absent, null or blank."""
        value = self.values.get(field)
        absent = value is None or (isinstance(value, str) and not value.strip())
        return default if absent else self.text(field)

    def id(self, field: str = "id") -> str:
        """Return an id, which may be a text or a whole number."""
        value = self.values.get(field)
        return str(value) if type(value) is int else self.text(field)

    def path(self, field: str, value: Any) -> str:
        """Return a picture's absolute path; it may not lead out of the benchmark's folder."""
        if not isinstance(value, str) or not _is_inside(value):
            raise self.wrong(field, "paths below the benchmark's folder, like images/0001.jpg")
        return str(self.source.folder / value)

    def paths(self, field: str, *, empty: bool = False) -> list[str]:
        """Return a list of picture paths; `empty` lets it be empty, null or absent."""
        return self._paths(field, self.values.get(field), empty)

    def _paths(self, field: str, value: Any, empty: bool = False) -> list[str]:
        if value is None and empty:
            return []
        if not isinstance(value, list) or not (value or empty):
            raise self.wrong(field, "a list of picture paths")
        return [self.path(field, item) for item in value]

    def groups(self, field: str) -> list[list[str]]:
        """Return a list of lists of picture paths."""
        value = self.values.get(field)
        if not isinstance(value, list) or not value:
            raise self.wrong(field, "lists of picture paths")
        return [self._paths(field, group) for group in value]

    def number(self, field: str) -> float:
        """Return a number of grams."""
        try:
            value = float(self.values.get(field) or "")
        except (TypeError, ValueError):
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise self.wrong(field, "a number of grams, 0 or more")
        return value


def _is_inside(path: str) -> bool:
    # A table may come from anywhere, and what its paths name is sent to a model.
    pure = PurePosixPath(path)
    bad = pure.is_absolute() or ".." in pure.parts or re.match(r"[A-Za-z]:", path)
    return not bad and bool(pure.parts) and "\\" not in path and "\0" not in path


def not_found(benchmark: str, what: str, path: Path | str) -> str:
    """Return the message about data that are missing: where, and the two ways on."""
    return (
        f"{benchmark}: {what} not found, looked at {path}. Two ways on: "
        f"`lmms-eval-food prepare {benchmark}` fetches the data (LMMS_EVAL_FOOD_DATA names another "
        "data root), or `lmms-eval-food demo` runs on made-up data."
    )
