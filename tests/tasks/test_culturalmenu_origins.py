"""CulturalMenuBench from the hub, from a folder of the user's and from a list of dishes."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from huggingface_hub import constants
from loguru import logger

from lmms_eval_food.results.cli import main
from lmms_eval_food.tasks import data, fetch, tables
from lmms_eval_food.tasks.culturalmenu import normal_form
from lmms_eval_food.tasks.prepare import prepare
from lmms_eval_food.tasks.rows import DataError
from tests.tasks import menu_sources as made
from tests.tasks.hub_server import COMMIT, Hub, serving
from tests.tasks.menu_sources import below, packed_zip, read_rows, write_files


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def warnings() -> Iterator[list[str]]:
    said: list[str] = []
    number = logger.add(lambda message: said.append(message.record["message"]), level="WARNING")
    yield said
    logger.remove(number)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the published counts be those of the made-up source."""
    counts = dict(zip(normal_form.PUBLISHED_COUNTS, (2, 2, 1, 1, 1, 5), strict=True))
    monkeypatch.setattr(normal_form, "PUBLISHED_COUNTS", counts)


def archives() -> dict[str, bytes]:
    """A metadata archive, two media archives and their checksums."""
    packed = {
        "metadata.zip": packed_zip(below(made.usual_names(), "meta")),
        "m1.zip": packed_zip(below(made.MEDIA, "m1")),
        "m2.zip": packed_zip(below(made.MEDIA, "m2")),
    }
    sums = "".join(f"{hashlib.sha256(c).hexdigest()}  {name}\n" for name, c in packed.items())
    return {**packed, "SHA256SUMS": sums.encode()}


def without_ids(table: str, folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in r.items() if k != "id"} for r in read_rows(folder / f"{table}.jsonl")]


def check(folder: Path) -> None:
    """The folder holds the made-up source in the normal form, with its pictures."""
    for table, rows in made.EXPECTED.items():
        assert without_ids(table, folder) == rows
        documents = tables.read_table(folder, "culturalmenu", table)
        assert tables.missing_images(tables.row_images(documents)) == []
    found = {path.name: path.read_bytes() for path in (folder / "images").rglob("*.jpg")}
    assert found == {name.partition("/")[2]: content for name, content in made.MEDIA.items()}


# The hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(Hub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
        put_on(server, archives())
        yield server


def put_on(hub: Hub, files: dict[str, bytes]) -> None:
    hub.files = {f"{fetch.CULTURALMENU_REPO}/{name}": content for name, content in files.items()}


@pytest.mark.slow
def test_the_published_archives(hub: Hub, root: Path, few: None, warnings: list[str]) -> None:
    check(prepare("culturalmenu", root=root))
    found = data.read_provenance(root / "culturalmenu", "culturalmenu")
    assert (found.source, found.revision) == (fetch.CULTURALMENU_REPO, COMMIT)
    assert (found.kind, found.placeholders) == ("published", False)
    assert warnings == []
    assert not (root / ".downloads/culturalmenu").exists()


@pytest.mark.slow
def test_archives_with_other_counts_than_published(
    hub: Hub, root: Path, warnings: list[str]
) -> None:
    check(prepare("culturalmenu", root=root))
    found = data.read_provenance(root / "culturalmenu", "culturalmenu")
    assert found.kind == "local"
    assert found.source == f"{fetch.CULTURALMENU_REPO}, other counts than published"
    assert len(warnings) == len(normal_form.PUBLISHED_COUNTS)
    assert "culturalmenu: yes/no questions: 2 here, 4,870 published" in warnings


@pytest.mark.slow
def test_an_archive_that_is_not_what_sha256sums_says(hub: Hub, root: Path) -> None:
    put_on(hub, {**archives(), "m2.zip": packed_zip({"d2_0.jpg": b"other"})})
    with pytest.raises(DataError, match=r"m2\.zip has the checksum"):
        prepare("culturalmenu", root=root)
    assert not (root / "culturalmenu").exists()


