"""Does a row of a sample log follow from the model's answer and the document it holds?

The answer is read again by the task's reader and scored again by the task's own hook, on a document
made of what the row has of it: target, prompt and the record's own fields. What no other part of
the row tells (who took a photo, which dish a question is about) must be the same for both readers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.verdict import official_verdict, strict_verdict
from lmms_eval_food.metrics import rouge
from lmms_eval_food.metrics.matchers import MATCHERS
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD
from lmms_eval_food.results.log_files import FIELDS
from lmms_eval_food.results.recompute import kind, same_value
from lmms_eval_food.results.reread import kept_reading, named, read_again
from lmms_eval_food.results.versions import installed_configs
from lmms_eval_food.tasks.canteen import hooks as canteen
from lmms_eval_food.tasks.canteen.record import TrayRecord
from lmms_eval_food.tasks.common import InRecord
from lmms_eval_food.tasks.diningbench import vqa
from lmms_eval_food.tasks.diningbench.vqa_record import NO_JUDGE, VqaRecord

Row = Mapping[str, Any]
Pair = tuple[str, Any, Any]

# What a record says of the reading, not of the document: the readers may differ in it.
_OF_THE_READING = frozenset(
    (
        *("reader", "status", "step", "marks", "answer", "correct", "items", "similarity"),
        *("predicted", "counts", "verdicts", "reply", "not_judged", "rouge_1", "rouge_2"),
        "rouge_l",
    )
)


def row_differences(task: str, row: Row) -> Iterator[Pair]:
    """Yield field, logged value and the value that follows, where the two differ.

    Args:
        task: A task of this suite.
        row: A row of its log.

    Raises:
        KeyError, TypeError, ValueError, AttributeError: the row is not one of this suite.
    """
    record = row["record"]
    reading = kept_reading(row)
    again = read_again(task, record["reader"], reading)
    for name in Reading.__slots__:
        yield f"reading.{name}", getattr(reading, name), getattr(again, name)
    for name in sorted(record.keys() - FIELDS[kind(task)]):
        yield f"record.{name}", record[name], "no such field"
    if not 0 <= record["broken_pictures"] <= len(row.get("input_media") or ()):
        yield "record.broken_pictures", record["broken_pictures"], "no more than pictures"
    scored = {"canteen": _tray, "vqa": _question}.get(kind(task), _hooked)(task, row, again)
    for name, value in scored.pop("record").items():
        if name != "broken_pictures":  # known only while the pictures are opened
            yield f"record.{name}", record[name], value
    for name, value in scored.items():
        yield name, row.get(name), str(value) if isinstance(value, InRecord) else value
    yield from _only_in_record(task, row)


def differing(pairs: Iterator[Pair]) -> list[Pair]:
    """Return the pairs whose values differ: numbers beyond rounding, lists and objects by parts."""
    return [pair for pair in pairs if not _same(pair[1], pair[2])]


def reader_differences(rows: Sequence[Row]) -> Iterator[tuple[str, Pair]]:
    """Yield document and field in which the readers' rows of one document contradict each other."""
    first: dict[int, Row] = {}
    for row in rows:
        other = first.setdefault(row["doc_id"], row)
        record, known = row["record"], other["record"]
        names = [name for name in record if name not in _OF_THE_READING and name in known]
        pairs = [(f"record.{name}", record[name], known[name]) for name in names]
        pairs += [(name, row.get(name), other.get(name)) for name in ("target", "input")]
        for pair in differing(iter(pairs)):
            yield str(known["id"]), pair


def _hooked(task: str, row: Row, reading: Reading) -> dict[str, Any]:
    """Return what the task's own hook logs for the row's document."""
    record = row["record"]
    groups = record.get("groups", {})
    doc = {
        **{name: groups.get(name) for name in ("relation", "language", "evidence")},
        "id": record["id"],
        "data": record["data"],
        "ground_truth": row["target"],
        "answer": row["target"],
        "dish_id": record.get("dish"),
        "dish_ids": [record.get("dish")],
        "options": record.get("options"),
        "views_short": row.get("views_short") is not None,
        "images": [],
    }
    found: dict[str, Any] = named(installed_configs()[task]["process_results"])(
        doc, [reading.to_json()]
    )
    return found


def _tray(task: str, row: Row, reading: Reading) -> dict[str, Any]:
    """Return what the canteen's hook logs; the similarities are taken from the record."""
    logged = TrayRecord.from_dict(row["record"])
    failed = reading.status == Status.FAILED
    record = replace(
        logged,
        reader=reading.reader,
        status=reading.status,
        step=reading.step,
        marks=reading.marks,
        raw=reading.raw,
        items=reading.value["items"] if reading.value else [],
    )
    return {
        "record": record.to_dict(),
        "repaired": record.id if reading.status is Status.REPAIRED else None,
        "unreadable_rate": None if failed else float(reading.value is None),
        "failed_requests": record.id if failed else None,
        "data": record.data,
    }


