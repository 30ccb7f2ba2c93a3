"""The records of yes/no questions: what is noted about an answer's language."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.tasks.culturalmenu import hooks

DOC = {
    "id": "q",
    "relation": "dish_image-dish_name",
    "language": "th",
    "dish_ids": ["d1"],
    "images": [],
    "answer": "no",
    "data": "made@1",
}


@pytest.mark.parametrize(
    ("value", "marks", "counted"),
    [
        ({"answer": "no", "languages": ["th"]}, ("seen",), None),
        ({"answer": "no", "languages": ["en", "es", "it"]}, ("seen", "other_language"), "q"),
        ({"answer": "yes", "languages": ["zh"]}, ("seen", "other_language"), "q"),
        (None, ("seen",), None),
    ],
)
def test_an_answer_in_another_language_is_marked(
    value: dict[str, Any] | None, marks: tuple[str, ...], counted: str | None
) -> None:
    status = Status.OK if value else Status.UNREADABLE
    reading = Reading(raw="?", value=value, status=status, marks=("seen",), reader="robust")
    scores = hooks.binary(DOC, [reading.to_json()])
    assert scores["record"]["marks"] == marks
    assert scores["other_language"] == counted
