"""What runs that did not end left in the host's response cache."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from lmms_eval_food.tasks import cache_rows
from tests.tasks.cache_runs import FAILED, TASK, KilledError, Model, load, requests_of, run


def stored(path: Path) -> list[str]:
    """The responses in a file of the cache, in order."""
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT response FROM responses ORDER BY response")]


@pytest.fixture
def in_job(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gives the runs that follow the name of a Slurm job."""
    return lambda name: monkeypatch.setenv("SLURM_JOB_ID", name)


@pytest.mark.slow
def test_a_killed_run_in_the_folder_of_a_merged_one_is_taken_over(
    changeable_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    in_job: Callable[[str], None],
) -> None:
    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", "3")
    tasks = load()
    requests = requests_of(tasks[TASK], 12)
    folder = tmp_path / "cache"
    in_job("111")
    run(folder, Model(tasks), requests[:3], tasks)
    assert (folder / "runs" / "111" / ".merged").exists()
    killed = Model(tasks, killed_by=10)
    with pytest.raises(KilledError):
        run(folder, killed, requests, tasks)
    assert killed.portions == [[3, 4, 5], [6, 7, 8], [9, 10, 11]]

    in_job("222")
    last = Model(tasks)
    assert run(folder, last, requests, tasks) == [f"answer {n}" for n in range(12)]
    assert last.asked == [9, 10, 11]
    # What is merged already is not copied once more.
    assert len(stored(folder / "runs" / "222" / "rank_0.db")) == 9
    assert len(stored(folder / "cache.db")) == 12


@pytest.mark.slow
@pytest.mark.parametrize("withheld", [FAILED, ""])
def test_what_the_audit_log_kept_of_a_failure_does_not_stand_in_the_answers_way(
    changeable_root: Path, tmp_path: Path, in_job: Callable[[str], None], withheld: str
) -> None:
    tasks = load()
    requests = requests_of(tasks[TASK], 3)
    folder = tmp_path / "cache"
    asked: list[list[int]] = []
    for job, answers in (("1", {1: withheld}), ("1", {1: withheld}), ("2", {}), ("3", {})):
        in_job(job)
        model = Model(tasks, answers=answers)
        run(folder, model, requests, tasks)
        asked.append(model.asked)
    assert asked == [[0, 1, 2], [1], [1], []]
    assert stored(folder / "cache.db") == ['"answer 0"', '"answer 1"', '"answer 2"']


@pytest.mark.slow
@pytest.mark.parametrize("blank", ["null", '""', '"\\n "'])
def test_blank_rows_of_an_older_folder_are_no_answers(
    changeable_root: Path, tmp_path: Path, blank: str
) -> None:
    tasks = load()
    requests = requests_of(tasks[TASK], 3)
    folder = tmp_path / "cache"
    run(folder, Model(tasks), requests, tasks)
    (shard,) = (folder / "runs").glob("*/rank_0.db")
    with closing(sqlite3.connect(shard)) as db, db:
        db.execute("UPDATE responses SET response = ? WHERE doc_id = 1", (blank,))
    merged = folder / "cache.db"
    with closing(sqlite3.connect(merged)) as db, db:
        db.execute("DELETE FROM responses WHERE doc_id = 1")
        # Another task's: the host would keep it for ever.
        db.execute("INSERT INTO responses VALUES ('k', 'r', 'other', 0, 0, '{}', ?, 0)", (blank,))
    model = Model(tasks)
    assert run(folder, model, requests, tasks) == [f"answer {n}" for n in range(3)]
    assert model.asked == [1]
    assert stored(merged) == ['"answer 0"', '"answer 1"', '"answer 2"']


@pytest.mark.parametrize(
    ("answer", "blank"),
    [(None, True), ("", True), (" \t\n", True), ("null", False), ("0", False), (0, False)],
)
def test_blank_is_what_holds_no_visible_character(answer: Any, blank: bool) -> None:
    assert cache_rows.is_blank(json.dumps(answer)) is blank


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "B"])
def test_what_is_not_json_is_not_blank(text: str) -> None:
    assert cache_rows.is_blank(text) is False


@pytest.mark.slow
def test_what_cannot_be_read_is_reported_and_asked_again(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = load()
    folder = tmp_path / "cache"
    broken = folder / "runs" / "killed" / "rank_0.db"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    model = Model(tasks)
    run(folder, model, requests_of(tasks[TASK], 2), tasks)
    logger.remove(handle)
    assert model.asked == [0, 1]
    assert [line for line in lines if str(broken) in line]
