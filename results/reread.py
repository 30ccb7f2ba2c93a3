"""An answer of a sample log, read once more by the task's own reader."""

from __future__ import annotations

import functools
import importlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lmms_eval_food.filters.foods import OfficialFoods, RobustFoods
from lmms_eval_food.filters.reading import Reading
from lmms_eval_food.results.recompute import kind
from lmms_eval_food.results.versions import installed_configs

_FOODS = {"official": OfficialFoods, "robust": RobustFoods}


def kept_reading(row: Mapping[str, Any]) -> Reading:
    """Return the reading that the host kept in a row."""
    kept = row["filtered_resps"]
    return Reading.from_json(str(kept if isinstance(kept, str) else kept[0]))


def read_again(task: str, reader: str, reading: Reading) -> Reading:
    """Return what the task's reader makes of the raw answer.

    A second model is not asked again: what it is said to have written must at least be what the
    reader takes from such a text, and an answer that needed none is read without it.
    """
    found: Reading
    if kind(task) != "canteen":
        found = _reader(task, reader).read(reading.raw)
    else:
        text = _rewritten(reading) if reading.step == "model" else None
        found = _FOODS[reader](lambda _: text).read(reading.raw)
        if reading.step == "model" and found.value is not None and reading.value is not None:
            # Marks are about the model's own words, which the log does not keep.
            items = zip(found.value["items"], reading.value["items"], strict=True)
            found.value["items"] = [{**new, "marks": old["marks"]} for new, old in items]
    return replace(found, reader=reader)


def _rewritten(reading: Reading) -> str:
    items = [
        {"name": item["name"], "portion_estimate": item["text"]} for item in reading.value["items"]
    ]
    return json.dumps({"food_items": items})


@functools.cache
def _reader(task: str, name: str) -> Any:
    steps = {one["name"]: one["filter"][0] for one in installed_configs()[task]["filter_list"]}
    options = dict(steps[name])
    return named(options.pop("function"))(**options)


def named(path: str) -> Any:
    """Return what a task's file names by its full name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
