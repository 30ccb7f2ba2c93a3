"""Reference answers to DiningBench tasks, each in the form that its task asks for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from lmms_eval_food.metrics.nutrition import NUTRIENTS
from lmms_eval_food.tasks.diningbench.nutrition import true_values
from lmms_eval_food.tasks.reference import Answer, Doc, Predictor, choice

LETTERS = "ABCDEFGH"


def _truth(doc: Doc) -> str:
    return str(doc["ground_truth"])


def oracle(docs: Sequence[Doc]) -> Answer:
    """Answer with the truth as the row holds it: a letter, a JSON object or a text."""
    return lambda doc, rng: _truth(doc)


def other_truth(docs: Sequence[Doc]) -> Answer:
    """Answer with the truth of a row drawn evenly from the set."""
    truths = [_truth(doc) for doc in docs]
    return lambda doc, rng: rng.choice(truths)


def majority(docs: Sequence[Doc]) -> Answer:
    """Answer always with the most frequent truth, the first of the alphabet on a tie."""
    counts = Counter(map(_truth, docs))
    text = min(counts, key=lambda name: (-counts[name], name))
    return lambda doc, rng: text


def median_nutrition(docs: Sequence[Doc]) -> Answer:
    """Answer always with the median of each nutrient."""
    medians = np.median([true_values(doc) for doc in docs], axis=0)
    text = json.dumps(dict(zip(NUTRIENTS, medians.tolist(), strict=True)))
    return lambda doc, rng: text


def predictors(task: str) -> Mapping[str, Predictor]:
    """Return the predictors that fit a task."""
    if task.startswith("diningbench_nutrition"):
        return {"random": other_truth, "majority": median_nutrition, "oracle": oracle}
    random = choice(LETTERS) if task.startswith("diningbench_cls") else other_truth
    return {"random": random, "majority": majority, "oracle": oracle}
