"""Every task as the host builds it, on the mini sets, without the host's command line."""

from __future__ import annotations

import hashlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_eval_food.tasks.plugin import TASK_FOLDER

SNAPSHOTS = json.loads((Path(__file__).parent / "prompt_snapshots.json").read_text("utf-8"))
TASKS = sorted(SNAPSHOTS)


@pytest.fixture(scope="module")
def manager() -> Any:
    from lmms_eval.tasks import TaskManager

    return TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)


@pytest.fixture
def on_mini_data(mini_root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "minilm")


def load(manager: Any, task: str, form: str) -> Any:
    return manager.load_task_or_group([task], task_type=form)[task]


def digest(image: Image.Image) -> str:
    return hashlib.sha256(f"{image.mode}{image.size}".encode() + image.tobytes()).hexdigest()[:12]


def shown(part: dict[str, Any]) -> str:
    return part["text"] if part["type"] == "text" else digest(part["url"])


def test_every_task_has_a_snapshot(manager: Any) -> None:
    assert manager.all_subtasks == TASKS


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
@pytest.mark.usefixtures("on_mini_data")
def test_task(manager: Any, name: str) -> None:
    simple, chat = load(manager, name, "simple"), load(manager, name, "chat")
    docs = chat.test_docs()

    # The chat form is what the snapshot says of the first and the last document, and the simple
    # form holds the same.
    for doc, snapshot in zip((docs[0], docs[-1]), SNAPSHOTS[name], strict=True):
        turns = chat.doc_to_messages(doc)
        assert [[turn["role"], *map(shown, turn["content"])] for turn in turns] == snapshot
        content = turns[-1]["content"]
        assert [part["type"] for part in content] == ["image"] * (len(content) - 1) + ["text"]
        images = simple.doc_to_visual(doc)
        assert [digest(image) for image in images] == [shown(part) for part in content[:-1]]
        texts = [
            part["text"] for turn in turns for part in turn["content"] if part["type"] == "text"
        ]
        assert simple.doc_to_text(doc) == "\n\n".join(texts)

    # No stop text: the host would put a blank line in place of none.
    assert chat.config.generation_kwargs["until"] == []
    assert chat.config.generation_kwargs["temperature"] == 0

    # Every aggregation takes the list of values alone.
    for aggregation in chat.aggregation().values():
        inspect.signature(aggregation).bind([])

    # What is scored is what is listed, for every kind of answer; the host drops other keys.
    assert [ensemble.name for ensemble in chat._filters] == ["official", "robust"]
    listed = set(chat.aggregation())
    for answer in (None, "", "no idea", "[LMMS_EVAL_REQUEST_FAILED after 3 retries] x", "B", "{"):
        for ensemble in chat._filters:
            replies: Any = [[answer]]
            for step in ensemble.filters:
                replies = list(step.apply(replies, None))
            doc = docs[0]
            scored = chat.process_results(doc, replies)
            assert set(scored) == listed | {"record"}
            assert scored["record"]["reader"] == ensemble.name
            assert scored["record"]["raw"] == (answer or "")
            assert scored["record"]["id"] == doc["id"]
            json.dumps(scored["record"], allow_nan=False)


@pytest.mark.usefixtures("on_mini_data")
def test_reasoning_tags_of_the_host_do_not_touch_a_reading(manager: Any) -> None:
    from lmms_eval.api.reasoning import strip_reasoning_tags

    task = load(manager, "diningbench_cls", "chat")
    raw = "<think>C or D</think> B"
    for ensemble in task._filters:
        replies: Any = [[raw]]
        for step in ensemble.filters:
            replies = list(step.apply(replies, None))
        stripped = strip_reasoning_tags(replies[0], [["<think>", "</think>"]])
        assert stripped == replies[0]
        record = task.process_results(task.test_docs()[0], [stripped])["record"]
        assert (record["raw"], record["answer"]) == (raw, "B")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("diningbench_vqa_cot", "Yes"),
        ("diningbench_vqa_en_cot", "Yes"),
        ("diningbench_vqa", "1. Visual Observation: soft.\n3. Comprehensive Answer: Yes"),
    ],
)
@pytest.mark.usefixtures("on_mini_data")
def test_a_chain_of_thought_is_read_from_its_end(manager: Any, name: str, answer: str) -> None:
    task = load(manager, name, "chat")
    reply = "1. Visual Observation: soft.\n3. Comprehensive Answer: Yes"
    read = {}
    for ensemble in task._filters:
        replies: Any = [[reply]]
        for step in ensemble.filters:
            replies = list(step.apply(replies, None))
        read[ensemble.name] = json.loads(replies[0])["value"]
    assert read == {"official": reply, "robust": answer}
