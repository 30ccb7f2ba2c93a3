"""The runs of the host's `--config` file, taken apart as the host does."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.results import configs
from lmms_eval_food.results.doctor.tasks import TaskFile, members

# The host's backends with vLLM inside the evaluation process.
VLLM = ("vllm", "vllm_chat", "vllm_generate")
# They take the larger of the task's limit and their own, which is this where none is named.
VLLM_LIMIT = 4096
VLLM_SIMPLE_LIMIT = 1024  # with force_simple


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
        return [run_config(run) for run in runs]
    except (AttributeError, TypeError, ValueError) as error:
        raise ConfigError(f"--config {source}: the host cannot read it ({error})") from None


def run_config(run: Mapping[str, Any]) -> RunConfig:
    """Return one run, its texts taken apart."""
    parse = importlib.import_module("lmms_eval.utils").simple_parse_args_string
    return RunConfig(
        fields={name: value for name, value in run.items() if name != "env"},
        env={name: str(value) for name, value in (run.get("env") or {}).items()},
        model=str(run.get("model", "")),
        model_args=parse(run.get("model_args") or ""),
        gen_kwargs=parse(run.get("gen_kwargs") or ""),
        tasks=tuple(name.strip() for name in (run.get("tasks") or "").split(",") if name.strip()),
    )


def our_tasks(run: RunConfig, files: Mapping[str, TaskFile]) -> list[str]:
    """Return the tasks of this suite that a run asks for."""
    return members([name for name in run.tasks if name in files], files)


def sent_limit(run: RunConfig, limit: int | None) -> int:
    """Return the longest answer in tokens that a run allows a task with its own limit."""
    asked = int(run.gen_kwargs.get("max_new_tokens", limit or 0))
    if run.model in VLLM:
        own = VLLM_SIMPLE_LIMIT if run.fields.get("force_simple") else VLLM_LIMIT
        return max(asked, int(run.model_args.get("max_new_tokens", own)))
    return asked
