"""Canteen portion set: how a photo becomes a request, and a reading a record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.canteen import matcher
from lmms_eval_food.tasks.canteen.aggregations import Outcome
from lmms_eval_food.tasks.canteen.record import TrayRecord
from lmms_eval_food.tasks.common import Doc, Message

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL.Image import Image

BENCHMARK = "canteen"
# Section 4 of the paper asks for shorter names in an experiment and does not print its words.
CONCISE = "Name each food by its shortest common name, without ingredients, cooking or container."
THRESHOLDS = (60, 70, 80, 90)
SCORES = (
    *("precision", "recall", "f1"),
    *(f"{name}_at_{percent}" for percent in THRESHOLDS for name in ("precision", "recall", "f1")),
    *("mae", "medae", "rmse", "medape", "nmae", "cpmae", "cpmae_fp", "meal_ae", "matched"),
)


def portions_docs(manifest: Dataset) -> Dataset:
    """Return the trays in place of the packaged manifest, once their matcher is known to work."""
    docs = common.documents(BENCHMARK, "portions")
    matcher.check()
    return docs


def concise_docs(manifest: Dataset) -> Dataset:
    """Return the trays with a prompt that also asks for the shortest common names."""
    docs = portions_docs(manifest)
    rows = [{**doc, "user_prompt": f"{doc['user_prompt'].rstrip()}\n\n{CONCISE}"} for doc in docs]
    return common.rebuilt(docs, rows)


def doc_to_visual(doc: Doc) -> list[Image]:
    """Return the tray's photo."""
    return common.visuals(doc)


def doc_to_text(doc: Doc) -> str:
    """Return both prompts as one text, for backends without a system turn."""
    return f"{doc['system_prompt']}\n\n{doc['user_prompt']}"


def doc_to_messages(doc: Doc) -> list[Message]:
    """Return the chat form: the benchmark's system turn, then the photo and its prompt."""
    return common.messages(doc, doc["user_prompt"], doc["system_prompt"])


def doc_to_target(doc: Doc) -> str:
    """Return the labels as one line for the sample log."""
    return "; ".join(f"{f} {g:g} g" for f, g in zip(doc["foods"], doc["grams"], strict=True))


def portions(doc: Doc, results: Sequence[str]) -> dict[str, Any]:
    """Score the foods and weights read from an answer; unreadable ones count as no foods."""
    reading = Reading.from_json(results[0])
    items = reading.value["items"] if reading.value else []
    names = [item["name"] for item in items]
    chosen = matcher.configured()
    (similarity,) = chosen.score([(names, doc["foods"])])
    record = TrayRecord(
        id=doc["id"],
        reader=reading.reader,
        status=reading.status,
        step=reading.step,
        marks=reading.marks,
        raw=reading.raw,
        items=items,
        foods=doc["foods"],
        grams=doc["grams"],
        similarity=similarity.tolist(),
        matcher=chosen.fingerprint,
        participant=doc["participant"],
        data=doc["data"],
        broken_pictures=common.broken_pictures(doc),
    )
    return {
        "record": record.to_dict(),
        **dict.fromkeys(SCORES, Outcome(None if record.failed else record.result())),
        "repaired": record.id if reading.status is Status.REPAIRED else None,
        "unreadable_rate": None if record.failed else float(reading.value is None),
        "failed_requests": record.id if record.failed else None,
        "matcher": f"{chosen.name} >= {PRIMARY_THRESHOLD}",
        "data": record.data,
    }
