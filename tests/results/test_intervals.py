"""Intervals of the host's metrics, from made records."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lmms_eval_food.results.intervals import Interval, intervals
from lmms_eval_food.results.recompute import recomputed
from lmms_eval_food.tasks.diningbench.nutrition import NutritionRecord

TASK = "diningbench_nutrition"


def dish(number: int, predicted: list[float] | None, true: list[float]) -> dict[str, Any]:
    record = NutritionRecord(
        *(str(number), "robust", "ok" if predicted else "unreadable", "", (), "{}"),
        *(predicted, true, True, False, "made@1", 0),
    )
    return {name: getattr(record, name) for name in NutritionRecord.__slots__}


def made(size: int) -> list[dict[str, Any]]:
    source = np.random.default_rng(4)
    true = source.uniform(5, 50, (size, 4))
    predicted = true + source.normal(2, 8, (size, 4))
    predicted[:, 3] = 7  # the model always says 7 g of fat
    records = [dish(n, predicted[n].tolist(), true[n].tolist()) for n in range(size)]
    return [*records, dish(size, None, [20.0] * 4)]


def test_every_score_of_nutrition_that_is_no_count_has_an_interval() -> None:
    records = made(60)
    found = intervals(TASK, records, 400)
    scores = recomputed(TASK, records)
    counts = {"zero_truths", "capped", "failed_requests", "views_short", "data"}
    assert found.keys() == scores.keys() - counts
    for name, own in found.items():
        if name == "fat_r":
            assert math.isnan(own.low)
            assert math.isnan(own.high)
        else:
            assert own.low <= scores[name] <= own.high
    # The unreadable answer is charged an error and has no bias.
    assert (found["mae"].n, found["fat_bias"].n, found["calories_r"].n) == (61, 60, 60)
    assert found["atwater_consistency"].n == 60


def test_the_interval_of_a_correlation_is_about_as_wide_as_fishers() -> None:
    """Fisher's z: r = tanh(atanh(r) -+ 1.96 / sqrt(n - 3)), for normal pairs."""
    source = np.random.default_rng(8)
    true = source.normal(100, 10, (400, 4))
    predicted = true + source.normal(0, 10, (400, 4))
    records = [dish(n, predicted[n].tolist(), true[n].tolist()) for n in range(400)]
    found, r = intervals(TASK, records, 2000), recomputed(TASK, records)
    for nutrient in ("calories", "protein", "carbohydrates", "fat"):
        own = found[f"{nutrient}_r"]
        middle, half = math.atanh(float(r[f"{nutrient}_r"])), 1.96 / math.sqrt(397)
        assert math.isclose(own.low, math.tanh(middle - half), abs_tol=0.03)
        assert math.isclose(own.high, math.tanh(middle + half), abs_tol=0.03)


def test_one_dish_has_no_interval() -> None:
    found = intervals(TASK, [dish(1, [100.0, 10, 10, 2], [90.0, 10, 10, 2])], 50)
    assert found["calories_bias"].n == 1
    assert all(math.isnan(own.low) and math.isnan(own.high) for own in found.values())
    assert isinstance(found["fat_r"], Interval)
