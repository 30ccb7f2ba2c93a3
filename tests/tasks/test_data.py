from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loguru import logger
from PIL import Image

from lmms_eval_food.tasks import data, images, rows, tables
from lmms_eval_food.tasks.rows import DataError

RED = (200, 30, 40)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def warnings() -> Any:
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    yield lines
    logger.remove(handle)


def write_rows(file: Path, *rows: object) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_image(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), RED).save(file)
    return str(file)


def dish_row(**changes: object) -> dict[str, object]:
    row = {
        "id": 7,
        "prompt": "What is it?\nA. soup",
        "ground_truth": "C",
        "standard_image": "images/00007_0.jpg",
        "user_images": ["images/00007_2.jpg", "images/00007_1.jpg"],
    }
    return {**row, **changes}


TRUTH = {"calories": 350, "protein": 0, "carbohydrates": 41.5, "fat": 12}
TRUTH_ZH = {
    "精炼菜品名称": "汤",
    "卡路里": "350",
    "蛋白质": 1,
    "碳水化合物": 2,
    "脂肪": 3,
}


def write_canteen(folder: Path, labels: str, participants: str) -> None:
    (folder / "prompts").mkdir(parents=True)
    (folder / "labels_flat.csv").write_text(labels, encoding="utf-8")
    (folder / "image_participants.csv").write_text(participants, encoding="utf-8")
    (folder / "prompts/system.txt").write_text("be exact", encoding="utf-8")
    (folder / "prompts/user.txt").write_text("list\nfoods\n", encoding="utf-8")


LABELS = "image,food,portion\n002.jpg,Rice,150.0\n001.jpg,pasta al ragù,80\n002.jpg,Rice,20\n"
PARTICIPANTS = "resized_filename,participant_id\n001.jpg,p1\n002.jpg,p2\n"


# The data root


def test_root_is_the_variable_where_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path))
    assert data.data_root() == tmp_path


@pytest.mark.parametrize("cache", ["", "relative/folder"])
def test_root_is_else_in_the_home_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: str
) -> None:
    monkeypatch.delenv("LMMS_EVAL_FOOD_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data.data_root() == tmp_path / ".cache/lmms-eval-food"


def test_root_follows_the_cache_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data.data_root() == tmp_path / "lmms-eval-food"


@pytest.mark.slow
def test_importing_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'datasets', 'PIL', 'numpy', 'huggingface_hub'}"
    code = f"import sys, lmms_eval_food.tasks.data; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Tables as documents


def test_classification_documents(root: Path) -> None:
    folder = root / "diningbench"
    write_rows(folder / "classification.jsonl", dish_row(), "", dish_row(id="x", category="soups"))
    paths = [write_image(folder / f"images/00007_{n}.jpg") for n in (0, 2, 1)]
    documents = data.load("diningbench", "classification")
    assert documents[0] == {
        "id": "7",
        "prompt": "What is it?\nA. soup",
        "ground_truth": "C",
        "standard_image": paths[0],
        "images": paths,
        "language": "zh",
        "category": "",
    }
    assert documents[1]["id"] == "x"
    assert documents[1]["category"] == "soups"
    assert len(documents) == 2


@pytest.mark.parametrize(
    ("standard", "user", "expected"),
    [
        ("images/0.jpg", [], ["0.jpg"]),
        ("images/0.jpg", None, ["0.jpg"]),
        (None, ["images/2.jpg", "images/1.jpg"], ["2.jpg", "1.jpg"]),
        ("", ["images/1.jpg"], ["1.jpg"]),
    ],
)
def test_views_that_exist_keep_their_order(
    tmp_path: Path, standard: object, user: object, expected: list[str]
) -> None:
    row = dish_row(standard_image=standard, user_images=user)
    write_rows(tmp_path / "classification_en.jsonl", row)
    (document,) = tables.read_table(tmp_path, "diningbench", "classification_en")
    assert document["images"] == [str(tmp_path / "images" / name) for name in expected]
    assert document["language"] == "en"


