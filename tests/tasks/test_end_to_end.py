"""The three tasks through the host's own command line, on data and models made on the spot."""

from __future__ import annotations

import json
import math
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from support import ALL_TASKS, HostCall, scores_of

from lmms_eval_food.results.provenance import run_provenance
from lmms_eval_food.tasks import data

pytestmark = pytest.mark.slow
READERS = ("official", "robust")


def test_oracle_is_perfect(host: HostCall) -> None:
    run = host("food_reference", "predictor=oracle")
    for reader in READERS:
        for task in ("diningbench_cls", "culturalmenu_binary"):
            accuracies = {
                name: value
                for name, value in run.results["results"][task].items()
                if name.startswith("acc") and name.endswith(f",{reader}") and "stderr" not in name
            }
            assert set(accuracies.values()) == {1.0}
            assert run.score(task, "unreadable_rate", reader) == 0
            assert run.score(task, "failed_requests", reader) == 0
        for score in ("f1", "f1_at_90", "precision", "recall"):
            assert run.score("canteen_portions", score, reader) == 1
        for score in ("mae", "medae", "rmse", "nmae", "cpmae", "cpmae_fp", "meal_ae"):
            assert run.score("canteen_portions", score, reader) == 0
        assert run.score("culturalmenu_binary", "yes_rate", reader) == 0.5
        assert run.score("culturalmenu_binary", "other_language", reader) == 0


def test_results_name_the_versions_that_made_them(host: HostCall) -> None:
    run = host("food_reference", "predictor=null", ["canteen_portions"], ["--limit", "1"])
    made = run.results["configs"]["canteen_portions"]["metadata"]["made_with"]
    assert made["lmms-eval"] == version("lmms-eval")
    assert made["lmms-eval-food"] == version("lmms-eval-food")
    assert f"lmms-eval {version('lmms-eval')}" in run_provenance(run)["versions"]


def test_random_is_chance_and_null_is_nothing(host: HostCall) -> None:
    run = host("food_reference", "predictor=random,seed=1")
    for task, chance in (("diningbench_cls", 1 / 8), ("culturalmenu_binary", 1 / 2)):
        correct = [record["correct"] for record in run.records[task]["robust"]]
        low, high = binom.interval(0.999, len(correct), chance)
        assert low <= sum(correct) <= high
        assert run.score(task, "acc", "robust") == sum(correct) / len(correct)

    null = host("food_reference", "predictor=null")
    for reader in READERS:
        for task in ("diningbench_cls", "culturalmenu_binary"):
            assert null.score(task, "acc", reader) == 0
            assert null.score(task, "unreadable_rate", reader) == 1
        weights = [
            g for record in null.records["canteen_portions"][reader] for g in record["grams"]
        ]
        assert null.score("canteen_portions", "nmae", reader) == pytest.approx(129, rel=1e-12)
        assert null.score("canteen_portions", "cpmae", reader) == pytest.approx(np.mean(weights))
        assert null.score("canteen_portions", "f1", reader) == 0
        assert math.isnan(null.score("canteen_portions", "precision", reader))


@pytest.mark.parametrize("options", [(), ("--limit", "7", "--offset", "3")])
def test_two_ranks_give_the_numbers_of_one_process(
    host: HostCall, options: tuple[str, ...]
) -> None:
    arguments = ("food_reference", "predictor=random,seed=2", ALL_TASKS, options)
    one, two = host(*arguments), host(*arguments, ranks=2)
    assert scores_of(two) == scores_of(one)
    for task in ALL_TASKS:
        for reader in READERS:
            assert two.records[task][reader] == one.records[task][reader]
    if options:
        assert [len(one.records[task]["robust"]) for task in ALL_TASKS] == [7, 7, 7]


