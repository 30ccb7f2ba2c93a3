from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.lists import read_list
from lmms_eval_food.filters.tables import table_rows

SOUP_AND_EGG = [("Soup", "210 g"), ("Egg", "55 g")]


@pytest.mark.parametrize(
    "text",
    [
        "- Soup: 210 g\n- Egg: 55 g",
        "* **Soup**: 210 g\n* **Egg**: 55 g",
        "*   Soup - 210 g\n*   Egg - 55 g",
        "• Soup (210 g)\n• Egg (55 g)",
        "- Soup 210 g\n- Egg, 55 g",
        "- Soup: 210 g (confidence: 80%)\n- Egg: 55 g, confidence 70%",
        "1. Soup: 210 g\n2. Egg: 55 g",
        "1) Soup: 210 g\n2) Egg: 55 g",
        "1. **Soup**\n   - **Portion size**: 210 g\n   - **Confidence**: 80%\n"
        "2. **Egg**\n   - **Portion size**: 55 g\n   - *Rationale*: An egg weighs 50-60 g.",
        "1. Soup: 210 g, 2. Egg: 55 g",
        "I see: 1. Soup: 210 g 2. Egg: 55 g",
        "| Food | Portion |\n|---|---|\n| Soup | 210 g |\n| Egg | 55 g |",
        "| # | Item | Confidence | Weight |\n|:-|:-|-:|-:|\n| 1 | Soup | 80% | 210 g |\n"
        "| 2 | Egg | 90% | 55 g |",
        "| Dish | How much |\n|---|---|\n| Soup | 210 g |\n| Egg | 55 g |",
        "### Soup\nEstimated portion: 210 g\n### Egg\nEstimated portion: 55 g",
        "## Report\n#### **1. Soup**\n- **Weight**: 210 g\n#### **2. Egg**\n- **Weight**: 55 g",
        "**Soup**\nPortion: 210 g\n\n**Egg**\nPortion: 55 g",
        "Soup: 210 g\nEgg: 55 g",
        "Item: Soup\nPortion: 210 g\nItem: Egg\nPortion: 55 g",
        "- Name: Soup\n  - Portion: 210 g\n- Name: Egg\n  - Portion: 55 g",
        "- Tray:\n  - Soup: 210 g\n  - Egg: 55 g",
        "## First course\n- Soup: 210 g\n## Second course\n- Egg: 55 g",
        "1. Soup\n2. Egg\n\nThe portions:\n- Soup: 210 g\n- Egg: 55 g",
        "1. Soup: 210 g\n2. Egg: 55 g\n\n| Food | Portion |\n|---|---|\n| Soup | 210 g |\n| E",
        "- Soup: 210 g\n- Egg: 55 g\n- Total: 265 g\n- Note: rough figures",
        "- Soup: 210 g\n- Egg: 55 g\n\nI hope that helps. It is about 265 g in all.",
    ],
)
def test_lists_with_portions(text: str) -> None:
    foods = read_list(text)
    assert [(food.name, food.text) for food in foods] == SOUP_AND_EGG
    assert all(food.has_grams for food in foods)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("- Soup\n- Egg", ["Soup", "Egg"]),
        ("1. A soup. 2. The egg. 3. Beans.", ["soup", "egg", "Beans"]),
        ("- Soup: The soup is green and seems to hold peas.", ["Soup"]),
        ("1、汤\n2、鸡蛋", ["汤", "鸡蛋"]),
        ("* Egg\n* Egg\n* Egg", ["Egg", "Egg", "Egg"]),
        ("- 210 g soup\n- 55 g of egg", ["soup", "egg"]),
        ("* A\n* A\n* the", []),
        ("- \n- **", []),
    ],
)
def test_names_of_a_list(text: str, names: list[str]) -> None:
    assert [food.name for food in read_list(text)] == names


@pytest.mark.parametrize(
    "text",
    [
        "A tray with soup and an egg.",
        "I see soup, about 210 g, and an egg of 55 g.",
        "The tray holds: soup, egg and beans.",
        "1. A white bowl holds a soup that is generously covered with grated cheese and herbs.",
        "- The soup is green.\n- There are two eggs.",
        "Soup (210 g), egg (55 g)",
        "# Soup\n# Egg",
        "Soup\nEgg",
        "Total: 265 g",
        "",
    ],
)
def test_prose_is_no_list(text: str) -> None:
    assert read_list(text) == []


@pytest.mark.parametrize(
    ("line", "text", "grams"),
    [
        ("- Soup: about 210 g (roughly a bowl)", "about 210 g (roughly a bowl)", True),
        ("- Soup: one bowl", "one bowl", False),
        ("- Soup: uncertain", "uncertain", False),
        (
            "- Soup: A usual bowl of it weighs 210 grams",
            "A usual bowl of it weighs 210 grams",
            True,
        ),
        ("- Soup: a bowl of something green and thick", "", False),
        ("- Rolls, 30 g each", "30 g each", True),
    ],
)
def test_portion_text(line: str, text: str, grams: bool) -> None:
    (food,) = read_list(line)
    assert (food.text, food.has_grams) == (text, grams)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("| Food | g |\n|--|--|\n| Egg | 55 |", [("Egg", "")]),
        ("| Food | Portion (g) |\n|--|--|\n| Egg | 55 |", [("Egg", "55")]),
        ("| Egg | 55 g |", []),
        ("| Food |\n|--|\n| Egg |\n\n| Beans |", [("Egg", "")]),
        ("| Food | Weight |\n|--|--|\n| Egg |", [("Egg", "")]),
    ],
)
def test_table_rows(text: str, rows: list[tuple[str, str]]) -> None:
    assert list(table_rows(text)) == rows


_NAMES = st.lists(st.text(alphabet="bcdfgklmnprst", min_size=3, max_size=9), min_size=1, max_size=6)


@given(_NAMES, st.sampled_from(["- {}: {} g", "{n}. {} - {} g", "* **{}** ({} g)"]))
def test_every_line_of_a_list_is_a_food(names: list[str], form: str) -> None:
    lines = [form.format(name, 10 + n, n=n + 1) for n, name in enumerate(names)]
    foods = read_list("\n".join(lines))
    assert [food.name for food in foods] == names
    assert [food.text for food in foods] == [f"{10 + n} g" for n in range(len(names))]
