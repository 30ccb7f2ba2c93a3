"""The versions of the tasks that are installed."""

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
def installed_versions() -> dict[str, Any]:
    """Return task name -> `metadata.version` of every task of this suite."""
    found = {}
    for path in sorted(TASK_FOLDER.glob("*/*.yaml")):
        config = _load(path)
        if isinstance(config, dict) and isinstance(config.get("task"), str):
            found[config["task"]] = (config.get("metadata") or {}).get("version")
    return found


@functools.cache
def _load(path: Path) -> Any:
    config = yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    if isinstance(config, dict) and "include" in config:
        return {**_load(path.parent / config["include"]), **config}
    return config
