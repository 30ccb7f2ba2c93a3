"""Our official readings against the plain ones, answer by answer."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmms_eval_food.filters.letters import OfficialLetter
from lmms_eval_food.filters.nutrition import OfficialNutrition
from tests.dining_answers import letter_answers, nutrition_answers
from tests.plain_diningbench import NUTRIENTS, read_letter, read_nutrition

MANY = settings(max_examples=200)


def same_letter(text: str | None) -> None:
    assert OfficialLetter(options=8).read(text).value == read_letter(text)


def same_nutrition(text: str | None) -> None:
    ours, plain = OfficialNutrition().read(text).value, read_nutrition(text)
    if plain is None:
        assert ours is None
    else:
        assert list(ours) == NUTRIENTS
        assert all(
            math.isnan(a) if math.isnan(b) else a == b
            for a, b in zip(ours.values(), plain, strict=True)
        )


@MANY
@given(letter_answers)
def test_letters_read_alike(text: str | None) -> None:
    same_letter(text)


@MANY
@given(st.text(max_size=60))
@example("")
@example("  \n ")
def test_letters_of_any_text_read_alike(text: str) -> None:
    same_letter(text)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "The answer is B",
        "答案：B",
        "ß",
        "１. Ｂ",
        "12: c",
        r"I say \boxed{} B",
        r"\boxed{\text{F}}",
        r"\boxed{A} or \boxed{B}",
        r"\boxed{never closed",
        "<think>C</think>B",
        "so C</think>\n\nB",
        "<THINK>C</Think>b",
        "<think>C",
        "<think>A</think>B</think>C",
        "<think>A<think>B</think>C",
        "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error.",
        "[LMMS_EVAL_BUDGET_EXCEEDED]",
    ],
)
def test_letters_of_written_cases_read_alike(text: str | None) -> None:
    same_letter(text)


@MANY
@given(nutrition_answers)
def test_nutrition_reads_alike(text: str | None) -> None:
    same_nutrition(text)


@MANY
@given(st.text(alphabet='{}[]":,`\\ \njson1.e-calories卡路里', max_size=80))
def test_nutrition_of_any_text_reads_alike(text: str) -> None:
    same_nutrition(text)


GOOD = '{"calories": 1, "protein": 2, "carbohydrates": 3, "fat": 4}'
OTHER = '{"calories": 5, "protein": 6, "carbohydrates": 7, "fat": 8}'


@pytest.mark.parametrize(
    "text",
    [
        None,
        "null",
        "[]",
        f"[{GOOD}]",
        f"Here: {GOOD}",
        f"```{GOOD}```",
        f"```json\n{GOOD}\n```",
        f"```json\n{GOOD}\n```\n```json\n{OTHER}\n```",
        f"```JSON\n{GOOD}\n```",
        f"```python\nx = {GOOD}\n```",
        f"{GOOD} ```",
        f"``` {GOOD} and {OTHER} ```",
        f"``` {GOOD}",
        "``` } {",
        '```json\n{"a": {"b": 1}}\n```',
        rf"\boxed{{{GOOD}}}",
        rf"{GOOD} \boxed{{5}}",
        f"<think>{OTHER}</think>\n\n{GOOD}",
        f"{OTHER}</think>{GOOD}",
        f"<think>{GOOD}",
        '{"卡路里": 1, "protein": 2, "碳水化合物": 3, "fat": 4}',
        '{"calories": "x", "卡路里": 1, "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"卡路里": 9, "calories": 1, "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"calories": 9, "calories": 1, "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"calories": 1, "protein": 2, "carbohydrates": 3, "fat": null}',
        '{"calories": "nan", "protein": "inf", "carbohydrates": NaN, "fat": -Infinity}',
        '{"calories": " 1e3 ", "protein": "1_000", "carbohydrates": true, "fat": "３"}',
        '{"calories": 1' + "0" * 400 + ', "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"calories": 1' + "0" * 5000 + ', "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"calories": "1 kcal", "protein": 2, "carbohydrates": 3, "fat": 4}',
        '{"Calories": 1, "protein": 2, "carbohydrates": 3, "fat": 4}',
        "[" * 3_000,
        "[LMMS_EVAL_REQUEST_FAILED after 5 retries] " + GOOD,
    ],
    ids=lambda text: repr(text)[:60],
)
def test_nutrition_of_written_cases_reads_alike(text: str | None) -> None:
    same_nutrition(text)
