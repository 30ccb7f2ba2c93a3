"""The rows of the host's response cache: those of killed runs are taken over, blank ones go.

Blank rows come from the host's audit log, which also holds what the cache does not store. A run
that finds an audit log of its own name, as all runs of one Slurm job or one torchrun id do, copies
that log's rows. Such a row would be handed out as an answer, or keep the real one out: the host
merges with INSERT OR IGNORE.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Callable, Collection, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from loguru import logger

COLUMNS = "cache_key, request_type, task_name, doc_id, idx, gen_kwargs, response, created_at"
MARKS = ", ".join("?" * len(COLUMNS.split(",")))


def prepare(cache: Any, tasks: Collection[str]) -> None:
    """Drop blank rows from this run's part of a cache and take over what it lacks; once a cache.

    Args:
        cache: The host's ResponseCache.
        tasks: Whose answers are taken over.
    """
    root, db = getattr(cache, "_cache_root", None), getattr(cache, "db", None)
    if root is None or db is None or getattr(cache, "food_prepared", False):
        return
    cache.food_prepared = True
    drop_blank_rows(db)
    merged = getattr(cache, "_shared_db", None)
    known = {row[0] for row in _rows(merged, tasks, "cache_key")} if merged else set()
    before = db.total_changes
    # Also of runs that the host has merged: a later run of the same name adds to the same file.
    for shard in sorted(Path(root).glob("runs/*/rank_*.db")):
        if shard == Path(cache.db_path):
            continue
        try:
            with closing(sqlite3.connect(shard, timeout=10)) as connection:
                rows = _rows(connection, tasks, COLUMNS)
        except sqlite3.Error as error:
            logger.warning(f"lmms-eval-food: cannot read {shard}, left by an earlier run ({error})")
            continue
        new = [row for row in rows if row[0] not in known]
        db.executemany(f"INSERT OR IGNORE INTO responses ({COLUMNS}) VALUES ({MARKS})", new)
    db.commit()
    if db.total_changes > before:
        logger.info(
            f"lmms-eval-food: took over {db.total_changes - before} answers of earlier runs that "
            "did not end"
        )


def _rows(db: sqlite3.Connection, tasks: Collection[str], columns: str) -> list[tuple[Any, ...]]:
    """Return the rows of some tasks that are not blank."""
    db.create_function("is_blank", 1, is_blank, deterministic=True)
    marks = ", ".join("?" * len(tasks))
    query = (
        f"SELECT {columns} FROM responses WHERE task_name IN ({marks}) AND NOT is_blank(response)"
    )
    return db.execute(query, sorted(tasks)).fetchall()


def drop_blank_rows(db: sqlite3.Connection) -> None:
    """Delete the rows that hold no answer."""
    db.create_function("is_blank", 1, is_blank, deterministic=True)
    db.execute("DELETE FROM responses WHERE is_blank(response)")
    db.commit()


def is_blank(response: str) -> bool:
    """Return whether a stored response is JSON null or a text without a visible character.

    The host itself stores neither.

    >>> [is_blank(text) for text in ("null", '" "', '"B"', "0", "not JSON")]
    [True, True, False, False, False]
    """
    try:
        answer = json.loads(response)
    except (ValueError, TypeError, RecursionError):
        return False
    return answer is None or (isinstance(answer, str) and not answer.strip())


def merging_without_blanks(
    original: Callable[[Sequence[str], str], int],
) -> Callable[[Sequence[str], str], int]:
    """Wrap the host's `merge_shards`: blank rows go from all files before it reads them."""

    @functools.wraps(original)
    def merge_shards(shard_paths: Sequence[str], output_path: str) -> int:
        for path in (*shard_paths, output_path):
            if not Path(path).exists():
                continue
            try:
                with closing(sqlite3.connect(path, timeout=30)) as connection:
                    drop_blank_rows(connection)
            except sqlite3.Error as error:  # the host says what it cannot read
                logger.debug(f"lmms-eval-food: blank rows of {path} stay ({error})")
        return original(shard_paths, output_path)

    cast(Any, merge_shards).knows_food_tasks = True
    return merge_shards
