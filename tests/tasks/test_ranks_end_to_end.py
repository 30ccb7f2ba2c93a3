"""Runs of several ranks, and runs that are killed at chosen points: the host's command on a CPU."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from support import ALL_TASKS, HostCall, scores_of

from lmms_eval_food.results.host import host_command
from tests.tasks.killed_host import POINTS
from tests.tasks.test_faults_and_kills import NO_REPOSITORY, PORTION, data_root

pytestmark = [pytest.mark.slow, pytest.mark.long]
SCRIPT = Path(__file__).parent / "killed_host.py"
TASK = ("diningbench_cls",)
MODEL = ("food_reference", "predictor=random,seed=3")
READERS = ("official", "robust")


@pytest.mark.parametrize("options", [("--limit", "2"), ("--limit", "7", "--offset", "3")])
def test_three_ranks_give_the_numbers_of_one_process(
    host: HostCall, options: tuple[str, ...]
) -> None:
    # Seven documents are shared out unevenly; of two, the third rank has none.
    one = host(*MODEL, ALL_TASKS, options)
    three = host(*MODEL, ALL_TASKS, options, ranks=3)
    assert scores_of(three) == scores_of(one)
    for task in ALL_TASKS:
        for reader in READERS:
            assert three.records[task][reader] == one.records[task][reader]
        assert len(three.records[task]["robust"]) == int(options[1])


def test_replayed_answers_reach_their_documents_on_three_ranks(
    host: HostCall, tmp_path: Path
) -> None:
    answers = tmp_path / "answers.jsonl"
    lines = (f'{{"doc_id": {n}, "response": "{letter}"}}' for n, letter in enumerate("ABC"))
    answers.write_text("\n".join(lines), encoding="utf-8")
    run = host("food_replay", f"responses={answers}", TASK, ("--limit", "4"), ranks=3)
    records = run.records[TASK[0]]["robust"]
    assert [record["raw"] for record in records[:3]] == ["A", "B", "C"]
    assert [record["status"] for record in records] == ["ok", "ok", "ok", "failed"]
    assert run.score(TASK[0], "failed_requests", "robust") == 1


Runner = Callable[..., list[int]]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """Runs the host on 40 documents with a cache, to be killed at a point; says what was asked."""
    root = data_root(tmp_path / "data", 40)
    calls = 0

    def run(
        point: str, call: int = 1, rank: int = 0, ranks: int = 1, job: str | None = None
    ) -> list[int]:
        nonlocal calls
        calls += 1
        asked = tmp_path / f"asked{calls}.txt"
        asked.touch()
        options = ("--use_cache", str(tmp_path / "cache"))
        command = host_command(*MODEL, TASK, tmp_path / f"out{calls}", options, ranks)
        place = command.index("lmms_eval") - 1
        command[place : place + 2] = [str(SCRIPT), point, str(call), str(rank), str(asked)]
        chosen = {
            "LMMS_EVAL_FOOD_DATA": str(root),
            "LMMS_CACHE_CHECKPOINT_INTERVAL": str(PORTION),
            "HF_HUB_OFFLINE": "1",
            **({"LMMS_CACHE_RUN_ID": job} if job else {}),
            **NO_REPOSITORY,
        }
        done = subprocess.run(
            command, env={**os.environ, **chosen}, capture_output=True, text=True, check=False
        )
        found = list((tmp_path / f"out{calls}").rglob("*_results.json"))
        # Results are written after the merging.
        assert bool(found) == (point == "none"), done.stderr[-3000:]
        assert bool(done.returncode) == (point != "none"), done.stderr[-3000:]
        shutil.rmtree(tmp_path / "cache" / "runs" / ".merge.lock", ignore_errors=True)
        return [int(line) for line in asked.read_text("utf-8").split()]

    return run


def test_a_run_killed_at_each_point_loses_no_more_than_a_portion(
    host: HostCall, runner: Runner, tmp_path: Path
) -> None:
    start_up, taking_over, logged, stored, merging, merged = POINTS
    assert runner(start_up) == []
    # Portions of four: of the second, which is asked whole, one answer was stored.
    assert runner(logged, 6) == list(range(8))
    assert runner(stored, 6) == list(range(5, 13))
    assert runner(taking_over) == []
    assert runner(merging) == list(range(11, 40))
    assert runner(merged) == []

    cached = ("--use_cache", str(tmp_path / "cache"))
    root = tmp_path / "data"
    resumed = host(*MODEL, TASK, cached, data=root, environment=NO_REPOSITORY)
    whole = host(*MODEL, TASK, data=root)
    assert scores_of(resumed) == scores_of(whole)
    assert resumed.records == whole.records


def test_two_ranks_of_one_job_killed_and_resumed(
    host: HostCall, runner: Runner, tmp_path: Path
) -> None:
    # All runs of a job share a folder in the cache, and read each other's audit logs.
    job = "job"
    first = runner("answer stored", call=6, rank=1, ranks=2, job=job)
    # Rank 1 ends in its second portion of four; how far rank 0 comes meanwhile is chance.
    assert {n for n in first if n % 2} == {1, 3, 5, 7, 9, 11, 13, 15}
    second = runner("taking over, rows read but not kept", rank=0, ranks=2, job=job)
    assert not {n for n in second if n % 2 == 0}
    third = runner("none", ranks=2, job=job)
    asked = Counter(first + second + third)
    assert set(asked) == set(range(40))
    # Each kill costs either rank no more than one portion.
    assert asked.total() <= 40 + 2 * 2 * PORTION
    # Also a run with another number of ranks finds the answers.
    assert runner("none", job=job) == []

    cached = ("--use_cache", str(tmp_path / "cache"))
    root = tmp_path / "data"
    resumed = host(*MODEL, TASK, cached, 2, root, NO_REPOSITORY)
    whole = host(*MODEL, TASK, data=root)
    assert scores_of(resumed) == scores_of(whole)
    assert resumed.records == whole.records
