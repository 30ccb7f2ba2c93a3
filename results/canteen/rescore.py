"""Scores the names of a finished log with another matcher: no model is run again."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lmms_eval_food.metrics.matchers import Job, Matcher, load_matcher
from lmms_eval_food.metrics.matching import check_threshold
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results.canteen.entries import PREFIX
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.scoring import LOGGED_WITH, THRESHOLD, UNDECIDED
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
    scores = matcher.score([_job(record) for record in records])
    fingerprint = matcher.fingerprint
    return [
        replace(record, similarity=similarity.tolist(), matcher=fingerprint)
        for record, similarity in zip(records, scores, strict=True)
    ]


def rescored(run: Run, matcher: str | None = None, threshold: float = PRIMARY_THRESHOLD) -> Run:
    """Return the run with its canteen records scored anew; the run itself where nothing changes.

    Records that are then scored otherwise than in the log say so, and how many pairs of names the
    matcher left undecided (`results.scoring`).

    Args:
        run: A run; other benchmarks' records stay as they are.
        matcher: Name of the matcher (`open_matcher`); None: as in the log.
        threshold: Lowest accepted similarity, in [0, 1].

    Raises:
        ValueError: the threshold lies outside [0, 1], or a record is of another version.
        MatcherError: the matcher cannot score.
    """
    check_threshold(threshold)
    tasks = [task for task in run.records if task.startswith(PREFIX)]
    if not tasks or (matcher is None and threshold == PRIMARY_THRESHOLD):
        return run
    rows = [row for task in tasks for own in run.records[task].values() for row in own]
    done = iter(_anew(rows, matcher, threshold, run.folder))
    records = dict(run.records)
    for task in tasks:
        readers = run.records[task].items()
        records[task] = {reader: [next(done) for _ in own] for reader, own in readers}
    return replace(run, records=records)


def _anew(
    rows: Sequence[Mapping[str, Any]], name: str | None, threshold: float, folder: Path
) -> list[dict[str, Any]]:
    """Return the rows of a log as they are scored by a matcher at a threshold."""
    try:
        trays = [TrayRecord.from_dict(row) for row in rows]
    except (TypeError, KeyError) as error:
        raise ValueError(f"{folder}: a record of another version ({error})") from error
    if name is not None:
        trays = rescore(trays, open_matcher(name))
    found = []
    for row, tray in zip(rows, trays, strict=True):
        own = {**row, "similarity": tray.similarity, "matcher": tray.matcher}
        before = f"{row['matcher']} >= {PRIMARY_THRESHOLD:g}"
        if before != f"{tray.matcher} >= {threshold:g}":
            own |= {THRESHOLD: threshold, LOGGED_WITH: before}
        undecided = int(np.isnan(np.array(tray.similarity, dtype=np.float64)).sum())
        if undecided:
            own[UNDECIDED] = undecided
        found.append(own)
    return found


def _job(record: TrayRecord) -> Job:
    return [item["name"] for item in record.items], record.foods
