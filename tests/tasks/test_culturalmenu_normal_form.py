from __future__ import annotations

import copy
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.tasks import tables
from lmms_eval_food.tasks.culturalmenu import normal_form
from lmms_eval_food.tasks.culturalmenu.field_map import FieldMap, default_map_file, parse_field_map
from lmms_eval_food.tasks.culturalmenu.normal_form import NormalForm, write_normal_form
from lmms_eval_food.tasks.rows import DataError
from tests.tasks import menu_sources as made
from tests.tasks.menu_sources import read_rows, write_files

PACKAGED = yaml.load(default_map_file().read_text("utf-8"), Loader=yaml.BaseLoader)


def map_of(text: str | None) -> FieldMap:
    document = PACKAGED if text is None else yaml.load(text, Loader=yaml.BaseLoader)
    return parse_field_map(document, "map.yaml")


def write(tmp_path: Path, files: dict[str, bytes], field_map: str | None = None) -> NormalForm:
    source = write_files(tmp_path / "source", files)
    return write_normal_form([source], tmp_path / "tables", map_of(field_map))


# Layouts

LAYOUTS: dict[str, tuple[Callable[[], dict[str, bytes]], str | None]] = {
    "usual names": (made.usual_names, None),
    "spreadsheets": (made.spreadsheets, made.SPREADSHEET_MAP),
    "picture ids": (made.picture_ids, made.PICTURE_ID_MAP),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_comes_out_as_the_normal_form(tmp_path: Path, layout: str) -> None:
    files, field_map = LAYOUTS[layout]
    form = write(tmp_path, {**files(), **made.MEDIA}, field_map)
    found = {table: read_rows(tmp_path / f"tables/{table}.jsonl") for table in made.EXPECTED}
    for table, rows in found.items():
        without_ids = [{k: v for k, v in row.items() if k != "id"} for row in rows]
        assert without_ids == made.EXPECTED[table]
        assert len(tables.read_table(tmp_path / "tables", "culturalmenu", table)) == len(rows)
    assert form.located["images/m1/d1_0.jpg"] == tmp_path / "source/m1/d1_0.jpg"


@pytest.mark.parametrize(
    ("layout", "ids"),
    [
        ("usual names", ["meta/binary:1", "meta/binary:2"]),
        ("spreadsheets", ["data/questions_1:1", "data/questions_2:1"]),
        ("picture ids", ["0", "1"]),
    ],
)
def test_ids_of_the_questions(tmp_path: Path, layout: str, ids: list[str]) -> None:
    files, field_map = LAYOUTS[layout]
    write(tmp_path, {**files(), **made.MEDIA}, field_map)
    assert [row["id"] for row in read_rows(tmp_path / "tables/binary.jsonl")] == ids


def test_two_blocks_whose_pictures_have_the_same_names(tmp_path: Path) -> None:
    media = {
        name.replace("d1_", "").replace("d2_", ""): content for name, content in made.MEDIA.items()
    }
    write(tmp_path, {**made.two_blocks(), **media}, made.TWO_BLOCKS_MAP)
    first, second = read_rows(tmp_path / "tables/dishes.jsonl")
    assert first["practice_images"] == ["images/m1/1.jpg", "images/m1/2.jpg"]
    assert (second["dish_image"], second["dish_id"]) == ("images/m2/0.jpg", "d2")
    groups = read_rows(tmp_path / "tables/binary.jsonl")[1]["image_groups"]
    assert groups == [["images/m2/1.jpg"], ["images/m1/1.jpg", "images/m1/2.jpg"]]
    assert not (tmp_path / "tables/mc.jsonl").exists()


def test_the_first_of_two_roots_wins(tmp_path: Path) -> None:
    files = {**made.usual_names(), **made.MEDIA}
    one = write_files(tmp_path / "one", files)
    two = write_files(tmp_path / "two", {"m1/d1_0.jpg": b"other"})
    form = write_normal_form([two, one], tmp_path / "tables", map_of(None))
    assert form.located["images/m1/d1_0.jpg"] == two / "m1/d1_0.jpg"


# Counts


def test_counts_that_differ_are_said(tmp_path: Path) -> None:
    form = write(tmp_path, {**made.usual_names(), **made.MEDIA})
    assert form.differences() == [
        "dishes: 2 here, 587 published",
        "yes/no questions: 2 here, 4,870 published",
        "Chinese multiple-choice questions: 1 here, 2,607 published",
        "foreign multiple-choice questions: 1 here, 3,217 published",
        "sub-region questions: 1 here, 354 published",
        "image ids: 5 here, 12,060 published",
    ]


def test_counts_that_agree_are_not_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = dict(zip(normal_form.PUBLISHED_COUNTS, (2, 2, 1, 1, 1, 5), strict=True))
    monkeypatch.setattr(normal_form, "PUBLISHED_COUNTS", counts)
    assert write(tmp_path, {**made.usual_names(), **made.MEDIA}).differences() == []


def test_image_ids_are_counted_where_the_source_has_them(tmp_path: Path) -> None:
    spare = {f"m3/{number}.png": b"unused" for number in range(4)}
    form = write(tmp_path, {**made.picture_ids(), **made.MEDIA, **spare}, made.PICTURE_ID_MAP)
    assert form.counts["image ids"] == len(made.PICTURE_IDS) == 5


# Rows that do not fit

ROW = {**made.BINARY[0], "id": 1, "images": ["m1/d1_0.jpg"]}


@pytest.mark.parametrize(
    ("changes", "field", "problem"),
    [
        ({"answer": "perhaps"}, "answer", "must be one of yes, no; found 'perhaps', looked at"),
        ({"answer": None}, "answer", "found nothing, looked at answer, label, gt_answer"),
        ({"answer": {"is": "yes"}}, "answer", "must come from a text"),
        ({"answer": ["yes"]}, "answer", "must come from a text"),
        ({"relation": "dish_image-price"}, "relation", "must be one of the ten relations"),
        ({"language": "de"}, "language", "must be one of zh, en"),
        ({"dish_ids": ["d9"]}, "dish_ids", "names 'd9', which no dish has"),
        ({"dish_ids": {"A": "d1"}}, "dish_ids", "must come from a list or an object of A, B, C, D"),
        ({"images": ["m1/d1_9.jpg"]}, "images", "no picture has the name 'm1/d1_9.jpg'"),
        ({"images": ["m1/../../secret.jpg"]}, "images", "no picture has the name"),
        ({"images": [7]}, "images", "no picture has the name '7'"),
        ({"images": [None]}, "images", "must come from a text, found None"),
        ({"images": []}, "images", "must be a list of picture paths"),
        (
            {"image_groups": [["m1/d1_0.jpg"], []]},
            "image_groups",
            "must be two lists of picture paths",
        ),
        ({"prompt": "\ud800"}, "prompt", "holds a lone surrogate"),
        (
            {"relation": "practice_image-practice_image", "images": ["m1/d1_1.jpg", "m1/d1_2.jpg"]},
            "image_groups",
            "must be two lists of picture paths",
        ),
    ],
)
def test_a_row_that_does_not_fit_is_shown_whole(
    tmp_path: Path, changes: dict[str, Any], field: str, problem: str
) -> None:
    row = {**ROW, **changes, "note": "付记" * 200}
    lines = json.dumps(ROW).encode() + b"\n" + json.dumps(row).encode()
    (tmp_path / "secret.jpg").write_bytes(b"not for a model")
    with pytest.raises(DataError) as caught:
        write(tmp_path, {**made.usual_names(), **made.MEDIA, "meta/binary.jsonl": lines})
    message = str(caught.value)
    assert f"{tmp_path}/source/meta/binary.jsonl, line 2: field '{field}' " in message
    assert problem in message
    shown = json.dumps(row, ensure_ascii=False).replace("\ud800", "\\ud800")
    assert shown in message
    assert not (tmp_path / "tables").exists()


@pytest.mark.parametrize(
    ("table", "changes", "field"),
    [
        ("dishes.json", {"dish_image": ["m1/d1_0.jpg", "m1/d1_1.jpg"]}, "dish_image"),
        ("dishes.json", {"dish_id": "d2"}, "dish_id"),
        ("dishes.json", {"practice_text": " "}, "practice_text"),
        ("mc_chinese.json", {"options": ["a", "b", "c"]}, "options"),
        ("mc_chinese.json", {"options": ["a"] * 4}, "options"),
        ("mc_chinese.json", {"options": ["ＡＢ汤", "AB汤\u200b", "c", "d"]}, "options"),
        ("mc_foreign.json", {"options": ["d1_0", "d1_1", "d1_2", "d1_0"]}, "options"),
        ("sub_region.json", {"options": ["川菜"] * 4}, "options"),
        ("mc_chinese.json", {"options": {"A": "a", "B": "b", "C": "c", "E": "e"}}, "options"),
        ("mc_chinese.json", {"dish_id": "d3"}, "dish_id"),
        ("mc_chinese.json", {"images": None}, "images"),
        ("mc_foreign.json", {"options": ["d1_0", "d1_1", "d1_2", "d1_3"]}, "options"),
        ("mc_foreign.json", {"relation": None}, "relation"),
        ("sub_region.json", {"evidence": "name"}, "evidence"),
    ],
)
def test_the_field_that_fails(
    tmp_path: Path, table: str, changes: dict[str, Any], field: str
) -> None:
    files = made.usual_names()
    document = json.loads(files[f"meta/{table}"])
    rows = document["practice"] if isinstance(document, dict) else document
    rows[0].update(changes)
    files[f"meta/{table}"] = json.dumps(document).encode()
    with pytest.raises(DataError, match=rf"{table}, row \d.*: field '{field}' .* The row is "):
        write(tmp_path, {**files, **made.MEDIA})


def test_a_name_that_fits_two_pictures_is_refused(tmp_path: Path) -> None:
    extra = {"m2/d1_0.jpg": b"another dish"}
    with pytest.raises(DataError, match=r"2 pictures have the name 'd1_0\.jpg'"):
        write(tmp_path, {**made.spreadsheets(), **made.MEDIA, **extra}, made.SPREADSHEET_MAP)


def test_a_picture_id_with_two_meanings_is_refused(tmp_path: Path) -> None:
    files = made.picture_ids()
    files["all.json"] = files["all.json"].replace(b'"id": 101', b'"id": 100')
    with pytest.raises(DataError, match=r"field 'id' stands for '/srv/d1_0\.jpg' already"):
        write(tmp_path, {**files, **made.MEDIA}, made.PICTURE_ID_MAP)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("dishes.json", b"{", "is not JSON"),
        pytest.param("dishes.json", b"[" * 100_000, "is not JSON", id="deep"),
        ("dishes.json", b"7", "holds neither a list of rows nor an object"),
        ("dishes.json", b'{"a": 1}', "has no list of rows under any key"),
        ("dishes.json", b'["d1"]', "row 1: is not an object but 'd1'"),
        ("dishes.json", b"\xff\xfe", "cannot be read"),
        ("dishes.json", b"[]", "no records for dishes"),
        ("binary.jsonl", b"\n", "no records for binary"),
        ("binary.jsonl", b'{"id": 1}\n[]\n', "line 1: field"),
        ("dishes.csv", b"dish_id,dish_name\nd9,soup,5\n", "row 1: has more fields than columns"),
        pytest.param("dishes.csv", b'dish_id\n"' + b"x" * 140_000, "is not a table", id="wide"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        write(tmp_path, {**made.usual_names(), **made.MEDIA, f"meta/{name}": content})


def test_no_file_fits_and_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file fits dishes\.\*.*files: records\.json, x/a\.txt"):
        write(tmp_path, {"records.json": b"[]", "x/a.txt": b"", **made.MEDIA})


# Anything

NAMES = ("dish_id", "dish_ids", "images", "answer", "prompt", "options", "relation", "x", "$place")
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["d1", "d1_0", "yes", "A", "zh", "[", "dish_name->dish_image", "\ud800"])
    | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*"ABCD", "x"]), inner, max_size=4)
    ),
    max_leaves=8,
)
RULES = st.one_of(
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3),
    st.fixed_dictionaries(
        {"from": st.sampled_from(NAMES)},
        optional={"separator": st.sampled_from([",", " ", "\n"]), "values": st.just({"d1": "yes"})},
    ),
    st.fixed_dictionaries({"each": st.lists(st.sampled_from(NAMES), min_size=1, max_size=4)}),
)
TABLES = {"dishes": ("dish_id", "dish_image", "practice_images", "raw_material")} | {
    "binary": ("id", "dish_ids", "images", "image_groups", "relation", "answer"),
    "mc": ("id", "dish_id", "images", "options", "relation", "answer"),
    "region": ("id", "dish_id", "images", "options", "evidence"),
}


