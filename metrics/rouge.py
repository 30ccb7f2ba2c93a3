"""ROUGE-1, ROUGE-2 and ROUGE-L of one answer, as DiningBench reports them beside the judge.

Words are cut by jieba, the scores are those of rouge-chinese; both come with an extra of this
package and are loaded when they are first needed.
"""

from __future__ import annotations

import functools
import importlib
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType

# rouge-chinese adds this to the denominator of every F score, so a perfect one is just below 1.
_EPSILON = 1e-8
# jieba's word for what it cuts into words; everything else it takes apart sign by sign. Its time
# grows with the square of such a run, so longer ones are cut in pieces.
_PIECE = re.compile(r"[\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]{1,300}|[^\u4e00-\u9fd5a-zA-Z0-9+#&._%\-]+")


class RougeMissingError(ImportError):
    """The packages that ROUGE needs are not installed; the message says how to install them."""


@dataclass(frozen=True, slots=True)
class RougeScores:
    """F scores of one answer, each in [0, 1); larger is closer to the truth.

    Attributes:
        rouge_1: Of the sets of words.
        rouge_2: Of the sets of word pairs; 0 where prediction or truth is a single word.
        rouge_l: Of the longest common subsequence of words.
    """

    rouge_1: float
    rouge_2: float
    rouge_l: float


def load() -> None:
    """Import what ROUGE needs (jieba reads its dictionary at the first text).

    Raises:
        RougeMissingError: rouge-chinese or jieba is not installed.
    """
    _packages()


def rouge(prediction: str, truth: str) -> RougeScores:
    """Return the ROUGE F scores of a prediction; any text is scored.

    Both texts are cut into words by jieba, which leaves English words whole and splits off
    punctuation; case counts. A prediction or truth without a word scores 0 (the published script
    leaves such a sample out). Time is linear in the prediction for a truth of fixed length.

    Raises:
        RougeMissingError: rouge-chinese or jieba is not installed.

    Source: meituan/DiningBench@516fd54:eval_vqa.py, evaluate_predictions.
    """
    package, score = _packages()[1:]
    cut = package.Rouge().cut_sent
    predicted, true = (_sentences(cut(_spaced(text))) for text in (prediction, truth))
    if not predicted or not true:
        return RougeScores(0.0, 0.0, 0.0)
    one, two = (float(score.rouge_n(predicted, true, n)["f"]) for n in (1, 2))
    return RougeScores(one, two, _rouge_l(_words(predicted), _words(true)))


@functools.cache
def _packages() -> tuple[ModuleType, ModuleType, ModuleType]:
    try:
        jieba = importlib.import_module("jieba")
        package = importlib.import_module("rouge_chinese")
        score = importlib.import_module("rouge_chinese.rouge_score")
    except ImportError as error:
        raise RougeMissingError(
            f"ROUGE needs rouge-chinese and jieba ({error}): pip install 'lmms-eval-food[rouge]'"
        ) from error
    # It reports on stderr how it loads its dictionary.
    jieba.setLogLevel(logging.WARNING)
    return jieba, package, score


def _spaced(text: str) -> str:
    """Return the text's words with spaces between them."""
    jieba = _packages()[0]
    return " ".join(word for piece in _pieces(text) for word in jieba.cut(piece))


def _pieces(text: str) -> Iterator[str]:
    return (match.group() for match in _PIECE.finditer(text))


def _sentences(cut: Sequence[str]) -> list[str]:
    """Return the sentences as rouge-chinese takes them: without empty ones, single-spaced."""
    return [" ".join(sentence.split()) for sentence in cut if sentence]


def _words(sentences: Sequence[str]) -> list[str]:
    return [word for sentence in sentences for word in sentence.split(" ")]


def _rouge_l(predicted: Sequence[str], true: Sequence[str]) -> float:
    """Return ROUGE-L as rouge-chinese does, without its table of one cell a pair of words."""
    common = _common_subsequence(predicted, true)
    precision, recall = common / len(predicted), common / len(true)
    return 2.0 * ((precision * recall) / (precision + recall + _EPSILON))


def _common_subsequence(predicted: Sequence[str], true: Sequence[str]) -> int:
    """Return the length of the longest common subsequence.

    Bit-parallel: bit i of a word's mask says that the word is the i-th of `true`; a bit of the row
    that has become 0 counts one word of the subsequence (Hyyrö 2004, "Bit-parallel LCS-length
    computation revisited").
    """
    masks: dict[str, int] = {}
    for place, word in enumerate(true):
        masks[word] = masks.get(word, 0) | 1 << place
    full = (1 << len(true)) - 1
    row = full
    for word in predicted:
        matches = row & masks.get(word, 0)
        if matches:
            row = ((row + matches) | (row - matches)) & full
    return len(true) - row.bit_count()
