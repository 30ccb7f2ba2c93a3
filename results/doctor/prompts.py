"""Checks of the largest prompts against the limits of vLLM inside the evaluation process."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from lmms_eval_food.results.doctor.finding import Finding, fail, ok, warn
from lmms_eval_food.results.doctor.run_config import VLLM, RunConfig, our_tasks, sent_limit
from lmms_eval_food.results.doctor.setup import most_pictures, pictures_of
from lmms_eval_food.results.doctor.tasks import task_files
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.plugin import TASK_FOLDER
from lmms_eval_food.tasks.staging import check_tables

# Qwen2-VL and Qwen2.5-VL: a token is 28 x 28 pixels, and a picture has 4 tokens at least and as
# many as this at most (their preprocessor_config.json).
_PIXELS_A_TOKEN = 28 * 28
_LEAST_TOKENS = 4
_MOST_PIXELS = 12_845_056
_COUNTS_SO = ("qwen2-vl", "qwen2.5-vl")
_BYTES_A_TOKEN = 4  # more in few languages only: a prompt is rather longer than estimated

Tables = Mapping[str, Sequence[Mapping[str, Any]]]


def pictures(run: RunConfig) -> Finding:
    """Compare the engine's limit of pictures a prompt with the prepared data."""
    if run.model not in VLLM:
        return ok("the server's limit holds")
    given = run.model_args.get("limit_mm_per_prompt")
    if given is None:
        return ok("limit_mm_per_prompt not set: vLLM's own")
    try:
        allowed = _allowed(str(given))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return fail(
            f"limit_mm_per_prompt={given} is not JSON with a number of pictures",
            'limit_mm_per_prompt={"image":100}',
        )
    counts = {benchmark: most_pictures(_tables(benchmark)) for benchmark in _longest_answers(run)}
    over = [f"{benchmark} {count}" for benchmark, count in counts.items() if count > allowed]
    if over:
        return fail(
            f"limit_mm_per_prompt allows {allowed}, the data need: {', '.join(over)}", "raise it"
        )
    return ok(f"{allowed} allowed; " + ", ".join(f"{b} {n or '?'}" for b, n in counts.items()))


def _allowed(text: str) -> int:
    """Return how many pictures a limit allows; raises several errors where it is no limit."""
    limit = json.loads(text).get("image", sys.maxsize)
    return int(limit["count"] if isinstance(limit, dict) else limit)


def context(run: RunConfig) -> Finding:
    """Look whether the context holds the largest prompts and their answers, by estimate."""
    given = run.model_args.get("max_model_len")
    if run.model not in VLLM or given is None:
        return ok("the server's" if run.model not in VLLM else "max_model_len not set: the model's")
    if not isinstance(given, int) or given < 1:
        return fail(f"max_model_len={given} is no whole number above 0", "max_model_len=98304")
    most = _most_pixels(run)
    shown, short, refused = [], 0, False
    for benchmark, answer in _longest_answers(run).items():
        prompt, number = largest_prompt(_tables(benchmark), most)
        if not prompt:
            continue
        shown.append(f"{benchmark} {number} pictures, {prompt:,} tokens + {answer:,} of answer")
        if prompt + answer > given:
            short = max(short, prompt + answer)
            refused = refused or prompt >= given
    detail = f"max_model_len={given}; as Qwen2.5-VL counts: {'; '.join(shown) or 'no data'}"
    if not short:
        return ok(detail)
    remedy = (
        f'max_model_len={short}, or fewer tokens a picture (mm_processor_kwargs={{"max_pixels":…}})'
    )
    name = str(run.model_args.get("model", "")).lower()
    if refused and any(family in name for family in _COUNTS_SO):
        return fail(f"{detail}: vLLM refuses the largest prompt, and the run ends", remedy)
    return warn(f"{detail}: too long for prompt and answer together", remedy)


def _most_pixels(run: RunConfig) -> int:
    """Return how many pixels of a picture count, where the arguments say it."""
    try:
        limit = json.loads(str(run.model_args.get("mm_processor_kwargs", "{}")))["max_pixels"]
        return min(int(limit), _MOST_PIXELS)
    except (ValueError, TypeError, KeyError, RecursionError):
        return _MOST_PIXELS


def largest_prompt(tables: Tables, most_pixels: int) -> tuple[int, int]:
    """Return about how many tokens the largest prompt has for Qwen2.5-VL, and its pictures.

    Args:
        tables: A benchmark's tables; the one of dishes holds no prompts.
        most_pixels: Pixels of a picture that count.
    """
    rows = [row for table, found in tables.items() if table != "dishes" for row in found]
    if not rows:
        return 0, 0
    known: dict[str, int] = {}

    def tokens(row: Mapping[str, Any]) -> tuple[int, int]:
        paths = pictures_of(row)
        known.update((p, _picture_tokens(p, most_pixels)) for p in paths if p not in known)
        return _text_bytes(row) // _BYTES_A_TOKEN + sum(known[p] for p in paths), len(paths)

    # Only the rows with the most pictures and the most text: their files have to be opened.
    chosen = (max(rows, key=lambda row: len(pictures_of(row))), max(rows, key=_text_bytes))
    return max(map(tokens, chosen))


def _text_bytes(row: Mapping[str, Any]) -> int:
    return sum(len(str(row[name]).encode()) for name in row if name.endswith("prompt"))


def _picture_tokens(path: str, most_pixels: int) -> int:
    from PIL import Image

    try:
        with Image.open(path) as image:
            pixels = image.width * image.height
    except Exception:  # a broken file becomes a small grey square
        pixels = 0
    return max(_LEAST_TOKENS, min(pixels, most_pixels) // _PIXELS_A_TOKEN)


def _longest_answers(run: RunConfig) -> dict[str, int]:
    """Return the longest answer, in tokens, that a run allows in each benchmark."""
    files = task_files(TASK_FOLDER)
    longest: dict[str, int] = {}
    for task in our_tasks(run, files):
        file = files[task]
        answer = sent_limit(run, file.limit)
        longest[file.benchmark] = max(answer, longest.get(file.benchmark, 0))
    return longest


def _tables(benchmark: str) -> dict[str, list[dict[str, Any]]]:
    """Return a benchmark's prepared tables, none where it is not prepared."""
    folder = data.data_root() / benchmark
    return check_tables(benchmark, folder) if folder.is_dir() else {}
