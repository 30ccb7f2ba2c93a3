"""The texts that ask a judge about an answer: packaged, or a file of the user's."""

from __future__ import annotations

import functools
import importlib.resources
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.tasks.judging import JudgeError

VARIABLE = "LMMS_EVAL_FOOD_JUDGE_PROMPTS"
LANGUAGES = ("zh", "en")

_PLACEHOLDER = re.compile(r"\{(question|truth|answer)\}")
# A looping answer can be longer than a judge's context; refused, it would count as not judged and
# so do better than a wrong one.
_LONGEST_ANSWER = 8_000


@dataclass(frozen=True, slots=True)
class Template:
    """The judge's two turns in one language.

    Attributes:
        system: The system turn, "" for none.
        user: The user turn with {question}, {truth} and {answer} in it.
    """

    system: str
    user: str

    @property
    def text(self) -> str:
        """Both turns, for a hash."""
        return f"{self.system}\n\n{self.user}"

    def fill(self, question: str, truth: str, answer: str) -> str:
        """Return the user turn about one answer.

        Of an answer of more than 8,000 characters the middle is left out.
        """
        values = {"question": question, "truth": truth, "answer": _shortened(answer)}
        # In one pass: an answer may hold a placeholder of its own.
        return _PLACEHOLDER.sub(lambda match: values[match[1]], self.user)


@functools.cache
def templates() -> Mapping[str, Template]:
    """Return the run's templates by language.

    Raises:
        JudgeError: the file that `LMMS_EVAL_FOOD_JUDGE_PROMPTS` names does not fit.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return _read(Path(chosen).expanduser(), chosen)
    packaged = importlib.resources.files("lmms_eval_food.tasks.diningbench") / "judge_prompts.yaml"
    return _read(packaged, "judge_prompts.yaml")


def _read(file: Any, name: str) -> Mapping[str, Template]:
    try:
        table = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise JudgeError(f"{VARIABLE}: {name} cannot be read: {error}") from error
    return {language: _template(table, language, name) for language in LANGUAGES}


def _template(table: Any, language: str, name: str) -> Template:
    turns = table.get(language) if isinstance(table, dict) else None
    user = turns.get("user") if isinstance(turns, dict) else None
    system = turns.get("system", "") if isinstance(turns, dict) else None
    if not isinstance(user, str) or not isinstance(system, str):
        raise JudgeError(f"{VARIABLE}: {name} must hold {language}.user, and may {language}.system")
    absent = {"question", "truth", "answer"} - set(_PLACEHOLDER.findall(user))
    if absent:
        shown = ", ".join(f"{{{word}}}" for word in sorted(absent))
        raise JudgeError(f"{VARIABLE}: {language}.user of {name} lacks {shown}")
    return Template(system, user)


def _shortened(answer: str) -> str:
    if len(answer) <= _LONGEST_ANSWER:
        return answer
    half = _LONGEST_ANSWER // 2
    return f"{answer[:half]}\n[…]\n{answer[-half:]}"
