"""The record of a question with one right option: a letter, or yes and no."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.common import Doc


@dataclass(frozen=True, slots=True)
class ChoiceRecord:
    """One answered question.

    Attributes:
        id: The document's own id.
        reader: Whose rules read it, "official" or "robust".
        truth: The right option.
        answer: The option read, None where none was.
        status: How the answer was read (`filters.reading.Status`).
        correct: Whether it is right; None where the document does not count.
        raw: The model's text, unchanged.
        step: The rule that read it.
        marks: What the reader noted about it.
        dish: The dish it is about (of several the first): questions of one dish are no
            independent evidence.
        data: Where the documents came from.
        broken_pictures: Pictures that could not be opened and were sent as grey squares.
        groups: What the document belongs to, e.g. {"language": "zh"}.
        options: The options in the order of their letters, where the diagnosis needs them.
    """

    id: str
    reader: str
    truth: str
    answer: str | None
    status: str
    correct: bool | None
    raw: str
    step: str
    marks: tuple[str, ...]
    dish: str
    data: str
    broken_pictures: int
    groups: dict[str, str] = field(default_factory=dict)
    options: list[str] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        """Whether the request never got an answer."""
        return self.status == Status.FAILED

    def scores(self) -> dict[str, Any]:
        """Return what the host aggregates and logs for this document."""
        counts = self.correct is not None
        return {
            "record": common.as_logged(self),
            "acc": float(bool(self.correct)) if counts else None,
            "unreadable_rate": float(self.answer is None) if counts else None,
            "failed_requests": self.id if self.failed else None,
            "data": self.data,
        }

    def group_scores(self, what: str, values: Iterable[str]) -> dict[str, float | None]:
        """Return `acc_{what}_{value}` for every value: the score under the document's own."""
        score = None if self.correct is None else float(self.correct)
        own = self.groups[what]
        return {f"acc_{what}_{value}": score if value == own else None for value in values}


def record_of(
    doc: Doc,
    reading: Reading,
    *,
    truth: str,
    answer: str | None,
    failed_is_wrong: bool = False,
    **fields: Any,
) -> ChoiceRecord:
    """Return the record of a reading; a failed request counts only where that is said."""
    counts = failed_is_wrong or reading.status is not Status.FAILED
    return ChoiceRecord(
        id=doc["id"],
        reader=reading.reader,
        truth=truth,
        answer=answer,
        status=reading.status,
        correct=answer == truth if counts else None,
        raw=reading.raw,
        step=reading.step,
        marks=reading.marks,
        data=doc["data"],
        broken_pictures=common.broken_pictures(doc),
        **fields,
    )
