"""The host's numbers once more, from the records of the sample logs alone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.metrics.portions import score_portions
from lmms_eval_food.results.scoring import named_thresholds, threshold_of
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.canteen.aggregations import SCORES
from lmms_eval_food.tasks.canteen.record import TrayRecord
from lmms_eval_food.tasks.diningbench import nutrition
from lmms_eval_food.tasks.diningbench.vqa_record import VqaRecord

Record = Mapping[str, Any]
Value = float | int | str
_READ = (Status.OK, Status.REPAIRED)


def kind(task: str) -> str:
    """Return what a task's records are: "canteen", "nutrition", "vqa" or "choice"."""
    if task.startswith("canteen"):
        return "canteen"
    for name in ("nutrition", "vqa"):
        if task.startswith(f"diningbench_{name}"):
            return name
    return "choice"


def recomputed(task: str, records: Sequence[Record]) -> dict[str, Value]:
    """Return every metric of a task that its records determine, under the host's names.

    Args:
        task: The task's name; it says what its records hold.
        records: One reader's records, in any order.

    Returns:
        Metric -> value; nan where there is nothing to score. Groups without a document are left
        out.

    Raises:
        KeyError, TypeError: a record is not one of this version of the suite.
    """
    found = {
        "canteen": _canteen,
        "nutrition": _nutrition,
        "vqa": _vqa,
        "choice": _choice,
    }[kind(task)](records)
    if task.startswith("culturalmenu_binary"):
        said = [record["answer"] for record in records if record["answer"] is not None]
        found["yes_rate"] = common.mean([float(answer == "yes") for answer in said])
    return {**found, "data": common.same([record["data"] for record in records])}


def _choice(records: Sequence[Record]) -> dict[str, Value]:
    counted = [record for record in records if record["correct"] is not None]
    found: dict[str, Value] = {
        "acc": _share(_right(record) for record in counted),
        "unreadable_rate": _share(record["answer"] is None for record in counted),
        "failed_requests": _failed(records),
    }
    groups: dict[str, list[bool]] = {}
    for record in counted:
        for what, value in record["groups"].items():
            groups.setdefault(f"acc_{what}_{value}", []).append(_right(record))
    return {**found, **{name: _share(flags) for name, flags in groups.items()}}


def _right(record: Record) -> bool:
    return bool(record["answer"] == record["truth"])


def _canteen(records: Sequence[Record]) -> dict[str, Value]:
    trays = [TrayRecord.from_dict(record) for record in records]
    counted = [tray for tray in trays if not tray.failed]
    results = sorted((tray.result() for tray in counted), key=lambda result: result.image)
    found: dict[str, Value] = {}
    for at, threshold in named_thresholds(threshold_of(records)).items():
        scores = score_portions(results, threshold)
        found |= {f"{name}{at}": getattr(scores, name) for name in SCORES}
    return {
        **found,
        "repaired": sum(tray.status == Status.REPAIRED for tray in trays),
        "unreadable_rate": _share(tray.status not in _READ for tray in counted),
        "failed_requests": _failed(records),
    }


def _nutrition(records: Sequence[Record]) -> dict[str, Value]:
    # By name: a record that was read may hold more, such as the length of its answer.
    names = nutrition.NutritionRecord.__slots__
    dishes = [
        nutrition.NutritionRecord(**{name: record[name] for name in names}) for record in records
    ]
    dishes.sort(key=lambda dish: (dish.id, dish.raw))
    return {
        **nutrition.scores(dishes),
        "parse_failure_rate": _share(dish.predicted is None for dish in dishes if dish.counts),
        "failed_requests": _failed(records),
        "views_short": sum(dish.views_short for dish in dishes),
    }


def _vqa(records: Sequence[Record]) -> dict[str, Value]:
    answers = [VqaRecord.from_dict(record) for record in records]
    rows = [answer.scores() for answer in answers]
    means = ("judge_acc", "rouge_1", "rouge_2", "rouge_l")
    return {
        **{name: common.mean([row[name] for row in rows]) for name in means},
        "not_judged": common.count([row["not_judged"] for row in rows]),
        "failed_requests": _failed(records),
        "judge": common.same([row["judge"] for row in rows]),
    }


def _share(flags: Iterable[bool]) -> float:
    return common.mean([float(flag) for flag in flags])


def _failed(records: Sequence[Record]) -> int:
    return sum(record["status"] == Status.FAILED for record in records)


def same_value(first: Any, second: Any) -> bool:
    """Return whether two values agree: numbers to nine digits, nan with nan.

    The host writes nan as NaN, and sums in the order of its ranks, so the last digits may differ.
    """
    numbers = [x for x in (first, second) if isinstance(x, int | float)]
    if len(numbers) < 2:
        return bool(first == second)
    if any(map(math.isnan, numbers)):
        return all(map(math.isnan, numbers))
    return math.isclose(*numbers, rel_tol=1e-9, abs_tol=1e-12)
