"""Intervals of a task's scores, over dishes or photos, from its records alone."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    RESAMPLES,
    cluster_index,
    percentile_interval,
    resample_counts,
    resampled_means,
)
from lmms_eval_food.metrics.meals import flatten
from lmms_eval_food.metrics.nutrition import NUTRIENTS
from lmms_eval_food.metrics.portion_bootstrap import score_resamples
from lmms_eval_food.results.dining.items import vqa_items
from lmms_eval_food.results.dining.measures import Measure
from lmms_eval_food.results.dining.nutrition import (
    check_estimates,
    nutrition_answers,
    nutrition_items,
)
from lmms_eval_food.results.joined import Record
from lmms_eval_food.results.recompute import kind
from lmms_eval_food.results.scoring import named_thresholds, threshold_of
from lmms_eval_food.tasks.canteen.record import TrayRecord

_MEASURES = {
    "MAE": "mae",
    "RMSE": "rmse",
    "MAPE, %": "mape",
    "judged accuracy": "judge_acc",
    "ROUGE-1": "rouge_1",
    "ROUGE-2": "rouge_2",
    "ROUGE-L": "rouge_l",
}


@dataclass(frozen=True, slots=True)
class Interval:
    """The 95% percentile interval of a score.

    Attributes:
        low: Lower end, nan for fewer than two dishes or photos.
        high: Upper end, likewise.
        n: How many answers the score is over; for the canteen, photos.
    """

    low: float
    high: float
    n: int


def intervals(
    task: str, records: Sequence[Record], resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, Interval]:
    """Return the interval of every score; of nutrition, those of bias and correlation too.

    Args:
        task: The task's name.
        records: One reader's records.
        resamples: Bootstrap resamples of dishes (canteen: of photos).
        seed: Their seed.

    Returns:
        Metric, under the host's name -> interval; counts have none and are left out.

    Source: the canteen paper, Section 2.2.3.
    """
    if kind(task) == "canteen":
        return _canteen(records, resamples, seed)
    dishes, measures = {
        "choice": _choice,
        "nutrition": _nutrition,
        "vqa": _vqa,
    }[kind(task)](records)
    if not measures:
        return {}
    names, dish = cluster_index(dishes)
    counts = drawn(len(names), resamples, seed)
    # All at once: a product of matrices for each measure would take most of a report's time.
    values = np.concatenate([measure.values for measure in measures.values()])
    means = resampled_means(values, dish, counts)
    found, start = {}, 0
    for name, measure in measures.items():
        own = means[start : start + len(measure.values)]
        start += len(measure.values)
        resampled = (np.sqrt(own) if measure.root else own).mean(axis=0)
        found[name] = Interval(*measure.interval(dish, resampled), measure.items)
    if kind(task) == "nutrition":
        checks = check_estimates(nutrition_answers(records), dish, counts)
        found |= {name: Interval(own.low, own.high, own.items) for name, own in checks.items()}
    return found


@functools.lru_cache(maxsize=8)
def drawn(n: int, resamples: int, seed: int) -> IntArray:
    """Return `resample_counts`, kept: runs of one task share their resamples."""
    return resample_counts(n, resamples, seed)


def _choice(records: Sequence[Record]) -> tuple[list[str], dict[str, Measure]]:
    counts = np.array([record["correct"] is not None for record in records], dtype=np.bool_)
    right = np.array([record["answer"] == record["truth"] for record in records])
    lost = np.array([record["answer"] is None for record in records])
    rows = {
        "acc": np.where(counts, right, np.nan),
        "unreadable_rate": np.where(counts, lost, np.nan),
    }
    if records and {record["truth"] for record in records} <= {"yes", "no"}:
        yes = np.array([record["answer"] == "yes" for record in records])
        rows["yes_rate"] = np.where(lost, np.nan, yes)
    groups: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        for what, value in record["groups"].items():
            groups.setdefault(f"acc_{what}_{value}", []).append(place)
    for name, places in groups.items():
        rows[name] = np.full(len(records), np.nan)
        rows[name][places] = rows["acc"][places]
    dishes = [str(record["dish"]) for record in records]
    return dishes, {name: _measure(row) for name, row in rows.items()}


def _nutrition(records: Sequence[Record]) -> tuple[list[str], dict[str, Measure]]:
    reader = records[0]["reader"] if records else "robust"
    answers = nutrition_answers(records)
    items = nutrition_items(answers, reader)
    found = {"parse_failure_rate": _measure(np.where(answers.readable, 0.0, 1.0))}
    for shown, measure in items.measures.items():
        name = _MEASURES[shown]
        found[name] = measure
        for place, nutrient in enumerate(NUTRIENTS):
            found[f"{nutrient}_{name}"] = Measure(measure.values[place : place + 1], measure.root)
    return list(items.dishes), found


def _vqa(records: Sequence[Record]) -> tuple[list[str], dict[str, Measure]]:
    items = vqa_items(records)
    return list(items.dishes), {_MEASURES[name]: m for name, m in items.measures.items()}


def _measure(values: FloatArray) -> Measure:
    return Measure(np.asarray(values, dtype=np.float64)[np.newaxis], share=True)


def _canteen(records: Sequence[Record], resamples: int, seed: int) -> dict[str, Interval]:
    trays = [tray for record in records if not (tray := TrayRecord.from_dict(record)).failed]
    items = flatten([tray.result() for tray in trays])
    counts = drawn(items.n_images, resamples, seed)
    thresholds = named_thresholds(threshold_of(records))
    scores = score_resamples([items], counts, list(thresholds.values()))
    found = {}
    for name, values in scores.items():
        for at, own in zip(thresholds, values[0], strict=True):
            found[f"{name}{at}"] = Interval(*percentile_interval(own), items.n_images)
    return found
