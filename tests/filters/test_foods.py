from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.foods import OfficialFoods, RobustFoods, read_foods
from lmms_eval_food.filters.grams import official_grams
from lmms_eval_food.filters.reading import Reading, Status

SOUP = '{"name": "pea soup", "portion_estimate": "210 g", "confidence": "80"}'
EGG = '{"name": "egg", "portion_estimate": "55 g", "confidence": "90"}'
BOTH = [("pea soup", 210.0), ("egg", 55.0)]
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 2 retries] timeout"


def foods(reading: Reading) -> list[tuple[str, float | None]]:
    items = reading.value["items"] if reading.value else []
    return [(item["name"], item["grams"]) for item in items]


def names(reading: Reading) -> list[str]:
    return [name for name, _ in foods(reading)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'{{"food_items": [{SOUP}, {EGG}]}}', BOTH),
        (f"[{SOUP}, {EGG}]", BOTH),
        (f'```json\n{{"food_items": [{SOUP}, {EGG}]}}\n```', BOTH),
        (f"```\n[{SOUP}, {EGG}]\n```", BOTH),
        ('["pea soup", "egg"]', [("pea soup", None), ("egg", None)]),
        ('{"food_items": []}', []),
        ("[]", []),
        ('[{"name": " ", "portion_estimate": "5 g"}]', [("", 5.0)]),
        ('[{"portion_estimate": "5 g"}]', [("", 5.0)]),
        ('[{"name": "egg"}, 4, null]', [("egg", None)]),
        ('[{"name": "egg", "portion_estimate": "300 ml"}]', [("egg", 300.0)]),
        ('[{"name": "egg", "portion_estimate": 62.5}]', [("egg", 62.5)]),
        ('[{"name": "egg", "portion_estimate": NaN}]', [("egg", None)]),
        ('[{"name": "egg", "portion": "55 g"}]', [("egg", None)]),
    ],
)
def test_official_foods(text: str, found: list[tuple[str, float | None]]) -> None:
    reading = OfficialFoods().read(text)
    assert (reading.status, reading.step) == (Status.OK, "json")
    assert foods(reading) == found


@pytest.mark.parametrize(
    "text",
    [
        f'Here it is: {{"food_items": [{SOUP}]}}',
        f'{{"food_items": [{SOUP}, ]}}',
        f'{{"items": [{SOUP}]}}',
        SOUP,
        '{"food_items": "egg"}',
        '"egg"',
        "[1, 2]",
        "- Egg: 55 g",
        "[" * 50_000,
    ],
)
def test_official_foods_unreadable(text: str) -> None:
    reading = OfficialFoods().read(text)
    assert (reading.value, reading.status) == (None, Status.UNREADABLE)


