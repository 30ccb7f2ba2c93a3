"""One document of each task, as three kinds of the host's backends would send it.

What is expected is what `prompt_snapshots.json` says of the task's first document.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image
from qwen_vl_utils import process_vision_info

from lmms_eval_food.tasks.plugin import TASK_FOLDER

pytestmark = pytest.mark.slow
SNAPSHOTS = json.loads((Path(__file__).parent / "prompt_snapshots.json").read_text("utf-8"))
Turns = list[dict[str, Any]]


class SeenError(Exception):
    """Ends a backend's work where it would have asked its server."""


class Client:
    """Stands in for the server of an API backend: keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[Turns] = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self.create))

    def create(self, **payload: Any) -> None:
        self.sent.append(payload["messages"])
        raise SeenError


def with_vllm(task: Any, request: Any) -> Turns:
    from lmms_eval.models.chat.vllm import VLLM

    backend = object.__new__(VLLM)  # without an engine
    given = {"max_pixels": 1605632, "min_image_pixels": 28, "max_frame_num": 768, "nframes": 32}
    vars(backend).update(given, fps=None, is_qwen3_vl=False, max_new_tokens=16)
    backend.task_dict = {task.config.task: task.dataset}
    messages: Turns = backend.make_one_request(request)[0]
    return messages


def with_api(name: str) -> Callable[[Any, Any], Turns]:
    def send(task: Any, request: Any) -> Turns:
        from lmms_eval.models.chat.async_openai import AsyncOpenAIChat
        from lmms_eval.models.chat.openai import OpenAICompatible

        backend_type = {"openai": OpenAICompatible, "async_openai": AsyncOpenAIChat}[name]
        backend = backend_type(model_version="m", base_url="http://none", api_key="k")
        backend.max_retries = 1
        backend.client = client = Client()
        backend.task_dict = {task.config.task: task.dataset}
        backend.generate_until([request])
        return client.sent[0]

    return send


def with_transformers(task: Any, request: Any) -> Turns:
    from lmms_eval.protocol import ChatMessages

    _, make, _, doc_id, _, split = request.args
    turns: Turns = ChatMessages(messages=make(task.dataset[split][doc_id])).to_hf_messages()
    return turns


BACKENDS = {
    "vllm": with_vllm,
    "openai": with_api("openai"),
    "async_openai": with_api("async_openai"),
    "transformers": with_transformers,
}


def digest(image: Image.Image) -> str:
    return hashlib.sha256(f"{image.mode}{image.size}".encode() + image.tobytes()).hexdigest()[:12]


def shown(part: dict[str, Any]) -> str:
    """The text, or the digest of the pixels that a server or a processor makes of the picture."""
    if part["type"] == "text":
        return str(part["text"])
    if part["type"] == "image_url":
        data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
        return digest(Image.open(BytesIO(data)).convert("RGB"))
    # Resized to multiples of 28 by the backend's own helper; so what it is given is looked at.
    (seen,), _ = process_vision_info([{"role": "user", "content": [part]}])
    assert seen.mode == "RGB"
    return digest(part["image"])


def files_of(turns: Turns) -> list[bytes]:
    urls = [
        part["image_url"]["url"]
        for turn in turns
        for part in turn["content"]
        if "image_url" in part
    ]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


@pytest.fixture(scope="module")
def manager() -> Any:
    from lmms_eval.tasks import TaskManager

    return TaskManager("ERROR", include_path=str(TASK_FOLDER), include_defaults=False)


@pytest.mark.parametrize("name", sorted(SNAPSHOTS))
def test_backends_send_the_same(
    manager: Any, mini_root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "minilm")
    task = manager.load_task_or_group([name], task_type="chat")[name]
    split = task.config.test_split
    metadata = {"task": name, "doc_id": 0, "repeats": 1, "split": split}
    request = task.construct_requests(doc_id=0, ctx="", metadata=metadata)
    files = [Path(path).read_bytes() for path in task.dataset[split][0]["images"]]
    for backend, send in BACKENDS.items():
        turns = send(task, request)
        seen = [[turn["role"], *map(shown, turn["content"])] for turn in turns]
        assert seen == SNAPSHOTS[name][0], backend
        if backend != "transformers":
            assert files_of(turns) == files, backend
