"""CulturalMenuBench: how a document becomes a request, and a reading a record."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_food.filters.reading import Reading
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.choices import record_of
from lmms_eval_food.tasks.common import Doc, Message
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    MC_RELATIONS,
    canonical_cuisine,
    families,
)

if TYPE_CHECKING:
    from PIL.Image import Image

TIERS = ("recognition", "process")
LETTERS = "ABCD"
# A record's mark: yes or no was read, and in no word of the question's language.
OTHER_LANGUAGE = "other_language"
EVIDENCE = ("dish_image", "practice_image")
CUISINES = tuple(cuisine for members in families().values() for cuisine in members)


def tier(relation: str) -> str:
    """Return whether a relation is recognition or process-grounded.

    Section 2.2 counts four recognition and six process-grounded binary relations without listing
    them. One dish's picture beside its name, category, ingredients or method is recognition;
    comparing two dishes and everything that shows cooking steps is not ("relational and
    process-grounded", Section 3.3).
    """
    compares = relation == "dish_image-dish_image"
    return "process" if compares or "practice_image" in relation else "recognition"


def doc_to_visual(doc: Doc) -> list[Image]:
    """Return all pictures of the question in order."""
    return common.visuals(doc)


def doc_to_text(doc: Doc) -> str:
    """Return the question."""
    return str(doc["prompt"])


def doc_to_messages(doc: Doc) -> list[Message]:
    """Return the chat form of the same request."""
    return common.messages(doc, doc_to_text(doc))


def binary(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a yes or no, overall and in the groups that the question belongs to."""
    reading = Reading.from_json(results[0])
    said = reading.value or {"answer": None, "languages": []}
    record = record_of(
        doc,
        reading,
        truth=doc["answer"],
        answer=said["answer"],
        dish=doc["dish_ids"][0],
        groups={name: doc[name] for name in ("relation", "language")}
        | {"tier": tier(doc["relation"])},
    )
    foreign = said["answer"] is not None and doc["language"] not in said["languages"]
    if foreign:
        record = dataclasses.replace(record, marks=(*record.marks, OTHER_LANGUAGE))
    return {
        **record.scores(),
        "yes_rate": float(said["answer"] == "yes") if said["answer"] else None,
        "other_language": record.id if foreign else None,
        **record.group_scores("relation", BINARY_RELATIONS),
        **record.group_scores("tier", TIERS),
        **record.group_scores("language", LANGUAGES),
    }


def multiple_choice(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a letter, overall and in the groups that the question belongs to."""
    reading = Reading.from_json(results[0])
    record = record_of(
        doc,
        reading,
        truth=doc["answer"],
        answer=reading.value,
        dish=doc["dish_id"],
        groups={name: doc[name] for name in ("relation", "language")}
        | {"tier": tier(doc["relation"]), "letter": doc["answer"]},
    )
    return {
        **record.scores(),
        **record.group_scores("relation", MC_RELATIONS),
        **record.group_scores("tier", TIERS),
        **record.group_scores("language", LANGUAGES),
        **record.group_scores("letter", LETTERS),
    }


def region(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score a cuisine's letter; the record keeps the options for the confusion diagnosis."""
    reading = Reading.from_json(results[0])
    options = list(doc["options"])
    true_cuisine = options[LETTERS.index(doc["answer"])]
    record = record_of(
        doc,
        reading,
        truth=doc["answer"],
        answer=reading.value,
        dish=doc["dish_id"],
        options=options,
        groups={
            "evidence": doc["evidence"],
            "cuisine": canonical_cuisine(true_cuisine) or true_cuisine,
            "letter": doc["answer"],
        },
    )
    return {
        **record.scores(),
        **record.group_scores("evidence", EVIDENCE),
        **record.group_scores("cuisine", CUISINES),
        **record.group_scores("letter", LETTERS),
    }
