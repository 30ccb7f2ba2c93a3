"""What every filter returns: one answer, read or not, with the words it was read from.

The host hands filtered answers on as strings and strips them, so a reading travels as JSON.
``<`` and ``>`` are escaped on the way: the host cuts its reasoning tags out of filtered answers,
and the raw text kept here must survive that.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

# Written by the host's API backends in place of an answer.
FAILURE_MARKERS = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED]")

# What the host's async_openai backend makes of a reply whose content is null.
NO_CONTENT = 'Error: can only concatenate str (not "NoneType") to str'

_SURROGATE = re.compile("[\ud800-\udfff]")


class Status(StrEnum):
    """How an answer could be read."""

    OK = "ok"
    REPAIRED = "repaired"
    UNREADABLE = "unreadable"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Reading:
    """One answer as a filter read it.

    Attributes:
        raw: The model's text, unchanged but for lone surrogates ("" where the backend returned
            none).
        value: What was read, as JSON-able data; None unless status is ok or repaired.
        status: How it could be read.
        step: The rule that read it, e.g. "json" or "list"; "" where none did.
        marks: Things worth counting about it, e.g. "language:en".
        reader: Whose rules read it, "official" or "robust"; the host's log does not tell.
    """

    raw: str
    value: Any
    status: Status
    step: str = ""
    marks: tuple[str, ...] = ()
    reader: str = ""

    def __post_init__(self) -> None:
        """Make every text writable: one lone surrogate and the host writes no sample log."""
        object.__setattr__(self, "raw", writable(self.raw))
        object.__setattr__(self, "value", writable(self.value))

    def to_json(self) -> str:
        """Return the reading as ASCII JSON without ``<`` and ``>``."""
        # Not dataclasses.asdict, which copies every list: this runs for each answer and filter.
        fields = {name: getattr(self, name) for name in self.__slots__}
        text = json.dumps(fields, ensure_ascii=True)
        return text.replace("<", "\\u003c").replace(">", "\\u003e")

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the reading that `to_json` wrote."""
        fields = json.loads(text)
        return cls(
            raw=fields["raw"],
            value=fields["value"],
            status=Status(fields["status"]),
            step=fields["step"],
            marks=tuple(fields["marks"]),
            reader=fields["reader"],
        )


def writable(value: Any) -> Any:
    """Return JSON-able data with texts that UTF-8 can hold.

    Half an emoji, as a model may escape it in JSON, becomes U+FFFD; two halves that stand side by
    side become their character.
    """
    if isinstance(value, str):
        if value.isascii() or not _SURROGATE.search(value):
            return value
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if isinstance(value, dict):
        return {writable(key): writable(inner) for key, inner in value.items()}
    return [writable(inner) for inner in value] if isinstance(value, list) else value


def unanswered(text: str | None) -> Reading | None:
    """Return the reading of a text that holds no answer at all, else None.

    A missing or blank text is empty, and so is the host's text for a reply without content; a text
    the host wrote for a failed call is a failed request.
    """
    if text is None or not text.strip() or text.strip() == NO_CONTENT:
        return Reading(text or "", None, Status.EMPTY)
    if text.lstrip().startswith(FAILURE_MARKERS):
        return Reading(text, None, Status.FAILED)
    return None
