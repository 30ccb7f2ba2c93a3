"""The record of one VQA answer: what was asked and answered, what the judge said, ROUGE scores.

Everything that is reported about the VQA tasks is computed from these records; the sample logs
keep them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.tasks.common import as_logged

NO_JUDGE = "no judge configured"


@dataclass(frozen=True, slots=True)
class VqaRecord:
    """One answered question.

    Attributes:
        id: The document's own id.
        reader: Whose rules read it, "official" or "robust".
        status: How the answer was read (`filters.reading.Status`).
        raw: The model's text, unchanged.
        marks: What the reader noted about it.
        question: The question without the prompt's fixed last line.
        truth: The true answer.
        answer: The answer's text; "" where there is none.
        language: The question's language, "zh" or "en".
        category: The question's category, "" where the data name none.
        dish: The dish it is about: questions of one dish are no independent evidence.
        data: Where the documents came from.
        broken_pictures: Pictures that could not be opened and were sent as grey squares.
        rouge_1: ROUGE-1 F, None where it does not count or cannot be computed.
        rouge_2: ROUGE-2 F, likewise.
        rouge_l: ROUGE-L F, likewise.
        verdicts: Whether the answer is right by the "official" and by the "strict" reading of the
            judge's reply (None: unclear); None where the answer was not judged.
        reply: The judge's reply, None where it was not asked or gave none.
        not_judged: Why there is no verdict by this reader's rules, "" where there is one or the
            document does not count.
        judge: Fingerprint of the judge, "" where there is none.
    """

    id: str
    reader: str
    status: str
    raw: str
    marks: tuple[str, ...]
    question: str
    truth: str
    answer: str
    language: str
    category: str
    dish: str
    data: str
    broken_pictures: int
    rouge_1: float | None
    rouge_2: float | None
    rouge_l: float | None
    verdicts: dict[str, bool | None] | None = None
    reply: str | None = None
    not_judged: str = NO_JUDGE
    judge: str = ""

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the record that a sample log holds; other fields are ignored."""
        known = {name: fields[name] for name in cls.__slots__}
        return cls(**{**known, "marks": tuple(fields["marks"])})

    @property
    def failed(self) -> bool:
        """Whether the request never got an answer."""
        return self.status == Status.FAILED

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right by this reader's rules; None where that is not known."""
        if self.verdicts is None:
            return None
        return self.verdicts["official" if self.reader == "official" else "strict"]

    def scores(self) -> dict[str, Any]:
        """Return what the host aggregates and logs for this document."""
        return {
            "record": as_logged(self),
            "judge_acc": None if self.correct is None else float(self.correct),
            "not_judged": self.id if self.not_judged else None,
            "rouge_1": self.rouge_1,
            "rouge_2": self.rouge_2,
            "rouge_l": self.rouge_l,
            "failed_requests": self.id if self.failed else None,
            "judge": self.judge or "none",
            "data": self.data,
        }
