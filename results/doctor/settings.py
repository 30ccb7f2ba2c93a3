"""Checks of a run's settings: the host's `--config` file against the tasks that it names."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.results import configs
from lmms_eval_food.results.doctor.finding import Check, Finding, fail, ok, warn
from lmms_eval_food.results.doctor.setup import most_pictures
from lmms_eval_food.results.doctor.tasks import TaskFile, members, task_files
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.plugin import TASK_FOLDER
from lmms_eval_food.tasks.staging import check_tables

# Benchmarks whose papers state a limit: a longer answer compares no more.
_STATED = ("diningbench", "culturalmenu")
# The host's vLLM backends take the larger of the task's limit and their own, which is this.
_VLLM = ("vllm", "vllm_chat", "vllm_generate")
_VLLM_LIMIT = 4096


class ConfigError(Exception):
    """A `--config` that is no YAML of runs; the message says what it is."""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """One run of a config file, its texts taken apart as the host does.

    Attributes:
        fields: All fields as they stand, without `env`.
        env: Variables that the host sets for it.
        model: The backend.
        model_args: Its arguments.
        gen_kwargs: What takes the place of the tasks' own generation settings.
        tasks: Names of tasks and groups.
    """

    fields: Mapping[str, Any]
    env: Mapping[str, str]
    model: str
    model_args: Mapping[str, Any]
    gen_kwargs: Mapping[str, Any]
    tasks: tuple[str, ...]


def read_runs(source: str) -> list[RunConfig]:
    """Return the runs of a config: a file, or one of `configs.names()`.

    Raises:
        ConfigError: it is neither, or holds no runs.
    """
    try:
        text = (
            configs.text(source)
            if source in configs.names()
            else Path(source).expanduser().read_text(encoding="utf-8")
        )
        content = yaml.safe_load(text)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise ConfigError(
            f"--config {source}: {error}; packaged are {', '.join(configs.names())}"
        ) from None
    runs = content if isinstance(content, list) else [content]
    if not runs or not all(isinstance(run, dict) for run in runs):
        raise ConfigError(f"--config {source}: expected a mapping of settings, or a list of them")
    try:
        return [_run(run) for run in runs]
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"--config {source}: the host cannot read it ({error})") from None


def _run(run: Mapping[str, Any]) -> RunConfig:
    parse = importlib.import_module("lmms_eval.utils").simple_parse_args_string
    return RunConfig(
        fields={name: value for name, value in run.items() if name != "env"},
        env={name: str(value) for name, value in (run.get("env") or {}).items()},
        model=str(run.get("model", "")),
        model_args=parse(run.get("model_args") or ""),
        gen_kwargs=parse(run.get("gen_kwargs") or ""),
        tasks=tuple(name.strip() for name in (run.get("tasks") or "").split(",") if name.strip()),
    )


def checks(runs: list[RunConfig]) -> list[Check]:
    """Return the checks of the tasks' output limits and of the runs of a config file."""
    found = [Check("output limits", output_limits)]
    for number, run in enumerate(runs, 1):
        name = "config" if len(runs) == 1 else f"config, run {number}"
        found += [
            Check(f"{name}: {look.__name__}", functools.partial(look, run))
            for look in (fields, engine, limits, batch, pictures)
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
        f"{_VLLM_LIMIT:,} at least"
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


def engine(run: RunConfig) -> Finding:
    """Look whether what the backend needs is installed."""
    if run.model in _VLLM and importlib.util.find_spec("vllm") is None:
        return fail(f"the backend {run.model} needs vLLM", "pip install vllm, or config api_server")
    return ok(f"backend {run.model}")


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
    tasks = members([name for name in run.tasks if name in files], files)
    sent = {task: sent_limit(run, files[task].limit) for task in tasks}
    short = [task for task, limit in sent.items() if limit < (files[task].limit or 0)]
    if short:
        return fail(
            f"answers are cut short: {_listed(short, sent, files)}",
            "leave max_new_tokens out of gen_kwargs",
        )
    context = run.model_args.get("max_model_len")
    if isinstance(context, int) and context <= max(sent.values(), default=0):
        return fail(
            f"max_model_len={context} has no room for prompts beside {max(sent.values()):,} tokens",
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


def sent_limit(run: RunConfig, limit: int | None) -> int:
    """Return the longest answer in tokens that a run allows a task with its own limit."""
    asked = int(run.gen_kwargs.get("max_new_tokens", limit or 0))
    if run.model in _VLLM:
        return max(asked, int(run.model_args.get("max_new_tokens", _VLLM_LIMIT)))
    return asked


def batch(run: RunConfig) -> Finding:
    """Look whether the model gets more than one prompt at a time."""
    if run.model in _VLLM:
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


def pictures(run: RunConfig) -> Finding:
    """Compare the engine's limit of pictures a prompt with the prepared data."""
    if run.model not in _VLLM:
        return ok("the server's limit holds")
    files = task_files(TASK_FOLDER)
    tasks = members([name for name in run.tasks if name in files], files)
    counts = {b: _most(b) for b in dict.fromkeys(files[task].benchmark for task in tasks)}
    given = run.model_args.get("limit_mm_per_prompt")
    if given is None:
        return ok("limit_mm_per_prompt not set: vLLM's own")
    allowed = int(json.loads(str(given)).get("image", sys.maxsize))
    over = [f"{benchmark} {count}" for benchmark, count in counts.items() if count > allowed]
    if over:
        return fail(
            f"limit_mm_per_prompt allows {allowed}, the data need: {', '.join(over)}", "raise it"
        )
    return ok(f"{allowed} allowed; " + ", ".join(f"{b} {n or '?'}" for b, n in counts.items()))


def _most(benchmark: str) -> int:
    """Return the most pictures of one prompt, 0 where no data are prepared."""
    folder = data.data_root() / benchmark
    return most_pictures(check_tables(benchmark, folder)) if folder.is_dir() else 0
