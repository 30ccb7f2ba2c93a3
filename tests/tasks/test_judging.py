import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loguru import logger

from lmms_eval_food.tasks import judge_server
from lmms_eval_food.tasks.judge_answers import FILE_NAME, AnswerStore
from lmms_eval_food.tasks.judge_server import JudgeError, NoAnswerError, open_server
from lmms_eval_food.tasks.judging import Counts, Judge, configured
from tests.tasks.judge_server import Bench, Does, judging

KINDS = ("openai", "azure", "local")
VARIABLES = (
    *("LMMS_EVAL_FOOD_JUDGE", "LMMS_EVAL_FOOD_JUDGE_MODEL", "OPENAI_API_KEY", "OPENAI_API_URL"),
    *("AZURE_API_KEY", "AZURE_ENDPOINT", "API_VERSION", "LLM_JUDGE_URL"),
)


@pytest.fixture(autouse=True)
def environment(monkeypatch, tmp_path):
    """No judge is configured, nothing waits, and our cache is an empty folder."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(judge_server, "_FIRST_PAUSE_SECONDS", 0)
    configured.cache_clear()
    yield
    configured.cache_clear()


@pytest.fixture
def bench():
    with judging(Bench()) as served:
        yield served


@pytest.fixture
def warnings():
    said = []
    handler = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(handler)


def address(kind, bench, monkeypatch):
    """Point the host's server of a kind to the bench."""
    given_by = {
        "openai": {"OPENAI_API_URL": f"{bench.url}/v1", "OPENAI_API_KEY": "key"},
        "azure": {"AZURE_ENDPOINT": bench.url, "AZURE_API_KEY": "key"},
        "local": {"LLM_JUDGE_URL": f"{bench.url}/v1/chat/completions"},
    }
    for name, value in given_by[kind].items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def run(bench, monkeypatch):
    """Starts a judge as a new run would: what was answered before is on disk."""

    def start(kind="local", model="judge", bench=bench):
        address(kind, bench, monkeypatch)
        monkeypatch.setenv("LMMS_EVAL_FOOD_JUDGE", kind)
        monkeypatch.setenv("LMMS_EVAL_FOOD_JUDGE_MODEL", model)
        configured.cache_clear()
        judge = configured()
        assert judge is not None
        return judge

    return start


class Scripted:
    """Stands in for a server: answers by rule, and notes what it was asked."""

    name = "scripted:judge"

    def __init__(self, answer=lambda prompt: "yes"):
        self.asked = []
        self._answer = answer

    def answer(self, system, prompt):
        self.asked.append((system, prompt))
        answer = self._answer(prompt)
        if answer is None:
            raise NoAnswerError("told so")
        return answer


def judge_of(server, folder=None, **options):
    return Judge(server, AnswerStore(folder, server.name), **options)


# Over HTTP, through the host's servers


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_each_server_of_the_host_is_asked_both_turns(kind, run, bench):
    bench.behaviours = {"Rice?": ["yes"], "Soup?": ["  no\n"]}
    judge = run(kind)
    assert [reply.strip() for reply in judge.ask(["Rice?", "Soup?"], "Be fair.")] == ["yes", "no"]
    assert judge.name == f"{kind}:judge"
    assert len(bench.asked) == 2
    for path, _, payload in bench.asked:
        assert path.partition("?")[0].endswith("/chat/completions")
        assert (payload["model"], payload["temperature"]) == ("judge", 0)
        system, user = payload["messages"]
        assert system == {"role": "system", "content": "Be fair."}
        assert user["role"] == "user"


@pytest.mark.slow
def test_without_system_text_there_is_no_system_turn(run, bench):
    run().ask(["Rice?"])
    assert bench.asked[0][2]["messages"] == [{"role": "user", "content": "Rice?"}]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("does", "calls"),
    [
        (500, 4),
        (503, 4),
        (429, 4),
        (400, 1),
        (401, 1),
        (404, 1),
        (Does.NULL, 1),
        ("", 1),
        (" \n", 1),
        (Does.NONSENSE, 1),
        (Does.HANG, 4),
    ],
)
def test_a_broken_judge_gives_no_answer_and_no_exception(
    kind, does, calls, run, bench, monkeypatch
):
    monkeypatch.setattr(judge_server, "_TIMEOUT_SECONDS", 0.2)
    bench.default = does
    judge = run(kind)
    assert judge.ask(["Rice?"]) == [None]
    assert judge.counts == Counts(answered=0, reused=0, failed=1)
    assert len(bench.asked) == calls


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_server_at_the_address_gives_no_answer(kind, run, monkeypatch):
    with judging(Bench()) as gone:
        pass
    assert run(kind, bench=gone).ask(["Rice?"]) == [None]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [500, 429, Does.HANG])
