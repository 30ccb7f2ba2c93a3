from __future__ import annotations

import json
from pathlib import Path

import pytest

from lmms_eval_food.tasks.replay import RecordedAnswers

DOC = {"id": "r7", "images": ["/data/images/00007_0.jpg", "/data/images/00007_1.jpg"]}


def recorded(tmp_path: Path, *rows: object) -> RecordedAnswers:
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n\n", encoding="utf-8")
    return RecordedAnswers.read([file])


@pytest.mark.parametrize(
    "name",
    [
        {"doc_id": 3},
        {"id": "r7"},
        {"image": "00007_0.jpg"},
        {"image": "images/00007_1.jpg"},
        {"task": "t", "doc_id": 3},
    ],
)
def test_a_document_is_found_by_each_of_its_names(tmp_path: Path, name: dict[str, object]) -> None:
    answers = recorded(tmp_path, {**name, "response": "B"})
    assert answers.find("t", 3, DOC) == "B"
    assert answers.find("t", 4, {"id": "other", "images": []}) is None


def test_a_line_for_one_task_wins_and_stays_with_it(tmp_path: Path) -> None:
    answers = recorded(
        tmp_path,
        {"id": "r7", "response": "any"},
        {"task": "t", "id": "r7", "response": "this"},
    )
    assert answers.find("t", 0, DOC) == "this"
    assert answers.find("u", 0, DOC) == "any"


def test_a_null_response_is_no_answer(tmp_path: Path) -> None:
    assert recorded(tmp_path, {"id": "r7", "response": None}).find("t", 0, DOC) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"answers\.jsonl:1: not JSON"),
        ("[]", "needs an object"),
        ('{"id": "a"}', "has no `response`"),
        ('{"id": "a", "response": 3}', "text or null"),
        ('{"response": "B"}', "names no document"),
        (
            '{"id": "a", "response": "B"}\n{"id": "a", "response": "C"}',
            r"answers\.jsonl:2: a second answer for id a",
        ),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text(line, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        RecordedAnswers.read([file])
