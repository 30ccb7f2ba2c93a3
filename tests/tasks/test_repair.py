"""The canteen's second model, against a local server that speaks the OpenAI protocol."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lmms_eval_food.filters.reading import Reading
from lmms_eval_food.tasks.canteen import repair
from tests.tasks.judge_server import Bench, Does, judging

PROSE = "There seems to be some rice, perhaps 150 g of it, next to a green salad."
REWRITTEN = json.dumps(
    {
        "food_items": [
            {"name": "rice", "portion_estimate": "150 g"},
            {"name": "green salad", "portion_estimate": ""},
        ]
    }
)
INVENTED = json.dumps({"food_items": [{"name": "rice"}, {"name": "fish", "portion_estimate": "9"}]})


@pytest.fixture
def bench(mini_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini_root))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LMMS_EVAL_FOOD_REPAIR", "openai")
    monkeypatch.setenv("LMMS_EVAL_FOOD_REPAIR_MODEL", "small")
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    repair.second_model.cache_clear()
    with judging(Bench()) as served:
        monkeypatch.setenv("OPENAI_API_URL", f"{served.url}/v1")
        yield served
    repair.second_model.cache_clear()


def foods(reading: Reading) -> list[tuple[str, float | None]] | None:
    if reading.value is None:
        return None
    return [(item["name"], item["grams"]) for item in reading.value["items"]]


def test_prose_is_rewritten_once_for_both_readers(bench: Bench, mini_root: Path) -> None:
    bench.default = REWRITTEN
    official, robust = repair.official_foods().read(PROSE), repair.robust_foods().read(PROSE)
    for reading in (official, robust):
        assert foods(reading) == [("rice", 150.0), ("green salad", None)]
        assert (reading.status, reading.step) == ("repaired", "model")
    assert bench.prompts == [PROSE]
    system = bench.asked[0][2]["messages"][0]
    prompt = (mini_root / "canteen" / "prompts" / "repair.txt").read_text("utf-8")
    assert system == {"role": "system", "content": prompt}


def test_a_food_that_the_text_does_not_hold_is_not_taken(bench: Bench) -> None:
    bench.default = INVENTED
    assert repair.robust_foods().read(PROSE).status == "unreadable"


@pytest.mark.parametrize(
    "text", ["", "  \n", None, "[LMMS_EVAL_REQUEST_FAILED after 3 retries] x", "<think>rice", "[]"]
)
def test_what_needs_no_second_model_is_not_sent(bench: Bench, text: str | None) -> None:
    repair.robust_foods().read(text)
    if text != "<think>rice":  # the published reading strips no reasoning
        repair.official_foods().read(text)
    assert bench.asked == []


@pytest.mark.parametrize("reply", [400, Does.NULL, Does.NONSENSE, "I see rice.", "{"])
def test_a_second_model_that_fails_leaves_the_answer_unreadable(
    bench: Bench, reply: int | Does | str
) -> None:
    bench.default = reply
    for foods_filter in (repair.official_foods(), repair.robust_foods()):
        assert foods_filter.read(PROSE).status == "unreadable"


def test_without_configuration_there_is_no_second_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LMMS_EVAL_FOOD_REPAIR", raising=False)
    repair.second_model.cache_clear()
    assert repair.second_model() is None
    assert repair.robust_foods().read(PROSE).status == "unreadable"


def test_a_configuration_that_does_not_fit_ends_the_run(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LMMS_EVAL_FOOD_REPAIR_MODEL")
    with pytest.raises(SystemExit, match="LMMS_EVAL_FOOD_REPAIR_MODEL"):
        repair.second_model()
