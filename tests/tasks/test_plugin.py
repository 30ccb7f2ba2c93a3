from __future__ import annotations

import subprocess
import sys
import types
import warnings

import pytest

from lmms_eval_food.tasks import plugin

HEAVY = ("torch", "sentence_transformers", "datasets", "transformers", "lmms_eval.tasks")


def test_registration_imports_nothing_heavy() -> None:
    code = (
        "import sys, lmms_eval.models as m;"
        "assert 'food_reference' in m.list_available_models();"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_host_without_task_manager_gets_a_warning_and_starts() -> None:
    with pytest.warns(UserWarning, match="--include_path"):
        plugin.add_task_folder(types.ModuleType("lmms_eval.tasks"))


def test_host_without_the_method_gets_a_warning_and_starts() -> None:
    module = types.ModuleType("lmms_eval.tasks")
    module.TaskManager = type("TaskManager", (), {})  # type: ignore[attr-defined] # a stand-in
    with pytest.warns(UserWarning, match=r"lmms-eval 0\.7\.3"):
        plugin.add_task_folder(module)


class Manager:
    """Stands in for the host's: returns what it would search."""

    def initialize_tasks(
        self, include_path: list[str] | None = None, include_defaults: bool = True
    ) -> tuple[list[str] | None, bool]:
        return include_path, include_defaults


@pytest.fixture
def patched() -> type[Manager]:
    manager = type("Manager", (Manager,), {"initialize_tasks": Manager.initialize_tasks})
    module = types.ModuleType("lmms_eval.tasks")
    module.TaskManager = manager  # type: ignore[attr-defined] # a stand-in
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plugin.add_task_folder(module)
        plugin.add_task_folder(module)  # a second call changes nothing
    return manager


@pytest.mark.parametrize(
    ("include_path", "include_defaults", "searched"),
    [
        (None, True, [str(plugin.TASK_FOLDER)]),
        ("/mine", True, ["/mine", str(plugin.TASK_FOLDER)]),
        (["/a", "/b"], True, ["/a", "/b", str(plugin.TASK_FOLDER)]),
        (None, False, None),
        ("/mine", False, ["/mine"]),
    ],
)
def test_our_folder_joins_the_default_search_path_only(
    patched: type[Manager],
    include_path: str | list[str] | None,
    include_defaults: bool,
    searched: list[str] | None,
) -> None:
    found = patched().initialize_tasks(include_path, include_defaults)  # type: ignore[arg-type]
    assert found == (searched, include_defaults)


LIST = """
import lmms_eval.models
from lmms_eval.tasks import TaskManager
import lmms_eval_food.tasks.plugin as plugin
folder = str(plugin.TASK_FOLDER)
wrapped = TaskManager.initialize_tasks
plain = TaskManager("ERROR"), TaskManager("ERROR", include_path=folder)
TaskManager.initialize_tasks = wrapped.__wrapped__
bare, included = TaskManager("ERROR"), TaskManager("ERROR", include_path=folder)
assert plain[0].all_tasks == plain[1].all_tasks == included.all_tasks
assert {n: plain[0].task_index[n] for n in included.all_tasks} == included.task_index
ours = set(included.all_tasks) - set(bare.all_tasks)
mine = TaskManager("ERROR", include_path=folder, include_defaults=False).all_tasks
assert ours == set(mine), set(mine) - ours  # no name that the host has too
print(sorted(ours))
print(len(plain[0].list_all_tasks()))
"""


@pytest.mark.slow
def test_host_finds_our_tasks_by_itself_and_by_include_path() -> None:
    done = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "'diningbench_cls'" in done.stdout
