import pytest
from canteen_runs import FAILED, canteen_run, tray

from lmms_eval_food.results.canteen.entries import read_entries

RICE = [("rice", 150.0)]
ONE = [tray("1.jpg", RICE)]


def labels(*runs):
    return [entry.label for entry in read_entries(runs, "robust")]


def test_failed_requests_are_no_records():
    failed = tray("2.jpg", RICE, status="failed", step="", raw=FAILED)
    run = canteen_run([*ONE, failed], documents=200)
    (entry,) = read_entries([run], "robust")
    assert entry.failed == 1
    assert [record.id for record in entry.records] == ["1.jpg"]
    assert entry.label == "(incomplete) made size=7b"
    assert entry.available == 200
    assert entry.problems == ("2 of 200 documents", "1 failed requests")


def test_a_run_of_failures_alone_is_still_an_entry():
    run = canteen_run([tray("1.jpg", RICE, status="failed")])
    (entry,) = read_entries([run], "robust")
    assert (entry.failed, entry.records, entry.photos) == (1, (), [])
    assert entry.source == ("made@1", "equal names", "?")


def test_temperature_and_seed_do_not_tell_models_apart():
    runs = [
        canteen_run(ONE, "size=7b,seed=1", temperature=0.2),
        canteen_run(ONE, "seed=2,size=7b", temperature=0.6),
        canteen_run(ONE, "size=7b", temperature=0.2, seed=3),
        canteen_run(ONE, {"size": "7b", "temperature": "1.0"}),
        canteen_run(ONE, "size=3b"),
    ]
    entries = read_entries(runs, "robust")
    assert [entry.model for entry in entries] == ["made size=7b"] * 4 + ["made size=3b"]
    assert [entry.temperature for entry in entries] == [0.2, 0.6, 0.2, 1.0, 0.0]
    assert [entry.seed for entry in entries] == ["1", "2", "3", "", ""]


def test_labels_say_only_what_tells_runs_apart():
    runs = [
        canteen_run(ONE, temperature=0.2),
        canteen_run(ONE, temperature=0.6, seed=1),
        canteen_run(ONE, temperature=0.6, seed=2),
        canteen_run(ONE, "size=3b", temperature=0.6),
    ]
    assert labels(*runs) == [
        "made size=7b T=0.2",
        "made size=7b T=0.6 seed=1",
        "made size=7b T=0.6 seed=2",
        "made size=3b",
    ]


def test_runs_that_nothing_tells_apart_are_numbered():
    assert labels(canteen_run(ONE), canteen_run(ONE)) == [
        "made size=7b T=0 #1",
        "made size=7b T=0 #2",
    ]


def test_folders_are_shown_by_their_last_part_and_compared_whole():
    runs = [canteen_run(ONE, f"pretrained=/models/{name}/last") for name in ("one", "two")]
    entries = read_entries(runs, "robust")
    assert [entry.label for entry in entries] == [
        "made pretrained=last T=0 #1",
        "made pretrained=last T=0 #2",
    ]
    assert len({entry.model for entry in entries}) == 2


def test_a_variant_of_the_task_is_named():
    assert labels(canteen_run(ONE, task="canteen_portions_concise")) == ["made size=7b (concise)"]


def test_a_photo_that_was_logged_twice_counts_once_and_marks_the_run():
    again = tray("1.jpg", RICE, [("rice", 10.0)])
    (entry,) = read_entries([canteen_run([*ONE, again])], "robust")
    assert [len(record.items) for record in entry.records] == [0]
    assert entry.problems == ("1 documents logged twice",)
    assert entry.label.startswith("(incomplete) ")


def test_a_temperature_that_is_no_number_is_none():
    runs = [canteen_run(ONE, temperature=value) for value in (float("nan"), float("inf"), "hot")]
    assert [entry.temperature for entry in read_entries(runs, "robust")] == [None, None, None]


def test_other_tasks_and_readers_are_left_out():
    official = canteen_run([tray("1.jpg", RICE, reader="official")])
    assert read_entries([official, canteen_run(ONE, task="diningbench_cls")], "robust") == []


def test_a_record_of_another_version_is_refused():
    old = {key: value for key, value in ONE[0].items() if key != "participant"}
    with pytest.raises(ValueError, match="another version"):
        read_entries([canteen_run([old])], "robust")
