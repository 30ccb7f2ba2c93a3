from __future__ import annotations

import time

import pytest

from lmms_eval_food.filters.lists import read_list
from lmms_eval_food.filters.tables import table_rows


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("| Food | g |\n|--|--|\n| Egg | 55 |", [("Egg", "")]),
        ("| Food | Portion (g) |\n|--|--|\n| Egg | 55 |", [("Egg", "55")]),
        ("| Egg | 55 g |", []),
        ("| Egg | 55 g |\n| Soup | 210 g |", []),
        ("| Food |\n|--|\n| Egg |\n\n| Beans |", [("Egg", "")]),
        ("| Food | Weight |\n|--|--|\n| Egg |", [("Egg", "")]),
        # The weight, whatever stands before it.
        ("| Food | Amount | Weight (g) |\n|-|-|-|\n| Egg | 1 piece | 55 |", [("Egg", "55")]),
        ("| Food | Serving size | Grams |\n|-|-|-|\n| Egg | 60 g | |", [("Egg", "60 g")]),
        ("| Food | Quantity |\n|-|-|\n| Egg | 2 |", [("Egg", "")]),
        # Units of the head.
        ("| Food | Portion (oz) |\n|-|-|\n| Egg | 2 |", [("Egg", "2 oz")]),
        ("| Food | Portion (in oz) |\n|-|-|\n| Egg | 2-3 |", [("Egg", "2-3 oz")]),
        ("| Food | Weight (kg) |\n|-|-|\n| Egg | 55 g |", [("Egg", "55 g")]),
        # No outer bars; no rule line.
        ("Food | Portion\n--- | ---\nEgg | 55 g\n\nEgg | 5 g", [("Egg", "55 g")]),
        ("Food | Portion\n--------------\nEgg | 55 g", [("Egg", "55 g")]),
        ("| Food | Portion |\n| Egg | 55 g |", [("Egg", "55 g")]),
        ("name | portion_estimate\nEgg | 55 g", [("Egg", "55 g")]),
    ],
)
def test_table_rows(text: str, rows: list[tuple[str, str]]) -> None:
    assert list(table_rows(text)) == rows


@pytest.mark.parametrize(
    ("cell", "head", "grams"),
    [("5", "Estimated portion (oz)", 141.747615625), ("0.15", "Weight (kg)", 150.0)],
)
def test_grams_under_a_unit(cell: str, head: str, grams: float) -> None:
    (food,) = read_list(f"| Food | {head} |\n|---|---|\n| Rice | {cell} |")
    assert food.item().grams == pytest.approx(grams, rel=1e-12)


@pytest.mark.parametrize("total", ["Total", "**Total**", "Grand total", "Sum", "合计", "总计"])
def test_totals_are_no_foods(total: str) -> None:
    table = f"| Food | Weight |\n|---|---|\n| Egg | 55 g |\n| {total} | 55 g |"
    assert [food.name for food in read_list(table)] == ["Egg"]
    assert [food.name for food in read_list(f"- Egg: 55 g\n- {total}: 55 g")] == ["Egg"]


@pytest.mark.parametrize("piece", ["-", "weight|", "a|", "| food | g |\n", "|-\n", "a|b\n"])
def test_long_tables_take_linear_time(piece: str) -> None:
    text = "| Food | Weight |\n|-|-|\n" + piece * (300_000 // len(piece)) + "x"
    start = time.perf_counter()
    list(table_rows(text))
    assert time.perf_counter() - start < 5