def test_replay_scores_answers_and_counts_what_is_missing(
    host: HostCall, mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    cls, canteen = data.load("diningbench", "classification"), data.load("canteen", "portions")
    answers: list[dict[str, Any]] = [
        {"task": "diningbench_cls", "doc_id": 0, "response": cls[0]["ground_truth"]},
        {"task": "diningbench_cls", "id": cls[1]["id"], "response": "<think>A?"},
        {"task": "diningbench_cls", "doc_id": 2, "response": ""},
        {"image": canteen[0]["id"], "response": "[]"},
        {"image": canteen[1]["id"], "response": json.dumps([canteen[1]["foods"][0]])},
    ]
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_text("\n".join(map(json.dumps, answers[:3])), encoding="utf-8")
    second.write_text("\n".join(map(json.dumps, answers[3:])), encoding="utf-8")
    tasks = ("diningbench_cls", "canteen_portions")
    run = host("food_replay", f"responses={first},{second}", tasks)

    robust = run.records["diningbench_cls"]["robust"]
    assert [record["status"] for record in robust[:4]] == ["ok", "truncated", "empty", "failed"]
    assert run.score("diningbench_cls", "acc", "robust") == pytest.approx(1 / 3)
    assert run.score("diningbench_cls", "unreadable_rate", "robust") == pytest.approx(2 / 3)
    assert run.score("diningbench_cls", "failed_requests", "robust") == len(cls) - 3
    # DiningBench's own scorer takes a failed request for a wrong answer.
    assert run.score("diningbench_cls", "acc", "official") == pytest.approx(1 / len(cls))
    assert run.score("canteen_portions", "failed_requests", "robust") == len(canteen) - 2
    true = len(canteen[0]["foods"]) + len(canteen[1]["foods"])
    assert run.score("canteen_portions", "recall", "robust") == pytest.approx(1 / true)
    assert run.score("canteen_portions", "matched", "robust") == 0


def test_published_canteen_figures(host: HostCall, published_canteen: Path, tmp_path: Path) -> None:
    from lmms_eval_food.results.cli import main

    root = tmp_path / "root"
    source = ["--from", str(published_canteen), "--without-images"]
    assert main(["prepare", "canteen", *source, "--to", str(root)]) == 0
    task = ("canteen_portions",)

    median = host("food_reference", "predictor=global_median", task, data=root)
    typical = host("food_reference", "predictor=typical_serving", task, data=root)
    null = host("food_reference", "predictor=null", task, data=root)
    for reader in READERS:
        expected = [
            (median, {"mae": 61.254, "medae": 45, "cpmae": 61.254, "f1": 1}),
            (typical, {"mae": 35.417, "medae": 18.75, "cpmae": 35.417, "f1": 1}),
            (null, {"nmae": 129, "cpmae": 151.854, "meal_ae": 660.565, "matched": 0}),
        ]
        for run, figures in expected:
            for name, figure in figures.items():
                assert run.score(task[0], name, reader) == pytest.approx(figure, abs=5e-4), name
    assert "no real pictures" in null.score(task[0], "data", "robust")

    recorded = published_canteen / "recorded" / "gpt-4o_T0.2.jsonl"
    replay = host("food_replay", f"responses={recorded}", task, data=root)
    for reader in READERS:
        statuses = [record["status"] for record in replay.records[task[0]][reader]]
        assert {name: statuses.count(name) for name in set(statuses)} == {"ok": 176, "failed": 24}
        assert replay.score(task[0], "failed_requests", reader) == 24
    assert replay.score(task[0], "meal_ae", "official") == pytest.approx(160.506, abs=5e-4)
    scores = {k: v for k, v in replay.results["results"][task[0]].items() if "stderr" not in k}
    assert not [k for k, v in scores.items() if isinstance(v, float) and math.isnan(v)]
    assert replay.score(task[0], "matcher", "robust") == "minilm >= 0.5"
    fingerprints = {record["matcher"] for record in replay.records[task[0]]["robust"]}
    assert [text.split()[:2] for text in fingerprints] == [
        ["sentence-transformers/all-MiniLM-L6-v2", "sha256:53aa51172d14"]
    ]


def test_missing_data_end_the_run_with_one_message(host: HostCall, tmp_path: Path) -> None:
    from lmms_eval_food.results.host import HostError

    with pytest.raises(HostError) as raised:
        host("food_reference", "predictor=oracle", ("diningbench_cls",), data=tmp_path / "empty")
    log = str(raised.value)
    assert log.count("lmms-eval-food prepare diningbench") == 1
    assert "lmms-eval-food demo" in log
    assert str(tmp_path / "empty") in log
    assert "Retry" not in log


def test_tiny_qwen_runs_all_tasks(host: HostCall, tmp_path: Path) -> None:
    from lmms_eval_food.results.tiny_qwen import make_tiny_qwen

    model = make_tiny_qwen(tmp_path / "qwen")
    arguments = f"pretrained={model},device=cpu,device_map=cpu,min_pixels=3136,max_pixels=3136"
    options = ("--limit", "6", "--gen_kwargs", "max_new_tokens=8")
    run = host("qwen2_5_vl", arguments, ALL_TASKS, options)
    for task in ALL_TASKS:
        assert run.score(task, "failed_requests", "robust") == 0
        for record in run.records[task]["robust"]:
            assert record["status"] != "failed"
            assert record["broken_pictures"] == 0
