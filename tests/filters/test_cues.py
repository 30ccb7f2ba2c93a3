from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.cues import first_line, last_line, without_emphasis


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
