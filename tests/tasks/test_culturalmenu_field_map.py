from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks.culturalmenu.field_map import (
    FieldRule,
    default_map_file,
    parse_field_map,
    read_field_map,
)
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    MC_RELATIONS,
    answer_word,
)
from lmms_eval_food.tasks.rows import DataError

BLOCK = {"files": "a.json", "fields": {"dish_id": "id"}}


def tables(**changes: Any) -> dict[str, Any]:
    return {"tables": {"dishes": BLOCK, "binary": {**BLOCK, "fields": {}}, **changes}}


def rule(text: str) -> FieldRule:
    document = tables(dishes={"files": "a.json", "fields": {"dish_id": yaml.safe_load(text)}})
    return parse_field_map(document, "map").tables["dishes"][0].fields["dish_id"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id", FieldRule(("id",))),
        ("[id, nr]", FieldRule(("id", "nr"))),
        ("{from: id}", FieldRule(("id",))),
        ("{from: [a.b, $place]}", FieldRule(("a.b", "$place"))),
        ("{each: [a, b]}", FieldRule(("a", "b"), each=True)),
        ("{from: id, values: {x: y}}", FieldRule(("id",), values={"x": "y"})),
        ('{from: id, separator: ", "}', FieldRule(("id",), separator=", ")),
    ],
)
def test_forms_of_a_rule(text: str, expected: FieldRule) -> None:
    assert rule(text) == expected


def test_scalars_are_the_text_that_stands_there(tmp_path: Path) -> None:
    file = tmp_path / "map.yaml"
    file.write_text(
        "tables:\n"
        "  dishes: {files: d.json, fields: {dish_id: 007}}\n"
        "  binary: {files: b.json, fields: {answer: {from: no, values: {是: yes, 0: no, true: ~}}}}"
    )
    found = read_field_map(file).tables
    assert found["dishes"][0].fields["dish_id"].sources == ("007",)
    answer = found["binary"][0].fields["answer"]
    assert (answer.sources, answer.values) == (("no",), {"是": "yes", "0": "no", "true": "~"})


def test_a_block_and_a_list_of_blocks() -> None:
    other = {"files": ["b.csv", "c/*.tsv"], "rows": "x", "folders": "m", "fields": {}}
    found = parse_field_map(tables(dishes=[BLOCK, other]), "map")
    first, second = found.tables["dishes"]
    assert (first.files, first.rows, first.folders) == (("a.json",), (), ())
    assert (second.files, second.rows, second.folders) == (("b.csv", "c/*.tsv"), ("x",), ("m",))
    assert found.picture_ids == ()


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (None, "map must be a mapping"),
        ([], "map must be a mapping"),
        ({}, "map lacks 'tables'"),
        ({"tables": {}}, "map: tables lacks 'dishes'"),
        ({"tables": {"dishes": BLOCK}}, "map: tables lacks 'binary'"),
        ({**tables(), "media": {}}, "map has no 'media'"),
        (tables(menu=BLOCK), "map: tables has no 'menu' .possible are dishes, binary, mc, region"),
        (tables(dishes={"fields": {}}), r"tables\.dishes lacks 'files'"),
        (tables(dishes={"files": "a"}), r"tables\.dishes lacks 'fields'"),
        (tables(dishes="a.json"), r"tables\.dishes must be a mapping"),
        (tables(dishes={**BLOCK, "files": ""}), r"dishes\.files must be a text or a list"),
        (tables(dishes={**BLOCK, "files": [["a"]]}), r"dishes\.files must be a text or a list"),
        (tables(dishes={**BLOCK, "fields": {"name": "x"}}), r"dishes\.fields has no 'name'"),
        (tables(dishes={**BLOCK, "fields": {1: "x"}}), r"dishes\.fields must be a mapping with"),
        (tables(dishes={**BLOCK, "fields": {"dish_id": {}}}), "must have one of from and each"),
        (
            tables(dishes={**BLOCK, "fields": {"dish_id": {"from": "a", "each": ["b"]}}}),
            r"fields\.dish_id must have one of from and each",
        ),
        (
            tables(dishes={**BLOCK, "fields": {"dish_id": {"from": "a", "values": {"b": []}}}}),
            r"dish_id\.values\.b must be a text",
        ),
        (
            tables(dishes={**BLOCK, "fields": {"dish_id": {"from": "a", "separator": ""}}}),
            r"dish_id\.separator must be a text that is not empty",
        ),
        (
            tables(dishes={**BLOCK, "fields": {"dish_id": {"from": "a", "default": "b"}}}),
            r"dish_id has no 'default'",
        ),
        (tables(dishes={**BLOCK, "fields": {"dish_id": "$line"}}), r"'\$line' is none of \$file"),
        ({**tables(), "picture_ids": {**BLOCK}}, "picture_ids.fields has no 'dish_id'"),
    ],
)
def test_what_is_no_map(document: object, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        parse_field_map(document, "map")


@pytest.mark.parametrize(
    "content", [b"tables: [", b"\xff", b"[" * 2_000, b"a: *b", b"&a [*a]", b"? [1]\n: 2", b"\0"]
)
def test_files_that_are_no_yaml(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "map.yaml"
    file.write_bytes(content)
    with pytest.raises(DataError, match=r"map\.yaml"):
        read_field_map(file)


def test_a_map_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"the field map .*nothing\.yaml cannot be read"):
        read_field_map(tmp_path / "nothing.yaml")


# The packaged map


def test_the_packaged_map_says_that_it_is_a_guess() -> None:
    assert "IT IS A GUESS" in default_map_file().read_text("utf-8")


def test_the_packaged_map_knows_every_relation_and_language() -> None:
    found = read_field_map().tables
    assert tuple(found["binary"][0].fields["relation"].values.values()) == BINARY_RELATIONS
    assert tuple(found["mc"][0].fields["relation"].values.values()) == MC_RELATIONS
    assert set(found["dishes"][0].fields["language"].values.values()) == set(LANGUAGES)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("answer", ["yes", "no"])
def test_the_packaged_map_knows_the_words_of_every_language(language: str, answer: str) -> None:
    values = read_field_map().tables["binary"][0].fields["answer"].values
    word = answer_word(language, answer)
    assert values.get(word, word) == answer


# Anything

YAML = st.recursive(
    st.text(max_size=6) | st.integers() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["files", "fields", "from", "each", "values", "separator", "dish_id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(YAML, st.sampled_from(["dishes", "binary", "mc", "region", "picture_ids"]))
def test_any_document_is_a_map_or_reported(value: object, place: str) -> None:
    document = tables() if place == "picture_ids" else tables(**{place: value})
    if place == "picture_ids":
        document[place] = value
    try:
        found = parse_field_map(document, "map")
    except DataError:
        return
    assert {"dishes", "binary"} <= found.tables.keys()


@given(st.text(max_size=60) | st.text("{}[]:,-&*!|>%@`'\"# ?\nab", max_size=40))
def test_any_text_is_a_map_or_reported(text: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "map.yaml")
        file.write_bytes(text.encode("utf-8", "replace"))
        with pytest.raises(DataError):
            read_field_map(file)
