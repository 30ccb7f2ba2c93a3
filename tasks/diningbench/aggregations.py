"""The nutrition task's numbers as the host asks for them: `mae`, `calories_rmse`, `fat_r`, ….

Each of `nutrition.SCORES` is an aggregation here; a task names it in YAML and nothing else is
needed. Nothing else of such a name may be imported here: it would take the score's place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from lmms_eval_food.tasks.diningbench.nutrition import SCORES, Dish, scores


def aggregate(dishes: Sequence[Dish], name: str) -> float:
    """Return one score of a run, the same to the last digit in whatever order the ranks came."""
    records = sorted((dish.record for dish in dishes), key=lambda record: (record.id, record.raw))
    return scores(records)[name]


def __getattr__(name: str) -> Callable[[Sequence[Dish]], float]:
    if name not in SCORES:
        raise AttributeError(f"no such score: {name}")
    return partial(aggregate, name=name)