def test_an_item_of_the_value() -> None:
    reading = RobustFoods().read('[{"name": "cola", "portion_estimate": "about 330 ml"}]')
    assert reading.value == {
        "items": [{"name": "cola", "grams": 330.0, "text": "about 330 ml", "marks": ["ml_as_g"]}]
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f'{{"food_items": [{SOUP}, {EGG}]}}', BOTH),
        (f"```json\n[{SOUP}, {EGG}]\n```", BOTH),
        (f"<think>- Rice: 5 g</think>[{SOUP}, {EGG}]", BOTH),
        ("[]", []),
        ('[{"name": "egg", "portion_estimate": "0.1 kg"}]', [("egg", 100.0)]),
        ('[{"food": "egg", "weight": 55}]', [("egg", 55.0)]),
        ('[{"item": "egg", "Estimated Portion": "55 g"}]', [("egg", 55.0)]),
        ('[{"food_name": "egg", "portion": "1 piece", "grams": 55}]', [("egg", 55.0)]),
        ('[{"name": "egg", "portion_estimate": -4}]', [("egg", None)]),
        ('[{"name": "egg", "portion_estimate": true}]', [("egg", None)]),
        ('[{"name": null, "portion_estimate": "5 g"}]', [("", 5.0)]),
        ('[{"name": "cr\\u00eape"}]', [("crêpe", None)]),
    ],
)
def test_valid_json(text: str, found: list[tuple[str, float | None]]) -> None:
    reading = RobustFoods().read(text)
    assert (reading.status, reading.step) == (Status.OK, "json")
    assert foods(reading) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (SOUP, [("pea soup", 210.0)]),
        (f'{{"foods": [{SOUP}, {EGG}]}}', BOTH),
        ('{"food_items": {"pea soup": 210, "egg": "55 g"}}', BOTH),
        ('{"pea soup": "210 g", "egg": 55}', BOTH),
    ],
)
def test_valid_json_of_another_shape(text: str, found: list[tuple[str, float | None]]) -> None:
    reading = RobustFoods().read(text)
    assert (reading.status, reading.step) == (Status.REPAIRED, "json")
    assert foods(reading) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{SOUP}\n{EGG}", BOTH),
        (f"{SOUP}, {EGG}", BOTH),
        (f"{SOUP}{EGG}", BOTH),
        (f"[{SOUP}]\n[{EGG}]", BOTH),
        (f'Sure!\n```json\n{{"food_items": [{SOUP}, {EGG}]}}\n```\nEnjoy.', BOTH),
        (f'{{"food_items": [{SOUP}, {EGG},]}}', BOTH),
        (f'{{"food_items": [{SOUP}, {EGG}', BOTH),
        (f'{{"food_items": [{SOUP}, {EGG}, {{"name": "breaded fi', BOTH),
        (f'{{"food_items": [{SOUP}, {EGG}, {{"na', BOTH),
        (f'[{SOUP}, {EGG}, {{"name": "beans", "portion_es', [*BOTH, ("beans", None)]),
        (f'[{SOUP}, {EGG}, {{"name": "beans", "portion_estimate": "12', [*BOTH, ("beans", None)]),
        ("[{'name': 'egg', 'portion_estimate': '55 g'}]", [("egg", 55.0)]),
        ('[{"name": "egg", "portion_estimate": 1,200}]', [("egg", 1200.0)]),
        ('[{"name": "egg", "grams": 12,5}]', [("egg", 12.5)]),
        ('[{"name": "egg", "grams": [1,200]},]', [("egg", None)]),
        ('{"food_items": ["pea soup", "egg", "be', [("pea soup", None), ("egg", None)]),
        (
            "｛＂food_items＂：［｛＂name＂：＂汤＂，＂portion_estimate＂：＂２１０ｇ＂｝］｝",
            [("汤", 210.0)],
        ),
        ('{"name"："汤"，"grams"：２１０}', [("汤", 210.0)]),
        ("｛＂汤＂：２１０｝", [("汤", 210.0)]),
        ("{“name”: “egg”, “grams”: 55}", [("egg", 55.0)]),
        ('[{"name": "egg, fried...\n  "portion_estimate": "55 g"}]', [("egg, fried...", 55.0)]),
        ('[{"name": "egg": "55 g", "confidence": 9}]', [("egg", None)]),
        ('[{"name": "cr\\u00eape", "grams": 80},]', [("crêpe", 80.0)]),
        ('No food at all: {"food_items": []}. Sorry.', []),
        (f"[{EGG}" + f", {EGG}" * 49, [("egg", 55.0)] * 50),
    ],
)
def test_broken_json(text: str, found: list[tuple[str, float | None]]) -> None:
    reading = RobustFoods().read(text)
    assert (reading.status, reading.step) == (Status.REPAIRED, "json_repair")
    assert foods(reading) == found


def test_a_portion_that_breaks_off_is_marked() -> None:
    reading = RobustFoods().read('[{"name": "egg", "portion_estimate": "5')
    assert reading.marks == ("cut_off",)
    assert reading.value["items"][0] == {
        "name": "egg",
        "grams": None,
        "text": "",
        "marks": ["cut_off"],
    }


def test_a_report_is_read_by_rule() -> None:
    reading = RobustFoods().read("**Pea soup**: 210 g\n**Egg**: 55 g (Confidence: 80%)")
    assert (reading.status, reading.step) == (Status.REPAIRED, "list")
    assert foods(reading) == [("Pea soup", 210.0), ("Egg", 55.0)]


@pytest.mark.parametrize(
    "text",
    [
        "I see pea soup and an egg of about 55 g.",
        "Sorry, I cannot see any picture.",
        '{"food_items',
        '```json\n{\n  "food_items": [\n    {\n      "na',
        '{"food_items": "egg"}',
        '{"answer": "egg"}',
        '{"calories": 350, "protein": 12}',
        "[1, 2]",
        "* A\n* A\n* A",
    ],
)
def test_unreadable(text: str) -> None:
    reading = RobustFoods().read(text)
    assert (reading.value, reading.status, reading.raw) == (None, Status.UNREADABLE, text)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, Status.EMPTY),
        (" \n ", Status.EMPTY),
        ("<think>soup</think> ", Status.EMPTY),
        (f"<think>[{SOUP}]", Status.TRUNCATED),
        (FAILED, Status.FAILED),
    ],
)
def test_no_answer(text: str | None, status: Status) -> None:
    asked: list[str] = []
    reading = read_foods(text, second_model=lambda answer: asked.append(answer) or "[]")
    assert (reading.value, reading.status, asked) == (None, status, [])


PROSE = "The tray has pea soup, about 210 g of it, and one egg."


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (f"[{SOUP}]", [("pea soup", 210.0)]),
        ('```json\n{"food_items": ["Egg"]}\n```', [("Egg", None)]),
        ('[{"name": "egg", "portion_estimate": "55 g"}]', [("egg", None)]),
    ],
)
def test_second_model(reply: str, found: list[tuple[str, float | None]]) -> None:
    reading = read_foods(PROSE, second_model=lambda _: reply)
    assert (reading.status, reading.step) == (Status.REPAIRED, "model")
    assert foods(reading) == found


