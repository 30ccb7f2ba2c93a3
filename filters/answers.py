"""What all readers do first: set aside replies that hold no answer, and the reasoning."""

from __future__ import annotations

from abc import abstractmethod

from lmms_eval_food.filters.base import ReadingFilter
from lmms_eval_food.filters.reading import Reading, Status, unanswered
from lmms_eval_food.filters.reasoning import strip_reasoning


def answer_of(text: str | None) -> Reading | str:
    """Return the answer a reply holds, or the reading of a reply that holds none.

    A failed request, no text, a blank text, reasoning that was cut off (truncated) and reasoning
    without an answer after it (empty) hold none.
    """
    raw = text or ""
    if nothing := unanswered(raw):
        return nothing
    stripped = strip_reasoning(raw)
    if stripped.truncated:
        return Reading(raw, None, Status.TRUNCATED)
    return stripped.answer or Reading(raw, None, Status.EMPTY)


class OfficialFilter(ReadingFilter):
    """Base of the published readings: any text that holds something is read as it stands."""

    reader = "official"

    def read(self, text: str | None) -> Reading:
        """Return the reading of one reply; never raises."""
        raw = text or ""
        return unanswered(raw) or self.read_text(raw)

    @abstractmethod
    def read_text(self, text: str) -> Reading:
        """Return the reading of a reply that is neither blank nor a failed request."""


class RobustFilter(ReadingFilter):
    """Base of our readings: the reasoning goes first."""

    reader = "robust"

    def read(self, text: str | None) -> Reading:
        """Return the reading of one reply; never raises."""
        answer = answer_of(text)
        return answer if isinstance(answer, Reading) else self.read_answer(answer, text or "")

    @abstractmethod
    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of an answer that is not blank; `raw` is the whole reply."""
