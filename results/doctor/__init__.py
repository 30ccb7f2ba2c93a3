"""`lmms-eval-food doctor`: what is here, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import asdict

from lmms_eval_food.results.doctor import machine, run_config, settings, setup
from lmms_eval_food.results.doctor.finding import Check, Finding, Level
from lmms_eval_food.results.doctor.run_config import ConfigError, RunConfig

Result = tuple[Check, Finding]


def run(options: argparse.Namespace) -> int:
    """Run every check and print a table or JSON; return 1 where a check failed, else 0.

    A config that cannot be read gives 2; the variables of one that can are set.
    """
    try:
        runs = run_config.read_runs(options.config) if options.config else []
    except ConfigError as error:
        print(f"lmms-eval-food: {error}", file=sys.stderr)
        return 2
    for config in runs:
        # As the host does: the variables of all runs, before the first.
        os.environ.update({name: os.path.expandvars(text) for name, text in config.env.items()})
    results = perform(checks(runs))
    print(as_json(results) if options.json else table(results))
    return int(any(finding.level is Level.FAIL for _, finding in results))


def checks(runs: Sequence[RunConfig] = ()) -> list[Check]:
    """Return all checks, those of a config's runs last."""
    return [
        *machine.checks(),
        *setup.checks(),
        *settings.checks(list(runs)),
    ]


def perform(wanted: Sequence[Check]) -> list[Result]:
    """Run checks in order; raises nothing, and what they print goes to stderr.

    On a terminal each check's name is shown while it runs.
    """
    results = []
    watched = sys.stderr.isatty()
    with redirect_stdout(sys.stderr):  # libraries print while they load; stdout is for the result
        for check in wanted:
            if watched:
                print(f"\r\033[K{check.name} …", end="", file=sys.stderr, flush=True)
            results.append((check, check.run()))
        if watched:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
    return results


def table(results: Sequence[Result]) -> str:
    """Return a line a check, with what to do below it, and a last line with the counts."""
    width = max((len(check.name) for check, _ in results), default=0)
    lines = []
    for check, finding in results:
        detail = " ".join(finding.detail.split())
        lines.append(f"{finding.level:<4}  {check.name:<{width}}  {detail}")
        if finding.remedy:
            lines.append(f"{'':<{width + 8}}-> {finding.remedy}")
    levels = [finding.level for _, finding in results]
    counts = ", ".join(f"{levels.count(level)} {level}" for level in Level)
    return "\n".join([*lines, counts])


def as_json(results: Sequence[Result]) -> str:
    """Return a JSON list with an object a check: check, level, detail, remedy."""
    rows = [{"check": check.name, **asdict(finding)} for check, finding in results]
    return json.dumps(rows, indent=2, ensure_ascii=False)
