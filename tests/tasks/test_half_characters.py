"""Answers with half a character, which no UTF-8 file can hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import ALL_TASKS, HostCall

pytestmark = pytest.mark.slow

# As a model escapes half an emoji in its JSON, and as a server may hand it on.
ESCAPED = r'[{"name": "ri\ud83cce", "portion_estimate": "150\ud83c g"}]'
BARE = "B \ud83c yes"


@pytest.mark.parametrize("response", [ESCAPED, BARE], ids=["escaped", "bare"])
def test_the_sample_log_is_written(host: HostCall, tmp_path: Path, response: str) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = [
        {"task": task, "doc_id": number, "response": response}
        for task in ALL_TASKS
        for number in range(2)
    ]
    answers.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    run = host("food_replay", f"responses={answers}", ALL_TASKS, ("--limit", "2"))

    for task in ALL_TASKS:
        for reader in ("official", "robust"):
            raws = [record["raw"] for record in run.records[task][reader]]
            assert raws == [response.replace("\ud83c", "\ufffd")] * 2
    if response == ESCAPED:
        (item,) = run.records["canteen_portions"]["robust"][0]["items"]
        assert (item["name"], item["text"]) == ("ri\ufffdce", "150\ufffd g")
