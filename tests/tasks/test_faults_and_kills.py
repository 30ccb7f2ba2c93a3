"""Runs against a server with faults, and runs that are killed: nothing is lost or asked twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
import zlib
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from support import HostCall, scores_of

from lmms_eval_food.results.host import host_command
from lmms_eval_food.results.logs import Run
from lmms_eval_food.tasks.mini import write_mini
from tests.tasks.chat_server import FAULTS, Act, Service, serving

pytestmark = pytest.mark.slow
TASK = ("diningbench_cls",)
PORTION = 4
# The commit of the folder that the host is started in is part of its cache's key.
NO_REPOSITORY = {"GIT_DIR": "none"}


def data_root(folder: Path, number: int) -> Path:
    """A data root with so many classification documents; `document N` ends each prompt."""
    write_mini(folder)
    table = folder / "diningbench" / "classification.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    made = []
    for n in range(number):
        row = rows[n % len(rows)]
        made.append({**row, "id": f"{n:05}", "prompt": f"{row['prompt']}\ndocument {n}"})
    lines = [json.dumps(row, ensure_ascii=False) for row in made]
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def number_of(prompt: str) -> int:
    return int(prompt.rpartition("document ")[2])


def letter(prompt: str) -> str:
    return "ABCDEFGH"[zlib.crc32(str(number_of(prompt)).encode()) % 8]


def arguments(service: Service, concurrency: int, timeout: int = 60) -> str:
    return (
        f"model_version=m,base_url={service.url},api_key=none,timeout={timeout},"
        f"max_retries=2,retry_backoff_s=0.01,num_cpus={concurrency}"
    )


def faults(prompt: str, call: int) -> Act:
    """One document in twenty for each fault; every other of these at its first call only."""
    turn, kind = divmod(number_of(prompt), 20)
    lasts = turn % 2 == 0 or call == 0
    return FAULTS[kind] if kind < len(FAULTS) and lasts else Act.ANSWER


def test_every_document_has_one_record_whatever_the_server_does(
    host: HostCall, tmp_path: Path
) -> None:
    number, cache = 2000, ("--use_cache", str(tmp_path / "cache"))
    # Each portion waits for its slowest request, which here is one that is tried six times.
    portions = {"LMMS_CACHE_CHECKPOINT_INTERVAL": "1000", **NO_REPOSITORY}
    root = data_root(tmp_path / "data", number)
    service = Service(letter, faults)
    with serving(service):
        first = host("async_openai", arguments(service, 48, 1), TASK, cache, 1, root, portions)
        asked, service.acts = service.acts, defaultdict(list)
        service.plan = lambda prompt, call: Act.ANSWER
        second = host("async_openai", arguments(service, 48, 1), TASK, cache, 1, root, portions)
    acts = {number_of(prompt): done for prompt, done in asked.items()}
    assert sorted(acts) == list(range(number))
    # Content null is a reply, which is not asked for again.
    null = {n for n, done in acts.items() if done == [Act.NULL]}
    assert len(null) == number // 20
    failed = {n for n, done in acts.items() if done[-1] not in (Act.ANSWER, Act.NULL)}
    assert len(failed) == (len(FAULTS) - 1) * number // 40

    for reader in ("official", "robust"):
        records = first.records[TASK[0]][reader]
        assert [record["id"] for record in records] == [f"{n:05}" for n in range(number)]
        assert {n for n, record in enumerate(records) if record["status"] == "failed"} == failed
        assert first.score(TASK[0], "failed_requests", reader) == len(failed)
        answered = [n for n in range(number) if n not in failed | null]
        assert [records[n]["raw"] for n in answered] == [letter(f"document {n}") for n in answered]

    # Replies without content are not stored either.
    assert {number_of(prompt) for prompt in service.acts} == failed | null
    records = second.records[TASK[0]]["robust"]
    assert [record["id"] for record in records] == [f"{n:05}" for n in range(number)]
    assert second.score(TASK[0], "failed_requests", "robust") == 0
    assert all(records[n]["raw"] == letter(f"document {n}") for n in failed | null)


def kill_after(command: list[str], log: Path, root: Path, service: Service, moment: float) -> None:
    """Start the host and kill it so many seconds after its first request."""
    environment = {
        **os.environ,
        "LMMS_EVAL_FOOD_DATA": str(root),
        "LMMS_CACHE_CHECKPOINT_INTERVAL": str(PORTION),
        **NO_REPOSITORY,
    }
    service.called.clear()
    with log.open("w") as stream:
        process = subprocess.Popen(command, env=environment, stdout=stream, stderr=stream)
        try:
            assert service.called.wait(60), log.read_text()
            time.sleep(moment)
            assert process.poll() is None, log.read_text()
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()


def without_lengths(run: Run) -> list[dict[str, Any]]:
    """Return a run's records less their token counts, which the host's cache does not keep."""
    readers = [records for task in run.records.values() for records in task.values()]
    return [
        {name: value for name, value in record.items() if name != "output_tokens"}
        for records in readers
        for record in records
    ]


@pytest.mark.long
def test_a_run_killed_ten_times_ends_like_one_that_was_not(host: HostCall, tmp_path: Path) -> None:
    number, kills, moments = 120, 10, random.Random(5)
    root, cache = data_root(tmp_path / "data", number), tmp_path / "cache"
    options = ("--use_cache", str(cache))
    service = Service(letter, pause=0.05)
    with serving(service):
        model = ("async_openai", arguments(service, 1))
        command = host_command(*model, TASK, tmp_path / "killed", options)
        for attempt in range(kills):
            moment = moments.uniform(0, 0.9)
            kill_after(command, tmp_path / f"log{attempt}", root, service, moment)
        killed = sum(map(len, service.acts.values()))
        resumed = host(*model, TASK, options, data=root, environment=NO_REPOSITORY)
        total = sum(map(len, service.acts.values()))
        whole = host(*model, TASK, data=root)
    assert scores_of(resumed) == scores_of(whole)
    assert without_lengths(resumed) == without_lengths(whole)
    # A kill costs no more than the portion that it hits.
    assert number <= total <= number + kills * PORTION
    assert killed > 2 * PORTION * kills / 3
