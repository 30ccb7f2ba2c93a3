"""`lmms-eval-food validate-matcher`: does a matcher agree with people, and at which threshold?"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any

from lmms_eval_food.metrics.agreement import majority_label
from lmms_eval_food.metrics.bootstrap import RESAMPLES
from lmms_eval_food.metrics.match_quality import match_quality
from lmms_eval_food.metrics.matchers import MatcherError
from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results.canteen.entries import read_entries
from lmms_eval_food.results.matcher_validation import (
    PUBLISHED,
    SEED,
    Accepted,
    Validation,
    accepted_quality,
    pair_scores,
    rater_summary,
    validate,
)
from lmms_eval_food.results.rated_pairs import LABELS, RatedPairs, read_rated_pairs
from lmms_eval_food.results.report import ReportError, read_runs
from lmms_eval_food.results.tables import Cell, Table, interval, markdown

# Matcher -> what the accepted matches of each run are worth.
Quality = dict[str, list[Accepted]]


def run(options: argparse.Namespace) -> int:
    """Validate the matchers named on the command line; return the exit status."""
    try:
        pairs = read_rated_pairs(options.pairs, options.labels)
        names = options.matcher or [PUBLISHED if pairs.scores is not None else "minilm"]
        found = [validate(pairs, name, pair_scores(pairs, name)) for name in dict.fromkeys(names)]
        entries = read_entries(read_runs([options.run_log]), "robust") if options.run_log else []
        quality = {v.name: accepted_quality(pairs, v, entries) for v in found}
        summary = rater_summary(pairs)
        print(markdown(_tables(pairs, summary, found, quality)))
        print("\n".join(_advice(validation) for validation in found))
        if options.json is not None:
            content = {**summary, "matchers": {v.name: _as_json(v, quality[v.name]) for v in found}}
            text = json.dumps(_defined(content), indent=2, allow_nan=False)
            options.json.write_text(f"{text}\n", encoding="utf-8")
    except (MatcherError, ReportError, ValueError, OSError) as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 1
    return 0


def _advice(validation: Validation) -> str:
    if math.isnan(validation.threshold):
        return f"{validation.name}: no threshold can be chosen, the labels are all alike"
    within = "" if validation.threshold in THRESHOLDS else ", outside the paper's grid"
    return f"{validation.name}: use the threshold {validation.threshold:g}{within}"


def _tables(
    pairs: RatedPairs, summary: dict[str, Any], found: Sequence[Validation], quality: Quality
) -> list[Table]:
    tables = [
        *_rater_tables(pairs, summary),
        _matcher_table(found),
        _interval_table(pairs, found),
        _quality_table(quality),
    ]
    return [table for table in tables if table.rows]


def _quality_table(quality: Quality) -> Table:
    rows: list[tuple[Cell, ...]] = [
        (name, run.label, *_quality_cells(run)) for name, runs in quality.items() for run in runs
    ]
    return Table(
        "What the accepted matches are",
        (
            *("matcher", "run", "F1", "accepted matches", "equal names", "same", "partial"),
            *("different", "strict F1"),
        ),
        tuple(rows),
        f"Accepted at {PRIMARY_THRESHOLD:g}. Shares estimated from the labels at each similarity; "
        "strict F1: only the same food is a match. No figures: another matcher scored this run.",
    )


def _quality_cells(run: Accepted) -> tuple[Cell, ...]:
    part = run.quality
    if part is None:
        return (None,) * 7
    return (
        *(run.f1, part.matches, part.exact, part.same, part.partial),
        *(part.different, part.strict_f1),
    )


def _rater_tables(pairs: RatedPairs, summary: dict[str, Any]) -> list[Table]:
    majority = [majority_label(labels) for labels in pairs.ratings]
    counts = [majority.count(label) for label in (*LABELS, None)]
    agreed = [summary[name] for name in ("pairs", "fleiss_kappa", "unanimous", "all_different")]
    columns = ("pairs", "Fleiss kappa", "all raters agree", "no two raters agree")
    majorities = (*(f"majority {label}" for label in LABELS), "no majority")
    kappas = zip(combinations(pairs.raters, 2), summary["cohen_kappa"], strict=True)
    return [
        Table("Raters", (*columns, *majorities), ((*agreed, *counts),)),
        Table(
            "Agreement of two raters",
            ("rater", "other rater", "Cohen kappa"),
            tuple((*names, kappa) for names, kappa in kappas),
        ),
    ]


def _matcher_table(found: Sequence[Validation]) -> Table:
    rows = [
        (v.name, kind, cut.matches, cut.auc, cut.youden, interval(cut.low, cut.high))
        for v in found
        for kind, cut in (("strict", v.strict), ("lenient", v.lenient))
    ]
    return Table(
        "Matchers against the raters",
        ("matcher", "matches", "pairs that match", "ROC AUC", "Youden threshold", "95% interval"),
        tuple(rows),
        "Strict: the majority says same; lenient: same or partial. Intervals over "
        f"{RESAMPLES} resamples of the pairs, seed {SEED}.",
    )


def _interval_table(pairs: RatedPairs, found: Sequence[Validation]) -> Table:
    rows = []
    for validation in found:
        parts = match_quality(pairs.ratings, validation.scores, [], [], math.nan).intervals
        rows += [
            (
                *(validation.name, f"{part.low:g} to {part.high:g}", part.labelled),
                *(part.same, part.partial, part.different),
            )
            for part in parts
        ]
    return Table(
        "Labels by similarity",
        ("matcher", "similarity", "labelled pairs", "same", "partial", "different"),
        tuple(rows),
        "Shares of the pairs with a majority label.",
    )


def _as_json(validation: Validation, runs: Sequence[Accepted]) -> dict[str, Any]:
    cuts = {"strict": validation.strict, "lenient": validation.lenient}
    shares = ("same", "partial", "different", "strict_f1")
    return {
        **{
            kind: {
                "auc": cut.auc,
                "youden": cut.youden,
                "youden_low": cut.low,
                "youden_high": cut.high,
            }
            for kind, cut in cuts.items()
        },
        "threshold": validation.threshold,
        "runs": [
            {
                "run": run.label,
                "f1": run.f1,
                **{name: getattr(run.quality, name) for name in shares},
            }
            for run in runs
            if run.quality is not None
        ],
    }


def _defined(value: Any) -> Any:
    """Return the value with None for nan, which JSON does not have."""
    if isinstance(value, dict):
        return {key: _defined(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_defined(inner) for inner in value]
    return None if isinstance(value, float) and math.isnan(value) else value
