"""What became of the answers: failed, unreadable, cut off, running in loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.metrics.answers import cut_offs, loops, mean_length
from lmms_eval_food.metrics.classification import rate
from lmms_eval_food.results.dining.items import TASKS
from lmms_eval_food.results.joined import Joined, Record, Settings, failed, table
from lmms_eval_food.results.tables import Cell, Table

_NOT_UNREADABLE = (Status.OK, Status.REPAIRED, Status.FAILED)


def answer_counts(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return how many questions each task asked and how many have no usable answer."""
    rows: list[tuple[Cell, ...]] = [
        (
            *(model.title, task, len(records), failed(records)),
            sum(record["status"] not in _NOT_UNREADABLE for record in records),
            model.runs[task].score(task, "views_short", settings.reader),
            _not_judged(records),
            records[0]["data"],
        )
        for model, task, records in _asked(models, settings.reader)
    ]
    columns = (
        *("model", "task", "questions", "failed requests", "unreadable"),
        *("with fewer views than asked", "not judged", "data"),
    )
    note = (
        f"As the {settings.reader} reader reads the answers. A failed request is no answer: the "
        "robust scores leave it out, the benchmark's own take it for a wrong one. Questions with "
        "fewer views than asked are scored on those that they have."
    )
    return table("DiningBench: answers", columns, rows, note)


def reasoning_faults(models: Sequence[Joined], settings: Settings) -> list[Table]:
    """Return how often answers are cut off or run in a loop, and how long they are."""
    rows: list[tuple[Cell, ...]] = []
    for model, task, records in _asked(models, settings.reader):
        answered = [record for record in records if record["status"] != Status.FAILED]
        texts = [record["raw"] for record in answered]
        limit = model.runs[task].generation(task).get("max_new_tokens")
        lengths = [record.get("output_tokens") for record in answered]
        at_limit = [limit is not None and n is not None and n >= limit for n in lengths]
        cut = [full or open_ for full, open_ in zip(at_limit, cut_offs(texts), strict=True)]
        known = sum(length is not None for length in lengths)
        faults = (rate(cut), rate([loops(text) for text in texts]))
        rows.append((model.title, task, len(texts), *faults, mean_length(texts), known))
    columns = (
        *("model", "task", "answers", "cut off", "in a loop", "mean length, characters"),
        "with known token counts",
    )
    note = (
        "Shares of the raw answers, failed requests left out. Cut off: reasoning that is opened, "
        "by the answer or (as a lone closing tag of another answer shows) by the prompt, and never "
        "closed, or as many tokens as the task allows; a backend that reports no token counts "
        "(vLLM in lmms-eval 0.7.3) shows the first kind only. In a loop: one span repeats over "
        "most of the answer's end. Section 5."
    )
    return table("DiningBench: faults of reasoning", columns, rows, note)


def _asked(models: Sequence[Joined], reader: str) -> Iterator[tuple[Joined, str, list[Record]]]:
    for model in models:
        for task in TASKS:
            if records := model.records(task, reader):
                yield model, task, records


def _not_judged(records: Sequence[Record]) -> int | None:
    """Return how many answers a judge should have seen and has not; None where none is asked."""
    if "not_judged" not in records[0]:
        return None
    return sum(bool(record["not_judged"]) for record in records)
