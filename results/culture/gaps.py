"""Differences between forms of question and between conditions, for each model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from lmms_eval_food.metrics.gaps import Gap, PairedGap, form_gap, paired_gap
from lmms_eval_food.results.culture.tasks import BINARY, FIRST_STEP, MC, REGION, VARIANTS
from lmms_eval_food.results.joined import Joined, Record, Settings, pairs, scored, table
from lmms_eval_food.results.tables import Cell, Table, interval
from lmms_eval_food.tasks.culturalmenu.hooks import TIERS

SUBSETS = 5
Pair = tuple[Record, Record]

PAIRED_COLUMNS = (
    *("items", "first accuracy", "second accuracy", "difference", "95% interval"),
    *("right in the first only", "right in the second only", "McNemar p"),
)
_MCNEMAR = (
    "Items that both conditions answered, paired by id. McNemar's exact two-sided p takes items as "
    "independent, the interval does not."
)


def gap_tables(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return the gaps between layers, then what names, steps and reasoning change."""
    return [
        *_layers(models, settings),
        *_variants(models, settings),
        *_first_step(models, settings),
    ]


def _layers(models: Sequence[Joined], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        for second, shared_only in ((BINARY, False), (REGION, True)):
            forms = [scored(model.records(task, settings.reader)) for task in (MC, second)]
            if all(forms):
                gap = _form_gap(forms[0], forms[1], shared_only, settings)
                rows.append((model.title, f"{MC} - {second}", *_layer_cells(gap)))
    columns = (
        *("model", "gap", "first accuracy", "second accuracy", "difference", "95% interval"),
        *("resamples above 0", "dishes", "of them in both"),
        *("difference in five disjoint subsets of dishes", "their sd", "smallest"),
    )
    note = (
        f"{settings.note} Multiple choice minus binary counts all dishes (Table 5), standard minus "
        "regional multiple choice those that both ask about (Appendix D). Resampling draws all "
        "questions about a dish together."
    )
    return table("CulturalMenuBench: knowledge-application gap", columns, rows, note)


def _form_gap(
    first: Sequence[Record], second: Sequence[Record], shared_only: bool, settings: Settings
) -> Gap:
    flags = [[bool(record["correct"]) for record in records] for records in (first, second)]
    dishes = [[str(record["dish"]) for record in records] for records in (first, second)]
    return form_gap(
        *(flags[0], dishes[0], flags[1], dishes[1]),
        shared_only=shared_only,
        subsets=SUBSETS,
        resamples=settings.resamples,
        seed=settings.seed,
    )


def _layer_cells(gap: Gap) -> tuple[Cell, ...]:
    difference = gap.gap
    return (
        *(gap.first, gap.second, difference.difference),
        *(interval(difference.low, difference.high), difference.share_above),
        *(gap.dishes, gap.shared),
        # nan, a subset without an answer in one form, as the tables show it.
        ", ".join("–" if part != part else f"{part:.3f}" for part in gap.subset_gaps),
        *(gap.subset_sd, gap.subset_min),
    )


def _variants(models: Sequence[Joined], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        image = [
            record
            for record in model.records(REGION, settings.reader)
            if record["groups"]["evidence"] == "dish_image"
        ]
        for name, task in VARIANTS.items():
            if both := pairs(model.records(task, settings.reader), image):
                rows.append((model.title, f"{name} - image", *_paired_cells(both, settings)))
    note = (
        f"{settings.note} First: the dish's name alone (text), name and image (named), or image "
        f"with reasoning (cot); second: the dish image alone. {_MCNEMAR} Tables 16 and 17."
    )
    return table(
        "CulturalMenuBench: what name and reasoning change in regional attribution",
        ("model", "difference of", *PAIRED_COLUMNS),
        rows,
        note,
    )


def _first_step(models: Sequence[Joined], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        for full, single in FIRST_STEP.items():
            both = pairs(*(model.records(task, settings.reader) for task in (full, single)))
            for name, part in _kinds(both):
                rows.append((model.title, full, name, *_paired_cells(part, settings)))
    note = (
        f"{settings.note} First: all pictures of cooking steps; second: the first picture of each "
        f"group of steps. {_MCNEMAR} Table 6 splits by whether a question has such pictures; the "
        "process tier also holds the comparison of two dishes."
    )
    return table(
        "CulturalMenuBench: full minus first step",
        ("model", "task", "questions", *PAIRED_COLUMNS),
        rows,
        note,
    )


def _kinds(both: Sequence[Pair]) -> Iterator[tuple[str, list[Pair]]]:
    """Yield kinds of question that occur, each with its items."""

    def shows_steps(record: Record) -> bool:
        return "practice_image" in record["groups"]["relation"]

    def in_tier(tier: str) -> Callable[[Record], bool]:
        return lambda record: bool(record["groups"]["tier"] == tier)

    kinds: dict[str, Callable[[Record], bool]] = {
        "all": lambda record: True,
        **{tier: in_tier(tier) for tier in TIERS},
        "with step pictures": shows_steps,
        "without step pictures": lambda record: not shows_steps(record),
    }
    for name, belongs in kinds.items():
        if items := [pair for pair in both if belongs(pair[0])]:
            yield name, items


def _paired_cells(both: Sequence[Pair], settings: Settings) -> tuple[Cell, ...]:
    found: PairedGap = paired_gap(
        [first["correct"] for first, _ in both],
        [second["correct"] for _, second in both],
        [first["dish"] for first, _ in both],
        settings.resamples,
        settings.seed,
    )
    difference = found.gap
    return (
        *(found.n, found.first, found.second, difference.difference),
        interval(difference.low, difference.high),
        *(found.only_first, found.only_second, found.mcnemar_p),
    )
