"""Checks of what the tasks need beside a model: data, matcher, judge, ROUGE, second model."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_food.metrics import rouge
from lmms_eval_food.metrics.matchers import MatcherError, load_matcher
from lmms_eval_food.results.doctor.finding import Check, Finding, fail, ok, warn
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.canteen import matcher
from lmms_eval_food.tasks.judge_answers import AnswerStore
from lmms_eval_food.tasks.judge_server import JudgeError, open_server
from lmms_eval_food.tasks.judging import Judge
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.staging import check_tables
from lmms_eval_food.tasks.tables import TABLES, missing_images, row_images

Rows = dict[str, list[dict[str, Any]]]


def checks() -> list[Check]:
    """Return the checks of data, matcher, judge, ROUGE and second model."""
    prepared = [
        Check(f"data: {benchmark}", functools.partial(prepared_data, benchmark))
        for benchmark in TABLES
    ]
    return [
        *prepared,
        Check("matcher", food_matcher),
        Check("judge", judge),
        Check("ROUGE", rouge_packages),
        Check("second model", second_model),
    ]


def prepared_data(benchmark: str) -> Finding:
    """Look whether a benchmark's data are in place, whole, and the published ones."""
    folder = data.data_root() / benchmark
    prepare = f"lmms-eval-food prepare {benchmark}"
    if not folder.is_dir():
        return warn(f"not prepared ({folder})", f"{prepare}, to run its tasks")
    try:
        origin = data.read_provenance(folder, benchmark)
        rows = check_tables(benchmark, folder)
    except DataError as error:
        return fail(str(error), f"{prepare} --force")
    counts = ", ".join(f"{table} {len(found)}" for table, found in rows.items())
    most = most_pictures(rows)
    found = f"{origin.kind}@{origin.checksum}: {counts}; at most {most} pictures a prompt"
    pictures = row_images(row for table in rows.values() for row in table)
    missing = missing_images(pictures)
    if missing:
        return fail(
            f"{found}; {len(missing)} of {len(pictures)} pictures are missing, first {missing[0]}",
            f"{prepare} --force",
        )
    if origin.placeholders:
        return warn(f"{found}; grey squares for the pictures", "no result: see the task's README")
    if origin.kind == "mini":
        return warn(f"{found}; made up", f"{prepare}, for results")
    absent = [table for table in TABLES[benchmark] if table not in rows]
    if absent:
        return warn(f"{found}; without {', '.join(absent)}", f"{prepare} --force, for these tasks")
    return ok(found)


def most_pictures(rows: Rows) -> int:
    """Return the largest number of pictures that a question sends; 0 without rows.

    Tables of dishes are no questions.
    """
    questions = (row for table, found in rows.items() if table != "dishes" for row in found)
    return max((len(pictures_of(row)) for row in questions), default=0)


def pictures_of(row: Mapping[str, Any]) -> list[str]:
    """Return the paths of the pictures that a question sends, in order."""
    options: Sequence[Sequence[str]] = row.get("option_images", ())
    return [*row["images"], *(path for option in options for path in option)]


def food_matcher() -> Finding:
    """Look whether the canteen's matcher has its weights and loads; scores one pair."""
    name = os.environ.get("LMMS_EVAL_FOOD_MATCHER", matcher.DEFAULT)
    device = os.environ.get("LMMS_EVAL_FOOD_MATCHER_DEVICE", "cpu")
    try:
        # Without the folder of earlier scores, which would answer in place of the model.
        loaded = load_matcher(name, device=device)
        loaded.score([(["boiled rice"], ["steamed rice"])])
        return ok(f"{name}: {loaded.fingerprint} on {device}")
    except MatcherError as error:
        found = f"{name}: {error}"
        remedy = "or LMMS_EVAL_FOOD_MATCHER=minilm with pip install 'lmms-eval-food[minilm]'"
        if (data.data_root() / "canteen").is_dir():
            return fail(found, remedy)
        return warn(f"{found}; only the canteen tasks need it", remedy)


def judge() -> Finding:
    """Look whether the judge of DiningBench VQA is configured, and ask it for one word."""
    return _model(
        "LMMS_EVAL_FOOD_JUDGE",
        warn(
            "none: diningbench_vqa gets no judge_acc, only ROUGE",
            "set LMMS_EVAL_FOOD_JUDGE and LMMS_EVAL_FOOD_JUDGE_MODEL",
        ),
    )


def second_model() -> Finding:
    """Look whether the canteen's optional second model is configured, and ask it for one word."""
    prompt = data.data_root() / "canteen" / "prompts" / "repair.txt"
    if os.environ.get("LMMS_EVAL_FOOD_REPAIR") and not prompt.is_file():
        return fail(f"its prompt is missing: {prompt}", "lmms-eval-food prepare canteen --force")
    return _model("LMMS_EVAL_FOOD_REPAIR", ok("none; optional"))


def _model(variable: str, absent: Finding) -> Finding:
    kind, model = os.environ.get(variable, ""), os.environ.get(f"{variable}_MODEL", "")
    if not kind:
        return absent
    if not model:
        return fail(f"{variable}={kind} names no model", f"set {variable}_MODEL")
    try:
        server = open_server(kind, model)
    except JudgeError as error:
        return fail(str(error), f"see {variable} in tasks/judging.py")
    # A store in memory: what was answered in an earlier run does not show that it answers now.
    asked = Judge(server, AnswerStore(None, server.settings), concurrency=1)
    if asked.replies():
        return ok(f"{asked.name} replies")
    return fail(f"{asked.name} does not reply", "start it, or check its address and key")


def rouge_packages() -> Finding:
    """Look whether DiningBench VQA's ROUGE can be computed."""
    try:
        rouge.load()
    except rouge.RougeMissingError as error:
        return warn(str(error), "pip install 'lmms-eval-food[rouge]', for diningbench_vqa")
    return ok("rouge-chinese and jieba")
