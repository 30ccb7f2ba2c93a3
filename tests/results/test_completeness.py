import pytest
from made_runs import made_run
from run_files import BINARY, binary_record, write_run

from lmms_eval_food.results.completeness import (
    TaskState,
    main_key,
    marks,
    problems,
    task_states,
)
from lmms_eval_food.results.logs import Shared, read_run

TASK = "culturalmenu_binary"


def state(version="1", data="real@1", matcher="", expected=10, found=10, **fields):
    return TaskState(TASK, version, expected, found, data, matcher, **fields)


def test_a_whole_run_has_no_problem_but_its_failed_request(tmp_path):
    run = read_run(write_run(tmp_path))
    assert problems(run) == [f"{TASK}: 1 failed requests"]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"found": 9}, "9 of 10 documents"),
        ({"found": 0}, "no sample log"),
        ({"expected": None}, "number of documents unknown"),
        ({"failed": 2}, "2 failed requests"),
        ({"repeated": 1}, "1 documents logged twice"),
        ({"not_judged": 3}, "3 answers not judged"),
        ({"broken_pictures": 1}, "1 pictures that could not be opened"),
        ({"limit": "8"}, "--limit 8"),
        ({"offset": "5"}, "--offset 5"),
        ({"data": "a@1 | b@2"}, "several data: a@1 | b@2"),
        ({"matcher": "m1 | m2"}, "several matchers: m1 | m2"),
        ({"data": "canteen@1, no real pictures"}, "no real pictures"),
        ({"stated": ("as submitted",)}, "as submitted"),
    ],
)
def test_each_fault_is_one_problem(fields, problem):
    assert state(**fields).problems == [problem]


@pytest.mark.parametrize(
    ("option", "value", "shown"),
    [("limit", 8, "--limit 8"), ("limit", 0.1, "--limit 0.1"), ("offset", 4, "--offset 4")],
)
def test_options_that_leave_documents_out_are_told(tmp_path, option, value, shown):
    run = read_run(write_run(tmp_path, **{option: value}))
    assert shown in task_states(run)[TASK].problems


@pytest.mark.parametrize("value", [None, 0, -1, "0"])
def test_options_that_change_nothing_are_none(tmp_path, value):
    run = read_run(write_run(tmp_path, limit=value, offset=0))
    assert not task_states(run)[TASK].limit


def test_documents_and_requests_are_counted(tmp_path):
    run = read_run(write_run(tmp_path))
    found = task_states(run)
    assert list(found) == [TASK, "canteen_portions"]
    assert (found[TASK].expected, found[TASK].found, found[TASK].failed) == (5, 5, 1)
    assert found["canteen_portions"].matcher == "equal names"


def test_a_document_logged_twice_does_not_count_twice():
    run = made_run({TASK: [*BINARY, BINARY[0]]})
    (found,) = task_states(run).values()
    assert (found.found, found.repeated) == (5, 1)


def test_a_task_without_log_is_found_missing(tmp_path):
    path = write_run(tmp_path)
    next(tmp_path.glob("*canteen*.jsonl")).unlink()
    assert "canteen_portions: no sample log" in problems(read_run(path))


def test_the_data_of_most_complete_runs_are_the_main_ones():
    states = [state(data="a"), state(data="b"), state(data="b"), state(data="c", failed=1)]
    assert main_key(states) == ("1", "b", "")
    assert main_key(states) == main_key(states[::-1])


def test_equally_many_runs_are_decided_by_documents():
    states = [state(data="z", expected=3, found=3), state(data="a")]
    assert main_key(states) == main_key(states[::-1]) == ("1", "a", "")


def test_no_complete_run_has_no_main_key():
    assert main_key([state(failed=1)]) is None
    assert marks(state(failed=1), None) == ["1 failed requests"]


@pytest.mark.parametrize(
    ("own", "mark"),
    [
        (state(), []),
        (state(version="2"), ["other task version: 2"]),
        (state(data="real@2"), ["other data: real@2"]),
        (state(matcher="large"), ["other matcher: large"]),
        (state(data="real@2", failed=1), ["1 failed requests"]),
    ],
)
def test_only_like_runs_are_ranked(own, mark):
    assert marks(own, ("1", "real@1", "")) == mark


def test_shared_parts_change_no_record():
    pool = Shared()
    records = [binary_record(n, "yes", "no") | {"x": [1, 1.0, True], "y": [True]} for n in (1, 2)]
    assert [pool.record(record) for record in records] == records
    first, second = (pool.record(record) for record in records)
    assert first["groups"] is second["groups"]
    assert [type(part) for part in second["x"]] == [int, float, bool]


def test_prompts_have_a_fingerprint(tmp_path):
    first = read_run(write_run(tmp_path / "a"))
    second = read_run(write_run(tmp_path / "b"))
    assert first.prompts == second.prompts
    assert set(first.prompts) == {TASK, "canteen_portions"}
    path = write_run(tmp_path / "c")
    log = next(path.parent.glob(f"*{TASK}.jsonl"))
    log.write_text(log.read_text("utf-8").replace("question 3", "Question 3"), "utf-8")
    third = read_run(path).prompts
    assert third[TASK] != first.prompts[TASK]
    assert third["canteen_portions"] == first.prompts["canteen_portions"]
