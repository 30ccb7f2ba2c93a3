"""Runs written as the host writes them, for the tests of what reads its files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from canteen_runs import tray
from made_runs import choice

Record = dict[str, Any]


def binary_record(number: int, truth: str, answer: str | None, language: str = "en") -> Record:
    """Return a record of the binary task."""
    groups = {"relation": "dish_image-dish_name", "language": language, "tier": "recognition"}
    return choice(f"q{number}", truth, answer, dish=f"d{number}", **groups)


def vqa_record(name: str, answer: str = "rice", judge: str = "", **fields: Any) -> Record:
    """Return a record of a VQA task, judged right where there is a judge."""
    return {
        **dict.fromkeys(("rouge_1", "rouge_2", "rouge_l"), 1.0),
        "id": name,
        "reader": "robust",
        "status": "ok",
        "raw": answer,
        "marks": [],
        "question": "What is this?",
        "truth": "rice",
        "answer": answer,
        "language": "en",
        "category": "",
        "dish": name,
        "data": "made@1",
        "broken_pictures": 0,
        "verdicts": {"official": True, "strict": True} if judge else None,
        "reply": "yes" if judge else None,
        "not_judged": "" if judge else "no judge configured",
        "judge": judge,
        **fields,
    }


BINARY = [
    binary_record(0, "yes", "yes"),
    binary_record(1, "no", "yes"),
    binary_record(2, "no", None),
    binary_record(3, "yes", "failed"),
    binary_record(4, "yes", "yes", "fr"),
]
# acc 2/4, unreadable 1/4, yes-rate 3/3, one failed request.
BINARY_SCORES = {
    "acc": 0.5,
    "unreadable_rate": 0.25,
    "yes_rate": 1.0,
    "failed_requests": 1,
    "other_language": 0,
    "acc_relation_dish_image-dish_name": 0.5,
    "acc_relation_dish_image-category": float("nan"),
    "acc_language_en": 1 / 3,
    "acc_language_fr": 1.0,
    "acc_tier_recognition": 0.5,
    "data": "made@1",
}
TRAYS = [
    tray("1.jpg", [("rice", 100.0), ("soup", 200.0)], [("rice", 120.0)]),
    tray("2.jpg", [("tea", 300.0)], [("tea", 300.0)]),
]
# Matched: rice (20 g off) and tea (0); soup is missed. NMAE = (20 + 0 + 129) / 3.
TRAY_SCORES = {
    "precision": 1.0,
    "recall": 2 / 3,
    "f1": 0.8,
    "f1_at_60": 0.8,
    "mae": 10.0,
    "nmae": 149 / 3,
    "cpmae": 220 / 3,
    "matched": 2,
    "unreadable_rate": 0.0,
    "repaired": 0,
    "failed_requests": 0,
    "matcher": "minilm >= 0.5",
    "data": "made@1",
}


def binary_row(record: Record) -> Record:
    """Return the scores that the host logs beside a binary record."""
    score = None if record["correct"] is None else float(record["correct"])
    own = record["groups"]
    return {
        "target": record["truth"],
        "acc": score,
        "unreadable_rate": None if score is None else float(record["answer"] is None),
        "yes_rate": None if record["answer"] is None else float(record["answer"] == "yes"),
        "other_language": None,
        "acc_relation_dish_image-dish_name": score,
        "acc_relation_dish_image-category": None,
        "acc_language_en": score if own["language"] == "en" else None,
        "acc_language_fr": score if own["language"] == "fr" else None,
        "acc_tier_recognition": score,
    }


def tray_row(record: Record) -> Record:
    """Return the scores that the host logs beside a tray's record."""
    names = ("precision", "recall", "f1", "f1_at_60", "mae", "nmae", "cpmae", "matched")
    return {
        "target": "; ".join(record["foods"]),
        **dict.fromkeys(names, "see record"),
        "unreadable_rate": 0.0,
        "repaired": None,
        "matcher": "minilm >= 0.5",
    }


TASKS: Mapping[str, tuple[Sequence[Record], Mapping[str, Any], Any]] = {
    "culturalmenu_binary": (BINARY, BINARY_SCORES, binary_row),
    "canteen_portions": (TRAYS, TRAY_SCORES, tray_row),
}


def write_run(
    folder: Path, stamp: str = "20260101_010000", model_args: str = "size=7b", **config: Any
) -> Path:
    """Write a run of both tasks below a folder; returns its results file."""
    folder.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {
        "results": {},
        "configs": {},
        "versions": {},
        "n-samples": {},
        "higher_is_better": {"canteen_portions": {"f1": True, "nmae": False}},
        "config": {"model": "made", "model_args": model_args, "limit": None, **config},
        "git_hash": "abc1234",
        "git_branch": "main",
        "lmms_eval_version": "main@abc1234",
        "date": stamp,
    }
    for task, (records, scores, row) in TASKS.items():
        results["results"][task] = {
            "alias": task,
            "record,robust": [],
            **{f"{name},robust": value for name, value in scores.items()},
            "f1_stderr,robust": "N/A",
        }
        results["configs"][task] = {"metadata": {"version": 1}, "generation_kwargs": {}}
        results["versions"][task] = 1
        results["n-samples"][task] = {"original": len(records), "effective": len(records)}
        lines = [
            json.dumps(whole_row(task, number, record, row(record)), ensure_ascii=False)
            for number, record in enumerate(records)
        ]
        log = folder / f"{stamp}_samples_{task}.jsonl"
        log.write_text("\n".join(reversed(lines)) + "\n", "utf-8")
    path = folder / f"{stamp}_results.json"
    path.write_text(json.dumps(results), "utf-8")
    return path


def whole_row(task: str, number: int, record: Record, scores: Mapping[str, Any]) -> Record:
    """Return a row of a sample log."""
    value: Any = {"items": record["items"]} if task.startswith("canteen") else None
    if value is None and record["answer"] is not None:
        value = {"answer": record["answer"], "languages": [record["groups"]["language"]]}
    reading = {name: record[name] for name in ("raw", "status", "step", "marks", "reader")}
    return {
        "doc_id": number,
        "filtered_resps": json.dumps({**reading, "value": value}),
        "input": f"question {number}",
        "failed_requests": record["id"] if record["status"] == "failed" else None,
        "data": record["data"],
        **scores,
        "record": record,
    }


def change_results(path: Path, *keys: str, value: Any) -> None:
    """Replace one value in a results file."""
    results = json.loads(path.read_text("utf-8"))
    place = results
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(results), "utf-8")


def change_row(path: Path, task: str, doc_id: int, *keys: str, value: Any) -> None:
    """Replace one value in a row of a sample log that lies beside a results file."""
    log = path.parent / f"{path.name.removesuffix('_results.json')}_samples_{task}.jsonl"
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for row in rows:
        if row["doc_id"] == doc_id:
            place = row
            for key in keys[:-1]:
                place = place[key]
            place[keys[-1]] = value
    log.write_text("\n".join(json.dumps(row) for row in rows) + "\n", "utf-8")
