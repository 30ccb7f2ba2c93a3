"""Faults of long answers: cut off, running in a loop; and how long answers are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

_TAG = re.compile(r"<(?P<close>/?)(?:think|thinking|analysis|reasoning)>", re.IGNORECASE)

_SHORTEST_TAIL = 200
_LEAST_COVERED = 0.8
_LONGEST_SPAN = 1 / 3
# Where in the tail, as shares of it, and by how many letters a repeated span is looked for. A loop
# that covers four fifths of the tail holds most of these places.
_PLACES = (0.5, 0.35, 0.65, 0.2, 0.8)
_ANCHORS = (256, 32, 8)
_RECURRENCES = 4


def cut_off(text: str) -> bool:
    """Tell whether a raw answer ends within its reasoning: an opening tag is never closed.

    The tags are ``think``, ``thinking``, ``analysis`` and ``reasoning``, in any case; any closing
    tag closes. An answer that was cut off after its reasoning, or wrote no tags, cannot be told
    from a finished one by its text.

    Args:
        text: The model's whole answer; "" is not cut off.

    Source: DiningBench, Section 5 (reasoning that does not end); the measure is ours.

    >>> cut_off("<think>Could be C, the rice"), cut_off("<think>C?</think>B")
    (True, False)
    """
    last = None
    for last in _TAG.finditer(text):  # noqa: B007 # the last one is wanted
        pass
    return last is not None and not last["close"]


def loops(text: str) -> bool:
    """Tell whether a raw answer runs in a loop: one span repeats over most of its end.

    The end is the last half of the text, at least 200 characters; shorter texts do not loop. It
    loops when non-overlapping occurrences of one span of at most a third of it cover at least 80
    percent of it. Other text between the occurrences, such as a counter, is allowed within the
    rest.

    The span is looked for at five places of the end, from the next four recurrences of the 256, 32
    and 8 characters that stand there, so time is linear. A loop is missed where the span is
    shorter than 8 characters with other text between its occurrences, or where each of the places
    lies on such other text.

    Args:
        text: The model's whole answer.

    Source: DiningBench, Section 5 ("infinite thinking loops"); the measure is ours.

    >>> loops("Is it rice? Wait, let me look again. " * 20), loops("C" * 100)
    (True, False)
    """
    if len(text) < _SHORTEST_TAIL:
        return False
    tail = text[-max(_SHORTEST_TAIL, len(text) // 2) :]
    wanted = _LEAST_COVERED * len(tail)
    return any(tail.count(span) * len(span) >= wanted for span in _repeated(tail))


def mean_length(texts: Sequence[str]) -> float:
    """Mean length of raw answers in characters, reasoning included.

    Args:
        texts: n answers.

    Returns:
        In [0, inf); nan when n == 0.

    Source: ours.

    >>> mean_length(["B", "The answer is B."])
    8.5
    """
    return sum(map(len, texts)) / len(texts) if texts else math.nan


def _repeated(tail: str) -> Iterator[str]:
    """Yield spans, at most a third of the tail long, that occur in it at least twice."""
    codes = np.frombuffer(tail.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    longest = int(_LONGEST_SPAN * len(tail))
    for length in _ANCHORS:
        for place in (int(share * len(tail)) for share in _PLACES):
            again = place
            for _ in range(_RECURRENCES):
                again = tail.find(tail[place : place + length], again + 1)
                if again < 0 or again - place > longest:
                    break
                first, end = _common(codes, place, again)
                yield tail[first:end]


def _common(codes: npt.NDArray[np.uint32], place: int, again: int) -> tuple[int, int]:
    """Return the longest span around one place that is the same around another.

    Both grow to the right, then to the left, until they differ or would overlap.
    """
    period = again - place
    right = _equal(codes[place:again], codes[again : again + period])
    left = _equal(codes[:place][::-1][: period - right], codes[:again][::-1][: period - right])
    return place - left, place + right


def _equal(first: npt.NDArray[np.uint32], second: npt.NDArray[np.uint32]) -> int:
    """Return how many elements are the same from the start on."""
    size = min(first.size, second.size)
    differs = first[:size] != second[:size]
    return int(differs.argmax()) if differs.any() else size
