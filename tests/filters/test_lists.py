from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.lists import read_list

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
    "text",
    [
        "1. **Soup**\n   - **portion_estimate:** 210 g\n   - **confidence:** 90\n"
        "2. **Egg**\n   - **portion_estimate:** 55 g",
        "* Soup (portion_estimate: 210 g, confidence: 90)\n* Egg (portion_estimate: 55 g)",
        "name: Soup\nportion_estimate: 210 g\nconfidence: 90\n\nname: Egg\nportion_estimate: 55 g",
        "- name: Soup\n  portion_estimate: 210 g\n- name: Egg\n  portion_estimate: 55 g",
        'food_items:\n  - name: "Soup"\n    portion_estimate: "210 g"\n'
        '  - name: "Egg"\n    portion_estimate: "55 g"',
        "1. **name:** Soup, **portion_estimate:** 210 g, **confidence:** 90\n"
        "2. **name:** Egg, **portion_estimate:** 55 g",
        "* Soup, portion: 210 g\n* Egg, portion: 55 g",
        "- Soup (portion: 210 g, confidence: 90)\n- Egg (portion: 55 g)",
        "a) Soup 210 g\nb) Egg 55 g",
        "(A) Soup 210 g\n(B) Egg 55 g",
        "①Soup 210 g\n②Egg 55 g",
        "1. Starter: Soup (210 g)\n2. Main dish: Egg (55 g)",
        "- Side: Soup (210 g)\n- Drink: Egg (55 g)\n- Grand total: 265 g\n- Sum: 265 g",
        "Main dish: Soup (210 g)\nDessert: Egg (55 g)",
        "- Soup: 210 g\n- Egg: 55 g\n- Plate weight: 300 g\n- Fiber: 3 g\n- Sugar: 2 g",
        "- Soup: 210 g\n- Egg: 55 g\n- Nicht erkennbar\n- Unknown\n- Not visible",
        "- Soup | 210 g\n- Egg | 55 g",
    ],
)
def test_labels_are_no_names(text: str) -> None:
    assert [(food.name, food.text) for food in read_list(text)] == SOUP_AND_EGG


@pytest.mark.parametrize(
    ("line", "name", "text", "grams"),
    [
        ("1. Main dish: Spaghetti carbonara (200 g)", "Spaghetti carbonara", "200 g", 200.0),
        ("- Dessert: 80 g", "Dessert", "80 g", 80.0),
        ("- Drink: one glass (200 ml)", "Drink", "one glass (200 ml)", 200.0),
        ("- Water (1 glass, 250ml)", "Water", "1 glass, 250ml", 250.0),
        ("- Rice (basmati, 150 g)", "Rice (basmati)", "150 g", 150.0),
        ("- Eggs (2 x 60 g)", "Eggs", "2 x 60 g", 120.0),
        ("- Eggs - 2*60 g", "Eggs", "2 x 60 g", 120.0),
        ("- Eggs 2 x 60 g", "Eggs", "2 x 60 g", 120.0),
        ("- 2 bread rolls, 50 g each", "2 bread rolls", "50 g each", 100.0),
        ("- Three meatballs (30 g each)", "Three meatballs", "30 g each", 90.0),
        ("1. 米饭：150克", "米饭", "150克", 150.0),
        ("1、米饭，约150克", "米饭", "150克", 150.0),
        ("- Rice: 150 ± 20 g", "Rice", "150 ± 20 g", 150.0),
        ("- Rice 1 kg 200 g", "Rice", "1 kg 200 g", 1200.0),
        ("- Rice: -50 g", "Rice", "-50 g", None),
        ("- Sugar: 5 g", "Sugar", "5 g", 5.0),
        ("- Unknown: 50 g", "Unknown", "50 g", 50.0),
    ],
)
def test_one_line(line: str, name: str, text: str, grams: float | None) -> None:
    (food,) = read_list(line)
    item = food.item()
    assert (item.name, item.text, item.grams) == (name, text, grams)


@pytest.mark.parametrize(
    "line", ["- Nicht erkennbar", "- No food visible", "- n/a", "- 无法识别", "- Protein: 20 g"]
)
def test_no_food(line: str) -> None:
    assert read_list(line) == []


_NAMES = st.lists(st.text(alphabet="bcdfgklmnprst", min_size=3, max_size=9), min_size=1, max_size=6)


@given(_NAMES, st.sampled_from(["- {}: {} g", "{n}. {} - {} g", "* **{}** ({} g)"]))
def test_every_line_of_a_list_is_a_food(names: list[str], form: str) -> None:
    lines = [form.format(name, 10 + n, n=n + 1) for n, name in enumerate(names)]
    foods = read_list("\n".join(lines))
    assert [food.name for food in foods] == names
    assert [food.text for food in foods] == [f"{10 + n} g" for n in range(len(names))]
