"""What a check of `lmms-eval-food doctor` says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is: only `FAIL` changes the exit status."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        level: How bad it is.
        detail: What was found.
        remedy: What to do about it, "" where nothing needs doing.
    """

    level: Level
    detail: str
    remedy: str = ""


def ok(detail: str) -> Finding:
    """Return a finding that nothing needs doing about."""
    return Finding(Level.OK, detail)


def warn(detail: str, remedy: str) -> Finding:
    """Return a finding about what some runs can do without."""
    return Finding(Level.WARN, detail, remedy)


def fail(detail: str, remedy: str) -> Finding:
    """Return a finding that must be mended first."""
    return Finding(Level.FAIL, detail, remedy)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at.

    Attributes:
        name: Row of the table.
        find: Looks; may raise anything.
    """

    name: str
    find: Callable[[], Finding]

    def run(self) -> Finding:
        """Return what was found; a check that breaks is a failed check, and raises nothing."""
        try:
            return self.find()
        # A broken installation raises nearly anything, and our own settings end runs by SystemExit.
        except (Exception, SystemExit) as error:
            return fail(f"{type(error).__name__}: {error}", "see the message")
