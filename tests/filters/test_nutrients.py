"""Names, units and amounts of the four nutrients."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.nutrients import convert, nutrient_of, tidy, unit_key_of


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
        ("calories (kcal/serving)", ("calories", "kcal")),
        ("Energy (in kJ)", ("calories", "kj")),
        ("Protein\u00a0(mg\u202fper\u00a0serving)", ("protein", "mg")),
        ("calories_unit", None),
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


@given(st.floats(0, 1e6))
def test_a_kilocalorie_is_4184_joules(energy: float) -> None:
    assert convert("calories", 4.184 * energy, "kj") == pytest.approx(energy)
    assert convert("calories", energy, "千卡") == energy
    assert convert("calories", energy, "g") is None


@pytest.mark.parametrize("unit", ["cal", "cals", "calorie", "calories", "kcal", "卡", "大卡"])
def test_a_calorie_in_speech_about_food_is_a_kilocalorie(unit: str) -> None:
    assert convert("calories", 350, unit) == 350


@pytest.mark.parametrize("unit", ["mj", "j", "oz", "g", "千", "kilo", "?"])
def test_an_energy_in_another_unit_is_not_converted(unit: str) -> None:
    assert convert("calories", 350, unit) is None


@pytest.mark.parametrize(
    ("key", "nutrient"),
    [("energy_unit", "calories"), ("Protein unit", "protein"), ("脂肪单位", "fat"), ("unit", "")],
)
def test_keys_that_announce_a_unit(key: str, nutrient: str) -> None:
    assert unit_key_of(key) == nutrient


def test_signs_that_look_alike_become_one() -> None:
    assert tidy("\u2010\u2011\u2012\u2013\u2212\uff0d") == "------"
    assert tidy("\u301c\u223c\uff5e") == "~~~"
    assert tidy("\u00a0\u2003\u2009\u202f\u3000") == "     "
    assert tidy("１\u200bＡ“—”") == '1a"—"'