def test_an_error_that_passes_is_tried_again(kind, first, run, bench, monkeypatch):
    monkeypatch.setattr(judge_server, "_TIMEOUT_SECONDS", 0.5)
    bench.behaviours = {"Rice?": [first, "yes"]}
    judge = run(kind)
    assert judge.ask(["Rice?"]) == ["yes"]
    assert judge.counts == Counts(answered=1, reused=0, failed=0)
    assert len(bench.asked) == 2


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["openai", "local"])
@pytest.mark.parametrize(
    ("asked", "waited"),
    [("7", [7.0, 4.0]), ("1", [2.0, 4.0]), ("3600", [60.0, 4.0]), ("Mon, 1 Jan", [2.0, 4.0])],
)
def test_waits_as_long_as_the_server_asks(kind, asked, waited, run, bench, monkeypatch):
    pauses = []
    monkeypatch.setattr(judge_server, "_FIRST_PAUSE_SECONDS", 2)
    monkeypatch.setattr(judge_server, "time", SimpleNamespace(sleep=pauses.append))
    bench.behaviours = {"Rice?": [(429, asked), 500, "yes"]}
    assert run(kind).ask(["Rice?"]) == ["yes"]
    assert pauses == waited


@pytest.mark.slow
def test_a_second_run_asks_only_what_failed(run, bench, monkeypatch):
    monkeypatch.setattr(judge_server, "_TIMEOUT_SECONDS", 0.2)
    prose = "Hard to say: the sauce hides it."
    bench.behaviours = {
        "good": ["yes"],
        "prose": [prose],
        "busy": [429, "no"],
        "refused": [400],
        "down": [500],
        "null": [Does.NULL],
        "hangs": [Does.HANG],
    }
    prompts = list(bench.behaviours)
    first = run()
    assert first.ask(prompts) == ["yes", prose, "no", None, None, None, None]
    assert first.counts == Counts(answered=3, reused=0, failed=4)

    bench.behaviours, bench.asked = {}, []
    second = run()
    assert second.ask(prompts) == ["yes", prose, "no", "yes", "yes", "yes", "yes"]
    assert second.counts == Counts(answered=4, reused=3, failed=0)
    assert sorted(bench.prompts) == ["down", "hangs", "null", "refused"]

    bench.asked = []
    third = run()
    assert third.ask(prompts) == ["yes", prose, "no", "yes", "yes", "yes", "yes"]
    assert third.counts == Counts(answered=0, reused=7, failed=0)
    assert bench.asked == []


@pytest.mark.slow
def test_another_model_server_or_system_turn_is_asked_anew(run, bench):
    for judge, system in [
        (run(), ""),
        (run(), "Be fair."),
        (run(model="other"), ""),
        (run("openai"), ""),
    ]:
        judge.ask(["Rice?"], system)
    assert len(bench.asked) == 4


@pytest.mark.slow
def test_prompts_are_under_way_together(run, bench):
    bench.default = Does.MEET
    # Nobody is let through before eight have come; fewer threads would break the barrier.
    bench.meeting = threading.Barrier(8, timeout=20)
    assert run().ask([f"Rice {number}?" for number in range(16)]) == ["yes"] * 16


@pytest.mark.slow
def test_a_judge_that_replied_once_is_not_probed_again(run, bench):
    bench.default = 401
    assert not run().replies()
    bench.default = "Yes, sir."
    assert run().replies()
    assert run().replies()
    assert len(bench.asked) == 2


# Without a server


