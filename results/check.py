"""`lmms-eval-food report --check`: do a run's numbers follow from its sample logs?"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from lmms_eval_food.results.check_rows import differing, reader_differences, row_differences
from lmms_eval_food.results.log_files import (
    is_ours,
    log_of,
    log_rows,
    read_results,
    tasks_logged,
)
from lmms_eval_food.results.recompute import recomputed, same_value
from lmms_eval_food.results.versions import (
    installed_configs,
    installed_groups,
    installed_versions,
)
from lmms_eval_food.tasks import common, made_with

SHOWN = 5  # rows of one kind of difference that are listed
_NOT_SCORES = ("alias", "record")
# Parts of a results file that must speak of every task.
_PARTS = ("results", "configs", "versions", "n-samples")
# What the host keeps both as it was typed and as it was used.
_OPTIONS = ("model", "model_args", "gen_kwargs", "limit", "offset")
_MALFORMED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)

Row = Mapping[str, Any]


def check_run(path: Path) -> list[str]:
    """Compare a results file with the sample logs beside it.

    Checked are all tasks that the results file or a log beside it names. Each answer is read again,
    each row's scores must follow from that reading and the document, each number of the results
    from the records, and all numbers of the task must be there, for both readers. Versions, options
    and numbers of documents that are stated twice must agree. Counts of views, of answers in
    another language and the matcher's name come from the rows.

    Args:
        path: A `*_results.json` file.

    Returns:
        One line a difference, which names task, document and field; [] where all agree. A file
        without any task of this suite is a difference too: nothing was checked.

    Raises:
        LogError: a file is damaged.
    """
    results = read_results(path)
    groups = installed_groups()
    named = dict.fromkeys(name for part in _PARTS for name in results[part] if name not in groups)
    tasks = list(dict.fromkeys([*filter(is_ours, named), *tasks_logged(path)]))
    if not tasks:
        return ["no food task in the results and no log of one: nothing was checked"]
    found = [*_statements(results)]
    for task in tasks:
        found += [f"{task}: {line}" for line in _task_statements(results, task)]
        if task not in installed_configs():
            continue
        log = log_of(path, task)
        if not log.exists():
            found.append(f"{task}: no sample log {log.name}")
            continue
        rows = sorted(log_rows(log, task), key=lambda row: row["doc_id"])
        found += _check_task(results, task, rows)
    return found


def _statements(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a results file says in two ways."""
    named = (results.get("git_branch") or "unknown", (results.get("git_hash") or "unknown")[:8])
    stated = results.get("lmms_eval_version")
    made = _made_with(results)
    numbers = {known.get("lmms-eval", stated) for known in made.values()}
    if isinstance(stated, str) and re.fullmatch(r"v?[0-9]+(\.[0-9]+)+[^@]*", stated):
        if numbers - {stated.removeprefix("v")}:
            yield f"lmms_eval_version is {stated}, tasks say {', '.join(sorted(numbers))}"
    elif stated is not None and stated != "@".join(named):
        yield f"lmms_eval_version is {stated}, branch and commit are {'@'.join(named)}"
    for task, known in made.items():
        first = next(iter(made.values()))
        for name in sorted(known.keys() | first.keys()):
            if known.get(name) != first.get(name):
                yield (
                    f"{task}: made with {name} {known.get(name)}, another task of the run with "
                    f"{first.get(name)}"
                )
    yield from _options(results)


