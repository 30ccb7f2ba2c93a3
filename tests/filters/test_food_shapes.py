from __future__ import annotations

import json

import pytest

from lmms_eval_food.filters.food_shapes import foods_of
from lmms_eval_food.filters.foods import RobustFoods
from lmms_eval_food.filters.reading import Status

SOUP = '{"name": "pea soup", "portion_estimate": "210 g"}'
EGG = '{"name": "egg", "portion_estimate": "55 g"}'
BOTH = [("pea soup", 210.0), ("egg", 55.0)]
INSIDE = json.dumps(f'{{"food_items": [{SOUP}, {EGG}]}}')


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"food_items": [{SOUP}, {EGG}]}}]',
        f"[[{SOUP}], [{EGG}]]",
        f'{{"result": {{"foods": [{SOUP}, {EGG}]}}}}',
        f'{{"food_items": [{{"category": "main", "items": [{SOUP}]}}, {EGG}]}}',
        f'{{"food_items": {{"main": [{SOUP}], "side": [{EGG}]}}}}',
        f'{{"plate 1": [{SOUP}], "plate 2": [{EGG}]}}',
        f'{{"food_items": {{"first": {SOUP}, "second": {EGG}}}}}',
        '{"food_items": {"pea soup": {"portion_estimate": "210 g"}, "egg": {"weight": 55}}}',
        '{"food_items": [{"pea soup": "210 g"}, {"egg": "55 g"}]}',
        '{"food_items": "pea soup (210 g), egg (55 g)"}',
        '{"items": "pea soup: 210 g; egg: 55 g"}',
        f'{{"answer": {INSIDE}}}',
        INSIDE,
        f'{{"food_items": [{SOUP}], "food_items": [{EGG}]}}',
        '{"food_items": [{"name": "pea soup", "portion_estimate": "210 g",'
        ' "name": "egg", "portion_estimate": "55 g"}]}',
        '{"pea soup": "210 g", "total": "265 g", "egg": 55, "confidence": 80}',
        '{"pea soup": 210, "egg": 55, "note": "rough"}',
    ],
)
def test_foods_in_other_shapes(text: str) -> None:
    reading = RobustFoods().read(text)
    assert [(item["name"], item["grams"]) for item in reading.value["items"]] == BOTH
    assert reading.status == Status.REPAIRED


def test_a_map_of_foods_inside_prose() -> None:
    text = 'Here: {"food_items": {"pea soup": {"portion_estimate": "210 g"}}} as asked.'
    items = RobustFoods().read(text).value["items"]
    assert [(item["name"], item["grams"]) for item in items] == [("pea soup", 210.0)]


@pytest.mark.parametrize(
    "text",
    [
        '{"error": 500}',
        '{"error": {"code": 500, "message": "no picture"}}',
        '{"num_items": 0}',
        '{"width": 1024, "height": 768}',
        '{"total": 300}',
        '{"answer": 3}',
        '{"answer": "egg"}',
        '{"food_items": {"error": 500}}',
        '{"food_items": "egg"}',
        '{"status": "ok", "count": 3}',
        '{"calories": 350, "sodium": 5}',
        '{"pea soup": 210, "width": 1024}',
        "{}",
    ],
)
def test_what_is_no_map_of_foods(text: str) -> None:
    reading = RobustFoods().read(text)
    assert (reading.value, reading.status) == (None, Status.UNREADABLE)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        # An entry that is no food is a false positive of its own, as the published reader has it.
        (f'[{{"error": 500}}, {EGG}]', ["", "egg"]),
        # The later of two names is another food; of two confidences the last is meant.
        ('[{"name": "soup", "name": "egg"}]', ["soup", "egg"]),
        ('[{"name": "egg", "confidence": 1, "confidence": 2}]', ["egg"]),
        (f'{{"food_items": [{EGG}], "num_items": 1, "num_items": 1}}', ["egg"]),
        (f'{{"name": "tray", "food_items": [{EGG}]}}', ["egg"]),
        ('{"food_items": [{"name": "egg", "ingredients": [{"name": "salt"}]}]}', ["egg"]),
    ],
)
def test_names_in_valid_json(text: str, names: list[str]) -> None:
    assert [item["name"] for item in RobustFoods().read(text).value["items"]] == names


@pytest.mark.parametrize(
    ("item", "grams"),
    [
        ('"portion_estimate": 0.25, "unit": "l"', 250.0),
        ('"portion_estimate": "0.2", "unit": "l"', 200.0),
        ('"portion_estimate": "150 g", "unit": "l"', 150.0),
        ('"portion_estimate": 2, "unit": "piece"', None),
        ('"portion_estimate": {"value": 150, "unit": "g"}', 150.0),
        ('"portion_estimate": {"amount": 0.2, "unit": "kg"}', 200.0),
        ('"portion_estimate": ["150", "g"]', 150.0),
        ('"quantity": "150 g"', 150.0),
        ('"quantity": 2', None),
        ('"quantity": 2, "portion_estimate": "50 g each"', 100.0),
        ('"amount": "150 g"', 150.0),
        ('"serving_size": "30 g"', 30.0),
        ('"estimated_weight_g": 200', 200.0),
        ('"portion_estimate_g": "150"', 150.0),
        ('"weight (g)": 60', 60.0),
        ('"Weight (kg)": 0.2', 200.0),
        ('"weight_kg": "about 0.2"', 200.0),
        ('"portion_estimate": "1 cup", "weight": "150 g"', 150.0),
        ('"weight": "140 g", "portion_estimate": "150 g"', 150.0),
    ],
)
def test_portion_of_an_item(item: str, grams: float | None) -> None:
    (found,) = RobustFoods().read(f'[{{"name": "soup", {item}}}]').value["items"]
    assert found["grams"] == grams


def test_the_count_may_stand_in_the_name() -> None:
    text = '[{"name": "2 bread rolls", "portion_estimate": "50 g each"}]'
    (found,) = RobustFoods().read(text).value["items"]
    assert found == {
        "name": "2 bread rolls",
        "grams": 100.0,
        "text": "50 g each",
        "marks": ["count"],
    }


def test_deep_nesting_ends() -> None:
    value: object = [{"name": "egg"}]
    for _ in range(3000):
        value = {"a": value}
    assert foods_of(value) == []
