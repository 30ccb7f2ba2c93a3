"""What the tasks make of the prepared rows, and of tables that hold none of theirs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from loguru import logger

from lmms_eval_food.tasks.culturalmenu import documents
from tests.tasks.menu_sources import read_rows


@pytest.fixture
def root(mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root of one's own with the mini set's rows."""
    shutil.copytree(mini_root / "culturalmenu", tmp_path / "culturalmenu")
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    said: list[str] = []
    number = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(number)


def regional(root: Path, **changes: Any) -> list[dict[str, Any]]:
    """Return the sub-region rows, the first one changed."""
    rows = read_rows(root / "culturalmenu/region.jsonl")
    rows[0].update(changes)
    return rows


def put(root: Path, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (root / "culturalmenu/region.jsonl").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("task", ["region_text", "region_cot", "region_named"])
def test_regional_questions_without_dish_images(root: Path, task: str) -> None:
    put(root, [row for row in regional(root) if row["evidence"] == "practice_image"])
    with pytest.raises(SystemExit) as caught:
        getattr(documents, task)(None)
    # The interpreter prints the text and exits with 1.
    assert caught.value.code == (
        "lmms-eval-food: none of the data's 8 rows is about a dish image: the task has nothing to "
        "ask"
    )
    assert len(documents.region(None)) == 8


def test_a_name_of_cuisine_words_alone_is_not_asked_about(root: Path, warnings: list[str]) -> None:
    rows = regional(root, dish_name="正宗川菜")
    put(root, rows)
    asked = documents.region_text(None)
    assert rows[0]["evidence"] == "dish_image"
    assert asked["id"] == [row["id"] for row in rows[1:] if row["evidence"] == "dish_image"]
    assert any(rows[0]["id"] in said and "'正宗川菜'" in said for said in warnings)
    # The name is whole where it may stand.
    assert len(documents.region_named(None)) == 8
    assert "「正宗川菜」" in documents.region_named(None)[0]["prompt"]


def test_the_text_question_has_the_name_without_its_region(root: Path) -> None:
    put(root, regional(root, dish_name="【川菜】浙江西湖醋鱼"))
    assert '根据菜名判断，"西湖醋鱼" 属于' in documents.region_text(None)[0]["prompt"]


def test_first_step_keeps_two_groups(root: Path) -> None:
    docs = [
        doc
        for doc in documents.binary_first_step(None)
        if doc["relation"] == "practice_image-practice_image"
    ]
    assert docs
    assert all([len(group) for group in doc["image_groups"]] == [1, 1] for doc in docs)
