"""Checks of the machine: versions, the host's plugin, engines, GPUs, disk."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import os
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from lmms_eval_food.results.doctor.finding import Check, Finding, fail, ok, warn
from lmms_eval_food.results.doctor.tasks import TaskFile, task_files
from lmms_eval_food.tasks import data, images
from lmms_eval_food.tasks.plugin import TASK_FOLDER

TESTED_HOST = "0.7.3"
_GIB = 2**30
# DiningBench's pictures, packed and unpacked side by side while they are prepared.
_ROOM_GIB = 20
_BARE_ROOM_GIB = 1
_LOSSY = ("JPEG", "WEBP")
# What each of the other engines is for.
_ENGINES = {
    "vllm": "needed for the vllm configs only",
    "transformers": "needed for the host's transformers backends and the matcher",
    "openai": "needed for the api_server and ollama configs",
}


def checks() -> list[Check]:
    """Return the checks of the machine."""
    engines = [Check(name, functools.partial(engine, name)) for name in _ENGINES]
    return [
        Check("requirements", requirements),
        Check("lmms-eval", host),
        Check("tasks", plugin),
        *engines,
        Check("torch and GPUs", gpus),
        Check("pictures", pictures),
        Check("disk", disk),
        Check("cache", cache),
    ]


def requirements() -> Finding:
    """Look whether Python and every declared requirement are as our package wants them."""
    distribution = importlib.metadata.distribution("lmms-eval-food")
    wanted = [Requirement(text) for text in distribution.requires or ()]
    python = Requirement(f"python{distribution.metadata['Requires-Python'] or ''}")
    found = f"Python {platform.python_version()}, lmms-eval-food {distribution.version}"
    if not python.specifier.contains(platform.python_version(), prereleases=True):
        return fail(found, f"use a Python {python.specifier}")
    wrong = [problem for requirement in wanted for problem in _unmet(requirement)]
    if wrong:
        texts = " ".join(f"'{requirement}'" for requirement, _ in wrong)
        return fail("; ".join(detail for _, detail in wrong), f"pip install {texts}")
    return ok(found)


def _unmet(requirement: Requirement) -> Iterator[tuple[str, str]]:
    """Yield what to install and what is wrong, where a requirement is not met."""
    if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
        return
    text = f"{requirement.name}{requirement.specifier}"
    try:
        there = importlib.metadata.version(requirement.name)
    except importlib.metadata.PackageNotFoundError:
        yield text, f"{text} is not installed"
        return
    if not requirement.specifier.contains(there, prereleases=True):
        yield text, f"{requirement.name} {there} is installed, {text} is needed"


def host() -> Finding:
    """Look whether the host is the version that this package was tested with."""
    there = importlib.metadata.version("lmms-eval")
    if there == TESTED_HOST:
        return ok(there)
    return warn(
        f"{there}; tested with {TESTED_HOST}",
        f"pip install lmms-eval=={TESTED_HOST} (constraints.txt has all known-good versions)",
    )


def plugin() -> Finding:
    """Look whether the host finds each of our tasks, and ours under each name."""
    missing = missing_tasks(_host_index(), task_files(TASK_FOLDER))
    if missing:
        return fail(
            f"the host does not find {', '.join(missing)}",
            f"reinstall lmms-eval-food, or add --include_path {TASK_FOLDER}",
        )
    return ok(f"the host finds all {len(task_files(TASK_FOLDER))} tasks and groups")


def missing_tasks(
    index: Mapping[str, Mapping[str, Any]], ours: Mapping[str, TaskFile]
) -> list[str]:
    """Return our names that the host's task index lacks or gives to another file."""
    return [
        name
        for name, file in ours.items()
        if Path(str(index.get(name, {}).get("yaml_path", ""))) != file.path
    ]


def _host_index() -> Mapping[str, Mapping[str, Any]]:
    importlib.import_module("lmms_eval.models")  # calls our entry point, as every start does
    manager = importlib.import_module("lmms_eval.tasks").TaskManager("ERROR")
    index: Mapping[str, Mapping[str, Any]] = manager.task_index
    return index


def engine(name: str) -> Finding:
    """Look whether an engine is installed and can be imported."""
    use = _ENGINES[name]
    try:
        there = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ok(f"not installed; {use}")
    try:
        importlib.import_module(name)
    except Exception as error:  # a build for other drivers or another torch raises nearly anything
        return fail(
            f"{there} cannot be imported ({error!r}); {use}", f"reinstall {name} for this machine"
        )
    return ok(there)


def gpus() -> Finding:
    """List the GPUs and name the config that suits them."""
    torch = importlib.import_module("torch")
    cards = [torch.cuda.get_device_properties(n) for n in range(torch.cuda.device_count())]
    named = [f"{card.name} {card.total_memory / _GIB:.0f} GiB" for card in cards]
    return ok(f"torch {torch.__version__}; {', '.join(named) or 'no GPU'}; {advice(len(cards))}")


def advice(cards: int) -> str:
    """Return which config suits a number of GPUs."""
    if cards == 0:
        return "config: api_server or ollama"
    if cards == 1:
        return "config: vllm_one_gpu"
    return "config: vllm_data_parallel, or vllm_tensor_parallel where one GPU cannot hold the model"


def pictures() -> Finding:
    """Look how pictures that cannot be sent as they are would be encoded, and for a pixel limit."""
    from PIL import Image

    variable = "LMMS_IMAGE_ENCODE_FORMAT"
    chosen = os.environ.get(variable, "PNG").upper()
    Image.init()
    if chosen not in Image.SAVE:
        return fail(f"{variable}={chosen} is no format of Pillow", f"unset {variable}, or PNG")
    try:
        limit = images.max_pixels()
    except ValueError as error:
        return fail(str(error), f"unset {images.MAX_PIXELS}, or a number")
    shown = "no pixel limit" if limit is None else f"at most {limit:,} pixels"
    if chosen in _LOSSY:
        return warn(
            f"files as they are, mended ones as {chosen}, with loss; {shown}", f"{variable}=PNG"
        )
    return ok(f"files as they are, mended ones as {chosen}; {shown}")


def disk() -> Finding:
    """Look how much room the data root's disk has."""
    root = data.data_root()
    there = next(folder for folder in (root, *root.parents) if folder.exists())
    free = shutil.disk_usage(there).free / _GIB
    found = f"{root}: {free:.0f} GiB free"
    remedy = "make room, or name another data root in LMMS_EVAL_FOOD_DATA"
    if free < _BARE_ROOM_GIB:
        return fail(found, remedy)
    return warn(found, remedy) if free < _ROOM_GIB else ok(found)


def cache() -> Finding:
    """Look whether the folder of scores and judge's answers can be written."""
    folder = data.cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return warn(
            f"{folder} cannot be written ({error.strerror}): a judge is asked anew in each run",
            "make it writable, or name another folder in XDG_CACHE_HOME",
        )
    return ok(str(folder))
