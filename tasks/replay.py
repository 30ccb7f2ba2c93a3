"""Recorded model answers, found again by task and document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

ANY_TASK = ""
Key = tuple[str, str, str | int]  # task, kind of name, name


class RecordedAnswers:
    """Answers read from JSON Lines.

    Each line holds `response` (text, or null for a call that failed) and one name of its document:
    `doc_id` (row number), `id` (the document's own) or `image` (file name of one of its pictures,
    with or without folders). `task` restricts a line to one task and wins over a line without.
    """

    def __init__(self, answers: Mapping[Key, str | None]) -> None:
        self._answers = answers

    @classmethod
    def read(cls, paths: Iterable[Path]) -> Self:
        """Read files.

        Raises:
            ValueError: a line is not such an object, or two lines answer one document.
        """
        answers: dict[Key, str | None] = {}
        for path in paths:
            with path.open(encoding="utf-8") as lines:
                for number, line in enumerate(lines, 1):
                    if not line.strip():
                        continue
                    key, response = _parse(line, f"{path}:{number}")
                    if key in answers:
                        raise ValueError(f"{path}:{number}: a second answer for {key[1]} {key[2]}")
                    answers[key] = response
        return cls(answers)

    def find(self, task: str, doc_id: int, doc: Mapping[str, Any]) -> str | None:
        """Return the answer recorded for a document, None where there is none or it failed."""
        for scope in (task, ANY_TASK):
            for kind, name in _names(doc_id, doc):
                if (scope, kind, name) in self._answers:
                    return self._answers[scope, kind, name]
        return None


def _parse(line: str, where: str) -> tuple[Key, str | None]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{where}: not JSON ({error})") from None
    if not isinstance(row, dict) or not isinstance(row.get("response"), str | None):
        raise ValueError(f"{where}: needs an object with `response` (text or null)")
    if "response" not in row:
        raise ValueError(f"{where}: has no `response`")
    for kind in ("doc_id", "id", "image"):
        if kind in row:
            name = row[kind]
            if kind == "image":
                name = Path(str(name)).name
            return (str(row.get("task") or ANY_TASK), kind, name), row["response"]
    raise ValueError(f"{where}: names no document; give `doc_id`, `id` or `image`")


def _names(doc_id: int, doc: Mapping[str, Any]) -> Iterator[tuple[str, str | int]]:
    yield "doc_id", doc_id
    yield "id", doc["id"]
    for path in doc["images"]:
        yield "image", Path(path).name
