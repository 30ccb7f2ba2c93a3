import json
import math
from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from loguru import logger

from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.texts import OfficialText, RobustText
from lmms_eval_food.metrics import rouge
from lmms_eval_food.metrics.rouge import RougeMissingError
from lmms_eval_food.tasks import common, judging
from lmms_eval_food.tasks.diningbench import judge_prompts, vqa
from lmms_eval_food.tasks.diningbench.documents import STEPS
from lmms_eval_food.tasks.diningbench.judge_prompts import Template, templates
from lmms_eval_food.tasks.diningbench.vqa import NO_REPLY, UNCLEAR, judge_records, record_of
from lmms_eval_food.tasks.diningbench.vqa_record import NO_JUDGE, VqaRecord
from lmms_eval_food.tasks.judge_answers import AnswerStore
from lmms_eval_food.tasks.judge_server import NoAnswerError
from lmms_eval_food.tasks.judging import Judge, JudgeError

pytest.importorskip("jieba")
pytest.importorskip("rouge_chinese")

LAST_LINE = "Output only the final answer, without any explanation, analysis, preface, or summary."
LAST_LINE_ZH = "仅输出最终答案，不要包含任何解释、分析、前言或总结。"
FAILURE = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] no connection"


class Scripted:
    """Stands in for a judge's server: one reply for all prompts, or none."""

    name = "scripted:judge"

    def __init__(self, reply="yes"):
        self.reply = reply
        self.asked = []

    def answer(self, system, prompt):
        self.asked.append((system, prompt))
        if self.reply is None:
            raise NoAnswerError("told so")
        return self.reply