def _question(task: str, row: Row, reading: Reading) -> dict[str, Any]:
    """Return what the VQA hook logs; the judge's reply is taken from the record and read again."""
    logged = VqaRecord.from_dict(row["record"])
    asked = row["input"] if isinstance(row["input"], str) else logged.question
    doc = {
        "id": logged.id,
        "prompt": asked,
        "ground_truth": row["target"],
        "language": "en" if "_en" in task else "zh",
        "category": logged.category,
        "data": logged.data,
        "images": [],
    }
    record = vqa.record_of(doc, reading)
    if not _has_rouge():
        record = replace(
            record, rouge_1=logged.rouge_1, rouge_2=logged.rouge_2, rouge_l=logged.rouge_l
        )
    return _judged(record, logged).scores()


def _judged(record: VqaRecord, logged: VqaRecord) -> VqaRecord:
    """Return the record with the verdicts that follow from judge and reply as logged."""
    left_out = record.failed and record.reader != "official"
    if logged.reply is not None and record.answer and logged.judge:
        reply = logged.reply
        verdicts = {"official": official_verdict(reply), "strict": strict_verdict(reply)}
        known = replace(record, judge=logged.judge, reply=reply, verdicts=verdicts, not_judged="")
        return replace(known, not_judged=vqa.UNCLEAR) if known.correct is None else known
    if record.answer:
        why = vqa.NO_REPLY if logged.judge else NO_JUDGE
        return replace(record, judge=logged.judge, not_judged=why)
    if left_out:
        return replace(record, judge=logged.judge, not_judged="")
    if not logged.judge:
        return record
    wrong: dict[str, bool | None] = {"official": False, "strict": False}
    return replace(record, judge=logged.judge, verdicts=wrong, not_judged="")


@functools.cache
def _has_rouge() -> bool:
    try:
        rouge.load()
    except rouge.RougeMissingError:
        return False
    return True


def _only_in_record(task: str, row: Row) -> Iterator[Pair]:
    """Yield what the record says of the document, with what another part of the row says."""
    record = row["record"]
    own = {f"acc_{what}_{value}" for what, value in record.get("groups", {}).items()}
    for name in sorted(own - row.keys()):
        yield "record.groups", name, "a group of the task"
    if record.get("options"):
        shown = str(row["input"])
        for option in record["options"]:
            _, found, rest = shown.partition(f". {option}")
            yield "record.options", option, option if found else "in the prompt, in order"
            shown = rest
    if kind(task) == "canteen":
        yield "target", row["target"], canteen.doc_to_target(dict(record))
        fits = _fits(row["matcher"], record["matcher"])
        yield "record.matcher", record["matcher"], record["matcher"] if fits else row["matcher"]
        yield "record.similarity", record["similarity"], _similarity(record)


def _fits(named: str, fingerprint: str) -> bool:
    """Return whether a fingerprint is of the matcher that a row names, "minilm >= 0.5"."""
    name, _, threshold = named.rpartition(" >= ")
    how, _, model = name.partition(":")
    if name in MATCHERS:
        models = {MATCHERS[name].source.model}
    else:  # a local folder goes by its last part
        models = {model, model.rstrip("/").rpartition("/")[2]} if how in ("bi", "cross") else set()
    return threshold == str(PRIMARY_THRESHOLD) and fingerprint.partition(" sha256:")[0] in models


def _similarity(record: Row) -> list[list[float]]:
    """Return the similarities with those that need no model as they must be.

    Equal names have 1, an empty name has 0, and all lie in [-1, 1].
    """
    foods = [normalise(food) for food in record["foods"]]
    names = [normalise(item["name"]) for item in record["items"]]
    values = [list(row) for row in record["similarity"]]
    if len(values) != len(names) or any(len(row) != len(foods) for row in values):
        values = [[0.0] * len(foods) for _ in names]
    return [
        [_known(name, food, value) for food, value in zip(foods, row, strict=True)]
        for name, row in zip(names, values, strict=True)
    ]


def _known(name: str, food: str, value: float) -> float:
    if not (name and food):
        return 0.0
    return 1.0 if name == food else min(1.0, max(-1.0, value))


def _same(first: Any, second: Any) -> bool:
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return first.keys() == second.keys() and all(_same(first[n], second[n]) for n in first)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(_same, first, second))
    # True equals 1, and is no number in a log.
    return isinstance(first, bool) == isinstance(second, bool) and same_value(first, second)
