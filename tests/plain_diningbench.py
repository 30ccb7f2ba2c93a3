"""DiningBench's rules once more, written plainly from `design.md`, to compare ours with.

No code is shared with the package: one answer at a time, lists and loops, no arrays.
"""

from __future__ import annotations

import json
import math
import re

NUTRIENTS = ["calories", "protein", "carbohydrates", "fat"]
CHINESE = ["卡路里", "蛋白质", "碳水化合物", "脂肪"]
FAILED = ("[LMMS_EVAL_REQUEST_FAILED", "[LMMS_EVAL_BUDGET_EXCEEDED]")


def final_answer(text: str | None) -> str:
    """The answer without its thinking; the first box replaces it. "" for a failed request."""
    if text is None or text.lstrip().startswith(FAILED):
        return ""
    text = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL | re.IGNORECASE)
    text = re.sub(r".*?</think>", "", text, flags=re.DOTALL | re.IGNORECASE)
    box = re.search(r"\\boxed\{([^}]*)\}", text)
    if box:
        text = box.group(1)
    return text.strip()


def read_letter(text: str | None) -> str | None:
    """The letter of a classification answer, None where there is none of A-Z."""
    for character in final_answer(text).upper():
        if character.isalpha():
            return character if character in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" else None
    return None


def score_letters(texts: list[str | None], truths: list[str]) -> dict[str, float]:
    right = 0
    unreadable = 0
    for text, truth in zip(texts, truths, strict=True):
        letter = read_letter(text)
        if letter is None:
            unreadable += 1
        elif letter == truth:
            right += 1
    return {"acc": right / len(texts), "unreadable_rate": unreadable / len(texts)}


def read_nutrition(text: str | None) -> list[float] | None:
    """The four values, None for a parse failure."""
    answer = final_answer(text)
    try:
        parsed = json.loads(answer)
    except Exception:
        if "```" in answer:
            fence = re.search(r"```(?:json)?\s*(\{.*?\})\s*```", answer, re.DOTALL)
            braces = re.search(r"\{.*\}", answer, re.DOTALL)
            if fence:
                answer = fence.group(1)
            elif braces:
                answer = braces.group(0)
        try:
            parsed = json.loads(answer)
        except Exception:
            return None
    if not isinstance(parsed, dict):
        return None
    values = []
    for english, chinese in zip(NUTRIENTS, CHINESE, strict=True):
        present = [key for key in parsed if key in (english, chinese)]
        if not present:
            return None
        try:
            values.append(float(parsed[present[0]]))
        except Exception:
            return None
    return values


def score_nutrition(texts: list[str | None], truths: list[list[float]]) -> dict[str, float]:
    absolute: dict[str, list[float]] = {name: [] for name in NUTRIENTS}
    squared: dict[str, list[float]] = {name: [] for name in NUTRIENTS}
    percent: dict[str, list[float]] = {name: [] for name in NUTRIENTS}
    failures = 0
    for text, truth in zip(texts, truths, strict=True):
        values = read_nutrition(text)
        if values is None:
            failures += 1
        for column, name in enumerate(NUTRIENTS):
            true = truth[column]
            error = abs(true) if values is None else abs(values[column] - true)
            absolute[name].append(error)
            squared[name].append(error * error)
            if true != 0:
                percent[name].append(100.0 if values is None else abs(error / true) * 100)
    scores = {"parse_failure_rate": failures / len(texts)}
    for name in NUTRIENTS:
        scores[f"{name}_mae"] = mean(absolute[name])
        scores[f"{name}_rmse"] = math.sqrt(mean(squared[name]))
        scores[f"{name}_mape"] = mean(percent[name])
    for kind in ("mae", "rmse", "mape"):
        scores[kind] = mean([scores[f"{name}_{kind}"] for name in NUTRIENTS])
    return scores


def mean(values: list[float]) -> float:
    """The published scripts put 0 where there is nothing to take a mean of."""
    return sum(values) / len(values) if values else 0.0
