"""Makes lmms-eval's response cache (`--use_cache FOLDER`) safe for our tasks.

As it stands, the cache of lmms-eval 0.7.3

- does not look at pictures, and in the chat form not at prompts, so it serves answers to others;
- stores the text that stands for a failed request as an answer, and so async_openai's text for a
  reply without content;
- loses every answer of a backend that completes the generation settings it is given (async_openai
  does): it then stores under another key than it looks up;
- stores nothing before the last request is answered, so a killed run leaves nothing;
- never reads what a killed run left;
- calls a vLLM of several ranks on each rank as often as that rank has answers missing.

`install` wraps `ResponseCache.execute`. What our tasks still lack is asked in portions, each stored
before the next one begins; the key also holds a digest of what the model is sent (`cache_key`);
failures and empty answers are handed on but not stored; and answers that killed runs left in the
same folder are taken over (`cache_rows`). Before the first portion the largest prompts of all are
tried (`rehearsal`). Ranks that share a vLLM call it equally often with equally many requests: who
lacks fewer answers repeats one of its own requests and drops the answer (`ranks`). Requests of
other tasks go their old way.

A portion is LMMS_CACHE_CHECKPOINT_INTERVAL requests (256 unless set), but whole batches and eight
times the requests in flight at least; a kill costs the answers of the portion that it hits. What
stays as the host has it: its key holds the model's arguments as typed and the commit of the folder
that it was started in, so another spelling or a new commit asks everything again; a run that is
killed while it merges leaves `runs/.merge.lock`, at which later runs wait a minute before they go
on without merging, until it is removed; and it stores no sampled answer (temperature above 0,
do_sample, several answers): that is right, since two repeats would share one answer, but a killed
run then begins again, which a warning says at its start.
"""

from __future__ import annotations

import functools
import math
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NoReturn, cast

from loguru import logger

from lmms_eval_food.filters.reading import unanswered
from lmms_eval_food.tasks import cache_key, cache_rows, ranks, rehearsal

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

REQUEST_TYPE = "generate_until"
PORTION = 256  # the host's own interval between two checkpoints
ROUNDS = 8  # so many times the requests in flight: the last of a portion are waited for
COUNTERS = ("_hits", "_hits_shared", "_misses", "_skipped")

Execute = Callable[..., list[Any]]

_install_lock = threading.Lock()


def install() -> None:
    """Wrap the host's cache; a host without it gets a warning. Calling it again changes nothing."""
    from lmms_eval.caching import response_cache

    cache = getattr(response_cache, "ResponseCache", None)
    with _install_lock:
        execute, merge = getattr(cache, "execute", None), getattr(cache, "merge_shards", None)
        if cache is None or execute is None or merge is None:
            warnings.warn(
                "lmms-eval-food: this lmms-eval has no ResponseCache.execute and merge_shards. Do "
                "not use --use_cache with it: failed requests would be taken for answers, and "
                "changed pictures would not be seen.",
                stacklevel=2,
            )
        elif not getattr(execute, "knows_food_tasks", False):
            cache.execute = _safe_for_our_tasks(execute)
            cache.merge_shards = staticmethod(cache_rows.merging_without_blanks(merge))


def _safe_for_our_tasks(original: Execute) -> Execute:
    @functools.wraps(original)
    def execute(self: Any, lm: Any, reqtype: str, requests: list[Instance]) -> list[Any]:
        ours = [n for n, request in enumerate(requests) if cache_key.config_of(request) is not None]
        # A rank that has none of ours still has to keep step with those that do.
        if reqtype != REQUEST_TYPE or not (ours or ranks.in_step(lm)):
            return original(self, lm, reqtype, requests)
        answers: list[Any] = [None] * len(requests)
        others = sorted(set(range(len(requests))) - set(ours))
        model = _Model(lm, [requests[n] for n in ours], requests[-1:])
        for place, answer in zip(ours, _answers(self, original, model), strict=True):
            answers[place] = answer
        theirs = original(self, lm, reqtype, [requests[n] for n in others])
        for place, answer in zip(others, theirs, strict=True):
            answers[place] = answer
        return answers

    cast(Any, execute).knows_food_tasks = True
    return execute


def _answers(cache: Any, original: Execute, model: _Model) -> list[Any]:
    """Return an answer a request: the cache's where it has one, the model's for the others."""
    lm = model.lm
    cache_rows.prepare(cache, {request.task_name for request in model.keyed})
    missing = _missing(cache, original, model.keyed)
    _warn_of_sampling(missing)
    mine = (len(model.keyed), len(missing), {request.task_name for request in missing})
    owned, numbers, tasks = zip(*ranks.gathered(lm, mine), strict=True)
    longest = max(numbers)
    answers: dict[int, Any] = {}

    def ask(keyed: Sequence[Instance], number: int = 0) -> None:
        kept = model.asked(original, cache, keyed, number)
        answers.update(zip(map(id, keyed), kept, strict=True))

    if longest:
        if ranks.in_step(lm):
            ranks.refuse_idle(owned)
        wanted = set().union(*tasks)
        with rehearsal.before(lm, [r for r in model.originals if r.task_name in wanted]):
            size = _portion(cache, lm)
            for start in range(0, longest, size):
                if start:
                    _renew_connections(lm)
                number = min(size, longest - start) if ranks.in_step(lm) else 0
                ask(missing[start : start + size], number)
    asked = set(answers)
    ask([key for key in model.keyed if id(key) not in asked])
    return [answers[id(key)] for key in model.keyed]


