"""Errors of estimated nutrition: calories (kcal), protein, carbohydrates and fat (g).

Tables have shape (n, 4): one row a dish, one column a nutrient in the order of `NUTRIENTS`. What
the estimates show beyond their errors is in `metrics.nutrition_checks`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, as_flags

NUTRIENTS: Final = ("calories", "protein", "carbohydrates", "fat")
# A readable answer's error counts up to this multiple of the truth, and an unreadable answer's
# error is this multiple. Four (five times the truth) lies beyond a threefold overestimate (2) and
# beyond kilojoules given for kilocalories (3.184), so that both stay better than no answer.
WORST_RATIO = 4.0
# The same limit in kcal and g is at least this much, a dish of 500 kcal: a multiple of a truth near
# 0 would be no penalty.
WORST_AT_LEAST = (500.0, 25.0, 55.0, 20.0)


@dataclass(frozen=True, slots=True)
class NutritionErrors:
    """What every answer is charged, after the rule for unreadable ones.

    Attributes:
        absolute: Absolute errors in kcal and g, shape (n, 4).
        percent: The same in percent of the true value (100 is whole), shape (n, 4).
        true: True values, shape (n, 4). Errors count where there is one, percentages where it is
            above 0; the other cells of the tables mean nothing.
        capped: How many readable answers `robust_errors` charged less than their error, of each
            nutrient.
        of_none: The mean of a nutrient's errors where none counts: not defined by our rule, 0 in
            the benchmark's own script.
    """

    absolute: FloatArray
    percent: FloatArray
    true: FloatArray
    capped: tuple[int, ...] = (0, 0, 0, 0)
    of_none: float = math.nan

    @property
    def zero_truths(self) -> tuple[int, ...]:
        """True values of 0, which have no percentage error, of each nutrient."""
        return tuple(int(count) for count in (self.true == 0).sum(axis=0))


def official_errors(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> NutritionErrors:
    """Return what each answer is charged by DiningBench's own rule.

    An unreadable answer is charged the true value as its error, and 100 percent. A nutrient whose
    true values are all 0 has a MAPE of 0 percent.

    Args:
        predicted: Estimates, shape (n, 4); rows of unreadable answers are ignored. nan and
            infinities, which the official reading lets through, go into the errors.
        true: True values, shape (n, 4), finite and >= 0, or nan for a missing one.
        readable: Which answers were read, shape (n,).

    Raises:
        ValueError: shapes differ, readable is not made of flags, or a true value is no amount.

    Source: meituan/DiningBench@516fd54:eval_nutrition.py, evaluate_predictions.
    """
    answers, truths, read = checked(predicted, true, readable)
    absolute = np.where(read, np.abs(answers - truths), truths)
    return NutritionErrors(absolute, _percent(absolute, truths), truths, of_none=0.0)


def robust_errors(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> NutritionErrors:
    """Return what each answer is charged by our rule: no answer is never better than a bad one.

    Each answer has a worst error that depends on its true value alone: four times the truth
    (`WORST_RATIO`), in percent 400; in kcal and g at least `WORST_AT_LEAST`. An unreadable answer
    is charged the worst error; a readable one its own error, at most the worst. So replacing any
    reply by an unreadable one never lowers any error, whatever the other replies are. A charge
    taken from the other replies could not promise that: the reply with the largest error of the
    run would still gain by being unreadable.

    The cap is meant to touch few answers (`capped` counts them); below it errors are plain errors.

    Args:
        predicted: Estimates, shape (n, 4), finite where readable; other rows are ignored.
        true: True values, shape (n, 4), finite and >= 0, or nan for a missing one.
        readable: Which answers were read, shape (n,).

    Raises:
        ValueError: as `official_errors`, or an estimate of a readable answer is not finite.

    Source: ours.
    """
    answers, truths, read = checked(predicted, true, readable)
    if not np.isfinite(answers[read[:, 0]]).all():
        raise ValueError("predicted must be finite where readable")
    worst = np.fmax(WORST_RATIO * truths, WORST_AT_LEAST)
    plain = np.where(read, np.abs(answers - truths), math.inf)
    percent = _percent(plain, truths)
    cut = read & ((plain > worst) | (percent > 100 * WORST_RATIO))
    return NutritionErrors(
        np.minimum(plain, worst),
        np.minimum(percent, 100 * WORST_RATIO),
        truths,
        tuple(int(count) for count in cut.sum(axis=0)),
    )


def nutrition_scores(errors: NutritionErrors) -> dict[str, float]:
    """Return MAE, RMSE and MAPE of each nutrient and their means of the four.

    Args:
        errors: Of n answers.

    Returns:
        "calories_mae", "calories_rmse", "calories_mape", … "fat_mape", and "mae", "rmse", "mape":
        in kcal and g, MAPE in percent (100 is whole). Each in [0, inf), lower for smaller errors;
        nan where n == 0, and `errors.of_none` where no answer counts: no true value, for MAPE no
        true value above 0. Means of the four are nan when one of them is.

    Source: DiningBench, Section 4 and Equation 1; "Avg" of Table 2 is the mean of the four.
    """
    known, positive = ~np.isnan(errors.true), errors.true > 0
    with np.errstate(over="ignore"):
        squared = np.square(errors.absolute)
    of_none = errors.of_none if len(errors.true) else math.nan
    columns = {
        "mae": _means(errors.absolute, known, of_none),
        "rmse": np.sqrt(_means(squared, known, of_none)),
        "mape": _means(errors.percent, positive, of_none),
    }
    scores = {
        f"{nutrient}_{name}": float(values[column])
        for name, values in columns.items()
        for column, nutrient in enumerate(NUTRIENTS)
    }
    return scores | {name: float(values.mean()) for name, values in columns.items()}


def table(values: npt.ArrayLike, name: str) -> FloatArray:
    """Return values as floats of shape (n, 4); nothing at all is (0, 4).

    Raises:
        ValueError: the shape is another; the message begins with `name`.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        return array.reshape(0, 4)
    if array.ndim != 2 or array.shape[1] != len(NUTRIENTS):
        raise ValueError(f"{name} must have shape (n, 4), its shape is {array.shape}")
    return array


