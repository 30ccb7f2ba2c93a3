"""Checks of a run's settings: the host's `--config` file against the tasks that it names."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping

from lmms_eval_food.results.doctor.backend import arguments, model, ranks
from lmms_eval_food.results.doctor.finding import Check, Finding, fail, ok, warn
from lmms_eval_food.results.doctor.prompts import context, pictures
from lmms_eval_food.results.doctor.run_config import (
    VLLM,
    VLLM_LIMIT,
    RunConfig,
    our_tasks,
    sent_limit,
)
from lmms_eval_food.results.doctor.tasks import TaskFile, task_files
from lmms_eval_food.tasks.plugin import TASK_FOLDER

# Benchmarks whose papers state a limit: a longer answer compares no more.
_STATED = ("diningbench", "culturalmenu")


def checks(runs: list[RunConfig]) -> list[Check]:
    """Return the checks of the tasks' output limits and of the runs of a config file."""
    found = [Check("output limits", output_limits)]
    for number, run in enumerate(runs, 1):
        name = "config" if len(runs) == 1 else f"config, run {number}"
        found += [
            Check(f"{name}: {look.__name__}", functools.partial(look, run))
            for look in (fields, model, arguments, ranks, limits, batch, pictures, context)
        ]
    return found


def output_limits() -> Finding:
    """Say the longest answers of the tasks, and what the vLLM backend makes of them."""
    spans: dict[str, set[int]] = {}
    for file in task_files(TASK_FOLDER).values():
        if file.limit is not None:
            spans.setdefault(file.benchmark, set()).add(file.limit)
    shown = ", ".join(
        f"{benchmark} {' or '.join(f'{limit:,}' for limit in sorted(limits))}"
        for benchmark, limits in spans.items()
    )
    lowest = min(min(limits) for limits in spans.values())
    return ok(
        f"{shown} tokens; vLLM backend: max_new_tokens={lowest} in model_args, or all get "
        f"{VLLM_LIMIT:,} at least"
    )


def fields(run: RunConfig) -> Finding:
    """Look whether the host knows every field and the tasks are ours."""
    known = _host_fields()
    unknown = sorted(set(run.fields) - known)
    if unknown:
        return fail(f"the host knows no {', '.join(unknown)}", "lmms-eval --help lists its options")
    files = task_files(TASK_FOLDER)
    others = [task for task in run.tasks if task not in files]
    if not run.tasks or others:
        return warn(f"tasks not of this suite: {', '.join(others) or 'none named'}", "name ours")
    if not (run.fields.get("log_samples") and run.fields.get("output_path")):
        return warn(
            "no sample log: `lmms-eval-food report` needs it", "log_samples: true, output_path: DIR"
        )
    return ok(f"{run.model}, {', '.join(run.tasks)}")


def _host_fields() -> set[str]:
    """Return the names that the host's `--config` accepts; `env` is taken out before."""
    given, sys.argv = sys.argv, ["lmms-eval"]
    try:
        parser, _ = importlib.import_module("lmms_eval.__main__").parse_eval_args()
    finally:
        sys.argv = given
    return {action.dest for action in parser._actions}


def limits(run: RunConfig) -> Finding:
    """Compare the output limit of each task with what the run would send."""
    files = task_files(TASK_FOLDER)
    tasks = our_tasks(run, files)
    sent = {task: sent_limit(run, files[task].limit) for task in tasks}
    short = [task for task, limit in sent.items() if limit < (files[task].limit or 0)]
    if short:
        return fail(
            f"answers are cut short: {_listed(short, sent, files)}",
            "leave max_new_tokens out of gen_kwargs",
        )
    room = run.model_args.get("max_model_len")
    if isinstance(room, int) and room <= max(sent.values(), default=0):
        return fail(
            f"max_model_len={room} has no room for prompts beside {max(sent.values()):,} tokens",
            "raise max_model_len",
        )
    long = [t for t in tasks if files[t].benchmark in _STATED and sent[t] > (files[t].limit or 0)]
    if long:
        return warn(
            f"longer answers than the papers allowed: {_listed(long, sent, files)}",
            "vLLM backend: max_new_tokens=64 in model_args; others: nothing in gen_kwargs",
        )
    return ok(", ".join(f"{task} {limit:,}" for task, limit in sent.items()))


def _listed(tasks: list[str], sent: Mapping[str, int], files: Mapping[str, TaskFile]) -> str:
    return ", ".join(f"{task} {sent[task]:,} for {files[task].limit:,}" for task in tasks)


def batch(run: RunConfig) -> Finding:
    """Look whether the model gets more than one prompt at a time."""
    if run.model in VLLM:
        size = str(run.fields.get("batch_size", 1))
        if size == "1":
            return warn("batch_size 1: vLLM gets one prompt at a time", "batch_size: 256")
        return ok(f"batch_size {size}")
    if run.model == "async_openai" and "num_cpus" not in run.model_args:
        return warn(
            "num_cpus not set: half the processors' number of requests at once",
            "num_cpus=64 in model_args",
        )
    return ok("nothing to set, or set")
