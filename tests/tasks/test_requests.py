"""What reaches a model and what becomes of its answers: the host in this process, a stub model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.models import Reference
from lmms_eval_food.tasks.plugin import TASK_FOLDER

pytestmark = pytest.mark.slow


class Stub(Reference):
    """Says one text to everything and keeps what it was asked."""

    def __init__(self, text: str) -> None:
        super().__init__(predictor="null", device="cpu")
        self.text = text
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def generate_until(self, requests: list[Any]) -> list[str]:
        for request in requests:
            _, messages, settings, doc_id, task, split = request.args
            assert messages(self.task_dict[task][split][doc_id])[-1]["role"] == "user"
            self.asked.append((task, settings))
        return [self.text] * len(requests)


def evaluate(stub: Stub, *tasks: str, **options: Any) -> dict[str, Any]:
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    manager = TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)
    found = simple_evaluate(
        model=stub, tasks=list(tasks), task_manager=manager, bootstrap_iters=0, **options
    )
    assert isinstance(found, dict)
    return found


@pytest.fixture(autouse=True)
def _on_mini_data(mini_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))


def test_settings_stay_with_their_task() -> None:
    stub = Stub("A")
    evaluate(stub, "culturalmenu_binary", "diningbench_cls_cot", limit=3)
    limits = {(task, settings["max_new_tokens"]) for task, settings in stub.asked}
    assert limits == {("culturalmenu_binary", 64), ("diningbench_cls_cot", 16384)}
    assert all(settings["until"] == [] for _, settings in stub.asked)
    assert len(stub.asked) == 6


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("The bowl holds rice.\n\nAnswer: F", "F"),
        ("<think>Could be C, the rice looks fried</think>\nAnswer: F", "F"),
        ("<think>Could be C, the rice", None),
        ("Maybe C, maybe D.</think>\nF", "F"),
    ],
)
def test_an_answer_is_read_to_its_end(text: str, letter: str | None) -> None:
    logs = evaluate(Stub(text), "diningbench_cls_cot")["samples"]["diningbench_cls_cot"]
    robust = [row["record"] for row in logs if row["record"]["reader"] == "robust"]
    assert {record["answer"] for record in robust} == {letter}
    right = [record["id"] for record in robust if record["correct"]]
    truths = {row["id"]: row["ground_truth"] for row in data.load("diningbench", "classification")}
    assert right == [name for name, truth in truths.items() if truth == letter]


def test_the_same_answers_score_the_same_twice() -> None:
    tasks = ("culturalmenu_binary", "culturalmenu_mc", "diningbench_cls")
    first, second = (evaluate(Stub("Sorry, I can't tell."), *tasks) for _ in range(2))
    assert first["results"] == second["results"]
    for task in tasks:
        records = [row["record"] for row in first["samples"][task]]
        assert records == [row["record"] for row in second["samples"][task]]
        # The host logs a row for each reader: a document is counted once in each.
        for reader in ("official", "robust"):
            ids = [record["id"] for record in records if record["reader"] == reader]
            assert len(ids) == len(set(ids)) == first["n-samples"][task]["original"]
        assert first["results"][task]["acc,robust"] == 0
        assert first["results"][task]["unreadable_rate,robust"] == 1
