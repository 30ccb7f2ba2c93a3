"""Writes the versions of suite, host and engine into the results of our tasks.

The host's results name its git revision alone. `install` adds `metadata.made_with` to each of our
tasks' configurations as the host logs them. The host's response cache compares these
configurations, so that answers made with another version are not used again.
"""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any, cast

PACKAGE = "lmms_eval_food."
KEY = "made_with"
LIBRARIES = (
    *("lmms-eval-food", "lmms-eval", "torch", "transformers", "vllm", "sglang", "openai"),
    "sentence-transformers",
)
_HOOKS = ("doc_to_messages", "doc_to_visual", "process_docs")

_install_lock = threading.Lock()


@functools.cache
def installed() -> dict[str, str]:
    """Return library -> version of those that answers and scores may depend on."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def is_ours(config: Any) -> bool:
    """Return whether a task's configuration is one of this suite: its hooks tell."""
    hooks = (getattr(config, name, None) for name in _HOOKS)
    return any(str(getattr(hook, "__module__", "")).startswith(PACKAGE) for hook in hooks)


def install() -> None:
    """Wrap the host's `dump_config`; calling it again changes nothing.

    A host without it gets a warning, and its results name no versions.
    """
    from lmms_eval.api import task

    with _install_lock:
        original = getattr(task.Task, "dump_config", None)
        if original is None:
            warnings.warn(
                "lmms-eval-food: this lmms-eval has no Task.dump_config, so its results do not say "
                "which versions made them. Install lmms-eval 0.7.3.",
                stacklevel=2,
            )
        elif not getattr(original, "says_versions", False):
            task.Task.dump_config = _with_versions(original)


def _with_versions(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dump_config(self: Any) -> Any:
        config = original(self)
        metadata = config.get("metadata")
        if not is_ours(self.config) or not isinstance(metadata, dict):
            return config
        return {**config, "metadata": {**metadata, KEY: installed()}}

    cast(Any, dump_config).says_versions = True
    return dump_config
