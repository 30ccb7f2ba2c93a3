"""The largest prompts are tried before a run, with stand-ins for vLLM and the host's backend."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Sequence
from typing import Any

import pytest
from datasets import Dataset
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks import rehearsal
from lmms_eval_food.tasks.culturalmenu import hooks

TABLE = {
    "id": ["few", "long", "many", "last"],
    "images": [["a"], [], ["a", "b", "c"], ["a"]],
    "prompt": ["x", "x" * 900, "x", "x"],
}


class RefusedError(Exception):
    """Stands in for vLLM's refusals."""


class Client:
    """Takes prompts of up to `limit` tokens: ten a picture, one a letter."""

    def __init__(self, limit: int = 10_000, context: int = 10_000) -> None:
        self.limit = limit
        self.model_config = types.SimpleNamespace(max_model_len=context)
        self.asked: list[tuple[Any, dict[str, Any]]] = []

    def chat(self, messages: Any, sampling_params: Any, **_: Any) -> list[Any]:
        (doc,) = messages
        self.asked.append((doc["id"], sampling_params))
        tokens = 10 * len(doc["images"]) + len(doc["prompt"])
        if tokens > self.limit:
            raise RefusedError(f"{tokens} tokens are more than {self.limit}")
        return [types.SimpleNamespace(prompt_token_ids=[0] * tokens)]


class Backend:
    """Stands in for the host's vLLM backend."""

    chat_template = None

    def __init__(self, client: Client) -> None:
        self.client = client
        self.task_dict = {name: {"test": Dataset.from_dict(TABLE)} for name in ("ours", "theirs")}
        self.sent: list[Any] = []

    def make_one_request(self, request: Any) -> tuple[Any, dict[str, Any]]:
        _, _, _, number, task, split = request.arguments
        return self.task_dict[task][split][number], {}

    def generate_until(self, requests: Sequence[Any]) -> list[str]:
        self.sent += requests
        return ["A"] * len(requests)


class Task:
    """Stands in for the host's task object."""

    def __init__(self, hook: Any) -> None:
        self.config = types.SimpleNamespace(doc_to_messages=hook)

    def doc_to_messages(self, doc: Any) -> Any:
        raise AssertionError("the backend makes the messages")


def request(task: str = "ours", doc: int = 0, wanted: int = 64) -> Any:
    hook = warnings.warn if task == "theirs" else hooks.doc_to_messages
    settings = {"max_new_tokens": wanted}
    arguments = ("", Task(hook).doc_to_messages, settings, doc, task, "test")
    return types.SimpleNamespace(arguments=arguments)


@pytest.fixture(autouse=True)
def _vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    vllm, errors = types.ModuleType("vllm"), types.ModuleType("vllm.exceptions")
    vllm.SamplingParams = dict  # type: ignore[attr-defined] # a stand-in
    errors.VLLMClientError = RefusedError  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    monkeypatch.setitem(sys.modules, "vllm.exceptions", errors)


@pytest.fixture
def logged() -> Any:
    from loguru import logger

    lines: list[str] = []
    sink = logger.add(lines.append, level="WARNING", format="{message}")
    yield lines
    logger.remove(sink)


def test_the_whole_table_is_tried_once_a_task_with_one_token() -> None:
    client = Client()
    backend = Backend(client)
    rehearsal.rehearse(backend, [request(doc=0), request(doc=3), request("theirs")])
    rehearsal.rehearse(backend, [request(doc=1)])
    assert [name for name, _ in client.asked] == ["long", "many"]
    assert {settings["max_tokens"] for _, settings in client.asked} == {1}


def test_a_refused_prompt_ends_the_run_with_its_name() -> None:
    backend = Backend(Client(limit=800))
    with pytest.raises(SystemExit) as raised:
        rehearsal.rehearse(backend, [request()])
    message = str(raised.value)
    for part in ("ours", "document long", "0 pictures", "900 tokens are more than 800"):
        assert part in message
    assert "max_model_len" in message
    assert "limit_mm_per_prompt" in message


