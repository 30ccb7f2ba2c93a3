"""Our official scores against the plain ones, run by run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.filters.letters import OfficialLetter
from lmms_eval_food.filters.nutrition import OfficialNutrition
from lmms_eval_food.metrics.classification import accuracy, rate
from lmms_eval_food.metrics.nutrition import nutrition_scores, official_errors
from tests.dining_answers import letter_answers, nutrition_answers, truths
from tests.plain_diningbench import score_letters, score_nutrition

RUNS = settings(max_examples=150)
NOTHING = [math.nan] * 4


def our_nutrition_scores(texts: list[str | None], true: list[list[float]]) -> dict[str, float]:
    values = [OfficialNutrition().read(text).value for text in texts]
    rows = [NOTHING if value is None else list(value.values()) for value in values]
    readable = [value is not None for value in values]
    scores = nutrition_scores(official_errors(rows, true, readable))
    return scores | {"parse_failure_rate": rate(np.logical_not(readable))}


@RUNS
@given(st.lists(st.tuples(letter_answers, st.sampled_from("ABCDEFGH")), min_size=1, max_size=30))
def test_classification_scores_are_the_same(run: list[tuple[str | None, str]]) -> None:
    texts, letters = [text for text, _ in run], [letter for _, letter in run]
    read = [OfficialLetter(options=8).read(text).value for text in texts]
    ours = {
        "acc": accuracy([value == letter for value, letter in zip(read, letters, strict=True)]),
        "unreadable_rate": rate([value is None for value in read]),
    }
    assert ours == pytest.approx(score_letters(texts, letters), rel=1e-9)


@RUNS
@given(st.lists(st.tuples(nutrition_answers, truths), min_size=1, max_size=15))
def test_nutrition_scores_are_the_same(run: list[tuple[str | None, list[float]]]) -> None:
    texts, true = [text for text, _ in run], [truth for _, truth in run]
    expected = score_nutrition(texts, true)
    assert our_nutrition_scores(texts, true) == pytest.approx(expected, rel=1e-9, nan_ok=True)


@pytest.mark.parametrize(
    ("texts", "true"),
    [
        (["no idea"], [[500.0, 20.0, 60.0, 15.0]]),
        (["no idea"], [[0.0, 0.0, 0.0, 0.0]]),
        (
            ['{"calories": 1, "protein": 0, "carbohydrates": 3, "fat": 4}'],
            [[0.0, 0.0, 0.0, 0.0]],
        ),
        (
            ['{"calories": "inf", "protein": "nan", "carbohydrates": 3, "fat": 4}', None],
            [[100.0, 10.0, 10.0, 10.0], [1.0, 2.0, 3.0, 4.0]],
        ),
    ],
    ids=["unreadable", "zero truths unreadable", "zero truths", "no numbers"],
)
def test_scores_of_written_cases_are_the_same(
    texts: list[str | None], true: list[list[float]]
) -> None:
    expected = score_nutrition(texts, true)
    assert our_nutrition_scores(texts, true) == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_a_parse_failure_costs_the_truth_and_100_percent() -> None:
    """By hand: one dish off by 100 kcal of 400 and 2 g of each 10, one unreadable of 200 kcal."""
    texts = ['{"calories": 500, "protein": 12, "carbohydrates": 12, "fat": 12}', "?"]
    scores = our_nutrition_scores(texts, [[400.0, 10.0, 10.0, 10.0], [200.0, 4.0, 4.0, 4.0]])
    assert scores["calories_mae"] == pytest.approx((100 + 200) / 2)
    assert scores["calories_rmse"] == pytest.approx(math.sqrt((100**2 + 200**2) / 2))
    assert scores["calories_mape"] == pytest.approx((25 + 100) / 2)
    assert scores["fat_mae"] == pytest.approx((2 + 4) / 2)
    assert scores["mape"] == pytest.approx((62.5 + 3 * 60) / 4)
    assert scores["parse_failure_rate"] == 0.5
