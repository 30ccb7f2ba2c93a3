"""What two runs of one task differ by: scores on the documents that both have, and single answers.

A score's interval is a bootstrap over dishes (canteen: photos). Its p-value is the sign-flip test's
over the same dishes: exact for right and wrong answers, and the number of resamples sets no
smallest value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import (
    PairedDifference,
    cluster_index,
    cluster_sums,
    paired_difference,
    resample_counts,
)
from lmms_eval_food.metrics.meals import FlatItems, flatten
from lmms_eval_food.metrics.portion_bootstrap import common_images, score_resamples
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, score_portions
from lmms_eval_food.metrics.sign_flip import sign_flip_p
from lmms_eval_food.results.dining.items import classification_items, vqa_items
from lmms_eval_food.results.dining.measures import Items, Measure
from lmms_eval_food.results.dining.nutrition import nutrition_answers, nutrition_items
from lmms_eval_food.results.joined import Record, Settings, occurrences
from lmms_eval_food.results.recompute import kind
from lmms_eval_food.tasks.canteen.record import TrayRecord

_MAIN = {"choice": "accuracy", "nutrition": "MAE", "canteen": "F1"}
_PORTIONS = {"f1": "F1", "nmae": "NMAE"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One score of two runs on the documents that both have.

    Attributes:
        items: Documents in which it counts for both.
        first: The first run's score on them.
        second: The second run's.
        gap: First minus second, over resamples of dishes or photos.
        p: Two-sided p of the sign-flip test over dishes or photos; nan for fewer than two.
    """

    items: int
    first: float
    second: float
    gap: PairedDifference
    p: float


@dataclass(frozen=True, slots=True)
class Document:
    """One document's own part of a task's main score in two runs, and both answers."""

    id: str
    first: float
    second: float
    answers: tuple[str, str]


def differences(
    task: str, first: Sequence[Record], second: Sequence[Record], settings: Settings
) -> dict[str, Difference]:
    """Return every score of two runs of a task on the documents that count in both.

    Documents are paired by id, and those that share an id (questions about one dish) in their
    order. Scores that only one run has are left out, and so is one without a document.

    Args:
        task: The task's name.
        first: One reader's records of the first run, in the order of the documents.
        second: The same reader's of the second run.
        settings: Resamples and seed.
    """
    one, two = _distinct(first), _distinct(second)
    if kind(task) == "canteen":
        return _canteen(one, two, settings)
    return _measured(_items(task, one), _items(task, two), settings)


def documents(
    task: str, first: Sequence[Record], second: Sequence[Record], at_most: int
) -> tuple[str, list[Document]]:
    """Return the main score's name and the documents that differ most in it, then by id."""
    score = _main_score(task, (*first, *second))
    one, two = _distinct(first), _distinct(second)
    values = [_by_document(task, score, records) for records in (one, two)]
    texts = [{str(r["id"]): str(r["raw"]) for r in records} for records in (one, two)]
    gaps = {
        name: abs(value - values[1][name])
        for name, value in values[0].items()
        if name in values[1] and value != values[1][name]
    }
    # nan, where one of them does not count, is no difference.
    differing = sorted((n for n in gaps if gaps[n] > 0), key=lambda name: (-gaps[name], name))
    return score, [
        Document(_shown(n), values[0][n], values[1][n], (texts[0][n], texts[1][n]))
        for n in differing[:at_most]
    ]


def _distinct(records: Sequence[Record]) -> list[Record]:
    """Return the records with an id of its own for each, the first of an id unchanged."""
    names = occurrences(str(record["id"]) for record in records)
    return [
        {**record, "id": f"{name}\0{before + 1}"} if before else record
        for record, (name, before) in zip(records, names, strict=True)
    ]


def _shown(name: str) -> str:
    own, _, number = name.partition("\0")
    return f"{own} ({number})" if number else own


def _items(task: str, records: Sequence[Record]) -> Items:
    if kind(task) == "nutrition":
        return nutrition_items(nutrition_answers(records), records[0]["reader"])
    return vqa_items(records) if kind(task) == "vqa" else classification_items(records)


def _measured(first: Items, second: Items, settings: Settings) -> dict[str, Difference]:
    place_of = {name: place for place, name in enumerate(second.ids)}
    places = [place for place, name in enumerate(first.ids) if name in place_of]
    others = [place_of[first.ids[place]] for place in places]
    names, dish = cluster_index([first.dishes[place] for place in places])
    counts = resample_counts(len(names), settings.resamples, settings.seed)
    found = {}
    for name in (name for name in first.measures if name in second.measures):
        root = first.measures[name].root
        values = first.measures[name].values[:, places], second.measures[name].values[:, others]
        missing = np.isnan(values[0]) | np.isnan(values[1])
        one, two = (Measure(np.where(missing, np.nan, own), root) for own in values)
        if not one.items:
            continue
        # Dishes in which nothing counts are no evidence.
        counted = np.unique(dish[~missing.all(axis=0)])
        scores = one.score(), two.score()
        resampled = [own.resampled(dish, counts) for own in (one, two)]
        found[name] = Difference(
            one.items,
            *scores,
            paired_difference(scores[0] - scores[1], resampled[0], resampled[1]),
            _p(_dish_gaps(one, two, dish, len(names))[counted]),
        )
    return found


