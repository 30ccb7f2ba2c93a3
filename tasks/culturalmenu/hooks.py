"""CulturalMenuBench: how a document becomes a request, and a reading a record."""

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

BENCHMARK = "culturalmenu"
LANGUAGES = ("zh", "en", "es", "fr", "hi", "it", "th", "ja", "ko", "vi")
# Section 2.2 counts four recognition and six process-grounded relations without listing them. A
# dish image beside one fact of its own dish is recognition; comparing two dishes and everything
# that shows cooking steps is not ("relational and process-grounded", Section 3.3).
TIERS = {
    "dish_image-dish_name": "recognition",
    "dish_image-category": "recognition",
    "dish_image-raw_material": "recognition",
    "dish_image-practice_text": "recognition",
    "practice_image-dish_name": "process",
    "practice_image-category": "process",
    "practice_image-raw_material": "process",
    "practice_image-practice_text": "process",
    "dish_image-dish_image": "process",
    "practice_image-practice_image": "process",
}


def binary_docs(manifest: Dataset) -> Dataset:
    """Return the yes/no questions in place of the packaged manifest."""
    return common.documents(BENCHMARK, "binary")


def doc_to_visual(doc: Doc) -> list[Image]:
    """Return all pictures of the question in order."""
    return common.visuals(doc)


def doc_to_text(doc: Doc) -> str:
    """Return the question as it stands."""
    return str(doc["prompt"])


def doc_to_messages(doc: Doc) -> list[Message]:
    """Return the chat form of the same request."""
    return common.messages(doc, doc_to_text(doc))


def binary(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a yes or no, overall and in the groups that the question belongs to."""
    reading = Reading.from_json(results[0])
    said = reading.value or {"answer": None, "languages": []}
    groups = {
        "relation": doc["relation"],
        "tier": TIERS[doc["relation"]],
        "language": doc["language"],
    }
    record = record_of(
        doc,
        reading,
        truth=doc["answer"],
        answer=said["answer"],
        dish=doc["dish_ids"][0],
        groups=groups,
    )
    scores = record.scores()
    foreign = said["answer"] is not None and doc["language"] not in said["languages"]
    return {
        **scores,
        "yes_rate": float(said["answer"] == "yes") if said["answer"] else None,
        "other_language": record.id if foreign else None,
        **common.group_keys("acc_relation", list(TIERS), groups["relation"], scores["acc"]),
        **common.group_keys("acc_tier", ["recognition", "process"], groups["tier"], scores["acc"]),
        **common.group_keys("acc_language", LANGUAGES, groups["language"], scores["acc"]),
    }
