"""Nutrition estimation: the record of one dish, and every score of a run's records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.metrics.arrays import FloatArray
from lmms_eval_food.metrics.nutrition import (
    NUTRIENTS,
    NutritionErrors,
    nutrition_scores,
    official_errors,
    robust_errors,
)
from lmms_eval_food.metrics.nutrition_checks import (
    atwater_consistency,
    correlations,
    signed_bias,
)
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.common import Doc
from lmms_eval_food.tasks.diningbench.truths import amounts


@dataclass(frozen=True, slots=True)
class NutritionRecord:
    """One dish's estimated and true nutrition.

    Attributes:
        id: The row's own id.
        reader: Whose rules read it, "official" or "robust".
        status: How the answer was read (`filters.reading.Status`).
        step: The rule that read it.
        marks: What the reader noted about it.
        raw: The model's text, unchanged.
        predicted: kcal, protein, carbohydrates and fat in g; None where they could not be read.
        true: The same of the dish.
        counts: Whether the dish is scored: a failed request is, by the benchmark's own rules only.
        views_short: Whether the dish has fewer pictures than the task shows.
        data: Where the documents came from.
        broken_pictures: Pictures that could not be opened and were sent as grey squares.
    """

    id: str
    reader: str
    status: str
    step: str
    marks: tuple[str, ...]
    raw: str
    predicted: list[float] | None
    true: list[float]
    counts: bool
    views_short: bool
    data: str
    broken_pictures: int


def true_values(doc: Doc) -> list[float]:
    """Return a row's four true values in the order of `NUTRIENTS`."""
    return amounts(doc["ground_truth"])


def record_of(doc: Doc, reading: Reading) -> NutritionRecord:
    """Return the record of a reading."""
    value = reading.value
    return NutritionRecord(
        id=doc["id"],
        reader=reading.reader,
        status=reading.status,
        step=reading.step,
        marks=reading.marks,
        raw=reading.raw,
        predicted=None if value is None else [float(value[nutrient]) for nutrient in NUTRIENTS],
        true=true_values(doc),
        counts=reading.reader == "official" or reading.status is not Status.FAILED,
        views_short=doc["views_short"],
        data=doc["data"],
        broken_pictures=common.broken_pictures(doc),
    )


class Dish(common.InRecord):
    """A record on its way to the aggregations."""

    def __init__(self, record: NutritionRecord) -> None:
        self.record = record


def tables(records: Sequence[NutritionRecord]) -> tuple[FloatArray, FloatArray, list[bool]]:
    """Return predicted and true values, shape (n, 4), and which rows were read."""
    counted = [record for record in records if record.counts]
    none = [np.nan] * len(NUTRIENTS)
    predicted = np.array([none if r.predicted is None else r.predicted for r in counted])
    true = np.array([record.true for record in counted])
    return predicted, true, [record.predicted is not None for record in counted]


def errors(records: Sequence[NutritionRecord]) -> NutritionErrors:
    """Return what the answers are charged, by the rules of their reader."""
    official = bool(records) and records[0].reader == "official"
    return (official_errors if official else robust_errors)(*tables(records))


def scores(records: Sequence[NutritionRecord]) -> dict[str, float]:
    """Return every score of a run; nan where there is nothing to score."""
    predicted, true, readable = tables(records)
    charged = errors(records)
    bias = signed_bias(predicted, true, readable)
    related = correlations(predicted, true, readable)
    return {
        **nutrition_scores(charged),
        **{f"{nutrient}_bias": value for nutrient, value in bias.items()},
        **{f"{nutrient}_r": value for nutrient, value in related.items()},
        "atwater_consistency": atwater_consistency(predicted, readable),
        "zero_truths": sum(charged.zero_truths),
        "capped": sum(charged.capped),
    }


SCORES = (
    *("mae", "rmse", "mape"),
    *(f"{nutrient}_{name}" for nutrient in NUTRIENTS for name in ("mae", "rmse", "mape")),
    *(f"{nutrient}_{name}" for nutrient in NUTRIENTS for name in ("bias", "r")),
    *("atwater_consistency", "zero_truths", "capped"),
)


def nutrition(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score the four nutrients read from an answer."""
    record = record_of(doc, Reading.from_json(results[0]))
    return {
        "record": common.as_logged(record),
        **dict.fromkeys(SCORES, Dish(record)),
        "parse_failure_rate": float(record.predicted is None) if record.counts else None,
        "failed_requests": record.id if record.status == Status.FAILED else None,
        "views_short": record.id if record.views_short else None,
        "data": record.data,
    }