@pytest.mark.parametrize("truth", [TRUTH, TRUTH_ZH])
def test_nutrition_truth_is_json_text_either_way(tmp_path: Path, truth: dict[str, object]) -> None:
    text = json.dumps(truth)
    rows = (dish_row(ground_truth=truth), dish_row(ground_truth=text))
    write_rows(tmp_path / "nutrition.jsonl", *rows)
    documents = tables.read_table(tmp_path, "diningbench", "nutrition")
    assert [json.loads(document["ground_truth"]) for document in documents] == [truth, truth]


def test_vqa_documents(root: Path) -> None:
    folder = root / "diningbench"
    row = {"id": "q1", "prompt": "几个？", "ground_truth": "3", "images": ["images/b.png"]}
    write_rows(folder / "vqa.jsonl", row)
    path = write_image(folder / "images/b.png")
    assert data.load("diningbench", "vqa").to_list() == [
        {**row, "images": [path], "language": "zh", "category": ""}
    ]


def test_canteen_documents(root: Path) -> None:
    folder = root / "canteen"
    write_canteen(folder, "\ufeff" + LABELS, PARTICIPANTS)
    first, second = write_image(folder / "images/002.jpg"), write_image(folder / "images/001.jpg")
    prompts = {"system_prompt": "be exact", "user_prompt": "list\nfoods\n"}
    assert data.load("canteen", "portions").to_list() == [
        {
            "id": "002.jpg",
            "images": [first],
            "foods": ["Rice", "Rice"],
            "grams": [150.0, 20.0],
            "participant": "p2",
            **prompts,
        },
        {
            "id": "001.jpg",
            "images": [second],
            "foods": ["pasta al ragù"],
            "grams": [80.0],
            "participant": "p1",
            **prompts,
        },
    ]


def test_a_food_name_may_hold_odd_line_breaks(tmp_path: Path) -> None:
    labels = 'image,food,portion\n001.jpg,"Rice,\u2028 \x0bplain",5\n'
    write_canteen(tmp_path / "c", labels, PARTICIPANTS)
    (document,) = tables.read_table(tmp_path / "c", "canteen", "portions")
    assert document["foods"] == ["Rice,\u2028 \x0bplain"]


def question(**fields: object) -> dict[str, object]:
    relation = "dish_image->raw_material" if "dish_id" in fields else "dish_image-raw_material"
    return {"id": "q", "relation": relation, "language": "th", "prompt": "ใช่ไหม", **fields}


def test_binary_documents_of_one_and_two_groups(root: Path) -> None:
    folder = root / "culturalmenu"
    one = question(dish_ids=["d1"], images=["images/a.jpg", "images/b.jpg"], answer="yes")
    groups = [["images/a.jpg"], ["images/b.jpg", "images/c.jpg"]]
    two = question(id="q2", dish_ids=["d1", "d2"], image_groups=groups, answer="no")
    write_rows(folder / "binary.jsonl", one, two)
    a, b, c = (write_image(folder / f"images/{name}.jpg") for name in "abc")
    first, second = data.load("culturalmenu", "binary").to_list()
    assert first == {**one, "images": [a, b], "image_groups": [[a, b]]}
    assert second == {**two, "images": [a, b, c], "image_groups": [[a], [b, c]]}


def test_mc_documents_with_texts_and_with_pictures(root: Path) -> None:
    folder = root / "culturalmenu"
    options = [[f"images/{name}.jpg"] for name in "abcd"]
    texts = question(dish_id="d", images=["images/a.jpg"], options=[*"wxyz"], answer="D")
    pictures = question(id="p", dish_id="d", images=[], options=options, answer="A")
    write_rows(folder / "mc.jsonl", texts, pictures)
    a, b, c, d = (write_image(folder / f"images/{name}.jpg") for name in "abcd")
    first, second = data.load("culturalmenu", "mc").to_list()
    del texts["options"], pictures["options"]
    assert first == {**texts, "images": [a], "option_texts": [*"wxyz"], "option_images": []}
    groups = [[a], [b], [c], [d]]
    assert second == {**pictures, "images": [], "option_texts": [], "option_images": groups}


