"""What the hooks of the three benchmarks share: documents in, requests out, records scored."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_food.tasks import data, host_cache, images, made_with, picture_files, rehearsal
from lmms_eval_food.tasks.rows import DataError

if TYPE_CHECKING:
    from datasets import Dataset
    from PIL.Image import Image

Doc = dict[str, Any]
Message = dict[str, Any]


def documents(benchmark: str, table: str) -> Dataset:
    """Return a prepared table, or end the run with one clear message.

    A column `data` says where the documents came from. The host retries a failing load five times
    and hides the reason behind its own error; SystemExit is the one exception that it lets through
    at once. Whoever loads documents is about to send them, so this also makes the host send
    picture files as they are, its response cache safe for them, and its results name versions.
    """
    try:
        docs = data.load(benchmark, table)
        origin = data.provenance(benchmark)
        images.max_pixels()
    except (DataError, ValueError) as error:
        raise SystemExit(f"lmms-eval-food: {error}") from error
    picture_files.install()
    host_cache.install()
    rehearsal.install()
    made_with.install()
    placeholders = ", no real pictures" if origin.placeholders else ""
    text = f"{origin.kind}@{origin.checksum}{placeholders}"
    return docs.add_column("data", [text] * len(docs))


def rebuilt(docs: Dataset, rows: Sequence[Doc], kept: str = "") -> Dataset:
    """Return changed rows as a dataset with the types of the one they came from.

    Columns that the original lacks hold texts or flags. No rows end the run with one message, as
    in `documents`; `kept` says in words what a row must be to be one ("about a dish image").
    """
    from datasets import Dataset, Features, Value

    if not rows:
        what = kept or "a question of this task"
        raise SystemExit(
            f"lmms-eval-food: none of the data's {len(docs)} rows is {what}: the task has nothing "
            "to ask"
        )
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    new = {
        name: Value("bool" if isinstance(values[0], bool) else "string")
        for name, values in columns.items()
        if name not in docs.features
    }
    return Dataset.from_dict(columns, features=Features({**docs.features, **new}))


def visuals(doc: Doc) -> list[Image]:
    """Return the document's pictures in order, opened now."""
    return [images.open_image(path, doc["id"]) for path in doc["images"]]


def messages(doc: Doc, text: str, system: str = "") -> list[Message]:
    """Return the chat turns of a document: its pictures in order, then the text."""
    pictures = [picture_files.picture(path, doc["id"]) for path in doc["images"]]
    content: list[Message] = [{"type": "image", "url": image} for image in pictures]
    turns: list[Message] = [{"role": "user", "content": [*content, {"type": "text", "text": text}]}]
    if system:
        turns.insert(0, {"role": "system", "content": [{"type": "text", "text": system}]})
    return turns


def broken_pictures(doc: Doc) -> int:
    """Return how many of the document's pictures could not be opened in this process."""
    return len(images.broken_images().intersection(doc["images"]))


def as_logged(record: Any) -> dict[str, Any]:
    """Return a record (a dataclass with slots) as the sample log holds it.

    Not dataclasses.asdict, which copies every list: this runs for each answer and reader.
    """
    return {name: getattr(record, name) for name in record.__slots__}


class InRecord:
    """A value that several scores of one document share.

    The host logs every value that it aggregates; this text keeps the log short, since the log's
    `record` says everything.
    """

    def __str__(self) -> str:
        return "see record"


# Aggregations: each gets one value a document, None where the document does not count.


def mean(values: Sequence[float | None]) -> float:
    """Return the mean of the values that are not None; nan when there are none."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else math.nan


def count(ids: Sequence[str | None]) -> int:
    """Return how many documents something is true of; each value is the document's id or None.

    Ids, not flags: of numbers the host would compute a standard error that means nothing.
    """
    return sum(name is not None for name in ids)


def failures(ids: Sequence[str | None]) -> int:
    """Return how many requests failed, like `count`, and warn about them."""
    failed = tuple(name for name in ids if name is not None)
    if failed:
        _warn_of_failures(failed, len(ids))
    return len(failed)


@functools.lru_cache  # one warning a run, not one a filter
def _warn_of_failures(failed: tuple[str, ...], asked: int) -> None:
    shown = ", ".join(failed[:10]) + (", …" if len(failed) > 10 else "")
    logger.warning(
        f"{len(failed)} of {asked} requests failed ({shown}). They are no answers; the robust "
        "scores leave them out. The run is incomplete: rerun them before comparing."
    )


def same(values: Sequence[str]) -> str:
    """Return the one text that all documents share, or all of them where they differ."""
    return " | ".join(sorted(set(values)))
