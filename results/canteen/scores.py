"""Recognition and portion scores: the canteen paper's Table 2 and what it depends on."""

from __future__ import annotations

import numpy as np

from lmms_eval_food.metrics.matches import typical_servings
from lmms_eval_food.metrics.meals import ImageResult
from lmms_eval_food.metrics.portion_analysis import assignment_difference
from lmms_eval_food.metrics.portion_bootstrap import PORTION_METRICS
from lmms_eval_food.metrics.portions import (
    MISSED_ITEM_PENALTY,
    PortionScores,
    global_median_predictions,
    null_predictions,
    perfect_recognition,
    score_items,
    score_portions,
)
from lmms_eval_food.metrics.ranking import spearman
from lmms_eval_food.results.canteen.cohort import SHOWN, Cohort, Contest
from lmms_eval_food.results.canteen.entries import Entry
from lmms_eval_food.results.tables import Cell, Table, interval

PENALTIES = (MISSED_ITEM_PENALTY / 2, MISSED_ITEM_PENALTY, MISSED_ITEM_PENALTY * 2)
# What the reference predictors are scored by: they name every food.
REFERENCE_SCORES = ("mae", "medae", "nmae", "cpmae", "cpmae_fp", "meal_ae")
_PORTIONS = tuple(name for name in SHOWN if name not in ("precision", "recall", "f1"))


def main_table(cohort: Cohort) -> Table:
    """Return one row a run: recognition with its interval, and every portion score."""
    rows: list[tuple[Cell, ...]] = []
    for entry, scores, ends in zip(cohort.entries, cohort.scores, cohort.intervals, strict=True):
        row = (
            *(entry.label, entry.temperature, scores.tp, scores.fp, scores.fn),
            *(scores.precision, scores.recall, scores.f1, interval(*ends["f1"])),
            *(getattr(scores, name) for name in _PORTIONS),
        )
        rows.append(row)
    return Table(
        "Canteen: recognition and portions",
        (
            *("run", "T", "tp", "fp", "fn", "precision", "recall", "F1", "F1 95% interval"),
            *(SHOWN[name] for name in _PORTIONS),
        ),
        tuple(rows),
        f"{cohort.threshold_note} {cohort.bootstrap_note} Weights in grams, w0 = "
        f"{MISSED_ITEM_PENALTY:g} g; P: matched items with an estimate. Source: Table 2.",
    )


def intervals_table(cohort: Cohort) -> Table:
    """Return the interval of every score of every run."""
    rows = [
        (
            entry.label,
            *(interval(*ends[name], digits=3 if name in _SHARES else 1) for name in _ORDER),
        )
        for entry, ends in zip(cohort.entries, cohort.intervals, strict=True)
    ]
    return Table(
        "Canteen: intervals of all scores",
        ("run", *(SHOWN[name] for name in _ORDER)),
        tuple(rows),
        f"{cohort.threshold_note} {cohort.bootstrap_note}",
    )


_SHARES = frozenset({"precision", "recall", "f1"})
_ORDER = tuple(name for name in SHOWN if name in PORTION_METRICS)


def threshold_table(cohort: Cohort, metric: str) -> Table:
    """Return one score at every threshold, a row a run."""
    rows = [
        (
            entry.label,
            *(getattr(score_items(entry.items, at), metric) for at in cohort.thresholds),
        )
        for entry in cohort.entries
    ]
    return Table(
        f"Canteen: {SHOWN[metric]} by threshold",
        ("run", *(f">= {at:g}" for at in cohort.thresholds)),
        tuple(rows),
        f"Lowest accepted similarity by {cohort.entries[0].source[1]}. Source: Figures 3 to 8.",
    )


def penalty_table(cohort: Cohort) -> Table:
    """Return NMAE with its penalty halved and doubled, and how that changes the ranking."""
    rows: list[tuple[Cell, ...]] = []
    for contest in (cohort.everyone, *cohort.alone):
        columns = _by_penalty(contest)
        rows += zip(contest.labels, *columns, [contest.size] * len(contest.labels), strict=True)
    ranked = _by_penalty(cohort.everyone)
    if len(cohort.everyone.labels) > 1:
        reference = ranked[PENALTIES.index(MISSED_ITEM_PENALTY)]
        name = f"Spearman with w0 = {MISSED_ITEM_PENALTY:g} g"
        size = cohort.everyone.size
        rows.append((name, *(spearman(reference, other) for other in ranked), size))
    return Table(
        "Canteen: penalty of a missed item",
        ("run", *(f"NMAE w0 = {w0:g} g" for w0 in PENALTIES), "cpMAE", "cpMAE+FP", "photos"),
        tuple(rows),
        f"{cohort.threshold_note} Grams. {cohort.everyone.note} Source: Section 3 and Table A2.",
    )


def _by_penalty(contest: Contest) -> list[list[float]]:
    """Return the columns of the table: NMAE at each penalty, and the scores without one."""
    found = [
        [score_items(items, contest.threshold, w0).nmae for items in contest.items]
        for w0 in PENALTIES
    ]
    return [*found, *(contest.full[name].tolist() for name in ("cpmae", "cpmae_fp"))]


def assignment_table(cohort: Cohort) -> Table:
    """Return F1 under greedy and under optimal assignment."""
    rows = []
    for entry in cohort.entries:
        matrices = [
            np.array(record.similarity, dtype=np.float64).reshape(
                len(record.items), len(record.foods)
            )
            for record in entry.records
        ]
        found = [assignment_difference(entry.photos, matrices, at) for at in cohort.thresholds]
        largest = max((one.difference for one in found), key=abs)
        first = found[0]
        rows.append(
            (
                *(entry.label, first.greedy_f1, first.optimal_f1, first.difference),
                *(first.changed, largest),
            )
        )
    return Table(
        "Canteen: greedy and optimal assignment",
        (
            *("run", "F1 greedy", "F1 Hungarian", "difference", "photos changed"),
            "largest difference at any threshold",
        ),
        tuple(rows),
        f"{cohort.threshold_note} Source: Section 2.2.1 (at most 0.006).",
    )


def reference_table(cohort: Cohort) -> Table:
    """Return the reference predictors on the true items of each set of answered photos."""
    sets: dict[tuple[str, ...], list[Entry]] = {}
    for entry in cohort.entries:
        sets.setdefault(tuple(photo.image for photo in entry.photos), []).append(entry)
    rows: list[tuple[Cell, ...]] = []
    for images, entries in sets.items():
        runs = "every run" if len(sets) == 1 else "; ".join(entry.label for entry in entries)
        for name, scores in reference_scores(entries[0].photos).items():
            shown = tuple(float(getattr(scores, field)) for field in REFERENCE_SCORES)
            rows.append((name, runs, len(images), scores.n_true, *shown))
    return Table(
        "Canteen: reference predictors",
        (
            *("predictor", "photos of", "photos", "true items"),
            *(SHOWN[name] for name in REFERENCE_SCORES),
        ),
        tuple(rows),
        "Grams. Global median and typical serving are given every food's name; typical serving "
        "is the median of the same food on the other photos. Source: Section 2.2.4 and Table 2.",
    )


def reference_scores(photos: list[ImageResult]) -> dict[str, PortionScores]:
    """Return the scores of each reference predictor on the photos' true items."""
    grams = [weight for photo in photos for weight in photo.true_grams]
    predictors = {
        "null": null_predictions(photos),
        "global median": perfect_recognition(photos, global_median_predictions(grams)),
        "typical serving": perfect_recognition(photos, typical_servings(photos)),
    }
    return {name: score_portions(predicted) for name, predicted in predictors.items()}
