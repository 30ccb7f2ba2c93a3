"""Submitted runs as files: read, and refused where they cannot be what a run gave."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator  # type: ignore[import-untyped] # it has no types

from lmms_eval_food.results.scores import unit
from lmms_eval_food.results.versions import installed_configs

SCHEMA = "leaderboard_schema.json"
# An entry holds no answers; the largest ones have some 20 kB.
LARGEST = 1_000_000
_ENDS = ("low", "high")

Entry = dict[str, Any]


class EntryError(ValueError):
    """A submitted run is malformed; the message names file and place."""


def read_entries(folder: Path) -> dict[str, Entry]:
    """Return the entries of a folder by file name, in the order of their names.

    Raises:
        EntryError: a file is no JSON, does not fit the schema, says what cannot be (a share above
            1, a value outside its interval, a task or metric that does not exist), holds the same
            run as another file, or has other documents than another file of the same data.
        FileNotFoundError: there is no such folder.
    """
    if not folder.is_dir():
        raise FileNotFoundError(f"no folder {folder}")
    paths = sorted(folder.glob("*.json"), key=lambda path: path.name)
    found = {path.name: _read(path) for path in paths}
    fault = next(_contradictions(found), None)
    if fault is not None:
        raise EntryError(fault)
    return found


def _read(path: Path) -> Entry:
    try:
        if path.stat().st_size > LARGEST:
            raise EntryError(f"{path.name} has more than {LARGEST:,} bytes: an entry has few")
        text = path.read_bytes().decode("utf-8")
        entry: Any = json.loads(text, parse_constant=_no_number, object_pairs_hook=_without_repeats)
        # Half of a surrogate pair can be in no page.
        json.dumps(entry, ensure_ascii=False).encode("utf-8")
    except EntryError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise EntryError(f"{path.name} is not JSON: {error}") from error
    fault = next(iter(_validator().iter_errors(entry)), None)
    if fault is not None:
        place = "/".join(map(str, fault.absolute_path)) or "the whole entry"
        raise EntryError(f"{path.name}: {place}: {fault.message[:300]}")
    wrong = next(_impossible(entry), None)
    if wrong is not None:
        raise EntryError(f"{path.name}: {wrong[0]}: {wrong[1]}")
    return dict(entry)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _without_repeats(pairs: Sequence[tuple[str, Any]]) -> Entry:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a name is there twice in {[name for name, _ in pairs]!r:.200}")
    return found


def _impossible(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield place and reason of what no run gives."""
    date = entry["provenance"]["date"]
    try:
        datetime.strptime(date, "%Y%m%d_%H%M%S")
    except ValueError:
        yield "provenance/date", f"{date!r:.100} is not like 20261231_235959"
    for task, own in entry["tasks"].items():
        place = f"tasks/{task}"
        config = installed_configs().get(task)
        if config is None:
            yield place, "no such task in this suite"
            continue
        if not own["problems"] and own["found"] != own["expected"]:
            yield place, f"{own['found']} of {own['expected']} documents, and no problem"
        metrics = {one["metric"] for one in config["metric_list"]}
        for reader, scores in own["scores"].items():
            for metric, score in scores.items():
                at = f"{place}/scores/{reader}/{metric}"
                if metric not in metrics:
                    yield at, f"{task} has no such metric"
                    continue
                if metric == "judge_acc" and score["value"] is not None and not own["judge"]:
                    yield at, "a judged score without a judge"
                for reason in _impossible_score(score, unit(task, metric), own["found"]):
                    yield at, reason


def _impossible_score(score: Mapping[str, Any], unit_of: str, found: int) -> Iterator[str]:
    """Yield why a score cannot be.

    A value lies within its percentile interval: sums, ratios and medians come out above it about
    as often as below it when dishes are drawn anew, never in fewer than 2.5% of the resamples.
    """
    numbers = {name: score[name] for name in ("value", *_ENDS) if score[name] is not None}
    if any(not _is_finite(number) for number in numbers.values()):
        yield "a number is too large"
        return
    highest = 1.0 if unit_of == "share" else math.inf
    for name, number in numbers.items():
        if not 0 <= number <= highest:
            yield f"{name} {number} is outside [0, {highest}]"
    if len(numbers) == 3:
        # The last digits may have been lost on the way.
        slack = 1e-9 * max(1.0, *numbers.values())
        if not score["low"] - slack <= score["value"] <= score["high"] + slack:
            yield f"{score['value']} is outside its interval [{score['low']}, {score['high']}]"
    elif any(score[name] is not None for name in _ENDS):
        yield "an interval has a value and two ends"
    n = score["n"]
    if n is not None and (n > found or (n == 0 and "value" in numbers)):
        yield f"a score of {n} answers, {found} documents were found"


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(float(number))
    except OverflowError:
        return False


def _contradictions(entries: Mapping[str, Entry]) -> Iterator[str]:
    """Yield what entries cannot say side by side."""
    runs: dict[str, str] = {}
    sizes: dict[tuple[str, str], tuple[str, int]] = {}
    for name, entry in entries.items():
        run = json.dumps([entry["provenance"]["date"], entry["tasks"]], sort_keys=True)
        first = runs.setdefault(run, name)
        if first != name:
            yield f"{name} holds the same run as {first}"
        for task, own in entry["tasks"].items():
            if own["expected"] is None:
                continue
            other, size = sizes.setdefault((task, own["data"]), (name, own["expected"]))
            if own["expected"] != size:
                yield (
                    f"{name}: tasks/{task}/expected: {own['expected']} documents, but {other} has "
                    f"{size} of the same data"
                )


@cache
def _validator() -> Draft202012Validator:
    text = files("lmms_eval_food.results").joinpath(SCHEMA).read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))
