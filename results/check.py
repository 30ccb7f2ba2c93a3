"""`lmms-eval-food report --check`: do a run's numbers follow from its sample logs?"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_food.filters.verdict import official_verdict, strict_verdict
from lmms_eval_food.metrics.nutrition import NUTRIENTS
from lmms_eval_food.results.completeness import PREFIXES
from lmms_eval_food.results.logs import log_of, read_results, read_rows
from lmms_eval_food.results.recompute import kind, recomputed, same_value
from lmms_eval_food.results.versions import installed_versions
from lmms_eval_food.tasks import common

SHOWN = 5  # rows of one kind of difference that are listed
_NOT_SCORES = ("alias", "record")

Row = Mapping[str, Any]


def check_run(path: Path) -> list[str]:
    """Compare a results file with the sample logs beside it.

    Each row's scores must follow from its record, the record from the reading that the host kept
    of the answer, each number of the results from the records, and each task's version must be the
    one of its configuration and of this suite. Recomputed are all scores that a record determines;
    counts of views, of answers in another language and the matcher's name come from the rows.

    Args:
        path: A `*_results.json` file.

    Returns:
        One line a difference, which names task, reader and document; [] where all agree.

    Raises:
        LogError: a file is damaged.
    """
    results = read_results(path)
    tasks = [task for task in results["results"] if task.startswith(PREFIXES)]
    tasks = [task for task in tasks if task in results.get("configs", {})]
    found = _host_version(results)
    for task in tasks:
        found += _version(results, task)
        log = log_of(path, task)
        if not log.exists():
            found.append(f"{task}: no sample log {log.name}")
            continue
        try:
            found += _check_task(results, task, sorted(read_rows(log), key=lambda r: r["doc_id"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            found.append(f"{task}: a row of the log is not one of this suite ({error!r})")
    return found


def _host_version(results: Mapping[str, Any]) -> list[str]:
    named = (results.get("git_branch") or "unknown", (results.get("git_hash") or "unknown")[:8])
    stated = results.get("lmms_eval_version")
    if stated is None or stated == "@".join(named):
        return []
    return [f"lmms_eval_version is {stated}, branch and commit are {'@'.join(named)}"]


def _version(results: Mapping[str, Any], task: str) -> list[str]:
    stated = results.get("versions", {}).get(task)
    configured = (results["configs"][task].get("metadata") or {}).get("version")
    installed = installed_versions().get(task)
    found = []
    if stated != configured:
        found.append(f"{task}: version {stated} in the results, {configured} in the configuration")
    if installed is None:
        found.append(f"{task}: no such task in this suite")
    elif configured != installed:
        found.append(f"{task}: version {configured}, this suite has version {installed}")
    return found


def _check_task(results: Mapping[str, Any], task: str, rows: Sequence[Row]) -> list[str]:
    readers: dict[str, list[Row]] = {}
    for row in rows:
        readers.setdefault(row["record"]["reader"], []).append(row)
    found = []
    asked = results.get("n-samples", {}).get(task, {}).get("effective")
    stated = results["results"][task]
    filters = {name.rpartition(",")[2] for name in stated if "," in name}
    found += [f"{task}, {name}: no rows in the log" for name in sorted(filters - readers.keys())]
    for reader, own in readers.items():
        name = f"{task}, {reader}"
        documents = len({row["doc_id"] for row in own})
        if asked is not None and not len(own) == documents == asked:
            found.append(
                f"{name}: {len(own)} rows for {documents} documents in the log, {asked} were asked"
            )
        found += _few(name, [line for row in own for line in _check_row(task, row)])
        found += [f"{name}: {line}" for line in _check_numbers(stated, task, reader, own)]
    return found


def _few(name: str, lines: Sequence[str]) -> list[str]:
    more = len(lines) - SHOWN
    rest = [f"{name}: {more} more differences in rows"] if more > 0 else []
    return [f"{name}: {line}" for line in lines[:SHOWN]] + rest


def _check_numbers(
    stated: Mapping[str, Any], task: str, reader: str, rows: Sequence[Row]
) -> Iterator[str]:
    known = recomputed(task, [row["record"] for row in rows])
    for name, value in stated.items():
        metric, comma, own = name.rpartition(",")
        if not comma or own != reader or "_stderr" in metric or metric in _NOT_SCORES:
            continue
        again = known[metric] if metric in known else _from_rows(value, metric, rows)
        if not same_value(value, again):
            yield f"{metric} is {value} in the results and {again} from the log"


def _from_rows(value: Any, metric: str, rows: Sequence[Row]) -> Any:
    """Return what the host would make of a value that rows hold and records do not."""
    values = [row.get(metric) for row in rows]
    if isinstance(value, str):
        return common.same([str(one) for one in values])
    return common.count(values) if isinstance(value, int) else common.mean(values)


def _check_row(task: str, row: Row) -> Iterator[str]:
    record = row["record"]
    document = record["id"]
    for name, value, again in _pairs(task, row):
        if not same_value(value, again):
            yield f"document {document}: {name} is {_short(value)}, should be {_short(again)}"


def _pairs(task: str, row: Row) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, logged value and the value that follows from the rest of the row."""
    record = row["record"]
    kept = row["filtered_resps"]
    reading = json.loads(kept if isinstance(kept, str) else kept[0])
    for name in ("raw", "status", "reader"):
        yield f"record.{name}", record[name], reading[name]
    yield "failed_requests", row["failed_requests"], _id_if(record["status"] == "failed", record)
    yield "data", row["data"], record["data"]
    yield from _KINDS[kind(task)](row, record, reading["value"])


