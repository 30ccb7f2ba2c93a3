"""How much longer `lmms-eval --tasks list` takes with the plugin than without it.

Runs both in turn, so that a busy moment of the machine hits both alike, and prints the ratio.
"Without" is the same process in which the plugin's entry point registers nothing.

    python benchmarks/bench_startup.py [PAIRS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

LIST = "import sys; sys.argv = ['lmms-eval', '--tasks', 'list']; "
RUN = "from lmms_eval.cli.dispatch import main; main()"
WITHOUT = (
    "from importlib.metadata import EntryPoint; load = EntryPoint.load; EntryPoint.load = "
    "lambda entry: (lambda: []) if entry.group == 'lmms_eval.models' else load(entry); "
)


def seconds(code: str, ours: bool) -> float:
    """Time one start of the host, and check that it lists our tasks or not."""
    started = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    elapsed = time.perf_counter() - started
    if ("diningbench_cls" in done.stdout) != ours or "mmmu_val" not in done.stdout:
        raise SystemExit(f"unexpected task list:\n{done.stdout[-500:]}{done.stderr[-2000:]}")
    return elapsed


def main() -> None:
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    seconds(LIST + RUN, True)  # warm the disk cache
    times: dict[bool, list[float]] = {True: [], False: []}
    for pair in range(pairs):
        # Alternate which goes first.
        for ours in (pair % 2 == 0, pair % 2 == 1):
            times[ours].append(seconds(LIST + ("" if ours else WITHOUT) + RUN, ours))
        print(f"pair {pair + 1}: with {times[True][-1]:.2f} s, without {times[False][-1]:.2f} s")
    ratio = statistics.median(
        mine / bare for mine, bare in zip(times[True], times[False], strict=True)
    )
    fastest = min(times[True]) / min(times[False])
    print(f"ratio with/without: median of pairs {ratio:.3f}, fastest of each {fastest:.3f}")


if __name__ == "__main__":
    main()
