"""A language model as matcher: it says which ambiguous pairs of names are the same food.

It is threshold-free: a pair is the same food or is not. Another matcher's similarity decides the
clear pairs and orders the rest, so that few pairs are asked and pairing stays one to one.

Source: the canteen paper, Section 2.2.2 (GPT-5.2 as binary judge of similarity-ambiguous pairs).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence

import numpy as np
from loguru import logger

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray
from lmms_eval_food.metrics.matchers import DECIMALS, Job, Matcher, MatcherError
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.canteen.pair_verdicts import read_verdicts
from lmms_eval_food.tasks.judge_answers import AnswerStore
from lmms_eval_food.tasks.judging import Judge, JudgeError, configured

# What `results.canteen.open_matcher` knows it by.
JUDGE = "judge"
# Similarities that are asked, ends included; below is another food, above the same one.
LOWEST, HIGHEST = 0.30, 0.95
BATCH = 40
SYSTEM = (
    "You compare names of foods. Two names are the same if a person who logs a meal would accept "
    "one in place of the other: spelling, word order, language, cooking words and details may "
    "differ. They are different if the foods differ, or if they share only an ingredient."
)
ASK = (
    "For each numbered pair of names, say whether both name the same food. Answer with one line a "
    "pair and nothing else: the number, a colon, and the word same or different.\n\n"
)
# No name of a food is longer; what a broken answer puts in its place would fill the prompt.
_LONGEST_NAME = 200

# One (predicted, true) pair of normalised names.
Pair = tuple[str, str]


class JudgeMatcher:
    """A `metrics.matchers.Matcher` whose ambiguous pairs a language model decides.

    Scores are 0 for different foods and from 0.95 to 1 for equal ones, rising with the similarity
    of the other matcher: any threshold up to 0.95 accepts the same pairs. A pair that should have
    been asked and got no verdict scores nan, which no threshold accepts; it is asked again the next
    time.

    Args:
        judge: Answers prompts.
        base: Gives the similarities.
        store: Verdicts of earlier runs.
    """

    name = JUDGE

    def __init__(self, judge: Judge, base: Matcher, store: AnswerStore) -> None:
        self._judge = judge
        self._base = base
        self._store = store

    @property
    def fingerprint(self) -> str:
        """Judge, prompt, bounds and the other matcher."""
        asked = f"{LOWEST:.2f}-{HIGHEST:.2f}"
        return f"{self._judge.fingerprint(SYSTEM + ASK)} on {asked} of {self._base.fingerprint}"

    def score(self, jobs: Sequence[Job]) -> list[FloatArray]:
        """Return one matrix of scores a photo, nan for pairs without a verdict."""
        names = [tuple([normalise(name) for name in side] for side in job) for job in jobs]
        similar = self._base.score(jobs)
        asked = [(scores >= LOWEST) & (scores <= HIGHEST) for scores in similar]
        pairs = dict.fromkeys(
            (preds[row], trues[column])
            for (preds, trues), wanted in zip(names, asked, strict=True)
            for row, column in np.argwhere(wanted).tolist()
        )
        same = self._verdicts(list(pairs))
        return [
            _decided(scores, wanted, [[same.get((p, t), math.nan) for t in trues] for p in preds])
            for scores, wanted, (preds, trues) in zip(similar, asked, names, strict=True)
        ]

    def _verdicts(self, pairs: list[Pair]) -> dict[Pair, bool]:
        keys = {pair: json.dumps(pair) for pair in pairs}
        known = self._store.get(keys.values())
        verdicts = {pair: known[key] == "same" for pair, key in keys.items() if key in known}
        # What a batch leaves open is asked once more, pair by pair.
        for size in (BATCH, 1):
            missing = [pair for pair in pairs if pair not in verdicts]
            found = self._ask(missing, size)
            for pair, same in found.items():
                self._store.put(keys[pair], "same" if same else "different")
            verdicts |= found
        if len(verdicts) < len(pairs):
            logger.warning(
                f"judge {self._judge.name}: {len(pairs) - len(verdicts)} of {len(pairs)} pairs of "
                "food names got no verdict and match nothing; a rerun asks only these"
            )
        return verdicts

    def _ask(self, pairs: Sequence[Pair], size: int) -> dict[Pair, bool]:
        batches = [pairs[start : start + size] for start in range(0, len(pairs), size)]
        # Verdicts are kept by pair; a reply without any must not be handed out for good.
        replies = self._judge.ask(
            [prompt(batch) for batch in batches],
            SYSTEM,
            lambda reply: any(verdict is not None for verdict in read_verdicts(reply, size)),
        )
        return {
            pair: verdict
            for batch, reply in zip(batches, replies, strict=True)
            for pair, verdict in zip(batch, read_verdicts(reply, len(batch)), strict=True)
            if verdict is not None
        }


def judge_matcher(base: Matcher) -> JudgeMatcher:
    """Return the configured judge as a matcher on top of another one.

    Raises:
        MatcherError: no judge is configured, or its configuration does not fit.
    """
    try:
        judge = configured()
    except JudgeError as error:
        raise MatcherError(str(error)) from error
    if judge is None:
        raise MatcherError(
            f"the matcher {JUDGE!r} needs a language model: set LMMS_EVAL_FOOD_JUDGE and "
            "LMMS_EVAL_FOOD_JUDGE_MODEL"
        )
    store = AnswerStore(data.cache_folder() / "judge", judge.fingerprint(SYSTEM + ASK))
    return JudgeMatcher(judge, base, store)


def prompt(pairs: Iterable[Pair]) -> str:
    """Return the question about some pairs, one numbered line each; names as JSON strings."""
    lines = [
        f"{number}: {_quoted(pred)} / {_quoted(true)}"
        for number, (pred, true) in enumerate(pairs, 1)
    ]
    return ASK + "\n".join(lines)


def _quoted(name: str) -> str:
    cut = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
    return json.dumps(cut, ensure_ascii=False)


def _decided(scores: FloatArray, asked: BoolArray, same: Sequence[Sequence[float]]) -> FloatArray:
    """Return the final scores of one photo; `same` is 1, 0 or nan for no verdict."""
    verdicts = np.array(same, dtype=np.float64).reshape(scores.shape)
    accepted = (scores > HIGHEST) | (asked & (verdicts == 1))
    raised = HIGHEST + (1 - HIGHEST) * np.clip(scores, 0.0, 1.0)
    decided = np.where(accepted, raised, 0.0)
    return np.asarray(np.where(asked & np.isnan(verdicts), np.nan, decided).round(DECIMALS))
