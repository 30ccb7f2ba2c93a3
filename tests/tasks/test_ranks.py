"""Ranks that share a vLLM call it in step, also where the response cache knows some answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from lmms_eval_food.tasks import ranks

SCRIPT = Path(__file__).parent / "rank_in_step.py"


def start(number: int, cache: Path, out: Path, scenario: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc_per_node={number}", str(SCRIPT), str(cache), str(out), scenario]
    chosen = {"LMMS_CACHE_CHECKPOINT_INTERVAL": "2", "GIT_DIR": "none", "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **chosen}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def results(number: int, cache: Path, out: Path, scenario: str) -> list[dict[str, Any]]:
    done = start(number, cache, out, scenario)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(Path(f"{out}.{rank}").read_text("utf-8")) for rank in range(number)]


def calls(found: list[dict[str, Any]]) -> list[list[list[int]]]:
    return [rank["portions"] for rank in found]


@pytest.mark.slow
@pytest.mark.long
def test_two_ranks_call_the_engine_in_step(changeable_root: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out"
    first = results(2, cache, out, "two failed")
    # Documents 0, 2, 4, 6, 8 and 1, 3, 5, 7: the host lets rank 1 repeat its last.
    assert calls(first) == [[[0, 2], [4, 6], [8]], [[1, 3], [5, 7], [7]]]
    assert [rank["rehearsed"] for rank in first] == [1, 1]
    assert first[0]["answers"][2] == ""
    again = results(2, cache, out, "fresh")
    # Rank 1 lacks nothing, and repeats its last twice to keep step.
    assert calls(again) == [[[0, 4]], [[7, 7]]]
    assert again[0]["answers"] == [f"answer {n}" for n in (0, 2, 4, 6, 8)]
    assert again[1]["answers"] == [f"answer {n}" for n in (1, 3, 5, 7, 7)]
    whole = results(2, cache, out, "fresh")
    assert calls(whole) == [[], []]
    assert [rank["rehearsed"] for rank in whole] == [0, 0]


@pytest.mark.slow
@pytest.mark.long
def test_three_ranks_call_the_engine_in_step(changeable_root: Path, tmp_path: Path) -> None:
    cache, out = tmp_path / "cache", tmp_path / "out"
    first = results(3, cache, out, "one empty")
    assert calls(first) == [[[0, 3], [6]], [[1, 4], [7]], [[2, 5], [8]]]
    again = results(3, cache, out, "fresh")
    assert calls(again) == [[[3]], [[7]], [[8]]]
    assert [rank["rehearsed"] for rank in again] == [1, 1, 1]
    assert again[0]["answers"] == [f"answer {n}" for n in (0, 3, 6)]


@pytest.mark.slow
@pytest.mark.long
def test_a_rank_without_a_document_ends_the_run(changeable_root: Path, tmp_path: Path) -> None:
    done = start(2, tmp_path / "cache", tmp_path / "out", "few")
    assert done.returncode != 0
    assert "rank 1 of 2 has no document" in done.stderr
    assert "out of step" not in done.stderr


@pytest.mark.parametrize(
    ("world", "tensor", "data", "shared"),
    [(1, 1, 1, False), (1, 4, 1, False), (4, 1, 1, False), (4, 1, 4, True), (4, 2, 2, True)],
)
def test_only_ranks_of_one_vllm_keep_step(
    monkeypatch: pytest.MonkeyPatch, world: int, tensor: int, data: int, shared: bool
) -> None:
    module = types.ModuleType(ranks.BACKEND)
    backend = type("VLLM", (), {})
    module.VLLM = backend  # type: ignore[attr-defined] # a stand-in
    sizes = {"world_size": world, "tensor_parallel_size": tensor, "data_parallel_size": data}
    lm, other = type("Chat", (backend,), sizes)(), type("Chat", (), sizes)()
    monkeypatch.setitem(sys.modules, ranks.BACKEND, module)
    assert ranks.in_step(lm) is shared
    assert not ranks.in_step(other)
    monkeypatch.delitem(sys.modules, ranks.BACKEND)
    assert not ranks.in_step(lm)
    assert ranks.gathered(lm, "mine") == ["mine"]


@pytest.mark.parametrize("numbers", [[0], [0, 0], [3], [3, 2]])
def test_ranks_that_all_or_none_have_something_may_go_on(numbers: list[int]) -> None:
    ranks.refuse_idle(numbers)


def test_ranks_without_a_document_are_named() -> None:
    with pytest.raises(SystemExit, match="rank 1, 3 of 4 has no document"):
        ranks.refuse_idle([2, 0, 1, 0])
