"""The canteen runs of a report: what was run, and the records that can be scored."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from lmms_eval_food.metrics.meals import FlatItems, ImageResult, flatten
from lmms_eval_food.results.completeness import TaskState, task_states
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.scoring import distinct, logged_with, threshold_of
from lmms_eval_food.tasks.canteen.record import TrayRecord

PREFIX = "canteen"
MAIN_TASK = "canteen_portions"
# Settings of which a model's runs at several temperatures and their replicates differ.
VARIED = ("temperature", "seed")
# Goes before a label, where pictures that cut it still show it.
MARK = "(incomplete)"


@dataclass(frozen=True, eq=False)
class Entry:
    """One canteen task of one run.

    Attributes:
        label: What tables call it; different for each entry of a report, and begins with `MARK`
            where there are problems.
        title: The model and its arguments, as they were typed.
        model: The same without temperature and seed: equal for runs that may be combined.
        task: The task's name.
        temperature: Sampling temperature, None where the run does not say.
        seed: Seed of the sampling as typed, "" where none is.
        available: Documents of the task, None where the log does not say.
        failed: Documents whose request failed; they have no record here.
        records: The answered documents; of one that was logged twice, the first record.
        source: Documents, matcher and task version: entries that differ in these cannot be
            compared.
        threshold: Lowest accepted similarity, in [0, 1].
        logged_with: Matcher and threshold of the log, "" where they are those of the records.
        problems: Why its scores are not those of the whole benchmark (`completeness.TaskState`).
    """

    label: str
    title: str
    model: str
    task: str
    temperature: float | None
    seed: str
    available: int | None
    failed: int
    records: tuple[TrayRecord, ...]
    source: tuple[str, str, str]
    threshold: float
    logged_with: str
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether it may be ranked."""
        return not self.problems

    @cached_property
    def photos(self) -> list[ImageResult]:
        """The answered photos with their foods paired greedily, for any threshold."""
        return [record.result() for record in self.records]

    @cached_property
    def items(self) -> FlatItems:
        """The items of all answered photos."""
        return flatten(self.photos)


def read_entries(runs: Sequence[Run], reader: str) -> list[Entry]:
    """Return every canteen task of every run that asked anything.

    Args:
        runs: Runs, in the order of the report; their other tasks are ignored.
        reader: "official" or "robust".

    Raises:
        ValueError: a record is not one of this version of the suite.
    """
    found = [
        _entry(run, state, run.records[task][reader])
        for run in runs
        for task, state in task_states(run).items()
        if task.startswith(PREFIX) and reader in run.records.get(task, {})
    ]
    return _labelled([entry for entry in found if entry.records or entry.failed])


def groups(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Return the entries that may be compared, and what the title of their tables ends with.

    The end of the title is "" where all entries are of one group.
    """
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        found.setdefault(entry.source, []).append(entry)
    versions = len({version for _, _, version in found}) > 1
    return [
        (f" ({', '.join([data, matcher, *[f'v{version}'] * versions])})", members)
        if len(found) > 1
        else ("", members)
        for (data, matcher, version), members in found.items()
    ]


def _entry(run: Run, state: TaskState, logged: Sequence[Mapping[str, Any]]) -> Entry:
    task, rows = state.task, distinct(logged)
    config, generation = run.results["config"], run.generation(task)
    arguments = _arguments(config["model_args"])
    settings = {**generation, **arguments}
    try:
        records = [TrayRecord.from_dict(row) for row in rows]
    except (TypeError, KeyError) as error:
        raise ValueError(f"{run.folder}: a record of another version ({error})") from error
    failed = sum(record.failed for record in records)
    kept = {name: value for name, value in arguments.items() if name not in VARIED}
    label = _joined(config["model"], {name: _last_part(value) for name, value in kept.items()})
    variant = "" if task == MAIN_TASK else f" ({task.removeprefix(f'{MAIN_TASK}_')})"
    return Entry(
        label=f"{label}{variant}",
        title=run.title,
        model=_joined(config["model"], kept),
        task=task,
        temperature=_number(settings.get("temperature")),
        seed=str(settings.get("seed", "")),
        available=state.expected,
        failed=failed,
        records=tuple(record for record in records if not record.failed),
        source=(_all_of(records, "data"), _all_of(records, "matcher"), state.version),
        threshold=threshold_of(rows),
        logged_with=logged_with(rows),
        problems=tuple(state.problems),
    )


def _labelled(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries with labels that differ, and that say which run is incomplete."""
    labels = [entry.label for entry in entries]
    details: tuple[Callable[[Entry], str], ...] = (
        lambda entry: "" if entry.temperature is None else f" T={entry.temperature:g}",
        lambda entry: f" seed={entry.seed}" if entry.seed else "",
    )
    for detail in details:
        counts = Counter(labels)
        labels = [
            f"{label}{detail(entry)}" if counts[label] > 1 else label
            for label, entry in zip(labels, entries, strict=True)
        ]
    counts, seen = Counter(labels), Counter[str]()
    for index, label in enumerate(labels):
        seen[label] += 1
        if counts[label] > 1:
            labels[index] = f"{label} #{seen[label]}"
    return [
        replace(entry, label=label if entry.complete else f"{MARK} {label}")
        for label, entry in zip(labels, entries, strict=True)
    ]


def _arguments(typed: Any) -> dict[str, str]:
    """Return model arguments by name; the host keeps them as text or as a mapping."""
    if isinstance(typed, Mapping):
        return {str(name): str(value) for name, value in typed.items()}
    parts = [part.partition("=") for part in str(typed or "").split(",") if part]
    return {name.strip(): value for name, _, value in parts}


def _joined(model: str, arguments: Mapping[str, str]) -> str:
    return f"{model} {','.join(f'{name}={value}' for name, value in arguments.items())}".strip()


def _last_part(value: str) -> str:
    """Return a path's or a hub id's last part: tables have little room."""
    return PurePosixPath(value).name or value


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def _all_of(records: Sequence[TrayRecord], field: str) -> str:
    return " | ".join(sorted({getattr(record, field) for record in records}))
