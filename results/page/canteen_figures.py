"""The canteen set's pictures."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lmms_eval_food.metrics.matches import accepted_matches
from lmms_eval_food.results.canteen.entries import MARK, Entry, groups, read_entries
from lmms_eval_food.results.canteen.temperatures import BY_TEMPERATURE
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.page.figures import (
    PANELS,
    Figure,
    Series,
    bars,
    lines,
    name_of,
    number,
    table_csv,
    titled,
)
from lmms_eval_food.results.page.text import plain
from lmms_eval_food.results.tables import Table

_UNITS = {"F1": "F1", "NMAE": "NMAE, g"}


def canteen_figures(tables: Sequence[Table], runs: Sequence[Run], reader: str) -> list[Figure]:
    """Return the pictures that the runs allow, in the order of the page.

    Args:
        tables: The report's tables.
        runs: The runs that they were made of.
        reader: Whose readings.
    """
    entries = [entry for entry in read_entries(runs, reader) if entry.photos]
    return [
        *_by_threshold(tables),
        *_by_temperature(tables),
        *(figure for suffix, own in groups(entries) for figure in _grams(own, suffix)),
        *_quartiles(tables),
    ]


def _by_threshold(tables: Sequence[Table]) -> list[Figure]:
    found = []
    for name, unit in _UNITS.items():
        for table in titled(tables, f"Canteen: {name} by threshold"):
            places = [float(column.removeprefix(">= ")) for column in table.columns[1:]]
            series = [
                Series(str(row[0]), tuple(places), tuple(number(cell) for cell in row[1:]))
                for row in table.rows
            ]
            data = table_csv(table.columns, table.rows)
            x = "lowest accepted similarity"
            found.append(lines(table.title, x, unit, series, data, table.note))
    return found


def _by_temperature(tables: Sequence[Table]) -> list[Figure]:
    """Return F1 and NMAE of each model that was run at several temperatures."""
    found = []
    for place, (name, unit) in enumerate(_UNITS.items(), 3):
        for table in titled(tables, BY_TEMPERATURE):
            points: dict[tuple[str, str], list[tuple[float, float]]] = {}
            for row in table.rows:
                own = points.setdefault((str(row[0]), str(row[1])), [])
                own.append((number(row[2]), number(row[place])))
            series = [
                Series(model, tuple(x for x, _ in own), tuple(y for _, y in own))
                for (model, _), own in points.items()
            ]
            title = f"Canteen: {name} by temperature{table.title.removeprefix(BY_TEMPERATURE)}"
            data = table_csv(table.columns, table.rows)
            found.append(lines(title, "temperature", unit, series, data, table.note))
    return found


def _grams(entries: Sequence[Entry], suffix: str) -> list[Figure]:
    """Return predicted against true grams of the matched items, a panel a run."""
    series, rows = [], []
    ordered = sorted(entries, key=lambda entry: not entry.complete)
    for entry in ordered:
        items = accepted_matches(entry.photos, entry.threshold).quantified()
        true, predicted = items.true_grams.tolist(), items.pred_grams.tolist()
        series.append(Series(entry.label, tuple(true), tuple(predicted)))
        rows += [
            (entry.label, image, food, _brief(t), _brief(p))
            for image, food, t, p in zip(items.image_ids, items.foods, true, predicted, strict=True)
        ]
    if not rows:
        return []
    title = f"Canteen: predicted against true grams{suffix}"
    scoring = f"similarity >= {entries[0].threshold:g} by {entries[0].source[1]}"
    marked = "" if all(entry.complete for entry in entries) else f" {MARK}: not a whole run."
    drawn = series[:PANELS]
    parts = [f"{plain(one.label)}: {_fit_words(one)}" for one in drawn]
    more = len(series) - len(drawn)
    rest = f" {more} more runs are in the data only." if more > 0 else ""
    return [
        Figure(
            name=name_of(title),
            title=title,
            kind="scatter",
            x="true, g",
            y="predicted, g",
            series=tuple(drawn),
            note=f"Matched items with an estimate, {scoring}. Solid: least squares; dashed: "
            f"predicted = true.{marked}",
            alt=f"Points of predicted over true grams. {'; '.join(parts)}.{rest}",
            data=table_csv(("run", "photo", "food", "true, g", "predicted, g"), rows),
        )
    ]


def _brief(grams: float) -> float | int:
    """Return a whole number without its ".0": of thousands of rows that is a good part."""
    return int(grams) if grams.is_integer() else grams


def fitted(one: Series) -> tuple[float, float]:
    """Return slope and intercept of the least-squares line, nan where there is none."""
    x, y = np.array(one.x, dtype=np.float64), np.array(one.y, dtype=np.float64)
    finite = np.isfinite(x) & np.isfinite(y)
    if len(set(x[finite].tolist())) < 2:
        return math.nan, math.nan
    slope, intercept = np.polyfit(x[finite], y[finite], 1)
    return float(slope), float(intercept)


def _fit_words(one: Series) -> str:
    slope, intercept = fitted(one)
    if math.isnan(slope):
        return f"{len(one.x)} items, no line"
    return f"{len(one.x)} items, predicted = {slope:.2f} true {intercept:+.0f} g"


def _quartiles(tables: Sequence[Table]) -> list[Figure]:
    found = []
    for table in titled(tables, "Canteen: signed error by portion size"):
        groups: dict[str, list[tuple[str, float]]] = {}
        # Column 3 is the mean signed error.
        for row in table.rows:
            groups.setdefault(str(row[0]), []).append((str(row[1]), number(row[3])))
        series = [
            Series(label, tuple(n for n, _ in own), tuple(v for _, v in own))
            for label, own in groups.items()
        ]
        data = table_csv(table.columns, table.rows)
        y = "mean predicted minus true, g"
        found.append(bars(table.title, "true portion", y, series, data, table.note))
    return found
