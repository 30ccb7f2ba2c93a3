"""How answers were read, and what the repairs change: the canteen paper's Table A3."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from lmms_eval_food.filters.food_items import Vocabulary
from lmms_eval_food.filters.reading import Status
from lmms_eval_food.metrics.portion_analysis import items_per_image
from lmms_eval_food.metrics.portions import score_portions
from lmms_eval_food.results.canteen.cohort import Cohort
from lmms_eval_food.results.canteen.entries import Entry
from lmms_eval_food.results.tables import Cell, Table
from lmms_eval_food.tasks.canteen.record import TrayRecord

# Steps of the repair chain, in their order; those that are more than a tolerant JSON parser.
STEPS = ("json", "json_repair", "list", "model")
BEYOND_A_PARSER = frozenset({"list", "model"})
UNREAD = (Status.UNREADABLE, Status.EMPTY, Status.TRUNCATED)


def counts_table(cohort: Cohort) -> Table:
    """Return what became of every document of every run."""
    columns = (
        *("run", "command", "T", "status", "photos", "of", "failed"),
        *UNREAD,
        *(f"repaired by {step}" for step in STEPS),
        *("items a photo", "true items a photo", "items without grams", "broken pictures"),
    )
    data, matcher, version = cohort.entries[0].source
    return Table(
        "Canteen: runs",
        columns,
        tuple(_counts(entry) for entry in cohort.entries),
        f"Data {data}; matcher {matcher}; task version {version}. {cohort.threshold_note} Failed "
        "requests are left out of every score. Unreadable, empty and truncated answers count as "
        "no foods.",
    )


def _counts(entry: Entry) -> tuple[Cell, ...]:
    statuses = Counter(record.status for record in entry.records)
    steps = Counter(r.step for r in entry.records if r.status == Status.REPAIRED)
    items = items_per_image(entry.photos)
    return (
        entry.label,
        entry.title,
        entry.temperature,
        "; ".join(entry.problems) or "complete",
        len(entry.records) + entry.failed,
        entry.available,
        entry.failed,
        *(statuses[status] for status in UNREAD),
        *(steps[step] for step in STEPS),
        items.predicted,
        items.true,
        sum(item["grams"] is None for record in entry.records for item in record.items),
        sum(record.broken_pictures for record in entry.records),
    )


def sensitivity_table(cohort: Cohort) -> Table:
    """Return F1 with repaired answers as they are, as empty, and with a parser alone."""
    rows = [_sensitivity(entry, cohort.primary) for entry in cohort.entries]
    return Table(
        "Canteen: what repairs change",
        (
            *("run", "repair rate", "empty rate", "F1", "F1 repaired as empty"),
            *("F1 JSON parser alone", "items not in the text"),
        ),
        tuple(rows),
        f"{cohort.threshold_note} Rates over answered photos; empty: no food read. Parser alone: "
        "answers read as a list or by a second model count as empty. Source: Table A3.",
    )


def _sensitivity(entry: Entry, threshold: float) -> tuple[Cell, ...]:
    answered = len(entry.records)
    repaired = sum(_repaired(record) for record in entry.records)
    empty = sum(not record.items for record in entry.records)
    return (
        entry.label,
        repaired / answered if answered else None,
        empty / answered if answered else None,
        _f1_without(entry, threshold, lambda record: False),
        _f1_without(entry, threshold, _repaired),
        _f1_without(entry, threshold, lambda record: record.step in BEYOND_A_PARSER),
        sum(1 for _ in _foreign(entry)),
    )


def _repaired(record: TrayRecord) -> bool:
    return record.status == Status.REPAIRED


def _f1_without(entry: Entry, threshold: float, dropped: Callable[[TrayRecord], bool]) -> float:
    """Return F1 with the foods of some answers taken away."""
    photos = [
        replace(photo, pred_names=(), pred_grams=(), pairs=()) if dropped(record) else photo
        for record, photo in zip(entry.records, entry.photos, strict=True)
    ]
    return score_portions(photos, threshold).f1


def foreign_items_table(cohort: Cohort) -> Table:
    """Return every predicted food with a word that its answer does not hold."""
    rows = [
        (entry.label, photo, name, step)
        for entry in cohort.entries
        for photo, name, step in _foreign(entry)
    ]
    return Table(
        "Canteen: items whose words are not in the answer",
        ("run", "photo", "item", "step"),
        tuple(rows),
        "Nothing may be read that was not written: each row is a fault of a repair.",
    )


def _foreign(entry: Entry) -> Iterator[tuple[str, str, str]]:
    for record in entry.records:
        vocabulary = Vocabulary(record.raw)
        for item in record.items:
            if not vocabulary.holds(item["name"]):
                yield record.id, item["name"], record.step