def test_a_reply_that_says_nothing_is_not_kept(tmp_path):
    def clear(reply):
        return reply in ("yes", "no")

    vague = Scripted({"a": "yes", "b": "It depends."}.get)
    judge = judge_of(vague, tmp_path)
    for _ in range(2):  # the second reader of a run, say
        assert judge.ask(["a", "b"], keeps=clear) == ["yes", "It depends."]
    assert sorted(vague.asked) == [("", "a"), ("", "b")]
    assert judge.counts == Counts(answered=2, reused=2, failed=0)

    # A later run asks what is missing, and keeps it.
    better = Scripted({"a": "no", "b": "no"}.get)
    for _ in range(2):
        assert judge_of(better, tmp_path).ask(["a", "b"], keeps=clear) == ["yes", "no"]
    assert better.asked == [("", "b")]


def test_a_kept_reply_that_says_nothing_is_asked_again_and_replaced(tmp_path):
    """Earlier versions kept every reply."""
    judge_of(Scripted(lambda prompt: "It depends."), tmp_path).ask(["a"])
    server = Scripted(lambda prompt: "no")
    for _ in range(2):
        judge = judge_of(server, tmp_path)
        assert judge.ask(["a"], keeps=lambda reply: reply == "no") == ["no"]
    assert len(server.asked) == 1


def test_equal_prompts_are_asked_once():
    server = Scripted(lambda prompt: prompt.upper())
    judge = judge_of(server)
    assert judge.ask(["a", "b", "a"]) == ["A", "B", "A"]
    assert judge.ask(["b"]) == ["B"]
    assert sorted(server.asked) == [("", "a"), ("", "b")]
    assert judge.counts == Counts(answered=2, reused=1, failed=0)


def test_nothing_to_ask():
    assert judge_of(Scripted()).ask([]) == []


def test_threads_ask_a_prompt_once():
    everyone = threading.Barrier(8, timeout=20)
    server = Scripted()
    judge = judge_of(server)

    def ask(_):
        everyone.wait()
        return judge.ask(["a", "b"])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [["yes", "yes"]] * 8
    assert sorted(server.asked) == [("", "a"), ("", "b")]


def test_a_judge_that_is_gone_is_given_up(warnings):
    server = Scripted(lambda prompt: None)
    judge = judge_of(server, concurrency=1)
    assert judge.ask([f"{number}" for number in range(50)]) == [None] * 50
    assert len(server.asked) == 30
    assert judge.counts == Counts(answered=0, reused=0, failed=50)
    assert len(warnings) == 1
    assert "30 failures in a row, the last: told so" in warnings[0]


def test_failures_between_answers_are_not_given_up():
    server = Scripted(lambda prompt: "yes" if int(prompt) % 20 == 0 else None)
    judge = judge_of(server, concurrency=1)
    judge.ask([f"{number}" for number in range(60)])
    assert len(server.asked) == 60
    assert judge.counts == Counts(answered=3, reused=0, failed=57)


def test_an_interrupted_batch_leaves_nothing_queued():
    begun, go_on = threading.Event(), threading.Event()

    def answer(prompt):
        begun.set()
        go_on.wait(20)
        return "yes"

    server = Scripted(answer)
    judge = judge_of(server, concurrency=1)
    futures = {str(n): judge._submit(str(n), "", str(n), bool) for n in range(5)}
    assert begun.wait(20)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lmms_eval_food.tasks.judging.as_completed", interrupt)
        with pytest.raises(KeyboardInterrupt):
            judge._wait(futures)
    go_on.set()
    assert futures["0"].result(20) == "yes"
    assert all(futures[str(n)].cancelled() for n in range(1, 5))


def interrupt(futures):
    raise KeyboardInterrupt


@settings(max_examples=60)
@given(st.dictionaries(st.text(), st.text().filter(str.strip), max_size=4), st.text())
def test_any_text_is_asked_and_kept(tmp_path_factory, answers, system):
    folder = tmp_path_factory.mktemp("judge")
    first = Scripted(answers.__getitem__)
    assert judge_of(first, folder).ask(list(answers), system) == list(answers.values())
    second = Scripted(answers.__getitem__)
    assert judge_of(second, folder).ask(list(answers), system) == list(answers.values())
    assert len(first.asked) == len(answers)
    assert second.asked == []


