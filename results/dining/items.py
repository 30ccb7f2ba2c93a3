"""From sample logs to what DiningBench's tables are made of."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lmms_eval_food.results.dining.measures import Items, Measure
from lmms_eval_food.results.dining.nutrition import (
    NutritionAnswers,
    nutrition_answers,
    nutrition_items,
)
from lmms_eval_food.results.joined import Joined, Record
from lmms_eval_food.tasks.diningbench.vqa_record import VqaRecord

KINDS = ("cls", "nutrition", "vqa")
VARIANTS = ("", "_views2", "_views3", "_views4", "_cot", "_en", "_en_cot")


def task_name(kind: str, variant: str = "") -> str:
    """Return the name of a task in one of `VARIANTS`."""
    return f"diningbench_{kind}{variant}"


def tasks_of(kind: str) -> tuple[str, ...]:
    """Return the names of all tasks of a kind."""
    return tuple(task_name(kind, variant) for variant in VARIANTS)


TASKS = tuple(task for kind in KINDS for task in tasks_of(kind))


def items_by_task(model: Joined, reader: str) -> dict[str, Items]:
    """Return the items of each task that a model was asked."""
    return {
        task: make(records)
        for kind, make in ITEMS.items()
        for task in tasks_of(kind)
        if (records := model.records(task, reader))
    }


def nutrition_by_task(model: Joined, reader: str) -> dict[str, NutritionAnswers]:
    """Return the answers to each nutrition task that a model was asked."""
    return {
        task: nutrition_answers(records)
        for task in tasks_of("nutrition")
        if (records := model.records(task, reader))
    }


def classification_items(records: Sequence[Record]) -> Items:
    """Return the items of classification records; a failed request that does not count is nan."""
    right = [math.nan if r["correct"] is None else float(r["correct"]) for r in records]
    return Items(*_names(records), {"accuracy": _measure(right)})


def vqa_items(records: Sequence[Record]) -> Items:
    """Return the items of VQA records; what was not judged, or has no ROUGE score, is nan."""
    verdicts = [VqaRecord.from_dict(record).correct for record in records]
    measures = {"judged accuracy": _measure([math.nan if v is None else v for v in verdicts])}
    for key, name in {"rouge_1": "ROUGE-1", "rouge_2": "ROUGE-2", "rouge_l": "ROUGE-L"}.items():
        measures[name] = _measure([math.nan if r[key] is None else r[key] for r in records])
    return Items(*_names(records), measures)


# Kind of task -> what makes its items of its records.
ITEMS: Mapping[str, Callable[[Sequence[Record]], Items]] = {
    "cls": classification_items,
    "nutrition": lambda records: nutrition_items(nutrition_answers(records), records[0]["reader"]),
    "vqa": vqa_items,
}


def _names(records: Sequence[Record]) -> tuple[list[str], list[str]]:
    return [record["id"] for record in records], [record["dish"] for record in records]


def _measure(values: Sequence[float]) -> Measure:
    return Measure(np.asarray(values, dtype=np.float64)[np.newaxis], share=True)