@pytest.mark.slow
def test_a_layout_that_the_packaged_map_does_not_fit(
    hub: Hub, root: Path, tmp_path: Path, few: None
) -> None:
    packed = {"all.zip": packed_zip({**made.picture_ids(), **made.MEDIA})}
    sums = f"{hashlib.sha256(packed['all.zip']).hexdigest()}  all.zip\n"
    put_on(hub, {**packed, "SHA256SUMS": sums.encode()})
    with pytest.raises(DataError) as caught:
        prepare("culturalmenu", root=root)
    unpacked = root / ".downloads/culturalmenu/unpacked"
    for part in ("no file fits dishes", "all/yes_no.json", "--map FILE", str(unpacked)):
        assert part in str(caught.value)
    assert (unpacked / "all/yes_no.json").exists()
    own = tmp_path / "map.yaml"
    own.write_text(made.PICTURE_ID_MAP, encoding="utf-8")
    prepare("culturalmenu", root=root, map_file=own)
    dish = read_rows(root / "culturalmenu/dishes.jsonl")[0]
    assert dish["dish_image"] == "images/all/m1/d1_0.jpg"
    assert (root / "culturalmenu" / dish["dish_image"]).read_bytes() == made.MEDIA["m1/d1_0.jpg"]
    assert data.read_provenance(root / "culturalmenu", "culturalmenu").kind == "published"


# Folders and archives of the user's


def test_a_folder_of_archives(root: Path, tmp_path: Path, few: None, warnings: list[str]) -> None:
    source = write_files(tmp_path / "mine", archives())
    check(prepare("culturalmenu", source=source, root=root))
    found = data.read_provenance(root / "culturalmenu", "culturalmenu")
    assert (found.source, found.kind) == ("local:mine", "local")
    assert warnings == []
    assert {path.name: path.read_bytes() for path in source.iterdir()} == archives()


def test_an_archive_of_the_users_that_is_wrong_is_refused_and_kept(
    root: Path, tmp_path: Path
) -> None:
    files = {**archives(), "m1.zip": packed_zip({})}
    source = write_files(tmp_path / "mine", files)
    with pytest.raises(DataError, match=r"m1\.zip has the checksum .* says .*; fetch it anew"):
        prepare("culturalmenu", source=source, root=root)
    assert (source / "m1.zip").read_bytes() == files["m1.zip"]
    assert not (root / "culturalmenu").exists()


def test_archives_without_checksums_are_taken_and_mentioned(
    root: Path, tmp_path: Path, few: None, warnings: list[str]
) -> None:
    files = archives()
    del files["SHA256SUMS"]
    check(prepare("culturalmenu", source=write_files(tmp_path / "mine", files), root=root))
    assert len(warnings) == 3
    assert all("is not checked: no checksum of it" in warning for warning in warnings)


def test_a_listed_archive_that_is_absent_is_mentioned(
    root: Path, tmp_path: Path, few: None, warnings: list[str]
) -> None:
    files = archives()
    files["SHA256SUMS"] += f"{'0' * 64}  media 3.zip\n".encode()
    source = write_files(tmp_path / "mine", files)
    check(prepare("culturalmenu", source=source, root=root))
    assert warnings == [f"{source}/SHA256SUMS lists media 3.zip, which is not in {source}"]


def capitals(files: dict[str, bytes]) -> dict[str, bytes]:
    packed = {name.replace(".zip", ".ZIP"): content for name, content in files.items()}
    return {**packed, "SHA256SUMS": files["SHA256SUMS"].replace(b".zip", b".ZIP")}


def test_archives_whose_endings_are_in_capitals(
    root: Path, tmp_path: Path, few: None, warnings: list[str]
) -> None:
    source = write_files(tmp_path / "mine", capitals(archives()))
    check(prepare("culturalmenu", source=source, root=root))
    assert warnings == []


def test_archives_whose_endings_are_in_capitals_are_checked(root: Path, tmp_path: Path) -> None:
    files = {**capitals(archives()), "m1.ZIP": packed_zip({})}
    with pytest.raises(DataError, match=r"m1\.ZIP has the checksum .* says .*; fetch it anew"):
        prepare("culturalmenu", source=write_files(tmp_path / "mine", files), root=root)


