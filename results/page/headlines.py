"""The headline table of each benchmark: own runs beside published rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lmms_eval_food.results.page.columns import BENCHMARKS, Benchmark
from lmms_eval_food.results.page.text import short
from lmms_eval_food.results.reference import ReferenceRow, load_reference
from lmms_eval_food.results.scores import Score

OWN, PUBLISHED = "own run", "published"


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
        *([_matcher(score)] if score.matcher else []),
        f"run {short(score.run)}",
    ]
    text = "–" if math.isnan(score.value) else f"{score.value:.{digits}f}"
    return Number(text, score.value, between, "; ".join(parts))


def _matcher(score: Score) -> str:
    rescored = f" (rescored; logged with {score.logged_with})" if score.logged_with else ""
    return f"matcher {score.matcher} >= {score.threshold:g}{rescored}"


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
