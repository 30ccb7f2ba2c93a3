"""The host's vLLM backend with a real engine: every task, every document of the mini sets."""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_support import ENGINE_ARGS, ENVIRONMENT, loaded_tasks
from PIL import Image

from lmms_eval_food.results.cli import main
from lmms_eval_food.results.host import HostError, call_host, host_command
from lmms_eval_food.results.logs import Run

pytestmark = pytest.mark.slow
READERS = ("official", "robust")
IMAGE_PAD = "<|image_pad|>"
ANSWER_TOKENS = 8


@dataclass(frozen=True)
class Whole:
    """One call of the host with every task, and what vLLM's engine was handed."""

    run: Run
    output: Path
    tasks: dict[str, Any]
    requests: list[dict[str, Any]]
    rehearsed: list[dict[str, Any]]


@pytest.fixture(scope="module")
def on_mini_data(mini_root: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
        patch.setenv("LMMS_EVAL_FOOD_MATCHER", "minilm")
        yield


@pytest.fixture(scope="module")
def whole(
    tiny_qwen: Path,
    mini_root: Path,
    on_mini_data: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Whole:
    output = tmp_path_factory.mktemp("vllm")
    log = output / "requests.jsonl"
    tasks = loaded_tasks()
    # Without the cache every request carries its pictures' pixels; the prefix cache stays on.
    args = f"model={tiny_qwen},{ENGINE_ARGS},max_model_len=8192,max_new_tokens={ANSWER_TOKENS}"
    args += ',mm_processor_cache_gb=0,limit_mm_per_prompt={"image":24}'
    options = ("--batch_size", "256", "--gen_kwargs", f"max_new_tokens={ANSWER_TOKENS}")
    command = host_command("vllm", args, list(tasks), output, options)
    watched = [sys.executable, str(Path(__file__).parent / "watched_host.py"), str(log)]
    run = call_host([*watched, *command[3:]], output, mini_root, ENVIRONMENT)
    sent = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return Whole(
        run,
        output,
        tasks,
        [request for request in sent if request["max_tokens"] == ANSWER_TOKENS],
        [request for request in sent if request["max_tokens"] == 1],
    )


@pytest.fixture(scope="module")
def pixels(tiny_qwen: Path) -> Callable[[str], str]:
    """Returns the digest of a picture's patches, made by the model's own image processor."""
    from transformers import Qwen2VLImageProcessor

    # vLLM hands whole numbers on and scales them inside the model.
    processor = Qwen2VLImageProcessor.from_pretrained(
        tiny_qwen, do_rescale=False, do_normalize=False
    )
    known: dict[str, str] = {}

    def digest(path: str) -> str:
        if path not in known:
            with Image.open(path) as image:
                patches = processor(images=[image.convert("RGB")], return_tensors="np")
            whole_numbers = np.asarray(patches["pixel_values"]).astype(np.uint8)
            known[path] = hashlib.sha256(whole_numbers.tobytes()).hexdigest()
        return known[path]

    return digest


def turns(doc: dict[str, Any]) -> str:
    """Write a document as the tiny model's chat template should, a picture as one token."""
    pictures = f"<|vision_start|>{IMAGE_PAD}<|vision_end|>" * len(doc["images"])
    system, text = doc.get("system_prompt"), doc.get("user_prompt", doc.get("prompt"))
    said = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{said}<|im_start|>user\n{pictures}{text}<|im_end|>\n<|im_start|>assistant\n"


def docs_of(task: Any) -> list[dict[str, Any]]:
    return list(task.test_docs())


def test_results_and_logs_are_whole(whole: Whole) -> None:
    assert len(whole.tasks) >= 20
    assert set(whole.run.records) == set(whole.tasks)
    for name, task in whole.tasks.items():
        ids = [doc["id"] for doc in docs_of(task)]
        for reader in READERS:
            records = whole.run.records[name][reader]
            assert [record["id"] for record in records] == ids, name
            assert not [r for r in records if r["status"] == "failed"], name
            assert whole.run.score(name, "failed_requests", reader) == 0, name
            for metric in task.config.metric_list:
                assert f"{metric['metric']},{reader}" in whole.run.results["results"][name]


def test_every_prompt_arrives_whole_with_its_pictures_in_order(
    whole: Whole, tiny_qwen: Path, pixels: Callable[[str], str]
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny_qwen)
    pad = tokenizer.convert_tokens_to_ids(IMAGE_PAD)
    arrived: Counter[tuple[str, ...]] = Counter()
    for request in whole.requests:
        short: list[int] = []
        places, at = [], 0
        for token, run in itertools.groupby(request["tokens"]):
            length = len(list(run))
            if token == pad:
                places.append((at, length))
            short += [token] * (1 if token == pad else length)
            at += length
        # Each picture's tokens are its own, and as many as its grid has after merging 2 x 2.
        assert [(p["start"], p["length"]) for p in request["pictures"]] == places
        for shown in request["pictures"]:
            assert shown["length"] == np.prod(shown["grid"]) / 4
            assert shown["type"] == "uint8"
        text = tokenizer.decode(short, skip_special_tokens=False)
        arrived[(text, *(shown["pixels"] for shown in request["pictures"]))] += 1
    asked = Counter(
        (turns(doc), *map(pixels, doc["images"]))
        for task in whole.tasks.values()
        for doc in docs_of(task)
    )
    assert arrived == asked
    assert max(len(request["pictures"]) for request in whole.requests) >= 15


def test_largest_prompts_are_tried_first(whole: Whole) -> None:
    for name, task in whole.tasks.items():
        most = max(len(doc["images"]) for doc in docs_of(task))
        assert most in {len(request["pictures"]) for request in whole.rehearsed}, name
    longest = max(len(request["tokens"]) for request in whole.requests)
    assert max(len(request["tokens"]) for request in whole.rehearsed) == longest
    assert len(whole.rehearsed) <= 4 * len(whole.tasks)


def test_report_is_whole(whole: Whole, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(whole.output), "--resamples", "20"]) == 0
    report = capsys.readouterr().out
    for task in ("diningbench_cls", "diningbench_nutrition", "canteen_portions"):
        assert task in report
    assert "culturalmenu" in report


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ('limit_mm_per_prompt={"image":4}', "At most 4 image"),
        ("max_model_len=512", "512"),
    ],
)
def test_a_prompt_that_does_not_fit_ends_the_run_before_it_begins(
    tiny_qwen: Path, mini_root: Path, tmp_path: Path, limit: str, said: str
) -> None:
    args = f"model={tiny_qwen},{ENGINE_ARGS},max_new_tokens={ANSWER_TOKENS},{limit}"
    # The first document alone would fit.
    command = host_command("vllm", args, ["culturalmenu_mc"], tmp_path, ("--limit", "1"))
    with pytest.raises(HostError):
        call_host(command, tmp_path, mini_root, ENVIRONMENT)
    log = (tmp_path / "host.log").read_text(encoding="utf-8")
    message = log[log.index("lmms-eval-food: vLLM refuses") :]
    assert log.count("lmms-eval-food: vLLM refuses") == 1
    assert "culturalmenu_mc" in message
    assert said in message
    assert "limit_mm_per_prompt" in message
    assert "max_model_len" in message
    assert "Model Responding: 100%" not in log
