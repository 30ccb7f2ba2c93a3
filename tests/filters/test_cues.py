from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.cues import (
    first_line,
    last_line,
    left_open,
    without_emphasis,
    without_invisible,
)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("**bold** and *italic*, `code`", "bold and italic, code"),
        ("## Title", " Title"),
        ("_Yes_", "Yes"),
        ("__Yes__", "Yes"),
        ("**_Yes_**", "Yes"),
        ("(_A_)", "(A)"),
        ("_a __b__ c_", "a b c"),
        ("_x y_, _z_", "x y, z"),
        # Underscores inside words are part of them.
        ("portion_estimate", "portion_estimate"),
        ("`portion_estimate`: _large_", "portion_estimate: large"),
        ("food_items, portion_estimate", "food_items, portion_estimate"),
        ("_a_b_", "a_b"),
        # No pair, no emphasis.
        ("_private", "_private"),
        ("_ a _", "_ a _"),
        ("_a\nb_", "_a\nb_"),
        ("___", "___"),
    ],
)
def test_text_without_emphasis(text: str, bare: str) -> None:
    assert without_emphasis(text) == bare


@given(st.text(alphabet="ab_ \n(", max_size=40))
def test_only_underscores_go(text: str) -> None:
    assert without_emphasis(text).replace("_", "") == text.replace("_", "")


@pytest.mark.parametrize(
    ("text", "first", "last"), [("", "", ""), (" \n a \n\n b\n", "a", "b"), ("c", "c", "c")]
)
def test_edge_lines(text: str, first: str, last: str) -> None:
    assert (first_line(text), last_line(text)) == (first, last)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\u200eA\u200b\ufeff\u2066B\u2069", "AB"),
        ("क\u094d\u200dष", "क\u094dष"),
        ("日本 語", "日本 語"),
    ],
)
def test_invisible_marks_go(text: str, shown: str) -> None:
    assert without_invisible(text) == shown


@pytest.mark.parametrize(
    ("before", "is_open"),
    [
        ("I don't think the ", True),
        ("It is unclear whether the ", True),
        ("不能确定", True),
        ("No creo que la ", True),
        ("Non è la ", True),
        ("ไม่แน่ใจว่า", True),
        ("It is not spicy, so the ", False),
        ("It is not spicy the ", False),
        ("There is no doubt that the ", False),
        ("No, la ", False),
        ("", False),
    ],
)
def test_what_is_left_open(before: str, is_open: bool) -> None:
    assert left_open(before + "answer is B", len(before)) is is_open
