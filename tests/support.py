"""Names that several test files share."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lmms_eval_food.results.logs import Run

REPOSITORY = Path(__file__).parent.parent
SHARED = REPOSITORY.parent / "shared"
ALL_TASKS = ("diningbench_cls", "culturalmenu_binary", "canteen_portions")

HostCall = Callable[..., Run]


def scores_of(run: Run) -> dict[str, dict[str, Any]]:
    """Return the numbers of a run's results, NaN made comparable.

    Without the host's own standard errors: it adds values in the order of the ranks, so these are
    equal up to rounding only.
    """
    return {
        task: {
            name: "nan" if isinstance(value, float) and math.isnan(value) else value
            for name, value in scores.items()
            if "_stderr" not in name
        }
        for task, scores in run.results["results"].items()
    }
