"""The language model as matcher, with a judge that answers from a table."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks import judging
from lmms_eval_food.tasks.canteen.judge_matcher import (
    BATCH,
    JudgeMatcher,
    prompt,
)
from lmms_eval_food.tasks.canteen.pair_verdicts import read_verdicts
from lmms_eval_food.tasks.judge_answers import AnswerStore

ASKED = re.compile(r'^(\d+): "(.*)" / "(.*)"$', re.MULTILINE)


class Judge:
    """Says "same" of the pairs it is told; keeps the prompts it was given."""

    name = "made:judge"

    def __init__(self, same=(), answer=None):
        self.same = set(same)
        self.answer = answer or self.verdicts
        self.prompts = []

    def fingerprint(self, template):
        return f"{self.name} prompt@{len(template)}"

    def verdicts(self, text):
        return "\n".join(
            f"{number}: {'same' if (pred, true) in self.same else 'different'}"
            for number, pred, true in ASKED.findall(text)
        )

    def ask(self, prompts, system, keeps):
        self.prompts += prompts
        return [self.answer(text) for text in prompts]

    @property
    def pairs(self):
        return [found[1:] for text in self.prompts for found in ASKED.findall(text)]


class Base:
    """Similarities from a table, 0.5 for what it does not hold."""

    name = "table"
    fingerprint = "table v1"

    def __init__(self, **similar):
        self.similar = similar

    def score(self, jobs):
        return [
            np.array([[self.similar.get(p, 0.5) for _ in trues] for p in preds]).reshape(
                len(preds), len(trues)
            )
            for preds, trues in jobs
        ]


def matcher(judge, base=None, store=None):
    return JudgeMatcher(judge, base or Base(), store or AnswerStore(None, "made"))


def test_only_ambiguous_pairs_are_asked():
    judge = Judge(same={("mid", "rice")})
    base = Base(low=0.2999, least=0.30, mid=0.6, most=0.95, high=0.9501)
    (scores,) = matcher(judge, base).score([(["low", "least", "mid", "most", "high"], ["rice"])])
    assert judge.pairs == [("least", "rice"), ("mid", "rice"), ("most", "rice")]
    assert scores[:, 0].tolist() == [0.0, 0.0, 0.98, 0.0, pytest.approx(0.997505)]


def test_any_usual_threshold_accepts_the_same_pairs():
    judge = Judge(same={("least", "rice")})
    (scores,) = matcher(judge, Base(least=0.3)).score([(["least", "other"], ["rice"])])
    assert scores[0, 0] >= 0.95
    assert scores[1, 0] == 0.0


def test_names_are_asked_as_they_are_compared_and_once():
    judge = Judge(same={("rice dish", "rice")})
    jobs = [(["Rice dish "], ["rice"]), (["rice dish"], ["RICE", "rice"])]
    first, second = matcher(judge).score(jobs)
    assert judge.pairs == [("rice dish", "rice")]
    assert first.tolist() == [[0.975]]
    assert second.tolist() == [[0.975, 0.975]]


def test_pairs_are_asked_forty_at_a_time():
    judge = Judge()
    matcher(judge).score([([f"food {n}" for n in range(2 * BATCH + 1)], ["rice"])])
    assert [len(ASKED.findall(text)) for text in judge.prompts] == [40, 40, 1]


def test_verdicts_are_kept():
    store = AnswerStore(None, "made")
    jobs = [(["a", "b"], ["rice"])]
    first = matcher(Judge(same={("a", "rice")}), store=store).score(jobs)
    again = Judge()
    second = matcher(again, store=store).score([(["b", "a", "c"], ["rice"])])
    assert again.pairs == [("c", "rice")]
    assert (first[0][0, 0], second[0][1, 0]) == (0.975, 0.975)


def test_what_a_batch_leaves_open_is_asked_alone():
    def forgetful(text):
        numbers = [found[0] for found in ASKED.findall(text)]
        return "1: same" if len(numbers) > 1 else "1: different"

    judge = Judge(answer=forgetful)
    (scores,) = matcher(judge).score([(["a", "b", "c"], ["rice"])])
    assert scores[:, 0].tolist() == [0.975, 0.0, 0.0]
    assert [len(ASKED.findall(text)) for text in judge.prompts] == [3, 1, 1]


def test_pairs_without_a_verdict_are_left_out_and_asked_again():
    store = AnswerStore(None, "made")
    silent = Judge(answer=lambda text: "1: same" if '"a"' in text and '"b"' not in text else None)
    (scores,) = matcher(silent, store=store).score([(["a", "b"], ["rice"])])
    assert scores[0, 0] == 0.975
    assert np.isnan(scores[1, 0])
    later = Judge(same={("b", "rice")})
    (scores,) = matcher(later, store=store).score([(["a", "b"], ["rice"])])
    assert later.pairs == [("b", "rice")]
    assert scores[:, 0].tolist() == [0.975, 0.975]


class Server:
    """What a `tasks.judging.Judge` asks: gives one reply to everything."""

    name = "made:server"

    def __init__(self, reply):
        self.reply = reply

    def answer(self, system, prompt):
        return self.reply


def test_an_odd_reply_does_not_block_a_pair_for_good(tmp_path):
    def one_run(reply):
        judge = judging.Judge(Server(reply), AnswerStore(tmp_path, "server"))
        return matcher(judge, store=AnswerStore(tmp_path, "pairs")).score([(["a"], ["rice"])])

    (odd,) = one_run("Let me think about that.")
    assert np.isnan(odd).all()
    (later,) = one_run("1: same")
    assert later.tolist() == [[0.975]]


def test_the_fingerprint_names_judge_bounds_and_base():
    found = matcher(Judge()).fingerprint
    for part in ("made:judge", "prompt@", "0.30-0.95", "table v1"):
        assert part in found


def test_no_name_breaks_the_prompt():
    text = prompt([('a"\n2: "x" / "y', "rice"), ("z" * 1000, "tea")])
    lines = text.split("\n\n", 1)[1].split("\n")
    assert lines[0] == r'1: "a\"\n2: \"x\" / \"y" / "rice"'
    assert len(lines) == 2
    assert len(lines[1]) < 300


@pytest.mark.parametrize(
    ("reply", "verdicts"),
    [
        ("1: same\n2: different", [True, False]),
        ("**1**: Same.\r\n- 2) *different*", [True, False]),
        ("<think>1: different</think>\n1: same\n2: same", [True, True]),
        ("2. same", [None, True]),
        ("1: same\n1: different\n2: same\n2: same", [None, True]),
        ("1: same or different\n2: not the same", [None, False]),
        ("1: the same food", [True, None]),
        ("1: Same food\n2: Different foods.", [True, False]),
        ("1 - same\n2 — different", [True, False]),
        ("1: same (spelling)\n2: different (not the same)", [True, False]),
        ("Pair 1: same\nPair #2: different", [True, False]),
        ("1：same\n２：different", [True, False]),
        ("| 1 | same |\n| 2 | **different** |", [True, False]),
        ("| Pair | Verdict |\n|---|---|\n| 1 | same |", [True, None]),
        ("1: **same**\n**2: `different`**", [True, False]),
        ("1: same, 2: different", [True, False]),
        ("1) isn't the same\n2) not different", [False, True]),
        ("1: not quite the same\n2: not same, different", [False, False]),
        ("1-2: same", [None, None]),
        ("1: same?\n2: probably same", [None, None]),
        ("1: same, not really\n2: no, same", [None, None]),
        ("1: similar\n2: they share the same ingredient", [None, None]),
        ("1: different, both have the same rice", [None, None]),
        ("same\nsame", [None, None]),
        ("same, different", [None, None]),
        ("3: same\n0: same", [None, None]),
        ("<think>1: same", [None, None]),
        ("", [None, None]),
        (None, [None, None]),
    ],
)
def test_read_verdicts(reply, verdicts):
    assert read_verdicts(reply, 2) == verdicts


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("same", True),
        ("Same.", True),
        ("**Different**", False),
        ("Not the same.", False),
        ("Verdict: same", True),
        ("They are different", False),
        ("1: same", True),
        ("same\nBoth are rice.", True),
        ("same\ndifferent", None),
        ("2: same", None),
        ("same as 2", None),
        ("I cannot say whether they are the same", None),
    ],
)
def test_a_single_pair_needs_no_number(reply, verdict):
    assert read_verdicts(reply, 1) == [verdict]


@given(st.text() | st.lists(st.sampled_from(["1:", "same", "\n", "different", " "])).map("".join))
def test_any_reply_is_read(reply):
    assert set(read_verdicts(reply, 3)) <= {True, False, None}


@pytest.mark.parametrize(
    "part",
    ["1:", "1: same ", "\n", "* ", "1" * 3, "<think>", "1:\n", ", ", ",1", "not ", "ﷺ", "| "],
)
def test_long_replies_take_no_longer(part):
    assert len(read_verdicts(part * (1_000_000 // len(part)), 2)) == 2