def test_region_and_dish_documents(root: Path) -> None:
    folder = root / "culturalmenu"
    region = {
        "id": "r1",
        "dish_id": "d1",
        "dish_name": "麻婆豆腐",
        "evidence": "dish_image",
        "images": ["images/a.jpg"],
        "options": ["川菜", "湘菜", "粤菜", "鲁菜"],
        "answer": "A",
    }
    dish: dict[str, object] = {
        "dish_id": "d1",
        "dish_name": "麻婆豆腐",
        "category": "中国",
        "region": None,
        "language": "zh",
        "raw_material": "豆腐",
        "practice_text": "煮",
        "dish_image": "images/a.jpg",
        "practice_images": [],
    }
    write_rows(folder / "region.jsonl", region)
    write_rows(folder / "dishes.jsonl", dish)
    path = write_image(folder / "images/a.jpg")
    assert data.load("culturalmenu", "region").to_list() == [{**region, "images": [path]}]
    assert data.load("culturalmenu", "dishes").to_list() == [{**dish, "dish_image": path}]


def test_columns_keep_their_types_when_empty(root: Path) -> None:
    folder = root / "culturalmenu"
    options = [[f"images/{name}.jpg"] for name in "abcd"]
    write_rows(folder / "mc.jsonl", question(dish_id="d", options=options, answer="A"))
    write_image(folder / "images/a.jpg")
    features = data.load("culturalmenu", "mc").features
    assert features["images"].feature.dtype == "string"
    assert features["option_texts"].feature.dtype == "string"
    assert features["option_images"].feature.feature.dtype == "string"


# What does not fit


@pytest.mark.parametrize(
    ("table", "row", "field"),
    [
        ("classification", dish_row(ground_truth="K"), "ground_truth"),
        ("classification", dish_row(ground_truth=2), "ground_truth"),
        ("classification", dish_row(prompt=" "), "prompt"),
        ("classification", dish_row(id=True), "id"),
        ("classification", dish_row(id=None), "id"),
        ("classification", dish_row(category=5), "category"),
        ("classification", dish_row(user_images="images/1.jpg"), "user_images"),
        ("classification", dish_row(standard_image=None, user_images=[]), "user_images"),
        ("classification", dish_row(standard_image="/etc/passwd"), "standard_image"),
        ("classification", dish_row(standard_image="images/../../x.jpg"), "standard_image"),
        ("classification", dish_row(user_images=["C:/x.jpg"]), "user_images"),
        ("classification", dish_row(user_images=["a\\b.jpg"]), "user_images"),
        ("classification", dish_row(user_images=[3]), "user_images"),
        ("nutrition", dish_row(ground_truth="no JSON"), "ground_truth"),
        ("nutrition", dish_row(ground_truth="[" * 100_000), "ground_truth"),
        ("nutrition", dish_row(ground_truth=[1]), "ground_truth"),
        ("nutrition", dish_row(ground_truth=None), "ground_truth"),
        ("nutrition", dish_row(ground_truth={**TRUTH, "fat": None}), "ground_truth"),
        ("nutrition", dish_row(ground_truth={**TRUTH, "fat": "some"}), "ground_truth"),
        ("nutrition", dish_row(ground_truth={"calories": 1}), "ground_truth"),
        ("vqa", dish_row(), "images"),
    ],
)
def test_a_dining_row_that_does_not_fit(
    tmp_path: Path, table: str, row: dict[str, object], field: str
) -> None:
    good = {
        "classification": dish_row(),
        "nutrition": dish_row(ground_truth=TRUTH),
        "vqa": dish_row(images=["images/1.jpg"]),
    }
    write_rows(tmp_path / f"{table}.jsonl", good[table], row)
    with pytest.raises(DataError) as caught:
        tables.read_table(tmp_path, "diningbench", table)
    message = str(caught.value)
    assert f"{tmp_path / table}.jsonl, line 2: field '{field}'" in message
    assert "lmms-eval-food prepare diningbench --force" in message


