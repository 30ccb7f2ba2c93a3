"""DiningBench: how a document becomes a request, and a reading a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_food.filters.reading import Reading
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.choices import record_of
from lmms_eval_food.tasks.common import Doc, Message

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL.Image import Image

BENCHMARK = "diningbench"


def classification_docs(manifest: Dataset) -> Dataset:
    """Return the Chinese classification rows in place of the packaged manifest."""
    return common.documents(BENCHMARK, "classification")


def classification_docs_en(manifest: Dataset) -> Dataset:
    """Return the English classification rows in place of the packaged manifest."""
    return common.documents(BENCHMARK, "classification_en")


def first_view(doc: Doc) -> Doc:
    """Return the document with its standard image alone (the paper's main setting)."""
    return {**doc, "images": doc["images"][:1]}


def doc_to_visual(doc: Doc) -> list[Image]:
    """Return the standard image."""
    return common.visuals(first_view(doc))


def doc_to_text(doc: Doc) -> str:
    """Return the row's prompt as it stands."""
    return str(doc["prompt"])


def doc_to_messages(doc: Doc) -> list[Message]:
    """Return the chat form of the same request."""
    return common.messages(first_view(doc), doc_to_text(doc))


def classification(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a letter; the benchmark's own reading takes a failed request for a wrong answer."""
    reading = Reading.from_json(results[0])
    record = record_of(
        first_view(doc),
        reading,
        truth=doc["ground_truth"],
        answer=reading.value,
        failed_is_wrong=reading.reader == "official",
        dish=doc["id"],
    )
    return record.scores()