def _choice_pairs(row: Row, record: Row, value: Any) -> Iterator[tuple[str, Any, Any]]:
    answer = value["answer"] if isinstance(value, dict) else value
    counts = record["status"] != "failed" or row["acc"] is not None
    right = answer == row["target"] if counts else None
    yield "record.truth", record["truth"], row["target"]
    yield "record.answer", record["answer"], answer
    yield "record.correct", record["correct"], right
    score = None if right is None else float(right)
    yield "acc", row["acc"], score
    yield "unreadable_rate", row["unreadable_rate"], float(answer is None) if counts else None
    if "yes_rate" in row:
        yield "yes_rate", row["yes_rate"], float(answer == "yes") if answer else None
    own = {f"acc_{what}_{value}" for what, value in record["groups"].items()}
    for name in (name for name in row if name.startswith("acc_")):
        yield name, row[name], score if name in own else None


def _canteen_pairs(row: Row, record: Row, value: Any) -> Iterator[tuple[str, Any, Any]]:
    failed = record["status"] == "failed"
    unreadable = None if failed else float(value is None)
    yield "record.items", record["items"], value["items"] if value else []
    yield "unreadable_rate", row["unreadable_rate"], unreadable
    yield "repaired", row["repaired"], _id_if(record["status"] == "repaired", record)


def _nutrition_pairs(row: Row, record: Row, value: Any) -> Iterator[tuple[str, Any, Any]]:
    predicted = None if value is None else [float(value[nutrient]) for nutrient in NUTRIENTS]
    # Texts: an estimate may be nan, which equals nothing.
    yield "record.predicted", str(record["predicted"]), str(predicted)
    counts = record["reader"] == "official" or record["status"] != "failed"
    yield "record.counts", record["counts"], counts
    missing = float(predicted is None) if counts else None
    yield "parse_failure_rate", row["parse_failure_rate"], missing


def _vqa_pairs(row: Row, record: Row, value: Any) -> Iterator[tuple[str, Any, Any]]:
    yield "record.answer", record["answer"], value or ""
    yield "record.truth", record["truth"], row["target"]
    verdicts = record["verdicts"]
    if record["reply"] is not None:
        read = {name: judge(record["reply"]) for name, judge in _JUDGES.items()}
        yield "record.verdicts", verdicts, read
        verdicts = read
    right = verdicts and verdicts["official" if record["reader"] == "official" else "strict"]
    yield "judge_acc", row["judge_acc"], None if right is None else float(right)
    for name in ("rouge_1", "rouge_2", "rouge_l"):
        yield name, row[name], record[name]


_JUDGES = {"official": official_verdict, "strict": strict_verdict}
_KINDS = {
    "choice": _choice_pairs,
    "canteen": _canteen_pairs,
    "nutrition": _nutrition_pairs,
    "vqa": _vqa_pairs,
}


def _id_if(flag: bool, record: Row) -> str | None:
    return str(record["id"]) if flag else None


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
