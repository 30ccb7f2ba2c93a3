"""The host's response cache with our tasks: what is asked again, and what is not."""

from __future__ import annotations

import atexit
import json
import shutil
import sqlite3
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from PIL import Image

from lmms_eval_food.filters.reading import FAILURE_MARKERS
from lmms_eval_food.tasks import host_cache, picture_files
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


@pytest.fixture
def root(mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root of its own, which a test may change."""
    copied = tmp_path / "data"
    shutil.copytree(mini_root, copied)
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(copied))
    monkeypatch.delenv("LMMS_CACHE_CHECKPOINT_INTERVAL", raising=False)
    return copied


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


@pytest.mark.slow
@pytest.mark.parametrize("form", ["chat", "simple"])
def test_failures_and_changed_pictures_are_asked_again(
    root: Path, tmp_path: Path, form: str
) -> None:
    tasks = load(form)
    requests = requests_of(tasks[TASK], 4)
    folder = tmp_path / "cache"

    first = Model(tasks, answers={1: FAILED})
    assert run(folder, first, requests, tasks) == ["answer 0", FAILED, "answer 2", "answer 3"]
    assert first.asked == [0, 1, 2, 3]
    # The model is sent what the task made, not what the cache's key is made of.
    assert first.contexts == [request.args[0] for request in requests]

    second = Model(tasks)
    assert run(folder, second, requests, tasks) == [f"answer {n}" for n in range(4)]
    assert second.asked == [1]

    (path,) = tasks[TASK].dataset["test"][0]["images"]
    Image.new("RGB", (30, 30), "blue").save(path)
    third = Model(tasks, answers={0: "blue"})
    assert run(folder, third, requests, tasks) == ["blue", "answer 1", "answer 2", "answer 3"]
    assert third.asked == [0]

    assert run(folder, Model(tasks), requests, tasks)[0] == "blue"


@pytest.mark.slow
def test_changed_prompts_are_asked_again(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    tasks = load()
    run(folder, Model(tasks), requests_of(tasks[TASK], 3), tasks)

    table = root / "diningbench" / "classification.jsonl"
    rows = [json.loads(line) for line in table.read_text("utf-8").splitlines()]
    rows[2]["prompt"] += " 谢谢"
    table.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tasks = load()
    model = Model(tasks)
    run(folder, model, requests_of(tasks[TASK], 3), tasks)
    assert model.asked == [2]


@pytest.mark.slow
def test_a_pixel_limit_makes_other_requests(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "cache"
    tasks = load()
    requests = requests_of(tasks[TASK], 2)
    run(folder, Model(tasks), requests, tasks)
    monkeypatch.setenv("LMMS_EVAL_FOOD_MAX_PIXELS", "100")
    model = Model(tasks)
    run(folder, model, requests, tasks)
    assert model.asked == [0, 1]
    atexit.unregister(picture_files.report_mended)  # its stream is closed when the tests end


@pytest.mark.slow
def test_a_killed_run_is_continued(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", "3")
    tasks = load()
    requests = requests_of(tasks[TASK], 12)
    folder = tmp_path / "cache"

    asked = []
    for killed_by in (4, 7, 7):
        model = Model(tasks, killed_by=killed_by)
        with pytest.raises(KilledError):
            run(folder, model, requests, tasks)
        asked.append(model.portions)
    # Whole portions are stored, and a portion holds what is not stored yet of three documents.
    assert asked == [[[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [6, 7, 8]], [[6, 7, 8]]]

    last = Model(tasks)
    assert run(folder, last, requests, tasks) == [f"answer {n}" for n in range(12)]
    assert last.asked == list(range(6, 12))
    assert run(folder, Model(tasks, killed_by=0), requests, tasks)[11] == "answer 11"


@pytest.mark.slow
def test_what_cannot_be_read_is_reported_and_asked_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = load()
    folder = tmp_path / "cache"
    broken = folder / "runs" / "killed" / "rank_0.db"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"SQLite format 3\x00" + b"x" * 5000)
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    model = Model(tasks)
    run(folder, model, requests_of(tasks[TASK], 2), tasks)
    logger.remove(handle)
    assert model.asked == [0, 1]
    assert [line for line in lines if str(broken) in line]


@pytest.mark.slow
def test_requests_of_other_tasks_go_the_hosts_way(root: Path, tmp_path: Path) -> None:
    tasks = load(names=(TASK, OTHER))
    ours, foreign = requests_of(tasks[TASK], 3), requests_of(tasks[OTHER], 3)
    for name in ("doc_to_messages", "doc_to_visual", "process_docs"):
        setattr(tasks[OTHER].config, name, lambda doc: [])  # hooks of some other package
    mixed = [request for pair in zip(foreign, ours, strict=True) for request in pair]
    folder = tmp_path / "cache"
    first = Model(tasks)
    assert run(folder, first, mixed, tasks) == [f"answer {n}" for n in (0, 0, 1, 1, 2, 2)]
    assert first.portions == [[0, 1, 2], [0, 1, 2]]

    keys: dict[str, set[str]] = {TASK: set(), OTHER: set()}
    rows = sqlite3.connect(folder / "cache.db").execute(
        "SELECT task_name, cache_key FROM responses"
    )
    for name, key in rows:
        keys[name].add(key)
    plain = tmp_path / "plain"
    execute = unwrapped()
    from lmms_eval.caching.response_cache import ResponseCache

    cache = ResponseCache.create(str(plain), model="m", model_args="a=1", task_dict=tasks)
    execute(cache, Model(tasks), "generate_until", mixed)
    cache.finalize(success=True)
    stored = sqlite3.connect(plain / "cache.db").execute(
        "SELECT task_name, cache_key FROM responses"
    )
    plain_keys: dict[str, set[str]] = {TASK: set(), OTHER: set()}
    for name, key in stored:
        plain_keys[name].add(key)
    assert plain_keys[OTHER] == keys[OTHER]
    assert not plain_keys[TASK] & keys[TASK]


def unwrapped() -> Callable[..., list[Any]]:
    from lmms_eval.caching.response_cache import ResponseCache

    host_cache.install()
    original: Callable[..., list[Any]] = ResponseCache.execute.__wrapped__
    return original


@pytest.mark.slow
def test_an_answer_that_quotes_the_mark_is_an_answer(root: Path, tmp_path: Path) -> None:
    tasks = load()
    requests = requests_of(tasks[TASK], 4)
    said = {0: f"B, not {FAILED}", 1: FAILURE_MARKERS[1], 2: f"\n {FAILED}", 3: None}
    folder = tmp_path / "cache"
    assert run(folder, Model(tasks, answers=said), requests, tasks) == list(said.values())
    again = Model(tasks)
    run(folder, again, requests, tasks)
    assert again.asked == [1, 2, 3]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["AsyncOpenAI", "OpenAI"])
def test_only_an_asynchronous_client_gets_new_connections_between_portions(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    import openai

    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", "2")
    given = getattr(openai, kind)(api_key="k", base_url="http://none/v1", timeout=7)
    clients: list[Any] = []

    class Noting(Model):
        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            clients.append(vars(self)["client"])
            return super().generate_until(requests)

    tasks = load()
    model = Noting(tasks, attributes={"client": given})
    run(tmp_path / "cache", model, requests_of(tasks[TASK], 6), tasks)
    assert [str(client.base_url) for client in clients] == ["http://none/v1/"] * 3
    assert [(client.api_key, client.timeout) for client in clients] == [("k", 7)] * 3
    connections = {id(client._client) for client in clients}
    assert len(connections) == (3 if kind == "AsyncOpenAI" else 1)
    assert clients[0] is given


@pytest.mark.slow
def test_a_model_may_complete_its_settings(root: Path, tmp_path: Path) -> None:
    class Completing(Model):
        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            for request in requests:
                request.args[2]["top_p"] = None  # as the host's async_openai does
            return super().generate_until(requests)

    folder = tmp_path / "cache"
    for asked in ([0, 1], []):
        tasks = load()
        model = Completing(tasks)
        run(folder, model, requests_of(tasks[TASK], 2), tasks)
        assert model.asked == asked


@pytest.mark.slow
@pytest.mark.parametrize(
    ("interval", "attributes", "sizes"),
    [
        ("5", {}, [5, 5, 2]),
        ("5", {"batch_size_per_gpu": 4}, [8, 4]),
        ("5", {"batch_size_per_gpu": "4"}, [8, 4]),
        ("5", {"batch_size_per_gpu": "auto"}, [5, 5, 2]),
        ("5", {"batch_size_per_gpu": 100}, [12]),
        ("5", {"num_concurrent": 1}, [5, 5, 2]),
        ("9", {"num_concurrent": 1}, [9, 3]),
        ("5", {"num_cpus": 32}, [12]),
    ],
)
def test_portions_fit_the_models_batches(
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interval: str,
    attributes: dict[str, Any],
    sizes: list[int],
) -> None:
    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", interval)
    tasks = load()
    model = Model(tasks, attributes=attributes)
    run(tmp_path / "cache", model, requests_of(tasks[TASK], 12), tasks)
    assert [len(portion) for portion in model.portions] == sizes


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
    digests = [host_cache.digest(messages) for messages in made]
    assert len(set(digests)) == len(made)
    assert digests == [host_cache.digest(messages) for messages in made]


def test_installing_twice_wraps_once() -> None:
    from lmms_eval.caching.response_cache import ResponseCache

    host_cache.install()
    first = ResponseCache.execute
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        host_cache.install()
    assert ResponseCache.execute is first


@pytest.mark.parametrize("present", [False, True])
def test_a_host_without_the_cache_gets_a_warning(
    monkeypatch: pytest.MonkeyPatch, present: bool
) -> None:
    from lmms_eval import caching

    stand_in = types.SimpleNamespace()
    if present:
        stand_in.ResponseCache = type("ResponseCache", (), {})
    monkeypatch.setattr(caching, "response_cache", stand_in)
    with pytest.warns(UserWarning, match="--use_cache"):
        host_cache.install()
