"""Properties that every listed metric shares, and that every metric is listed."""

import dataclasses
import importlib
import inspect
import math
import pkgutil
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lmms_eval_food.metrics
from lmms_eval_food.metrics import METRICS
from lmms_eval_food.metrics.portions import PortionScores, perfect_recognition

# A few examples a metric are many in all.
FEW = settings(max_examples=25)
EVERY = pytest.mark.parametrize("name", METRICS)
COUNTS = {"n_images", "n_pred", "n_true", "tp", "fp", "fn", "threshold"}
LABEL = st.sampled_from(["same", "partial", "different"])


def inputs(takes, photo_lists):
    """A strategy for the arguments of a metric."""
    scored = st.lists(st.tuples(st.booleans(), st.integers(0, 10).map(lambda n: n / 10)))
    return {
        "flags": st.tuples(st.lists(st.booleans())),
        "photos": st.tuples(photo_lists, st.sampled_from([0.0, 0.5, 0.9])),
        "labels and scores": scored.map(
            lambda rows: ([label for label, _ in rows], [score for _, score in rows])
        ),
        "two raters": st.lists(st.tuples(LABEL, LABEL)).map(
            lambda rows: ([first for first, _ in rows], [second for _, second in rows])
        ),
        "all raters": st.tuples(st.lists(st.tuples(LABEL, LABEL, LABEL))),
    }[takes]


def empty(takes):
    return ([], []) if takes in {"labels and scores", "two raters"} else ([],)


def test_every_function_with_a_better_direction_is_listed():
    scores = set()
    for module_info in pkgutil.iter_modules(lmms_eval_food.metrics.__path__):
        module = importlib.import_module(f"lmms_eval_food.metrics.{module_info.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            own = function.__module__ == module.__name__ and not name.startswith("_")
            if own and re.search(r"(higher|lower)\s+is\s+better", function.__doc__ or ""):
                scores.add(function)
    assert {"accuracy", "fleiss_kappa"} <= {function.__name__ for function in scores}
    assert scores <= {metric.function for metric in METRICS.values()}


def test_every_portion_score_is_listed():
    scores = {field.name for field in dataclasses.fields(PortionScores)} - COUNTS
    assert scores == {name for name, metric in METRICS.items() if metric.takes == "photos"}


@EVERY
def test_metrics_say_what_they_are(name):
    metric = METRICS[name]
    assert metric.function.__name__ == name
    assert metric.function.__doc__
    assert metric.source
    assert metric.unit in {"share", "%", "g", "items", "similarity", "kappa"}
    assert metric.range[0] < metric.range[1]


@EVERY
def test_no_data_is_nan_and_a_count_of_nothing_is_zero(name):
    metric = METRICS[name]
    value = metric.function(*empty(metric.takes))
    assert value == 0 if metric.unit == "items" else math.isnan(value)


@EVERY
@FEW
@given(data=st.data())
def test_values_lie_in_the_stated_range(name, photo_lists, data):
    metric = METRICS[name]
    value = metric.function(*data.draw(inputs(metric.takes, photo_lists)))
    assert type(value) is float
    low, high = metric.range
    assert math.isnan(value) or low - 1e-9 <= value <= high + 1e-9


@EVERY
@FEW
@given(data=st.data())
def test_inputs_are_left_alone(name, photo_lists, data):
    metric = METRICS[name]
    arguments = data.draw(inputs(metric.takes, photo_lists))
    if metric.takes in {"flags", "labels and scores"}:
        arguments = tuple(np.array(argument, dtype=np.float64) for argument in arguments)
    before = repr(arguments)
    metric.function(*arguments)
    assert repr(arguments) == before


def perfect(takes, photos):
    grams = [grams for photo in photos for grams in photo.true_grams]
    return {
        "flags": ([True] * 3,),
        "photos": (perfect_recognition(photos, grams),),
        "labels and scores": ([0, 0, 1], [0.1, 0.2, 0.9]),
        "two raters": (["same", "partial"], ["same", "partial"]),
        "all raters": ([["same"] * 3, ["partial"] * 3],),
    }[takes]


@pytest.mark.parametrize(
    "name", [name for name, metric in METRICS.items() if metric.higher_is_better is not None]
)
@FEW
@given(data=st.data())
def test_a_perfect_answer_scores_at_the_better_end(name, photo_lists, data):
    metric = METRICS[name]
    photos = data.draw(photo_lists.filter(lambda drawn: any(p.true_grams for p in drawn)))
    # A nameless true item cannot be recognised, and a weightless one has no percentage error.
    photos = [
        dataclasses.replace(
            photo,
            true_names=tuple(name.strip() or "tea" for name in photo.true_names),
            true_grams=tuple(grams + 1 for grams in photo.true_grams),
        )
        for photo in photos
    ]
    value = metric.function(*perfect(metric.takes, photos))
    if metric.unit == "items":
        assert value == sum(len(photo.true_grams) for photo in photos)
    else:
        assert value == pytest.approx(metric.range[1 if metric.higher_is_better else 0])
