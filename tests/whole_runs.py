"""Runs as the host writes them, with both readers and every number of their tasks.

Documents and replies are made by hand; readings, rows and numbers are what the tasks' own filters,
hooks and aggregations make of them.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.results.versions import installed_configs

Doc = dict[str, Any]
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] made"
STAMP = "20260101_010000"
CLS, NUTRITION, VQA = "diningbench_cls", "diningbench_nutrition", "diningbench_vqa"
BINARY, MC, REGION = "culturalmenu_binary", "culturalmenu_mc", "culturalmenu_region"
CANTEEN = "canteen_portions"


@dataclass(frozen=True)
class EqualNames:
    """A matcher that finds equal names only and goes by another's name."""

    name: str = "minilm"
    fingerprint: str = (
        "sentence-transformers/all-MiniLM-L6-v2 sha256:53aa51172d14 cosine "
        "sentence-transformers 6.2.0"
    )

    def score(self, jobs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[Any]:
        """Return 1 for equal names, 0 for others."""
        return [
            np.array([[float(normalise(p) == normalise(t)) for t in trues] for p in preds]).reshape(
                len(preds), len(trues)
            )
            for preds, trues in jobs
        ]


class Yes:
    """A judge that finds every answer right."""

    def fingerprint(self, template: str) -> str:
        """Return a name."""
        return "made:judge prompt@12345678"

    def ask(self, prompts: Sequence[str], *settings: object) -> list[str]:
        """Return its replies."""
        return ["是"] * len(prompts)


def _dining(number: int, truth: str, prompt: str = "Which dish?", **fields: Any) -> Doc:
    return {
        "id": f"0000{number}",
        "prompt": prompt,
        "ground_truth": truth,
        "images": [f"images/0000{number}_0.jpg"],
        "language": "zh",
        "category": "ingredients",
        "data": "made@1",
        "views_short": number == 2,
        **fields,
    }


def _binary(number: int, answer: str, language: str = "en") -> Doc:
    return {
        "id": f"q{number}",
        "prompt": f"question {number}",
        "answer": answer,
        "relation": "dish_image-dish_name",
        "language": language,
        "dish_ids": [f"d{number}"],
        "images": ["images/1.jpg"],
        "data": "made@1",
    }


def _mc(number: int, answer: str) -> Doc:
    relation = "dish_image->dish_name"
    return {**_binary(number, answer, "zh"), "relation": relation, "dish_id": f"d{number}"}


def _region(number: int, answer: str) -> Doc:
    options = ["川菜", "湘菜", "粤菜", "鲁菜"]
    lines = "\n".join(f"{letter}. {name}" for letter, name in zip("ABCD", options, strict=True))
    own = {"prompt": f"哪个菜系？\n{lines}\n", "options": options, "evidence": "dish_image"}
    return {**_mc(number, answer), **own}


def _tray(number: int, **foods: float) -> Doc:
    return {
        "id": f"{number}.jpg",
        "system_prompt": "You see a meal.",
        "user_prompt": "Which foods?",
        "foods": list(foods),
        "grams": list(foods.values()),
        "participant": f"p{number}",
        "images": [f"images/{number}.jpg"],
        "data": "made@1",
    }


def _nutrients(*values: float) -> str:
    names = ("calories", "protein", "carbohydrates", "fat")
    return json.dumps(dict(zip(names, values, strict=True)))


def _items(**foods: str) -> str:
    items = [{"name": name, "portion_estimate": text} for name, text in foods.items()]
    return json.dumps({"food_items": items})


# Task -> documents, each with the model's reply.
ASKED: Mapping[str, Sequence[tuple[Doc, str]]] = {
    CLS: [
        (_dining(1, "A"), "A"),
        (_dining(2, "B"), "The answer is B"),
        (_dining(3, "C"), "A"),
        (_dining(4, "D"), "no idea"),
    ],
    NUTRITION: [
        (_dining(1, _nutrients(600, 20, 80, 20)), _nutrients(500, 20, 80, 20)),
        (_dining(2, _nutrients(300, 10, 40, 10)), "I cannot tell."),
        (_dining(3, _nutrients(100, 5, 10, 5)), FAILED),
    ],
    VQA: [
        (_dining(1, "是", "这道菜有肉吗？"), "是"),
        (_dining(2, "三种", "有几种蔬菜？"), "四种"),
        (_dining(3, "否", "这道菜有鱼吗？"), FAILED),
    ],
    BINARY: [
        (_binary(0, "yes"), "yes"),
        (_binary(1, "no"), "yes"),
        (_binary(2, "no"), "perhaps"),
        (_binary(3, "yes"), FAILED),
        (_binary(4, "yes", "fr"), "oui"),
    ],
    MC: [(_mc(1, "A"), "A"), (_mc(2, "B"), "C")],
    REGION: [(_region(1, "A"), "A"), (_region(2, "B"), "C")],
    CANTEEN: [
        (_tray(1, rice=100.0, soup=200.0), _items(rice="120 g")),
        (_tray(2, tea=300.0), _items(tea="300 g")),
    ],
}


def write_whole_run(
    folder: Path,
    asked: Mapping[str, Sequence[tuple[Doc, str]]] = ASKED,
    judge: Yes | None = None,
    **config: Any,
) -> Path:
    """Write a run of some tasks below a folder; returns its results file."""
    folder.mkdir(parents=True, exist_ok=True)
    configs = installed_configs()
    results: dict[str, Any] = {
        "results": {},
        "configs": {},
        "versions": {},
        "n-samples": {},
        "config": {"model": "made", "model_args": "size=7b", "limit": None, **config},
        "git_hash": "abc1234",
        "git_branch": "main",
        "lmms_eval_version": "main@abc1234",
        "date": STAMP,
    }
    for task, pairs in asked.items():
        own = configs[task]
        rows = _rows(task, own, pairs, judge)
        log = folder / f"{STAMP}_samples_{task}.jsonl"
        lines = (json.dumps(row, default=str, ensure_ascii=False) for row in rows)
        log.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        results["results"][task] = _numbers(own, rows)
        results["configs"][task] = {
            "metadata": {"version": 1, "made_with": {"lmms-eval-food": "0.1.0"}},
            "filter_list": [{"name": one["name"]} for one in own["filter_list"]],
            "metric_list": [{"metric": one["metric"]} for one in own["metric_list"]],
        }
        results["versions"][task] = 1
        results["n-samples"][task] = {"original": len(pairs), "effective": len(pairs)}
    path = folder / f"{STAMP}_results.json"
    path.write_text(json.dumps(results), "utf-8")
    return path


def _rows(
    task: str, config: Mapping[str, Any], pairs: Sequence[tuple[Doc, str]], judge: Yes | None
) -> list[dict[str, Any]]:
    hooks = f"lmms_eval_food.tasks.{task.partition('_')[0]}"
    process = _function(config["process_results"])
    target = config["doc_to_target"]
    rows = []
    with (
        patch("lmms_eval_food.tasks.canteen.matcher.configured", EqualNames),
        patch("lmms_eval_food.tasks.judging.configured", lambda: judge),
    ):
        for number, (doc, reply) in enumerate(pairs):
            for one in config["filter_list"]:
                options = dict(one["filter"][0])
                reader = _function(options.pop("function"))(**options)
                ((text,),) = reader.apply([[reply]], None)
                known = _function(target)(doc) if target.startswith(hooks) else doc[target]
                shown = doc.get("prompt") or f"{doc['system_prompt']}\n\n{doc['user_prompt']}"
                rows.append(
                    {
                        "doc_id": number,
                        "target": known,
                        "filtered_resps": text,
                        "input": shown,
                        "input_media": doc["images"],
                        **process(doc, [text]),
                    }
                )
    return rows


def _numbers(config: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"alias": "made"}
    for name in ("official", "robust"):
        own = [row for row in rows if row["record"]["reader"] == name]
        for one in config["metric_list"]:
            metric = one["metric"]
            value = _function(one["aggregation"])([row[metric] for row in own])
            found[f"{metric},{name}"] = value
            found[f"{metric}_stderr,{name}"] = "N/A"
    return found


def _function(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)
