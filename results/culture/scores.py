"""How often a model is right, overall and by group, and what it tends to answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_eval_food.metrics.choices import (
    Share,
    option_preference,
    shares_over_dishes,
    unreadable_by_group,
    yes_bias,
)
from lmms_eval_food.results.culture.tasks import BREAKDOWNS, LETTERS, TASKS, in_order, is_binary
from lmms_eval_food.results.joined import Joined, Record, Settings, failed, scored, table
from lmms_eval_food.results.tables import Cell, Table, interval

Shares = dict[str, dict[str, Share]]


def score_tables(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return accuracy overall and by group, then response bias and unreadable answers."""
    asked = list(_asked(models, settings.reader))
    shares = [_shares(records, settings) for _, _, records in asked]
    return [
        *_overall(asked, shares, settings),
        *(found for name in BREAKDOWNS for found in _breakdown(name, asked, shares, settings)),
        *_yes_rates(asked, settings),
        *_option_preferences(asked, settings),
        *_unreadable(asked, settings),
    ]


def _asked(models: Sequence[Joined], reader: str) -> Iterator[tuple[str, str, list[Record]]]:
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
        score = _cells(share) if share else (float("nan"), "")
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
        (title, task, group, found[name][group].n, *_cells(found[name][group]))
        for (title, task, _), found in zip(asked, shares, strict=True)
        for group in in_order(name, found.get(name, ()))
    ]
    what = {"letter": "right option"}.get(name, name)
    columns = ("model", "task", what, "answers", "accuracy", "95% interval")
    note = f"{settings.note} A group of a single dish has no interval."
    return table(f"CulturalMenuBench: accuracy by {what}", columns, rows, note)


def _cells(share: Share) -> tuple[Cell, Cell]:
    return share.share, interval(share.low, share.high)


def _yes_rates(asked: Sequence[tuple[str, str, list[Record]]], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, records in asked:
        if not is_binary(task):
            continue
        bias = yes_bias(
            *_answers(records),
            [record["dish"] for record in scored(records)],
            settings.resamples,
            settings.seed,
        )
        yes, rejection = bias.yes, bias.rejection
        rows.append(
            (
                *(title, task, yes.n, bias.unreadable, *_cells(yes), bias.true_yes_rate),
                *(rejection.difference, interval(rejection.low, rejection.high)),
                rejection.p_value,
            )
        )
    columns = (
        *("model", "task", "answers read", "unreadable", "yes-rate", "95% interval"),
        *("right yes-rate", "rejection bias", "95% interval of the bias", "p"),
    )
    note = (
        f"{settings.note} Rejection bias is the right yes-rate minus the yes-rate over the answers "
        "that were read: above 0, the model says no too often. p is the two-sided bootstrap p."
    )
    return table("CulturalMenuBench: yes-rate", columns, rows, note)


def _option_preferences(
    asked: Sequence[tuple[str, str, list[Record]]], settings: Settings
) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, records in asked:
        if is_binary(task):
            continue
        found = option_preference(*_answers(records), LETTERS)
        read = sum(found.counts.values())
        even, truth = found.against_uniform, found.against_truth
        rows.append(
            (
                *(title, task, read),
                *(count / read if read else float("nan") for count in found.counts.values()),
                *(even.statistic, even.p_value),
                *(truth.statistic, truth.p_value, truth.smallest_expected),
            )
        )
    columns = (
        *("model", "task", "answers read", *(f"{letter} picked" for letter in LETTERS)),
        *("chi-square (even)", "p (even)"),
        *("chi-square (right options)", "p (right options)", "smallest expected count"),
    )
    note = (
        f"Answers as the {settings.reader} reader reads them, unreadable ones left out. Chi-square "
        "tests of the letters picked against all equally often, and against how often each was "
        "right; where the smallest expected count is below 5 the p is a rough one."
    )
    return table("CulturalMenuBench: option preference", columns, rows, note)


def _unreadable(asked: Sequence[tuple[str, str, list[Record]]], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, records in asked:
        counted = scored(records)
        found = unreadable_by_group(
            [record["answer"] for record in counted],
            [record["groups"].get("language") for record in counted],
        )
        for language in in_order("language", found):
            share = found[language]
            rows.append((title, task, language, share.n, share.count, *_cells(share)))
    columns = ("model", "task", "language", "answers", "unreadable", "share", "95% interval")
    note = (
        f"Answers that the {settings.reader} reader cannot read: wrong in every score. Wilson "
        "intervals, which take answers as independent. Failed requests left out."
    )
    return table("CulturalMenuBench: unreadable answers by language", columns, rows, note)


def _answers(records: Sequence[Record]) -> tuple[list[str | None], list[str]]:
    """Return what was read of each answer that counts, and what is right."""
    counted = scored(records)
    return [record["answer"] for record in counted], [record["truth"] for record in counted]
