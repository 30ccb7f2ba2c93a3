"""What holds for every reader: any text, any length, no exception, no long wait."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lmms_eval_food.filters.base import ReadingFilter
from lmms_eval_food.filters.foods import OfficialFoods, RobustFoods
from lmms_eval_food.filters.letters import OfficialChoice, OfficialLetter, RobustLetter
from lmms_eval_food.filters.nutrition import OfficialNutrition, RobustNutrition
from lmms_eval_food.filters.reading import NO_CONTENT, Reading, Status, unanswered, writable
from lmms_eval_food.filters.texts import OfficialText, RobustText
from lmms_eval_food.filters.yesno import OfficialYesNo, RobustYesNo

READERS = [
    OfficialLetter(),
    OfficialLetter(answer_tag=True),
    OfficialChoice(),
    OfficialChoice(last=True),
    RobustLetter(),
    RobustLetter(options=4, last=True),
    OfficialYesNo(),
    RobustYesNo(),
    OfficialFoods(),
    OfficialNutrition(),
    RobustNutrition(),
    OfficialText(),
    RobustText(),
    RobustText(last=True),
    RobustFoods(),
]
readers = pytest.mark.parametrize("reader", READERS, ids=lambda reader: type(reader).__name__)

PIECES = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<answer>",
        "</answer>",
        "\\boxed{",
        "{",
        "}",
        "[",
        "]",
        '"',
        ":",
        ",",
        "```json\n",
        "```",
        "\\u00",
        "\\",
        "\n",
        "- ",
        "1. ",
        "# ",
        "**",
        " ",
        "\u3000",
        "answer is ",
        "答案：",
        "name",
        "portion",
        "150",
        " g",
        "½",
        "1/",
        "A",
        "b",
        "yes",
        "no",
        "不是",
        "ไม่",
        "\u0301",
        "\ud800",
        "\x00",
        "١",
        "²",
        "each",
        " x ",
        "per ",
        "confidence: ",
        "food_items",
        "|",
        "|---|\n",
    ]
)
TEXTS = (
    st.none() | st.text(st.characters(), max_size=60) | st.lists(PIECES, max_size=25).map("".join)
)


@readers
@given(text=TEXTS)
@settings(max_examples=150)
@example(text="{" * 3000)
@example(text="[" * 3000)
@example(text='{"a":' * 2000)
def test_any_text_is_read(reader: ReadingFilter, text: str | None) -> None:
    reading = reader.read(text)
    assert reading.raw == writable(text or "")
    reading.raw.encode()
    json.dumps(reading.value, ensure_ascii=False).encode()
    assert (reading.value is not None) == (reading.status in {Status.OK, Status.REPAIRED})
    assert Reading.from_json(reading.to_json()) == reading
    assert reader.read(text) == reading


@readers
def test_replies_become_readings_in_order(reader: ReadingFilter) -> None:
    read = reader.apply([["B", None], ["yes"]], docs=None)
    assert [[json.loads(text)["raw"] for text in replies] for replies in read] == [
        ["B", ""],
        ["yes"],
    ]


@readers
@pytest.mark.parametrize(
    "text", ["[LMMS_EVAL_REQUEST_FAILED after 5 retries] D yes", " [LMMS_EVAL_BUDGET_EXCEEDED]"]
)
def test_a_failed_request_is_no_answer(reader: ReadingFilter, text: str) -> None:
    assert reader.read(text) == Reading(text, None, Status.FAILED)


NASTY = [
    "<think>",
    "</think>",
    "<answer>",
    "{",
    "[",
    '{"name": "a',
    '{"a":',
    "{x:1}",
    "}",
    '"',
    "\\",
]
NASTY += [
    "\\boxed{",
    "`",
    "*",
    "|",
    "|-|\n",
    "- a\n",
    "1. a ",
    "# a\n",
    "a: 1 g\n",
    "9",
    "1,",
    "1/",
]
NASTY += [
    " ",
    "\n",
    "\u3000",
    "a\u0301\u0323",
    "\u0301\u0323",
    "答案",
    "answer: ",
    "no ",
    "A or ",
    "不是",
]


@pytest.mark.slow
@readers
@pytest.mark.parametrize("piece", NASTY, ids=ascii)
def test_a_megabyte_is_read_in_linear_time(reader: ReadingFilter, piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    start = time.perf_counter()
    reader.read(text)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("text", [None, "", " \n", NO_CONTENT])
def test_a_reply_without_content_is_empty(text: str | None) -> None:
    reading = unanswered(text)
    assert reading is not None
    assert reading.status is Status.EMPTY


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("ri\ud83cce", "ri\ufffdce"),
        ("\udf5a", "\ufffd"),
        ("\ud83c\udf5a", "🍚"),
        ("🍚 米饭", "🍚 米饭"),
        (
            {"items": [{"name\ud800": "\ud800", "grams": 5.0}]},
            {"items": [{"name\ufffd": "\ufffd", "grams": 5.0}]},
        ),
        (None, None),
    ],
)
def test_texts_of_a_reading_can_be_written(value: object, written: object) -> None:
    assert writable(value) == written
    assert Reading("", value, Status.OK).value == written


def test_half_an_emoji_in_an_answer() -> None:
    reading = RobustFoods().read('[{"name": "ri\\ud83cce", "portion_estimate": "5\\ud83c g"}]')
    (item,) = reading.value["items"]
    assert (item["name"], item["text"]) == ("ri\ufffdce", "5\ufffd g")