@pytest.mark.parametrize("wrapped", [False, True], ids=["a folder of archives", "one archive"])
def test_a_row_in_an_archive_is_named_by_the_archive(
    root: Path, tmp_path: Path, wrapped: bool
) -> None:
    tables_ = {**made.usual_names(), "meta/binary.jsonl": b'{"answer": "yes"}'}
    source = tmp_path / "mine.zip"
    if wrapped:
        source.write_bytes(packed_zip({**tables_, **made.MEDIA}))
        place = "mine.zip: meta/binary.jsonl, line 1"
    else:
        source = write_files(tmp_path / "mine", {"all.zip": packed_zip({**tables_, **made.MEDIA})})
        place = f"{source}/all.zip: meta/binary.jsonl, line 1"
    with pytest.raises(DataError) as caught:
        prepare("culturalmenu", source=source, root=root)
    assert str(caught.value).startswith(f"{place}: field 'relation' ")
    assert ".staging" not in str(caught.value)


def test_metadata_unpacked_and_media_packed(root: Path, tmp_path: Path, few: None) -> None:
    files = {name: content for name, content in archives().items() if name != "metadata.zip"}
    source = write_files(tmp_path / "mine", {**files, **made.usual_names()})
    check(prepare("culturalmenu", source=source, root=root))


@pytest.mark.parametrize("packed", [False, True])
def test_an_unpacked_folder_and_the_same_as_one_archive(
    root: Path, tmp_path: Path, packed: bool, few: None
) -> None:
    files = {**made.usual_names(), **made.MEDIA}
    source = tmp_path / "mine"
    if packed:
        source.write_bytes(packed_zip({f"all/{name}": content for name, content in files.items()}))
    else:
        write_files(source, files)
    check(prepare("culturalmenu", source=source, root=root))
    if not packed:
        assert (source / "m1/d1_0.jpg").exists()


def test_a_map_of_the_users(root: Path, tmp_path: Path) -> None:
    source = write_files(tmp_path / "mine", {**made.spreadsheets(), **made.MEDIA})
    own = tmp_path / "map.yaml"
    own.write_text(made.SPREADSHEET_MAP, encoding="utf-8")
    arguments = ["prepare", "culturalmenu", "--from", str(source), "--to", str(root)]
    assert main([*arguments, "--map", str(own)]) == 0
    check(root / "culturalmenu")


