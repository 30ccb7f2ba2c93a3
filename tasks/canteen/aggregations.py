"""The canteen set's numbers as the host asks for them: `f1`, `f1_at_60`, `nmae` and so on.

Any field of `metrics.portions.PortionScores` is an aggregation here, at the primary threshold or,
with `_at_` and percent, at another one; a task names it in YAML and nothing else is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import fields

from lmms_eval_food.metrics.meals import ImageResult
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, PortionScores, score_portions
from lmms_eval_food.tasks.common import InRecord

SCORES = {field.name: field.type for field in fields(PortionScores) if field.name != "threshold"}


class Outcome(InRecord):
    """A tray on its way to the aggregations; None for a failed request."""

    def __init__(self, result: ImageResult | None) -> None:
        self.result = result


def score(outcomes: Sequence[Outcome], name: str, threshold: float) -> float:
    """Return one score over the trays whose request did not fail; nan when there are none.

    The same to the last digit in whatever order the ranks came.
    """
    counted = [outcome.result for outcome in outcomes if outcome.result is not None]
    results = sorted(counted, key=lambda result: result.image)
    return float(getattr(score_portions(results, threshold), name))


def count(outcomes: Sequence[Outcome], name: str, threshold: float) -> int:
    """Return one count over the trays whose request did not fail."""
    return int(score(outcomes, name, threshold))


def __getattr__(name: str) -> Callable[[Sequence[Outcome]], float]:
    base, at, percent = name.partition("_at_")
    if base not in SCORES or (at and not percent.isdecimal()):
        raise AttributeError(f"no such score: {name}")
    threshold = int(percent) / 100 if at else PRIMARY_THRESHOLD
    aggregate = count if SCORES[base] == "int" else score
    return functools.partial(aggregate, name=base, threshold=threshold)
