"""What the tests with a real engine share. `make test-engines` runs them; elsewhere they skip.

There a missing vLLM is an error: a run that skips everything would look like one that passed.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

REQUIRED = "LMMS_EVAL_FOOD_TEST_ENGINES"  # set by `make test-engines`


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    if importlib.util.find_spec("vllm") is not None:
        return
    if os.environ.get(REQUIRED):
        raise pytest.UsageError(
            f"vLLM is not installed in {sys.prefix}, which should have it: make engine-env"
        )
    reason = "vLLM is not installed here: `make engine-env`, then `make test-engines`"
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny Qwen2.5-VL."""
    from lmms_eval_food.results.tiny_qwen import make_tiny_qwen

    return make_tiny_qwen(tmp_path_factory.mktemp("model") / "tiny-qwen2.5-vl")