def checked(
    predicted: npt.ArrayLike, true: npt.ArrayLike, readable: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return both tables, and the flags as a column of shape (n, 1).

    Args:
        predicted: Estimates, shape (n, 4).
        true: True values, shape (n, 4), finite and >= 0, or nan for a missing one.
        readable: Which answers were read, shape (n,).

    Raises:
        ValueError: shapes differ, readable is not made of flags, or a true value is no amount.
    """
    answers, truths = table(predicted, "predicted"), table(true, "true")
    flags = as_flags(readable, "readable")
    if not len(answers) == len(truths) == flags.size:
        raise ValueError(
            "predicted, true and readable differ in length: "
            f"{len(answers)}, {len(truths)}, {flags.size}"
        )
    if np.isinf(truths).any() or (truths < 0).any():
        raise ValueError("true must be finite and >= 0, or nan where it is missing")
    return answers, truths, flags[:, np.newaxis]


def _percent(absolute: FloatArray, truths: FloatArray) -> FloatArray:
    """Return errors in percent of the truth, 0 where there is no truth above 0."""
    with np.errstate(over="ignore"):
        return np.divide(100 * absolute, truths, out=np.zeros(truths.shape), where=truths > 0)


def _means(values: FloatArray, counted: BoolArray, of_none: float) -> FloatArray:
    """Return the mean of each column's counted cells, `of_none` where there is none."""
    kept = [column[cells] for column, cells in zip(values.T, counted.T, strict=True)]
    return np.array([column.mean() if column.size else of_none for column in kept])
