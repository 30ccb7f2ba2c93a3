import json
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


@pytest.fixture
def entries(tmp_path):
    for stamp, size in (("20260101_010000", "7b"), ("20260102_010000", "3b")):
        write_run(tmp_path / "runs" / size, stamp, f"size={size}")
    arguments = ["report", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    assert main([*arguments, "--resamples", "20"]) == 0
    return tmp_path / "out" / "leaderboard"


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
