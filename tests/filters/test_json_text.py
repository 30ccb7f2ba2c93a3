from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.json_text import (
    Fragment,
    first_value,
    fold_json,
    fragments,
    load_json,
    quote_numbers,
    repair_text,
    without_fence,
)


@pytest.mark.parametrize(
    ("text", "bare"),
    [
        ("[1]", "[1]"),
        ("```json\n[1]\n```", "[1]"),
        ("```\n[1]\n```\n", "[1]"),
        ("```JSON [1]```", "[1]"),
        ("```json\n[1]", "[1]"),
        ("see ```json\n[1]\n```", "see ```json\n[1]\n```"),
    ],
)
def test_without_fence(text: str, bare: str) -> None:
    assert without_fence(text) == bare


@pytest.mark.parametrize("text", ["", "rice", "{", "[1,]", "[" * 100_000, "1" * 5000])
def test_load_json_has_one_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        load_json(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"kcal": 2,400, "fat": 9}', {"kcal": "2,400", "fat": 9}),
        ('{"fat": 12,5}', {"fat": "12,5"}),
        ('{"kcal": 1,234,567.8}', {"kcal": "1,234,567.8"}),
        ('{"grams": [1,200]}', {"grams": [1, 200]}),
        ('{"note": "a: 2,400, b", "fat": 9}', {"note": "a: 2,400, b", "fat": 9}),
        ('{"kcal": 2400}', {"kcal": 2400}),
    ],
)
def test_quote_numbers(text: str, value: Any) -> None:
    assert json.loads(quote_numbers(text)) == value


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("｛＂a＂：１｝", '{"a":1}'),
        ("{“a”: 1}", '{"a": 1}'),
        ('{"a": "“b”"}', '{"a": "“b”"}'),
    ],
)
def test_fold_json(text: str, folded: str) -> None:
    assert fold_json(text) == folded


def whole(value: dict[str, Any]) -> Fragment:
    return Fragment(value, cut_key=None, closed=True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1}\n{"a": 2}', [whole({"a": 1}), whole({"a": 2})]),
        ('so {"a": 1}, {"a": 2} end', [whole({"a": 1}), whole({"a": 2})]),
        ('{"a": {"b": 1}, "c": 2}', [whole({"a": None, "c": 2}), whole({"b": 1})]),
        ('{"a": "x {y} z"}', [whole({"a": "x {y} z"})]),
        ("{'a': 'x', 'b': 2,}", [whole({"a": "x", "b": 2})]),
        ('{"a": 1,200}', [whole({"a": "1,200"})]),
        ('{"a": "x, y...\n  "b": "2"}', [whole({"a": "x, y...", "b": "2"})]),
        ('{"a": "x,", "b": "y:"}', [whole({"a": "x,", "b": "y:"})]),
        ('{"a": 1, "b": "x', [Fragment({"a": 1}, cut_key="b", closed=False)]),
        ('{"a": 1, "b', [Fragment({"a": 1}, cut_key="", closed=False)]),
        ('{"a": 1, "b": 15', [Fragment({"a": 1}, cut_key="b", closed=False)]),
        ('{"a": "1", "b": "x\n}', [Fragment({"a": "1"}, cut_key="b", closed=True)]),
        ('{"a": 1', [Fragment({}, cut_key="a", closed=False)]),
        ("no object", []),
        ("} {", []),
    ],
)
def test_fragments(text: str, found: list[Fragment]) -> None:
    assert list(fragments(text)) == found


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('["a", "b', ["a"]),
        ('["a", "b"', ["a", "b"]),
        ('{"a": 1', {}),
        ("prose [a]", None),
        ('{"food_items', {}),
        ("[" + '"a",' * 3000, None),
    ],
)
def test_repair_text(text: str, value: Any) -> None:
    assert repair_text(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [('Nothing: {"a": []}. Bye', {"a": []}), ("see [1] {}", [1]), ("{", None), ("none", None)],
)
def test_first_value(text: str, value: Any) -> None:
    assert first_value(text) == value


_SCALARS = st.none() | st.booleans() | st.integers(-9999, 9999) | st.text(max_size=12)
_OBJECTS = st.dictionaries(st.text(min_size=1, max_size=6), _SCALARS, min_size=1, max_size=4)


@given(st.lists(_OBJECTS, min_size=1, max_size=4))
def test_valid_objects_come_back_as_they_are(objects: list[dict[str, Any]]) -> None:
    text = "\n".join(json.dumps(value) for value in objects)
    assert [fragment.value for fragment in fragments(text)] == objects


@given(st.text(alphabet='{}[]":,\\ab1\n ', max_size=60))
def test_any_text_has_fragments_or_none(text: str) -> None:
    assert all(isinstance(fragment.value, dict) for fragment in fragments(text))
