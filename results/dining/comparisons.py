"""Scores with intervals, and what more views, reasoning and the language change.

All functions take model -> task -> items, so every kind of task that has items is in them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lmms_eval_food.results.dining.items import KINDS, task_name, tasks_of, vqa_items
from lmms_eval_food.results.dining.measures import Comparison, Items, comparisons, estimates
from lmms_eval_food.results.joined import Joined, Record, Settings, table
from lmms_eval_food.results.tables import Cell, Table, interval

Asked = Mapping[str, Mapping[str, Items]]

_COLUMNS = ("items", "first", "second", "difference", "95% interval", "p")
_PAIRED = (
    "Items that count in both conditions, paired by id, and by their order where documents share "
    "one; p is the two-sided bootstrap p. An error (MAE, RMSE, MAPE) is better where it is lower."
)


def scores(asked: Asked, settings: Settings) -> list[Table]:
    """Return every task's scores with their intervals over dishes."""
    rows: list[tuple[Cell, ...]] = [
        (title, task, name, found.items, found.score, interval(found.low, found.high))
        for title, tasks in asked.items()
        for task, items in tasks.items()
        for name, found in estimates(items, settings).items()
    ]
    note = (
        f"{settings.note} Accuracies are shares (1 is whole; chance is 0.125 in classification), "
        "MAE and RMSE in kcal and g (mean of the four nutrients), MAPE in percent."
    )
    columns = ("model", "task", "score", "items", "value", "95% interval")
    return table("DiningBench: scores", columns, rows, note)


def categories(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return the judged accuracy of each category of question, where the data name categories."""
    rows: list[tuple[Cell, ...]] = []
    for model in models:
        for task in tasks_of("vqa"):
            groups: dict[str, list[Record]] = {}
            for record in model.records(task, settings.reader):
                groups.setdefault(record["category"], []).append(record)
            rows += [
                (model.title, task, name, found.items, found.score, interval(found.low, found.high))
                for name, records in sorted(groups.items())
                if name and (found := estimates(vqa_items(records), settings)["judged accuracy"])
            ]
    columns = ("model", "task", "category", "judged", "accuracy", "95% interval")
    return table("DiningBench: questions by category", columns, rows, f"{settings.note} Table 3.")


def view_curve(asked: Asked, settings: Settings) -> list[Table]:
    """Return the scores with one to four views, and what more than one view changes."""
    rows: list[tuple[Cell, ...]] = []
    for title, tasks in asked.items():
        for kind in KINDS:
            views = {n: task_name(kind, f"_views{n}") for n in (2, 3, 4)}
            one = tasks.get(task_name(kind))
            if one is None or not tasks.keys() & set(views.values()):
                continue
            rows += [
                (title, kind, name, 1, measure.items, measure.score(), None, None, "", None)
                for name, measure in one.measures.items()
            ]
            for n, task in views.items():
                if more := tasks.get(task):
                    rows += [
                        (title, kind, name, n, *_cells(found))
                        for name, found in comparisons(more, one, settings).items()
                    ]
    columns = (
        *("model", "task", "score", "views", "items", "value", "with one view"),
        *("difference", "95% interval", "p"),
    )
    note = f"{settings.note} Difference: more views minus one. {_PAIRED} Figure 4."
    return table("DiningBench: scores by number of views", columns, rows, note)


def reasoning_differences(asked: Asked, settings: Settings) -> list[Table]:
    """Return chain of thought minus none, in either language."""
    pairs = [
        (task_name(kind, f"{language}_cot"), task_name(kind, language))
        for kind in KINDS
        for language in ("", "_en")
    ]
    title = "DiningBench: chain of thought minus none"
    return _differences(title, pairs, asked, settings, "Figures 5 and 9.")


def language_differences(asked: Asked, settings: Settings) -> list[Table]:
    """Return Chinese minus English, without and with chain of thought."""
    pairs = [
        (task_name(kind, steps), task_name(kind, f"_en{steps}"))
        for kind in KINDS
        for steps in ("", "_cot")
    ]
    return _differences("DiningBench: Chinese minus English", pairs, asked, settings, "")


def _differences(
    title: str, pairs: Sequence[tuple[str, str]], asked: Asked, settings: Settings, source: str
) -> list[Table]:
    rows: list[tuple[Cell, ...]] = [
        (model, f"{first} - {second}", name, *_cells(found))
        for model, tasks in asked.items()
        for first, second in pairs
        if first in tasks and second in tasks
        for name, found in comparisons(tasks[first], tasks[second], settings).items()
    ]
    columns = ("model", "difference of", "score", *_COLUMNS)
    return table(title, columns, rows, f"{settings.note} {_PAIRED} {source}".strip())


def _cells(found: Comparison) -> tuple[Cell, ...]:
    difference = found.difference
    return (
        *(found.items, found.first, found.second, difference.difference),
        *(interval(difference.low, difference.high), difference.p_value),
    )