BINARY = question(dish_ids=["d"], images=["images/a.jpg"], answer="yes")
MC = question(dish_id="d", images=["images/a.jpg"], options=[*"wxyz"], answer="A")


@pytest.mark.parametrize(
    ("table", "row", "field"),
    [
        ("binary", {**BINARY, "answer": "Yes"}, "answer"),
        ("binary", {**BINARY, "answer": ["yes"]}, "answer"),
        ("binary", {**BINARY, "relation": "dish_image-price"}, "relation"),
        ("binary", {**BINARY, "language": "de"}, "language"),
        ("binary", {**BINARY, "dish_ids": [7]}, "dish_ids"),
        ("binary", {**BINARY, "dish_ids": []}, "dish_ids"),
        ("binary", {**BINARY, "image_groups": []}, "image_groups"),
        ("binary", {**BINARY, "image_groups": [["images/a.jpg"], []]}, "image_groups"),
        ("binary", {**BINARY, "image_groups": [None]}, "image_groups"),
        ("binary", {**BINARY, "images": []}, "images"),
        ("mc", {**MC, "options": [*"wxy"]}, "options"),
        ("mc", {**MC, "options": ["w", "x", "y", ["images/a.jpg"]]}, "options"),
        ("mc", {**MC, "options": ["w", "x", "y", ""]}, "options"),
        ("mc", {**MC, "answer": "E"}, "answer"),
        ("mc", {**MC, "answer": "AB"}, "answer"),
        ("mc", {**MC, "images": []}, "images"),
        ("mc", {**MC, "images": None}, "images"),
        ("mc", {**MC, "relation": "dish_image-dish_name"}, "relation"),
        ("mc", {name: value for name, value in MC.items() if name != "prompt"}, "prompt"),
    ],
)
def test_a_menu_row_that_does_not_fit(
    tmp_path: Path, table: str, row: dict[str, object], field: str
) -> None:
    write_rows(tmp_path / f"{table}.jsonl", row)
    with pytest.raises(DataError, match=f"{table}.jsonl, line 1: field '{field}'"):
        tables.read_table(tmp_path, "culturalmenu", table)


def test_an_id_names_one_menu_row(tmp_path: Path) -> None:
    write_rows(tmp_path / "binary.jsonl", BINARY, BINARY)
    with pytest.raises(DataError, match="line 2: field 'id' must be an id that no other row has"):
        tables.read_table(tmp_path, "culturalmenu", "binary")


@pytest.mark.parametrize(
    "line", ["{", "[" * 100_000, "NaN", "[1]", '{"id": "\\ud800"}', '{"id": 1' + "0" * 5000 + "}"]
)
def test_a_line_that_is_no_json_object(tmp_path: Path, line: str) -> None:
    write_rows(tmp_path / "vqa.jsonl", dish_row(images=["images/1.jpg"]), line)
    with pytest.raises(DataError, match=r"vqa\.jsonl, line 2: is not"):
        tables.read_table(tmp_path, "diningbench", "vqa")


def test_a_line_that_is_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "vqa.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(DataError, match="line 1: is not JSON"):
        tables.read_table(tmp_path, "diningbench", "vqa")


