"""What several test files share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from support import ALL_TASKS, SHARED, HostCall

from lmms_eval_food.results.host import call_host, host_command
from lmms_eval_food.results.logs import Run

# A busy machine's pauses are no fault of a test's.
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


@pytest.fixture(scope="session")
def published_canteen() -> Path:
    """The canteen paper's published labels, raters and recorded answers."""
    folder = SHARED / "published" / "canteen"
    if not folder.is_dir():
        pytest.skip(f"published canteen data not found: {folder}")
    return folder


@pytest.fixture(scope="session")
def mini_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root that holds the three mini sets."""
    from lmms_eval_food.tasks.mini import write_mini

    root = tmp_path_factory.mktemp("mini")
    write_mini(root)
    return root


@pytest.fixture
def host(mini_root: Path, tmp_path: Path) -> HostCall:
    """Calls the host's command line, by default on the mini sets and all three tasks."""
    calls = 0

    def call(
        model: str,
        model_args: str,
        tasks: Sequence[str] = ALL_TASKS,
        options: Sequence[str] = (),
        ranks: int = 1,
        data: Path = mini_root,
        environment: Mapping[str, str] | None = None,
    ) -> Run:
        nonlocal calls
        calls += 1
        output = tmp_path / f"run{calls}"
        command = host_command(model, model_args, tasks, output, options, ranks)
        offline = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
        chosen = {"LMMS_EVAL_FOOD_MATCHER": "minilm", **offline, **(environment or {})}
        return call_host(command, output, data, chosen)

    return call
