import json
import shutil
from importlib.resources import files

import pytest
from run_files import write_run

from lmms_eval_food.results.cli import main
from lmms_eval_food.results.leaderboard import (
    HEADLINE,
    EntryError,
    read_entries,
    write_board,
)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The entries that one report writes of two runs."""
    folder = tmp_path_factory.mktemp("report")
    for stamp, size in (("20260101_010000", "7b"), ("20260102_010000", "3b")):
        write_run(folder / "runs" / size, stamp, f"size={size}")
    arguments = ["report", str(folder / "runs"), "--out", str(folder / "out")]
    assert main([*arguments, "--resamples", "20"]) == 0
    return folder / "out" / "leaderboard"


@pytest.fixture
def entries(written, tmp_path):
    return shutil.copytree(written, tmp_path / "entries")


def changed(folder, *keys, value):
    """Replace one value in the first entry."""
    path = sorted(folder.glob("*.json"))[0]
    entry = json.loads(path.read_text("utf-8"))
    place = entry
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    path.write_text(json.dumps(entry), "utf-8")
    return path


def test_a_report_writes_an_entry_a_run(entries):
    found = read_entries(entries)
    assert list(found) == [
        "20260101-010000-made-size-7b-1.json",
        "20260102-010000-made-size-3b-2.json",
    ]
    tray = found["20260101-010000-made-size-7b-1.json"]["tasks"]["canteen_portions"]
    assert tray["scores"]["robust"]["f1"]["value"] == pytest.approx(0.8)
    assert (tray["expected"], tray["found"], tray["problems"]) == (2, 2, [])
    assert tray["prompts"].startswith("sha256:")


def test_entries_hold_no_answers(entries):
    for path in entries.glob("*.json"):
        text = path.read_text("utf-8")
        assert "rice" not in text
        assert "question" not in text
        assert path.stat().st_size < 20_000


def test_the_board_shows_and_ranks_the_entries(entries, tmp_path, capsys):
    board = tmp_path / "board"
    assert main(["report", "--leaderboard", str(entries), "--out", str(board)]) == 0
    assert str(board / "report.html") in capsys.readouterr().out
    text = (board / "report.html").read_text("utf-8")
    assert "2 submitted runs" in text
    for part in ("made size=7b", "made size=3b", "1 failed requests", "Gemma"):
        assert part in text
    rows = (board / "scores.csv").read_text("utf-8").splitlines()
    assert sum(",canteen_portions,1,f1,robust,0.8," in row for row in rows) == 2


def test_the_same_entries_give_the_same_bytes(entries, tmp_path):
    first, second = (write_board(entries, tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "a/scores.csv").read_bytes() == (tmp_path / "b/scores.csv").read_bytes()
    # Another order of the folder's files changes nothing either.
    for path in sorted(entries.glob("*.json"), reverse=True):
        path.write_bytes(path.read_bytes())
    assert write_board(entries, tmp_path / "c").read_bytes() == first.read_bytes()


@pytest.mark.parametrize(
    ("keys", "value", "place"),
    [
        (["format"], 2, "format"),
        (["model"], "", "model"),
        (["extra"], 1, "the whole entry"),
        (["tasks"], {}, "tasks"),
        (["tasks"], {"mmmu_val": {}}, "tasks"),
        (["tasks", "canteen_portions", "found"], -1, "tasks/canteen_portions/found"),
        (["tasks", "canteen_portions", "scores", "own"], {}, "tasks/canteen_portions/scores"),
        (
            ["tasks", "canteen_portions", "scores", "robust", "f1", "value"],
            "0.9",
            "tasks/canteen_portions/scores/robust/f1/value",
        ),
        (["provenance", "command"], None, "provenance/command"),
    ],
)
def test_a_malformed_entry_is_named(entries, keys, value, place, tmp_path, capsys):
    path = changed(entries, *keys, value=value)
    with pytest.raises(EntryError, match=rf"^{path.name}: {place}: "):
        read_entries(entries)
    assert main(["report", "--leaderboard", str(entries), "--out", str(tmp_path / "b")]) == 1
    assert path.name in capsys.readouterr().err


CLASS = ["tasks", "culturalmenu_binary", "scores", "robust"]
TRAY = ["tasks", "canteen_portions", "scores", "robust"]
ACC = {"value": 0.5, "low": 0.0, "high": 0.8, "n": 4}


@pytest.mark.parametrize(
    ("keys", "value", "reason"),
    [
        ([*CLASS, "acc"], {**ACC, "value": 7.5, "low": 0.1, "high": 0.9}, "value 7.5 is outside"),
        ([*CLASS, "acc"], {**ACC, "value": -1}, r"value -1 is outside \[0, 1.0\]"),
        ([*CLASS, "acc"], {**ACC, "low": 0.9, "high": 0.1}, r"0.5 is outside its interval \[0.9"),
        ([*CLASS, "acc"], {**ACC, "low": 0.9, "high": 0.99}, "0.5 is outside its interval"),
        ([*CLASS, "acc"], {**ACC, "high": None}, "an interval has a value and two ends"),
        ([*CLASS, "acc"], {**ACC, "value": None}, "an interval has a value and two ends"),
        ([*CLASS, "acc"], {**ACC, "n": 0}, "a score of 0 answers"),
        ([*CLASS, "acc"], {**ACC, "n": 6}, "a score of 6 answers, 5 documents"),
        ([*CLASS, "nmae"], {**ACC, "n": 4}, "culturalmenu_binary has no such metric"),
        ([*TRAY, "nmae"], {**ACC, "value": 10**400, "n": 2}, "a number is too large"),
        ([*TRAY, "nmae"], {**ACC, "value": -0.1, "n": 2}, r"value -0.1 is outside \[0, inf\]"),
        (["provenance", "date"], "yesterday", "'yesterday' is not like 20261231_235959"),
        (["provenance", "date"], "20260231_000000", "'20260231_000000' is not like"),
        (["tasks", "canteen_portions", "found"], 1, "1 of 2 documents, and no problem"),
    ],
)
def test_what_cannot_be_is_refused(entries, keys, value, reason):
    path = changed(entries, *keys, value=value)
    place = "/".join(keys if keys[-1] != "found" else keys[:-1])
    with pytest.raises(EntryError, match=rf"^{path.name}: {place}: .*{reason}"):
        read_entries(entries)


@pytest.mark.parametrize(
    "score",
    [
        {"value": 1.0, "low": 0.51, "high": 1.0, "n": 4},
        {"value": 0.3333333333333333, "low": 0.33333333333333337, "high": 0.5, "n": 4},
        {"value": 0.5, "low": None, "high": None, "n": 4},
        {"value": None, "low": None, "high": None, "n": 0},
    ],
)
def test_what_can_be_is_taken(entries, score):
    changed(entries, *CLASS, "acc", value=score)
    assert len(read_entries(entries)) == 2


def test_an_unknown_task_is_refused(entries):
    path = sorted(entries.glob("*.json"))[0]
    entry = json.loads(path.read_text("utf-8"))
    entry["tasks"]["diningbench_foo"] = entry["tasks"]["canteen_portions"]
    path.write_text(json.dumps(entry), "utf-8")
    with pytest.raises(EntryError, match="tasks/diningbench_foo: no such task in this suite"):
        read_entries(entries)


def test_a_judged_score_names_its_judge(entries):
    path = sorted(entries.glob("*.json"))[0]
    entry = json.loads(path.read_text("utf-8"))
    task = {**entry["tasks"]["canteen_portions"], "scores": {"robust": {"judge_acc": ACC}}}
    task |= {"expected": 4, "found": 4, "matcher": ""}
    entry["tasks"]["diningbench_vqa"] = task
    path.write_text(json.dumps(entry), "utf-8")
    with pytest.raises(EntryError, match="judge_acc: a judged score without a judge"):
        read_entries(entries)
    task["judge"] = "openai:judge prompt@1"
    path.write_text(json.dumps(entry), "utf-8")
    assert len(read_entries(entries)) == 2


def test_judges_are_ranked_apart(entries, tmp_path):
    paths = sorted(entries.glob("*.json"))
    for path, judge in zip(paths, ("openai:one prompt@1", "openai:two prompt@1"), strict=True):
        entry = json.loads(path.read_text("utf-8"))
        scores = {"robust": {"judge_acc": ACC}}
        task = {**entry["tasks"]["canteen_portions"], "scores": scores, "judge": judge}
        entry["tasks"]["diningbench_vqa"] = {**task, "expected": 4, "found": 4, "matcher": ""}
        path.write_text(json.dumps(entry), "utf-8")
    text = write_board(entries, tmp_path / "out").read_text("utf-8")
    assert "diningbench_vqa: other judge: openai:one prompt@1" in text
    assert "other judge: openai:two" not in text


def test_the_same_run_twice_is_refused(entries):
    first = sorted(entries.glob("*.json"))[0]
    (entries / "z.json").write_bytes(first.read_bytes())
    with pytest.raises(EntryError, match=rf"^z\.json holds the same run as {first.name}$"):
        read_entries(entries)


def test_the_same_data_have_the_same_number_of_documents(entries):
    first, second = sorted(entries.glob("*.json"))
    entry = json.loads(first.read_text("utf-8"))
    for own in entry["tasks"].values():
        own |= {"expected": 1, "found": 1, "problems": [], "scores": {}}
    first.write_text(json.dumps(entry), "utf-8")
    message = (
        rf"^{second.name}: tasks/canteen_portions/expected: 2 documents, but {first.name} has 1 "
    )
    with pytest.raises(EntryError, match=message):
        read_entries(entries)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"[" * 100_000, "is not JSON: "),
        (b"\xff\x00", "is not JSON: 'utf-8'"),
        (b"\xef\xbb\xbf{}", "is not JSON: "),
        (b"", "is not JSON: "),
        (b'{"format": NaN}', "is not JSON: NaN is no number"),
        (b'{"format": -Infinity}', "is not JSON: -Infinity is no number"),
        (b'{"format": 2, "format": 1}', "is not JSON: a name is there twice"),
        (b'{"format": ' + b"1" * 5000 + b"}", "is not JSON: "),
        (b'{"model": "a\\ud800b"}', "is not JSON: 'utf-8' codec"),
        (b"[]", "the whole entry: "),
        (b'{"model": "' + b"x" * 1_000_000 + b'"}', "has more than 1,000,000 bytes"),
    ],
)
def test_what_no_program_wrote_is_one_line(entries, tmp_path, content, reason, capsys):
    (entries / "0.json").write_bytes(content)
    with pytest.raises(EntryError, match=rf"^0\.json:? {reason}"):
        read_entries(entries)
    assert main(["report", "--leaderboard", str(entries), "--out", str(tmp_path / "b")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_what_is_no_json_is_named(entries):
    (entries / "0.json").write_text("{", "utf-8")
    with pytest.raises(EntryError, match=r"^0\.json is not JSON"):
        read_entries(entries)


def test_a_missing_folder_is_named(tmp_path, capsys):
    assert main(["report", "--leaderboard", str(tmp_path / "none")]) == 1
    assert str(tmp_path / "none") in capsys.readouterr().err


def test_an_empty_folder_makes_an_empty_board(tmp_path):
    path = write_board(tmp_path, tmp_path / "out")
    assert "0 submitted runs" in path.read_text("utf-8")


def test_problems_stay_with_an_entry(entries, tmp_path):
    changed(entries, "tasks", "canteen_portions", "problems", value=["--limit 8"])
    text = write_board(entries, tmp_path / "out").read_text("utf-8")
    assert "canteen_portions: --limit 8" in text


def test_hostile_entries_are_shown_as_text(entries, tmp_path):
    changed(entries, "model", value="<script>alert(1)</script>\u202e\"'")
    text = write_board(entries, tmp_path / "out").read_text("utf-8")
    assert "<script>alert" not in text
    assert "&lt;script&gt;" in text


def test_the_schema_knows_every_headline_metric():
    text = files("lmms_eval_food.results").joinpath("leaderboard_schema.json").read_text("utf-8")
    task = json.loads(text)["$defs"]["task"]["properties"]["scores"]["additionalProperties"]
    assert set(task["propertyNames"]["enum"]) == HEADLINE
