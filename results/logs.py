"""What one call of the host wrote, its results and sample logs, read in little memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lmms_eval_food.results.log_files import (
    LogError,
    is_ours,
    log_of,
    log_rows,
    read_results,
    results_files,
)

__all__ = ["LogError", "Run", "Shared", "named", "read_results", "read_run", "results_files"]


@dataclass(frozen=True)
class Run:
    """One call of the host.

    Attributes:
        folder: Where the results file lies.
        results: The host's results file: `results`, `configs`, `versions`, `config` and more.
        records: Task name -> reader ("official" or "robust") -> one record a document, in the
            order of the documents; `output_tokens` is added where the host counted them.
        prompts: Task name -> the first 12 hexadecimal digits of the SHA-256 of all its prompts, in
            the order of the documents; a task is missing where they were not read.
        documents: Task name -> reader -> how many documents its log holds, each counted once. Ids
            do not tell: questions about one dish may share one. Empty where there was no log.
    """

    folder: Path
    results: dict[str, Any]
    records: dict[str, dict[str, list[dict[str, Any]]]]
    prompts: dict[str, str] = field(default_factory=dict, compare=False)
    documents: dict[str, dict[str, int]] = field(default_factory=dict, compare=False)

    @property
    def title(self) -> str:
        """The model and its arguments, as they were typed."""
        config = self.results["config"]
        return f"{config['model']} {config.get('model_args') or ''}".strip()

    def of_reader(self, reader: str) -> Run:
        """Return the run with one reader's records alone; tasks stay, if only with none."""
        kept = {
            task: {name: own for name, own in readers.items() if name == reader}
            for task, readers in self.records.items()
        }
        return replace(self, records=kept)

    def generation(self, task: str) -> dict[str, Any]:
        """Return the generation settings of a task, what --gen_kwargs changed included."""
        settings: dict[str, Any] = self.results["configs"][task].get("generation_kwargs", {})
        return settings

    def score(self, task: str, metric: str, reader: str) -> Any:
        """Return a number of the results table; None where it has none."""
        return self.results["results"].get(task, {}).get(f"{metric},{reader}")


class Shared:
    """Texts and groups that many records repeat, kept once.

    A report of many runs holds the records of all of them: most of their memory would be copies.
    """

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._values: dict[tuple[Any, ...], Any] = {}

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the record with repeated parts replaced by the first of their kind."""
        return {self._text(name): self._value(value) for name, value in record.items()}

    def run(self, run: Run) -> Run:
        """Return a run with its records so shared."""
        records = {
            task: {reader: [*map(self.record, own)] for reader, own in readers.items()}
            for task, readers in run.records.items()
        }
        return replace(run, records=records)

    def _text(self, text: str) -> str:
        return self._texts.setdefault(text, text) if len(text) < 200 else text

    def _value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._text(value)
        # Only texts: 1, 1.0 and True are equal, and must not stand in for one another.
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return self._values.setdefault(("list", *value), value)
        if isinstance(value, dict) and all(isinstance(part, str) for part in value.values()):
            return self._values.setdefault(("dict", *value.items()), value)
        return value


def read_run(path: Path, shared: Shared | None = None) -> Run:
    """Return the run of a results file; logs of tasks that are not ours are left out.

    Args:
        path: The results file; the sample logs lie beside it.
        shared: Where records of several runs keep what they have in common.

    Raises:
        LogError: a file is damaged.
    """
    pool = shared or Shared()
    results = read_results(path)
    run = Run(path.parent, results, {})
    for task in filter(is_ours, results["results"]):
        log = log_of(path, task)
        if not log.exists():
            continue
        found: list[tuple[int, str, dict[str, Any]]] = []
        asked: dict[int, bytes] = {}
        for row in log_rows(log, task):
            record = pool.record({**row["record"], **_tokens(row)})
            found.append((row["doc_id"], record["reader"], record))
            asked[row["doc_id"]] = _digest(row.get("input"))
        found.sort(key=lambda one: one[0])
        readers: dict[str, list[dict[str, Any]]] = {}
        for _, reader, record in found:
            readers.setdefault(reader, []).append(record)
        if found:
            together = b"".join(asked[number] for number in sorted(asked))
            run.records[task] = readers
            run.prompts[task] = hashlib.sha256(together).hexdigest()[:12]
            run.documents[task] = {
                reader: len({number for number, name, _ in found if name == reader})
                for reader in readers
            }
    return run


def named(runs: Sequence[Run]) -> dict[str, Run]:
    """Return the runs by title, those that share one numbered in their order; none is lost."""
    found: dict[str, Run] = {}
    for run in runs:
        generation = run.results["config"].get("gen_kwargs")
        title = name = f"{run.title} {generation}" if generation else run.title
        number = 1
        while name in found:
            number += 1
            name = f"{title} ({number})"
        found[name] = run
    return found


def _tokens(row: dict[str, Any]) -> dict[str, int]:
    """Return how long the answer is, which only some of the host's models count."""
    counts = row.get("token_counts")
    first = counts[0] if isinstance(counts, list) and counts else None
    number = first.get("output_tokens") if isinstance(first, dict) else None
    return {"output_tokens": number} if isinstance(number, int) else {}


def _digest(prompt: Any) -> bytes:
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
