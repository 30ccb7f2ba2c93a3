"""What a model tends to answer, and how many of its answers cannot be read."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_food.metrics.response_bias import (
    ChiSquare,
    OptionPreference,
    option_preference,
    yes_bias,
)
from lmms_eval_food.metrics.shares import unreadable_by_group
from lmms_eval_food.results.culture.scores import asked_tasks, share_cells
from lmms_eval_food.results.culture.tasks import LETTERS, in_order, is_binary
from lmms_eval_food.results.joined import Joined, Record, Settings, scored, table
from lmms_eval_food.results.tables import Cell, Table, interval
from lmms_eval_food.tasks.culturalmenu.hooks import OTHER_LANGUAGE
from lmms_eval_food.tasks.culturalmenu.prompts import REGION_LANGUAGE


def answer_tables(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return response bias, then unreadable answers and those in another language."""
    asked = list(asked_tasks(models, settings.reader))
    return [
        *_yes_rates(asked, settings),
        *_option_preferences(asked, settings),
        *_unreadable(asked, settings),
    ]


def _yes_rates(asked: Sequence[tuple[str, str, list[Record]]], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, records in asked:
        if not is_binary(task):
            continue
        bias = yes_bias(*_answers(records), resamples=settings.resamples, seed=settings.seed)
        yes, rejection = bias.yes, bias.rejection
        rows.append(
            (
                *(title, task, yes.n, bias.unreadable, *share_cells(yes), bias.true_yes_rate),
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
    found = [
        (
            title,
            task,
            option_preference(
                *_answers(records), LETTERS, resamples=settings.resamples, seed=settings.seed
            ),
        )
        for title, task, records in asked
        if not is_binary(task)
    ]
    return [*_letters(found, settings), *_letter_tests(found, settings)]


def _letters(found: Sequence[tuple[str, str, OptionPreference]], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, preference in found:
        right = sum(preference.true_counts.values())
        for letter, share in preference.picked.items():
            true_share = preference.true_counts[letter] / right if right else float("nan")
            rows.append((title, task, letter, share.count, *share_cells(share), true_share))
    columns = (
        *("model", "task", "option", "picked", "share of picks", "95% interval"),
        "share of right options",
    )
    note = (
        f"{settings.note} Unreadable answers left out; the right options are of the same answers."
    )
    return table("CulturalMenuBench: options picked", columns, rows, note)


def _letter_tests(
    found: Sequence[tuple[str, str, OptionPreference]], settings: Settings
) -> list[Table]:
    def cells(test: ChiSquare) -> tuple[Cell, ...]:
        return test.statistic, test.p_over_dishes, test.p_value

    rows: list[tuple[Cell, ...]] = [
        (
            *(title, task, sum(preference.counts.values())),
            *cells(preference.against_uniform),
            *cells(preference.against_truth),
            preference.against_truth.smallest_expected,
        )
        for title, task, preference in found
    ]
    columns = (
        *("model", "task", "answers read"),
        *("chi-square (even)", "p over dishes (even)", "p of independent answers (even)"),
        *("chi-square (right options)", "p over dishes (right options)"),
        *("p of independent answers (right options)", "smallest expected count"),
    )
    note = (
        f"Answers as the {settings.reader} reader reads them, unreadable ones left out. Chi-square "
        "tests of the letters picked against all equally often, and against how often each was "
        f"right. p over dishes: from {settings.resamples} resamples of dishes, seed "
        f"{settings.seed}; rough below some 30 dishes. The chi-square's own p takes answers as "
        "independent, so it is too small where questions about one dish are answered alike; rough "
        "where the smallest expected count is below 5."
    )
    return table("CulturalMenuBench: option preference", columns, rows, note)


def _unreadable(asked: Sequence[tuple[str, str, list[Record]]], settings: Settings) -> list[Table]:
    rows: list[tuple[Cell, ...]] = []
    for title, task, records in asked:
        counted = scored(records)
        # Sub-region questions are all in one language, which their records do not repeat.
        languages = [record["groups"].get("language", REGION_LANGUAGE) for record in counted]
        found = unreadable_by_group([record["answer"] for record in counted], languages)
        foreign = [
            language
            for record, language in zip(counted, languages, strict=True)
            if OTHER_LANGUAGE in record["marks"]
        ]
        for language in in_order("language", found):
            share = found[language]
            # A letter is of no language.
            other = foreign.count(language) if is_binary(task) else None
            rows.append((title, task, language, share.n, share.count, *share_cells(share), other))
    columns = (
        *("model", "task", "language", "answers", "unreadable", "share", "95% interval"),
        "read in another language",
    )
    note = (
        f"Answers that the {settings.reader} reader cannot read: wrong in every score. Wilson "
        "intervals, which take answers as independent. Failed requests left out. Read in another "
        "language: yes or no in none of the words of the question's own; scored like the others."
    )
    return table("CulturalMenuBench: unreadable answers by language", columns, rows, note)


def _answers(
    records: Sequence[Record],
) -> tuple[list[str | None], list[str], list[str]]:
    """Return what was read of each answer that counts, what is right, and its dish."""
    counted = scored(records)
    return (
        [record["answer"] for record in counted],
        [record["truth"] for record in counted],
        [record["dish"] for record in counted],
    )
