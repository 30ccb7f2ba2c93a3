"""Makes lmms-eval's response cache (`--use_cache FOLDER`) safe for our tasks.

As it stands, the cache of lmms-eval 0.7.3

- does not look at pictures, and in the chat form not at prompts, so it serves answers to others;
- stores the text that stands for a failed request as an answer;
- loses every answer of a backend that completes the generation settings it is given (async_openai
  does): it then stores under another key than it looks up;
- stores nothing before the last request is answered, so a killed run leaves nothing;
- never reads what a killed run left.

`install` wraps `ResponseCache.execute`. Requests of our tasks are asked in portions, each stored
before the next one begins; their key also holds a digest of what the model is sent; failures are
handed on but not stored; and answers that killed runs left in the same folder are taken over.
Requests of other tasks go their old way.

A portion is LMMS_CACHE_CHECKPOINT_INTERVAL requests (256 unless set), but whole batches and eight
times the requests in flight at least; a kill costs the answers of the portion that it hits. What
stays as the host has it: its key holds the model's arguments as typed and the commit of the folder
that it was started in, so another spelling or a new commit asks everything again; a run that is
killed while it merges leaves `runs/.merge.lock`, at which later runs wait a minute before they go
on without merging, until it is removed; and it never stores an empty answer, which is asked again.
"""

from __future__ import annotations

import copy
import functools
import hashlib
import json
import sqlite3
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from loguru import logger

from lmms_eval_food.filters.reading import Status, unanswered
from lmms_eval_food.tasks.made_with import is_ours

if TYPE_CHECKING:
    from lmms_eval.api.instance import Instance

REQUEST_TYPE = "generate_until"
PORTION = 256  # the host's own interval between two checkpoints
ROUNDS = 8  # so many times the requests in flight: the last of a portion are waited for
COLUMNS = "cache_key, request_type, task_name, doc_id, idx, gen_kwargs, response, created_at"

_install_lock = threading.Lock()


def install() -> None:
    """Wrap the host's cache; a host without it gets a warning. Calling it again changes nothing."""
    from lmms_eval.caching import response_cache

    cache = getattr(response_cache, "ResponseCache", None)
    with _install_lock:
        original = getattr(cache, "execute", None)
        if cache is None or original is None:
            warnings.warn(
                "lmms-eval-food: this lmms-eval has no ResponseCache.execute. Do not use "
                "--use_cache with it: failed requests would be taken for answers, and changed "
                "pictures would not be seen.",
                stacklevel=2,
            )
        elif not getattr(original, "knows_food_tasks", False):
            cache.execute = _safe_for_our_tasks(original)


def digest(messages: Sequence[dict[str, Any]]) -> str:
    """Return a digest of what the model is sent: turns, texts and pictures, in order.

    Of a picture file its bytes count, of a mended picture its pixels.
    """
    turns = [[turn["role"], *map(_digest_of_part, turn["content"])] for turn in messages]
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()


def _digest_of_part(part: dict[str, Any]) -> list[str]:
    if part["type"] == "text":
        return ["text", part["text"]]
    image = part["url"]
    data = getattr(image, "data", None)
    if not isinstance(data, bytes):
        data = f"{image.mode} {image.size} ".encode() + image.tobytes()
    return [part["type"], hashlib.sha256(data).hexdigest()]


