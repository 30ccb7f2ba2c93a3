"""The headline table of each benchmark: own runs beside published rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lmms_eval_food.results.page.text import short
from lmms_eval_food.results.reference import ReferenceRow, load_reference
from lmms_eval_food.results.scores import Score

OWN, PUBLISHED = "own run", "published"


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a headline table.

    Attributes:
        label: Its heading, with the unit.
        task: The task, "{}" standing for the setting's suffix.
        metric: The host's name of the metric.
        higher_is_better: Which end is better.
        published: Where the same number is printed: table and setting ("" for the row's own), by
            the table's own setting.
    """

    label: str
    task: str
    metric: str
    higher_is_better: bool
    published: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a headline table shows.

    Attributes:
        name: Prefix of its tasks, and its name in `results.reference`.
        title: Its name for people.
        settings: Name of a setting -> suffix of its tasks.
        columns: Its numbers; ranks go by the first.
    """

    name: str
    title: str
    settings: Mapping[str, str]
    columns: tuple[Column, ...]


_DINING = (("2", "zh"), ("4", "en"))
_CANTEEN = (("2", "*"),)

BENCHMARKS = (
    Benchmark(
        "diningbench",
        "DiningBench",
        {"zh": "", "en": "_en"},
        (
            Column("Classification accuracy", "diningbench_cls{}", "acc", True, _DINING),
            Column("VQA judged accuracy", "diningbench_vqa{}", "judge_acc", True, _DINING),
            Column("Nutrition MAPE, %", "diningbench_nutrition{}", "mape", False, _DINING),
            Column("Nutrition MAE, kcal+g", "diningbench_nutrition{}", "mae", False, _DINING),
            Column("Nutrition RMSE, kcal+g", "diningbench_nutrition{}", "rmse", False, _DINING),
        ),
    ),
    Benchmark(
        "canteen",
        "Canteen portions",
        {"standard": "", "concise": "_concise"},
        (
            Column("F1", "canteen_portions{}", "f1", True, _CANTEEN),
            Column("NMAE, g", "canteen_portions{}", "nmae", False, _CANTEEN),
            Column("cpMAE, g", "canteen_portions{}", "cpmae", False, _CANTEEN),
            Column("cpMAE+FP, g", "canteen_portions{}", "cpmae_fp", False, _CANTEEN),
            Column("Meal AE, g", "canteen_portions{}", "meal_ae", False, _CANTEEN),
            Column("MAE, g", "canteen_portions{}", "mae", False, _CANTEEN),
            Column("MedAE, g", "canteen_portions{}", "medae", False, _CANTEEN),
            Column("Matched items", "canteen_portions{}", "matched", True, _CANTEEN),
        ),
    ),
    Benchmark(
        "culturalmenu",
        "CulturalMenuBench",
        {"": ""},
        (
            Column("Multiple-choice accuracy", "culturalmenu_mc", "acc", True, (("5", "mc"),)),
            Column("Binary accuracy", "culturalmenu_binary", "acc", True, (("5", "binary"),)),
            Column("Regional accuracy", "culturalmenu_region", "acc", True, (("7", "overall"),)),
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Number:
    """One cell: what is shown, what it sorts by, and how it was made."""

    text: str
    value: float
    interval: str
    how: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a headline table.

    Attributes:
        kind: `OWN` or `PUBLISHED`.
        model: The model, and of own runs the arguments.
        setting: Language, temperature or variant; "" where there is only one.
        reader: Whose readings; "as printed" for published rows.
        status: "complete", "published" or why the row has no rank.
        ranked: Whether the row may be ranked.
        rank: Place by the first column among the own runs of one setting and reader.
        numbers: One a column, None where there is none.
    """

    kind: str
    model: str
    setting: str
    reader: str
    status: str
    ranked: bool
    rank: int | None
    numbers: tuple[Number | None, ...]


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline table of one benchmark."""

    benchmark: Benchmark
    rows: tuple[Row, ...]


Marks = Mapping[tuple[str, str], Sequence[str]]


def headlines(scores: Sequence[Score], marks: Marks, made: str) -> list[Headline]:
    """Return the headline tables of the benchmarks that some run asked.

    Args:
        scores: Scores of any runs.
        marks: (run, task) -> what keeps it out of the ranking (`completeness.marks`).
        made: How intervals were made, and the versions, for every number's explanation.
    """
    found = []
    for benchmark in BENCHMARKS:
        own = [score for score in scores if score.task.startswith(f"{benchmark.name}_")]
        if own:
            rows = _ranked(benchmark, _own_rows(benchmark, own, marks, made))
            found.append(Headline(benchmark, (*rows, *_published(benchmark))))
    return found


def _own_rows(benchmark: Benchmark, scores: Sequence[Score], marks: Marks, made: str) -> list[Row]:
    known = {(s.run, s.reader, s.task, s.metric): s for s in scores}
    models = {(score.run, score.reader): score.model for score in scores}
    rows = []
    for (run, reader), model in models.items():
        for setting, suffix in benchmark.settings.items():
            tasks = [column.task.format(suffix) for column in benchmark.columns]
            keys = [
                (run, reader, task, column.metric)
                for task, column in zip(tasks, benchmark.columns, strict=True)
            ]
            if not any(key in known for key in keys):
                continue
            own = [known.get(key) for key in keys]
            asked = dict.fromkeys(score.task for score in own if score)
            reasons = [f"{task}: {mark}" for task in asked for mark in marks.get((run, task), ())]
            rows.append(
                Row(
                    kind=OWN,
                    model=model,
                    setting=setting,
                    reader=reader,
                    status="; ".join(reasons) or "complete",
                    ranked=not reasons,
                    rank=None,
                    numbers=tuple(_number(score, made) if score else None for score in own),
                )
            )
    return rows


def _ranked(benchmark: Benchmark, rows: Sequence[Row]) -> list[Row]:
    """Return the rows, best first within setting and reader, those without a rank last."""
    sign = -1 if benchmark.columns[0].higher_is_better else 1

    def value(row: Row) -> float:
        first = row.numbers[0]
        return math.nan if first is None else first.value

    places: dict[int, int] = {}
    for number, row in enumerate(rows):
        if row.ranked and not math.isnan(value(row)):
            same = [r for r in rows if (r.setting, r.reader) == (row.setting, row.reader)]
            better = [r for r in same if r.ranked and sign * value(r) < sign * value(row)]
            places[number] = 1 + len(better)
    numbered = [replace(row, rank=places.get(number)) for number, row in enumerate(rows)]
    return sorted(
        numbered,
        key=lambda row: (row.setting, row.reader != "robust", row.rank or math.inf, row.model),
    )


def _number(score: Score, made: str) -> Number:
    digits = 3 if score.unit == "share" else 0 if score.unit == "items" else 1
    between = ""
    if not math.isnan(score.low):
        between = f"[{score.low:.{digits}f}, {score.high:.{digits}f}]"
    size = "" if score.n is None else f", n = {score.n}"
    parts = [
        f"{score.metric} of {score.task} version {score.version}, {score.reader} reader{size}",
        f"95% percentile interval {between}, {made}" if between else made,
        f"data {score.data}",
        *([f"matcher {score.matcher} >= 0.5"] if score.matcher else []),
        f"run {short(score.run)}",
    ]
    text = "–" if math.isnan(score.value) else f"{score.value:.{digits}f}"
    return Number(text, score.value, between, "; ".join(parts))


def _published(benchmark: Benchmark) -> list[Row]:
    cells: dict[tuple[str, str, str], dict[int, ReferenceRow]] = {}
    for place, column in enumerate(benchmark.columns):
        for table, setting in column.published:
            for row in load_reference(benchmark.name, table):
                if row.metric == column.metric and setting in ("*", row.setting):
                    own = row.setting if setting == "*" or len(benchmark.settings) > 1 else ""
                    cells.setdefault((row.model, own, row.access), {})[place] = row
    return [
        Row(
            kind=PUBLISHED,
            model=f"{model} ({access})",
            setting=setting,
            reader="as printed",
            status="published",
            ranked=False,
            rank=None,
            numbers=tuple(
                _printed(own[place]) if place in own else None
                for place in range(len(benchmark.columns))
            ),
        )
        for (model, setting, access), own in cells.items()
    ]


def _printed(row: ReferenceRow) -> Number:
    scale, text = (100, f"{row.value / 100:.3f}") if _is_share(row) else (1, row.printed)
    between = "" if row.low is None else f"[{row.low / scale:g}, {(row.high or 0.0) / scale:g}]"
    size = "" if row.n is None else f", n = {row.n}"
    how = f"{row.metric} as printed ({row.printed} {row.unit}{size}) in {row.source}, {row.date}"
    return Number(text, row.value / scale, between, how)


def _is_share(row: ReferenceRow) -> bool:
    """Return whether a printed percentage is one that own runs show as a share."""
    return row.unit == "%" and row.metric == "acc"
