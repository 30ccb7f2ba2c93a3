"""Reference answers to DiningBench tasks, each in the form that its task asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from lmms_eval_food.tasks.reference import Answer, Doc, Predictor, choice

LETTERS = "ABCDEFGH"


def oracle(docs: Sequence[Doc]) -> Answer:
    """Answer with the true letter."""
    return lambda doc, rng: str(doc["ground_truth"])


def majority(docs: Sequence[Doc]) -> Answer:
    """Answer always with the most frequent true letter, the first of the alphabet on a tie."""
    counts = Counter(doc["ground_truth"] for doc in docs)
    letter = min(counts, key=lambda name: (-counts[name], name))
    return lambda doc, rng: letter


def predictors(task: str) -> Mapping[str, Predictor]:
    """Return the predictors that fit a task."""
    return {"random": choice(LETTERS), "majority": majority, "oracle": oracle}
