"""The tasks that are installed: their configurations and versions."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.tasks.plugin import TASK_FOLDER


class _Loader(yaml.SafeLoader):
    """Reads a task's file without importing the functions that it names."""


_Loader.add_constructor("!function", lambda loader, node: str(node.value))


@functools.cache
def installed_configs() -> dict[str, dict[str, Any]]:
    """Return task name -> its configuration, functions by their full names, of every task here."""
    loaded = (_load(path) for path in sorted(TASK_FOLDER.glob("*/*.yaml")))
    return {
        config["task"]: config
        for config in loaded
        if isinstance(config, dict) and isinstance(config.get("task"), str)
    }


@functools.cache
def installed_groups() -> frozenset[str]:
    """Return the names of this suite's groups of tasks."""
    loaded = (_load(path) for path in TASK_FOLDER.rglob("*.yaml"))
    return frozenset(c["group"] for c in loaded if isinstance(c, dict) and "group" in c)


@functools.cache
def installed_versions() -> dict[str, Any]:
    """Return task name -> `metadata.version` of every task of this suite."""
    return {
        task: (config.get("metadata") or {}).get("version")
        for task, config in installed_configs().items()
    }


@functools.cache
def _load(path: Path) -> Any:
    config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if isinstance(config, dict) and "include" in config:
        return {**_load(path.parent / config["include"]), **config}
    return config
