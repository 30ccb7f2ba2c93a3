"""What a report compares: a model's answers to one benchmark, from one or several runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Cell, Table

Record = dict[str, Any]
Document = tuple[str, int]  # an id, and how many documents of that id come before it


@dataclass(frozen=True, slots=True)
class Settings:
    """How a report's tables are made.

    Attributes:
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling and of the dish subsets.
        reader: Whose readings are scored, "official" or "robust".
    """

    resamples: int = 2000
    seed: int = 0
    reader: str = "robust"

    @property
    def note(self) -> str:
        """What belongs under every table with intervals."""
        return (
            f"Answers as the {self.reader} reader reads them; 95% percentile intervals from "
            f"{self.resamples} resamples of dishes, seed {self.seed}."
        )


@dataclass(frozen=True, slots=True)
class Joined:
    """The runs that asked one model.

    Attributes:
        title: The model and its arguments, numbered where runs that cannot be joined share them.
        runs: Task -> the run that asked it.
    """

    title: str
    runs: dict[str, Run] = field(default_factory=dict)

    def records(self, task: str, reader: str) -> list[Record]:
        """Return a task's records as one reader read them; [] for a task that was not asked."""
        run = self.runs.get(task)
        return run.records[task].get(reader, []) if run else []


def join_runs(runs: Sequence[Run], prefix: str) -> list[Joined]:
    """Join the runs of each model, so that tasks asked in several calls can be compared.

    Runs belong together when model, arguments, --gen_kwargs and data are the same and no task was
    asked twice. Others of the same title are models of their own, "TITLE (2)".

    Args:
        runs: Any runs, in the order in which their models shall appear.
        prefix: Only tasks whose names begin with it count ("culturalmenu_").

    Returns:
        One entry a model with such a task; [] for none.
    """
    groups: dict[tuple[str, ...], list[dict[str, Run]]] = {}
    for run in runs:
        tasks = [task for task in run.records if task.startswith(prefix)]
        if not tasks:
            continue
        parts = groups.setdefault(_identity(run, tasks), [])
        part = next((p for p in parts if not p.keys() & tasks), None)
        if part is None:
            part = {}
            parts.append(part)
        part.update(dict.fromkeys(tasks, run))
    joined, seen = [], Counter[str]()
    for (title, *_), parts in groups.items():
        for part in parts:
            seen[title] += 1
            number = f" ({seen[title]})" if seen[title] > 1 else ""
            joined.append(Joined(title + number, part))
    return joined


def scored(records: Sequence[Record]) -> list[Record]:
    """Return the records that count: all but failed requests."""
    return [record for record in records if record["correct"] is not None]


def failed(records: Sequence[Record]) -> int:
    """Return how many requests failed."""
    return sum(record["status"] == Status.FAILED for record in records)


def occurrences(ids: Iterable[str]) -> list[Document]:
    """Return each id with the number of times it came before.

    A benchmark may ask several questions under the id of one dish, so an id alone names no
    document; the k-th document of an id in one run is the k-th in another.

    Args:
        ids: The ids of all documents of a run in their order, those that do not count included.

    >>> occurrences(["a", "b", "a"])
    [('a', 0), ('b', 0), ('a', 1)]
    """
    seen = Counter[str]()
    found = []
    for name in ids:
        found.append((name, seen[name]))
        seen[name] += 1
    return found


def pairs(first: Sequence[Record], second: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return the items that count in both conditions, in the order of the first.

    They are paired by id and, where documents share one, by their order (`occurrences`).
    """
    one, two = (
        dict(zip(occurrences(record["id"] for record in records), records, strict=True))
        for records in (first, second)
    )
    found = [(record, two[document]) for document, record in one.items() if document in two]
    return [pair for pair in found if len(scored(pair)) == len(pair)]


def table(
    title: str, columns: Sequence[str], rows: Sequence[tuple[Cell, ...]], note: str = ""
) -> list[Table]:
    """Return the table, or none where it would be empty."""
    return [Table(title, tuple(columns), tuple(rows), note)] if rows else []


def _identity(run: Run, tasks: Sequence[str]) -> tuple[str, ...]:
    # A log that was cut off may lack one reader's rows.
    readers = (own for task in tasks for own in run.records[task].values())
    data = next((str(records[0]["data"]) for records in readers if records), "")
    generation = run.results["config"].get("gen_kwargs") or ""
    return run.title, str(generation), data
