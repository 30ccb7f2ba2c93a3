"""Runs the host's command line, notes what its model is asked, and kills it at a chosen point.

    python killed_host.py POINT CALL RANK ASKED.txt HOST_ARGUMENTS

The process of that rank ends as by `kill -9` at the point's CALL-th call, from 1. `none` is no
point. A line of ASKED is a document that the model was asked for.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import runpy
import signal
import sys
from collections.abc import Callable
from typing import Any

CACHE = "lmms_eval.caching.response_cache:ResponseCache"
# Point -> what is called there, and whether the process ends before or after the call.
POINTS = {
    "start-up": (f"{CACHE}._replay_audit_log", "before"),
    "taking over, rows read but not kept": ("lmms_eval_food.tasks.cache_rows:_rows", "after"),
    "answer in the audit log, not stored": (f"{CACHE}._log_to_audit", "after"),
    "answer stored": (f"{CACHE}._store", "after"),
    "merging, nothing merged": (f"{CACHE}.merge_shards", "before"),
    "merging, merged but not marked": (f"{CACHE}.merge_audit_logs", "before"),
}


def changed(place: str, change: Callable[[Any], Any]) -> None:
    """Put `change(what is there)` in a place, e.g. "module:Class.function"."""
    module, _, path = place.partition(":")
    holder: Any = importlib.import_module(module)
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    fixed = isinstance(vars(holder)[name], staticmethod)
    new = change(getattr(holder, name))
    setattr(holder, name, staticmethod(new) if fixed else new)


def killing(call: int, when: str) -> Callable[[Any], Any]:
    """Return what makes a function end the process."""
    calls = itertools.count(1)

    def change(original: Any) -> Any:
        @functools.wraps(original)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            last = next(calls) == call
            if last and when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = original(*args, **kwargs)
            if last:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return wrapped

    return change


def noting(asked: str) -> Callable[[Any], Any]:
    """Return what makes `answer` write down its document."""

    def change(original: Any) -> Any:
        @functools.wraps(original)
        def answer(self: Any, task: str, docs: Any, doc_id: int) -> Any:
            with open(asked, "a", encoding="utf-8") as stream:
                stream.write(f"{doc_id}\n")
            return original(self, task, docs, doc_id)

        return answer

    return change


def main(point: str, call: str, rank: str, asked: str) -> None:
    """Make the changes and run the host."""
    changed("lmms_eval_food.tasks.models:ReferenceSimple.answer", noting(asked))
    if point in POINTS and os.environ.get("RANK", "0") == rank:
        place, when = POINTS[point]
        changed(place, killing(int(call), when))
    runpy.run_module("lmms_eval", run_name="__main__")


if __name__ == "__main__":
    point, call, rank, asked = sys.argv[1:5]
    sys.argv = ["lmms_eval", *sys.argv[5:]]
    main(point, call, rank, asked)
