"""Time, memory and page size of a report of 30 runs with full sample logs.

Generates runs of 2,884 + 1,650 + 804 + 200 + 11,048 documents each, read by both readers, writes
their report in a process of its own and prints seconds, peak memory (of that process and its two
readers, as if all peaked at once) and the size of the page.

    python benchmarks/bench_report.py [--runs 30] [--resamples 2000]
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.culturalmenu.hooks import CUISINES, tier
from lmms_eval_food.tasks.culturalmenu.prompts import BINARY_RELATIONS, LANGUAGES, MC_RELATIONS

READERS = ("official", "robust")
FOODS = [f"food {number}" for number in range(314)]
SIZES = {
    "diningbench_cls": 2884,
    "diningbench_nutrition": 1650,
    "diningbench_vqa": 804,
    "canteen_portions": 200,
    "culturalmenu_binary": 4870,
    "culturalmenu_mc": 5824,
    "culturalmenu_region": 354,
}
_WRITE = """
import resource, sys
from pathlib import Path
from lmms_eval_food.results.report import write_report
write_report([Path(sys.argv[1])], Path(sys.argv[2]), resamples=int(sys.argv[3]))
own, largest = (
    resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
)
print(own + 2 * largest)
"""


def common(number: int, reader: str, raw: str) -> dict[str, Any]:
    return {
        "id": f"document-{number:05d}",
        "reader": reader,
        "status": "ok",
        "marks": [],
        "raw": raw,
        "data": "generated@0123456789ab",
        "broken_pictures": 0,
    }


def choice(number: int, reader: str, draw: random.Random, options: str, task: str) -> Any:
    documents = random.Random(f"{task} {number}")
    truth, answer = documents.choice(options), draw.choice(options)
    letter = {"letter": truth}
    groups: dict[str, str] = {}
    if task.endswith(("binary", "mc")):
        relations = BINARY_RELATIONS if task.endswith("binary") else MC_RELATIONS
        relation = documents.choice(list(relations))
        groups = {"relation": relation, "language": documents.choice(list(LANGUAGES))}
        groups |= {"tier": tier(relation), **({} if task.endswith("binary") else letter)}
    shown: list[str] = []
    if task.endswith("region"):
        shown = documents.sample(CUISINES, 4)
        groups = {"evidence": "dish_image", "cuisine": shown[options.index(truth)], **letter}
    if options == "yn":
        truth, answer = ({"y": "yes", "n": "no"}[x] for x in (truth, answer))
    dish = f"d{number % 587}" if task.startswith("cult") else f"document-{number:05d}"
    return {
        **common(number, reader, f"The answer is {answer}. " * draw.randint(1, 12)),
        "truth": truth,
        "answer": answer,
        "correct": answer == truth,
        "step": "first_letter",
        "dish": dish,
        "groups": groups,
        "options": shown,
    }


def nutrition(number: int, reader: str, draw: random.Random) -> Any:
    documents = random.Random(f"nutrition {number}")
    true = [round(documents.uniform(1, top), 1) for top in (900, 40, 90, 50)]
    predicted = [round(value * draw.uniform(0.5, 1.6), 1) for value in true]
    return {
        **common(number, reader, json.dumps(predicted) * 4),
        "step": "json",
        "predicted": predicted,
        "true": true,
        "counts": True,
        "views_short": False,
    }


def vqa(number: int, reader: str, draw: random.Random) -> Any:
    right = draw.random() < 0.5
    return {
        **common(number, reader, "a generated answer " * 5),
        "question": "a generated question?",
        "truth": "rice",
        "answer": "rice and beans",
        "language": "zh",
        "category": "",
        "dish": f"document-{number:05d}",
        "rouge_1": draw.random(),
        "rouge_2": draw.random(),
        "rouge_l": draw.random(),
        "verdicts": {"official": right, "strict": right},
        "reply": "yes" if right else "no",
        "not_judged": "",
        "judge": "generated judge",
    }


def tray(number: int, reader: str, draw: random.Random) -> Any:
    documents = random.Random(f"tray {number}")
    foods = documents.sample(FOODS, documents.randint(2, 7))
    said = [*draw.sample(foods, draw.randint(1, len(foods))), draw.choice(FOODS)]
    grams = [round(documents.uniform(20, 400), 1) for _ in foods]
    items = [
        {"name": name, "grams": round(draw.uniform(20, 400)), "text": "", "marks": []}
        for name in said
    ]
    similarity = [[draw.uniform(0.4, 1) if a == b else 0.2 for b in foods] for a in said]
    return {
        **common(number, reader, json.dumps(items)),
        "id": f"{number:03d}.jpg",
        "step": "json",
        "items": items,
        "foods": foods,
        "grams": grams,
        "similarity": similarity,
        "matcher": "generated matcher",
        "participant": f"participant_{number % 5}",
    }


def record(task: str, number: int, reader: str, draw: random.Random) -> Any:
    if task == "canteen_portions":
        return tray(number, reader, draw)
    if task == "diningbench_nutrition":
        return nutrition(number, reader, draw)
    if task == "diningbench_vqa":
        return vqa(number, reader, draw)
    options = {"diningbench_cls": "ABCDEFGH", "culturalmenu_binary": "yn"}.get(task, "ABCD")
    return choice(number, reader, draw, options, task)


def write_run(folder: Path, seed: int) -> int:
    folder.mkdir(parents=True)
    stamp = f"20260101_{seed:06d}"
    results = {
        "results": {task: {} for task in SIZES},
        "configs": {task: {"metadata": {"version": 1}} for task in SIZES},
        "versions": dict.fromkeys(SIZES, 1),
        "n-samples": {task: {"original": size, "effective": size} for task, size in SIZES.items()},
        "config": {"model": "generated", "model_args": f"name=model-{seed}"},
        "date": stamp,
    }
    (folder / f"{stamp}_results.json").write_text(json.dumps(results), "utf-8")
    written = 0
    for task, size in SIZES.items():
        path = folder / f"{stamp}_samples_{task}.jsonl"
        with path.open("w", encoding="utf-8") as stream:
            for number in range(size):
                for reader in READERS:
                    # Both readers read one answer.
                    own = record(task, number, reader, random.Random(f"{seed} {task} {number}"))
                    reading = json.dumps({"raw": own["raw"], "value": None, "reader": reader})
                    row = {
                        "doc_id": number,
                        "filtered_resps": reading,
                        "record": own,
                        "input": f"a generated prompt of ordinary length, number {number} " * 6,
                    }
                    stream.write(json.dumps(row, ensure_ascii=False) + "\n")
        written += path.stat().st_size
    return written


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--resamples", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        logs, out = Path(name, "logs"), Path(name, "out")
        size = sum(write_run(logs / f"run{seed:02d}", seed) for seed in range(options.runs))
        print(f"{options.runs} runs, {size / 1e6:.0f} MB of logs")
        started = time.perf_counter()
        command = [sys.executable, "-c", _WRITE, str(logs), str(out), str(options.resamples)]
        memory = int(subprocess.run(command, check=True, capture_output=True).stdout)
        seconds = time.perf_counter() - started
        page = (out / "report.html").stat().st_size
    print(f"{seconds:.1f} s (limit 120), peak {memory / 1024:.0f} MB (limit 2048)")
    print(f"page {page / 1e6:.2f} MB (limit 5)")


if __name__ == "__main__":
    main()