@pytest.mark.parametrize(
    ("labels", "participants", "message"),
    [
        (
            LABELS + "001.jpg,Soup,heavy\n",
            PARTICIPANTS,
            r"labels_flat\.csv, line 5: field 'portion'",
        ),
        (LABELS + "001.jpg,Soup,-1\n", PARTICIPANTS, "line 5: field 'portion'"),
        (LABELS + "001.jpg,Soup,nan\n", PARTICIPANTS, "line 5: field 'portion'"),
        (LABELS + "001.jpg,Soup\n", PARTICIPANTS, "line 5: field 'portion'"),
        (LABELS + "001.jpg,Soup, white,5\n", PARTICIPANTS, "line 5: has more fields"),
        (LABELS + "001.jpg, ,5\n", PARTICIPANTS, "line 5: field 'food'"),
        (LABELS + "003.jpg,Soup,5\n", PARTICIPANTS, "line 5: field 'image' .*'003.jpg'"),
        ("image,food\n001.jpg,Soup\n", PARTICIPANTS, "line 1: has no column 'portion'"),
        ("", PARTICIPANTS, "line 1: has no column 'image'"),
        ("image,food,portion\n", PARTICIPANTS, r"labels_flat\.csv holds no rows"),
        (LABELS, PARTICIPANTS + "001.jpg,p3\n", r"participants\.csv, line 4: .*resized_filename"),
        (LABELS, "resized_filename\n001.jpg\n", "no column 'participant_id'"),
    ],
)
def test_a_canteen_table_that_does_not_fit(
    tmp_path: Path, labels: str, participants: str, message: str
) -> None:
    write_canteen(tmp_path / "canteen", labels, participants)
    with pytest.raises(DataError, match=message):
        tables.read_table(tmp_path / "canteen", "canteen", "portions")


def test_a_giant_field_is_reported(tmp_path: Path) -> None:
    write_canteen(tmp_path / "c", f"{LABELS}001.jpg,{'x' * 200_000},5\n", PARTICIPANTS)
    with pytest.raises(DataError, match="line 5: is not CSV"):
        tables.read_table(tmp_path / "c", "canteen", "portions")


def test_an_unknown_table_lists_the_known_ones(root: Path) -> None:
    with pytest.raises(DataError, match="canteen: portions"):
        data.load("canteen", "dishes")
    with pytest.raises(DataError, match="canteen: portions"):
        data.load("other", "portions")


@pytest.mark.parametrize(
    ("benchmark", "table", "file"),
    [
        ("diningbench", "vqa_en", "vqa_en.jsonl"),
        ("canteen", "portions", "image_participants.csv"),
        ("culturalmenu", "binary", "binary.jsonl"),
    ],
)
def test_missing_data_name_the_place_and_both_ways_on(
    root: Path, benchmark: str, table: str, file: str
) -> None:
    with pytest.raises(DataError) as caught:
        data.load(benchmark, table)
    message = str(caught.value)
    assert str(root / benchmark / file) in message
    assert f"`lmms-eval-food prepare {benchmark}`" in message
    assert "`lmms-eval-food demo`" in message


def test_no_picture_at_all_is_an_error(root: Path) -> None:
    write_rows(root / "diningbench/classification.jsonl", dish_row())
    with pytest.raises(DataError, match=r"pictures of classification not found.*00007_0\.jpg"):
        data.load("diningbench", "classification")


def test_some_missing_pictures_are_a_warning(root: Path, warnings: list[str]) -> None:
    write_rows(root / "diningbench/classification.jsonl", dish_row())
    write_image(root / "diningbench/images/00007_0.jpg")
    assert len(data.load("diningbench", "classification")) == 1
    assert len(warnings) == 1
    assert "2 pictures are missing" in warnings[0]
    assert "00007_2.jpg" in warnings[0]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
FIELDS = [*dish_row(), "images", "category", *BINARY, *MC, "image_groups", "dish_id", "evidence"]