def test_a_broken_engine_is_no_matter_of_size(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client()

    def chat(*_: Any, **__: Any) -> Any:
        raise RuntimeError("engine dead")

    monkeypatch.setattr(client, "chat", chat)
    with pytest.raises(RuntimeError, match="engine dead"):
        rehearsal.rehearse(Backend(client), [request()])


@pytest.mark.parametrize(("context", "warns"), [(964, False), (963, True)])
def test_answers_that_must_be_cut_are_announced(
    context: int, warns: bool, logged: list[str]
) -> None:
    rehearsal.rehearse(Backend(Client(context=context)), [request(wanted=64)])
    assert bool(logged) == warns
    if warns:
        assert "leaves 63" in logged[0]
        assert "max_model_len" in logged[0]


def test_installing_twice_wraps_once(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(rehearsal.BACKEND)
    backend = type("VLLM", (Backend,), {"generate_until": Backend.generate_until})
    module.VLLM = backend  # type: ignore[attr-defined] # a stand-in
    monkeypatch.setitem(sys.modules, rehearsal.BACKEND, module)
    rehearsal.install()
    wrapped = backend.__dict__["generate_until"]
    rehearsal.install()
    assert backend.__dict__["generate_until"] is wrapped

    client = Client()
    model = backend(client)
    requests = [request(doc=3)]
    assert model.generate_until(requests) == ["A"]
    assert model.sent == requests
    assert [name for name, _ in client.asked] == ["long", "many"]


def test_ranks_of_one_vllm_try_the_tasks_that_all_of_them_have(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rehearsal.ranks, "gathered", lambda lm, mine: [mine, {"a", "c"}])
    tried: list[str] = []
    monkeypatch.setattr(
        rehearsal, "_rehearse_task", lambda lm, asked: tried.append(asked.arguments[4])
    )
    backend = Backend(Client())
    rehearsal.rehearse(backend, [request(task) for task in "cbad"])
    assert tried == ["a", "c"]


@pytest.mark.parametrize("rehearses", [True, False])
def test_before_tries_once_for_all_calls_inside(
    monkeypatch: pytest.MonkeyPatch, rehearses: bool
) -> None:
    backend = type("VLLM", (Backend,), {})
    if rehearses:
        backend.generate_until = rehearsal._rehearsing(Backend.generate_until)  # type: ignore[attr-defined] # as installed
    client = Client()
    model = backend(client)
    with rehearsal.before(model, [request()]):
        assert bool(client.asked) == rehearses
        monkeypatch.setattr(rehearsal.ranks, "gathered", lambda lm, mine: 1 / 0)
        for doc in range(2):
            assert model.generate_until([request(doc=doc)]) == ["A"]
    if rehearses:
        with pytest.raises(ZeroDivisionError):  # outside, ranks have to be heard again
            model.generate_until([request()])


def test_before_lets_any_model_pass() -> None:
    with rehearsal.before(object(), []):
        pass


def test_another_backend_gets_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, rehearsal.BACKEND, types.ModuleType(rehearsal.BACKEND))
    with pytest.warns(UserWarning, match=r"lmms-eval 0\.7\.3"):
        rehearsal.install()


def test_nothing_happens_without_the_backend(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, rehearsal.BACKEND, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rehearsal.install()
    assert rehearsal.BACKEND not in sys.modules


rows = st.lists(
    st.tuples(st.integers(0, 60), st.text(max_size=40), st.text(max_size=10)), max_size=12
)


@given(rows)
def test_no_row_has_both_more_pictures_and_more_text(table: list[tuple[int, str, str]]) -> None:
    docs = Dataset.from_dict(
        {
            "images": [["p"] * pictures for pictures, _, _ in table],
            "user_prompt": [text for _, text, _ in table],
            "system_prompt": [text for _, _, text in table],
        }
    )
    chosen = rehearsal.largest(docs)
    assert bool(chosen) == bool(table)
    assert chosen == sorted(set(chosen))
    sizes = [(p, len(f"{user}{system}".encode())) for p, user, system in table]
    for row in chosen:
        pictures, text = sizes[row]
        assert not any(p > pictures and t > text for p, t in sizes)
    if table:
        assert max(t for _, t in sizes) in {sizes[row][1] for row in chosen}
        assert max(p for p, _ in sizes) in {sizes[row][0] for row in chosen}
