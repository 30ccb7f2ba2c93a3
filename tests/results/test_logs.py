"""What is read from the host's files."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest
from loguru import logger
from made_runs import made_run
from run_files import binary_record, write_run
from whole_runs import MC, write_whole_run

from lmms_eval_food.results.cli import main
from lmms_eval_food.results.log_files import log_of, stray_logs
from lmms_eval_food.results.logs import LogError, named, read_run, results_files
from lmms_eval_food.results.scores import numbered, scores_of

TASK = "culturalmenu_binary"
RECORD = {**binary_record(0, "yes", "yes"), "reader": "robust"}
ROW = {"doc_id": 0, "record": RECORD, "input": "?"}


@pytest.fixture
def told():
    """What is said as a warning."""
    lines: list[str] = []
    handle = logger.add(lines.append, level="WARNING", format="{message}")
    yield lines
    logger.remove(handle)


def written(folder, rows, task="culturalmenu_binary", stamp="20260101_010000"):
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{stamp}_samples_{task}.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / f"{stamp}_results.json"
    found = {"config": {"model": "made"}, "results": {task: {}}}
    path.write_text(json.dumps(found), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ({"token_counts": [{"output_tokens": 7}]}, 7),
        ({"token_counts": [None]}, None),
        ({"token_counts": []}, None),
        ({}, None),
    ],
)
def test_answer_lengths_are_read_where_the_host_counted(tmp_path, counts, expected):
    path = written(tmp_path, [{"doc_id": 0, "record": RECORD, "input": "?", **counts}])
    (record,) = read_run(path).records["culturalmenu_binary"]["robust"]
    assert record.get("output_tokens") == expected
    assert {name: value for name, value in record.items() if name != "output_tokens"} == RECORD


def test_records_come_in_the_order_of_the_documents(tmp_path):
    rows = [{"doc_id": n, "record": {**RECORD, "id": f"q{n}"}, "input": "?"} for n in (2, 0, 1)]
    records = read_run(written(tmp_path, rows)).records["culturalmenu_binary"]["robust"]
    assert [record["id"] for record in records] == ["q0", "q1", "q2"]


def test_logs_of_other_tasks_are_left_out(tmp_path):
    assert read_run(written(tmp_path, [{"doc_id": 0}], task="mmmu_val")).records == {}


def test_the_newest_results_file_is_the_last(tmp_path):
    second = written(tmp_path / "a", [ROW], stamp="20260102_010000")
    first = written(tmp_path / "b", [], stamp="20260101_010000")
    assert results_files([tmp_path]) == [first, second]
    with pytest.raises(LogError, match="no"):
        results_files([tmp_path / "b" / "c"])


def test_a_results_file_may_be_named_itself(tmp_path):
    path = written(tmp_path, [ROW])
    written(tmp_path, [ROW], stamp="20260102_010000")
    assert results_files([path]) == [path]
    log = next(tmp_path.glob("*.jsonl"))
    with pytest.raises(LogError, match=r"samples_.* is neither a folder nor a \*_results\.json"):
        results_files([log])


def test_a_copy_of_a_run_is_left_out(tmp_path, told):
    path = written(tmp_path / "a", [ROW])
    shutil.copytree(tmp_path / "a", tmp_path / "b")
    assert results_files([tmp_path]) == [path]
    (line,) = told
    assert f"{tmp_path / 'b' / path.name} is a copy of {path}" in line


def test_runs_whose_answers_differ_are_no_copies(tmp_path, told):
    paths = [
        written(tmp_path / "a", [ROW]),
        written(tmp_path / "b", [{**ROW, "record": {**RECORD, "raw": "no"}}]),
    ]
    assert results_files([tmp_path]) == paths
    assert told == []


def test_logs_without_their_results_file_are_told(tmp_path, told):
    path = written(tmp_path, [ROW])
    written(tmp_path, [ROW], stamp="20260102_010000").unlink()
    assert results_files([tmp_path]) == [path]
    (line,) = told
    assert f"20260102_010000_samples_{TASK}.jsonl: its results file is missing" in line
    assert [log.name for log in stray_logs([tmp_path])] == [f"20260102_010000_samples_{TASK}.jsonl"]


def test_counted_answers_of_every_kind_are_scored(tmp_path, capsys):
    path = write_whole_run(tmp_path)
    for log in tmp_path.glob("*.jsonl"):
        rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
        for row in rows:
            row["token_counts"] = [{"output_tokens": 7}]
        log.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    assert main(["report", str(path), "--out", str(tmp_path / "o"), "--resamples", "5"]) == 0
    assert main(["report", "--check", str(path)]) == 0


def test_no_two_runs_of_a_report_have_one_name():
    run = made_run({TASK: [RECORD]})
    scores = scores_of(run, 2)
    parts = [[replace(one, run=name) for one in scores] for name in ("x (2)", "x", "x", "x")]
    names = [part[0].run for part in numbered(parts)]
    assert names == ["x (2)", "x", "x (3)", "x (4)"]


def test_logs_without_their_results_file_are_rows_of_the_report(tmp_path, capsys):
    write_run(tmp_path)
    write_run(tmp_path, "20260102_010000").unlink()
    assert main(["report", str(tmp_path), "--resamples", "5"]) == 0
    text = capsys.readouterr().out
    rows = [line for line in text.splitlines() if "left out: no results file" in line]
    assert len(rows) == 2
    assert all("20260102_010000" in row for row in rows)


@pytest.mark.parametrize("reader", ["official", "robust"])
def test_a_log_without_one_reader_is_reported_as_incomplete(tmp_path, reader, capsys):
    path = write_whole_run(tmp_path)
    log = log_of(path, MC)
    kept = [x for x in log.read_text("utf-8").splitlines() if f'"reader": "{reader}"' not in x]
    log.write_text("".join(f"{line}\n" for line in kept), "utf-8")
    assert main(["report", str(tmp_path), "--out", str(tmp_path / "o"), "--resamples", "5"]) == 0
    assert f"no rows of the {reader} reader" in capsys.readouterr().out


def test_no_run_is_lost_where_titles_collide():
    runs = [made_run({}, model_args=name) for name in ("x (2)", "x", "x", "x")]
    found = named(runs)
    assert list(found) == ["made x (2)", "made x", "made x (3)", "made x (4)"]
    assert [*map(id, found.values())] == [*map(id, runs)]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (b"{}", "`config` must be an object that names the model"),
        (b"[1]", r"is no object but \[1\]"),
        (b'{"config": {"model": "m"}}', "has no `results`"),
        (b'{"results": {}}', "`config` must be"),
        (b"{", "is damaged: "),
        (b"\xff", "is damaged: 'utf-8'"),
        (b"[" * 200_000, "is damaged: "),
        (b'{"config": {"model": "m"}, "results": {}, "versions": null}', "`versions` must be"),
        (b'{"config": {"model": "m"}, "results": {}, "n-samples": null}', "`n-samples` must be"),
        (b'{"config": {"model": "m"}, "results": {"t": []}}', "`results` of t must be"),
        (b'{"config": {"model": "m"}, "results": {}, "configs": {"t": 1}}', "`configs` of t"),
    ],
)
@pytest.mark.parametrize("command", [["report"], ["report", "--check"], ["compare"]])
def test_a_malformed_results_file_is_one_line(tmp_path, content, fault, command, capsys):
    path = tmp_path / "20260101_010000_results.json"
    path.write_bytes(content)
    with pytest.raises(LogError, match=fault):
        read_run(path)
    assert main([*command, str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert path.name in line


def without(row, *names):
    return {name: value for name, value in row.items() if name not in names}


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (b'{"doc_id": 0, "rec', " is damaged, line 2"),
        (b"null", ", line 2: is no object but None"),
        (b'"\xff"', " is damaged, line 2: 'utf-8'"),
        ({**ROW, "record": None}, ", line 2: `record` must be an object, not None"),
        (without(ROW, "record"), ", line 2: `record` must be an object, not None"),
        (without(ROW, "doc_id"), ", line 2: `doc_id` must be a whole number, not None"),
        ({**ROW, "doc_id": "1"}, ", line 2: `doc_id` must be a whole number, not '1'"),
        (
            {**ROW, "record": without(RECORD, "dish", "step")},
            ", line 2: the record lacks dish, step",
        ),
        ({**ROW, "record": {**RECORD, "raw": None}}, r", line 2: record\.raw must be a text"),
    ],
)
@pytest.mark.parametrize("command", [["report"], ["report", "--check"], ["compare"]])
def test_a_malformed_row_is_one_line(tmp_path, row, fault, command, capsys):
    path = written(tmp_path, [ROW])
    log = tmp_path / f"20260101_010000_samples_{TASK}.jsonl"
    line = row if isinstance(row, bytes) else json.dumps(row).encode()
    log.write_bytes(log.read_bytes() + line + b"\n")
    with pytest.raises(LogError, match=f"{log.name}{fault}"):
        read_run(path)
    assert main([*command, str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert log.name in line
