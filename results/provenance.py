"""Where a run's numbers come from, as far as the run says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from lmms_eval_food.results.completeness import task_states
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.scoring import scoring_of
from lmms_eval_food.results.tables import Table
from lmms_eval_food.tasks import made_with

UNKNOWN = "not logged"
# Settings that a rerun must repeat; the others have no influence on a score.
_REPEATED = (
    *("model", "model_args", "tasks", "num_fewshot", "batch_size", "limit", "offset"),
    *("gen_kwargs", "seed", "system_instruction", "apply_chat_template", "reasoning_tags"),
)
# How Python shows a class or function in the log; what stands in memory where is no property of it.
_CODE = re.compile(r"<(?:class|function|bound method) '?(?:[\w.]+\.)?(\w+)(?:'| at 0x[0-9a-f]+)?>")
_SEEDS = ("random_seed", "numpy_seed", "torch_seed", "fewshot_seed")


def report_versions() -> str:
    """Return what a report is made with: this suite, the host and the libraries that score."""
    names = ("lmms-eval-food", "lmms-eval", "numpy", "scipy", "scikit-learn")
    return ", ".join(f"{name} {version(name)}" for name in names)


def run_provenance(run: Run) -> dict[str, str]:
    """Return what is common to all tasks of a run; `UNKNOWN` where its results do not say."""
    results, config = run.results, run.results.get("config", {})
    seeds = [f"{name} {config[name]}" for name in _SEEDS if config.get(name) is not None]
    return {
        "model": str(config.get("model", UNKNOWN)),
        "arguments": _text(config.get("model_args")),
        "engine": _text(config.get("model_backend")),
        "generation options": str(config.get("gen_kwargs") or "none"),
        "versions": _made_with(results) or UNKNOWN,
        "host": _text(results.get("lmms_eval_version")),
        "git revision": _text(results.get("git_hash")),
        "seeds": ", ".join(seeds) or UNKNOWN,
        "date": _text(results.get("date")),
        "command": command(config),
    }


def task_provenance(run: Run) -> dict[str, dict[str, str]]:
    """Return what is each task's own."""
    found = {}
    for task, state in task_states(run).items():
        settings = run.results.get("configs", {}).get(task, {})
        found[task] = {
            "task version": state.version,
            "documents": f"{state.found} of {'?' if state.expected is None else state.expected}",
            "data": state.data or UNKNOWN,
            "prompts": f"sha256:{run.prompts[task]}" if task in run.prompts else UNKNOWN,
            "filters": ", ".join(_filters(settings)) or UNKNOWN,
            "matcher": scoring_of(run.records.get(task, {})) or "none needed",
            "judge": state.judge or "none",
            "generation": _generation(settings),
            "problems": "; ".join(state.problems) or "none",
        }
    return found


def provenance_tables(runs: Mapping[str, Run]) -> list[Table]:
    """Return what `run_provenance` and `task_provenance` know of some runs, by their names."""
    own = [(name, run_provenance(run)) for name, run in runs.items()]
    tasks = [
        (name, task, known)
        for name, run in runs.items()
        for task, known in task_provenance(run).items()
    ]
    found = []
    if own:
        rows = tuple((name, *known.values()) for name, known in own)
        found.append(Table("Provenance: runs", ("run", *own[0][1]), rows, report_versions()))
    if tasks:
        rows = tuple((name, task, *known.values()) for name, task, known in tasks)
        found.append(Table("Provenance: tasks", ("run", "task", *tasks[0][2]), rows))
    return found


def command(config: Mapping[str, Any]) -> str:
    """Return the host's command that repeats a run, without where its output went."""
    typed = config.get("resolved_cli_args")
    if not isinstance(typed, Mapping):
        return UNKNOWN
    parts = ["lmms-eval"]
    for name in _REPEATED:
        value = typed.get(name)
        if value in (None, "", False) or (name == "offset" and not value):
            continue
        if value is True:
            parts.append(f"--{name}")
            continue
        shown = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        parts += [f"--{name}", shlex.quote(shown)]
    return " ".join(parts)


def _made_with(results: Mapping[str, Any]) -> str:
    """Return what made the answers, from the tasks' configurations; they agree within a run."""
    found: dict[str, str] = {}
    for settings in results.get("configs", {}).values():
        metadata = settings.get("metadata")
        found |= metadata.get(made_with.KEY, {}) if isinstance(metadata, Mapping) else {}
    return ", ".join(f"{name} {number}" for name, number in found.items())


def _filters(settings: Mapping[str, Any]) -> list[str]:
    found = []
    for one in settings.get("filter_list") or []:
        steps = [str(step.get("function", "?")) for step in one.get("filter", [])]
        names = [_CODE.sub(r"\1", step) for step in steps]
        found.append(f"{one.get('name', '?')}: {' > '.join(names)}")
    return found


def _generation(settings: Mapping[str, Any]) -> str:
    pairs = (settings.get("generation_kwargs") or {}).items()
    return ", ".join(f"{name} {value}" for name, value in pairs) or UNKNOWN


def _text(value: Any) -> str:
    return UNKNOWN if value in (None, "") else str(value)
