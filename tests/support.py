"""Names that several test files share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lmms_eval_food.results.runs import Run

REPOSITORY = Path(__file__).parent.parent
SHARED = REPOSITORY.parent / "shared"
ALL_TASKS = ("diningbench_cls", "culturalmenu_binary", "canteen_portions")

HostCall = Callable[..., Run]
