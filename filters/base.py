"""The one thing our filters share: each reply of each request becomes a reading."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from lmms_eval.api.filter import Filter

from lmms_eval_food.filters.reading import Reading


class ReadingFilter(Filter):  # type: ignore[misc] # the host is untyped
    """Base of our filters: subclasses say how one text is read, and by whose rules.

    Attributes:
        reader: "official" (the benchmark's own rules, faults included) or "robust" (ours).
    """

    reader: ClassVar[str]

    @abstractmethod
    def read(self, text: str | None) -> Reading:
        """Return the reading of one reply; must accept any text and never raise."""

    def apply(self, resps: Iterable[Sequence[str | None]], docs: Any) -> list[list[str]]:
        """Return the replies as JSON readings, in order.

        `docs` is ignored: the host hands over the whole split, which does not line up with the
        replies under --limit, --offset or several ranks.
        """
        return [
            [replace(self.read(text), reader=self.reader).to_json() for text in replies]
            for replies in resps
        ]
