"""How often a model is right, overall and by group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_eval_food.metrics.shares import Share, shares_over_dishes
from lmms_eval_food.results.culture.tasks import BREAKDOWNS, TASKS, in_order
from lmms_eval_food.results.joined import Joined, Record, Settings, failed, scored, table
from lmms_eval_food.results.tables import Cell, Table, interval

Shares = dict[str, dict[str, Share]]


def score_tables(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return accuracy overall and by group."""
    asked = list(asked_tasks(models, settings.reader))
    shares = [_shares(records, settings) for _, _, records in asked]
    return [
        *_overall(asked, shares, settings),
        *(found for name in BREAKDOWNS for found in _breakdown(name, asked, shares, settings)),
    ]


def asked_tasks(models: Sequence[Joined], reader: str) -> Iterator[tuple[str, str, list[Record]]]:
    """Yield (model, task, records) of each task that each model was asked."""
    for model in models:
        for task in TASKS:
            if records := model.records(task, reader):
                yield model.title, task, records


def _shares(records: Sequence[Record], settings: Settings) -> Shares:
    counted = scored(records)
    breakdowns: dict[str, list[str | None]] = {"all": ["all"] * len(counted)}
    breakdowns |= {
        name: [record["groups"].get(name) for record in counted]
        for name in BREAKDOWNS
        if any(name in record["groups"] for record in counted)
    }
    return shares_over_dishes(
        [record["correct"] for record in counted],
        [record["dish"] for record in counted],
        breakdowns,
        settings.resamples,
        settings.seed,
    )


def _overall(
    asked: Sequence[tuple[str, str, list[Record]]], shares: Sequence[Shares], settings: Settings
) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for (title, task, records), found in zip(asked, shares, strict=True):
        counted = scored(records)
        unreadable = sum(record["answer"] is None for record in counted)
        share = found["all"].get("all")
        score = share_cells(share) if share else (float("nan"), "")
        rows.append(
            (title, task, len(records), failed(records), unreadable, *score, records[0]["data"])
        )
    columns = (
        *("model", "task", "questions", "failed requests", "unreadable"),
        *("accuracy", "95% interval", "data"),
    )
    note = (
        f"{settings.note} Failed requests are in no score; an unreadable answer is wrong. Chance "
        "is 0.5 for the binary tasks, else 0.25. An interval without width: all answers score "
        "alike."
    )
    return table("CulturalMenuBench: accuracy", columns, rows, note)


def _breakdown(
    name: str,
    asked: Sequence[tuple[str, str, list[Record]]],
    shares: Sequence[Shares],
    settings: Settings,
) -> list[Table]:
    rows: list[tuple[Cell, ...]] = [
        (title, task, group, found[name][group].n, *share_cells(found[name][group]))
        for (title, task, _), found in zip(asked, shares, strict=True)
        for group in in_order(name, found.get(name, ()))
    ]
    what = {"letter": "right option"}.get(name, name)
    columns = ("model", "task", what, "answers", "accuracy", "95% interval")
    note = f"{settings.note} A group of a single dish has no interval."
    return table(f"CulturalMenuBench: accuracy by {what}", columns, rows, note)


def share_cells(share: Share) -> tuple[Cell, Cell]:
    """Return a share and its interval as cells."""
    return share.share, interval(share.low, share.high)