def _safe_for_our_tasks(original: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    @functools.wraps(original)
    def execute(self: Any, lm: Any, reqtype: str, requests: list[Instance]) -> list[Any]:
        asked = {place for place, request in enumerate(requests) if _config(request) is not None}
        if reqtype != REQUEST_TYPE or not asked:
            return original(self, lm, reqtype, requests)
        answers: list[Any] = [None] * len(requests)
        others = [place for place in range(len(requests)) if place not in asked]
        for place, answer in zip(
            others, original(self, lm, reqtype, [requests[n] for n in others]), strict=True
        ):
            answers[place] = answer
        _take_over(self, {requests[place].task_name for place in asked})
        for number, places in enumerate(_portions(sorted(asked), self, lm)):
            if number:
                _renew_connections(lm)
            model = _Model(lm, [requests[place] for place in places])
            kept = original(self, model, reqtype, model.keyed)
            for place, answer in zip(places, model.with_failures(kept), strict=True):
                answers[place] = answer
        return answers

    cast(Any, execute).knows_food_tasks = True
    return execute


def _config(request: Instance) -> Any | None:
    """Return the configuration of a request's task when it is one of ours."""
    for argument in request.args:
        config = getattr(getattr(argument, "__self__", None), "config", None)
        if config is not None:
            return config if is_ours(config) else None
    return None


def _portions(places: list[int], cache: Any, lm: Any) -> Iterator[list[int]]:
    """Cut the requests so that storing after each portion costs the model next to nothing."""
    interval = getattr(cache, "_checkpoint_interval", PORTION)  # LMMS_CACHE_CHECKPOINT_INTERVAL
    batch = _whole(getattr(lm, "batch_size_per_gpu", 1))
    in_flight = max(_whole(getattr(lm, name, 1)) for name in ("num_concurrent", "num_cpus"))
    size = max(interval, ROUNDS * in_flight if in_flight > 1 else 1)
    size = -(-size // batch) * batch
    for start in range(0, len(places), size):
        yield places[start : start + size]


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
    """Stands between cache and model for one portion.

    The cache sees requests whose first text begins with a digest of what is sent, which is how it
    gets into the key; the model gets the requests as they were. In place of a failure the cache
    sees None, which it does not store.
    """

    def __init__(self, lm: Any, requests: Sequence[Instance]) -> None:
        self._lm = lm
        with ThreadPoolExecutor() as pool:  # what is sent has to be read from the disk
            self.keyed = list(pool.map(lambda request: _keyed(lm, request), requests))
        self._originals = {
            id(key): request for key, request in zip(self.keyed, requests, strict=True)
        }
        self._failures: dict[int, Any] = {}

    def generate_until(self, keyed: Sequence[Instance]) -> list[Any]:
        """Ask the model."""
        answers = self._lm.generate_until([self._originals[id(key)] for key in keyed])
        self._failures |= {
            id(key): answer for key, answer in zip(keyed, answers, strict=True) if _failed(answer)
        }
        return [
            None if id(key) in self._failures else answer
            for key, answer in zip(keyed, answers, strict=True)
        ]

    def with_failures(self, kept: Sequence[Any]) -> list[Any]:
        """Return the cache's answers, the failures put back where they were withheld."""
        return [
            self._failures.get(id(key), answer)
            for key, answer in zip(self.keyed, kept, strict=True)
        ]


def _keyed(lm: Any, request: Instance) -> Instance:
    doc_id, task, split = request.args[-3:]
    config = cast(Any, _config(request))
    sent = digest(config.doc_to_messages(lm.task_dict[task][split][doc_id]))
    keyed = copy.copy(request)
    # Settings of its own: the model may change those of the original.
    rest = [copy.deepcopy(part) if isinstance(part, dict) else part for part in request.args[1:]]
    keyed.arguments = (f"{sent} {request.args[0]}", *rest)
    return keyed


def _failed(answer: Any) -> bool:
    text = getattr(answer, "text", answer)
    reading = unanswered(text) if isinstance(text, str) else None
    return reading is not None and reading.status is Status.FAILED


def _take_over(cache: Any, tasks: set[str]) -> None:
    """Copy what killed runs left in the cache's folder into this run's own part of it, once."""
    root, db = getattr(cache, "_cache_root", None), getattr(cache, "db", None)
    if root is None or db is None or getattr(cache, "food_took_over", False):
        return
    cache.food_took_over = True
    before = db.total_changes
    for shard in sorted(Path(root).glob("runs/*/rank_*.db")):
        # What the host has merged, it reads itself.
        if (shard.parent / ".merged").exists() or shard == Path(cache.db_path):
            continue
        try:
            rows = _rows(shard, tasks)
        except sqlite3.Error as error:
            logger.warning(f"lmms-eval-food: cannot read {shard}, left by an earlier run ({error})")
            continue
        marks = ", ".join("?" * len(COLUMNS.split(",")))
        db.executemany(f"INSERT OR IGNORE INTO responses ({COLUMNS}) VALUES ({marks})", rows)
    db.commit()
    if db.total_changes > before:
        logger.info(
            f"lmms-eval-food: took over {db.total_changes - before} answers of earlier runs that "
            "did not end"
        )


def _rows(shard: Path, tasks: set[str]) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(shard, timeout=10)
    try:
        marks = ", ".join("?" * len(tasks))
        query = f"SELECT {COLUMNS} FROM responses WHERE task_name IN ({marks})"
        return connection.execute(query, sorted(tasks)).fetchall()
    finally:
        connection.close()
