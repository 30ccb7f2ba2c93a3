"""Calls the host's command line and reads back what it wrote."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from lmms_eval_food.results.logs import Run, read_run, results_files


class HostError(Exception):
    """A call of the host ended without results."""


def host_command(
    model: str,
    model_args: str,
    tasks: Sequence[str],
    output: Path,
    options: Sequence[str] = (),
    ranks: int = 1,
) -> list[str]:
    """Return the command of one evaluation; several ranks start under torchrun."""
    start = [sys.executable]
    if ranks > 1:
        start += ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={ranks}"]
    return [
        *start,
        *("-m", "lmms_eval"),
        *("--model", model),
        *("--model_args", model_args),
        *("--tasks", ",".join(tasks)),
        *("--output_path", str(output), "--log_samples"),
        *options,
    ]


def call_host(
    command: Sequence[str], output: Path, data: Path, environment: Mapping[str, str] | None = None
) -> Run:
    """Run a command on the data root `data`, its log going to `output`/host.log.

    Raises:
        HostError: it failed or wrote no results (the host ends with status 0 also when an
            evaluation fails); the message ends with the last lines of the log.
    """
    output.mkdir(parents=True, exist_ok=True)
    log = output / "host.log"
    started = time.time()
    with log.open("w", encoding="utf-8") as stream:
        done = subprocess.run(
            command,
            env={**os.environ, "LMMS_EVAL_FOOD_DATA": str(data), **(environment or {})},
            stdout=stream,
            stderr=subprocess.STDOUT,
            check=False,
        )
    # Times of files may be a little older than the clock says.
    fresh = [p for p in output.rglob("*_results.json") if p.stat().st_mtime > started - 1]
    if done.returncode or not fresh:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:]
        raise HostError("\n".join([f"the run failed; the end of its log {log}:", *tail]))
    return read_run(results_files([output])[-1])
