"""Reference predictors: what a score means is seen beside chance, a constant and the truth.

Each benchmark's `reference.py` says how its tasks are answered; this module finds the right one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

Doc = dict[str, Any]
Answer = Callable[[Doc, Random], str]
# A predictor looks at all documents of a task once and returns a function of one document.
Predictor = Callable[[Sequence[Doc]], Answer]

NAMES = ("random", "majority", "oracle", "null", "global_median", "typical_serving")

# Task names begin with these; the modules hold a table PREDICTORS.
_MODULES = {
    "diningbench_": "lmms_eval_food.tasks.diningbench.reference",
    "canteen_": "lmms_eval_food.tasks.canteen.reference",
    "culturalmenu_": "lmms_eval_food.tasks.culturalmenu.reference",
}


def check_name(predictor: str) -> None:
    """Raise ValueError, naming the choices, unless `predictor` is one of them."""
    if predictor not in NAMES:
        raise ValueError(f"unknown predictor {predictor!r}: choose {', '.join(NAMES)}")


def prepare(predictor: str, task: str, docs: Sequence[Doc]) -> Answer:
    """Return the function that answers one document of `task`.

    Raises:
        ValueError: the task is not ours, or the predictor does not fit it.
    """
    check_name(predictor)
    if predictor == "null":
        return lambda doc, rng: ""
    for prefix, module in _MODULES.items():
        if task.startswith(prefix):
            known: Mapping[str, Predictor] = importlib.import_module(module).predictors(task)
            if predictor in known:
                return known[predictor](docs)
            choices = ", ".join([*known, "null"])
            raise ValueError(f"predictor {predictor!r} does not fit {task}: choose {choices}")
    raise ValueError(f"food_reference answers tasks of this suite only, not {task!r}")


def choice(options: Sequence[str]) -> Predictor:
    """Return the predictor that draws one of `options` evenly."""
    return lambda docs: lambda doc, rng: rng.choice(options)