@pytest.mark.parametrize(
    "reply", [None, "", "prose", "[]", '["pea soup", "bread"]', '["pea soup with mint"]', '[""]']
)
def test_a_second_model_that_invents_is_not_believed(reply: str | None) -> None:
    reading = read_foods(PROSE, second_model=lambda _: reply)
    assert (reading.value, reading.status) == (None, Status.UNREADABLE)


def test_the_second_model_is_not_asked_about_what_rules_can_read() -> None:
    asked: list[str] = []
    read_foods(f"- Egg: 55 g\n- {PROSE}", second_model=lambda answer: asked.append(answer))
    assert asked == []


_NAMES = st.lists(st.text(alphabet="abcdefgh ", min_size=1, max_size=12), max_size=5)


@given(_NAMES, st.integers(min_value=0, max_value=900))
def test_both_readings_agree_on_what_was_asked_for(found: list[str], grams: int) -> None:
    items = [{"name": name, "portion_estimate": f"{grams} grams"} for name in found]
    text = json.dumps({"food_items": items})
    official, robust = OfficialFoods().read(text), RobustFoods().read(text)
    assert official.value == robust.value
    assert names(robust) == [name.strip() for name in found]


@given(_NAMES.filter(len), st.integers(min_value=0, max_value=400))
def test_a_cut_answer_holds_a_beginning_of_the_whole_one(found: list[str], at: int) -> None:
    items = [{"name": f"{name}!", "portion_estimate": "5 g"} for name in found]
    whole = json.dumps({"food_items": items})
    cut = RobustFoods().read(whole[: min(at, len(whole) - 1)])
    assert names(cut) == [f"{name}!".strip() for name in found][: len(names(cut))]


# Rows of the published outputs whose published repair differs from ours, and why ours stands.
DIFFERENT = {
    # It drops a food whose portion key breaks off.
    ("019.jpg", "llama3.2-vision:11b"),
    # It completes "Crisp Lett..." to lettuce, and gives four of the five.
    ("023.jpg", "llama3.2-vision:11b"),
    # It gives nothing for a loop that begins with eight foods.
    ("059.jpg", "llama3.2-vision:11b"),
    # It drops a food without a portion.
    ("071.jpg", "llama3.2-vision:11b"),
    # It cuts container words ("a bowl of") out of some names, and splits one.
    ("100.jpg", "bakllava:7b"),
    ("110.jpg", "bakllava:7b"),
    ("150.jpg", "bakllava:7b"),
    ("180.jpg", "bakllava:7b"),
}
# Running prose, which only a second model can read.
PROSE_MODELS = {"granite3.2-vision:2b", "llava-llama3:8b", "llava:13b", "moondream:1.8b"}
PROSE_ROWS = {("185.jpg", "llama3.2-vision:11b")}


# Published repairs of the same foods whose portion differs from ours: (image, model, food).
OTHER_PORTIONS = {
    # The text ends in "150: it may have been going on, so ours is no estimate.
    ("019.jpg", "minicpm-v4.6", "water"),
}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_published_outputs_are_read_as_their_repair_has_them(published_canteen: Path) -> None:
    checked, portions = 0, 0
    for row in rows(published_canteen / "raw_outputs.jsonl"):
        key = (row["image"], row["model"])
        reading = RobustFoods().read(row["raw"])
        if key in PROSE_ROWS or row["model"] in PROSE_MODELS:
            assert reading.status == Status.UNREADABLE, key
        elif key not in DIFFERENT:
            items = (row["published_json"] or {"food_items": []})["food_items"]
            expected = [item["name"].casefold() for item in items]
            assert [name.casefold() for name in names(reading)] == expected, key
            checked += 1
            for name, (_, grams), item in zip(expected, foods(reading), items, strict=True):
                published = official_grams(str(item["portion_estimate"]))
                assert (grams == published) != ((*key, name) in OTHER_PORTIONS), (*key, name)
                portions += 1
    assert (checked, portions) == (30, 114)


@pytest.mark.parametrize(
    ("image", "count"),
    [("019.jpg", 5), ("023.jpg", 7), ("059.jpg", 9), ("071.jpg", 10)],
)
def test_published_outputs_where_ours_differs(
    published_canteen: Path, image: str, count: int
) -> None:
    found = [
        names(RobustFoods().read(row["raw"]))
        for row in rows(published_canteen / "raw_outputs.jsonl")
        if (row["image"], row["model"]) == (image, "llama3.2-vision:11b")
    ]
    assert [len(items) for items in found] == [count]


def test_recorded_answers_are_valid(published_canteen: Path) -> None:
    answers = rows(published_canteen / "recorded" / "gpt-4o_T0.2.jsonl")
    assert len(answers) == 176
    for answer in answers:
        for reader in (OfficialFoods(), RobustFoods()):
            assert reader.read(answer["response"]).status == Status.OK
