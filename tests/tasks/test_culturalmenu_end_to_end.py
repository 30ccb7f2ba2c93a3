"""Every CulturalMenuBench task through the host, and many pictures through a real backend."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from scipy.stats import binom
from support import HostCall

from lmms_eval_food.results.logs import Run
from lmms_eval_food.tasks.plugin import TASK_FOLDER

pytestmark = pytest.mark.slow
READERS = ("official", "robust")
BINARY = ("culturalmenu_binary", "culturalmenu_binary_first_step")
LETTERS = (
    *("culturalmenu_mc", "culturalmenu_mc_first_step", "culturalmenu_region"),
    *("culturalmenu_region_text", "culturalmenu_region_cot", "culturalmenu_region_named"),
)
TASKS = (*BINARY, *LETTERS)


def accuracies(run: Run, task: str, reader: str) -> dict[str, float]:
    """Return accuracy overall and of every group that has a question."""
    return {
        name: value
        for name, value in run.results["results"][task].items()
        if name.startswith("acc") and name.endswith(f",{reader}") and "stderr" not in name
        # The small set has no dish of some cuisines.
        if not math.isnan(value)
    }


def test_oracle_is_perfect(host: HostCall) -> None:
    run = host("food_reference", "predictor=oracle", TASKS)
    for task in TASKS:
        for reader in READERS:
            assert run.records[task][reader]
            assert set(accuracies(run, task, reader).values()) == {1.0}, (task, reader)
            assert run.score(task, "unreadable_rate", reader) == 0
            assert run.score(task, "failed_requests", reader) == 0
    for task in BINARY:
        for reader in READERS:
            assert run.score(task, "yes_rate", reader) == 0.5
            assert run.score(task, "other_language", reader) == 0


def test_null_is_nothing(host: HostCall) -> None:
    run = host("food_reference", "predictor=null", TASKS)
    for task in TASKS:
        for reader in READERS:
            assert set(accuracies(run, task, reader).values()) == {0.0}, (task, reader)
            assert run.score(task, "unreadable_rate", reader) == 1
            assert run.score(task, "failed_requests", reader) == 0
    for task in BINARY:
        assert math.isnan(run.score(task, "yes_rate", "robust"))


def test_random_is_chance_and_two_ranks_equal_one(host: HostCall) -> None:
    arguments = ("food_reference", "predictor=random,seed=5", TASKS)
    one, two = host(*arguments), host(*arguments, ranks=2)
    for task in TASKS:
        for reader in READERS:
            correct = [record["correct"] for record in one.records[task][reader]]
            chance = 1 / 2 if task in BINARY else 1 / 4
            low, high = binom.interval(0.999, len(correct), chance)
            assert low <= sum(correct) <= high, (task, reader)
            assert one.score(task, "acc", reader) == pytest.approx(sum(correct) / len(correct))
            assert two.records[task][reader] == one.records[task][reader]
            # The ranks' values are added in another order.
            expected = accuracies(one, task, reader)
            assert accuracies(two, task, reader) == pytest.approx(expected, rel=1e-12)


class RecordingProcessor:
    """A processor that notes which messages become text, and what is put into the model."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self.messages: list[Any] = []
        self.text: list[str] = []
        self.images: list[Image.Image] = []
        self.grids: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)

    def apply_chat_template(self, messages: list[Any], **options: Any) -> Any:
        self.messages += messages
        return self._processor.apply_chat_template(messages, **options)

    def __call__(self, text: list[str], images: list[Image.Image], **options: Any) -> Any:
        self.text += text
        self.images += images
        inputs = self._processor(text=text, images=images, **options)
        self.grids += inputs["image_grid_thw"].tolist()
        return inputs


def thumbnail(image: Image.Image) -> Any:
    return np.asarray(image.convert("RGB").resize((16, 16)), dtype=np.float64)


def test_twenty_pictures_reach_the_transformers_backend_in_order(
    mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from lmms_eval.api.instance import Instance
    from lmms_eval.models.chat.qwen2_5_vl import Qwen2_5_VL
    from lmms_eval.tasks import TaskManager

    from lmms_eval_food.results.tiny_qwen import make_tiny_qwen

    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    manager = TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)
    task = manager.load_task_or_group(["culturalmenu_mc"], task_type="chat")["culturalmenu_mc"]
    docs = task.test_docs()
    relations = docs["relation"]
    number = list(relations).index("dish_name->practice_image")
    doc = docs[number]
    assert len(doc["images"]) == 20  # four options of five steps

    folder = make_tiny_qwen(tmp_path / "qwen")
    model = Qwen2_5_VL(str(folder), device="cpu", device_map="cpu", min_pixels=784, max_pixels=3136)
    model.processor = recorder = RecordingProcessor(model.processor)
    model.task_dict["culturalmenu_mc"] = {"test": docs}
    request = Instance(
        request_type="generate_until",
        arguments=(
            *("", task.doc_to_messages, {"max_new_tokens": 2}),
            *(number, "culturalmenu_mc", "test"),
        ),
        idx=0,
        metadata={"task": "culturalmenu_mc", "doc_id": number, "repeats": 1},
    )
    (answer,) = model.generate_until([request])
    assert isinstance(answer.text, str)

    (turns,) = recorder.messages
    (content,) = [turn["content"] for turn in turns]
    assert [part["type"] for part in content] == ["image"] * 20 + ["text"]
    assert content[-1]["text"] == doc["prompt"]
    for part, path in zip(content, doc["images"], strict=False):
        with Image.open(path) as picture:
            assert np.array_equal(np.asarray(part["image"]), np.asarray(picture.convert("RGB")))

    # In the model's own text the pictures come first, then the question; its images are the same
    # pictures, made smaller, in the same order: each is closest to its own original.
    (text,) = recorder.text
    places = "<|vision_start|><|image_pad|><|vision_end|>" * 20
    assert f"<|im_start|>user\n{places}{doc['prompt']}<|im_end|>" in text
    assert len(recorder.grids) == len(recorder.images) == 20
    originals = [thumbnail(part["image"]) for part in content[:-1]]
    nearest = [
        int(np.argmin([np.abs(thumbnail(image) - original).sum() for original in originals]))
        for image in recorder.images
    ]
    assert nearest == list(range(20))
