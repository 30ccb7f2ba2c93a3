"""`lmms-eval-food demo`: the three benchmarks on small data of our own, from nothing to a table."""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from lmms_eval_food.metrics.bootstrap import RESAMPLES
from lmms_eval_food.metrics.classification import wilson_interval
from lmms_eval_food.results.host import call_host, host_command
from lmms_eval_food.results.logs import Run

TASKS = ("diningbench_cls", "culturalmenu_binary", "canteen_portions")
# The rows of the table: what each task is read for first.
HEADLINES = {
    "diningbench_cls": ("acc", "unreadable_rate"),
    "culturalmenu_binary": ("acc", "yes_rate", "unreadable_rate"),
    "canteen_portions": (
        "precision",
        "recall",
        "f1",
        "mae",
        "nmae",
        "cpmae",
        "cpmae_fp",
        "meal_ae",
        "repaired",
    ),
}
READERS = ("official", "robust")


# The matcher whose weights are a package, and no question to any hub.
ENVIRONMENT = {
    "LMMS_EVAL_FOOD_MATCHER": "minilm",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}


@dataclass(frozen=True)
class DemoRun:
    """One call of the host: a column of the table."""

    title: str
    model: str
    model_args: str
    options: tuple[str, ...] = ()


def demo(folder: Path) -> str:
    """Make data and a model below `folder`, run the host on them and write their report.

    Returns:
        The table, and where the report lies.

    Raises:
        HostError: a run failed; the message ends with the last lines of its log.
    """
    from lmms_eval_food.results.page import FILE_NAME
    from lmms_eval_food.results.report import write_report
    from lmms_eval_food.results.tiny_qwen import make_tiny_qwen
    from lmms_eval_food.tasks.mini import write_mini

    folder = folder.resolve()
    data = folder / "data"
    print(f"mini data sets -> {data}", flush=True)
    write_mini(data)
    model = make_tiny_qwen(folder / "tiny-qwen2.5-vl")
    print(f"tiny Qwen2.5-VL with random weights -> {model}", flush=True)
    tiny = f"pretrained={model},device=cpu,device_map=cpu,min_pixels=3136,max_pixels=12544"
    runs = (
        DemoRun("oracle", "food_reference", "predictor=oracle"),
        DemoRun("random", "food_reference", "predictor=random,seed=0"),
        DemoRun("tiny Qwen2.5-VL", "qwen2_5_vl", tiny, ("--gen_kwargs", "max_new_tokens=16")),
    )
    read = {}
    for run in runs:
        output = folder / "runs" / run.title.replace(" ", "-").lower()
        command = host_command(run.model, run.model_args, TASKS, output, run.options)
        print(f"\n$ lmms-eval {shlex.join(command[3:])}", flush=True)
        started = time.time()
        read[run.title] = call_host(command, output, data, ENVIRONMENT)
        print(f"  {time.time() - started:.0f} s, log {output / 'host.log'}", flush=True)
    report = folder / "report"
    write_report([folder / "runs"], report, resamples=RESAMPLES)
    return f"{table(read)}\nreport: {report / FILE_NAME}"


def table(runs: Mapping[str, Run]) -> str:
    """Return a Markdown table: a row a score, a column a run.

    Accuracies carry a Wilson 95% interval; weights are in grams.
    """
    from pytablewriter import MarkdownTableWriter

    writer = MarkdownTableWriter()
    writer.headers = ["task", "score", "reader", *runs]
    writer.value_matrix = [
        [task, metric, reader, *(_cell(run, task, metric, reader) for run in runs.values())]
        for task, metrics in HEADLINES.items()
        for metric in metrics
        for reader in READERS
    ]
    return f"\n{writer.dumps()}\n{_footnotes(runs)}"


def _cell(run: Run, task: str, metric: str, reader: str) -> str:
    value = run.score(task, metric, reader)
    if value is None:
        return "–"
    if isinstance(value, int):
        return str(value)
    shown = f"{value:.3f}" if not math.isnan(value) else "–"
    if metric != "acc":
        return shown
    correct = [r["correct"] for r in run.records[task][reader] if r["correct"] is not None]
    low, high = wilson_interval(sum(correct), len(correct))
    return f"{shown} [{low:.2f}, {high:.2f}]"


def _footnotes(runs: Mapping[str, Run]) -> str:
    lines = []
    for task in HEADLINES:
        for name in ("data", "matcher"):
            values = {run.score(task, name, "robust") for run in runs.values()} - {None}
            lines += [f"{task}: {name} {value}" for value in sorted(values)]
    versions = ", ".join(f"{name} {version(name)}" for name in ("lmms-eval", "lmms-eval-food"))
    lines.append(f"{versions}; accuracies with Wilson 95% intervals")
    return "\n".join(lines)
