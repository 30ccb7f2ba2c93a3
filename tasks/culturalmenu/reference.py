"""Reference answers to CulturalMenuBench tasks, in the words of each question's language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from lmms_eval_food.tasks.culturalmenu.prompts import answer_word
from lmms_eval_food.tasks.reference import Answer, Doc, Predictor


def _word(doc: Doc, answer: str) -> str:
    return answer_word(doc["language"], answer)


def oracle(docs: Sequence[Doc]) -> Answer:
    """Answer with the true word."""
    return lambda doc, rng: _word(doc, doc["answer"])


def random(docs: Sequence[Doc]) -> Answer:
    """Answer yes or no evenly."""

    def answer(doc: Doc, rng: Random) -> str:
        return _word(doc, rng.choice(("yes", "no")))

    return answer


def majority(docs: Sequence[Doc]) -> Answer:
    """Answer always with the more frequent truth, yes on a tie."""
    counts = Counter(doc["answer"] for doc in docs)
    word = "no" if counts["no"] > counts["yes"] else "yes"
    return lambda doc, rng: _word(doc, word)


def predictors(task: str) -> Mapping[str, Predictor]:
    """Return the predictors that fit a task."""
    return {"random": random, "majority": majority, "oracle": oracle}
