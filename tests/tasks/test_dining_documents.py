"""DiningBench's rows as documents: truths in one form, and the first views that exist."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks.diningbench import documents
from lmms_eval_food.tasks.diningbench.nutrition import true_values
from lmms_eval_food.tasks.diningbench.truths import amounts
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.tables import read_table

Row = dict[str, Any]
ENGLISH = {"calories": 350, "protein": 12, "carbohydrates": 40, "fat": 15}
CHINESE = {"卡路里": "350", "蛋白质": 12, "碳水化合物": 40, "脂肪": 15}


def write(folder: Path, table: str, *rows: Row) -> None:
    """Write rows that show two pictures; what they say goes before what all rows say."""
    common = {"id": "1", "prompt": "?", "standard_image": "0.jpg", "user_images": ["1.jpg"]}
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({**common, **row}, ensure_ascii=False) + "\n" for row in rows]
    (folder / f"{table}.jsonl").write_text("".join(lines), encoding="utf-8")


@pytest.mark.parametrize("letter", ["F", "f", " f ", "F\n"])
def test_the_true_letter_is_kept_as_answers_are_read(tmp_path: Path, letter: str) -> None:
    write(tmp_path, "classification", {"ground_truth": letter})
    (document,) = read_table(tmp_path, "diningbench", "classification")
    assert document["ground_truth"] == "F"


@pytest.mark.parametrize("category", [{}, {"category": None}, {"category": ""}, {"category": " "}])
def test_a_blank_category_is_none(tmp_path: Path, category: Row) -> None:
    write(tmp_path, "classification", {"ground_truth": "A", **category})
    (document,) = read_table(tmp_path, "diningbench", "classification")
    assert document["category"] == ""


@pytest.mark.parametrize(
    ("truth", "expected"),
    [
        (ENGLISH, [350, 12, 40, 15]),
        (CHINESE, [350, 12, 40, 15]),
        (json.dumps(ENGLISH), [350, 12, 40, 15]),
        ({**CHINESE, "精炼菜品名称": "汤"}, [350, 12, 40, 15]),
        # Of both languages the first key counts, whatever the other holds.
        ({**ENGLISH, "脂肪": 99}, [350, 12, 40, 15]),
        ({**ENGLISH, "脂肪": "little"}, [350, 12, 40, 15]),
        ({"脂肪": 99, **ENGLISH}, [350, 12, 40, 99]),
        ({**CHINESE, "卡路里": 0}, [0, 12, 40, 15]),
        ({"卡路里": 1, "protein": 2, "碳水化合物": 3, "fat": 4}, [1, 2, 3, 4]),
    ],
)
def test_a_true_value_is_checked_as_it_is_scored(
    tmp_path: Path, truth: object, expected: list[float]
) -> None:
    write(tmp_path, "nutrition", {"ground_truth": truth})
    (document,) = read_table(tmp_path, "diningbench", "nutrition")
    assert true_values(document) == expected


@pytest.mark.parametrize(
    "wrong", [-1, "-0.5", float("nan"), float("inf"), None, "", "some", [], {}, 10**400]
)
def test_what_is_no_amount_is_named_with_file_and_line(tmp_path: Path, wrong: object) -> None:
    write(
        tmp_path,
        "nutrition",
        {"ground_truth": ENGLISH},
        {"ground_truth": {**CHINESE, "脂肪": wrong}},
    )
    with pytest.raises(DataError, match=r"nutrition\.jsonl, line 2: field 'ground_truth' must be"):
        read_table(tmp_path, "diningbench", "nutrition")


@given(
    st.recursive(
        st.none() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_any_value_is_four_amounts_or_an_error(value: object) -> None:
    for truth in (value, json.dumps(value)):
        with pytest.raises(ValueError, match="not four amounts"):
            amounts(truth)


# Views


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path))
    return tmp_path / "diningbench"


def shown(root: Path, task: str) -> list[tuple[list[str], bool]]:
    docs = getattr(documents, task)(None)
    return [([Path(p).name for p in doc["images"]], doc["views_short"]) for doc in docs]


@pytest.mark.parametrize(
    ("standard", "there", "one", "two", "four"),
    [
        # All four; the second user picture is missing; the standard picture is missing.
        ("0.jpg", "0123", "0", "01", ("0123", False)),
        ("0.jpg", "013", "0", "01", ("013", True)),
        ("0.jpg", "023", "0", "02", ("023", True)),
        ("0.jpg", "123", "0", "01", ("0123", False)),
        ("0.jpg", "", "0", "0", ("0", True)),
        # No standard picture in the row: the user pictures that exist.
        ("", "123", "1", "12", ("123", True)),
        (None, "23", "2", "23", ("23", True)),
        ("", "", "1", "1", ("1", True)),
    ],
)
def test_the_first_views_that_exist(
    root: Path, standard: str | None, there: str, one: str, two: str, four: tuple[str, bool]
) -> None:
    views = {"standard_image": standard, "user_images": ["1.jpg", "2.jpg", "3.jpg"]}
    # A second row whose pictures exist: data without any are an error of their own.
    write(
        root,
        "classification",
        {"ground_truth": "A", **views},
        {"ground_truth": "A", "standard_image": "z.jpg"},
    )
    for name in (*there, "z"):
        (root / f"{name}.jpg").touch()
    assert shown(root, "cls")[0] == (names(one), False)
    assert shown(root, "cls_views2")[0] == (names(two), len(two) < 2)
    assert shown(root, "cls_views4")[0] == (names(four[0]), four[1])


def names(digits: Sequence[str]) -> list[str]:
    return [f"{digit}.jpg" for digit in digits]


def test_questions_show_all_their_pictures(root: Path) -> None:
    pytest.importorskip("rouge_chinese")
    write(root, "vqa", {"ground_truth": "yes", "images": ["a.jpg", "b.jpg"]})
    (root / "b.jpg").touch()
    # Question and answer may be about the one that is missing.
    assert shown(root, "vqa") == [(["a.jpg", "b.jpg"], False)]