@given(st.dictionaries(st.sampled_from(sorted(set(FIELDS))), JSON, max_size=8), st.integers(0, 9))
def test_any_row_is_read_or_reported(changes: dict[str, Any], which: int) -> None:
    kinds = [
        (name, table) for name in ("diningbench", "culturalmenu") for table in tables.TABLES[name]
    ]
    benchmark, table = kinds[which]
    base = {**BINARY, **MC, **dish_row(), **(BINARY if table == "binary" else {}), **changes}
    source = rows.Source(benchmark, Path("/data"))
    row = rows.Row(source, "file", 1, base)
    try:
        if benchmark == "diningbench":
            document = tables._dining_row(table, row)
        else:
            document = tables.menu_row(table, row)
    except DataError:
        return
    paths = tables.row_images([document])
    assert all(path.startswith("/data/") and "/../" not in path for path in paths)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_any_bytes_are_a_table_or_reported(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        source = rows.Source("canteen", Path(folder))
        (source.folder / "t.jsonl").write_bytes(content)
        (source.folder / "t.csv").write_bytes(b"a,b\n" + content)
        for found in (source.json_rows("t.jsonl"), source.csv_rows("t.csv", ("a", "b"))):
            with contextlib.suppress(DataError):
                assert all(isinstance(row.values, dict) for row in found)


# Provenance


def write_prepared(folder: Path, **changes: object) -> None:
    note = {
        "benchmark": "diningbench",
        "source": "somewhere",
        "revision": "r1",
        "kind": "published",
        "placeholders": False,
        "checksum": data.table_checksum(folder),
    }
    (folder / "prepared.json").write_text(json.dumps({**note, **changes}))


def test_checksum_is_over_names_and_contents_of_tables_only(tmp_path: Path) -> None:
    (tmp_path / "prompts").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "b.jsonl").write_bytes(b"2")
    (tmp_path / "a.csv").write_bytes(b"1")
    (tmp_path / "prompts/z.txt").write_bytes(b"3")
    (tmp_path / "images/n.jsonl").write_bytes(b"not a table")
    (tmp_path / "prepared.json").write_bytes(b"{}")
    # printf 'a.csv1b.jsonl2prompts/z.txt3' | sha256sum
    assert data.table_checksum(tmp_path) == "5020e2f839ee"


def test_provenance_as_prepared(root: Path) -> None:
    folder = root / "diningbench"
    write_rows(folder / "vqa.jsonl", "{}")
    write_prepared(folder)
    assert data.provenance("diningbench") == data.Provenance(
        "diningbench", "somewhere", "r1", data.table_checksum(folder), "published", False
    )


def test_tables_changed_since_are_local(root: Path) -> None:
    folder = root / "diningbench"
    write_rows(folder / "vqa.jsonl", "{}")
    write_prepared(folder, placeholders=True)
    before = data.provenance("diningbench")
    write_rows(folder / "vqa.jsonl", "{}", "{}")
    after = data.provenance("diningbench")
    assert (before.kind, after.kind) == ("published", "local")
    assert after.source == "somewhere, changed"
    assert after.placeholders is True
    assert after.checksum != before.checksum


def test_files_put_in_place_by_hand_are_local(root: Path) -> None:
    write_rows(root / "canteen/labels_flat.csv", "image")
    found = data.provenance("canteen")
    assert (found.kind, found.revision, found.placeholders) == ("local", "", False)
    assert len(found.checksum) == 12


def test_unchanged_tables_are_read_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(root / "canteen/labels_flat.csv", "image")
    first = data.provenance("canteen")
    monkeypatch.setattr(data, "table_checksum", lambda folder: pytest.fail("read again"))
    assert data.provenance("canteen") == first


@pytest.mark.parametrize("note", ["", "{", "[]", '{"source": "x"}', "null"])
def test_a_broken_note_is_named(root: Path, note: str) -> None:
    write_rows(root / "canteen/labels_flat.csv", "image")
    (root / "canteen/prepared.json").write_text(note)
    with pytest.raises(DataError, match=r"prepared\.json does not fit"):
        data.provenance("canteen")


def test_provenance_of_nothing(root: Path) -> None:
    with pytest.raises(DataError, match="lmms-eval-food prepare canteen"):
        data.provenance("canteen")


# Pictures


def save(image: Image.Image, path: Path, **options: Any) -> str:
    image.save(path, **options)
    return str(path)


