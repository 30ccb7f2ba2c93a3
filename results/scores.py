"""Every score of some runs as tidy rows: one a run, task, metric and reader."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from lmms_eval_food.metrics.bootstrap import RESAMPLES
from lmms_eval_food.metrics.nutrition import NUTRIENTS
from lmms_eval_food.results.completeness import task_states
from lmms_eval_food.results.intervals import Interval, intervals
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.recompute import kind, recomputed
from lmms_eval_food.results.scoring import distinct, logged_with, named_thresholds, threshold_of

CSV, PARQUET = "scores.csv", "scores.parquet"
_ITEMS = (
    *("failed_requests", "repaired", "not_judged", "views_short", "zero_truths", "capped"),
    *("n_images", "n_pred", "n_true", "tp", "fp", "fn", "matched"),
)
_PORTIONS = ("mae", "medae", "rmse", "nmae", "cpmae", "cpmae_fp", "meal_ae")
_GRAMS = (
    *_PORTIONS,
    *(f"{what}_{name}" for what in NUTRIENTS[1:] for name in ("mae", "rmse", "bias")),
)


@dataclass(frozen=True, slots=True)
class Score:
    """One number.

    Attributes:
        run: Which run: date, model and arguments; different for each run of a report.
        model: The model, its arguments and `--gen_kwargs`, as they were typed.
        task: The task's name.
        version: The task's version.
        metric: The host's name of the metric.
        reader: Whose reading of the answers, "official" or "robust".
        value: The score in `unit`, nan where there is nothing to score.
        low: Lower end of the 95% interval, nan where there is none.
        high: Its upper end.
        n: How many answers (canteen: photos) it is over; None for a count.
        unit: "share" (1 is whole), "%" (100 is whole), "g", "kcal", "kcal+g" (mean of one figure
            in kcal and three in g), "r" or "items".
        higher_is_better: None where neither end is.
        data: Where the documents came from.
        matcher: What compared food names, "" where none is needed.
        complete: Whether the run's task has no `completeness` problem.
        threshold: Lowest accepted similarity, in [0, 1]; nan where no matcher is needed.
        logged_with: Matcher and threshold of the log where the report has others, else "".
    """

    run: str
    model: str
    task: str
    version: str
    metric: str
    reader: str
    value: float
    low: float
    high: float
    n: int | None
    unit: str
    higher_is_better: bool | None
    data: str
    matcher: str
    complete: bool
    threshold: float = math.nan
    logged_with: str = ""


COLUMNS = tuple(field.name for field in fields(Score))


def scores_of(run: Run, resamples: int = RESAMPLES, seed: int = 0) -> list[Score]:
    """Return every score of a run, recomputed from its records.

    Args:
        run: A run.
        resamples: Bootstrap resamples of dishes or photos.
        seed: Their seed.

    A photo that was logged twice counts once.

    Returns:
        Rows in the order of tasks, readers and metrics; `run` is date and title, see `numbered`.
    """
    found = []
    generation = run.results["config"].get("gen_kwargs") or ""
    model = f"{run.title} --gen_kwargs {generation}" if generation else run.title
    name = f"{run.results.get('date', '')} {model}".strip()
    for task, state in task_states(run).items():
        better = run.results.get("higher_is_better", {}).get(task, {})
        for reader, logged in run.records.get(task, {}).items():
            records = distinct(logged) if kind(task) == "canteen" else logged
            before = logged_with(records)
            thresholds = named_thresholds(threshold_of(records)) if state.matcher else {}
            ends = intervals(task, records, resamples, seed)
            for metric, value in recomputed(task, records).items():
                if isinstance(value, str):
                    continue
                own = ends.get(metric)
                found.append(
                    Score(
                        run=name,
                        model=model,
                        task=task,
                        version=state.version,
                        metric=metric,
                        reader=reader,
                        value=float(value),
                        low=own.low if own else math.nan,
                        high=own.high if own else math.nan,
                        n=_size(own, metric, len(records)),
                        unit=unit(task, metric),
                        higher_is_better=better.get(metric, _better(metric)),
                        data=state.data,
                        matcher=state.matcher,
                        complete=not state.problems,
                        threshold=thresholds.get("".join(metric.partition("_at_")[1:]), math.nan),
                        logged_with=before,
                    )
                )
    return found


def numbered(parts: Sequence[Sequence[Score]]) -> list[list[Score]]:
    """Return each run's scores with a name of its own: "NAME (2)" for the second of that name."""
    taken: set[str] = set()
    found = []
    for part in parts:
        own = list(part)
        for name in {score.run for score in own}:
            free, number = name, 1
            while free in taken:
                number += 1
                free = f"{name} ({number})"
            taken.add(free)
            if free != name:
                own = [replace(score, run=free) for score in own]
        found.append(own)
    return found


def unit(task: str, metric: str) -> str:
    """Return the unit of a metric, as `Score.unit` lists them."""
    name = metric.partition("_at_")[0]
    if name in _ITEMS:
        return "items"
    if name.endswith(("mape", "medape")):
        return "%"
    if name.startswith("calories") and not name.endswith("_r"):
        return "kcal"
    if "nutrition" in task and name in ("mae", "rmse"):
        return "kcal+g"
    if name.endswith("_r"):
        return "r"
    return "g" if name in _GRAMS else "share"


def _better(metric: str) -> bool | None:
    """Return the direction of a metric that the host's results do not list."""
    name = metric.partition("_at_")[0]
    if name.startswith(("acc", "judge_acc", "rouge")) or name in ("precision", "recall", "f1"):
        return True
    lower = name in _GRAMS or name.endswith(("mae", "rmse", "mape", "medape", "failure_rate"))
    return False if lower and not name.endswith("bias") else None


def _size(own: Interval | None, metric: str, records: int) -> int | None:
    if own is not None:
        return own.n
    return None if metric in _ITEMS else records


def csv_text(scores: Iterable[Score]) -> str:
    """Return the rows as CSV; a value that does not exist is an empty cell, as is nan."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for score in scores:
        writer.writerow([_cell(getattr(score, name)) for name in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).lower() if isinstance(value, bool) else value


def write_scores(scores: Sequence[Score], folder: Path) -> None:
    """Write `scores.csv` and `scores.parquet`; the same scores give the same bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    text = csv_text(scores)
    (folder / CSV).write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
    types = {
        **dict.fromkeys(COLUMNS, pa.string()),
        **dict.fromkeys(("value", "low", "high", "threshold"), pa.float64()),
        "n": pa.int64(),
        "higher_is_better": pa.bool_(),
        "complete": pa.bool_(),
    }
    columns = {name: [_stored(getattr(score, name)) for score in scores] for name in types}
    table = pa.table(columns, schema=pa.schema(list(types.items())))
    parquet.write_table(table, folder / PARQUET)


def _stored(value: Any) -> Any:
    """Return a cell that Parquet takes: no nan, no half of a surrogate pair."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value
