"""What is read from the host's files."""

from __future__ import annotations

import json

import pytest
from run_files import binary_record

from lmms_eval_food.results.logs import LogError, read_run, results_files

RECORD = {**binary_record(0, "yes", "yes"), "reader": "robust"}


def written(folder, rows, task="culturalmenu_binary", stamp="20260101_010000"):
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{stamp}_samples_{task}.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    path = folder / f"{stamp}_results.json"
    path.write_text(json.dumps({"results": {task: {}}}), encoding="utf-8")
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
    second = written(tmp_path / "a", [], stamp="20260102_010000")
    first = written(tmp_path / "b", [], stamp="20260101_010000")
    assert results_files([tmp_path]) == [first, second]
    with pytest.raises(LogError, match="no"):
        results_files([tmp_path / "b" / "c"])


def test_a_damaged_row_names_its_file(tmp_path):
    path = written(tmp_path, [])
    log = tmp_path / "20260101_010000_samples_culturalmenu_binary.jsonl"
    log.write_text('{"doc_id": 0, "rec', encoding="utf-8")
    with pytest.raises(LogError, match="samples_culturalmenu_binary"):
        read_run(path)