class _MissingError(Exception):
    """Carries the requests that the cache would hand to the model."""


class _NoModel:
    """Stands in for the model to see what the cache lacks."""

    def generate_until(self, keyed: list[Instance]) -> NoReturn:
        raise _MissingError(keyed)


def _missing(cache: Any, original: Execute, keyed: list[Instance]) -> list[Instance]:
    """Return the requests that the cache has no answer to; what it counts stays as it was."""
    counts = {name: getattr(cache, name) for name in COUNTERS if hasattr(cache, name)}
    try:
        original(cache, _NoModel(), REQUEST_TYPE, keyed)
    except _MissingError as error:
        missing: list[Instance] = error.args[0]
        return missing
    finally:
        vars(cache).update(counts)
    return []


def _warn_of_sampling(requests: Iterable[Instance]) -> None:
    from lmms_eval.caching.response_cache import extract_gen_kwargs, is_deterministic

    sampled = sorted(
        {
            request.task_name
            for request in requests
            if not is_deterministic(REQUEST_TYPE, extract_gen_kwargs(request))
        }
    )
    if sampled:
        logger.warning(
            f"lmms-eval-food: --use_cache stores no answers of {', '.join(sampled)}: they are "
            "sampled (temperature above 0, do_sample or several answers). If this run is killed, "
            "the next one asks everything again."
        )


def _portion(cache: Any, lm: Any) -> int:
    """Return a portion's size such that storing after each costs the model next to nothing."""
    interval = getattr(cache, "_checkpoint_interval", PORTION)  # LMMS_CACHE_CHECKPOINT_INTERVAL
    batch = _whole(getattr(lm, "batch_size_per_gpu", 1))
    in_flight = max(_whole(getattr(lm, name, 1)) for name in ("num_concurrent", "num_cpus"))
    size = max(interval, ROUNDS * in_flight if in_flight > 1 else 1)
    return math.ceil(size / batch) * batch


def _renew_connections(lm: Any) -> None:
    """Give an asynchronous client new connections.

    The host's async_openai starts an event loop a call, and its client's open connections belong
    to the one that has ended: the requests that get them would fail.
    """
    openai, client = sys.modules.get("openai"), getattr(lm, "client", None)
    if openai is not None and isinstance(client, openai.AsyncOpenAI):
        lm.client = client.with_options(http_client=openai.DefaultAsyncHttpxClient())


def _whole(value: Any) -> int:
    text = str(value)
    return max(1, int(text)) if text.isascii() and text.isdigit() else 1


class _Model:
    """Stands between the cache and the model.

    The cache sees requests whose first text begins with a digest of what is sent, which is how it
    gets into the key; the model gets the requests as they were. In place of a failure or an empty
    answer the cache sees None, which it does not store.
    """

    def __init__(self, lm: Any, requests: Sequence[Instance], spare: Sequence[Instance]) -> None:
        self.lm = lm
        self.originals = list(requests)
        with ThreadPoolExecutor() as pool:  # what is sent has to be read from the disk
            self.keyed = list(pool.map(lambda request: cache_key.keyed(lm, request), requests))
        self._original = dict(zip(map(id, self.keyed), self.originals, strict=True))
        self._spare = list(spare)
        self._number = 0  # how many requests the next call must have at least
        self._withheld: dict[int, Any] = {}

    def asked(
        self, original: Execute, cache: Any, keyed: Sequence[Instance], number: int
    ) -> list[Any]:
        """Return answers from the cache, which asks the model for those that it lacks.

        Args:
            original: The host's own `execute`.
            cache: The host's cache.
            keyed: Some of `self.keyed`.
            number: How many requests the model must get, 0 for as many as are lacking.
        """
        self._number = number
        kept = original(cache, self, REQUEST_TYPE, keyed)
        if self._number:  # no call was needed here, but other ranks wait for it
            self.generate_until([])
        return [
            self._withheld.get(id(key), answer) for key, answer in zip(keyed, kept, strict=True)
        ]

    def generate_until(self, keyed: Sequence[Instance]) -> list[Any]:
        """Ask the model; the cache calls this."""
        requests = [self._original[id(key)] for key in keyed]
        requests += self._spare * (self._number - len(requests))
        self._number = 0
        answers = self.lm.generate_until(requests)[: len(keyed)]
        nothing = {id(k): a for k, a in zip(keyed, answers, strict=True) if _is_nothing(a)}
        self._withheld |= nothing
        return [
            None if id(key) in nothing else answer
            for key, answer in zip(keyed, answers, strict=True)
        ]


def _is_nothing(answer: Any) -> bool:
    """Return whether an answer is a failure or empty, as the readings have it."""
    text = getattr(answer, "text", answer)
    return text is None or (isinstance(text, str) and unanswered(text) is not None)
