"""What the tests with a real engine share."""

from __future__ import annotations

from typing import Any

# Single precision: in half precision the size of a batch can change an answer.
ENGINE_ARGS = "enforce_eager=True,dtype=float32"
ENVIRONMENT = {
    "LMMS_EVAL_FOOD_MATCHER": "minilm",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_NO_USAGE_STATS": "1",
}


def loaded_tasks() -> dict[str, Any]:
    """Return every task of the suite as the host builds it, on the data root in use."""
    from lmms_eval.tasks import TaskManager

    from lmms_eval_food.tasks.plugin import TASK_FOLDER

    manager = TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)
    found: dict[str, Any] = manager.load_task_or_group(manager.all_subtasks, task_type="chat")
    return found
