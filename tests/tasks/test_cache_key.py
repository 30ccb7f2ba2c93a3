"""What the key of the host's response cache tells apart."""

from __future__ import annotations

import atexit
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from lmms_eval_food.tasks import cache_key, picture_files
from tests.tasks.cache_runs import TASK, Model, load, requests_of, run


@pytest.fixture(scope="module", autouse=True)
def _no_report_when_the_tests_end() -> Any:
    yield
    atexit.unregister(picture_files.report_mended)  # its stream is closed by then


@pytest.mark.slow
def test_changed_prompts_are_asked_again(changeable_root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    tasks = load()
    run(folder, Model(tasks), requests_of(tasks[TASK], 3), tasks)

    table = changeable_root / "diningbench" / "classification.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    rows[2]["prompt"] += " 谢谢"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tasks = load()
    model = Model(tasks)
    run(folder, model, requests_of(tasks[TASK], 3), tasks)
    assert model.asked == [2]


@pytest.mark.slow
def test_a_pixel_limit_makes_other_requests(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    tasks = load()
    requests = requests_of(tasks[TASK], 2)
    run(folder, Model(tasks), requests, tasks)
    monkeypatch.setenv("LMMS_EVAL_FOOD_MAX_PIXELS", "100")
    model = Model(tasks)
    run(folder, model, requests, tasks)
    assert model.asked == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", [TASK, "canteen_portions"])
def test_the_two_forms_share_no_answers(changeable_root: Path, tmp_path: Path, name: str) -> None:
    for form, asked in (("chat", [0, 1]), ("simple", [0, 1]), ("chat", []), ("simple", [])):
        tasks = load(form, (name,))
        model = Model(tasks)
        run(tmp_path / "cache", model, requests_of(tasks[name], 2), tasks)
        assert model.asked == asked


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["system_prompt", "chat_template"])
def test_texts_that_backends_read_from_files_count(
    changeable_root: Path, tmp_path: Path, attribute: str
) -> None:
    tasks = load()
    requests = requests_of(tasks[TASK], 2)
    for text, asked in (("A", [0, 1]), ("B", [0, 1]), (None, [0, 1]), ("A", []), (None, [])):
        model = Model(tasks, attributes={attribute: text})
        run(tmp_path / "cache", model, requests, tasks)
        assert model.asked == asked


@pytest.mark.slow
def test_how_mended_pictures_are_encoded_counts(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = load()
    (path,) = tasks[TASK].dataset["test"][1]["images"]
    with Image.open(path) as picture:
        picture.convert("CMYK").save(path, "JPEG")
    requests = requests_of(tasks[TASK], 2)
    for kind, quality, asked in (
        ("", "", [0, 1]),
        ("PNG", "5", []),
        ("jpeg", "", [1]),
        ("JPEG", "85", []),
        ("JPEG", "5", [1]),
        ("WEBP", "5", [1]),
    ):
        for variable, value in (
            ("LMMS_IMAGE_ENCODE_FORMAT", kind),
            ("LMMS_IMAGE_JPEG_QUALITY", quality),
        ):
            if value:
                monkeypatch.setenv(variable, value)
            else:
                monkeypatch.delenv(variable, raising=False)
        model = Model(tasks)
        run(tmp_path / "cache", model, requests, tasks)
        assert model.asked == asked


def turns(*parts: dict[str, Any], role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": list(parts)}]


RED, BLUE = Image.new("RGB", (4, 2), "red"), Image.new("RGB", (4, 2), "blue")


def image(pixels: Image.Image) -> dict[str, Any]:
    return {"type": "image", "url": pixels}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_a_digest_differs_where_the_model_could_see_a_difference() -> None:
    made = [
        turns(image(RED), text("a")),
        turns(text("a"), image(RED)),
        turns(image(BLUE), text("a")),
        turns(image(RED.resize((2, 4))), text("a")),
        turns(image(RED), text("b")),
        turns(image(RED), text("a"), role="system"),
        turns(image(RED), image(RED), text("a")),
        turns(image(RED)) + turns(text("a")),
        turns(text("a")),
        turns(text('a"], ["text", "b')),
        turns(text("a"), text("b")),
        [],
    ]
    digests = [cache_key.digest(messages) for messages in made]
    assert len(set(digests)) == len(made)
    assert digests == [cache_key.digest(messages) for messages in made]
    assert cache_key.digest(made[0], ["a", ""]) != cache_key.digest(made[0], ["", "a"])
