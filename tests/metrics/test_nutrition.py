"""Nutrition errors, scores and checks, by hand and by property."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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

NAN = math.nan
GONE = [NAN] * 4
Charge = Callable[..., NutritionErrors]
BOTH = pytest.mark.parametrize("charge", [official_errors, robust_errors])

TRUE = [[400.0, 20.0, 50.0, 10.0], [600.0, 30.0, 0.0, 40.0]]
PREDICTED = [[500.0, 20.0, 40.0, 15.0], [600.0, 24.0, 5.0, 30.0]]


@BOTH
def test_scores_by_hand(charge: Charge) -> None:
    scores = nutrition_scores(charge(PREDICTED, TRUE, [True, True]))
    expected = {
        "calories_mae": 50,
        "calories_rmse": math.sqrt(100**2 / 2),
        "calories_mape": 12.5,
        "protein_mae": 3,
        "protein_rmse": math.sqrt(6**2 / 2),
        "protein_mape": 10,
        "carbohydrates_mae": 7.5,
        "carbohydrates_rmse": math.sqrt((10**2 + 5**2) / 2),
        "carbohydrates_mape": 20,
        "fat_mae": 7.5,
        "fat_rmse": math.sqrt((5**2 + 10**2) / 2),
        "fat_mape": 37.5,
        "mae": 17,
        "mape": 20,
    }
    expected["rmse"] = sum(expected[f"{name}_rmse"] for name in NUTRIENTS) / 4
    assert scores == pytest.approx(expected)


@BOTH
def test_a_truth_of_zero_is_left_out_of_percentages_and_counted(charge: Charge) -> None:
    errors = charge(PREDICTED, TRUE, [True, True])
    assert errors.zero_truths == (0, 0, 1, 0)
    alone = nutrition_scores(charge(PREDICTED[1:], TRUE[1:], [True]))
    assert math.isnan(alone["carbohydrates_mape"])
    assert math.isnan(alone["mape"])
    assert alone["carbohydrates_mae"] == 5


@BOTH
def test_a_missing_truth_is_left_out(charge: Charge) -> None:
    true = [[NAN, 20.0, 50.0, 10.0], TRUE[1]]
    scores = nutrition_scores(charge(PREDICTED, true, [True, True]))
    assert scores["calories_mae"] == 0
    assert scores["protein_mae"] == 3
    unread = nutrition_scores(charge([GONE, PREDICTED[1]], true, [False, True]))
    assert unread["calories_mae"] == 0
    assert unread["calories_mape"] == 0


@BOTH
def test_nothing_to_score_is_nan(charge: Charge) -> None:
    scores = nutrition_scores(charge([], [], []))
    assert len(scores) == 15
    assert all(math.isnan(value) for value in scores.values())


def test_official_charges_the_truth_for_no_answer() -> None:
    scores = nutrition_scores(official_errors([GONE, GONE], TRUE, [False, False]))
    assert scores["calories_mae"] == 500
    assert scores["calories_rmse"] == pytest.approx(math.sqrt((400**2 + 600**2) / 2))
    assert scores["carbohydrates_mae"] == 25
    assert scores["mape"] == 100


def test_official_lets_nan_and_infinity_through() -> None:
    scores = nutrition_scores(official_errors([[NAN, math.inf, 50, 10]], TRUE[:1], [True]))
    assert math.isnan(scores["calories_mae"])
    assert scores["protein_rmse"] == math.inf
    assert scores["fat_mape"] == 0


def test_robust_charges_no_answer_five_times_the_truth() -> None:
    """400 kcal: 1600 off. 20 g protein: 80. 10 g fat: 40. No carbohydrates: a dish's 55 g."""
    errors = robust_errors([GONE], [[400, 20, 0, 10]], [False])
    assert errors.absolute.tolist() == [[1600, 80, 55, 40]]
    assert errors.percent[0, [0, 1, 3]].tolist() == [400, 400, 400]
    assert errors.capped == (0, 0, 0, 0)


def test_robust_charges_little_truth_at_least_a_dish() -> None:
    assert robust_errors([GONE], [[100, 5, 10, 1]], [False]).absolute.tolist() == [
        [500, 25, 55, 20]
    ]


def test_robust_caps_a_readable_answer_and_counts_it() -> None:
    true = [[400.0, 20.0, 0.0, 1.0]] * 2
    errors = robust_errors([[1200, 100, 60, 10], [9000, 101, 55, 5]], true, [True, True])
    assert errors.absolute.tolist() == [[800, 80, 55, 9], [1600, 80, 55, 4]]
    assert errors.percent[:, 3].tolist() == [400, 400]
    assert errors.capped == (1, 1, 1, 1)


def test_a_threefold_overestimate_beats_no_answer() -> None:
    """The benchmark's own rule has it the other way round: 100% for none, 200% for threefold."""
    threefold = np.array(TRUE) * 3
    ours = [
        nutrition_scores(robust_errors(threefold, TRUE, [flag] * 2))["calories_mape"]
        for flag in (True, False)
    ]
    published = [
        nutrition_scores(official_errors(threefold, TRUE, [flag] * 2))["calories_mape"]
        for flag in (True, False)
    ]
    assert ours == [200, 400]
    assert published == [200, 100]


amounts = st.floats(0, 1e4) | st.integers(0, 5).map(float)
rows = st.lists(amounts | st.floats(0, 1e300), min_size=4, max_size=4)
runs = st.lists(
    st.tuples(rows, st.lists(amounts, min_size=4, max_size=4), st.booleans()),
    min_size=1,
    max_size=8,
)
Run = list[tuple[list[float], list[float], bool]]


