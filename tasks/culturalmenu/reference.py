"""Reference answers to CulturalMenuBench tasks, in the words of each question's language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from lmms_eval_food.tasks.culturalmenu.prompts import answer_word
from lmms_eval_food.tasks.reference import Answer, Doc, Predictor

LETTERS = "ABCD"


def _said(doc: Doc, answer: str) -> str:
    """Return an answer as the task asks for it: a letter, or a word of the question's language."""
    return answer if answer in LETTERS else answer_word(doc["language"], answer)


def oracle(docs: Sequence[Doc]) -> Answer:
    """Answer with the truth."""
    return lambda doc, rng: _said(doc, doc["answer"])


def random(docs: Sequence[Doc]) -> Answer:
    """Answer each option evenly."""

    def answer(doc: Doc, rng: Random) -> str:
        return _said(doc, rng.choice(LETTERS if doc["answer"] in LETTERS else ("yes", "no")))

    return answer


def majority(docs: Sequence[Doc]) -> Answer:
    """Answer always with the most frequent truth, the last of the alphabet on a tie."""
    counts = Counter(doc["answer"] for doc in docs)
    answer = max(counts, key=lambda name: (counts[name], name))
    return lambda doc, rng: _said(doc, answer)


def predictors(task: str) -> Mapping[str, Predictor]:
    """Return the predictors that fit a task."""
    return {"random": random, "majority": majority, "oracle": oracle}
