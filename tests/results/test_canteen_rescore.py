import importlib

import numpy as np
import pytest
from canteen_runs import FAILED, canteen_run, row, titled, tray
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.matchers import MatcherError
from lmms_eval_food.results.canteen import canteen_tables, open_matcher, rescore, rescored
from lmms_eval_food.tasks.canteen.record import TrayRecord

# The package shows the function of this name, which hides the module.
MODULE = importlib.import_module("lmms_eval_food.results.canteen.rescore")


class FirstLetter:
    """Names are alike when their first letters are; counts how often it is asked."""

    name = "first letter"
    fingerprint = "first letter v1"

    def __init__(self):
        self.calls = 0

    def score(self, jobs):
        self.calls += 1
        return [
            np.array([[float(p[:1] == t[:1]) for t in trues] for p in preds]).reshape(
                len(preds), len(trues)
            )
            for preds, trues in jobs
        ]


LOG = [
    tray("1.jpg", [("rice", 100.0), ("tea", 20.0)], [("risotto", 90.0)]),
    tray("2.jpg", [("soup", 200.0)]),
    tray("3.jpg", [("soup", 200.0)], status="failed", raw=FAILED),
]


@pytest.fixture
def records():
    return [TrayRecord.from_dict(record) for record in LOG]


def test_only_similarity_and_matcher_change(records):
    found = rescore(records, FirstLetter())
    assert [record.similarity for record in found] == [[[1.0, 0.0]], [], []]
    assert {record.matcher for record in found} == {"first letter v1"}
    for before, after in zip(records, found, strict=True):
        kept = {**after.to_dict(), "similarity": before.similarity, "matcher": before.matcher}
        assert kept == before.to_dict()


def test_all_names_go_in_one_call(records):
    matcher = FirstLetter()
    rescore(records, matcher)
    assert matcher.calls == 1


def test_nothing_to_score_asks_nothing():
    matcher = FirstLetter()
    assert rescore([], matcher) == []
    assert matcher.calls == 0


def test_the_report_rescores_whole_logs(monkeypatch):
    monkeypatch.setattr(MODULE, "open_matcher", lambda name: FirstLetter())
    run = canteen_run(LOG)
    before = canteen_tables([run], resamples=2)
    after = canteen_tables([rescored(run, "first letter")], resamples=2)
    f1 = [row(titled(found, "recognition and portions"))["F1"] for found in (before, after)]
    # One predicted and three true items.
    assert f1 == [0.0, 2 / 4]
    assert "first letter v1" in titled(after, "runs").note
    # The run itself stays as it was read.
    assert run.records["canteen_portions"]["robust"][0]["matcher"] == "equal names"
    assert "logged with equal names >= 0.5" in titled(after, "runs").note


class Undecided(FirstLetter):
    def score(self, jobs):
        return [scores * np.nan for scores in super().score(jobs)]


def test_pairs_without_a_verdict_match_nothing_and_mark_the_run(monkeypatch):
    monkeypatch.setattr(MODULE, "open_matcher", lambda name: Undecided())
    tables = canteen_tables([rescored(canteen_run(LOG[:2]), "a judge")], resamples=2)
    found = row(titled(tables, "runs"))
    assert found["status"] == "2 pairs of food names without a verdict"
    assert row(titled(tables, "recognition and portions"))["tp"] == 0


def test_what_stays_as_logged_says_nothing_of_rescoring(monkeypatch):
    run = canteen_run(LOG)
    assert rescored(run) is run
    assert rescored(canteen_run(LOG, task="diningbench_cls"), threshold=0.7).records.keys()
    monkeypatch.setattr(MODULE, "open_matcher", lambda name: FirstLetter())
    same = canteen_run([{**record, "matcher": "first letter v1"} for record in LOG])
    records = rescored(same, "first letter").records["canteen_portions"]["robust"]
    assert not any("logged_with" in record for record in records)


@pytest.mark.parametrize("threshold", [-0.1, 1.5, float("nan")])
def test_bad_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match=r"lie in \[0, 1\]"):
        rescored(canteen_run(LOG), threshold=threshold)


def test_unknown_matchers_are_refused():
    with pytest.raises(MatcherError, match="no matcher 'nonsense'"):
        open_matcher("nonsense")


def test_the_judge_must_be_configured(monkeypatch):
    monkeypatch.delenv("LMMS_EVAL_FOOD_JUDGE", raising=False)
    from lmms_eval_food.tasks import judging

    judging.configured.cache_clear()
    with pytest.raises(MatcherError, match="LMMS_EVAL_FOOD_JUDGE_MODEL"):
        open_matcher("judge")


@given(st.lists(st.lists(st.sampled_from(["rice", "tea", ""]), max_size=3), max_size=3))
def test_shapes_fit_the_record(names):
    records = [
        TrayRecord.from_dict(tray(f"{at}.jpg", [("rice", 1.0)] * at, [(n, None) for n in said]))
        for at, said in enumerate(names)
    ]
    for record in rescore(records, FirstLetter()):
        assert len(record.similarity) == len(record.items)
        assert all(len(line) == len(record.foods) for line in record.similarity)
        record.result()
