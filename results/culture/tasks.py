"""CulturalMenuBench's tasks and groups, in the order of its report."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from lmms_eval_food.tasks.culturalmenu.hooks import CUISINES, EVIDENCE, LETTERS, TIERS
from lmms_eval_food.tasks.culturalmenu.prompts import BINARY_RELATIONS, LANGUAGES, MC_RELATIONS

__all__ = ["BINARY", "BREAKDOWNS", "FIRST_STEP", "LETTERS", "MC", "REGION", "TASKS", "VARIANTS"]

BINARY, MC, REGION = "culturalmenu_binary", "culturalmenu_mc", "culturalmenu_region"
# What the model is given besides or instead of the dish image.
VARIANTS = {"text": f"{REGION}_text", "named": f"{REGION}_named", "cot": f"{REGION}_cot"}
# Full form -> the form with the first picture of each group of steps.
FIRST_STEP = {task: f"{task}_first_step" for task in (BINARY, MC)}
TASKS = (BINARY, MC, REGION, *VARIANTS.values(), *FIRST_STEP.values())

# What a record is grouped by -> the groups in order.
BREAKDOWNS: Mapping[str, tuple[str, ...]] = {
    "relation": (*BINARY_RELATIONS, *MC_RELATIONS),
    "tier": TIERS,
    "language": LANGUAGES,
    "letter": tuple(LETTERS),
    "evidence": EVIDENCE,
    "cuisine": CUISINES,
}


def in_order(breakdown: str, groups: Collection[str]) -> list[str]:
    """Return groups in the order of their breakdown, unknown ones last."""
    known = BREAKDOWNS[breakdown]
    return sorted(groups, key=lambda g: (known.index(g) if g in known else len(known), g))


def is_binary(task: str) -> bool:
    """Return whether a task asks for yes or no, not for a letter."""
    return task.startswith(BINARY)
