"""Scores recorded answers to a DiningBench of the published size through the host.

Rows and answers are made up: 2,884 classification, 1,650 nutrition and 804 VQA rows. Prints the
host's time and the most memory its process took.

    python benchmarks/bench_replay.py
"""

from __future__ import annotations

import json
import random
import resource
import tempfile
import time
from pathlib import Path

from PIL import Image

from lmms_eval_food.results.host import call_host, host_command
from lmms_eval_food.tasks.reference import Doc

SIZES = {"classification": 2884, "nutrition": 1650, "vqa": 804}
TASKS = {
    "classification": "diningbench_cls",
    "nutrition": "diningbench_nutrition",
    "vqa": "diningbench_vqa",
}


def row(table: str, number: int, draw: random.Random) -> Doc:
    """Make up one row in the benchmark's form."""
    common = {"id": f"{number:05}", "prompt": f"Question {number}?\n" + "Option text. " * 20}
    pictures = [f"images/{number % 10:05}_{view}.jpg" for view in range(4)]
    if table == "vqa":
        return {**common, "images": pictures[:1], "ground_truth": draw.choice(["是的", "清蒸"])}
    truth: object = draw.choice("ABCDEFGH")
    if table == "nutrition":
        names = ("calories", "protein", "carbohydrates", "fat")
        truth = {name: draw.randint(1, 900) for name in names}
    return {
        **common,
        "ground_truth": truth,
        "standard_image": pictures[0],
        "user_images": pictures[1:],
    }


def answer(table: str, draw: random.Random) -> str:
    """Make up one answer: short, wrapped or after long reasoning."""
    thought = "<think>" + "The dish looks steamed. " * draw.choice((0, 0, 40)) + "</think>"
    if table == "classification":
        return thought + draw.choice(("B", "The answer is C.", "**F**", r"\boxed{D}", "none"))
    if table == "vqa":
        return thought + draw.choice(("是的", "应该是清蒸的。", "No."))
    values = ", ".join(
        f'"{name}": {draw.randint(1, 900)}'
        for name in ("calories", "protein", "carbohydrates", "fat")
    )
    return thought + draw.choice((f"{{{values}}}", f"```json\n{{{values}}}\n```", "unsure"))


def main() -> None:
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        folder = root / "diningbench"
        (folder / "images").mkdir(parents=True)
        for number in range(10):
            for view in range(4):
                picture = folder / "images" / f"{number:05}_{view}.jpg"
                Image.new("RGB", (64, 48), (number * 20, view * 60, 90)).save(picture)
        answers = root / "answers.jsonl"
        with answers.open("w", encoding="utf-8") as stream:
            for table, size in SIZES.items():
                rows = [row(table, number, draw) for number in range(size)]
                text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
                (folder / f"{table}.jsonl").write_text(text, encoding="utf-8")
                for number in range(size):
                    line = {"task": TASKS[table], "doc_id": number, "response": answer(table, draw)}
                    stream.write(json.dumps(line) + "\n")
        output = root / "run"
        command = host_command("food_replay", f"responses={answers}", [*TASKS.values()], output)
        started = time.perf_counter()
        run = call_host(command, output, root)
        seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    documents = {task: len(readers["robust"]) for task, readers in run.records.items()}
    print(f"{documents}: {seconds:.1f} s with the host's start, at most {peak:.2f} GiB of memory")


if __name__ == "__main__":
    main()
