"""With which matcher and threshold canteen records are scored, as the records themselves say.

A log holds the similarities of one matcher and the host's numbers at the primary threshold. Where
a report scores them otherwise (`canteen.rescored`), each record says so in fields of its own, so
that tables, pictures and files cannot disagree.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD

# Fields of a rescored record: the threshold; matcher and threshold of the log; pairs of names that
# a language model should have decided and has not.
THRESHOLD, LOGGED_WITH, UNDECIDED = "threshold", "logged_with", "undecided_pairs"

Record = Mapping[str, Any]


def threshold_of(records: Sequence[Record]) -> float:
    """Return the lowest accepted similarity, in [0, 1], of one task's records."""
    return float(records[0].get(THRESHOLD, PRIMARY_THRESHOLD)) if records else PRIMARY_THRESHOLD


def named_thresholds(primary: float) -> dict[str, float]:
    """Return every threshold by what the names of its metrics end with, the primary one first.

    >>> named_thresholds(0.7)
    {'': 0.7, '_at_50': 0.5, '_at_60': 0.6, '_at_80': 0.8, '_at_90': 0.9}
    """
    others = [at for at in THRESHOLDS if not math.isclose(at, primary)]
    return {"": primary, **{f"_at_{round(100 * at)}": at for at in others}}


def logged_with(records: Sequence[Record]) -> str:
    """Return matcher and threshold of the log, "" where the records are scored as in the log."""
    return _joined(str(record.get(LOGGED_WITH, "")) for record in records)


def scoring_of(readers: Mapping[str, Sequence[Record]]) -> str:
    """Return matcher and threshold of a task's records, "" where none is needed.

    >>> scoring_of({"robust": [{"matcher": "minilm"}]})
    'minilm >= 0.5'
    """
    return _joined(_scoring(record) for records in readers.values() for record in records)


def distinct(records: Sequence[Record]) -> list[Any]:
    """Return the first record of each photo: one that was logged twice counts once."""
    found: dict[str, Record] = {}
    for record in records:
        found.setdefault(str(record["id"]), record)
    return [*found.values()]


def _scoring(record: Record) -> str:
    if not record.get("matcher"):
        return ""
    now = f"{record['matcher']} >= {record.get(THRESHOLD, PRIMARY_THRESHOLD):g}"
    before = record.get(LOGGED_WITH)
    return f"{now} (rescored; logged with {before})" if before else now


def _joined(texts: Any) -> str:
    return " | ".join(sorted({text for text in texts if text}))
