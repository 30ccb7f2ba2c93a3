"""Free-text answers: what is left of a reply once its reasoning is gone."""

from __future__ import annotations

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import strip_official


class OfficialText(OfficialFilter):
    r"""The answer's text as DiningBench's scripts cut it out, a first ``\boxed{…}`` included.

    Value: the text; empty when nothing is left.
    """

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        answer = strip_official(text)
        if not answer:
            return Reading(text, None, Status.EMPTY)
        return Reading(text, answer, Status.OK, "text")


class RobustText(RobustFilter):
    """The answer's text without its reasoning. Value: the text."""

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        return Reading(raw, answer, Status.OK, "text")
