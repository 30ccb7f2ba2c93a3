"""The wheel holds what the repository holds, and works where the repository is not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest
from support import REPOSITORY

FOLDERS = ("filters", "metrics", "results", "tasks")


def package_folders() -> set[str]:
    return {
        str(file.parent.relative_to(REPOSITORY))
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*.py")
    }


def test_every_package_folder_is_listed() -> None:
    setuptools = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert set(setuptools["package-dir"].values()) == package_folders()
    assert set(setuptools["packages"]) == set(setuptools["package-dir"])


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # setuptools packs whatever an earlier build left there, deleted modules too.
    shutil.rmtree(REPOSITORY / "build" / "lib", ignore_errors=True)
    folder = tmp_path_factory.mktemp("wheel")
    tool = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    subprocess.run(
        [*tool, "--outdir", str(folder), str(REPOSITORY)], check=True, capture_output=True
    )
    return next(folder.glob("*.whl"))


@pytest.mark.slow
def test_wheel_holds_every_file_of_the_four_folders(wheel: Path) -> None:
    here = {
        f"lmms_eval_food/{file.relative_to(REPOSITORY)}"
        for folder in FOLDERS
        for file in (REPOSITORY / folder).rglob("*")
        if file.is_file()
        and "__pycache__" not in file.parts
        # Submitted runs belong to the repository's board, not to what is installed.
        and "results/runs" not in file.as_posix()
    }
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.startswith("lmms_eval_food/")}
    assert packed == here


LOAD_EVERY_TASK = """
import json, sys
import lmms_eval.models
from lmms_eval.tasks import TaskManager
import lmms_eval_food.tasks.plugin as plugin
assert "site-packages" in plugin.__file__, plugin.__file__
host_only = TaskManager("ERROR", include_path=[], include_defaults=False).all_tasks
assert host_only == [], host_only
manager = TaskManager("ERROR")
ours = [n for n, e in manager.task_index.items() if "lmms_eval_food" in str(e["yaml_path"])]
for kind in ("simple", "chat"):
    for name in ours:
        loaded = manager.load_task_or_group([name], task_type=kind)
        assert loaded, name
json.dump(sorted(ours), open(sys.argv[1], "w"))
"""


@pytest.mark.slow
def test_installed_wheel_lists_and_loads_every_task_from_the_root_folder(
    wheel: Path, mini_root: Path, tmp_path: Path
) -> None:
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--quiet", "--python", str(python), "install"]
    subprocess.run([*install, "--no-deps", "--no-index", str(wheel)], check=True)
    # The dependencies of the environment that runs the tests, but not its editable install: .pth
    # files in a folder that a .pth file names are not read.
    site = next((home / "lib").glob("python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    listed = tmp_path / "tasks.json"
    environment = {**os.environ, "LMMS_EVAL_FOOD_DATA": str(mini_root)}
    environment["LMMS_EVAL_FOOD_MATCHER"] = "minilm"
    done = subprocess.run(
        [str(python), "-c", LOAD_EVERY_TASK, str(listed)],
        cwd="/",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert set(json.loads(listed.read_text())) >= {
        "diningbench_cls",
        "culturalmenu_binary",
        "canteen_portions",
    }