@pytest.fixture(autouse=True)
def unconfigured(monkeypatch):
    for name in ("LMMS_EVAL_FOOD_JUDGE", "LMMS_EVAL_FOOD_JUDGE_MODEL", judge_prompts.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    caches = (judging.configured, templates, vqa.check, vqa._warn)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.fixture
def warnings():
    said = []
    handler = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(handler)


def judge_of(server):
    return Judge(server, AnswerStore(None, server.name))


def document(**changes):
    return {
        "id": "00012",
        "prompt": f"Is the fish steamed?\n{LAST_LINE}",
        "ground_truth": "Yes",
        "images": [],
        "language": "en",
        "category": "cooking",
        "data": "mini@0123",
        **changes,
    }


def reading(raw, reader="robust"):
    text = OfficialText() if reader == "official" else RobustText()
    return replace(text.read(raw), reader=reader)


def record(raw="It is steamed", reader="robust", **changes):
    return record_of(document(**changes), reading(raw, reader))


def failed(reader):
    return record(FAILURE, reader)


# The record


@pytest.mark.parametrize(
    ("prompt", "question"),
    [
        (f"Is it hot?\n{LAST_LINE}", "Is it hot?"),
        (f"汤辣吗？\n{LAST_LINE_ZH}", "汤辣吗？"),
        (f"  Is it\nhot? \n{LAST_LINE}", "Is it\nhot?"),
        (f"Is it hot?\n{LAST_LINE}\n\n{STEPS}", "Is it hot?"),
        (f"Is it hot?\n{LAST_LINE}\n", f"Is it hot?\n{LAST_LINE}"),
        (f"Is it hot? {LAST_LINE}", f"Is it hot? {LAST_LINE}"),
        (" Is it hot? ", "Is it hot?"),
    ],
)
def test_the_question_lacks_the_fixed_last_line(prompt, question):
    assert vqa.question_of(prompt) == question


@pytest.mark.parametrize(
    ("reader", "raw", "answer", "status"),
    [
        ("official", "<think>fried?</think> Steamed ", "Steamed", "ok"),
        ("official", r"So: \boxed{steamed} fish", "steamed", "ok"),
        ("official", "<think>fried", "<think>fried", "ok"),
        ("official", "<think>fried</think>", "", "empty"),
        ("official", " \n", "", "empty"),
        ("robust", "<think>fried?</think> Steamed ", "Steamed", "ok"),
        ("robust", r"So: \boxed{steamed} fish", r"So: \boxed{steamed} fish", "ok"),
        ("robust", "<think>fried", "", "truncated"),
        ("robust", "<think>fried</think>", "", "empty"),
        ("robust", " \n", "", "empty"),
    ],
)
def test_the_answer_by_each_reader(reader, raw, answer, status):
    found = record(raw, reader)
    assert (found.answer, found.status, found.raw) == (answer, status, raw)


@pytest.mark.parametrize("reader", ["official", "robust"])
def test_a_failed_request_has_no_answer(reader):
    assert (failed(reader).answer, failed(reader).status) == ("", "failed")
    assert failed(reader).scores()["failed_requests"] == "00012"
    assert record(reader=reader).scores()["failed_requests"] is None


def test_rouge_of_an_answer():
    found = record("fish steamed", ground_truth="steamed fish")
    assert found.rouge_1 == pytest.approx(1, abs=1e-7)
    assert found.rouge_2 == 0
    assert found.rouge_l == pytest.approx(0.5, abs=1e-7)


@pytest.mark.parametrize(
    ("unscored", "rouge_1"),
    [
        (record(" ", "official"), None),
        (record(" ", "robust"), 0),
        (record("<think>fish", "robust"), 0),
        (failed("official"), 0),
        (failed("robust"), None),
    ],
)
def test_rouge_without_an_answer(unscored, rouge_1):
    assert (unscored.rouge_1, unscored.rouge_2, unscored.rouge_l) == (rouge_1,) * 3


def test_without_the_packages_there_is_no_rouge(monkeypatch):
    monkeypatch.setattr(rouge, "rouge", missing)
    assert record().rouge_1 is None
    assert failed("official").rouge_l is None


def missing(*_):
    raise RougeMissingError("ROUGE needs jieba: pip install 'lmms-eval-food[rouge]'")


def test_a_record_survives_the_log():
    (judged,) = judge_records([record()], judge_of(Scripted()))
    logged = json.loads(json.dumps(judged.scores()["record"]))
    assert VqaRecord.from_dict(logged) == judged


# The judge


def test_the_judge_sees_question_truth_and_answer():
    server = Scripted()
    (judged,) = judge_records([record()], judge_of(server))
    ((system, prompt),) = server.asked
    assert system == templates()["en"].system
    assert "\nIs the fish steamed?\n" in prompt
    assert "\nYes\n" in prompt
    assert "\nIt is steamed\n" in prompt
    assert LAST_LINE not in prompt
    assert judged.judge == judge_of(server).fingerprint(templates()["en"].text)


@pytest.mark.parametrize(
    ("reply", "official", "robust", "reason"),
    [
        ("yes", True, True, ""),
        ("no", False, False, ""),
        ("不是", True, False, ""),
        ("Yes, there is no difference.", False, True, ""),
        ("It depends.", False, None, UNCLEAR),
    ],
)
def test_each_reader_has_its_verdict(reply, official, robust, reason):
    judged = judge_records(
        [record(reader=r) for r in ("official", "robust")], judge_of(Scripted(reply))
    )
    assert [one.verdicts for one in judged] == [{"official": official, "strict": robust}] * 2
    assert [one.correct for one in judged] == [official, robust]
    assert [one.not_judged for one in judged] == ["", reason]
    assert [one.reply for one in judged] == [reply] * 2


@pytest.mark.parametrize(
    ("unasked", "correct"),
    [
        (record(" ", "official"), False),
        (record(" ", "robust"), False),
        (record("<think>fish", "robust"), False),
        (failed("official"), False),
        (failed("robust"), None),
    ],
)
def test_what_is_not_asked(unasked, correct):
    server = Scripted("yes")
    (judged,) = judge_records([unasked], judge_of(server))
    assert server.asked == []
    assert judged.correct is correct
    assert judged.not_judged == ""
    assert judged.judge.startswith("scripted:judge prompt@")


def test_only_a_reply_without_a_verdict_is_asked_again_by_a_rerun(tmp_path):
    """A judge whose reasoning was cut off, as its limit of tokens may do."""
    replies = {"A": "<think>The answer says stewed, and the", "B": "yes"}

    def run(server):
        judge = Judge(server, AnswerStore(tmp_path, server.name))
        found = [judge_records([record(raw, r)], judge) for r in READERS for raw in ("A", "B")]
        return [one.correct for (one,) in found], len(server.asked)

    first = Scripted()
    first.answer = lambda system, prompt: (
        first.asked.append(prompt) or replies["A" if "\nA\n" in prompt else "B"]
    )
    assert run(first) == ([False, True, None, True], 2)
    assert run(Scripted("no")) == ([False, True, False, True], 1)


READERS = ("official", "robust")


@pytest.mark.parametrize("reader", ["official", "robust"])
def test_a_judge_that_fails_makes_no_answer_wrong(reader):
    (judged,) = judge_records([record(reader=reader)], judge_of(Scripted(None)))
    assert judged.not_judged == NO_REPLY
    scores = judged.scores()
    assert (scores["judge_acc"], scores["not_judged"]) == (None, "00012")


@pytest.mark.parametrize("reader", ["official", "robust"])
def test_without_a_judge_nothing_is_right_or_wrong(reader):
    records = [record(reader=reader), record(" ", reader)]
    for unjudged in judge_records(records, None):
        assert (unjudged.correct, unjudged.not_judged) == (None, NO_JUDGE)
        assert unjudged.scores()["judge"] == "none"


def test_a_failed_request_is_not_one_that_lacks_a_judge():
    (left_out,) = judge_records([failed("robust")], None)
    assert left_out.scores()["not_judged"] is None


def test_records_keep_their_order_and_language():
    server = Scripted()
    records = [
        record("A", id="1"),
        record("B", id="2", language="zh"),
        record("", id="3", language="zh"),
        record("C", id="4"),
    ]
    judged = judge_records(records, judge_of(server))
    assert [one.id for one in judged] == ["1", "2", "3", "4"]
    assert [one.reply for one in judged] == ["yes", "yes", None, "yes"]
    assert judged[0].judge == judged[3].judge != judged[1].judge == judged[2].judge
    assert sorted(system for system, _ in server.asked) == sorted(
        templates()[language].system for language in ("zh", "en", "en")
    )


def test_accuracy_is_over_the_judged(warnings):
    judge = judge_of(Scripted("yes"))
    records = [record(id="1"), record(" ", id="2"), record("else", id="3"), failed("robust")]
    judged = judge_records(records[:2] + records[3:], judge)
    judged += judge_records(records[2:3], judge_of(Scripted(None)))
    scores = [one.scores() for one in judged]
    # One right, one empty, one request failed, one not judged.
    assert common.mean([score["judge_acc"] for score in scores]) == 0.5
    assert vqa.not_judged([score["not_judged"] for score in scores]) == 1
    assert warnings == [
        "1 of 4 answers were not judged (3); judge_acc is over the others. Rerun with the same "
        "answers: the judge is asked only what is missing."
    ]


def test_no_verdict_at_all_is_no_accuracy():
    scores = [one.scores() for one in judge_records([record()], None)]
    assert math.isnan(common.mean([score["judge_acc"] for score in scores]))


def test_all_judged_gives_no_warning(warnings):
    assert vqa.not_judged([None, None]) == 0
    assert warnings == []


@settings(max_examples=60)
@given(
    st.text(st.characters(codec=None)),
    st.text(st.characters(codec=None)),
    st.sampled_from(["official", "robust"]),
    st.sampled_from(Status),
)
def test_any_answer_and_reply_give_a_record(raw, reply, reader, status):
    unjudged = record_of(document(), Reading(raw, None, status, reader=reader))
    (judged,) = judge_records([unjudged], judge_of(Scripted(reply)))
    scores = judged.scores()
    counts = status is not Status.FAILED or reader == "official"
    assert (scores["judge_acc"] is None) == (not counts or bool(judged.not_judged))
    assert scores.keys() == record().scores().keys()


# The prompts


@pytest.mark.parametrize("language", ["zh", "en"])
def test_packaged_prompts_hold_each_part_once(language):
    filled = templates()[language].fill("<Q>", "<T>", "<A>")
    assert [filled.count(part) for part in ("<Q>", "<T>", "<A>")] == [1, 1, 1]
    assert "{" not in filled


@pytest.mark.parametrize(("language", "words"), [("zh", ("是", "否")), ("en", ("yes", "no"))])
def test_packaged_prompts_ask_for_words_that_both_readers_know(language, words):
    last_line = templates()[language].user.rpartition("\n")[2]
    assert all(word in last_line for word in words)
    assert [vqa.official_verdict(word) for word in words] == [True, False]
    assert [vqa.strict_verdict(word) for word in words] == [True, False]


def test_an_answer_may_hold_a_placeholder():
    template = Template("", "{question}|{truth}|{answer}")
    assert template.fill("{truth}", "{answer}", "{question} {x} {") == (
        "{truth}|{answer}|{question} {x} {"
    )


@pytest.mark.parametrize(
    ("length", "kept"), [(8000, "a" + "b" * 7998 + "c"), (8001, None), (1_000_000, None)]
)
def test_long_answers_lose_their_middle(length, kept):
    answer = "a" + "b" * (length - 2) + "c"
    filled = Template("", "{question}{truth}{answer}").fill("", "", answer)
    assert filled == (kept or "a" + "b" * 3999 + "\n[…]\n" + "b" * 3999 + "c")


def test_prompts_can_be_replaced(tmp_path, monkeypatch):
    turns = {"user": "Q {question} T {truth} A {answer}"}
    file = tmp_path / "prompts.yaml"
    file.write_text(yaml.safe_dump({"zh": turns, "en": {**turns, "system": "Be fair."}}))
    monkeypatch.setenv(judge_prompts.VARIABLE, str(file))
    server = Scripted()
    judge_records([record()], judge_of(server))
    assert server.asked == [("Be fair.", "Q Is the fish steamed? T Yes A It is steamed")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read"),
        ("a: [", "cannot be read"),
        ("- 1", "must hold zh.user"),
        ("zh: {system: x}", "must hold zh.user"),
        ("zh: {user: '{question} {truth} {answer}', system: 3}", "must hold zh.user"),
        ("zh: {user: '{question}'}", "zh.user of .* lacks {answer}, {truth}"),
        ("zh: {user: '{question} {truth} {answer}'}", "must hold en.user"),
    ],
)
def test_prompts_that_do_not_fit_end_the_run_at_its_start(content, message, tmp_path, monkeypatch):
    file = tmp_path / "prompts.yaml"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv(judge_prompts.VARIABLE, str(file))
    with pytest.raises(JudgeError, match=message):
        templates()
    with pytest.raises(SystemExit, match=message):
        vqa.check()


