"""The true values of a nutrition row: one reading for the table's check and for the scores."""

from __future__ import annotations

import json
import math
from typing import Any

KEYS = (
    ("calories", "卡路里"),
    ("protein", "蛋白质"),
    ("carbohydrates", "碳水化合物"),
    ("fat", "脂肪"),
)


def amounts(truth: Any) -> list[float]:
    """Return kcal, protein, carbohydrates and fat (g) of a row's `ground_truth`.

    Args:
        truth: An object or its JSON text. Keys may be in either language; of a nutrient that has
            both the first counts, and other keys are left out.

    Raises:
        ValueError: it is no such object, or a value is no finite number of 0 or more. A negative
            amount is no measurement: a wrong sign or a wrong number, nobody knows which.

    Source: meituan/DiningBench@516fd54:eval_nutrition.py, normalize_nutrition_dict.

    >>> amounts('{"卡路里": "350", "蛋白质": 12, "碳水化合物": 40, "脂肪": 15}')
    [350.0, 12.0, 40.0, 15.0]
    """
    try:
        values = json.loads(truth) if isinstance(truth, str) else truth
        found = [float(values[next(key for key in values if key in keys)]) for keys in KEYS]
    except (LookupError, TypeError, ValueError, RecursionError, OverflowError, StopIteration):
        found = []
    if not found or not all(math.isfinite(value) and value >= 0 for value in found):
        raise ValueError("not four amounts of 0 or more")
    return found