def test_a_row_that_does_not_fit_leaves_nothing(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {**made.usual_names(), **made.MEDIA}
    files["meta/binary.jsonl"] = '{"id": 4, "answer": "ja", "relation": "拼图"}'.encode()
    source = write_files(tmp_path / "mine", files)
    assert main(["prepare", "culturalmenu", "--from", str(source), "--to", str(root)]) == 1
    said = capsys.readouterr().err
    assert "binary.jsonl, line 1: field 'relation' must be one of the ten relations" in said
    assert 'The row is {"id": 4, "answer": "ja", "relation": "拼图"}' in said
    assert "field_map.yaml and name it with --map FILE" in said
    assert not (root / "culturalmenu").exists()


def test_a_picture_that_is_empty(root: Path, tmp_path: Path) -> None:
    files = {**made.usual_names(), **made.MEDIA, "m2/d2_1.jpg": b""}
    with pytest.raises(DataError, match=r"1 of 5 pictures .* first images/m2/d2_1\.jpg"):
        prepare("culturalmenu", source=write_files(tmp_path / "mine", files), root=root)


def test_the_normal_form_needs_no_map(root: Path, tmp_path: Path, mini_root: Path) -> None:
    prepare("culturalmenu", source=mini_root / "culturalmenu", root=root)
    dishes = (mini_root / "culturalmenu/dishes.jsonl").read_bytes()
    assert (root / "culturalmenu/dishes.jsonl").read_bytes() == dishes


def test_a_row_of_the_normal_form_is_named_where_the_user_has_it(
    root: Path, tmp_path: Path, mini_root: Path
) -> None:
    source = tmp_path / "mine"
    shutil.copytree(mini_root / "culturalmenu", source)
    rows = read_rows(source / "mc.jsonl")
    rows[0]["options"] = [rows[0]["options"][0]] * 4
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (source / "mc.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        prepare("culturalmenu", source=source, root=root)
    message = str(caught.value)
    assert message.startswith(f"{source}/mc.jsonl, line 1: field 'options' must be four texts")
    assert message.endswith(f"The row is {json.dumps(rows[0], ensure_ascii=False)}")


# A list of dishes


def test_from_dishes(
    root: Path, tmp_path: Path, mini_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mini = mini_root / "culturalmenu"
    assert (
        main(
            [
                "prepare",
                "culturalmenu",
                "--from-dishes",
                str(mini / "dishes.jsonl"),
                "--to",
                str(root),
            ]
        )
        == 0
    )
    folder = root / "culturalmenu"
    for table in ("dishes", "binary", "mc", "region"):
        assert (folder / f"{table}.jsonl").read_bytes() == (mini / f"{table}.jsonl").read_bytes()
    documents = tables.read_table(folder, "culturalmenu", "dishes")
    assert tables.missing_images(tables.row_images(documents)) == []
    found = data.read_provenance(folder, "culturalmenu")
    assert (found.source, found.kind) == ("built from dishes.jsonl, seed 0", "local")
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["binary", "yes", "no"] in lines
    # The mini set has 30 dishes: ten relations of 30 questions, fourteen of 30, and 8 regional
    # dishes with two kinds of pictures.
    assert ["dish_image-category", "15", "15"] in lines
    totals = [line[1:] for line in lines if line and line[0] == "all"]
    assert totals == [["150", "150"], ["105"] * 4, ["4"] * 4]


DISHES = [
    {**made.D1, "dish_image": "photos/a.jpg", "practice_images": None},
    {**made.D2, "dish_id": 2, "dish_image": "./photos//b.jpg", "practice_images": ["photos/c.jpg"]},
]
PHOTOS = {f"photos/{name}.jpg": name.encode() for name in "abc"}


def list_of(*dishes: dict[str, object]) -> bytes:
    return "".join(json.dumps(dish) + "\n" for dish in dishes).encode()


def test_few_dishes_with_pictures_of_any_folder(root: Path, tmp_path: Path) -> None:
    files = {"dishes.jsonl": list_of(*DISHES), **PHOTOS}
    source = write_files(tmp_path / "mine", files)
    folder = prepare("culturalmenu", dishes=source / "dishes.jsonl", root=root)
    assert [row["dish_id"] for row in read_rows(folder / "dishes.jsonl")] == ["d1", "2"]
    # Two dishes are too few for four options, but not for two regional questions' pictures.
    assert not (folder / "mc.jsonl").exists()
    assert [row["evidence"] for row in read_rows(folder / "region.jsonl")] == ["dish_image"]
    assert (folder / "photos/b.jpg").read_bytes() == b"b"


@pytest.mark.parametrize(
    ("dishes", "problem"),
    [
        ([DISHES[0], DISHES[0]], "line 2: field 'dish_id' must be an id that no other row has"),
        ([{**DISHES[0], "language": "de"}], "line 1: field 'language' must be one of zh, en"),
        ([{**DISHES[0], "dish_image": "../a.jpg"}], "line 1: field 'dish_image' must be the path"),
        ([DISHES[0]], "has 1 dishes, too few for a yes/no question"),
        ([], "has 0 dishes, too few for a yes/no question"),
        (
            [DISHES[0], {**DISHES[1], "dish_image": "photos/d.jpg"}],
            "1 of 3 pictures that the tables name are missing or empty, first photos/d",
        ),
    ],
)
def test_lists_of_dishes_that_are_refused(
    root: Path, tmp_path: Path, dishes: list[dict[str, object]], problem: str
) -> None:
    source = write_files(tmp_path / "mine", {"dishes.jsonl": list_of(*dishes), **PHOTOS})
    with pytest.raises(DataError, match=problem):
        prepare("culturalmenu", dishes=source / "dishes.jsonl", root=root)
    assert not (root / "culturalmenu").exists()


def test_a_dish_that_does_not_fit_is_shown_whole(root: Path, tmp_path: Path) -> None:
    row = {**DISHES[0], "language": "de", "practice_text": "切。" * 300}
    source = write_files(tmp_path / "mine", {"dishes.jsonl": list_of(row), **PHOTOS})
    with pytest.raises(DataError) as caught:
        prepare("culturalmenu", dishes=source / "dishes.jsonl", root=root)
    message = str(caught.value)
    assert message.startswith(f"{source}/dishes.jsonl, line 1: field 'language' must be one of zh")
    assert message.endswith(
        f"correct it and try again. The row is {json.dumps(row, ensure_ascii=False)}"
    )
    assert "--force" not in message


def test_a_list_of_dishes_that_is_no_json(root: Path, tmp_path: Path) -> None:
    source = write_files(tmp_path / "mine", {"dishes.jsonl": b"[]\n"})
    with pytest.raises(DataError, match=r"line 1: is not a JSON object .*; correct it and try"):
        prepare("culturalmenu", dishes=source / "dishes.jsonl", root=root)


def test_regions_and_categories_that_are_not_known_are_said(
    root: Path, tmp_path: Path, warnings: list[str]
) -> None:
    regions = ["Sichuan cuisine", "Sichuan cuisine", "川菜", "四川菜", None, "滇菜"]
    dishes = [
        {
            **made.D1,
            "dish_id": f"d{n}",
            "dish_name": f"菜{n}",
            "region": region,
            "category": "Peru" if n == 5 else "中国",
            "dish_image": f"photos/{'abc'[n % 3]}.jpg",
            "practice_images": None,
        }
        for n, region in enumerate(regions)
    ]
    source = write_files(tmp_path / "mine", {"dishes.jsonl": list_of(*dishes), **PHOTOS})
    folder = prepare("culturalmenu", dishes=source / "dishes.jsonl", root=root)
    assert [row["dish_id"] for row in read_rows(folder / "region.jsonl")] == ["d2", "d3"]
    said = [warning.partition(":")[2].strip() for warning in warnings]
    assert [text[: text.index(" is none")] for text in said] == [
        "region 'Sichuan cuisine' (2 dishes)",
        "region '滇菜' (1 dishes)",
        "category 'Peru' (1 dishes)",
    ]


def test_another_seed_makes_other_questions(
    root: Path, tmp_path: Path, mini_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mini = mini_root / "culturalmenu"
    folders = []
    for name, options in (("one", []), ("zero", ["--seed", "0"]), ("seven", ["--seed", "7"])):
        command = ["prepare", "culturalmenu", "--from-dishes", str(mini / "dishes.jsonl")]
        assert main([*command, "--to", str(root / name), *options]) == 0
        folders.append(root / name / "culturalmenu")
    one, zero, seven = ((folder / "mc.jsonl").read_bytes() for folder in folders)
    assert one == zero == (mini / "mc.jsonl").read_bytes()
    assert seven != one
    sources = [data.read_provenance(folder, "culturalmenu").source for folder in folders]
    assert [source.partition(", ")[2] for source in sources] == ["seed 0", "seed 0", "seed 7"]
    assert main(["prepare", "culturalmenu", "--seed", "7", "--to", str(root)]) == 1
    assert "--seed is for `prepare culturalmenu --from-dishes FILE`" in capsys.readouterr().err


def test_a_list_of_dishes_that_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no such file"):
        prepare("culturalmenu", dishes=tmp_path / "dishes.jsonl", root=root)


@pytest.mark.parametrize("option", ["--from", "--map", "--from-dishes", "--seed"])
def test_all_takes_no_file_of_one_benchmark(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["prepare", "all", option, "7"]) == 2
    assert "need one benchmark's name" in capsys.readouterr().err