def _dish_gaps(first: Measure, second: Measure, dish: IntArray, dishes: int) -> FloatArray:
    """Return what each dish adds to first minus second, shape (dishes,).

    A root is replaced by its tangent at the mean of both runs, which swapping answers leaves as it
    is. Right minus wrong answers stay whole numbers, so that their p is exact.
    """
    counts = (~np.isnan(first.values)).sum(axis=1)
    one, two = first.values, second.values
    # Equal infinite errors are an equality; nan, which equals nothing, does not count.
    parts = np.subtract(one, two, out=np.zeros_like(one), where=(one != two) & ~np.isnan(one))
    gaps = cluster_sums(parts, dish, dishes)
    if len(gaps) == 1:
        return np.asarray(gaps[0])
    weight = counts * np.nansum(one + two, axis=1) if first.root else np.square(counts)
    scale = np.divide(1.0, np.sqrt(weight), out=np.zeros(len(gaps)), where=weight > 0)
    return np.asarray((scale[:, None] * gaps).sum(axis=0))


def _p(gaps: FloatArray) -> float:
    """Return the sign-flip p, nan where an error is infinite: no share of it can be told."""
    return sign_flip_p(gaps) if np.isfinite(gaps).all() else math.nan


def _canteen(
    first: Sequence[Record], second: Sequence[Record], settings: Settings
) -> dict[str, Difference]:
    photos = common_images([[tray.result() for tray in _trays(rows)] for rows in (first, second)])
    runs = [flatten(own) for own in photos]
    size = len(photos[0])
    counts = resample_counts(size, settings.resamples, settings.seed)
    resampled = score_resamples(runs, counts, [PRIMARY_THRESHOLD])
    whole = score_resamples(runs, np.ones((1, size), dtype=np.int64), [PRIMARY_THRESHOLD])
    alone = score_resamples(runs, np.eye(size, dtype=np.int64), [PRIMARY_THRESHOLD])
    sizes = {"f1": [_predicted(own) + _true(own) for own in runs], "nmae": [*map(_true, runs)]}
    found = {}
    for metric, name in _PORTIONS.items():
        one, two = (float(value) for value in whole[metric][:, 0, 0])
        gap = paired_difference(one - two, *resampled[metric][:, 0])
        p = _p(_photo_gaps(alone[metric][:, 0], np.stack(sizes[metric])))
        found[name] = Difference(size, one, two, gap, p)
    return found


def _photo_gaps(scores: FloatArray, sizes: IntArray) -> FloatArray:
    """Return what each photo adds to the difference of two ratios, shape (n_images,).

    F1 and NMAE are sums over photos divided by numbers of foods. What a photo adds is its sum less
    what its foods would add at the ratio of both runs together, which swapping leaves as it is.

    Args:
        scores: Each photo's ratio, shape (2, n_images), nan where it has no foods.
        sizes: What it is divided by.
    """
    sums = np.nan_to_num(scores) * sizes
    total = sizes.sum()
    beyond = sums - (sums.sum() / total if total else 0.0) * sizes
    return np.asarray(beyond[0] - beyond[1])


def _predicted(items: FlatItems) -> IntArray:
    return np.bincount(items.pred_image, minlength=items.n_images)


def _true(items: FlatItems) -> IntArray:
    return np.bincount(items.true_image, minlength=items.n_images)


def _trays(records: Sequence[Record]) -> list[TrayRecord]:
    return [tray for record in records if not (tray := TrayRecord.from_dict(record)).failed]


def _main_score(task: str, records: Sequence[Record]) -> str:
    """Return what decides which documents differ most: of VQA the verdicts, where there are any."""
    if kind(task) != "vqa":
        return _MAIN[kind(task)]
    judged = any(record["verdicts"] is not None for record in records)
    return "judged accuracy" if judged else "ROUGE-L"


def _by_document(task: str, score: str, records: Sequence[Record]) -> dict[str, float]:
    """Return each document's own part of a score, nan where it does not count."""
    if kind(task) == "canteen":
        return {tray.id: score_portions([tray.result()]).f1 for tray in _trays(records)}
    items = _items(task, records)
    means = items.measures[score].values.mean(axis=0)
    return {str(name): float(mean) for name, mean in zip(items.ids, means, strict=True)}
