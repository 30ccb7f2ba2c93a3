"""Reference answers to the canteen tasks, as JSON (Section 2.2.4 of the paper).

`global_median` and `typical_serving` are given every food's name and bound what can be known of
its weight without looking; `random` and `majority` are not given the names.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from random import Random

import numpy as np

from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.predictors import (
    global_median_predictions,
    typical_serving_predictions,
)
from lmms_eval_food.tasks.reference import Answer, Doc, Predictor


def _as_json(foods: Iterable[tuple[str, float]]) -> str:
    items = [
        {"name": name, "portion_estimate": f"{grams:.10g} g", "confidence": "100"}
        for name, grams in foods
    ]
    return json.dumps({"food_items": items}, ensure_ascii=False)


def oracle(docs: Sequence[Doc]) -> Answer:
    """Answer with the labels."""
    return lambda doc, rng: _as_json(zip(doc["foods"], doc["grams"], strict=True))


def random(docs: Sequence[Doc]) -> Answer:
    """Answer with the labels of a tray drawn evenly from the set."""
    labels = [list(zip(doc["foods"], doc["grams"], strict=True)) for doc in docs]

    def answer(doc: Doc, rng: Random) -> str:
        return _as_json(rng.choice(labels))

    return answer


def majority(docs: Sequence[Doc]) -> Answer:
    """Answer always with the most frequent foods at their median weights.

    As many foods as a tray of median size holds.
    """
    weights: dict[str, list[float]] = {}
    for doc in docs:
        for food, grams in zip(doc["foods"], doc["grams"], strict=True):
            weights.setdefault(normalise(food), []).append(grams)
    size = int(np.median([len(doc["foods"]) for doc in docs]))
    counts = Counter({food: len(grams) for food, grams in weights.items()})
    text = _as_json((food, float(np.median(weights[food]))) for food, _ in counts.most_common(size))
    return lambda doc, rng: text


def global_median(docs: Sequence[Doc]) -> Answer:
    """Answer with the true foods, each at the median weight of all items."""
    return _true_foods(docs, global_median_predictions(_weights(docs)))


def typical_serving(docs: Sequence[Doc]) -> Answer:
    """Answer with the true foods, each at its median weight on the other trays."""
    foods = [food for doc in docs for food in doc["foods"]]
    trays = [doc["id"] for doc in docs for _ in doc["foods"]]
    grams, _ = typical_serving_predictions(foods, _weights(docs), trays)
    return _true_foods(docs, grams)


def _weights(docs: Sequence[Doc]) -> list[float]:
    return [grams for doc in docs for grams in doc["grams"]]


def _true_foods(docs: Sequence[Doc], grams: Iterable[float]) -> Answer:
    given = iter(grams)
    answers = {doc["id"]: _as_json([(food, next(given)) for food in doc["foods"]]) for doc in docs}
    return lambda doc, rng: answers[doc["id"]]


def predictors(task: str) -> Mapping[str, Predictor]:
    """Return the predictors that fit a task."""
    return {
        "random": random,
        "majority": majority,
        "oracle": oracle,
        "global_median": global_median,
        "typical_serving": typical_serving,
    }
