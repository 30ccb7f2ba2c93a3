import pytest
from made_runs import made_run
from run_files import (
    BINARY,
    binary_record,
    change_results,
    change_row,
    vqa_record,
    write_run,
)

from lmms_eval_food.results.completeness import (
    TaskState,
    main_key,
    marks,
    other_than,
    problems,
    task_states,
)
from lmms_eval_food.results.logs import Shared, read_run
from lmms_eval_food.results.provenance import task_provenance

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
        ({"judge": "j1 | j2"}, "several judges: j1 | j2"),
        ({"unread": ("robust",)}, "no rows of the robust reader"),
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


def test_a_limit_that_was_typed_is_told_whatever_else_is_stated(tmp_path):
    run = read_run(write_run(tmp_path, resolved_cli_args={"limit": 10.0, "offset": 0}))
    assert task_states(run)[TASK].limit == "10.0"
    assert task_states(run)[TASK].offset == ""


def test_a_reader_without_rows_is_told(tmp_path):
    path = write_run(tmp_path)
    filters = [{"name": "official"}, {"name": "robust"}]
    change_results(path, "configs", TASK, "filter_list", value=filters)
    assert "no rows of the official reader" in task_states(read_run(path))[TASK].problems


def test_a_reader_with_scores_and_without_rows_is_told(tmp_path):
    path = write_run(tmp_path)
    change_results(path, "results", TASK, "acc,official", value=0.5)
    assert "no rows of the official reader" in task_states(read_run(path))[TASK].problems


def test_questions_that_share_an_id_are_documents_of_their_own(tmp_path):
    path = write_run(tmp_path)
    change_row(path, TASK, 1, "record", "id", value="q0")
    found = task_states(read_run(path))[TASK]
    assert (found.found, found.repeated) == (5, 0)


def test_the_judge_keeps_runs_apart():
    records = [vqa_record("1", judge=judge) for judge in ("openai:a prompt@1", "openai:b prompt@1")]
    first, second = (made_run({"diningbench_vqa": [one]}) for one in records)
    keys = [task_states(run)["diningbench_vqa"].key for run in (first, second)]
    assert [key[3] for key in keys] == ["openai:a prompt@1", "openai:b prompt@1"]
    assert other_than(*keys) == [("judge", "openai:a prompt@1", "openai:b prompt@1")]
    assert task_provenance(first)["diningbench_vqa"]["judge"] == "openai:a prompt@1"


def test_a_run_without_a_judge_is_apart_from_none():
    states = [state(judge="one"), state(judge="one"), state(judge="two"), *[state()] * 9]
    assert main_key(states) == ("1", "real@1", "", "one")
    assert [marks(one, main_key(states)) for one in states[:4]] == [
        *([], [], ["other judge: two"]),
        [],
    ]


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
    assert main_key(states) == ("1", "b", "", "")
    assert main_key(states) == main_key(states[::-1])


def test_equally_many_runs_are_decided_by_documents():
    states = [state(data="z", expected=3, found=3), state(data="a")]
    assert main_key(states) == main_key(states[::-1]) == ("1", "a", "", "")


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
        (state(judge="one judge"), []),
        (state(judge="another"), ["other judge: another"]),
        (state(data="real@2", failed=1), ["1 failed requests"]),
    ],
)
def test_only_like_runs_are_ranked(own, mark):
    assert marks(own, ("1", "real@1", "", "one judge")) == mark


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
