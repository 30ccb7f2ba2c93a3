"""Nutrition estimates: items for the comparisons, and one row a nutrient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray
from lmms_eval_food.metrics.classification import rate
from lmms_eval_food.metrics.nutrition import (
    NUTRIENTS,
    NutritionErrors,
    atwater_consistency,
    correlations,
    nutrition_scores,
    official_errors,
    robust_errors,
    signed_bias,
)
from lmms_eval_food.results.dining.measures import Items, Measure
from lmms_eval_food.results.joined import Record, Settings, table
from lmms_eval_food.results.tables import Cell, Table


@dataclass(frozen=True, slots=True)
class NutritionAnswers:
    """One model's answers to one nutrition task; failed requests are left out or unreadable.

    Attributes:
        ids: The documents' ids, length n.
        dishes: The dish of each, length n.
        predicted: Estimates in kcal and g, shape (n, 4), in the order of `metrics.nutrition`.
        true: True values, shape (n, 4), nan for a missing one.
        readable: Which answers were read, shape (n,).
    """

    ids: Sequence[str]
    dishes: Sequence[str]
    predicted: FloatArray
    true: FloatArray
    readable: BoolArray

    def errors(self, reader: str) -> NutritionErrors:
        """Return what each answer is charged by a reader's rule for unreadable ones."""
        charge = official_errors if reader == "official" else robust_errors
        return charge(self.predicted, self.true, self.readable)


def nutrition_answers(records: Sequence[Record]) -> NutritionAnswers:
    """Return the answers that nutrition records hold, those of failed requests where they count."""
    counted = [record for record in records if record["counts"]]
    names = [str(record["id"]) for record in counted]
    none = [math.nan] * len(NUTRIENTS)
    return NutritionAnswers(
        ids=names,
        dishes=names,  # one row a dish
        predicted=_rows([record["predicted"] or none for record in counted]),
        true=_rows([record["true"] for record in counted]),
        readable=np.array([record["predicted"] is not None for record in counted], dtype=np.bool_),
    )


def nutrition_items(answers: NutritionAnswers, reader: str) -> Items:
    """Return MAE and RMSE (kcal and g) and MAPE (percent), each the mean of the four nutrients.

    An estimate that is no number, which the official reading lets through, has an infinite error.
    """
    errors = answers.errors(reader)
    absolute, percent = (
        np.where(np.isnan(error), np.inf, error) for error in (errors.absolute, errors.percent)
    )
    absolute[np.isnan(errors.true)] = np.nan
    percent[~(errors.true > 0)] = np.nan
    with np.errstate(over="ignore"):
        squared = np.square(absolute)
    measures = {
        "MAE": Measure(absolute.T),
        "RMSE": Measure(squared.T, root=True),
        "MAPE, %": Measure(percent.T),
    }
    return Items(answers.ids, answers.dishes, measures)


def nutrient_tables(
    asked: Mapping[str, Mapping[str, NutritionAnswers]], settings: Settings
) -> list[Table]:
    """Return errors, bias and correlation of each nutrient, and what the estimates hold together.

    Args:
        asked: Model -> task -> answers.
        settings: Their reader.
    """
    rows: list[tuple[Cell, ...]] = []
    for title, tasks in asked.items():
        for task, answers in tasks.items():
            arrays = answers.predicted, answers.true, answers.readable
            errors = answers.errors(settings.reader)
            found, bias, r = nutrition_scores(errors), signed_bias(*arrays), correlations(*arrays)
            whole = (
                rate(~answers.readable),
                atwater_consistency(answers.predicted, answers.readable),
            )
            for place, nutrient in enumerate(NUTRIENTS):
                means = (found[f"{nutrient}_{name}"] for name in ("mae", "rmse", "mape"))
                counts = errors.zero_truths[place], errors.capped[place]
                own = (*means, bias[nutrient], r[nutrient])
                rows.append((title, task, nutrient, len(answers.ids), *own, *counts, *whole))
    columns = (
        *("model", "task", "nutrient", "answers", "MAE", "RMSE", "MAPE, %", "bias", "correlation"),
        *("true values of 0", "errors capped", "unreadable (whole task)", "Atwater (whole task)"),
    )
    note = (
        f"Answers as the {settings.reader} reader reads them. Calories in kcal, the others in g. "
        "Bias (estimate minus truth) and correlation are over readable answers. True values of 0 "
        "are in no MAPE. Atwater: share of readable answers whose 4P + 4C + 9F lies within 10% of "
        "their calories."
    )
    return table("DiningBench: nutrients", columns, rows, note)


def _rows(values: Sequence[Sequence[float]]) -> FloatArray:
    return np.array(values, dtype=np.float64).reshape(len(values), len(NUTRIENTS))
