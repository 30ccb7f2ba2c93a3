"""Both readings of a nutrition answer, on replies as models write them."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.filters.nutrition import OfficialNutrition, RobustNutrition
from lmms_eval_food.filters.reading import Reading, Status

DISH = [520.0, 31.0, 58.5, 18.0]
NAMES = ["calories", "protein", "carbohydrates", "fat"]
JSON = '{"calories": 520, "protein": 31, "carbohydrates": 58.5, "fat": 18}'
DRAFT = '{"calories": 999, "protein": 9, "carbohydrates": 99, "fat": 9}'


def robust(text: str | None) -> list[float] | Status:
    reading = RobustNutrition().read(text)
    return reading.status if reading.value is None else list(reading.value.values())


def official(text: str | None) -> list[float] | Status:
    reading = OfficialNutrition().read(text)
    return reading.status if reading.value is None else list(reading.value.values())


@pytest.mark.parametrize("reader", [OfficialNutrition(), RobustNutrition()])
def test_a_plain_object_is_read_as_it_stands(reader: RobustNutrition) -> None:
    reading = reader.read(JSON)
    assert reading.value == dict(zip(NAMES, DISH, strict=True))
    assert list(reading.value) == NAMES
    assert (reading.status, reading.step, reading.raw) == (Status.OK, "json", JSON)


@pytest.mark.parametrize("reader", [OfficialNutrition(), RobustNutrition()])
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, Status.EMPTY),
        (" \n", Status.EMPTY),
        ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] " + JSON, Status.FAILED),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]", Status.FAILED),
        ("I cannot estimate this from a photo.", Status.UNREADABLE),
        ('{"calories": 520, "protein": 31, "fat": 18}', Status.UNREADABLE),
        ('{"calories": 520, "protein": null, "carbohydrates": 5, "fat": 18}', Status.UNREADABLE),
    ],
)
def test_no_answer_has_no_value(reader: RobustNutrition, text: str | None, status: Status) -> None:
    reading = reader.read(text)
    assert (reading.value, reading.status) == (None, status)


def test_a_reading_survives_the_host() -> None:
    line = RobustNutrition().apply([[f"<think>hm</think>{JSON}"]], None)[0][0]
    assert "<" not in line
    reading = Reading.from_json(line)
    assert list(reading.value.values()) == DISH
    assert reading.reader == "robust"


# The two readings differ here: (text, official, robust).
DIFFERENT = [
    (f"Draft: {DRAFT}\nFinal: {JSON}", Status.UNREADABLE, DISH),
    (f"```json\n{DRAFT}\n```\nOn reflection:\n```json\n{JSON}\n```", [999, 9, 99, 9], DISH),
    (rf"\boxed{{{JSON}}}", Status.UNREADABLE, DISH),
    (f"<think>{JSON}", Status.UNREADABLE, Status.TRUNCATED),
    (JSON.replace("520", '"520 kcal"'), Status.UNREADABLE, DISH),
    (JSON.replace("520", "-520"), [-520, 31, 58.5, 18], Status.UNREADABLE),
    (JSON.replace("520", "true"), [1, 31, 58.5, 18], Status.UNREADABLE),
    (JSON.replace("520", '"inf"'), [math.inf, 31, 58.5, 18], Status.UNREADABLE),
    (JSON.replace("520", '"1,200"'), Status.UNREADABLE, [1200, 31, 58.5, 18]),
    (f"[{JSON}]", Status.UNREADABLE, DISH),
    (f"The estimate is {JSON}.", Status.UNREADABLE, DISH),
]


@pytest.mark.parametrize(("text", "published", "ours"), DIFFERENT)
def test_what_the_two_read_differently(
    text: str, published: list[float] | Status, ours: list[float] | Status
) -> None:
    assert (official(text), robust(text)) == (published, ours)


def test_official_lets_nan_through() -> None:
    value = official(JSON.replace("520", "NaN"))
    assert isinstance(value, list)
    assert math.isnan(value[0])
    assert robust(JSON.replace("520", "NaN")) == Status.UNREADABLE


@pytest.mark.parametrize(
    "text",
    [
        '{"热量"：520，"蛋白质"：31，"碳水"：５８．５，"脂肪"：18}',
        '｛"能量"：520，"蛋白"：31，"碳水化合物"：58.5，"脂肪"：18｝',
        "{“卡路里”：“520大卡”，“蛋白质”：“约31克”，“碳水化合物”：“58.5克”，“脂肪”：“18克”}",
        '{"total_calories": 520, "protein_g": 31, "Total Carbs (g)": 58.5, "fat": "18 g"}',
        '{"energy_kj": 2175.68, "protein": 31, "carbs": 58.5, "fat": 18}',
        '{"能量（千焦）": 2175.68, "蛋白质（g）": 31, "碳水化合物(克)": 58.5, "脂肪": 18}',
        '{"calories": "2175.68 kJ", "protein": "31000 mg", "carbs": "0.0585 kg", "fat": 18}',
        '{"calories": "500-540", "protein": "30 to 32 g", "carbs": "57–60g", "fat": "18±2 g"}',
        '{"kcal": 520, "protein": "31 g (25% DV)", "carbs": "58,5", "fat": "~18"}',
        '{"calories": {"value": 520, "unit": "kcal"}, "protein": {"value": "31"}, '
        '"carbs": {"amount": 58.5}, "fat": {"数值": 18000, "单位": "毫克"}}',
        '{"dish": "noodles", "nutrition": ' + JSON + "}",
        '{"items": [' + DRAFT + ", " + DRAFT + '], "total": ' + JSON + "}",
        '{"rice": ' + DRAFT + ', "合计": ' + JSON + ', "per_100g": ' + DRAFT + "}",
        '{"energy": "2176 kJ", "calories": 520, "protein": 31, "carbs": 58.5, "fat": 18}'.replace(
            '"energy": "2176 kJ", "calories": 520', '"calories": 520, "energy": "2176 kJ"'
        ),
        '{"calories": 2175.68, "energy_unit": "kJ", "protein": 31, "carbs": 58.5, "fat": 18}',
        '{"calories": 2175.68, "protein": 31, "carbs": 58.5, "fat": 18, '
        '"units": {"calories": "kJ", "protein": "g", "carbs": "g", "fat": "g"}}',
        '{"calories": {"value": 2175.68, "units": "kJ"}, "protein": 31, "carbs": 58.5, "fat": 18}',
        '{"calories": 520, "protein": 31, "carbs": 58.5, "fat": {"total": 18, "saturated": 7}}',
        '{"calories": 520, "macros": {"protein": "31 g", "carbs": "58.5 g", "fat": "18 g"}}',
        '[{"name": "rice", "calories": 9, "protein": 9, "carbs": 9, "fat": 9}, '
        '{"name": "Total", "calories": 520, "protein": 31, "carbs": 58.5, "fat": 18}]',
        '{"kcal": "500\u2011540", "protein": "30\u221232 g", "carbs": "57\u301c60g", "fat": 18}',
        '{"energy": "2175.68\u202fkJ", "protein": "31000\u00a0mg", "carbs": "58.5 (g)", "fat": 18}',
        JSON + '\n{"confidence": 0.8}',
        JSON + "\nI am [fairly] sure about the calories.",
    ],
)
def test_objects_read_the_same_dish(text: str) -> None:
    assert robust(text) == pytest.approx(DISH)


@pytest.mark.parametrize(
    "text",
    [
        "{'calories': 520, 'protein': 31, 'carbohydrates': 58.5, 'fat': 18,}",
        "{calories: 520 kcal, protein: 31g, carbohydrates: 58.5 g, fat: 18 g}",
        '{"calories": 520 "protein": 31 "carbohydrates": 58.5 "fat": 18}',
        '{"calories": 520, // a guess\n"protein": 31,\n"carbohydrates": 58.5,\n"fat": 18}',
        '{"calories": 2175.68 kJ, "protein": 31, "carbohydrates": 58,5, "fat": 18}',
        '```json\n{\n"calories": 520,\n"protein": 31,\n"carbohydrates": 58.5,\n"fat": 18\n```',
        '{\n"calories": 520,\n"protein": 31,\n"carbohydrates": 58.5,\n"fat": 18\n',
        r"\[ \boxed{\text{Calories: } 520, \text{Protein: } 31, \text{Carbs: } 58.5, Fat: 18} \]",
    ],
)
def test_broken_objects_are_repaired(text: str) -> None:
    reading = RobustNutrition().read(text)
    assert list(reading.value.values()) == pytest.approx(DISH)
    assert (reading.status, reading.step) == (Status.REPAIRED, "pairs")


def test_separators_in_bare_numbers() -> None:
    text = '{"calories": 1,200, "protein": 12,5, "carbohydrates": 1 050, "fat": "1.234,5"}'
    assert robust(text) == [1200, 12.5, 1050, 1234.5]


@pytest.mark.parametrize(
    "value",
    [
        *("-5", '"-5 g"', "NaN", "Infinity", "1e999", '"inf"', "true", "[1, 200]", "{}", '""'),
        *('"unknown"', '"N/A"', '"18%"', '"<1 g"', '"18 or 20 g"', '"20-18 g"', '"18 kcal"'),
        *("1[8", "1 8", "1:8", "1_8", "1]8", '1"8"'),
        *('"18 g per 100 g"', '"18 g/100g"', '"2 oz"', '"18 g of 2 servings"', '"18 kJ"'),
        *('"18 ug"', '"0.36 两"', '"18 (oz)"', '{"value": 18, "unit": "µg"}'),
        *(
            '{"value": 18, "units": 3}',
            '{"value": 18, "unit": "oz"}',
            '{"min": 1, "max": 2}',
            "9" * 400,
            '"eighteen"',
        ),
    ],
)
def test_what_is_no_amount_of_fat_is_not_guessed(value: str) -> None:
    assert robust(JSON.replace("18}", value + "}")) == Status.UNREADABLE


@pytest.mark.parametrize(
    "text",
    [
        f"[{DRAFT}, {JSON}]",
        '{"rice": ' + DRAFT + ', "soup": ' + JSON + "}",
        '{"per_100g": ' + JSON + "}",
        f'{JSON}\nCorrected: {{"calories": 500}}',
        '{"calories": 520, "kcal": 700, "protein": 31, "carbs": 58.5, "fat": 18}',
        '{"calories": 520, "protein": 31, "carbs": 58.5, "saturated fat": 18}',
        '{"calories_from_fat": 520, "protein": 31, "carbs": 58.5, "fat": 18}',
        '{"protein": 31, "carbs": 58.5, "fat": 18} with 520 bowls',
        '{"basis": "per 100 g", ' + JSON[1:],
        JSON[:-1] + ', "units": {"calories": "MJ"}}',
        '[{"name": "dim sum", ' + JSON[1:] + ', {"name": "whole wheat bread", ' + DRAFT[1:] + "]",
        DRAFT + "\nOn reflection: " + JSON.replace("18}", '"<18 g"}'),
        DRAFT + "\nOn reflection: " + JSON[:40],
        rf"{DRAFT} \boxed{{{JSON.replace('18}', 'null}')}}}",
    ],
    ids=[
        *("list", "dishes", "per 100 g", "partial correction", "two energies", "part", "from"),
        *("no", "basis", "units", "names with total words", "unreadable after a draft"),
        *("cut off after a draft", "unreadable box"),
    ],
)
def test_a_doubtful_answer_is_not_guessed(text: str) -> None:
    assert robust(text) == Status.UNREADABLE


OTHER = '{"calories": 563, "protein": 26, "carbohydrates": 44, "fat": 33}'


@pytest.mark.parametrize(
    "text",
    [
        rf"\boxed{{{JSON}}} For comparison, a burger: {OTHER}",
        rf"Draft: \boxed{{{OTHER}}}. Better: $\boxed{{\{{{JSON[1:-1]}\}}}}$",
        rf"{OTHER} \boxed{{\text{{Calories: }} 520, Protein: 31, Carbs: 58.5, Fat: 18}} {OTHER}",
        f"{OTHER} {JSON}",
        f'{JSON}\nWithout the rice it would be {{"calories": 200}}',
        f'{JSON}\nTotal calories: {{"calories": 520}}',
        f'{JSON}\nBreakdown: {{"rice": {{"calories": 200}}, "pork": {{"calories": 320}}}}',
        f"Whole dish: {JSON}\nPer 100 g: {OTHER}",
        f"整道菜：{JSON}\n每100克：{OTHER}",
        f"Whole dish:\n```json\n{JSON}\n```\n### Per 100 g:\n\n```json\n{OTHER}\n```",
        f"{JSON}\n{OTHER} (per 100 g)",
        f"{OTHER}\nper 100 g. Whole dish: {JSON}",
        f"{JSON} per 100 g: {OTHER}",
        f"Per 100 g: {OTHER}\nPer serving of 250 g: {JSON}",
    ],
    ids=[
        *("box first", "last box", "box in text", "last object", "fragment", "fragment agrees"),
        *("parts", "per 100 g", "per 100 g zh", "per 100 g fenced", "per 100 g behind"),
        *("per 100 g of the one before", "per 100 g of the next", "per serving"),
    ],
)
def test_which_of_several_objects_decides(text: str) -> None:
    assert robust(text) == DISH


@pytest.mark.parametrize("text", [f"Per 100 g: {JSON}", f"{JSON} per 100 g", f"每100克：{JSON}"])
def test_an_object_per_100_g_alone_is_no_answer(text: str) -> None:
    assert robust(text) == Status.UNREADABLE


numbers = st.integers(0, 3000) | st.integers(0, 30000).map(lambda tenths: tenths / 10)
dishes = st.lists(numbers, min_size=4, max_size=4)


@settings(max_examples=60)
@given(
    dishes, st.sampled_from([None, 2]), st.sampled_from(["{}", "Final:\n{}", "```json\n{}\n```"])
)
def test_a_cut_off_object_never_gives_another_dish(
    dish: list[float], indent: int | None, frame: str
) -> None:
    text = frame.replace("{}", json.dumps(dict(zip(NAMES, dish, strict=True)), indent=indent))
    assert robust(text) == dish
    for end in range(len(text)):
        assert robust(text[:end]) in (dish, Status.EMPTY, Status.UNREADABLE)


@settings(max_examples=100)
@given(dishes)
def test_units_say_the_same(dish: list[float]) -> None:
    energy, *grams = dish
    written = [f"{energy * 4.184!r} kJ", *(f"{gram * 1000!r} mg" for gram in grams)]
    text = json.dumps(dict(zip(NAMES, written, strict=True)))
    assert robust(text) == pytest.approx(dish)


@settings(max_examples=200)
@given(st.text() | st.text(alphabet='{}[]"\\:,.1-%|`* \nfatkcJg脂肪：', max_size=120))
def test_any_text_is_read_without_an_error(text: str) -> None:
    for reader in (OfficialNutrition(), RobustNutrition()):
        reading = reader.read(text)
        assert Reading.from_json(reading.to_json()).raw == text
        assert (reading.value is None) == (reading.status not in (Status.OK, Status.REPAIRED))


@settings(max_examples=200)
@given(st.text(alphabet='{}[]"\\:,.1-%|`* \nfatkcJg脂肪：', max_size=80))
def test_what_robust_reads_is_finite_and_at_least_zero(noise: str) -> None:
    value = robust(JSON.replace("18}", noise + "}"))
    if isinstance(value, list):
        assert all(math.isfinite(amount) and amount >= 0 for amount in value)


UNITS = ["<think>", "{", "[", "[]", "}", "\\boxed{", "```", "} ", '{"fat": 1', '{"fat": 1}', "1"]
UNITS += [
    "1,",
    "1 111 ",
    "1'1",
    "fat: 1+",
    "fat: 1%",
    "| fat ",
    "12 g ",
    " ",
    "\n",
    "脂肪：１",
    "=",
    "fat: 1 (g ",
    "per 100 g ",
    '{"fat": 1} per 100 g ',
    'total {"fat": 1} ',
    "\\boxed{fat: 1} ",
    "fat——",
    "<td>",
    "\u00a0",
    "12 kcal total\n",
    "在1和",
    "about ",
]


@pytest.mark.parametrize("unit", UNITS)
def test_nasty_repeats_take_linear_time(unit: str) -> None:
    """Quadratic time would take minutes for these lengths."""
    text = '{"calories": ' + unit * (100_000 // len(unit)) + "}"
    start = time.process_time()
    for reader in (OfficialNutrition(), RobustNutrition()):
        reader.read(text)
        reader.read(text[13:-1])
    assert time.process_time() - start < 10