@settings(max_examples=200)
@given(runs, st.data())
def test_no_reply_gains_by_being_unreadable(run: Run, data: st.DataObject) -> None:
    predicted, true, readable = (list(column) for column in zip(*run, strict=True))
    before = nutrition_scores(robust_errors(predicted, true, readable))
    silenced = data.draw(st.integers(0, len(run) - 1))
    readable[silenced] = False
    after = nutrition_scores(robust_errors(predicted, true, readable))
    for name, value in before.items():
        assert math.isfinite(after[name]) or math.isnan(value)
        assert math.isnan(value) or after[name] >= value - 1e-9 * value


@settings(max_examples=100)
@given(runs)
def test_robust_is_official_where_every_error_is_small(run: Run) -> None:
    true = [row[1] for row in run]
    predicted = [[value * 1.5 for value in row] for row in true]
    readable = [True] * len(run)
    assert nutrition_scores(robust_errors(predicted, true, readable)) == pytest.approx(
        nutrition_scores(official_errors(predicted, true, readable)), nan_ok=True
    )


@BOTH
@settings(max_examples=100)
@given(run=runs)
def test_order_does_not_matter_and_inputs_stay(charge: Charge, run: Run) -> None:
    predicted, true, readable = (np.array(column) for column in zip(*run, strict=True))
    copies = predicted.copy(), true.copy(), readable.copy()
    scores = nutrition_scores(charge(predicted, true, readable))
    turned = nutrition_scores(charge(predicted[::-1], true[::-1], readable[::-1]))
    assert turned == pytest.approx(scores, nan_ok=True)
    for now, then in zip((predicted, true, readable), copies, strict=True):
        assert np.array_equal(now, then)


@BOTH
@pytest.mark.parametrize(
    ("predicted", "true", "readable", "message"),
    [
        ([[1, 2, 3]], TRUE[:1], [True], r"predicted must have shape \(n, 4\)"),
        (PREDICTED, TRUE[:1], [True], "differ in length: 2, 1, 1"),
        (PREDICTED, TRUE, [True, 2], "readable must hold only true and false"),
        (PREDICTED, [TRUE[0], [-1, 1, 1, 1]], [True, True], "true must be finite and >= 0"),
        (PREDICTED, [TRUE[0], [math.inf, 1, 1, 1]], [True, True], "true must be finite and >= 0"),
    ],
)
def test_bad_input_is_refused(
    charge: Charge,
    predicted: list[list[float]],
    true: list[list[float]],
    readable: list[bool],
    message: str,
) -> None:
    with pytest.raises(ValueError, match=message):
        charge(predicted, true, readable)


def test_robust_refuses_a_readable_answer_without_a_number() -> None:
    with pytest.raises(ValueError, match="finite where readable"):
        robust_errors([[NAN, 1, 1, 1]], TRUE[:1], [True])


def test_bias_by_hand() -> None:
    bias = signed_bias([*PREDICTED, GONE], [*TRUE, TRUE[0]], [True, True, False])
    assert bias == pytest.approx(
        {"calories": 50, "protein": -3, "carbohydrates": -2.5, "fat": -2.5}
    )


def test_bias_leaves_out_what_is_no_number() -> None:
    bias = signed_bias([[math.inf, 21, NAN, 8], GONE], TRUE, [True, False])
    assert bias["protein"] == 1
    assert bias["fat"] == -2
    assert math.isnan(bias["calories"])
    assert math.isnan(bias["carbohydrates"])


def test_correlations_by_hand() -> None:
    """Proportional, opposed, constant estimates, and 1 2 3 against 1 3 2 (r = 1/2)."""
    true = [[1.0, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [9, 9, 9, 9]]
    predicted = [[10.0, 9, 5, 1], [20, 8, 5, 3], [30, 7, 5, 2], GONE]
    found = correlations(predicted, true, [True, True, True, False])
    assert found["calories"] == pytest.approx(1)
    assert found["protein"] == pytest.approx(-1)
    assert math.isnan(found["carbohydrates"])
    assert found["fat"] == pytest.approx(0.5)


def test_correlations_need_three_answers() -> None:
    assert all(math.isnan(r) for r in correlations(PREDICTED, TRUE, [True, True]).values())


@pytest.mark.parametrize(
    ("row", "consistent"),
    [
        ([350, 12, 40, 15], True),  # 48 + 160 + 135 = 343
        ([100, 10, 10, 0], False),  # 80: 20 off
        ([100, 0, 0, 10], True),  # 90: exactly 10 off
        ([100, 5, 0, 10], True),  # 110: exactly 10 off
        ([100, 5.01, 0, 10], False),
        ([0, 0, 0, 0], True),
        ([0, 1, 0, 0], False),
    ],
)
def test_atwater_by_hand(row: list[float], consistent: bool) -> None:
    assert atwater_consistency([row], [True]) == consistent


def test_atwater_counts_readable_answers_only() -> None:
    rows = [[350, 12, 40, 15], [350, 1, 1, 1], [350, 12, 40, 15], [math.inf, 1, 1, 1]]
    assert atwater_consistency(rows, [True, True, False, True]) == 0.5
    assert math.isnan(atwater_consistency([GONE], [False]))
    assert math.isnan(atwater_consistency([], []))


def test_atwater_refuses_other_lengths() -> None:
    with pytest.raises(ValueError, match="predicted has 1 rows, readable has 2"):
        atwater_consistency([[1, 1, 1, 1]], [True, True])
