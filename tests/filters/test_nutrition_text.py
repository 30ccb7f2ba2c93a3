"""Nutrition in prose, lists and tables."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.filters.nutrition_text import read_text, states_any

DISH = {"calories": 520.0, "protein": 31.0, "carbohydrates": 58.5, "fat": 18.0}

PAIRS = [
    "Calories: 520 kcal, protein: 31 g, carbohydrates: 58.5 g, fat: 18 g",
    "热量：520千卡\n蛋白质：31克\n碳水化合物：58.5克\n脂肪：18克",
    "热量约为520大卡，蛋白质31g，碳水58.5g，脂肪大约18g。",
    "热量520kcal 蛋白质31g 脂肪18g 碳水58.5g",
    "- **Calories:** ~520 kcal\n- **Protein:** 31 g\n- **Carbs:** 58.5 g\n- **Fat:** 18 g",
    "1. Energy — 2175.68 kJ (520 kcal)\n2. Protein — 31 g\n3. Carbs — 58.5 g\n4. Fat — 18 g",
    "Calories (kJ): 2175.68; Protein (mg): 31000; Carbs: 58.5; Fat: 18",
    "calories_kcal: 520\nprotein_g: 31\ncarbs_g: 58.5\nfat_g: 18",
    "About 520 kcal, with 31 g of protein, 58.5 g of carbs and 18 g of fat.",
    "含520千卡热量、31克蛋白质、58.5克碳水化合物和18克脂肪。",
    "520 calories 31 g protein 58.5 g carbs 18 g fat",
    "Calories 520 protein 31 carbs 58.5 fat 18",
    "Calories between 500 and 540, protein 30-32 g, carbs 58-59 g, fat from 16 to 20 g",
    "Protein: 31 g (124 kcal), carbs: 58.5 g (234 kcal), fat: 18 g (162 kcal), calories: 520",
    "Total calories: 300 + 220 = 520 kcal; protein 20+11=31 g; carbs 58.5 g; total fat 18 g",
    "Calories: $\\boxed{520}$ kcal\nProtein: $\\boxed{31}$\nCarbs: $\\boxed{58.5}$\n"
    "Fat: $\\boxed{18}$",
    "| Nutrient | Amount |\n|---|---|\n| Energy | 520 kcal |\n| Protein | 31 g |\n"
    "| Carbs | 58.5 g |\n| Fat | 18 g |",
    "| Nutrient | Amount | Unit |\n|---|---|---|\n| Energy | 2175.68 | kJ |\n| Protein | 31 | g |\n"
    "| Carbs | 58.5 | g |\n| Fat | 18 | g |",
    "Calories: 520\nProtein: 31\nCarbs: 58.5 (net carbs: 50)\nFat: 18, of which saturated fat: 7",
    "Calories: 520 (calories from fat: 162), protein 31, carbs 58.5, fat 18, trans fat: 0",
    "Rice has calories: 200, protein: 4 g. Total: calories 520, protein 31, carbs 58.5, fat 18",
    "Draft: calories 9, protein 9, carbs 9, fat 9.\nFinal answer: calories 520, protein 31, "
    "carbs 58.5, fat 18",
    "Per 100 g: calories 9, protein 9, carbs 9, fat 9. Per serving: calories 520, protein 31, "
    "carbs 58.5, fat 18",
    "Energy: 2175.68 (kJ), protein: 31 (g), carbs: 58.5 (g), fat: 18 (g)",
    "Energy: 2175.68\u202fkJ\nProtein: 31000\u00a0mg\nCarbs: 58.5-g\nFat: 18: g",
    "Energy (in kJ): 2175.68\nProtein (in mg): 31000\nCarbs in g: 58.5\nFat: 18",
    "fat: 18, protein: 31, carbs: 58.5, kcal: 520",
    "Fat: 18; Carbs: 58.5; Protein: 31; Calories 520",
    "Calories: 500\u2011540, protein: 30\u201032 g, carbs: 58\u221259 g, fat: 16\u301c20 g",
    "大约含有520千卡热量，31克蛋白质，58.5克碳水化合物以及18克脂肪。",
    "热量：520，蛋白质：31，碳水：58.5，脂肪：18，两个鸡蛋，千万别多吃",
    "Calories: 520, protein: 31, carbs: 58.5, fat: 18, l-carnitine: none",
    "热量——520千卡\n蛋白质——31克\n碳水化合物——58.5克\n脂肪——18克",
    "<tr><td>Calories</td><td>520</td></tr><tr><td>Protein</td><td>31 g</td></tr>"
    "<tr><td>Carbs</td><td>58.5 g</td></tr><tr><td>Fat</td><td>18 g</td></tr>",
    "Rice: 200 kcal, 4 g protein, 45 g carbs, 1 g fat\nPork: 320 kcal, 27 g protein, 13.5 g carbs, "
    "17 g fat\nTotal: 520 kcal, 31 g protein, 58.5 g carbs, 18 g fat",
    "| Energy | 520 | 26% |\n| Protein | 31 | 62% |\n| Carbs | 58.5 g | 20% |\n| Fat | 18 g | 9% |",
]


@pytest.mark.parametrize("text", PAIRS)
def test_names_with_amounts(text: str) -> None:
    value, step = read_text(text)
    assert value == pytest.approx(DISH)
    assert step == "pairs"


@pytest.mark.parametrize(
    "rows",
    [
        "| Calories | Protein | Carbs | Fat |\n|--|--|--|--|\n| 520 kcal | 31 g | 58.5 g | 18 g |",
        "| Food | Energy (kJ) | Protein | Carbs | Fat |\n|-|-|-|-|-|\n| rice | 9 | 9 | 9 | 9 |\n"
        "| **Total** | 2175.68 | 31 | 58.5 | 18 |",
        "|热量(千卡)|蛋白质(克)|碳水化合物(克)|脂肪(克)|\n|520|31|58.5|18|",
        "| | Calories | Protein | Carbs | Fat |\n|-|-|-|-|-|\n| Per 100 g | 9 | 9 | 9 | 9 |\n"
        "| Whole dish | 520 | 31 | 58.5 | 18 |",
    ],
)
def test_tables_with_one_nutrient_a_column(rows: str) -> None:
    value, step = read_text(f"Here it is:\n\n{rows}\n\nEnjoy!")
    assert value == pytest.approx(DISH)
    assert step == "table"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot tell.",
        "calories protein carbs fat",
        "Calories: 520, protein: 31, carbs: 58.5",
        "Calories: 520, protein: 31, carbs: 58.5, saturated fat: 18",
        "Calories: 520, protein: 31, carbs: 58.5, fat: 30%",
        "Energy: 2.18 MJ, protein: 31, carbs: 58.5, fat: 18",
        "Energy: 2176; kJ, protein: 31, carbs: 58.5, fat: 18",
        "Energy: 520千, protein: 31, carbs: 58.5, fat: 18",
        "Calories: 520, protein: 31, carbs: 58.5, fat: 18 ug",
        "Calories: 520, protein: 31, carbs: 58.5, fat: 18 (oz)",
        "Calories: 520, protein: 31, carbs: 58.5, fat: 0.36两",
        "| | rice | pork | total |\n|-|-|-|-|\n| Calories | 200 | 320 | 520 |\n"
        "| Protein | 4 | 27 | 31 |\n| Carbs | 45 | 13.5 | 58.5 |\n| Fat | 1 | 17 | 18 |",
        "Calories: -520 kcal, protein: 31, carbs: 58.5, fat: 18",
        "Calories: 520 or 600, protein: 31, carbs: 58.5, fat: 18",
        "Calories: unknown, protein: 31 g (124 kcal), carbs: 58.5 g (234 kcal), fat: 18 g",
        "Protein: 31 g = 124 kcal. Carbs: 58.5 g = 234 kcal. Fat: 18 g = 162 kcal.",
        "Per 100 g: calories 520, protein 31, carbs 58.5, fat 18",
        "Rice: calories 9, protein 9, carbs 9, fat 9. Egg: calories 520, protein 31, carbs 58.5, "
        "fat 18.",
        "Calories 520, protein 31, carbs 58.5, fat 18. No, calories are 700.",
        "| Food | Calories | Protein | Carbs | Fat |\n|-|-|-|-|-|\n| rice | 9 | 9 | 9 | 9 |\n"
        "| egg | 520 | 31 | 58.5 | 18 |",
    ],
)
def test_doubt_and_gaps_are_not_guessed(text: str) -> None:
    assert read_text(text) == (None, "")


@pytest.mark.parametrize("end", ["", ".", ",", " ", " m", " mg", "  kiloca"])
def test_an_amount_at_the_end_of_a_cut_text_does_not_count(end: str) -> None:
    text = '{"calories": 520, "protein": 31, "carbohydrates": 58.5, "fat": 18' + end
    assert read_text(text, cut_short=True) == (None, "")


@pytest.mark.parametrize("end", [" g\n```", "\n", ', "fibre', ", "])
def test_an_amount_before_the_end_of_a_cut_text_counts(end: str) -> None:
    text = '{"calories": 520, "protein": 31, "carbohydrates": 58.5, "fat": 18' + end
    assert read_text(text, cut_short=True)[0] == DISH


@pytest.mark.parametrize(
    ("text", "stated"), [("fat: 5 g", True), ("5 g of fat", True), ("fat", False), ("5 g", False)]
)
def test_an_amount_of_any_nutrient(text: str, stated: bool) -> None:
    assert states_any(text) is stated


names = st.permutations(
    [
        ("Calories", "热量", "kcal"),
        ("Protein", "蛋白质", "g"),
        ("Carbs", "碳水", "g"),
        ("Fat", "脂肪", "g"),
    ]
)
amounts = st.lists(st.integers(0, 2500), min_size=4, max_size=4)


@settings(max_examples=150)
@given(
    names,
    amounts,
    st.sampled_from([0, 1]),
    st.sampled_from([": ", " = ", "：", " is about ", " | ", " - "]),
    st.sampled_from(["\n", ", ", "; ", "\n- ", "，"]),
)
def test_any_order_and_layout_reads_the_same(
    order: list[tuple[str, str, str]], dish: list[int], language: int, colon: str, between: str
) -> None:
    lines = [
        f"{name[language]}{colon}{amount} {name[2]}"
        for name, amount in zip(order, dish, strict=True)
    ]
    value, _ = read_text(between.join(lines))
    keys = {"Calories": "calories", "Protein": "protein", "Carbs": "carbohydrates", "Fat": "fat"}
    expected = {keys[name[0]]: amount for name, amount in zip(order, dish, strict=True)}
    assert value == expected
