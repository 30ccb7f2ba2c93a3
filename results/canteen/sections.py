"""All tables about the canteen set, in the order of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmms_eval_food.metrics.bootstrap import RESAMPLES
from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS
from lmms_eval_food.results.canteen import compare, portions, repair, scores, temperatures
from lmms_eval_food.results.canteen.categories import load_rules
from lmms_eval_food.results.canteen.cohort import Cohort
from lmms_eval_food.results.canteen.entries import Entry, read_entries
from lmms_eval_food.results.canteen.rescore import open_matcher, rescore
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table


def canteen_tables(
    runs: Sequence[Run],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    thresholds: Sequence[float] = THRESHOLDS,
    matcher: str | None = None,
    reader: str = "robust",
    categories: Path | None = None,
) -> list[Table]:
    """Return every table of the canteen paper that the runs allow, from their records alone.

    Runs are compared only where documents and matcher are the same; where they are not, each group
    has its own tables, and titles say which.

    Args:
        runs: Runs with a canteen task; other tasks are ignored.
        resamples: Bootstrap resamples of the photos.
        seed: Their seed.
        thresholds: Lowest accepted similarities in [0, 1], at least one; the first is the primary
            one, at which all but the tables by threshold are made.
        matcher: Scores all names anew with this matcher (`open_matcher`); None: as in the log.
        reader: Whose readings, "official" or "robust".
        categories: YAML file with keyword rules; None: the packaged ones.

    Returns:
        Tables; [] without a canteen task.

    Raises:
        ValueError: no thresholds, a threshold outside [0, 1], a record of another version or a
            malformed file of rules.
        MatcherError: `matcher` cannot score.
    """
    if not thresholds:
        raise ValueError("at least one threshold is needed")
    entries = read_entries(runs, reader)
    if matcher is not None:
        entries = _rescored(entries, matcher)
    groups: dict[tuple[str, str], list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.source, []).append(entry)
    rules = load_rules(categories)
    tables = []
    for source, members in groups.items():
        cohort = Cohort(tuple(members), tuple(thresholds), resamples, seed, rules)
        suffix = f" ({', '.join(source)})" if len(groups) > 1 else ""
        tables += [replace(table, title=table.title + suffix) for table in _tables(cohort)]
    return tables


def _rescored(entries: Sequence[Entry], matcher: str) -> list[Entry]:
    chosen = open_matcher(matcher)
    return [
        replace(
            entry,
            records=tuple(rescore(entry.records, chosen)),
            source=(entry.source[0], chosen.fingerprint),
        )
        for entry in entries
    ]


def _tables(cohort: Cohort) -> list[Table]:
    found = [
        repair.counts_table(cohort),
        scores.main_table(cohort),
        scores.intervals_table(cohort),
        *(scores.threshold_table(cohort, metric) for metric in ("f1", "nmae")),
        scores.penalty_table(cohort),
        scores.assignment_table(cohort),
        scores.reference_table(cohort),
        portions.same_items_table(cohort),
        portions.calibration_table(cohort),
        portions.quartile_table(cohort),
        portions.category_table(cohort),
        portions.rounding_table(cohort),
        repair.sensitivity_table(cohort),
        repair.foreign_items_table(cohort),
        temperatures.temperature_table(cohort),
        temperatures.replicate_table(cohort),
        compare.participant_table(cohort),
    ]
    if len(cohort.best.labels) > 1:
        found += [
            compare.left_out_table(cohort),
            compare.difference_table(cohort),
            compare.first_place_table(cohort),
        ]
    # A table without rows has nothing to say; None: the runs do not allow it.
    return [table for table in found if table is not None and table.rows]
