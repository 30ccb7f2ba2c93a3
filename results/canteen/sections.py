"""All tables about the canteen set, in the order of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from lmms_eval_food.metrics.bootstrap import RESAMPLES
from lmms_eval_food.results.canteen import compare, portions, repair, scores, temperatures
from lmms_eval_food.results.canteen.categories import load_rules
from lmms_eval_food.results.canteen.cohort import Cohort
from lmms_eval_food.results.canteen.entries import MARK, groups, read_entries
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table


def canteen_tables(
    runs: Sequence[Run],
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    reader: str = "robust",
    categories: Path | None = None,
) -> list[Table]:
    """Return every table of the canteen paper that the runs allow, from their records alone.

    Runs are compared only where documents, task version and matcher are the same; where they are
    not, each group has its own tables, and titles say which. Incomplete runs are marked and in no
    comparison, unless all of a group are incomplete. Matcher and threshold are those of the
    records: for others, rescore the runs first (`rescored`).

    Args:
        runs: Runs with a canteen task; other tasks are ignored.
        resamples: Bootstrap resamples of the photos.
        seed: Their seed.
        reader: Whose readings, "official" or "robust".
        categories: YAML file with keyword rules; None: the packaged ones.

    Returns:
        Tables; [] without a canteen task.

    Raises:
        ValueError: a record of another version or a malformed file of rules.
    """
    rules = load_rules(categories)
    tables = []
    for suffix, members in groups(read_entries(runs, reader)):
        ordered = sorted(members, key=lambda entry: not entry.complete)
        cohort = Cohort(tuple(ordered), resamples, seed, rules)
        tables += [_finished(table, cohort, suffix) for table in _tables(cohort)]
    return tables


def _finished(table: Table, cohort: Cohort, suffix: str) -> Table:
    """Return a table that says which group it is of and what its marks mean."""
    marked = any(str(cell).startswith(MARK) for row in table.rows for cell in row)
    note = f"{table.note} {cohort.mark_note}" if marked else table.note
    return replace(table, title=table.title + suffix, note=note)


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
        temperatures.scores_table(cohort),
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
