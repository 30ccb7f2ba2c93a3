"""Faults of long answers: cut off, running in a loop; and how long answers are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

_NAMES = "(?:think|thinking|analysis|reasoning)"
_TAG = re.compile(rf"<(?P<close>/?){_NAMES}>", re.IGNORECASE)
_OPENING = re.compile(rf"\s*<{_NAMES}>", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAMES}>", re.IGNORECASE)

_SHORTEST_TAIL = 200
_LEAST_COVERED = 0.8
_LONGEST_SPAN = 1 / 3
# Spans with other text between them are a list below this: eight options, gone through twice.
_LEAST_APART = 17
# Where in the tail, as shares of it, and by how many letters a repeated span is looked for. A loop
# that covers four fifths of the tail holds most of these places.
_PLACES = (0.5, 0.35, 0.65, 0.2, 0.8)
_ANCHORS = (256, 32, 8)
_RECURRENCES = 4


class _Reasoning(Enum):
    """How an answer shows its reasoning."""

    OPEN = "begun and never ended"
    ENDED_ALONE = "ended, and begun nowhere: the prompt begins it"
    OTHER = "none, or begun and ended"
    NO_END = "neither begun nor ended"


def cut_off(text: str) -> bool:
    """Tell whether a raw answer alone shows that it ends within its reasoning.

    It does where an opening tag is never closed. The tags are ``think``, ``thinking``, ``analysis``
    and ``reasoning``, in any case; any closing tag closes. An opening tag counts where the answer
    begins, white space aside, or where the reasoning before it was closed; anywhere else the answer
    only mentions it. An answer that was cut off after its reasoning, or wrote no tags, cannot be
    told from a finished one by its text; see `cut_offs`.

    Args:
        text: The model's whole answer; "" is not cut off.

    Source: DiningBench, Section 5 (reasoning that does not end); the measure is ours.

    >>> cut_off("<think>Could be C, the rice"), cut_off("<think>C?</think>B")
    (True, False)
    """
    return _reasoning(text) is _Reasoning.OPEN


def cut_offs(texts: Sequence[str]) -> list[bool]:
    """Tell of each answer of a run whether it ends within its reasoning.

    Some models' chat templates put the opening tag into the prompt. A finished answer then holds
    the closing tag alone, and one that was cut off holds no tag at all. So where any answer of the
    run has a closing tag without an opening one before it, an answer with neither is cut off; a
    blank one is not.

    Args:
        texts: The raw answers to one task in one run, shape (n,); [] gives [].

    Returns:
        One flag an answer.

    Source: DiningBench, Section 5; the rule is ours.

    >>> cut_offs(["Rice? No.</think>B", "Could be C, the rice", "B"])
    [False, True, True]
    """
    found = [_reasoning(text) for text in texts]
    begun_in_prompt = _Reasoning.ENDED_ALONE in found
    return [
        own is _Reasoning.OPEN
        or (begun_in_prompt and own is _Reasoning.NO_END and bool(text.strip()))
        for own, text in zip(found, texts, strict=True)
    ]


def _reasoning(text: str) -> _Reasoning:
    opening = _OPENING.match(text)
    if opening:
        closed, place = _Reasoning.OTHER, opening.end()
    else:
        first = _TAG.search(text)
        if first is None or not (first["close"] or _CLOSING.search(text, first.end())):
            return _Reasoning.NO_END
        if not first["close"]:
            return _Reasoning.OTHER
        closed, place = _Reasoning.ENDED_ALONE, first.start()
    while closing := _CLOSING.search(text, place):
        opening = _OPENING.match(text, closing.end())
        if opening is None:
            return closed
        place = opening.end()
    return _Reasoning.OPEN


def loops(text: str) -> bool:
    """Tell whether a raw answer runs in a loop: one span repeats over most of its end.

    The end is the last half of the text, at least 200 characters; shorter texts do not loop. It
    loops when non-overlapping occurrences of one span of at most a third of it cover at least 80
    percent of it. Other text between the occurrences, such as a counter, is allowed within the
    rest, but then the end must hold at least 17 of them: fewer are a list, say of eight options
    that are each turned down in the same words.

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
    for span, apart in _repeated(tail):
        times = tail.count(span)
        if times * len(span) >= wanted and times >= (_LEAST_APART if apart else 1):
            return True
    return False


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


def _repeated(tail: str) -> Iterator[tuple[str, bool]]:
    """Yield spans that occur at least twice, and whether other text stands between two of them.

    A span is at most a third of the tail long.
    """
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
                yield tail[first:end], end - first < again - place


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
