"""What the null and the random predictor must score on the mini sets, from the rows alone.

Nothing of the package is used: rows as they lie in the files, rules as the design words them, ROUGE
by its own package.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

NUTRIENTS = ("calories", "protein", "carbohydrates", "fat")
CHINESE = ("卡路里", "蛋白质", "碳水化合物", "脂肪")
# Our reading charges four times the truth and at least this much; the benchmark's the truth.
AT_LEAST = (500.0, 25.0, 55.0, 20.0)
DEVIATIONS = 4.5

Outcomes = list[list[float]]  # what each document may add to a score, all equally likely


def rows_of(root: Path, task: str) -> list[dict[str, Any]]:
    """Return the rows that a DiningBench task asks about."""
    kind = {"cls": "classification"}.get(task.split("_")[1], task.split("_")[1])
    file = root / "diningbench" / f"{kind}{'_en' if '_en' in task else ''}.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def amounts_of(rows: Sequence[dict[str, Any]]) -> list[list[float]]:
    """Return each row's four true amounts."""
    return [
        [float(row["ground_truth"].get(one, row["ground_truth"].get(two))) for one, two in keys]
        for row in rows
        for keys in [tuple(zip(NUTRIENTS, CHINESE, strict=True))]
    ]


def check_chance(score: float, outcomes: Outcomes) -> None:
    """Check that a mean over documents is where independent even draws put it."""
    means = [sum(own) / len(own) for own in outcomes]
    spreads = [
        sum((value - mean) ** 2 for value in own) / len(own)
        for own, mean in zip(outcomes, means, strict=True)
    ]
    expected = sum(means) / len(means)
    deviation = math.sqrt(sum(spreads)) / len(means)
    assert abs(score - expected) <= DEVIATIONS * deviation + 1e-9, (score, expected, deviation)


def charged_for_nothing(truth: float, place: int, reader: str) -> float:
    """Return the error that no answer is charged."""
    return truth if reader == "official" else max(4 * truth, AT_LEAST[place])


def null_nutrition(rows: Sequence[dict[str, Any]], reader: str) -> dict[str, float]:
    """Return the scores of no answer at all."""
    found = {}
    for place, (nutrient, true) in enumerate(
        zip(NUTRIENTS, zip(*amounts_of(rows), strict=True), strict=True)
    ):
        errors = [charged_for_nothing(value, place, reader) for value in true]
        found[f"{nutrient}_mae"] = sum(errors) / len(errors)
        found[f"{nutrient}_rmse"] = math.sqrt(sum(error**2 for error in errors) / len(errors))
        found[f"{nutrient}_mape"] = 100.0 if reader == "official" else 400.0
    means = {
        name: sum(found[f"{nutrient}_{name}"] for nutrient in NUTRIENTS) / 4
        for name in ("mae", "rmse", "mape")
    }
    return found | means


def check_random_nutrition(
    score: Callable[[str], float], rows: Sequence[dict[str, Any]], reader: str
) -> None:
    """Check scores of answers that are the truth of a row drawn evenly."""
    for place, (nutrient, true) in enumerate(
        zip(NUTRIENTS, zip(*amounts_of(rows), strict=True), strict=True)
    ):

        def charge(other: float, own: float, place: int = place) -> float:
            error = abs(other - own)
            return error if reader == "official" else min(error, max(4 * own, AT_LEAST[place]))

        def percent(other: float, own: float) -> float:
            error = 100 * abs(other - own) / own
            return error if reader == "official" else min(error, 400.0)

        check_chance(score(f"{nutrient}_mae"), _table(charge, true, true))
        squares = _table(lambda other, own: charge(other, own) ** 2, true, true)
        check_chance(score(f"{nutrient}_rmse") ** 2, squares)
        check_chance(score(f"{nutrient}_mape"), _table(percent, true, [t for t in true if t]))
        check_chance(score(f"{nutrient}_bias"), _table(lambda x, y: x - y, true, true))
        # r of independent pairs has mean 0 and deviation 1 / sqrt(n - 1).
        assert abs(score(f"{nutrient}_r")) <= DEVIATIONS / math.sqrt(len(true) - 1)


def check_random_vqa(score: Callable[[str], float], rows: Sequence[dict[str, Any]]) -> None:
    """Check scores of answers drawn likewise, where the judge takes equal texts alone for right."""
    truths = [row["ground_truth"] for row in rows]
    check_chance(score("judge_acc"), _table(lambda x, y: float(x == y), truths, truths))
    for name in ("rouge_1", "rouge_2", "rouge_l"):
        key = name.replace("_", "-")
        check_chance(
            score(name), _table(lambda x, y, key=key: _rouge(x, y)[key]["f"], truths, truths)
        )


def _table(value: Callable[..., float], drawn: Sequence[Any], own: Sequence[Any]) -> Outcomes:
    return [[value(other, mine) for other in drawn] for mine in own]


@functools.cache
def _rouge(prediction: str, truth: str) -> dict[str, dict[str, float]]:
    import jieba
    from rouge_chinese import Rouge

    scores: list[dict[str, dict[str, float]]] = Rouge().get_scores(
        *(" ".join(jieba.cut(text)) for text in (prediction, truth))
    )
    return scores[0]
