"""How many DiningBench answers are read and scored a second, beside the plain rules of the tests.

Generates answers in the benchmark's sizes (2,884 classification, 1,650 nutrition), reads and scores
them with the official filters and with `tests/plain_diningbench.py`, in turn, and prints documents
per second of the fastest round and the ratio ours/plain. The robust filters are timed too.

    python benchmarks/bench_dining.py [ROUNDS]
"""

from __future__ import annotations

import json
import math
import random
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.letters import OfficialLetter, RobustLetter
from lmms_eval_food.filters.nutrition import OfficialNutrition, RobustNutrition
from lmms_eval_food.metrics.classification import accuracy, rate
from lmms_eval_food.metrics.nutrition import (
    NutritionErrors,
    nutrition_scores,
    official_errors,
    robust_errors,
)

CLASSIFICATION, NUTRITION = 2_884, 1_650
KEYS = ("calories", "protein", "carbohydrates", "fat")
CHINESE = ("卡路里", "蛋白质", "碳水化合物", "脂肪")
THOUGHT = "<think>" + "The sauce is dark, so it could be braised pork. " * 8 + "</think>\n\n"
NOTHING = [math.nan] * 4

PLAIN = runpy.run_path(str(Path(__file__).parents[1] / "tests" / "plain_diningbench.py"))
Score = Callable[[], dict[str, float]]


def letter_answer(source: random.Random, truth: str) -> str:
    letter = truth if source.random() < 0.6 else source.choice("ABCDEFGH")
    forms = [letter] * 6 + [f"{letter}. Mapo tofu", f"The answer is {letter}", f"答案：{letter}"]
    forms += [rf"So it is $\boxed{{{letter}}}$.", THOUGHT + letter, THOUGHT + letter, "", "?"]
    return source.choice(forms)


def nutrition_answer(source: random.Random, truth: Sequence[float]) -> str:
    values = [round(value * source.uniform(0.5, 1.6), 1) for value in truth]
    found = dict(zip(source.choice([KEYS, CHINESE]), values, strict=True))
    text = json.dumps(found, ensure_ascii=False, indent=source.choice([None, 2]))
    forms = [text] * 6 + [f"```json\n{text}\n```"] * 4 + [THOUGHT + text] * 2
    forms += [text.replace(",", " kcal,", 1), f"The estimate: {text}", "I cannot tell.", text[:-1]]
    return source.choice(forms)


def score_letters(reader: OfficialFilter | RobustFilter, texts: list[str], truths: str) -> Score:
    def score() -> dict[str, float]:
        read = [reader.read(text).value for text in texts]
        right = [value == truth for value, truth in zip(read, truths, strict=True)]
        return {
            "acc": accuracy(right),
            "unreadable_rate": rate([value is None for value in read]),
        }

    return score


def score_nutrition(
    reader: OfficialFilter | RobustFilter,
    charge: Callable[..., NutritionErrors],
    texts: list[str],
    truths: list[list[float]],
) -> Score:
    def score() -> dict[str, float]:
        values = [reader.read(text).value for text in texts]
        readable = np.array([value is not None for value in values])
        rows = [NOTHING if value is None else list(value.values()) for value in values]
        scores = nutrition_scores(charge(rows, truths, readable))
        return scores | {"parse_failure_rate": rate(~readable)}

    return score


def compare(name: str, documents: int, ours: Score, plain: Score, robust: Score, n: int) -> None:
    """Check that ours and the plain one agree, time all three in turn, and print."""
    expected, found = plain(), ours()
    for key, value in expected.items():
        if not math.isclose(found[key], value, rel_tol=1e-9):
            raise SystemExit(f"{name} {key}: ours {found[key]}, plain {value}")
    # Alternating, so that a busy moment of the machine hits all alike.
    times = {"official": math.inf, "plain": math.inf, "robust": math.inf}
    for _ in range(n):
        for reading, score in (("official", ours), ("plain", plain), ("robust", robust)):
            started = time.perf_counter()
            score()
            times[reading] = min(times[reading], time.perf_counter() - started)
    speeds = ", ".join(f"{reading} {documents / best:,.0f}/s" for reading, best in times.items())
    ratio = times["plain"] / times["official"]
    print(f"{name}, {documents:,} answers: {speeds}; official/plain speed {ratio:.2f}")


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    source = random.Random(0)
    letters = "".join(source.choices("ABCDEFGH", k=CLASSIFICATION))
    texts = [letter_answer(source, letter) for letter in letters]
    compare(
        "classification",
        CLASSIFICATION,
        score_letters(OfficialLetter(options=8), texts, letters),
        lambda: PLAIN["score_letters"](texts, list(letters)),
        score_letters(RobustLetter(options=8), texts, letters),
        rounds,
    )
    dishes = [
        [round(source.uniform(*limits), 1) for limits in ((80, 1200), (1, 60), (0, 120), (0, 70))]
        for _ in range(NUTRITION)
    ]
    answers = [nutrition_answer(source, dish) for dish in dishes]
    compare(
        "nutrition",
        NUTRITION,
        score_nutrition(OfficialNutrition(), official_errors, answers, dishes),
        lambda: PLAIN["score_nutrition"](answers, dishes),
        score_nutrition(RobustNutrition(), robust_errors, answers, dishes),
        rounds,
    )


if __name__ == "__main__":
    main()
