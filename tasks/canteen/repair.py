"""The optional second model that rewrites answers without valid JSON (Section 2.2 of the paper).

Chosen by environment: `LMMS_EVAL_FOOD_REPAIR` names one of the host's judge servers (`openai`,
`azure`, `local`; addresses and keys as in `tasks.judging`) and `LMMS_EVAL_FOOD_REPAIR_MODEL` the
model; the paper used Gemma 3 4B. Not set: no second model. Its prompt comes with the prepared data,
and what it has rewritten is kept on disk, so no rerun asks again.
"""

from __future__ import annotations

import functools
import os

from lmms_eval_food.filters.foods import OfficialFoods, RobustFoods, SecondModel
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.judge_answers import AnswerStore
from lmms_eval_food.tasks.judge_server import open_server
from lmms_eval_food.tasks.judging import Judge, JudgeError

# A tray of seven foods is a few hundred tokens of JSON.
_MAX_TOKENS = 4096


@functools.cache
def second_model() -> SecondModel | None:
    """Return the run's second model, None where the environment names none; asks it nothing.

    An environment or data that do not fit end the run with a clear message.
    """
    kind = os.environ.get("LMMS_EVAL_FOOD_REPAIR", "")
    if not kind:
        return None
    model = os.environ.get("LMMS_EVAL_FOOD_REPAIR_MODEL", "")
    prompt = data.data_root() / "canteen" / "prompts" / "repair.txt"
    try:
        if not model:
            raise JudgeError("LMMS_EVAL_FOOD_REPAIR needs LMMS_EVAL_FOOD_REPAIR_MODEL too")
        server = open_server(kind, model, _MAX_TOKENS)
        system = prompt.read_text(encoding="utf-8")
    except (JudgeError, OSError) as error:
        raise SystemExit(f"lmms-eval-food: no second model: {error}") from error
    rewriter = Judge(server, AnswerStore(data.cache_folder() / "repair", server.settings))

    def rewrite(text: str) -> str | None:
        return rewriter.ask([text], system)[0]

    return rewrite


def official_foods() -> OfficialFoods:
    """Return the benchmark's own reading, with the second model where there is one."""
    return OfficialFoods(second_model())


def robust_foods() -> RobustFoods:
    """Return our reading, with the second model where there is one."""
    return RobustFoods(second_model())
