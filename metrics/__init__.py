"""How readings are scored: pure functions on arrays and records; no host imports.

`METRICS` lists every metric; a function that returns a score and is not listed here is an
oversight, and a test says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from lmms_eval_food.metrics.agreement import cohen_kappa, fleiss_kappa, roc_auc, youden_threshold
from lmms_eval_food.metrics.classification import accuracy, rate
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, ImageResult, score_portions

Takes = Literal["flags", "photos", "labels and scores", "two raters", "all raters"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a metric is.

    Attributes:
        function: Computes it.
        takes: What the function takes: one flag an answer; a list of `ImageResult` and a threshold;
            flags and similarities; two raters' labels; one row of labels a subject.
        unit: "share" (1 is whole), "%" (100 is whole), "g", "items", "similarity" or "kappa".
        range: Lowest and highest possible value.
        higher_is_better: None where neither end is better.
        source: Where it is defined.
    """

    function: Callable[..., float]
    takes: Takes
    unit: str
    range: tuple[float, float]
    higher_is_better: bool | None
    source: str


def _portion_metric(field: str) -> Callable[..., float]:
    """Return the function that gives one field of `PortionScores`."""

    def metric(images: Sequence[ImageResult], threshold: float = PRIMARY_THRESHOLD) -> float:
        return float(getattr(score_portions(images, threshold), field))

    metric.__name__ = metric.__qualname__ = field
    metric.__doc__ = f"`PortionScores.{field}` of a list of photos at a threshold."
    return metric


def _recognition(field: str) -> Metric:
    source = "canteen paper, Section 2.2.1"
    return Metric(_portion_metric(field), "photos", "share", (0.0, 1.0), True, source)


def _grams(field: str, source: str) -> Metric:
    return Metric(_portion_metric(field), "photos", "g", (0.0, math.inf), False, source)


_SECTION = "canteen paper, Section 2.2.4"
_VALIDATION = "canteen paper, Section 2.2.2"

METRICS: dict[str, Metric] = {
    "accuracy": Metric(
        accuracy, "flags", "share", (0.0, 1.0), True, "DiningBench; CulturalMenuBench"
    ),
    "rate": Metric(rate, "flags", "share", (0.0, 1.0), None, "relative frequency"),
    "precision": _recognition("precision"),
    "recall": _recognition("recall"),
    "f1": _recognition("f1"),
    "matched": Metric(
        _portion_metric("matched"), "photos", "items", (0.0, math.inf), True, "canteen, Equation 1"
    ),
    "mae": _grams("mae", _SECTION),
    "medae": _grams("medae", _SECTION),
    "rmse": _grams("rmse", _SECTION),
    "medape": Metric(_portion_metric("medape"), "photos", "%", (0.0, math.inf), False, _SECTION),
    "nmae": _grams("nmae", "canteen paper, Equation 1"),
    "cpmae": _grams("cpmae", "canteen paper, Equation 2"),
    "cpmae_fp": _grams("cpmae_fp", "canteen paper, Equation 3"),
    "meal_ae": _grams("meal_ae", "canteen paper, Equation 4"),
    "roc_auc": Metric(roc_auc, "labels and scores", "share", (0.0, 1.0), True, _VALIDATION),
    "youden_threshold": Metric(
        youden_threshold, "labels and scores", "similarity", (-1.0, 1.0), None, _VALIDATION
    ),
    "cohen_kappa": Metric(cohen_kappa, "two raters", "kappa", (-1.0, 1.0), True, _VALIDATION),
    "fleiss_kappa": Metric(fleiss_kappa, "all raters", "kappa", (-1.0, 1.0), True, _VALIDATION),
}
