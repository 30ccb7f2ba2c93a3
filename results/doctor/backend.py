"""Checks of a run's backend: its name, its arguments, the processes that it needs."""

from __future__ import annotations

import difflib
import importlib
import importlib.util

from lmms_eval_food.results.doctor import signatures
from lmms_eval_food.results.doctor.finding import Finding, fail, ok, warn
from lmms_eval_food.results.doctor.run_config import VLLM, RunConfig

# Backends that ignore what they do not know, or refuse it; others may hand it on.
_CLOSED = ("openai", "async_openai", "food_reference", "food_replay")


def model(run: RunConfig) -> Finding:
    """Look whether the host has the backend, and what it needs is installed."""
    # The host's list of names and class paths; no backend is imported.
    names = importlib.import_module("lmms_eval.models").MODEL_REGISTRY_V2.list_model_names()
    if run.model not in names:
        close = difflib.get_close_matches(run.model, names, n=3)
        meant = f"did you mean {' or '.join(close)}? " if close else ""
        return fail(f"the host has no model {run.model!r}", f"{meant}`lmms-eval models` lists them")
    if run.model in VLLM and importlib.util.find_spec("vllm") is None:
        return fail(f"the backend {run.model} needs vLLM", "pip install vllm, or config api_server")
    return ok(f"backend {run.model}")


def arguments(run: RunConfig) -> Finding:
    """Look whether the backend knows every argument, as far as its source tells."""
    registry = importlib.import_module("lmms_eval.models").MODEL_REGISTRY_V2
    if run.model not in registry.list_model_names():
        return ok(f"not known for {run.model!r}")
    path = registry.resolve(run.model, bool(run.fields.get("force_simple"))).class_path
    taken = signatures.of_class(path)
    known = set(taken.names) if taken else set()
    more = taken is None or taken.more
    if taken is not None and run.model in VLLM:
        engine = signatures.of_vllm()
        known, more = known | engine, not engine
    elif taken is not None and run.model in _CLOSED:
        more = False
    unknown = sorted(set(run.model_args) - known)
    if more:
        return ok(f"not looked at: {', '.join(unknown)}" if unknown else "all known")
    if not unknown:
        return ok("all known")
    close = [name for text in unknown for name in difflib.get_close_matches(text, known, n=1)]
    meant = f"did you mean {', '.join(close)}?" if close else "take it out"
    return warn(f"{run.model} knows no {', '.join(unknown)}", meant)


def ranks(run: RunConfig) -> Finding:
    """Say how many processes a vLLM run needs, and how to start them."""
    if run.model not in VLLM:
        return ok("one process")
    sizes = [run.model_args.get(f"{kind}_parallel_size", 1) for kind in ("tensor", "data")]
    if not all(isinstance(size, int) and size > 0 for size in sizes):
        return fail(f"tensor and data parallel sizes {sizes} are no numbers above 0", "mend them")
    tensor, data = sizes
    if data == 1:
        return ok("one process")
    number = tensor * data
    return warn(
        f"data_parallel_size={data}: the backend starts under torchrun only, {number} processes on "
        "all machines together",
        f"torchrun --nproc_per_node {number} -m lmms_eval --config FILE",
    )
