"""The host's response cache with our tasks: what is asked again, and what is not."""

from __future__ import annotations

import sqlite3
import sys
import types
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from loguru import logger
from PIL import Image

from lmms_eval_food.filters.reading import FAILURE_MARKERS, NO_CONTENT
from lmms_eval_food.tasks import host_cache, rehearsal
from tests.tasks.cache_runs import (
    FAILED,
    OTHER,
    TASK,
    KilledError,
    Model,
    load,
    requests_of,
    run,
)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["chat", "simple"])
def test_failures_and_changed_pictures_are_asked_again(
    changeable_root: Path, tmp_path: Path, form: str
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
def test_a_killed_run_is_continued(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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
def test_requests_of_other_tasks_go_the_hosts_way(changeable_root: Path, tmp_path: Path) -> None:
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
def test_an_answer_that_quotes_the_mark_is_an_answer(changeable_root: Path, tmp_path: Path) -> None:
    tasks = load()
    requests = requests_of(tasks[TASK], 3)
    said = {0: f"B, not {FAILED}", 1: FAILURE_MARKERS[1], 2: f"\n {FAILED}"}
    folder = tmp_path / "cache"
    assert run(folder, Model(tasks, answers=said), requests, tasks) == list(said.values())
    again = Model(tasks)
    run(folder, again, requests, tasks)
    assert again.asked == [1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("whole_result", [False, True])
def test_empty_answers_of_any_kind_are_handed_on_and_asked_again(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_result: bool
) -> None:
    from lmms_eval.api.instance import GenerationResult

    # As in one Slurm job, where a run also reads the audit log of the one before.
    monkeypatch.setenv("LMMS_CACHE_RUN_ID", "job")
    tasks = load()
    requests = requests_of(tasks[TASK], 4)
    said: dict[int, Any] = {0: "", 1: " \n", 2: NO_CONTENT}
    if whole_result:
        said = {n: GenerationResult(text=text) for n, text in said.items()}
    else:
        said[3] = None
    for _ in range(2):
        model = Model(tasks, answers=said)
        answers = run(tmp_path / "cache", model, requests, tasks)
        assert answers[: len(said)] == list(said.values())
        assert model.asked[: len(said)] == list(said)
    last = Model(tasks)
    assert run(tmp_path / "cache", last, requests, tasks) == [f"answer {n}" for n in range(4)]
    assert last.asked == list(said)
    silent = Model(tasks)
    run(tmp_path / "cache", silent, requests, tasks)
    assert silent.portions == []


@pytest.mark.slow
def test_sampled_answers_are_not_stored_which_is_said_at_the_start(
    changeable_root: Path, tmp_path: Path
) -> None:
    tasks = load(names=(TASK, OTHER))
    tasks[TASK].config.generation_kwargs["temperature"] = 0.6
    requests = requests_of(tasks[TASK], 2) + requests_of(tasks[OTHER], 2)
    lines: list[str] = []
    said_when_asked: list[int] = []

    class Noting(Model):
        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            said_when_asked.append(len(lines))
            return super().generate_until(requests)

    handle = logger.add(lines.append, level="WARNING", format="{message}")
    for asked in ([0, 1, 0, 1], [0, 1]):
        lines.clear()
        model = Noting(tasks)
        run(tmp_path / "cache", model, requests, tasks)
        assert model.asked == asked
        assert len(lines) == 1
        assert TASK in lines[0]
        assert OTHER not in lines[0]
        assert "temperature" in lines[0]
    logger.remove(handle)
    assert said_when_asked == [1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("most", [20, 21])
def test_all_prompts_are_tried_before_the_first_portion(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    vllm, errors = types.ModuleType("vllm"), types.ModuleType("vllm.exceptions")
    vllm.SamplingParams = dict  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.exceptions", errors)
    monkeypatch.setenv("LMMS_CACHE_CHECKPOINT_INTERVAL", "4")
    events: list[str] = []

    class Client:
        """Takes so many pictures; the prompts that the second task needs have up to 21."""

        model_config = types.SimpleNamespace(max_model_len=10**6)

        def chat(self, messages: Any, **_: Any) -> Any:
            parts = [part for turn in messages[0] for part in turn["content"]]
            if sum(part["type"] == "image" for part in parts) > most:
                raise ValueError("too many")
            events.append("tried")
            return [types.SimpleNamespace(prompt_token_ids=[0] * 10)]

    class Backend(Model):
        client = Client()
        chat_template = None

        def make_one_request(self, request: Any) -> Any:
            _, messages, _, number, task, split = request.arguments
            return messages(self.task_dict[task][split][number]), {}

        def generate_until(self, requests: Sequence[Any]) -> list[Any]:
            events.append("asked")
            return super().generate_until(requests)

    Backend.generate_until = rehearsal._rehearsing(Backend.generate_until)  # type: ignore[method-assign] # as installed
    names = (TASK, "culturalmenu_mc")
    tasks = load(names=names)
    requests = [request for name in names for request in requests_of(tasks[name], 6)]
    if most < 21:
        with pytest.raises(SystemExit, match="culturalmenu_mc"):
            run(tmp_path / "cache", Backend(tasks), requests, tasks)
        assert "asked" not in events
        return
    run(tmp_path / "cache", Backend(tasks), requests, tasks)
    tried = events.index("asked")
    assert tried >= 2
    assert events == ["tried"] * tried + ["asked"] * 3
    run(tmp_path / "cache", Backend(tasks), requests, tasks)  # nothing is lacking: nothing is tried
    assert len(events) == tried + 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["AsyncOpenAI", "OpenAI"])
def test_only_an_asynchronous_client_gets_new_connections_between_portions(
    changeable_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
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
def test_a_model_may_complete_its_settings(changeable_root: Path, tmp_path: Path) -> None:
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
    changeable_root: Path,
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


def test_installing_twice_wraps_once() -> None:
    from lmms_eval.caching.response_cache import ResponseCache

    host_cache.install()
    first = ResponseCache.execute
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        host_cache.install()
    assert ResponseCache.execute is first


@pytest.mark.parametrize("there", [None, (), ("execute",), ("merge_shards",)])
def test_a_host_without_the_cache_gets_a_warning(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...] | None
) -> None:
    from lmms_eval import caching

    stand_in = types.SimpleNamespace()
    if there is not None:
        stand_in.ResponseCache = type("ResponseCache", (), dict.fromkeys(there, print))
    monkeypatch.setattr(caching, "response_cache", stand_in)
    with pytest.warns(UserWarning, match="--use_cache"):
        host_cache.install()
