"""What the tests of tasks share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def changeable_root(mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root of its own, which a test may change."""
    copied = tmp_path / "data"
    shutil.copytree(mini_root, copied)
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(copied))
    monkeypatch.setenv("LMMS_EVAL_FOOD_MATCHER", "minilm")
    monkeypatch.delenv("LMMS_CACHE_CHECKPOINT_INTERVAL", raising=False)
    return copied
