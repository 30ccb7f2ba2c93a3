"""One rank of a vLLM that several share: the response cache with a stand-in for the engine.

    torchrun … rank_in_step.py CACHE OUT.jsonl SCENARIO

The engine waits for all ranks at each call, as vLLM does, and ends the process when their numbers
of prompts differ. A line of OUT is a rank's calls and answers.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch.distributed as dist
from cache_runs import TASK, Model, load, requests_of
from lmms_eval.caching.response_cache import ResponseCache
from lmms_eval.models.simple.vllm import VLLM

from lmms_eval_food.tasks import rehearsal

# Documents of the run, in order; each rank gets every n-th. What the model answers to some.
SCENARIOS: dict[str, tuple[int, dict[int, str]]] = {
    "fresh": (9, {}),
    "one empty": (9, {3: ""}),
    "two failed": (9, {0: "[LMMS_EVAL_REQUEST_FAILED after 1 retries] x", 4: ""}),
    "few": (1, {}),
}


class Engine(Model, VLLM):  # type: ignore[misc] # the host is untyped
    """Answers as `Model` does, all ranks together."""

    def __init__(self, tasks: dict[str, Any], **told: Any) -> None:
        Model.__init__(self, tasks, **told)
        self._rank, self._world_size = dist.get_rank(), dist.get_world_size()
        self.tensor_parallel_size, self.data_parallel_size = 1, self._world_size
        self.batch_size_per_gpu = 2
        self.rehearsed = 0

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        together("asked", len(requests))
        return Model.generate_until(self, requests)


def together(what: str, number: int) -> None:
    """Wait for all ranks, which must be about to do the same."""
    everyones: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(everyones, (what, number))
    if len(set(everyones)) > 1:
        print(f"out of step: {everyones}", file=sys.stderr, flush=True)
        os._exit(3)


def rehearse_task(lm: Any, request: Any) -> None:
    """Stands in for trying the largest prompts of a task."""
    together(request.task_name, 1)
    lm.rehearsed += 1


def main(cache_folder: str, out: str, scenario: str) -> None:
    """Run this rank's share."""
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=60))
    rank, size = dist.get_rank(), dist.get_world_size()
    rehearsal._rehearse_task = rehearse_task
    Engine.generate_until = rehearsal._rehearsing(Engine.generate_until)  # type: ignore[method-assign] # as installed
    number, said = SCENARIOS[scenario]
    tasks = load()
    requests = requests_of(tasks[TASK], number)[rank::size]
    longest = -(-number // size)
    requests += requests[-1:] * (longest - len(requests))  # as the host fills up a share
    cache = ResponseCache.create(
        cache_folder,
        model="m",
        model_args="a=1",
        task_dict=tasks,
        world_size=size,
        global_rank=rank,
    )
    engine = Engine(tasks, answers=said)
    answers = cache.execute(engine, "generate_until", requests)
    dist.barrier()
    cache.finalize(success=True, dist_backend="torchrun")
    line = {
        "rank": rank,
        "portions": engine.portions,
        "rehearsed": engine.rehearsed,
        "answers": answers,
    }
    with Path(f"{out}.{rank}").open("w", encoding="utf-8") as stream:
        json.dump(line, stream)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
