"""Recorded model answers, found again by task and document."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Self

from loguru import logger

ANY_TASK = ""
Key = tuple[str, str, str]  # task, kind of name, name


class RecordedAnswers:
    """Answers read from JSON Lines.

    Each line holds `response` (text, or null for a call that failed) and one name of its document:
    `doc_id` (row number), `id` (the document's own) or `image` (file name of one of its pictures,
    with or without folders). Numbers and texts are the same name: 7 is "7". `task` restricts a line
    to one task and wins over a line without.
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
                        raise ValueError(
                            f"{path}:{number}: a second answer for {key[1]} {key[2]}; documents "
                            "that share a name are told apart by doc_id"
                        )
                    answers[key] = response
        return cls(answers)

    def find(self, task: str, doc_id: int, doc: Mapping[str, Any]) -> str | None:
        """Return the answer recorded for a document, None where there is none or it failed."""
        key = self._key(task, doc_id, doc)
        return None if key is None else self._answers[key]

    def warn_of_strangers(self, task: str, docs: Iterable[Mapping[str, Any]]) -> None:
        """Warn where no answer is for any document of a task: most likely a wrong file or name."""
        there = ""
        for number, doc in enumerate(docs):
            if self._key(task, number, doc) is not None:
                return
            there = there or _shown(_names(number, doc))
        answers = _shown((kind, name) for _, kind, name in self._answers)
        logger.warning(
            f"food_replay: no recorded answer ({answers}) is for a document of {task} ({there}); "
            "all its requests count as failed"
        )

    def _key(self, task: str, doc_id: int, doc: Mapping[str, Any]) -> Key | None:
        for scope in (task, ANY_TASK):
            for kind, name in _names(doc_id, doc):
                if (scope, kind, name) in self._answers:
                    return scope, kind, name
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
        name = row.get(kind)
        if name is not None:
            if isinstance(name, bool) or not isinstance(name, str | int):
                raise ValueError(f"{where}: `{kind}` must be a text or a whole number")
            text = Path(str(name)).name if kind == "image" else str(name)
            return (str(row.get("task") or ANY_TASK), kind, text), row["response"]
    raise ValueError(f"{where}: names no document; give `doc_id`, `id` or `image`")


def _names(doc_id: int, doc: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "doc_id", str(doc_id)
    yield "id", str(doc["id"])
    for path in doc["images"]:
        yield "image", Path(path).name


def _shown(names: Iterable[tuple[str, str]]) -> str:
    """Return the first names as a message shows them."""
    first = [f"{kind} {name}" for kind, name in islice(names, 4)]
    return ", ".join([*first[:3], "…"] if len(first) > 3 else first)
