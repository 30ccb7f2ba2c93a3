"""Where vLLM is missing, its tests skip with a reason; `make test-engines` fails."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest
from support import REPOSITORY

VARIABLE = "LMMS_EVAL_FOOD_TEST_ENGINES"


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is here")
@pytest.mark.parametrize(
    ("asked_for", "status", "says"),
    [("", 0, "`make engine-env`, then `make test-engines`"), ("1", 4, "make engine-env")],
)
def test_a_missing_engine_is_an_error_only_where_it_was_asked_for(
    asked_for: str, status: int, says: str
) -> None:
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", "tests/engines"]
    done = subprocess.run(
        command,
        cwd=REPOSITORY,
        env={**os.environ, VARIABLE: asked_for},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == status, said
    assert says in said
    assert "passed" not in said


def test_make_asks_for_it() -> None:
    (line,) = (
        line
        for line in (REPOSITORY / "Makefile").read_text("utf-8").splitlines()
        if "pytest tests/engines" in line
    )
    assert line.strip().startswith(f"{VARIABLE}=1 ")
