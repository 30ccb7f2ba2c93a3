"""Every DiningBench task through the host's command line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from support import HostCall, scores_of

from lmms_eval_food.metrics.nutrition import NUTRIENTS
from tests.tasks.judge_server import Bench, Does, judging

pytestmark = pytest.mark.slow
READERS = ("official", "robust")
VIEWS = ("_views2", "_views3", "_views4")
VARIANTS = {
    "diningbench_cls": ("", "_en", "_cot", "_en_cot", *VIEWS),
    "diningbench_nutrition": ("", "_en", "_cot", "_en_cot", *VIEWS),
    "diningbench_vqa": ("", "_en", "_cot", "_en_cot"),
}
TASKS = [f"{name}{variant}" for name, variants in VARIANTS.items() for variant in variants]


def judged_by(bench: Bench, cache: Path) -> dict[str, str]:
    return {
        "LMMS_EVAL_FOOD_JUDGE": "openai",
        "LMMS_EVAL_FOOD_JUDGE_MODEL": "judge",
        "OPENAI_API_KEY": "none",
        "OPENAI_API_URL": f"{bench.url}/v1",
        "XDG_CACHE_HOME": str(cache),
    }


def test_oracle_is_perfect_on_every_task(host: HostCall, tmp_path: Path) -> None:
    with judging(Bench(default="yes")) as bench:
        environment = judged_by(bench, tmp_path)
        run = host("food_reference", "predictor=oracle", TASKS, environment=environment)
    for reader in READERS:
        for task in TASKS:
            assert run.score(task, "failed_requests", reader) == 0
            if task.startswith("diningbench_cls"):
                assert run.score(task, "acc", reader) == 1
            elif task.startswith("diningbench_nutrition"):
                for score in ("mae", "rmse", "mape", "parse_failure_rate", "calories_bias"):
                    assert run.score(task, score, reader) == 0
                assert run.score(task, "protein_r", reader) == pytest.approx(1)
                assert run.score(task, "zero_truths", reader) == 2
            else:
                assert run.score(task, "judge_acc", reader) == 1
                assert run.score(task, "not_judged", reader) == 0
                assert run.score(task, "rouge_1", reader) == pytest.approx(1)
            if "_views" in task or not task.startswith("diningbench_vqa"):
                assert run.score(task, "views_short", reader) == 0


def test_null_and_random_score_what_they_must(host: HostCall) -> None:
    tasks = ("diningbench_cls_views4", "diningbench_nutrition", "diningbench_vqa_en")
    null = host("food_reference", "predictor=null", tasks)
    for reader in READERS:
        assert null.score(tasks[0], "acc", reader) == 0
        assert null.score(tasks[1], "parse_failure_rate", reader) == 1
    true = np.array([record["true"] for record in null.records[tasks[1]]["official"]])
    # The benchmark charges the truth itself, and 100 percent.
    for nutrient, values in zip(NUTRIENTS, true.T, strict=True):
        assert null.score(tasks[1], f"{nutrient}_mae", "official") == pytest.approx(values.mean())
        assert null.score(tasks[1], f"{nutrient}_mape", "official") == pytest.approx(100)
        assert null.score(tasks[1], f"{nutrient}_mape", "robust") == pytest.approx(400)
    # Without a judge there is no accuracy, and ROUGE all the same.
    assert math.isnan(null.score(tasks[2], "judge_acc", "robust"))
    assert null.score(tasks[2], "rouge_l", "robust") == 0

    random = host("food_reference", "predictor=random,seed=3", tasks[:1])
    correct = [record["correct"] for record in random.records[tasks[0]]["robust"]]
    low, high = binom.interval(0.999, len(correct), 1 / 8)
    assert low <= sum(correct) <= high


def test_two_ranks_give_the_numbers_of_one_process(host: HostCall, tmp_path: Path) -> None:
    tasks = ("diningbench_cls_en_cot", "diningbench_nutrition_views3", "diningbench_vqa")
    with judging(Bench(default="no")) as bench:
        environment = judged_by(bench, tmp_path)
        arguments = ("food_reference", "predictor=random,seed=5", tasks)
        one = host(*arguments, environment=environment)
        asked = len(bench.asked)
        two = host(*arguments, ranks=2, environment=environment)
        assert len(bench.asked) == asked  # the judge is asked nothing twice
    assert scores_of(two) == scores_of(one)
    assert two.records == one.records


def test_a_judge_that_fails_leaves_counts_and_a_table(host: HostCall, tmp_path: Path) -> None:
    with judging(Bench(default=Does.NULL)) as bench:
        environment = judged_by(bench, tmp_path)
        task = "diningbench_vqa"
        run = host("food_reference", "predictor=oracle", (task,), environment=environment)
    for reader in READERS:
        assert run.score(task, "not_judged", reader) == len(run.records[task][reader])
        assert math.isnan(run.score(task, "judge_acc", reader))
        assert run.score(task, "rouge_1", reader) == pytest.approx(1)
