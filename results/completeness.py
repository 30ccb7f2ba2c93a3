"""Whether a run is whole, and which runs may be ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.results.logs import Run

PREFIXES = ("diningbench_", "canteen_", "culturalmenu_")
NO_PICTURES = "no real pictures"

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TaskState:
    """How whole one task of one run is.

    Attributes:
        task: The task's name.
        version: Its version, "?" where the results do not say.
        expected: Documents of the task; None where the results do not say.
        found: Distinct documents in the sample log, of the reader that has the fewest.
        data: Where the documents came from: kind and checksum; several are joined by " | ".
        matcher: Fingerprint of what compared food names, "" where none is needed; joined likewise.
        repeated: Documents that the log holds more than once for one reader.
        failed: Requests that never got an answer.
        not_judged: Answers that a judge should have seen and has not.
        broken_pictures: Pictures that were sent as grey squares.
        limit: `--limit` as the host keeps it, "" for none.
        offset: `--offset`, "" for none.
        stated: Problems that were found earlier, where there is no log to find them in.
    """

    task: str
    version: str
    expected: int | None
    found: int
    data: str
    matcher: str
    repeated: int = 0
    failed: int = 0
    not_judged: int = 0
    broken_pictures: int = 0
    limit: str = ""
    offset: str = ""
    stated: tuple[str, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Why this task's scores are not those of the whole benchmark; [] for a complete one."""
        if not self.found:
            return ["no sample log"]
        found = list(self.stated)
        if self.limit:
            found.append(f"--limit {self.limit}")
        if self.offset:
            found.append(f"--offset {self.offset}")
        if self.expected is None:
            found.append("number of documents unknown")
        elif self.found != self.expected:
            found.append(f"{self.found} of {self.expected} documents")
        counts = {
            "documents logged twice": self.repeated,
            "failed requests": self.failed,
            "answers not judged": self.not_judged,
            "pictures that could not be opened": self.broken_pictures,
        }
        found += [f"{count} {what}" for what, count in counts.items() if count]
        for what, text in (("data", self.data), ("matchers", self.matcher)):
            if " | " in text:
                found.append(f"several {what}: {text}")
        if NO_PICTURES in self.data:
            found.append(NO_PICTURES)
        return list(dict.fromkeys(found))

    @property
    def key(self) -> tuple[str, str, str]:
        """Version, data and matcher: states that differ in one of these are not comparable."""
        return self.version, self.data, self.matcher


def task_states(run: Run) -> dict[str, TaskState]:
    """Return the state of every food task that a run's results name, in their order.

    Groups, which have no documents of their own, are left out.
    """
    results = run.results
    asked = [task for task in results.get("results", {}) if task in results.get("configs", {})]
    names = [task for task in dict.fromkeys([*asked, *run.records]) if task.startswith(PREFIXES)]
    return {task: _state(run, task) for task in names}


def problems(run: Run) -> list[str]:
    """Return why a run is incomplete, "task: reason" each; [] for a complete run."""
    return [
        f"{task}: {problem}"
        for task, state in task_states(run).items()
        for problem in state.problems
    ]


def main_key(states: Sequence[TaskState]) -> tuple[str, str, str] | None:
    """Return version, data and matcher that most complete runs of one task share.

    Where two are as frequent, the one with more documents, then the last in the alphabet, so that
    the choice does not hang on the order of the runs. None without a complete run.
    """
    complete = [state for state in states if not state.problems]
    if not complete:
        return None
    counts = Counter(state.key for state in complete)
    size = {state.key: state.found for state in complete}
    return max(counts, key=lambda key: (counts[key], size[key], key))


def marks(state: TaskState, key: tuple[str, str, str] | None) -> list[str]:
    """Return what keeps a run's task out of the ranking; [] where nothing does.

    Args:
        state: The task's state.
        key: What the ranked runs of the task share, as `main_key` returns it.
    """
    found = state.problems
    if not found and key is not None:
        names = ("task version", "data", "matcher")
        found = [
            f"other {name}: {own or 'none'}"
            for name, own, other in zip(names, state.key, key, strict=True)
            if own != other
        ]
    return found


def _state(run: Run, task: str) -> TaskState:
    readers = run.records.get(task, {})
    config = run.results.get("config", {})
    sizes = run.results.get("n-samples", {}).get(task, {})
    version = run.results.get("versions", {}).get(task)
    ids = [[str(record["id"]) for record in records] for records in readers.values()]
    everything = [record for records in readers.values() for record in records]
    return TaskState(
        task=task,
        version="?" if version is None else str(version),
        expected=sizes.get("original"),
        found=min((len(set(names)) for names in ids), default=0),
        repeated=max((len(names) - len(set(names)) for names in ids), default=0),
        failed=_most(readers, lambda record: record["status"] == Status.FAILED),
        # A run without any judge has no judged score to be incomplete.
        not_judged=_most(readers, lambda r: bool(r.get("judge")) and bool(r.get("not_judged"))),
        broken_pictures=max((record.get("broken_pictures", 0) for record in everything), default=0),
        limit=_option(config.get("limit")),
        offset=_option(config.get("offset")),
        data=_all_of(everything, "data"),
        matcher=_all_of(everything, "matcher"),
    )


def _most(readers: Mapping[str, Sequence[Record]], flag: Any) -> int:
    return max((sum(map(flag, records)) for records in readers.values()), default=0)


def _option(value: Any) -> str:
    return "" if value is None or value in (0, "0", "") or value == -1 else str(value)


def _all_of(records: Sequence[Record], field: str) -> str:
    return " | ".join(sorted({str(record[field]) for record in records if record.get(field)}))
