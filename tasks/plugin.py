"""How lmms-eval finds us: its `lmms_eval.models` entry point calls `register`.

Only models have an entry point in lmms-eval 0.7, and it runs at every start of the host, also for
`lmms-eval models`, before torch or datasets are loaded. So this module imports nothing heavy. The
models are handed over as manifests (class paths); our task folder joins the task manager's default
search path, and where the task manager is not imported yet, that waits until it is.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lmms_eval.models.registry_v2 import ModelManifest

HOST_TASKS = "lmms_eval.tasks"
TASK_FOLDER = Path(__file__).parent
MODELS = "lmms_eval_food.tasks.models"


def register() -> list[ModelManifest]:
    """Add our task folder to the host's search path and return our models' manifests."""
    from lmms_eval.models.registry_v2 import ModelManifest

    if HOST_TASKS in sys.modules:
        add_task_folder(sys.modules[HOST_TASKS])
    elif not any(isinstance(finder, _AfterImport) for finder in sys.meta_path):
        sys.meta_path.insert(0, _AfterImport(HOST_TASKS, add_task_folder))
    return [
        ModelManifest("food_reference", f"{MODELS}.ReferenceSimple", f"{MODELS}.Reference"),
        ModelManifest("food_replay", f"{MODELS}.ReplaySimple", f"{MODELS}.Replay"),
    ]


def add_task_folder(host_tasks: ModuleType) -> None:
    """Make `host_tasks.TaskManager` search our task folder wherever it searches its own.

    A host without that class or method gets a warning and starts without our tasks.
    """
    manager = getattr(host_tasks, "TaskManager", None)
    original = getattr(manager, "initialize_tasks", None)
    if manager is None or original is None:
        warnings.warn(
            "lmms-eval-food: this lmms-eval has no TaskManager.initialize_tasks, so the food tasks "
            f"are not registered. Add them with --include_path {TASK_FOLDER}, or install "
            "lmms-eval 0.7.3.",
            stacklevel=2,
        )
        return
    if getattr(original, "adds_food_tasks", False):
        return

    @functools.wraps(original)
    def initialize_tasks(
        self: Any,
        include_path: str | list[str] | None = None,
        include_defaults: bool = True,
        **kwargs: Any,
    ) -> Any:
        paths = [include_path] if isinstance(include_path, str) else list(include_path or [])
        if include_defaults:
            paths.append(str(TASK_FOLDER))
        return original(
            self, include_path=paths or None, include_defaults=include_defaults, **kwargs
        )

    initialize_tasks.adds_food_tasks = True  # type: ignore[attr-defined] # our own mark
    manager.initialize_tasks = initialize_tasks


class _AfterImport:
    """A finder that calls `then(module)` once, right after `name` has been imported."""

    def __init__(self, name: str, then: Callable[[ModuleType], None]) -> None:
        self.name = name
        self.then = then

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self.name:
            return None
        sys.meta_path.remove(self)  # once only; and the search below must not find us again
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            run(module)
            self.then(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign] # this spec's own loader
        return spec
