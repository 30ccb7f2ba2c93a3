"""Every DiningBench task through the host's command line."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path

import pytest
from scipy.stats import binom
from support import HostCall, scores_of

from lmms_eval_food.tasks.diningbench.judge_prompts import templates
from tests.tasks.chance import (
    NUTRIENTS,
    check_random_nutrition,
    check_random_vqa,
    null_nutrition,
    rows_of,
)
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


def test_null_scores_what_it_must_on_every_task(
    host: HostCall, mini_root: Path, tmp_path: Path
) -> None:
    with judging(Bench(default="yes")) as bench:
        environment = judged_by(bench, tmp_path)
        run = host("food_reference", "predictor=null", TASKS, environment=environment)
    assert len(bench.prompts) == 1  # whether it is there; an empty answer is wrong without asking
    for task, reader in itertools.product(TASKS, READERS):
        score = partial(run.score, task, reader=reader)
        assert score("failed_requests") == 0
        if task.startswith("diningbench_cls"):
            assert (score("acc"), score("unreadable_rate")) == (0, 1)
        elif task.startswith("diningbench_nutrition"):
            for name, value in null_nutrition(rows_of(mini_root, task), reader).items():
                assert score(name) == pytest.approx(value)
            assert score("parse_failure_rate") == 1
            undefined = [f"{nutrient}_{name}" for nutrient in NUTRIENTS for name in ("bias", "r")]
            assert all(math.isnan(score(n)) for n in (*undefined, "atwater_consistency"))
        else:
            assert (score("judge_acc"), score("not_judged")) == (0, 0)
            # The published script leaves out what has no text; ours gives it 0.
            rouge = [score(name) for name in ("rouge_1", "rouge_2", "rouge_l")]
            nothing = math.nan if reader == "official" else 0
            assert rouge == pytest.approx([nothing] * 3, nan_ok=True)


def test_random_scores_what_it_must_on_every_task(
    host: HostCall, mini_root: Path, tmp_path: Path
) -> None:
    """Letters by chance, else the truth of any row; the judge takes equal texts alone for right."""
    same = {
        templates()[language].fill(
            row["prompt"].rpartition("\n")[0], row["ground_truth"], row["ground_truth"]
        ): ["yes"]
        for language, task in (("zh", "diningbench_vqa"), ("en", "diningbench_vqa_en"))
        for row in rows_of(mini_root, task)
    }
    with judging(Bench(behaviours={**same}, default="no")) as bench:
        environment = judged_by(bench, tmp_path)
        run = host("food_reference", "predictor=random,seed=3", TASKS, environment=environment)
    for reader in READERS:
        right = asked = 0
        for task in TASKS:
            rows, score = rows_of(mini_root, task), partial(run.score, task, reader=reader)
            assert score("failed_requests") == 0
            if task.startswith("diningbench_cls"):
                assert score("unreadable_rate") == 0
                found = round(score("acc") * len(rows))
                low, high = binom.interval(0.999, len(rows), 1 / 8)
                assert low <= found <= high
                right, asked = right + found, asked + len(rows)
            elif task.startswith("diningbench_nutrition"):
                assert (score("parse_failure_rate"), score("atwater_consistency")) == (0, 1)
                check_random_nutrition(score, rows, reader)
            else:
                assert score("not_judged") == 0
                check_random_vqa(score, rows)
        low, high = binom.interval(0.999, asked, 1 / 8)
        assert low <= right <= high


def test_without_a_judge_there_is_rouge(host: HostCall) -> None:
    task = "diningbench_vqa_en"
    run = host("food_reference", "predictor=oracle", (task,))
    for reader in READERS:
        assert math.isnan(run.score(task, "judge_acc", reader))
        assert run.score(task, "not_judged", reader) == len(run.records[task][reader])
        assert run.score(task, "rouge_l", reader) == pytest.approx(1)


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
