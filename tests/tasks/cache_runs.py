"""Runs of the host as far as its response cache sees them, with a model that keeps account."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lmms_eval_food.filters.reading import FAILURE_MARKERS
from lmms_eval_food.tasks.plugin import TASK_FOLDER

TASK = "diningbench_cls"
OTHER = "culturalmenu_binary"
FAILED = f"{FAILURE_MARKERS[0]} after 5 retries] Connection error."


class KilledError(Exception):
    """Stands for the end of the process."""


class Model:
    """Answers with the document's number, except where told otherwise, and notes who asked."""

    def __init__(self, tasks: dict[str, Any], **told: Any) -> None:
        self.task_dict = {name: task.dataset for name, task in tasks.items()}
        self.answers: dict[int, Any] = told.get("answers", {})
        self.killed_by: int | None = told.get("killed_by")
        self.portions: list[list[int]] = []
        self.contexts: list[str] = []
        vars(self).update(told.get("attributes", {}))

    @property
    def asked(self) -> list[int]:
        return [doc_id for portion in self.portions for doc_id in portion]

    def generate_until(self, requests: Sequence[Any]) -> list[Any]:
        self.portions.append([request.doc_id for request in requests])
        self.contexts += [request.args[0] for request in requests]
        if self.killed_by in self.portions[-1]:
            raise KilledError
        return [
            self.answers.get(request.doc_id, f"answer {request.doc_id}") for request in requests
        ]


def load(form: str = "chat", names: Sequence[str] = (TASK,)) -> dict[str, Any]:
    from lmms_eval.tasks import TaskManager

    manager = TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)
    return {name: manager.load_task_or_group([name], task_type=form)[name] for name in names}


def requests_of(task: Any, number: int) -> list[Any]:
    name, split = task.config.task, task.config.test_split
    return [
        task.construct_requests(
            doc_id=n,
            ctx=task.fewshot_context(task.dataset[split][n], 0),
            metadata={"task": name, "doc_id": n, "repeats": 1, "split": split},
        )
        for n in range(number)
    ]


def run(folder: Path, model: Model, requests: Sequence[Any], tasks: dict[str, Any]) -> list[Any]:
    """One run of the host as far as its cache sees it."""
    from lmms_eval.caching.response_cache import ResponseCache

    cache = ResponseCache.create(str(folder), model="m", model_args="a=1", task_dict=tasks)
    try:
        answers: list[Any] = cache.execute(model, "generate_until", list(requests))
    except KilledError:
        cache.close()  # a killed process closes nothing, but also merges nothing
        raise
    cache.finalize(success=True)
    return answers