@settings(max_examples=60)
@given(st.data())
def test_any_map_and_any_rows_are_read_or_reported(data: st.DataObject) -> None:
    document = copy.deepcopy(PACKAGED)
    files = made.usual_names()
    table = data.draw(st.sampled_from(sorted(TABLES)))
    fields = document["tables"][table]["fields"]
    for field in data.draw(st.lists(st.sampled_from(TABLES[table]), max_size=3)):
        fields[field] = data.draw(RULES)
    name = {
        "dishes": "dishes.json",
        "binary": "binary.jsonl",
        "mc": "mc_foreign.json",
        "region": "sub_region.json",
    }[table]
    base = {**made.EXPECTED[table][-1], **data.draw(st.dictionaries(st.sampled_from(NAMES), JSON))}
    rows = [base] if table == "binary" else [[*made.EXPECTED[table][:-1], base]]
    files[f"meta/{name}"] = json.dumps(rows[0]).encode()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "tables")
        source = write_files(Path(folder, "source"), {**files, **made.MEDIA})
        try:
            write_normal_form([source], target, parse_field_map(document, "map"))
        except DataError:
            return
        for file in target.iterdir():
            assert tables.read_table(target, "culturalmenu", file.stem)


@settings(max_examples=100)
@given(st.binary(max_size=120), st.sampled_from(["json", "jsonl", "csv", "tsv"]))
def test_any_bytes_are_read_or_reported(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        files = {**made.usual_names(), **made.MEDIA}
        del files["meta/dishes.json"]
        source = write_files(Path(folder, "source"), {**files, f"meta/dishes.{suffix}": content})
        with pytest.raises(DataError):
            write_normal_form([source], Path(folder, "tables"), map_of(None))
