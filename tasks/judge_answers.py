"""What a judge has answered, kept on disk so that no rerun asks it again."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

from loguru import logger

FILE_NAME = "judge-answers.sqlite3"

_SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    judge TEXT NOT NULL, prompt TEXT NOT NULL, answer TEXT NOT NULL, PRIMARY KEY (judge, prompt)
) WITHOUT ROWID
"""
_SELECT = "SELECT answer FROM answers WHERE judge = ? AND prompt = ?"
_INSERT = "INSERT OR IGNORE INTO answers VALUES (?, ?, ?)"
_REPLACE = "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)"
_BUSY_SECONDS = 30.0

T = TypeVar("T")


class AnswerStore:
    """Answers of one judge by prompt; safe for several threads and several processes.

    The first answer of a prompt stays, unless it is replaced. Each use opens the file anew: next to
    a judge's answer that costs nothing, and nothing is shared that threads or processes could
    disturb. Where the file cannot be used, answers are kept in memory, with a warning; answers cost
    money, so a damaged file is left for its owner to look at.

    Args:
        folder: Where the file lies, made where missing; None for memory only.
        judge: Who answers: the answers of others are never seen.
    """

    def __init__(self, folder: Path | None, judge: str) -> None:
        self._path = None if folder is None else folder / FILE_NAME
        self._judge = judge
        self._memory: dict[str, str] = {}
        self._lock = threading.Lock()

    def get(self, prompts: Iterable[str]) -> dict[str, str]:
        """Return the answers to those prompts (their keys) that are stored."""
        wanted = list(prompts)
        absent = [prompt for prompt in wanted if prompt not in self._memory]
        if absent:
            self._memory |= self._on_disk(lambda db: self._select(db, absent)) or {}
        return {prompt: self._memory[prompt] for prompt in wanted if prompt in self._memory}

    def put(self, prompt: str, answer: str, *, replace: bool = False) -> None:
        """Store an answer; a prompt that has one already keeps it, unless told otherwise."""
        if replace or prompt not in self._memory:
            self._memory[prompt] = answer
        statement = _REPLACE if replace else _INSERT
        self._on_disk(lambda db: db.execute(statement, (self._judge, prompt, answer)))

    def _select(self, db: sqlite3.Connection, prompts: Iterable[str]) -> dict[str, str]:
        rows = (
            (prompt, db.execute(_SELECT, (self._judge, prompt)).fetchone()) for prompt in prompts
        )
        return {prompt: row[0] for prompt, row in rows if row is not None}

    def _on_disk(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do work on the file, None where that fails: a store must not end a run."""
        path = self._path
        if path is None:
            return None
        try:
            with _connected(path) as db:
                return work(db)
        except (OSError, sqlite3.Error) as error:
            with self._lock:
                if self._path is not None:
                    logger.warning(f"judge answers {path}: {error}; keeping them in memory only")
                    self._path = None
            return None


@contextmanager
def _connected(path: Path) -> Iterator[sqlite3.Connection]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, _BUSY_SECONDS)) as db, db:
        db.execute(_SCHEMA)
        yield db
