"""Whether a run is whole, and which runs may be ranked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.results.log_files import is_ours
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.scoring import UNDECIDED

PREFIXES = ("diningbench_", "canteen_", "culturalmenu_")
NO_PICTURES = "no real pictures"
READERS = ("official", "robust")

Record = Mapping[str, Any]
Key = tuple[str, str, str, str]
_KEY = ("task version", "data", "matcher", "judge")


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
        judge: Fingerprint of what judged free answers, "" where nothing did; joined likewise.
        unread: Readers that the task has and that left no row in the log.
        repeated: Documents that the log holds more than once for one reader.
        failed: Requests that never got an answer.
        not_judged: Answers that a judge should have seen and has not.
        undecided: Pairs of food names that a model should have compared and has not.
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
    judge: str = ""
    unread: tuple[str, ...] = ()
    repeated: int = 0
    failed: int = 0
    not_judged: int = 0
    undecided: int = 0
    broken_pictures: int = 0
    limit: str = ""
    offset: str = ""
    stated: tuple[str, ...] = ()

    @property
    def problems(self) -> list[str]:
        """Why this task's scores are not those of the whole benchmark; [] for a complete one."""
        if not self.found:
            return ["no sample log"]
        found = [*self.stated, *(f"no rows of the {name} reader" for name in self.unread)]
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
            "pairs of food names without a verdict": self.undecided,
            "pictures that could not be opened": self.broken_pictures,
        }
        found += [f"{count} {what}" for what, count in counts.items() if count]
        joined = {"data": self.data, "matchers": self.matcher, "judges": self.judge}
        for what, text in joined.items():
            if " | " in text:
                found.append(f"several {what}: {text}")
        if NO_PICTURES in self.data:
            found.append(NO_PICTURES)
        return list(dict.fromkeys(found))

    @property
    def key(self) -> Key:
        """Version, data, matcher and judge: see `other_than`."""
        return self.version, self.data, self.matcher, self.judge


def other_than(own: Key, other: Key) -> list[tuple[str, str, str]]:
    """Return what keeps two states apart, as (name, own, other); [] for comparable ones.

    Without any judge there is no judged score that could be mixed with another judge's.
    """
    return [
        (name, one, two)
        for name, one, two in zip(_KEY, own, other, strict=True)
        if one != two and (name != "judge" or (one and two))
    ]


def task_states(run: Run) -> dict[str, TaskState]:
    """Return the state of every food task that a run's results name, in their order.

    Groups, which have no documents of their own, are left out.
    """
    results = run.results
    asked = [task for task in results.get("results", {}) if task in results.get("configs", {})]
    names = [task for task in dict.fromkeys([*asked, *run.records]) if is_ours(task)]
    return {task: _state(run, task) for task in names}


def problems(run: Run) -> list[str]:
    """Return why a run is incomplete, "task: reason" each; [] for a complete run."""
    return [
        f"{task}: {problem}"
        for task, state in task_states(run).items()
        for problem in state.problems
    ]


def main_key(states: Sequence[TaskState]) -> Key | None:
    """Return version, data, matcher and judge that most complete runs of one task share.

    Where two are as frequent, the one with more documents, then the last in the alphabet, so that
    the choice does not hang on the order of the runs. The judge is that of most such runs that have
    one, "" where none has. None without a complete run.
    """
    complete = [state for state in states if not state.problems]
    if not complete:
        return None
    counts = Counter(state.key[:-1] for state in complete)
    size = {state.key[:-1]: state.found for state in complete}
    main = max(counts, key=lambda key: (counts[key], size[key], key))
    judges = Counter(s.judge for s in complete if s.judge and s.key[:-1] == main)
    return *main, max(judges, key=lambda judge: (judges[judge], judge), default="")


def marks(state: TaskState, key: Key | None) -> list[str]:
    """Return what keeps a run's task out of the ranking; [] where nothing does.

    Args:
        state: The task's state.
        key: What the ranked runs of the task share, as `main_key` returns it.
    """
    if state.problems or key is None:
        return state.problems
    return [f"other {name}: {own or 'none'}" for name, own, _ in other_than(state.key, key)]


def _state(run: Run, task: str) -> TaskState:
    readers = run.records.get(task, {})
    config = run.results.get("config", {})
    expected = run.results.get("n-samples", {}).get(task, {}).get("original")
    version = run.results.get("versions", {}).get(task)
    documents = _documents(run, task)
    # A run that keeps one reader's records still knows what its log held.
    logged = {*readers, *run.documents.get(task, {})}
    unread = [name for name in _readers(run, task) if name not in logged]
    everything = [record for records in readers.values() for record in records]
    return TaskState(
        task=task,
        version="?" if version is None else str(version),
        expected=expected if isinstance(expected, int) else None,
        found=min(documents.values(), default=0),
        unread=tuple(unread) if readers else (),
        repeated=max((len(readers[name]) - n for name, n in documents.items()), default=0),
        failed=_most(readers, lambda record: record["status"] == Status.FAILED),
        # A run without any judge has no judged score to be incomplete.
        not_judged=_most(readers, lambda r: bool(r.get("judge")) and bool(r.get("not_judged"))),
        undecided=max(
            (sum(r.get(UNDECIDED, 0) for r in own) for own in readers.values()), default=0
        ),
        broken_pictures=max((record.get("broken_pictures", 0) for record in everything), default=0),
        limit=_option(config, "limit"),
        offset=_option(config, "offset"),
        data=_all_of(everything, "data"),
        matcher=_all_of(everything, "matcher"),
        judge=_all_of(everything, "judge"),
    )


def _documents(run: Run, task: str) -> dict[str, int]:
    """Return each reader's number of documents; by their ids where the log was not counted."""
    readers = run.records.get(task, {})
    counted = run.documents.get(task, {})
    return {
        name: counted.get(name, len({str(record["id"]) for record in records}))
        for name, records in readers.items()
    }


def _readers(run: Run, task: str) -> list[str]:
    """Return the readers that a task has by its configuration and by its results."""
    filters = run.results.get("configs", {}).get(task, {}).get("filter_list") or []
    configured = [str(one.get("name")) for one in filters if isinstance(one, Mapping)]
    stated = [name.rpartition(",")[2] for name in run.results.get("results", {}).get(task, {})]
    return list(dict.fromkeys([*configured, *(name for name in stated if name in READERS)]))


def _most(readers: Mapping[str, Sequence[Record]], flag: Any) -> int:
    return max((sum(map(flag, records)) for records in readers.values()), default=0)


def _option(config: Mapping[str, Any], name: str) -> str:
    """Return an option as the host keeps it, or as it was typed; "" where it changes nothing."""
    typed = config.get("resolved_cli_args")
    values = [config.get(name), typed.get(name) if isinstance(typed, Mapping) else None]
    told = [str(v) for v in values if not (v is None or v in (0, "0", "") or v == -1)]
    return told[0] if told else ""


def _all_of(records: Sequence[Record], field: str) -> str:
    return " | ".join(sorted({str(record[field]) for record in records if record.get(field)}))
