"""A language model as judge, asked through the host's `llm_judge` servers.

Chosen by environment:

- `LMMS_EVAL_FOOD_JUDGE`: which of the host's servers, `openai` (anything that speaks its
  protocol), `azure` or `local`. Not set: there is no judge.
- `LMMS_EVAL_FOOD_JUDGE_MODEL`: the judge's name (Azure: the deployment).

Address and key are the host's own variables: `OPENAI_API_URL` and `OPENAI_API_KEY`;
`AZURE_ENDPOINT`, `AZURE_API_KEY` and `API_VERSION`; `LLM_JUDGE_URL` (the whole address with
`/v1/chat/completions`, no key).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from loguru import logger
from tqdm import tqdm

from lmms_eval_food.filters.reading import writable
from lmms_eval_food.tasks import data
from lmms_eval_food.tasks.judge_answers import AnswerStore
from lmms_eval_food.tasks.judge_server import JudgeError, JudgeServer, NoAnswerError, open_server

__all__ = ["Counts", "Judge", "JudgeError", "configured"]

CONCURRENCY = 16
# So many failures in a row mean that the judge is gone; waiting for each would take hours.
_GIVE_UP_AFTER = 30
_PROBE = "Reply with one word: yes"


@dataclass(frozen=True, slots=True)
class Counts:
    """What became of the prompts a judge was given in this process.

    Attributes:
        answered: Sent, and answered.
        reused: Taken from what was answered before, in this run or an earlier one.
        failed: Left without an answer: error, time-out, refusal, or no text in the reply.
    """

    answered: int
    reused: int
    failed: int


Keeps = Callable[[str], bool]


class Judge:
    """Asks one model, and asks nothing twice; safe for several threads and processes.

    Args:
        server: What answers a prompt.
        store: What was answered before.
        concurrency: How many prompts are under way at once, over all threads.
    """

    def __init__(
        self, server: JudgeServer, store: AnswerStore, concurrency: int = CONCURRENCY
    ) -> None:
        self._server = server
        self._store = store
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="judge")
        self._lock = threading.Lock()
        self._running: dict[str, Future[str | None]] = {}
        self._not_kept: dict[str, str] = {}
        self._counts = {"answered": 0, "reused": 0, "failed": 0}
        self._failed_in_a_row = 0

    @property
    def name(self) -> str:
        """Server and model, e.g. "openai:gpt-4o"."""
        return self._server.name

    @property
    def counts(self) -> Counts:
        """What became of the prompts so far."""
        with self._lock:
            return Counts(**self._counts)

    def fingerprint(self, template: str) -> str:
        """Return server, model and a hash of the prompt's template; goes into every result."""
        return f"{self.name} prompt@{hashlib.sha256(template.encode()).hexdigest()[:8]}"

    def replies(self) -> bool:
        """Tell whether the judge replies to a short prompt, once ever: its reply is kept too."""
        return self.ask([_PROBE]) != [None]

    def ask(
        self, prompts: Sequence[str], system: str = "", keeps: Keeps = lambda reply: True
    ) -> list[str | None]:
        """Return the judge's reply to each prompt, None where it gave none.

        Equal prompts are asked once, and what was ever answered is not asked again. A failure is
        not kept: the next call asks again. After 30 failures in a row nothing more is asked. Raises
        only what `keeps` does.

        Args:
            prompts: User turns; [] gives [].
            system: System turn of all of them, "" for none.
            keeps: Tells whether a reply says what was asked for. One that does not serves this
                process alone: the next run asks again, also where an earlier one had kept it.
        """
        sent = [(writable(system), writable(prompt)) for prompt in prompts]
        keys = [_key(*turns) for turns in sent]
        wanted = dict(zip(keys, sent, strict=True))
        known: dict[str, str | None] = {**self._known(wanted, keeps)}
        self._count("reused", len(known))
        missing = {key: turns for key, turns in wanted.items() if key not in known}
        futures = {key: self._submit(key, *turns, keeps) for key, turns in missing.items()}
        known |= self._wait(futures)
        return [known[key] for key in keys]

    def _known(self, keys: Iterable[str], keeps: Keeps) -> dict[str, str]:
        """Return what was answered before: kept replies, and this process's others."""
        wanted = list(keys)
        kept = {key: reply for key, reply in self._store.get(wanted).items() if keeps(reply)}
        with self._lock:
            others = {key: self._not_kept[key] for key in wanted if key in self._not_kept}
        return others | kept

    def _wait(self, futures: dict[str, Future[str | None]]) -> dict[str, str | None]:
        try:
            done = as_completed(futures.values())
            for _ in tqdm(done, "Judging", len(futures), disable=len(futures) < 2):
                pass
        except BaseException:
            # An interrupted run must not wait for what is still queued.
            for future in futures.values():
                future.cancel()
            raise
        return {key: future.result() for key, future in futures.items()}

    def _submit(self, key: str, system: str, prompt: str, keeps: Keeps) -> Future[str | None]:
        with self._lock:
            # Another thread may be asking the same, or may just have been answered.
            if key not in self._running:
                self._running[key] = self._pool.submit(self._answer, key, system, prompt, keeps)
            return self._running[key]

    def _answer(self, key: str, system: str, prompt: str, keeps: Keeps) -> str | None:
        try:
            known = self._known([key], keeps)
            if key in known:
                return known[key]
            answer = self._asked(system, prompt)
            if answer is not None and keeps(answer):
                # What is stored by now was kept by an earlier version, and says nothing.
                self._store.put(key, answer, replace=bool(self._store.get([key])))
            elif answer is not None:
                with self._lock:
                    self._not_kept[key] = answer
            return answer
        finally:
            with self._lock:
                del self._running[key]

    def _asked(self, system: str, prompt: str) -> str | None:
        if self._failed_in_a_row >= _GIVE_UP_AFTER:
            self._count("failed")
            return None
        try:
            answer: str = writable(self._server.answer(system, prompt))
        except NoAnswerError as error:
            self._count("failed")
            self._note_failure(error)
            return None
        self._count("answered")
        self._failed_in_a_row = 0
        return answer

    def _note_failure(self, error: NoAnswerError) -> None:
        with self._lock:
            self._failed_in_a_row += 1
            if self._failed_in_a_row == _GIVE_UP_AFTER:
                logger.warning(
                    f"judge {self.name}: {_GIVE_UP_AFTER} failures in a row, the last: {error}. "
                    "It is asked nothing more in this run; a rerun asks what is missing."
                )

    def _count(self, what: str, number: int = 1) -> None:
        with self._lock:
            self._counts[what] += number


def _key(system: str, prompt: str) -> str:
    return hashlib.sha256(json.dumps([system, prompt]).encode()).hexdigest()


@functools.cache
def configured() -> Judge | None:
    """Return the run's judge, None where the environment names none; asks it nothing.

    Its answers are kept by server, model, settings and prompt in our folder of the user's cache.
    The address is no part of that, so that a server may move between runs: models that differ
    must not go by one name.

    Raises:
        JudgeError: the environment does not fit.
    """
    kind = os.environ.get("LMMS_EVAL_FOOD_JUDGE", "")
    if not kind:
        return None
    model = os.environ.get("LMMS_EVAL_FOOD_JUDGE_MODEL", "")
    if not model:
        raise JudgeError(
            "LMMS_EVAL_FOOD_JUDGE is set: name its model in LMMS_EVAL_FOOD_JUDGE_MODEL"
        )
    server = open_server(kind, model)
    return Judge(server, AnswerStore(data.cache_folder() / "judge", server.settings))
