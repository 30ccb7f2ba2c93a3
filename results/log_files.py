"""The files that the host writes for a call: found, told apart, and read or refused in one line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_food.results.recompute import kind
from lmms_eval_food.tasks.canteen.record import TrayRecord
from lmms_eval_food.tasks.choices import ChoiceRecord
from lmms_eval_food.tasks.diningbench.nutrition import NutritionRecord
from lmms_eval_food.tasks.diningbench.vqa_record import VqaRecord

PREFIXES = ("diningbench_", "canteen_", "culturalmenu_")
RESULTS, SAMPLES = "_results.json", "_samples_"
# Parts of a results file that hold one object a task, as far as it has them.
_BY_TASK = ("results", "configs", "n-samples", "higher_is_better")
FIELDS = {
    "choice": frozenset(ChoiceRecord.__slots__),
    "canteen": frozenset(TrayRecord.__slots__),
    "nutrition": frozenset(NutritionRecord.__slots__),
    "vqa": frozenset(VqaRecord.__slots__),
}
_TEXTS = ("id", "reader", "status", "raw", "data")


class LogError(Exception):
    """A file of a run is missing or cannot be read; the message names it."""


def is_ours(task: str) -> bool:
    """Return whether a task's name is one of this suite's benchmarks."""
    return task.startswith(PREFIXES)


def results_files(paths: Iterable[Path]) -> list[Path]:
    """Return results files, oldest first, each once; a copy of a whole run is left out, as said.

    Sample logs without a results file are told too: they cannot be reported.

    Args:
        paths: Folders, searched to any depth, or results files.

    Raises:
        LogError: a folder holds none, or a file is something else.
    """
    given = list(paths)
    found: dict[Path, Path] = {}
    for path in given:
        found |= {one.resolve(): one for one in _below(path)}
    for log in stray_logs(given):
        logger.warning(f"{log}: its results file is missing, so it is left out")
    return distinct(sorted(found.values(), key=lambda path: (path.name, str(path))))


def distinct(paths: Sequence[Path]) -> list[Path]:
    """Return results files without those whose file and sample logs are copies of an earlier one's.

    A copy is no second run: it would be ranked, and taken for a repetition. Each is told.
    """
    first: dict[tuple[bytes, ...], Path] = {}
    sizes = [path.stat().st_size if path.is_file() else -1 for path in paths]
    found = []
    for path, size in zip(paths, sizes, strict=True):
        # Only files of one size can be copies, so most runs are not read here.
        known = first.setdefault(_digests(path), path) if sizes.count(size) > 1 else path
        if known is path:
            found.append(path)
        else:
            logger.warning(f"{path} is a copy of {known}, so it is left out")
    return found


def stray_logs(paths: Iterable[Path]) -> list[Path]:
    """Return the sample logs of our tasks whose results file is missing, by folder and name."""
    logs = {log for path in paths for log in path.rglob(f"*{SAMPLES}*.jsonl")}
    return sorted(log for log in logs if is_ours(_task_of(log)) and not _results_of(log).exists())


def log_of(path: Path, task: str) -> Path:
    """Return where the sample log of a task lies, given the results file."""
    return path.parent / f"{path.name.removesuffix(RESULTS)}{SAMPLES}{task}.jsonl"


def tasks_logged(path: Path) -> list[str]:
    """Return our tasks that have a sample log beside a results file, in alphabetical order."""
    stem = path.name.removesuffix(RESULTS)
    logs = path.parent.glob("*.jsonl")
    names = [log.stem.removeprefix(f"{stem}{SAMPLES}") for log in logs if log.name.startswith(stem)]
    return sorted(filter(is_ours, names))


def read_results(path: Path) -> dict[str, Any]:
    """Return what a results file holds; parts that it lacks are {}.

    Raises:
        LogError: it cannot be read, or is not what the host writes.
    """
    try:
        value = _parsed(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise LogError(f"{path} is damaged: {error}") from error
    if not isinstance(value, dict):
        raise LogError(f"{path}: is no object but {_shown(value)}")
    config = value.get("config")
    if not isinstance(config, dict) or "model" not in config:
        raise LogError(f"{path}: `config` must be an object that names the model")
    if "results" not in value:
        raise LogError(f"{path}: has no `results`")
    for part in (*_BY_TASK, "versions"):
        found = value.setdefault(part, {})
        if not isinstance(found, dict):
            raise LogError(f"{path}: `{part}` must be an object, not {_shown(found)}")
        for task, own in found.items():
            if part in _BY_TASK and not isinstance(own, dict):
                raise LogError(f"{path}: `{part}` of {task} must be an object, not {_shown(own)}")
    return value


def read_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    r"""Yield line number and row of a sample log, in no order; only "\n" ends a row.

    Raises:
        LogError: a row is damaged.
    """
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = _parsed(line)
            except (ValueError, RecursionError) as error:
                raise LogError(f"{path} is damaged, line {number}: {error}") from error
            if not isinstance(row, dict):
                raise LogError(f"{path}, line {number}: is no object but {_shown(row)}")
            yield number, row


def log_rows(path: Path, task: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of one of our tasks' logs, each with the record that its benchmark defines.

    Raises:
        LogError: a row is damaged, or not one of this suite.
    """
    needed = FIELDS[kind(task)]
    for number, row in read_rows(path):
        fault = _fault(row, needed)
        if fault:
            raise LogError(f"{path}, line {number}: {fault}")
        yield row


def _fault(row: Mapping[str, Any], needed: frozenset[str]) -> str:
    """Return what keeps a row from being one of a task's, "" for nothing."""
    record = row.get("record")
    if type(row.get("doc_id")) is not int:
        return f"`doc_id` must be a whole number, not {_shown(row.get('doc_id'))}"
    if not isinstance(record, dict):
        return f"`record` must be an object, not {_shown(record)}"
    missing = needed - record.keys()
    if missing:
        return f"the record lacks {', '.join(sorted(missing))}: another version of the suite?"
    wrong = next((name for name in _TEXTS if not isinstance(record[name], str)), None)
    return f"record.{wrong} must be a text, not {_shown(record[wrong])}" if wrong else ""


def _below(path: Path) -> list[Path]:
    if path.is_file():
        if path.name.endswith(RESULTS):
            return [path]
        raise LogError(f"{path} is neither a folder nor a *{RESULTS}")
    found = list(path.rglob(f"*{RESULTS}"))
    if not found:
        raise LogError(f"no *{RESULTS} below {path}")
    return found


def _task_of(log: Path) -> str:
    return log.stem.partition(SAMPLES)[2]


def _results_of(log: Path) -> Path:
    return log.with_name(log.stem.partition(SAMPLES)[0] + RESULTS)


def _digests(path: Path) -> tuple[bytes, ...]:
    """Return digests of a results file and of each sample log beside it."""
    logs = [log_of(path, task) for task in tasks_logged(path)]
    return tuple(_file_digest(file) for file in (path, *logs))


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def _parsed(text: bytes) -> Any:
    return json.loads(text.decode("utf-8"))


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"
