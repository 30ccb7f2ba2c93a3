"""Throughput of vLLM through the suite against the same prompts handed to `vllm.LLM.chat`.

Both run in one process on one engine, each first in turn: the host evaluates CulturalMenuBench's
four-way questions of the mini set (up to 21 pictures a prompt) with its vLLM backend; and the
messages that it sent go to `LLM.chat` as one list. The caches of prefixes and of pictures are
emptied before each. Three times are compared with the direct call's: within vLLM alone, in the
backend's `generate_until` (which also builds the requests), and of the whole evaluation with
loading, reading and scoring.

Two models of random weights: one of two layers, which answers some hundred prompts a second on two
cores and so shows the harness at its worst; and one of six, at some ten a second. The harness's own
cost, printed last, does not depend on the model: divide it by your model's time a prompt.

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
TIMES = ("in vLLM", "in the backend", "in all")
WANTED = 0.9  # of the larger model, by time in the backend
SIZES = ({"layers": 2, "heads": 2}, {"layers": 6, "heads": 8})


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


def rounds(backend: Any, number: int) -> tuple[list[dict[str, float]], int]:
    """Time both `number` times, each first in turn; return the seconds and the prompts a round."""
    for _ in range(2):  # the first also rehearses the largest prompts; both warm caches
        _, sent = through_the_suite(backend)
    timed = []
    for turn in range(number):
        seconds: dict[str, float] = {}
        for kind in ("suite", "direct") if turn % 2 else ("direct", "suite"):
            emptied(backend.client)
            if kind == "suite":
                seconds |= through_the_suite(backend)[0]
            else:
                seconds["direct"] = directly(backend, sent)
        timed.append(seconds)
    return timed, len(sent)


def measure(folder: Path, size: dict[str, int], number: int) -> float:
    """Print the ratios for a model of one size; return that by time in the backend."""
    from lmms_eval.models.chat.vllm import VLLM

    from lmms_eval_food.results.tiny_qwen import make_tiny_qwen

    backend = VLLM(
        model=str(make_tiny_qwen(folder, **size)),
        batch_size=BATCH,
        max_new_tokens=TOKENS,
        max_model_len=8192,
        enforce_eager=True,
        dtype="bfloat16",
    )
    with contextlib.redirect_stderr(io.StringIO()):
        timed, prompts = rounds(backend, number)
    backend.client.llm_engine.engine_core.shutdown()
    median = {name: statistics.median(each[name] for each in timed) for name in timed[0]}
    print(f"\nmodel of {size['layers']} layers, {prompts} prompts, median of {number} rounds:")
    print(f"  direct {median['direct']:.2f} s, {prompts / median['direct']:.1f} prompts a second")
    ratios = {n: statistics.median(each["direct"] / each[n] for each in timed) for n in TIMES}
    for name, ratio in ratios.items():
        print(f"  {name} {median[name]:.2f} s; throughput, suite/direct: {ratio:.3f}")
    building = statistics.median(each["in the backend"] - each["in vLLM"] for each in timed)
    rest = statistics.median(each["in all"] - each["in the backend"] for each in timed)
    print(f"  the harness: {1000 * building / prompts:.2f} ms a prompt to build, {rest:.2f} s else")
    return ratios["in the backend"]


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ |= {
            "LMMS_EVAL_FOOD_DATA": str(folder / "data"),
            "HF_HUB_OFFLINE": "1",
            "VLLM_CPU_KVCACHE_SPACE": os.environ.get("VLLM_CPU_KVCACHE_SPACE", "1"),
        }
        from lmms_eval_food.tasks.mini import write_mini

        write_mini(folder / "data")
        reached = [measure(folder / f"model-{s['layers']}", s, number) for s in SIZES]
    if reached[-1] < WANTED:
        raise SystemExit(f"the larger model reaches {reached[-1]:.3f} of {WANTED}")


if __name__ == "__main__":
    main()