def test_cmyk_becomes_rgb(tmp_path: Path) -> None:
    image = Image.new("CMYK", (8, 8), (0, 255, 255, 0))
    opened = images.open_image(save(image, tmp_path / "a.jpg", quality=100), "d")
    assert opened.mode == "RGB"
    red, green, blue = np.asarray(opened)[4, 4]
    assert red > 240
    assert max(green, blue) < 15


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparent_becomes_white(tmp_path: Path, mode: str) -> None:
    image = Image.new(mode, (2, 1), 0)
    image.putpixel((1, 0), (200, 200, 200, 255)[-len(mode) :])
    opened = images.open_image(save(image, tmp_path / "a.png"), "d")
    assert [opened.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), (200, 200, 200)]


def test_half_transparent_is_mixed_with_white(tmp_path: Path) -> None:
    path = save(Image.new("RGBA", (1, 1), (0, 0, 0, 51)), tmp_path / "a.png")
    assert images.open_image(path, "d").getpixel((0, 0)) == (204, 204, 204)


def test_transparent_palette_colour_becomes_white(tmp_path: Path) -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([0, 0, 0, *RED])
    image.putpixel((1, 0), 1)
    opened = images.open_image(save(image, tmp_path / "a.png", transparency=0), "d")
    assert [opened.getpixel((x, 0)) for x in (0, 1)] == [(255, 255, 255), RED]


def test_sixteen_bits_keep_their_shades(tmp_path: Path) -> None:
    shades = np.array([[0, 0x1234, 0x8000, 0xFFFF]], dtype=np.uint16)
    opened = images.open_image(save(Image.fromarray(shades), tmp_path / "a.png"), "d")
    assert np.asarray(opened)[0, :, 0].tolist() == [0, 0x12, 0x80, 0xFF]


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "YCbCr"])
def test_other_modes_become_rgb(tmp_path: Path, mode: str) -> None:
    image = Image.new("RGB", (8, 8), (255, 255, 255)).convert(mode)
    suffix = ".jpg" if mode == "YCbCr" else ".png"
    opened = images.open_image(save(image, tmp_path / f"a{suffix}"), "d")
    assert (opened.mode, opened.getpixel((0, 0))) == ("RGB", (255, 255, 255))


@pytest.mark.parametrize(("turn", "place"), [(3, (3, 1)), (6, (1, 0)), (8, (0, 3))])
def test_exif_turns_the_picture(tmp_path: Path, turn: int, place: tuple[int, int]) -> None:
    image = Image.new("RGB", (4, 2))
    image.putpixel((0, 0), RED)
    exif = Image.Exif()
    exif[0x0112] = turn
    opened = images.open_image(save(image, tmp_path / "a.png", exif=exif), "d")
    assert opened.size == ((4, 2) if turn == 3 else (2, 4))
    assert opened.getpixel(place) == RED


def broken_file(folder: Path, kind: str) -> str:
    path = folder / "broken.jpg"
    if kind == "cut":
        Image.effect_noise((200, 200), 80).save(path)
        path.write_bytes(path.read_bytes()[:2000])
    elif kind == "text":
        path.write_text("no picture")
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    return str(path)


@pytest.mark.parametrize("kind", ["cut", "text", "empty", "folder", "missing"])
def test_a_broken_picture_is_reported_once(tmp_path: Path, warnings: list[str], kind: str) -> None:
    path = broken_file(tmp_path, kind)
    with ThreadPoolExecutor(4) as pool:
        opened = list(pool.map(lambda n: images.open_image(path, "dish-12"), range(8)))
    assert {image.size for image in opened} == {(64, 64)}
    assert {image.getpixel((9, 9)) for image in opened} == {(128, 128, 128)}
    assert len(warnings) == 1
    assert "dish-12" in warnings[0]
    assert path in warnings[0]
    assert path in images.broken_images()


def test_a_sound_picture_is_not_reported(tmp_path: Path) -> None:
    path = write_image(tmp_path / "fine.png")
    assert images.open_image(path, "d").getpixel((0, 0)) == RED
    assert path not in images.broken_images()