# Before the model runs


def test_a_missing_judge_is_said(warnings):
    vqa.check()
    vqa.check()
    assert len(warnings) == 1
    assert "judge_acc needs a judge: set LMMS_EVAL_FOOD_JUDGE" in warnings[0]


@pytest.mark.parametrize(("reply", "count"), [("yes", 0), (None, 1)])
def test_a_judge_that_does_not_reply_is_said(reply, count, warnings, monkeypatch):
    monkeypatch.setattr(judging, "configured", lambda: judge_of(Scripted(reply)))
    vqa.check()
    assert len(warnings) == count
    assert all("scripted:judge does not reply" in warning for warning in warnings)


def test_a_configuration_that_does_not_fit_ends_the_run(monkeypatch):
    monkeypatch.setenv("LMMS_EVAL_FOOD_JUDGE", "oracle")
    with pytest.raises(SystemExit, match="LMMS_EVAL_FOOD_JUDGE_MODEL"):
        vqa.check()


def test_missing_packages_are_said_where_there_is_a_judge(warnings, monkeypatch):
    monkeypatch.setattr(judging, "configured", lambda: judge_of(Scripted()))
    monkeypatch.setattr(rouge, "load", missing)
    vqa.check()
    assert len(warnings) == 1
    assert "lmms-eval-food[rouge]" in warnings[0]


def test_neither_judge_nor_rouge_ends_the_run(monkeypatch):
    monkeypatch.setattr(rouge, "load", missing)
    with pytest.raises(SystemExit, match=r"no judge .* and ROUGE needs jieba"):
        vqa.check()
