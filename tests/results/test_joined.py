from __future__ import annotations

import pytest
from made_runs import choice, made_run

from lmms_eval_food.results.joined import failed, join_runs, occurrences, pairs, scored, table
from lmms_eval_food.results.logs import Run

BINARY, MC = "culturalmenu_binary", "culturalmenu_mc"


def one(answer: str = "A", data: str = "made@1") -> list[dict[str, object]]:
    return [choice("q", "A", answer, data=data)]


def test_runs_of_one_model_are_joined_in_the_order_of_the_models() -> None:
    runs = [
        made_run({BINARY: one()}, "size=7b"),
        made_run({BINARY: one()}, "size=72b"),
        made_run({MC: one(), "diningbench_cls": one()}, "size=7b"),
    ]
    first, second = join_runs(runs, "culturalmenu_")
    assert (first.title, second.title) == ("made size=7b", "made size=72b")
    assert first.runs == {BINARY: runs[0], MC: runs[2]}
    assert second.runs == {BINARY: runs[1]}
    assert second.records(MC, "robust") == []
    assert second.records(BINARY, "official") == []
    assert second.records(BINARY, "robust") == one()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(made_run({BINARY: one(), MC: one()}), id="a task again"),
        pytest.param(made_run({MC: one()}, gen_kwargs="temperature=1"), id="another setting"),
        pytest.param(made_run({MC: one(data="made@2")}), id="other data"),
    ],
)
def test_what_cannot_be_joined_is_numbered(other: Run) -> None:
    first = made_run({BINARY: one()})
    joined = join_runs([first, other], "culturalmenu_")
    assert [model.title for model in joined] == ["made size=7b", "made size=7b (2)"]
    assert [set(model.runs) for model in joined] == [{BINARY}, set(other.records)]


def test_runs_without_such_a_task_are_no_models() -> None:
    assert join_runs([made_run({"diningbench_cls": one()})], "culturalmenu_") == []
    assert join_runs([], "culturalmenu_") == []


def test_failed_requests_count_in_no_score_and_no_pair() -> None:
    first = [choice("a", "A", "B"), choice("b", "A", "failed"), choice("c", "A", None)]
    second = [choice("c", "A", "A"), choice("b", "A", "A"), choice("a", "A", "failed")]
    assert [record["id"] for record in scored(first)] == ["a", "c"]
    assert failed(first) == 1
    assert [(x["id"], y["id"]) for x, y in pairs(first, second)] == [("c", "c")]


def test_documents_that_share_an_id_are_paired_by_their_order() -> None:
    assert occurrences(["a", "b", "a", "a"]) == [("a", 0), ("b", 0), ("a", 1), ("a", 2)]
    # The first failed in one run, the second in the other: the third alone counts in both.
    first = [choice("a", "A", answer) for answer in ("failed", "B", "C")]
    second = [choice("a", "A", answer) for answer in ("D", "failed", "E", "F")]
    assert [(x["answer"], y["answer"]) for x, y in pairs(first, second)] == [("C", "E")]


def test_no_table_without_rows() -> None:
    assert table("T", ["a"], []) == []
    assert table("T", ["a"], [(1,)], "n")[0].rows == ((1,),)
