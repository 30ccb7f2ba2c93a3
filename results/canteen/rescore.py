"""Scores the names of a finished log with another matcher: no model is run again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from lmms_eval_food.metrics.matchers import Matcher, load_matcher
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.canteen.judge_matcher import JUDGE, judge_matcher
from lmms_eval_food.tasks.canteen.matcher import configured
from lmms_eval_food.tasks.canteen.record import TrayRecord


def open_matcher(name: str) -> Matcher:
    """Return a matcher by name, with the cache that the tasks use.

    Args:
        name: As `metrics.matchers.load_matcher` takes it, or "judge": the configured language model
            (`tasks.judging`) on top of the configured matcher (`tasks.canteen.matcher`).

    Raises:
        MatcherError: no such matcher, or no judge is configured.
    """
    if name == JUDGE:
        return judge_matcher(configured())
    return load_matcher(
        name,
        cache_dir=data.cache_folder() / "matcher",
        device=os.environ.get("LMMS_EVAL_FOOD_MATCHER_DEVICE", "cpu"),
    )


def rescore(records: Sequence[TrayRecord], matcher: Matcher) -> list[TrayRecord]:
    """Return the records with the similarities of another matcher.

    All names go to the matcher in one call: what it has not compared before is computed in large
    batches, the rest comes from its cache.

    Args:
        records: Records of a log; [] gives [].
        matcher: What compares the names.

    Raises:
        MatcherError: the matcher cannot score.
    """
    if not records:
        return []
    jobs = [([item["name"] for item in record.items], record.foods) for record in records]
    scores = matcher.score(jobs)
    fingerprint = matcher.fingerprint
    return [
        replace(record, similarity=similarity.tolist(), matcher=fingerprint)
        for record, similarity in zip(records, scores, strict=True)
    ]
