"""Which matcher compares food names in a run: chosen by environment, checked before the model runs.

`LMMS_EVAL_FOOD_MATCHER` names one of `metrics.matchers.MATCHERS` (the paper's own by default) or
`bi:PATH_OR_ID` or `cross:PATH_OR_ID`; `LMMS_EVAL_FOOD_MATCHER_DEVICE` says where it runs (the
processor by default: the accelerator's memory belongs to the model under test).
"""

from __future__ import annotations

import os

from lmms_eval_food.metrics.matchers import Matcher, MatcherError, load_matcher
from lmms_eval_food.tasks import data

DEFAULT = "distilroberta"


def configured() -> Matcher:
    """Return the run's matcher, the same one each time; it loads its weights when it needs them."""
    return load_matcher(
        os.environ.get("LMMS_EVAL_FOOD_MATCHER", DEFAULT),
        cache_dir=data.cache_folder() / "matcher",
        device=os.environ.get("LMMS_EVAL_FOOD_MATCHER_DEVICE", "cpu"),
    )


def check() -> None:
    """Score one pair, or end the run with a clear message before hours of inference."""
    try:
        configured().score([(["boiled rice"], ["steamed rice"])])
    except MatcherError as error:
        raise SystemExit(f"lmms-eval-food: {error}") from error
