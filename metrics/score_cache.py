"""A small store for what a matcher has computed, in memory and, if wanted, on disk."""

from __future__ import annotations

import sqlite3
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
import numpy.typing as npt

FILE_NAME = "matcher-scores.sqlite3"
# (text, "") for one text, (predicted, true) for a pair; only the second text may be empty.
Key = tuple[str, str]
Vector = npt.NDArray[np.float32]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    fingerprint TEXT NOT NULL, first TEXT NOT NULL, second TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (fingerprint, first, second)
) WITHOUT ROWID
"""
_SELECT = "SELECT vector FROM vectors WHERE fingerprint = ? AND first = ? AND second = ?"
_INSERT = "INSERT OR IGNORE INTO vectors VALUES (?, ?, ?, ?)"
_BUSY_SECONDS = 30.0

T = TypeVar("T")


class ScoreCache:
    """Vectors by key, for one matcher; safe for several threads and several processes.

    The first value of a key stays. A damaged file is deleted with a warning and begun anew; where
    the disk cannot be used at all, the store goes on in memory, with a warning.

    Args:
        directory: Folder of the file, made where missing; None for memory only.
        fingerprint: Which matcher: values of others are never seen.
    """

    def __init__(self, directory: Path | None, fingerprint: str) -> None:
        self._path = None if directory is None else directory / FILE_NAME
        self._fingerprint = fingerprint
        self._memory: dict[Key, Vector] = {}
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def get(self, keys: Iterable[Key]) -> dict[Key, Vector]:
        """Return the vectors of those keys that are stored."""
        wanted = list(keys)
        absent = [key for key in wanted if key not in self._memory]
        if absent and self._path is not None:
            self._memory |= self._on_disk(lambda db: self._select(db, absent)) or {}
        return {key: self._memory[key] for key in wanted if key in self._memory}

    def put(self, vectors: Mapping[Key, Vector]) -> None:
        """Store vectors; keys that are stored already keep their vector."""
        for key, vector in vectors.items():
            self._memory.setdefault(key, vector)
        if self._path is not None:
            self._on_disk(lambda db: self._insert(db, vectors))

    def close(self) -> None:
        """Close the file; the store may be used again."""
        with self._lock:
            self._disconnect()

    def _select(self, db: sqlite3.Connection, keys: Iterable[Key]) -> dict[Key, Vector]:
        found: dict[Key, Vector] = {}
        for key in keys:
            row = db.execute(_SELECT, (self._fingerprint, *key)).fetchone()
            if row is not None:
                found[key] = np.frombuffer(row[0], dtype="<f4").astype(np.float32)
        return found

    def _insert(self, db: sqlite3.Connection, vectors: Mapping[Key, Vector]) -> None:
        rows = [
            (self._fingerprint, *key, vector.astype("<f4").tobytes())
            for key, vector in vectors.items()
        ]
        with db:
            db.executemany(_INSERT, rows)

    def _on_disk(self, work: Callable[[sqlite3.Connection], T]) -> T | None:
        """Do work on the file, None where that fails: a cache must not end a run."""
        with self._lock:
            for _ in range(2):
                if self._path is None:
                    break
                try:
                    return work(self._connect(self._path))
                except (OSError, sqlite3.OperationalError) as error:
                    self._disconnect()
                    self._warn(f"{error}; going on in memory only")
                    self._path = None
                except sqlite3.DatabaseError as error:
                    self._disconnect()
                    self._warn(f"{error}; deleted and begun anew")
                    self._delete(self._path)
        return None

    def _connect(self, path: Path) -> sqlite3.Connection:
        if self._connection is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Every use is under the lock, so threads may share the connection.
            self._connection = sqlite3.connect(path, _BUSY_SECONDS, check_same_thread=False)
            # Readers and one writer at a time, without waiting for each other.
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute(_SCHEMA)
        return self._connection

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _warn(self, what: str) -> None:
        warnings.warn(f"matcher cache {self._path}: {what}", RuntimeWarning, stacklevel=4)

    @staticmethod
    def _delete(path: Path) -> None:
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
