from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

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
        {"doc_id": "3"},
        {"doc_id": None, "id": "r7"},
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


@pytest.mark.parametrize("own", [7, "7"])
@pytest.mark.parametrize("given", [7, "7"])
def test_a_number_and_its_text_are_one_name(tmp_path: Path, own: object, given: object) -> None:
    answers = recorded(tmp_path, {"id": given, "response": "B"})
    assert answers.find("t", 0, {"id": own, "images": []}) == "B"
    assert answers.find("t", 0, {"id": "07", "images": []}) is None


def test_an_id_in_both_forms_is_answered_twice(tmp_path: Path) -> None:
    rows = ({"id": 7, "response": "B"}, {"id": "7", "response": "C"})
    with pytest.raises(ValueError, match=r"a second answer for id 7; .* told apart by doc_id"):
        recorded(tmp_path, *rows)


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    said: list[str] = []
    handler = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(handler)


DOCS = [{"id": str(n), "images": [f"/data/{n}.jpg"]} for n in range(5)]


@pytest.mark.parametrize(
    "name", [{"id": 4}, {"doc_id": 4}, {"image": "4.jpg"}, {"task": "t", "id": "4"}]
)
def test_answers_of_which_one_fits_are_no_strangers(
    tmp_path: Path, warnings: list[str], name: dict[str, object]
) -> None:
    lines = ({**name, "response": None}, {"id": "stranger", "response": "B"})
    recorded(tmp_path, *lines).warn_of_strangers("t", DOCS)
    assert warnings == []


def test_answers_of_which_none_fits_are_said(tmp_path: Path, warnings: list[str]) -> None:
    lines = [{"id": f"dish-{n}", "response": "B"} for n in range(9)]
    lines.append({"task": "u", "doc_id": 1, "response": "B"})
    recorded(tmp_path, *lines).warn_of_strangers("t", DOCS)
    assert warnings == [
        "food_replay: no recorded answer (id dish-0, id dish-1, id dish-2, …) is for a document of "
        "t (doc_id 0, id 0, image 0.jpg); all its requests count as failed"
    ]


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
        ('{"id": null, "response": "B"}', "names no document"),
        ('{"id": [7], "response": "B"}', "`id` must be a text or a whole number"),
        ('{"doc_id": true, "response": "B"}', "`doc_id` must be a text or a whole number"),
        ('{"doc_id": 1.5, "response": "B"}', "`doc_id` must be a text or a whole number"),
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
