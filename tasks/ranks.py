"""Keeps the ranks of one vLLM in step.

Under torchrun the ranks of a tensor- or data-parallel vLLM wait for one another inside the engine:
each must call it as often as the others, and with as many prompts. A rank that calls less often
leaves the others waiting for ever. Ranks with a model of their own wait for nobody.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import Any, TypeVar

BACKEND = "lmms_eval.models.simple.vllm"  # its class is the base of the host's vLLM backends
T = TypeVar("T")


def in_step(lm: Any) -> bool:
    """Return whether a model is a vLLM that this process shares with other ranks."""
    backend = getattr(sys.modules.get(BACKEND), "VLLM", None)
    if backend is None or not isinstance(lm, backend):
        return False
    # Without either, torchrun's ranks are copies that know nothing of each other.
    shared = int(lm.tensor_parallel_size) * int(lm.data_parallel_size) > 1
    return shared and int(lm.world_size) > 1


def gathered(lm: Any, mine: T) -> list[T]:
    """Return what each rank hands in, in the order of the ranks; `[mine]` where `in_step` is false.

    Every rank must call this.
    """
    if not in_step(lm):
        return [mine]
    distributed = importlib.import_module("torch.distributed")
    everyones: list[Any] = [None] * distributed.get_world_size()
    distributed.all_gather_object(everyones, mine)
    return everyones


def refuse_idle(numbers: Sequence[int]) -> None:
    """End the run where one rank has requests and another has none, which it could repeat.

    Args:
        numbers: How many requests each rank has.

    Raises:
        SystemExit: on every rank, with one message.
    """
    idle = [rank for rank, number in enumerate(numbers) if not number]
    if idle and any(numbers):
        raise SystemExit(
            f"lmms-eval-food: rank {', '.join(map(str, idle))} of {len(numbers)} has no document, "
            "and vLLM's other ranks would wait for it for ever. Use no more ranks than documents, "
            "or a larger --limit."
        )