def _made_with(results: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found = {}
    for task, config in results["configs"].items():
        metadata = config.get("metadata")
        known = metadata.get(made_with.KEY) if isinstance(metadata, Mapping) else None
        if is_ours(task) and isinstance(known, Mapping):
            found[task] = known
    return found


def _options(results: Mapping[str, Any]) -> Iterator[str]:
    config = results["config"]
    typed = config.get("resolved_cli_args")
    typed = typed if isinstance(typed, Mapping) else {}
    pairs = [
        (name, config[name], typed[name]) for name in _OPTIONS if name in config and name in typed
    ]
    if "model_source" in results:
        pairs.append(("model", config["model"], results["model_source"]))
    for name, used, said in pairs:
        simple = all(
            value is None or isinstance(value, str | int | float) for value in (used, said)
        )
        if simple and not same_value(used or None, said or None):
            yield f"{name} is {used} in the configuration, {said} as it was typed"


def _task_statements(results: Mapping[str, Any], task: str) -> Iterator[str]:
    """Yield what the results do not say of a task, or say in two ways."""
    yield from (
        f"nothing in `{part}` of the results" for part in _PARTS if task not in results[part]
    )
    config = results["configs"].get(task, {})
    metadata = config.get("metadata")
    configured = metadata.get("version") if isinstance(metadata, Mapping) else None
    stated = results["versions"].get(task)
    if stated != configured:
        yield f"version {stated} in the results, {configured} in the configuration"
    if task not in installed_configs():
        yield "no such task in this suite"
        return
    if configured != installed_versions()[task]:
        yield f"version {configured}, this suite has version {installed_versions()[task]}"
    for part, key in (("filter_list", "name"), ("metric_list", "metric")):
        own = [one.get(key) for one in config.get(part) or [] if isinstance(one, Mapping)]
        wanted = _names(task, part, key)
        if part in config and own != wanted:
            yield f"{part} of the configuration differs: {own}, this suite has {wanted}"
    sizes = results["n-samples"].get(task, {})
    original, effective = sizes.get("original"), sizes.get("effective")
    options = results["config"]
    if original != effective and not (options.get("limit") or options.get("offset")):
        yield f"{effective} of {original} documents, without --limit and --offset"


def _names(task: str, part: str, key: str) -> list[str]:
    return [str(one[key]) for one in installed_configs()[task][part]]


def _check_task(results: Mapping[str, Any], task: str, rows: Sequence[Row]) -> list[str]:
    readers: dict[str, list[Row]] = {name: [] for name in _names(task, "filter_list", "name")}
    known = list(readers)
    for row in rows:
        readers.setdefault(row["record"]["reader"], []).append(row)
    asked = results["n-samples"].get(task, {}).get("effective")
    stated = results["results"].get(task, {})
    found = [
        f"{task}: {name} is of no reader of the task"
        for name in stated
        if name.rpartition(",")[2] not in known and "," in name
    ]
    for reader, own in readers.items():
        name = f"{task}, {reader}"
        if reader not in known:
            found.append(f"{name}: {len(own)} rows of a reader that the task does not have")
            continue
        if not own:
            found.append(f"{name}: no rows in the log")
            continue
        documents = len({row["doc_id"] for row in own})
        if asked is not None and not len(own) == documents == asked:
            found.append(
                f"{name}: {len(own)} rows for {documents} documents in the log, {asked} were asked"
            )
        found += _few(name, [line for row in own for line in _check_row(task, row)])
        found += [f"{name}: {line}" for line in _check_numbers(stated, task, reader, own)]
    lines = [_line(document, *pair) for document, pair in reader_differences(rows)]
    return found + _few(f"{task}, between readers", lines)


def _few(name: str, lines: Sequence[str]) -> list[str]:
    more = len(lines) - SHOWN
    rest = [f"{name}: {more} more differences in rows"] if more > 0 else []
    return [f"{name}: {line}" for line in lines[:SHOWN]] + rest


def _check_row(task: str, row: Row) -> Iterator[str]:
    document = str(row["record"]["id"])
    try:
        for pair in differing(row_differences(task, row)):
            yield _line(document, *pair)
    except _MALFORMED as error:
        yield f"document {document}: the row is not one of this suite ({error!r})"


def _check_numbers(
    stated: Mapping[str, Any], task: str, reader: str, rows: Sequence[Row]
) -> Iterator[str]:
    try:
        known = recomputed(task, [row["record"] for row in rows])
    except _MALFORMED as error:
        yield f"the records cannot be scored ({error!r})"
        return
    named = [name.rpartition(",") for name in stated]
    own = [name for name, _, of in named if of == reader and "_stderr" not in name]
    metrics = dict.fromkeys([*_names(task, "metric_list", "metric"), *own])
    for metric in (name for name in metrics if name not in _NOT_SCORES):
        value = stated.get(f"{metric},{reader}")
        again = known[metric] if metric in known else _from_rows(value, metric, rows)
        if f"{metric},{reader}" not in stated:
            yield f"{metric} is missing from the results, it is {again} from the log"
        elif not same_value(value, again):
            yield f"{metric} is {_short(value)} in the results and {_short(again)} from the log"


def _from_rows(value: Any, metric: str, rows: Sequence[Row]) -> Any:
    """Return what the host would make of a value that rows hold and records do not."""
    values = [row.get(metric) for row in rows]
    if isinstance(value, str):
        return common.same([str(one) for one in values])
    known = [one for one in values if isinstance(one, int | float)]
    return common.mean(known) if known or isinstance(value, float) else common.count(values)


def _line(document: str, name: str, value: Any, again: Any) -> str:
    return f"document {document}: {name} is {_short(value)}, should be {_short(again)}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:79]}…"
