"""Names, units and amounts of the four nutrients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.nutrients import convert, nutrient_of, read_amount


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("calories", ("calories", "")),
        ("Calories (kcal)", ("calories", "kcal")),
        ("energy_kJ", ("calories", "kj")),
        ("Total Energy", ("calories", "")),
        ("总热量", ("calories", "")),
        ("热量（千卡）", ("calories", "千卡")),
        ("大卡", ("calories", "")),
        ("Protein [g]", ("protein", "g")),
        ("蛋白质含量", ("protein", "")),
        ("Carbs", ("carbohydrates", "")),
        ("total_carbohydrate", ("carbohydrates", "")),
        ("碳水", ("carbohydrates", "")),
        ("**Fat**", ("fat", "")),
        ("totalFat", ("fat", "")),
        ("脂肪(克)", ("fat", "克")),
        ("saturated fat", None),
        ("饱和脂肪", None),
        ("fat_percent", None),
        ("calories from fat", None),
        ("calories per 100 g", None),
        ("net carbs", None),
        ("fiber", None),
        ("", None),
        ("fat" * 1000, None),
    ],
)
def test_keys_name_a_nutrient_as_a_whole(key: str, named: tuple[str, str] | None) -> None:
    assert nutrient_of(key) == named


@pytest.mark.parametrize(
    ("nutrient", "text", "amount"),
    [
        ("calories", "418.4 kJ", 100),
        ("calories", "100 kcal / 418 kJ", 100),
        ("calories", "418.4 kilojoules (100 kcal)", 100),
        ("calories", "1,200 kcal", 1200),
        ("calories", "1 200", 1200),
        ("calories", "1.200,5", 1200.5),
        ("calories", "around 300 calories", 300),
        ("calories", "300千卡左右", 300),
        ("calories", "between 300 and 400 kcal", 350),
        ("calories", "介于300到400大卡", 350),
        ("calories", "418.4-836.8 kJ", 150),
        ("calories", "300 kcal - 400 kcal", 350),
        ("protein", "12,5 g", 12.5),
        ("protein", "0,125", 0.125),
        ("protein", "500mg to 1 g", 0.75),
        ("protein", "１２克", 12),
        ("protein", "**12 g**", 12),
        ("protein", "12 g per serving", 12),
        ("protein", "12 ± 3 g", 12),
        ("protein", "0", 0),
        ("protein", "12 and 14", None),
        ("protein", "12 g, 14 g", None),
        ("protein", "1/2 g", None),
        ("protein", "4 × 3", None),
        ("protein", "12 kcal", None),
        ("protein", "12 ml", None),
        ("protein", "12 g (per 100 g)", None),
        ("protein", "-12 g", None),
        ("protein", "g", None),
        ("protein", "1.2.3", None),
        ("calories", "12 g", None),
        ("calories", "9" * 400, None),
    ],
)
def test_amounts(nutrient: str, text: str, amount: float | None) -> None:
    value = read_amount(nutrient, text)
    assert value is None if amount is None else value == pytest.approx(amount)


def test_the_unit_of_the_text_goes_before_the_stated_one() -> None:
    assert read_amount("fat", "5", "mg") == pytest.approx(0.005)
    assert read_amount("fat", "5 g", "mg") == 5


@given(st.floats(0, 1e6))
def test_a_kilocalorie_is_4184_joules(energy: float) -> None:
    assert convert("calories", 4.184 * energy, "kj") == pytest.approx(energy)
    assert convert("calories", energy, "千卡") == energy
    assert convert("calories", energy, "g") is None
