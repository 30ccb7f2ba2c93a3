"""How long a run of 2,000 classification documents takes outside its model.

Evaluates `diningbench_cls` with `food_replay` through the host's `simple_evaluate`, and answers the
same documents in a plain loop over the same model, in turn. Prints the seconds of both, their
ratio, and what the harness costs a document: that cost is what a real model's time has to be
compared with. Loading the task and the model is outside too; it is shown apart, as the time of a
run of one document.

    python benchmarks/bench_harness.py [ROUNDS]
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

DOCUMENTS = 2_000
TASK = "diningbench_cls"


def write_data(root: Path) -> Path:
    """Write a data root of so many documents and a file of answers to them; return the file."""
    from lmms_eval_food.tasks.mini import write_mini

    write_mini(root)
    table = root / "diningbench" / "classification.jsonl"
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    made = [{**rows[n % len(rows)], "id": f"{n:05}"} for n in range(DOCUMENTS)]
    table.write_text("".join(json.dumps(row) + "\n" for row in made), encoding="utf-8")
    answers = root / "answers.jsonl"
    lines = [json.dumps({"id": row["id"], "response": f"{row['ground_truth']}."}) for row in made]
    answers.write_text("\n".join(lines), encoding="utf-8")
    return answers


def evaluate(answers: Path, limit: int) -> float:
    """Evaluate the first documents; return the seconds outside `generate_until`."""
    from lmms_eval.evaluator import simple_evaluate

    from lmms_eval_food.tasks.models import Replay

    inside = 0.0
    original = Replay.generate_until

    def timed(self: Replay, requests: list[Any]) -> list[str]:
        nonlocal inside
        started = time.perf_counter()
        replies = original(self, requests)
        inside += time.perf_counter() - started
        return replies

    Replay.generate_until = timed  # type: ignore[method-assign] # put back below
    started = time.perf_counter()
    try:
        results = simple_evaluate(
            model="food_replay", model_args=f"responses={answers}", tasks=[TASK], limit=limit
        )
    finally:
        Replay.generate_until = original  # type: ignore[method-assign] # see above
    seconds = time.perf_counter() - started
    score = results["results"][TASK]["acc,robust"]
    if score != 1:
        raise SystemExit(f"every answer is right, but the score is {score}")
    return seconds - inside


def loop(answers: Path) -> float:
    """Return the seconds that the model alone needs for all documents."""
    from lmms_eval_food.tasks.diningbench.documents import cls
    from lmms_eval_food.tasks.models import Replay

    docs, model = cls(None), Replay(responses=str(answers))
    started = time.perf_counter()
    for n in range(len(docs)):
        model.answer(TASK, docs, n)
    return time.perf_counter() - started


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LMMS_EVAL_FOOD_DATA"] = folder
        answers = write_data(Path(folder))
        evaluate(answers, 1)  # imports
        costs, ratios = [], []
        for number in range(rounds):
            start, whole, alone = evaluate(answers, 1), evaluate(answers, DOCUMENTS), loop(answers)
            costs.append((whole - start) / DOCUMENTS)
            ratios.append((whole - start) / alone)
            print(
                f"round {number + 1}: outside the model {whole:.2f} s, of it {start:.2f} s to "
                f"start; model-only loop {alone:.2f} s; {1000 * costs[-1]:.2f} ms a document"
            )
    print(
        f"the harness costs {1000 * statistics.median(costs):.2f} ms a document, "
        f"{statistics.median(ratios):.1f} times a model that only looks its answer up"
    )


if __name__ == "__main__":
    main()
