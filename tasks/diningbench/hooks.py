"""DiningBench: how a document becomes a request, and a reading a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_food.filters.reading import Reading
from lmms_eval_food.tasks import choices, common, judging
from lmms_eval_food.tasks.common import Doc, Message
from lmms_eval_food.tasks.diningbench import vqa

if TYPE_CHECKING:
    from PIL.Image import Image


def doc_to_visual(doc: Doc) -> list[Image]:
    """Return the document's pictures in order."""
    return common.visuals(doc)


def doc_to_text(doc: Doc) -> str:
    """Return the prompt."""
    return str(doc["prompt"])


def doc_to_messages(doc: Doc) -> list[Message]:
    """Return the chat form of the same request."""
    return common.messages(doc, doc_to_text(doc))


def classification(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a letter; the benchmark's own reading takes a failed request for a wrong answer."""
    reading = Reading.from_json(results[0])
    record = choices.record_of(
        doc,
        reading,
        truth=doc["ground_truth"],
        answer=reading.value,
        dish=doc["id"],
        failed_is_wrong=reading.reader == "official",
    )
    return {**record.scores(), "views_short": doc["id"] if doc["views_short"] else None}


def question(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a free-text answer by the judge's verdict, where there is a judge, and by ROUGE."""
    record = vqa.record_of(doc, Reading.from_json(results[0]))
    (judged,) = vqa.judge_records([record], judging.configured())
    return judged.scores()
