"""Nutrition estimates: items for the comparisons, and one row a nutrient."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    cluster_index,
    percentile_interval,
    resample_counts,
    resampled_means,
)
from lmms_eval_food.metrics.classification import rate
from lmms_eval_food.metrics.nutrition import (
    NUTRIENTS,
    NutritionErrors,
    nutrition_scores,
    official_errors,
    robust_errors,
)
from lmms_eval_food.metrics.nutrition_checks import (
    atwater_flags,
    correlations,
    differences,
    resampled_correlations,
)
from lmms_eval_food.results.dining.measures import Estimate, Items, Measure
from lmms_eval_food.results.joined import Record, Settings, occurrences, table
from lmms_eval_food.results.tables import Cell, Table, interval


@dataclass(frozen=True, slots=True)
class NutritionAnswers:
    """One model's answers to one nutrition task; failed requests are left out or unreadable.

    Attributes:
        ids: The documents' ids, length n.
        dishes: The dish of each, length n.
        predicted: Estimates in kcal and g, shape (n, 4), in the order of `metrics.nutrition`.
        true: True values, shape (n, 4), nan for a missing one.
        readable: Which answers were read, shape (n,).
        numbers: As `measures.Items`.
    """

    ids: Sequence[str]
    dishes: Sequence[str]
    predicted: FloatArray
    true: FloatArray
    readable: BoolArray
    numbers: Sequence[int] | None = None

    def errors(self, reader: str) -> NutritionErrors:
        """Return what each answer is charged by a reader's rule for unreadable ones."""
        charge = official_errors if reader == "official" else robust_errors
        return charge(self.predicted, self.true, self.readable)


def nutrition_answers(records: Sequence[Record]) -> NutritionAnswers:
    """Return the answers that nutrition records hold, those of failed requests where they count."""
    documents = occurrences(str(record["id"]) for record in records)
    numbers = [number for (_, number), r in zip(documents, records, strict=True) if r["counts"]]
    counted = [record for record in records if record["counts"]]
    names = [str(record["id"]) for record in counted]
    none = [math.nan] * len(NUTRIENTS)
    return NutritionAnswers(
        ids=names,
        dishes=names,  # one row a dish
        predicted=_rows([record["predicted"] or none for record in counted]),
        true=_rows([record["true"] for record in counted]),
        readable=np.array([record["predicted"] is not None for record in counted], dtype=np.bool_),
        numbers=numbers,
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
    for values in (absolute, percent):
        values[:, np.isnan(values).all(axis=0)] = errors.of_none
    with np.errstate(over="ignore"):
        squared = np.square(absolute)
    measures = {
        "MAE": Measure(absolute.T),
        "RMSE": Measure(squared.T, root=True),
        "MAPE, %": Measure(percent.T),
    }
    return Items(answers.ids, answers.dishes, measures, answers.numbers)


def check_estimates(
    answers: NutritionAnswers, dish: IntArray, counts: IntArray
) -> dict[str, Estimate]:
    """Return bias and correlation of each nutrient and Atwater consistency with their intervals.

    Args:
        answers: n answers.
        dish: Index of each answer's dish, shape (n,).
        counts: How often each dish was drawn, shape (resamples, n_dishes).

    Returns:
        Host's name ("fat_bias", "fat_r", "atwater_consistency") -> score in kcal and g, as r in
        [-1, 1], as a share of 1; nan, like its interval, where it is not defined.
    """
    arrays = answers.predicted, answers.true, answers.readable
    names = [*(f"{nutrient}_bias" for nutrient in NUTRIENTS), "atwater_consistency"]
    values = np.vstack([differences(*arrays).T, atwater_flags(answers.predicted, answers.readable)])
    found = {}
    # All at once: a product of matrices for each row would take most of the time.
    resampled = resampled_means(values, dish, counts)
    for name, row, own in zip(names, values, resampled, strict=True):
        measure = Measure(row[np.newaxis])
        found[name] = Estimate(measure.items, measure.score(), *percentile_interval(own))
    whole = correlations(*arrays)
    resampled = resampled_correlations(*arrays, dish, counts)
    for nutrient, own in zip(NUTRIENTS, resampled, strict=True):
        items = found[f"{nutrient}_bias"].items
        found[f"{nutrient}_r"] = Estimate(items, whole[nutrient], *percentile_interval(own))
    return found


def nutrient_tables(
    asked: Mapping[str, Mapping[str, NutritionAnswers]], settings: Settings
) -> list[Table]:
    """Return errors, bias and correlation of each nutrient, and what the estimates hold together.

    Args:
        asked: Model -> task -> answers.
        settings: Their reader, and the resamples of the intervals.
    """
    rows: list[tuple[Cell, ...]] = []
    for title, tasks in asked.items():
        for task, answers in tasks.items():
            names, dish = cluster_index(answers.dishes)
            drawn = resample_counts(len(names), settings.resamples, settings.seed)
            errors, checks = answers.errors(settings.reader), check_estimates(answers, dish, drawn)
            found = nutrition_scores(errors)
            whole = (rate(~answers.readable), *_cells(checks["atwater_consistency"]))
            for place, nutrient in enumerate(NUTRIENTS):
                means = (found[f"{nutrient}_{name}"] for name in ("mae", "rmse", "mape"))
                bias, r = (_cells(checks[f"{nutrient}_{name}"]) for name in ("bias", "r"))
                counts = errors.zero_truths[place], errors.capped[place]
                own = (*means, *bias, *r, *counts, *whole)
                rows.append((title, task, nutrient, len(answers.ids), *own))
    columns = (
        *("model", "task", "nutrient", "answers", "MAE", "RMSE", "MAPE, %"),
        *("bias", "bias, 95% interval", "correlation", "correlation, 95% interval"),
        *("true values of 0", "errors capped", "unreadable (whole task)"),
        *("Atwater (whole task)", "Atwater, 95% interval"),
    )
    note = (
        f"{settings.note} Calories in kcal, the others in g. "
        "Bias (estimate minus truth) and correlation are over readable answers. True values of 0 "
        "are in no MAPE. Atwater: share of readable answers whose 4P + 4C + 9F lies within 10% of "
        "their calories."
    )
    return table("DiningBench: nutrients", columns, rows, note)


def _cells(found: Estimate) -> tuple[Cell, ...]:
    return found.score, interval(found.low, found.high)


def _rows(values: Sequence[Sequence[float]]) -> FloatArray:
    return np.array(values, dtype=np.float64).reshape(len(values), len(NUTRIENTS))
