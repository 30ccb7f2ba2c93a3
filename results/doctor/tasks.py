"""What the task files say, read without the host: names, groups and output limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """Reads the host's task files; what `!function` names is not imported."""


def _function_name(loader: yaml.SafeLoader, node: yaml.Node) -> str:
    return str(node.value)


_Loader.add_constructor("!function", _function_name)


@dataclass(frozen=True, slots=True)
class TaskFile:
    """One task or group.

    Attributes:
        path: Its file.
        benchmark: Folder of its file: "diningbench", "canteen", "culturalmenu"; "" for `food`.
        limit: Its longest answer in tokens; None for a group.
        members: Names in a group; () for a task.
    """

    path: Path
    benchmark: str
    limit: int | None
    members: tuple[str, ...]


def task_files(folder: Path) -> dict[str, TaskFile]:
    """Return the tasks and groups below a folder of task files, by name."""
    found = {}
    for path in sorted(folder.rglob("*.yaml")):
        config = read(path)
        name = config.get("group", config.get("task"))
        if path.name.startswith("_") or not isinstance(name, str):
            continue
        benchmark = "" if path.parent == folder else path.parent.name
        members = tuple(config["task"]) if "group" in config else ()
        limit = config.get("generation_kwargs", {}).get("max_new_tokens")
        found[name] = TaskFile(path, benchmark, limit, members)
    return found


def read(path: Path) -> dict[str, Any]:
    """Return a task file's fields, those of the file it includes below its own."""
    config = yaml.load(path.read_text(encoding="utf-8"), _Loader)
    if not isinstance(config, dict):
        return {}
    base = config.pop("include", None)
    return {**read(path.parent / base), **config} if base else config


def members(names: Sequence[str], files: Mapping[str, TaskFile]) -> list[str]:
    """Return the tasks that names of tasks and groups stand for, each once.

    Raises:
        KeyError: a name is neither; its argument is the name.
    """
    found: dict[str, None] = {}
    for name in names:
        inside = files[name].members
        found.update(dict.fromkeys(members(inside, files) if inside else [name]))
    return list(found)
