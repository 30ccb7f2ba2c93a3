"""Reads what one call of the host wrote: its results and its sample logs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Run:
    """One call of the host.

    Attributes:
        folder: Where the results file lies.
        results: The host's results file: `results`, `configs`, `versions`, `config` and more.
        records: Task name -> reader ("official" or "robust") -> one record a document, in the
            order of the documents.
    """

    folder: Path
    results: dict[str, Any]
    records: dict[str, dict[str, list[dict[str, Any]]]]

    @property
    def title(self) -> str:
        """The model and its arguments, as they were typed."""
        config = self.results["config"]
        return f"{config['model']} {config['model_args']}".strip()

    def generation(self, task: str) -> dict[str, Any]:
        """Return the generation settings of a task, what --gen_kwargs changed included."""
        settings: dict[str, Any] = self.results["configs"][task].get("generation_kwargs", {})
        return settings

    def score(self, task: str, metric: str, reader: str) -> Any:
        """Return a number of the results table; None where it has none."""
        return self.results["results"].get(task, {}).get(f"{metric},{reader}")


def read_run(folder: Path) -> Run:
    """Read the newest run below a folder that was given to the host as --output_path.

    Raises:
        FileNotFoundError: there is no results file.
    """
    found = sorted(folder.rglob("*_results.json"))
    if not found:
        raise FileNotFoundError(f"no *_results.json below {folder}")
    newest = found[-1]
    results = json.loads(newest.read_text(encoding="utf-8"))
    stamp = newest.name.removesuffix("_results.json")
    records: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for task in results["results"]:
        log = newest.parent / f"{stamp}_samples_{task}.jsonl"
        if not log.exists():
            continue
        rows = [json.loads(line) for line in log.read_text(encoding="utf-8").split("\n") if line]
        rows.sort(key=lambda row: row["doc_id"])
        readers = records.setdefault(task, {})
        for row in rows:
            readers.setdefault(row["record"]["reader"], []).append(row["record"])
    return Run(newest.parent, results, records)
