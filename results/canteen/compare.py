"""Who is better, and how firmly: the canteen paper's Sections 2.2.3 and 3."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from lmms_eval_food.metrics.bootstrap import leave_one_out_counts, paired_difference
from lmms_eval_food.metrics.ranking import first_place_shares, left_out_rankings
from lmms_eval_food.results.canteen.cohort import HIGHER_IS_BETTER, SHOWN, Cohort, Contest
from lmms_eval_food.results.tables import Cell, Table, interval

# What runs are compared by; all scores would be too many to read.
COMPARED = ("f1", "nmae", "cpmae_fp", "meal_ae")


def _models(cohort: Cohort) -> str:
    """Return which runs are compared."""
    chosen = "Each model at its best temperature by F1, as in the table of temperatures."
    left_out = len(cohort.apart)
    return f"{chosen} Without {left_out} incomplete runs." if left_out else chosen


def difference_table(cohort: Cohort) -> Table:
    """Return the differences between every two models."""
    contest = cohort.best
    rows: list[tuple[Cell, ...]] = []
    for metric in COMPARED:
        full, resampled = contest.full[metric], contest.resampled[metric]
        for one, two in combinations(range(len(contest.labels)), 2):
            gap = paired_difference(float(full[one] - full[two]), resampled[one], resampled[two])
            digits = 3 if metric in HIGHER_IS_BETTER else 1
            rows.append(
                (
                    *(SHOWN[metric], contest.labels[one], contest.labels[two], gap.difference),
                    *(interval(gap.low, gap.high, digits), gap.p_value, gap.share_above),
                )
            )
    return Table(
        "Canteen: differences between models",
        (
            *("score", "first", "second", "first minus second", "95% interval", "p"),
            "share of resamples above 0",
        ),
        tuple(rows),
        f"{_models(cohort)} {contest.note} {cohort.threshold_note} Both runs on the same "
        f"resamples: {cohort.bootstrap_note} p is two-sided, not adjusted for the number of "
        "comparisons. Higher F1 and lower errors are better. Source: Section 2.2.3.",
    )


def first_place_table(cohort: Cohort) -> Table:
    """Return how often each model ranks first over the resamples."""
    contest = cohort.best
    shares = [
        first_place_shares(contest.resampled[name], higher_is_better=name in HIGHER_IS_BETTER)
        for name in COMPARED
    ]
    rows: list[tuple[Cell, ...]] = [
        (label, *(float(share[index]) for share in shares))
        for index, label in enumerate(contest.labels)
    ]
    return Table(
        "Canteen: probability of ranking first",
        ("run", *(SHOWN[name] for name in COMPARED)),
        tuple(rows),
        f"{_models(cohort)} {contest.note} {cohort.threshold_note} Share of "
        f"{cohort.resamples} resamples of the photos, seed {cohort.seed}. Source: Section 3.",
    )


def participant_table(cohort: Cohort) -> Table:
    """Return each run's scores on one participant's photos and on all others."""
    rows = [row for contest in (cohort.everyone, *cohort.alone) for row in _by_person(contest)]
    return Table(
        "Canteen: participants",
        (
            *("participant", "photos", "run", "F1", "precision", "NMAE"),
            *("F1 without them", "NMAE without them"),
        ),
        tuple(rows),
        f"{cohort.everyone.note} {cohort.threshold_note} Source: Sections 2.2.3 and 3.",
    )


def _by_person(contest: Contest) -> Iterator[tuple[Cell, ...]]:
    groups, others = leave_one_out_counts(contest.participants)
    without, own = contest.on(others), contest.on(1 - others)
    sizes = (1 - others).sum(axis=1).tolist()
    for at, (group, size) in enumerate(zip(groups, sizes, strict=True)):
        for run, label in enumerate(contest.labels):
            yield (
                *(group, size, label),
                *(float(own[name][run, at]) for name in ("f1", "precision", "nmae")),
                *(float(without[name][run, at]) for name in ("f1", "nmae")),
            )


def left_out_table(cohort: Cohort) -> Table:
    """Return the ranking of the models without each participant's photos."""
    contest = cohort.best
    groups, others = leave_one_out_counts(contest.participants)
    without = contest.on(others)
    rows: list[tuple[Cell, ...]] = []
    for metric in ("f1", "nmae"):
        found = left_out_rankings(
            groups,
            contest.full[metric],
            without[metric],
            higher_is_better=metric in HIGHER_IS_BETTER,
        )
        for part, size in zip(found, others.sum(axis=1).tolist(), strict=True):
            best = None if part.best is None else contest.labels[part.best]
            rows.append((SHOWN[metric], part.group, size, best, part.spearman))
    return Table(
        "Canteen: ranking without one participant",
        ("score", "left out", "photos left", "best model", "Spearman with all photos"),
        tuple(rows),
        f"{_models(cohort)} {contest.note} {cohort.threshold_note} Source: Section 3 (0.99 to "
        "1.00).",
    )