def test_a_lone_surrogate_is_replaced():
    server = Scripted(lambda prompt: "yes \ud800")
    assert judge_of(server).ask(["rice \udc80"], "be \ud800") == ["yes \ufffd"]
    assert server.asked == [("be \ufffd", "rice \ufffd")]


def test_the_fingerprint_tells_judge_and_template():
    judge = judge_of(Scripted())
    # The first eight hex digits that `sha256sum` prints for "Right?".
    assert judge.fingerprint("Right?") == "scripted:judge prompt@f8745aee"
    assert judge.fingerprint("Right? ") != judge.fingerprint("Right?")


# The store


def test_answers_of_another_judge_are_not_seen(tmp_path):
    AnswerStore(tmp_path, "one").put("key", "yes")
    assert AnswerStore(tmp_path, "other").get(["key"]) == {}
    assert AnswerStore(tmp_path, "one").get(["key", "unknown"]) == {"key": "yes"}


def test_the_first_answer_stays(tmp_path):
    for answer in ("yes", "no"):
        AnswerStore(tmp_path, "judge").put("key", answer)
    assert AnswerStore(tmp_path, "judge").get(["key"]) == {"key": "yes"}


def test_a_damaged_file_is_left_alone(tmp_path, warnings):
    file = tmp_path / FILE_NAME
    file.write_bytes(b"not a database at all" * 100)
    store = AnswerStore(tmp_path, "judge")
    store.put("key", "yes")
    store.put("other", "no")
    assert store.get(["key", "other"]) == {"key": "yes", "other": "no"}
    assert file.read_bytes() == b"not a database at all" * 100
    assert len(warnings) == 1
    assert "not a database; keeping them in memory only" in warnings[0]


def test_a_folder_that_cannot_be_made_costs_no_answer(tmp_path, warnings):
    (tmp_path / "file").touch()
    store = AnswerStore(tmp_path / "file" / "judge", "judge")
    store.put("key", "yes")
    assert store.get(["key"]) == {"key": "yes"}
    assert len(warnings) == 1


WRITE = """
import sys
from pathlib import Path
from lmms_eval_food.tasks.judge_answers import AnswerStore
store = AnswerStore(Path(sys.argv[1]), "judge")
for number in range(50):
    store.put(f"{sys.argv[2]} {number}", "yes")
"""


@pytest.mark.slow
def test_processes_share_the_file(tmp_path):
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path), name]) for name in "abc"
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    keys = [f"{name} {number}" for name in "abc" for number in range(50)]
    assert AnswerStore(tmp_path, "judge").get(keys) == dict.fromkeys(keys, "yes")


# The configuration


def test_no_variable_means_no_judge():
    assert configured() is None


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"LMMS_EVAL_FOOD_JUDGE": "local"}, "LMMS_EVAL_FOOD_JUDGE_MODEL"),
        (
            {"LMMS_EVAL_FOOD_JUDGE": "oracle", "LMMS_EVAL_FOOD_JUDGE_MODEL": "m"},
            "no judge server 'oracle': choose openai, azure, local",
        ),
        (
            {"LMMS_EVAL_FOOD_JUDGE": "openai", "LMMS_EVAL_FOOD_JUDGE_MODEL": "m"},
            "needs OPENAI_API_KEY",
        ),
        (
            {"LMMS_EVAL_FOOD_JUDGE": "azure", "LMMS_EVAL_FOOD_JUDGE_MODEL": "m"},
            "needs AZURE_API_KEY and AZURE_ENDPOINT",
        ),
    ],
)
def test_a_configuration_that_does_not_fit_is_said(variables, message, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(JudgeError, match=message):
        configured()


@pytest.mark.parametrize("known", [None, "", "key"])
def test_azure_leaves_the_openai_key_as_it_was(known, monkeypatch):
    monkeypatch.setenv("AZURE_API_KEY", "key")
    monkeypatch.setenv("AZURE_ENDPOINT", "http://127.0.0.1:9")
    if known is not None:
        monkeypatch.setenv("OPENAI_API_KEY", known)
    assert open_server("azure", "m").name == "azure:m"
    assert os.environ.get("OPENAI_API_KEY") == known
