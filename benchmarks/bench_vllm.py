"""Throughput of vLLM through the suite against the same prompts handed to `vllm.LLM.chat`.

Both run in one process on one engine, in turn: the host evaluates CulturalMenuBench's four-way
questions of the mini set (up to 21 pictures a prompt) with its vLLM backend; then the messages that
it sent go to `LLM.chat` as one list. The caches of prefixes and of pictures are emptied before
each. Three times are compared with the direct call's: within vLLM alone, in the backend's
`generate_until` (which also builds the requests), and of the whole evaluation with loading, reading
and scoring. The model is tiny, so the last two show the harness at its worst.

    .venv-engine/bin/python benchmarks/bench_vllm.py [ROUNDS]
"""

from __future__ import annotations

import contextlib
import io
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TASK = "culturalmenu_mc"
TOKENS = 16
BATCH = 256


def emptied(client: Any) -> None:
    client.reset_mm_cache()
    client.reset_prefix_cache()


def through_the_suite(backend: Any) -> tuple[dict[str, float], list[Any]]:
    """Evaluate once; return the seconds in vLLM, in the backend and in all, and what was sent."""
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    from lmms_eval_food.tasks.plugin import TASK_FOLDER

    seconds = {"in vLLM": 0.0}
    sent: list[Any] = []
    chat = backend.client.chat

    def generate_until(requests: Any) -> Any:
        started = time.perf_counter()
        answers = type(backend).generate_until(backend, requests)
        seconds["in the backend"] = time.perf_counter() - started
        return answers

    def kept(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        answers = chat(*args, **kwargs)
        seconds["in vLLM"] += time.perf_counter() - started
        sent.extend(kwargs["messages"])
        return answers

    backend.generate_until, backend.client.chat = generate_until, kept
    started = time.perf_counter()
    try:
        manager = TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)
        simple_evaluate(
            model=backend,
            tasks=[TASK],
            task_manager=manager,
            bootstrap_iters=0,
            gen_kwargs=f"max_new_tokens={TOKENS}",
        )
    finally:
        # Functions kept on the objects that they call would keep the engine alive at exit.
        del backend.generate_until, backend.client.chat
    seconds["in all"] = time.perf_counter() - started
    return seconds, sent


def directly(backend: Any, messages: list[Any]) -> float:
    """Hand the messages to vLLM as one list and return the seconds."""
    from vllm import SamplingParams

    started = time.perf_counter()
    backend.client.chat(
        messages=messages, sampling_params=SamplingParams(max_tokens=TOKENS, temperature=0)
    )
    return time.perf_counter() - started


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {
            "LMMS_EVAL_FOOD_DATA": str(folder / "data"),
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),
        }
        from lmms_eval.models.chat.vllm import VLLM

        from lmms_eval_food.results.tiny_qwen import make_tiny_qwen
        from lmms_eval_food.tasks.mini import write_mini

        write_mini(folder / "data")
        backend = VLLM(
            model=str(make_tiny_qwen(folder / "model")),
            batch_size=BATCH,
            max_new_tokens=TOKENS,
            max_model_len=8192,
            enforce_eager=True,
            dtype="bfloat16",
        )
        ratios: dict[str, list[float]] = {}
        for number in range(rounds + 1):
            with contextlib.redirect_stderr(io.StringIO()):
                emptied(backend.client)
                seconds, sent = through_the_suite(backend)
                emptied(backend.client)
                direct = directly(backend, sent)
            if not number:
                continue  # the first round warms the disk cache and the engine
            for name, value in seconds.items():
                ratios.setdefault(name, []).append(direct / value)
            shown = ", ".join(f"{name} {value:.2f} s" for name, value in seconds.items())
            print(
                f"round {number}: {len(sent)} prompts; direct {direct:.2f} s; {shown}", flush=True
            )
        backend.client.llm_engine.engine_core.shutdown()
        for name, values in ratios.items():
            print(f"throughput, suite/direct, by time {name}: {statistics.median(values):.3f}")


if __name__ == "__main__":
    main()
