from __future__ import annotations

import errno
import gzip
import io
import json
import os
import queue
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import filelock
import huggingface_hub
import pytest
from huggingface_hub import constants
from loguru import logger
from PIL import Image

from lmms_eval_food.results import cli
from lmms_eval_food.tasks import archives, data, fetch, staging, tables
from lmms_eval_food.tasks.prepare import prepare as put
from lmms_eval_food.tasks.rows import DataError
from tests.tasks.hub_server import Hub, serving

PUBLISHED = Path(__file__).parents[3] / "shared" / "published" / "canteen"


def picture(shade: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (6, 6), (shade, 90, 30)).save(file, "JPEG")
    return file.getvalue()


def dining_files() -> dict[str, bytes]:
    """Six tables of two rows each, as on the hub, without their pictures."""
    files = {}
    for table in tables.TABLES["diningbench"]:
        kind = table.partition("_")[0]
        truth = {"calories": 1, "protein": 2, "carbohydrates": 3, "fat": 4}
        answer = {"classification": "A", "nutrition": truth, "vqa": "yes"}[kind]
        rows = []
        for number in (1, 2):
            name = f"images/0000{number}"
            shown: dict[str, object] = {
                "standard_image": f"{name}_0.jpg",
                "user_images": [f"{name}_1.jpg"],
            }
            if kind == "vqa":
                shown = {"images": [f"{name}_1.jpg"]}
            rows.append({"id": number, "prompt": "?", "ground_truth": answer, **shown})
        files[f"{table}.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return files


DINING_PICTURES = {
    f"images/0000{dish}_{view}.jpg": picture(10 * dish + view) for dish in (1, 2) for view in (0, 1)
}
CANTEEN_REPOSITORY = {
    "README.md": b"about",
    "labels_flat.csv": b"image,food,portion\n001.jpg,Rice,150\n001.jpg,Soup,80\n002.jpg,Rice,9\n",
    "GT_Mensa_2025/image_participants.csv": (
        b"resized_filename,participant_id\n001.jpg,p1\n002.jpg,p2\n"
    ),
    "GT_Mensa_2025/resized_images/001.jpg": picture(1),
    "GT_Mensa_2025/resized_images/002.jpg": picture(2),
    "system_prompts/01.txt": b"you are exact",
    "system_prompts/json_llm_prompt_01.txt": b"make it JSON",
    "user_prompts/01.txt": b"list the foods",
}
CANTEEN_TABLES = {
    "labels_flat.csv": CANTEEN_REPOSITORY["labels_flat.csv"],
    "image_participants.csv": CANTEEN_REPOSITORY["GT_Mensa_2025/image_participants.csv"],
}
CANTEEN_RESULT = {
    **CANTEEN_TABLES,
    "images/001.jpg": picture(1),
    "images/002.jpg": picture(2),
    "prompts/system.txt": b"you are exact",
    "prompts/user.txt": b"list the foods",
    "prompts/repair.txt": b"make it JSON",
}


def menu_files() -> dict[str, bytes]:
    dish = {
        "dish_id": "d1",
        "dish_name": "ramen",
        "category": "Japan",
        "region": None,
        "language": "en",
        "raw_material": "noodles",
        "practice_text": "boil",
        "dish_image": "images/d1.jpg",
        "practice_images": ["images/d1_1.jpg"],
    }
    item = {
        "id": "b1",
        "relation": "dish_image-dish_name",
        "language": "en",
        "dish_ids": ["d1"],
        "images": ["images/d1.jpg"],
        "prompt": "Is it ramen?",
        "answer": "yes",
    }
    return {
        "dishes.jsonl": json.dumps(dish).encode(),
        "binary.jsonl": json.dumps(item).encode(),
        "images/d1.jpg": picture(7),
        "images/d1_1.jpg": picture(8),
    }


def write_files(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file() and file.name != data.PREPARED
    }


def packed_tar(files: dict[str, bytes], wrap: str = "") -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(wrap + name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


def packed_zip(files: dict[str, bytes], wrap: str = "") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            archive.writestr(wrap + name, content)
    return file.getvalue()


def entries(root: Path) -> list[str]:
    """What a root holds, without the locks and without a download folder that is empty."""
    if not root.exists():
        return []
    found = set(os.listdir(root)) - {".locks"}
    if ".downloads" in found and not os.listdir(root / ".downloads"):
        found.remove(".downloads")
    return sorted(found)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


@pytest.fixture
def few_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {
        "diningbench": dict.fromkeys(tables.TABLES["diningbench"], 2),
        "canteen": {"portions": 2, "items": 3},
    }
    monkeypatch.setattr(staging, "PUBLISHED_COUNTS", counts)


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(Hub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("LMMS_EVAL_FOOD_GITHUB", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
        monkeypatch.setattr(fetch, "RETRY_WAIT", 0)
        yield server


@pytest.fixture
def dining_hub(hub: Hub, few_rows: None) -> Hub:
    repo = fetch.DININGBENCH_REPO
    files = {**dining_files(), "images.tar.gz": packed_tar(DINING_PICTURES)}
    hub.files = {f"{repo}/{name}": content for name, content in files.items()}
    hub.large = {f"{repo}/images.tar.gz", f"{repo}/classification.jsonl"}
    return hub


IMAGES = f"{fetch.DININGBENCH_REPO}/images.tar.gz"
REPOSITORY = f"{fetch.CANTEEN_REPO}/tar.gz"


@pytest.fixture
def canteen_hub(hub: Hub, few_rows: None) -> Hub:
    hub.files[REPOSITORY] = packed_tar(CANTEEN_REPOSITORY, "vlm-food-benchmark-d1199b5/")
    return hub


# Downloads


@pytest.mark.slow
def test_dining_from_the_hub(dining_hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert put("diningbench", root=root) == root / "diningbench"
    assert read_files(root / "diningbench") == {**dining_files(), **DINING_PICTURES}
    assert entries(root) == ["diningbench"]
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(root))
    assert len(data.load("diningbench", "nutrition_en")) == 2
    found = data.provenance("diningbench")
    assert (found.source, found.revision) == (fetch.DININGBENCH_REPO, fetch.DININGBENCH_REVISION)
    assert (found.kind, found.placeholders) == ("published", False)


@pytest.mark.slow
def test_dining_over_a_connection_that_breaks(dining_hub: Hub, root: Path) -> None:
    dining_hub.cuts = {IMAGES: 2, f"{fetch.DININGBENCH_REPO}/vqa.jsonl": 1}
    put("diningbench", root=root)
    assert read_files(root / "diningbench") == {**dining_files(), **DINING_PICTURES}


@pytest.mark.slow
def test_dining_taken_up_by_a_second_run(dining_hub: Hub, root: Path) -> None:
    dining_hub.statuses[IMAGES] = [403]
    with pytest.raises(DataError, match="HTTP 403"):
        put("diningbench", root=root)
    assert entries(root) == [".downloads"]
    dining_hub.asked.clear()
    put("diningbench", root=root)
    assert {file for _, file, _ in dining_hub.asked} == {IMAGES}
    assert entries(root) == ["diningbench"]


@pytest.mark.slow
def test_dining_with_a_wrong_checksum(dining_hub: Hub, root: Path) -> None:
    right = dining_hub.files[IMAGES]
    dining_hub.announced[IMAGES] = right
    dining_hub.files[IMAGES] = right[:-9] + bytes([right[-9] ^ 1]) + right[-8:]
    with pytest.raises(DataError, match=r"images\.tar\.gz has the checksum"):
        put("diningbench", root=root)
    assert not (root / "diningbench").exists()
    assert not (root / ".downloads/diningbench/images.tar.gz").exists()
    dining_hub.files[IMAGES] = right
    put("diningbench", root=root)


@pytest.mark.slow
def test_dining_with_an_archive_that_climbs(dining_hub: Hub, root: Path) -> None:
    dining_hub.files[IMAGES] = packed_tar({**DINING_PICTURES, "../../up.jpg": b"x"})
    with pytest.raises(DataError, match=r"'\.\./\.\./up\.jpg' is refused"):
        put("diningbench", root=root)
    assert entries(root) == [".downloads"]
    assert not list(root.parent.rglob("up.jpg"))


@pytest.mark.slow
def test_dining_without_a_picture(dining_hub: Hub, root: Path) -> None:
    pictures = dict(list(DINING_PICTURES.items())[:-1])
    dining_hub.files[IMAGES] = packed_tar(pictures)
    with pytest.raises(DataError, match=r"1 of 4 pictures .* first images/00002_1\.jpg"):
        put("diningbench", root=root)
    assert entries(root) == [".downloads"]


@pytest.mark.slow
def test_dining_with_another_number_of_rows(
    dining_hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(staging.PUBLISHED_COUNTS["diningbench"], "vqa", 804)
    with pytest.raises(DataError, match="vqa has 2 rows, published are 804"):
        put("diningbench", root=root)
    assert entries(root) == [".downloads"]


@pytest.mark.slow
def test_canteen_from_the_repository(canteen_hub: Hub, root: Path) -> None:
    put("canteen", root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT
    found = data.read_provenance(root / "canteen", "canteen")
    assert (found.kind, found.revision) == ("published", fetch.CANTEEN_REVISION)
    assert entries(root) == ["canteen"]


@pytest.mark.slow
def test_canteen_over_a_connection_that_breaks(canteen_hub: Hub, root: Path) -> None:
    canteen_hub.files[REPOSITORY] = packed_tar({**CANTEEN_REPOSITORY, "big": os.urandom(300_000)})
    canteen_hub.cuts[REPOSITORY] = 1
    put("canteen", root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT
    assert canteen_hub.asked[1][2].startswith("bytes=")


@pytest.mark.slow
def test_canteen_with_a_wrong_length(canteen_hub: Hub, root: Path) -> None:
    canteen_hub.lengths[REPOSITORY] = len(canteen_hub.files[REPOSITORY]) + 1
    with pytest.raises(DataError, match="broke off"):
        put("canteen", root=root)
    assert not (root / "canteen").exists()


@pytest.mark.slow
def test_canteen_with_an_archive_that_climbs(canteen_hub: Hub, root: Path) -> None:
    right = canteen_hub.files[REPOSITORY]
    canteen_hub.files[REPOSITORY] = packed_tar({**CANTEEN_REPOSITORY, "a/../../up.txt": b"x"})
    with pytest.raises(DataError, match="leads out of the folder"):
        put("canteen", root=root)
    assert not (root / "canteen").exists()
    # The bad archive is not kept, so the next run can succeed.
    canteen_hub.files[REPOSITORY] = right
    put("canteen", root=root)


@pytest.mark.slow
def test_canteen_cut_without_notice_is_fetched_anew(canteen_hub: Hub, root: Path) -> None:
    right = canteen_hub.files[REPOSITORY]
    canteen_hub.files[REPOSITORY] = right[:-20]
    with pytest.raises(DataError, match="cannot be unpacked"):
        put("canteen", root=root)
    canteen_hub.files[REPOSITORY] = right
    put("canteen", root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT


@pytest.mark.slow
def test_all_goes_on_after_one_that_fails(
    canteen_hub: Hub, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["prepare", "all", "--to", str(root)]) == 1
    printed, errors = capsys.readouterr()
    assert printed == f"canteen: {root / 'canteen'}\n"
    assert f"diningbench: {fetch.DININGBENCH_REPO}" in errors
    assert f"culturalmenu: {fetch.CULTURALMENU_REPO}" in errors
    assert entries(root) == ["canteen"]


@pytest.mark.slow
def test_no_room_to_unpack_keeps_the_download(
    canteen_hub: Hub, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(archives._Unpacking, "_write", full)
        with pytest.raises(OSError, match=r"cannot be unpacked: No space left"):
            put("canteen", root=root)
    (kept,) = [file for file in (root / ".downloads/canteen").rglob("*") if file.is_file()]
    assert kept.read_bytes() == canteen_hub.files[REPOSITORY]
    canteen_hub.asked.clear()
    put("canteen", root=root)
    assert canteen_hub.asked == []
    assert read_files(root / "canteen") == CANTEEN_RESULT


# Folders and archives of the user's


@pytest.mark.parametrize("form", ["folder", "tar", "zip", "flat zip", "deep tar"])
def test_canteen_from_a_checkout(tmp_path: Path, root: Path, form: str) -> None:
    source = tmp_path / "checkout"
    if form == "folder":
        write_files(source, CANTEEN_REPOSITORY)
    else:
        wrap = {"flat zip": "", "deep tar": "a/b/"}.get(form, "repository-1/")
        pack = packed_tar if form.endswith("tar") else packed_zip
        source.write_bytes(pack(CANTEEN_REPOSITORY, wrap))
    put("canteen", source=source, root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT
    found = data.read_provenance(root / "canteen", "canteen")
    assert (found.kind, found.source, found.placeholders) == ("local", "local:checkout", False)
    if form == "folder":
        assert read_files(source) == CANTEEN_REPOSITORY


def test_an_archive_that_macos_packed(tmp_path: Path, root: Path) -> None:
    source = tmp_path / "checkout.zip"
    names = {name: f"repository/{name}" for name in CANTEEN_REPOSITORY}
    packed = {names[name]: content for name, content in CANTEEN_REPOSITORY.items()}
    notes = {f"__MACOSX/repository/._{name}": b"x" for name in CANTEEN_TABLES}
    source.write_bytes(packed_zip({**packed, **notes, ".DS_Store": b"x"}))
    put("canteen", source=source, root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT


def test_an_archive_without_the_tables_is_named(tmp_path: Path, root: Path) -> None:
    source = tmp_path / "other.zip"
    source.write_bytes(packed_zip({"a/images/001.jpg": b"x", "b/system_prompts/01.txt": b"x"}))
    with pytest.raises(DataError, match=r"other\.zip has no labels_flat\.csv in its folder"):
        put("canteen", source=source, root=root)


def test_another_source_is_not_taken_for_the_one_in_place(tmp_path: Path, root: Path) -> None:
    first = write_files(tmp_path / "first", CANTEEN_REPOSITORY)
    put("canteen", source=first, root=root)
    put("canteen", source=first, root=root)
    other = write_files(tmp_path / "other", CANTEEN_REPOSITORY)
    with pytest.raises(DataError, match=r"taken from local:first, not from .*other; --force"):
        put("canteen", source=other, root=root)
    with pytest.raises(DataError, match="no such file or folder"):
        put("canteen", source=tmp_path / "nowhere", root=root)
    put("canteen", source=other, root=root, force=True)
    assert data.read_provenance(root / "canteen", "canteen").source == "local:other"


def test_a_link_is_not_replaced(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "first", CANTEEN_REPOSITORY)
    put("canteen", source=source, root=tmp_path / "disk")
    root.mkdir()
    (root / "canteen").symlink_to(tmp_path / "disk/canteen")
    assert put("canteen", source=source, root=root) == root / "canteen"
    with pytest.raises(DataError, match="is a link and would be replaced"):
        put("canteen", source=source, root=root, force=True)
    (root / "canteen").unlink()
    (root / "canteen").symlink_to(tmp_path / "gone")
    with pytest.raises(DataError, match="is a link and would be replaced"):
        put("canteen", source=source, root=root)


def test_a_data_root_below_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    put("canteen", source=write_files(tmp_path / "first", CANTEEN_REPOSITORY), root=Path("~/food"))
    assert read_files(tmp_path / "food/canteen") == CANTEEN_RESULT


def test_a_file_system_without_locks_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def acquire(*_: object, **__: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(filelock.FileLock, "acquire", acquire)
    with pytest.raises(OSError, match=r"canteen\.lock cannot be locked \(No locks available\)"):
        put("canteen", root=root)


def test_canteen_from_a_data_root(tmp_path: Path, root: Path) -> None:
    put("canteen", source=write_files(tmp_path / "old", CANTEEN_RESULT), root=root)
    assert read_files(root / "canteen") == CANTEEN_RESULT


def test_data_prepared_elsewhere_stay_what_they_are(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "tables", CANTEEN_TABLES)
    put("canteen", source=source, root=tmp_path / "first", without_images=True)
    put("canteen", source=tmp_path / "first/canteen", root=root)
    found = data.read_provenance(root / "canteen", "canteen")
    assert (found.source, found.placeholders) == ("local:tables", True)


@pytest.mark.parametrize(
    "missing", ["labels_flat.csv", "user_prompts/01.txt", "system_prompts/json_llm_prompt_01.txt"]
)
def test_a_checkout_without_a_file(tmp_path: Path, root: Path, missing: str) -> None:
    files = {name: content for name, content in CANTEEN_REPOSITORY.items() if name != missing}
    with pytest.raises(DataError, match=f"has no {missing}"):
        put("canteen", source=write_files(tmp_path / "checkout", files), root=root)
    assert entries(root) == []


@pytest.mark.parametrize("content", [None, b""])
def test_a_checkout_without_a_picture(tmp_path: Path, root: Path, content: bytes | None) -> None:
    files = dict(CANTEEN_REPOSITORY)
    del files["GT_Mensa_2025/resized_images/002.jpg"]
    if content is not None:
        files["GT_Mensa_2025/resized_images/002.jpg"] = content
    with pytest.raises(DataError, match=r"1 of 2 pictures .* images/002\.jpg .*--without-images"):
        put("canteen", source=write_files(tmp_path / "checkout", files), root=root)
    assert entries(root) == []


def test_canteen_tables_without_pictures(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "tables", CANTEEN_TABLES)
    put("canteen", source=source, root=root, without_images=True)
    with Image.open(root / "canteen/images/002.jpg") as image:
        assert image.getpixel((5, 5)) == (128, 128, 128)
    found = data.read_provenance(root / "canteen", "canteen")
    assert (found.kind, found.placeholders) == ("local", True)
    (first, second) = tables.read_table(root / "canteen", "canteen", "portions")
    assert "food_items" in first["user_prompt"]
    assert tables.missing_images([*first["images"], *second["images"]]) == []


def test_pictures_are_not_greyed_over(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "checkout", CANTEEN_REPOSITORY)
    with pytest.raises(DataError, match="leave --without-images out"):
        put("canteen", source=source, root=root, without_images=True)
    assert entries(root) == []


def test_an_installation_without_own_prompts_says_so(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.resources.files", lambda package: tmp_path)
    source = write_files(tmp_path / "tables", CANTEEN_TABLES)
    with pytest.raises(DataError, match=r"lacks its own canteen prompt system\.txt"):
        put("canteen", source=source, root=root, without_images=True)


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason=f"published data not found: {PUBLISHED}")
def test_the_published_canteen_tables(root: Path) -> None:
    put("canteen", source=PUBLISHED, root=root, without_images=True)
    rows = tables.read_table(root / "canteen", "canteen", "portions")
    grams = [gram for row in rows for gram in row["grams"]]
    assert (len(rows), len(grams)) == (200, 870)
    assert len({food.strip().lower() for row in rows for food in row["foods"]}) == 314
    assert sum(grams) / len(grams) == pytest.approx(151.854, abs=5e-4)


@pytest.mark.parametrize("form", ["folder", "packed pictures", "tar"])
def test_dining_from_a_snapshot(tmp_path: Path, root: Path, form: str) -> None:
    source = tmp_path / "snapshot"
    if form == "folder":
        write_files(source, {**dining_files(), **DINING_PICTURES})
    elif form == "packed pictures":
        pictures = {"images.tar.gz": packed_tar(DINING_PICTURES)}
        write_files(source, {**dining_files(), **pictures})
    else:
        source.write_bytes(packed_tar({**dining_files(), **DINING_PICTURES}, "snapshot/"))
    put("diningbench", source=source, root=root)
    assert read_files(root / "diningbench") == {**dining_files(), **DINING_PICTURES}


def test_dining_snapshot_of_links_is_copied_whole(tmp_path: Path, root: Path) -> None:
    blobs = write_files(tmp_path / "blobs", {**dining_files(), **DINING_PICTURES})
    source = tmp_path / "snapshot"
    for name in read_files(blobs):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).symlink_to(blobs / name)
    put("diningbench", source=source, root=root)
    assert not any(file.is_symlink() for file in (root / "diningbench").rglob("*"))


def test_menu_in_normal_form(tmp_path: Path, root: Path) -> None:
    put("culturalmenu", source=write_files(tmp_path / "menu", menu_files()), root=root)
    assert read_files(root / "culturalmenu") == menu_files()


def test_menu_about_an_unknown_dish(tmp_path: Path, root: Path) -> None:
    files = menu_files()
    files["dishes.jsonl"] = files["dishes.jsonl"].replace(b'"d1"', b'"d9"')
    with pytest.raises(DataError, match=r"binary\.jsonl: item 'b1' is about dish 'd1'"):
        put("culturalmenu", source=write_files(tmp_path / "menu", files), root=root)
    assert entries(root) == []


def test_a_wrong_row_is_named_in_the_users_terms(tmp_path: Path, root: Path) -> None:
    files = {**menu_files(), "binary.jsonl": b'{"id": "b1"}'}
    with pytest.raises(DataError, match=r"binary\.jsonl, line 1: field"):
        put("culturalmenu", source=write_files(tmp_path / "menu", files), root=root)
    assert entries(root) == []


@pytest.mark.parametrize("name", ["/etc/hostname", "images/../../secret.jpg"])
def test_a_table_cannot_fetch_foreign_files(tmp_path: Path, root: Path, name: str) -> None:
    files = menu_files()
    files["binary.jsonl"] = files["binary.jsonl"].replace(b"images/d1.jpg", name.encode())
    (tmp_path / "secret.jpg").write_bytes(picture(3))
    with pytest.raises(DataError, match="below the benchmark's folder"):
        put("culturalmenu", source=write_files(tmp_path / "menu", files), root=root)


def test_a_source_that_is_not_there(tmp_path: Path, root: Path) -> None:
    with pytest.raises(DataError, match="there is no such file or folder"):
        put("canteen", source=tmp_path / "nowhere", root=root)


def test_a_source_that_is_no_archive(tmp_path: Path, root: Path) -> None:
    (tmp_path / "notes.txt").write_text("notes")
    with pytest.raises(DataError, match=r"notes\.txt cannot be unpacked"):
        put("canteen", source=tmp_path / "notes.txt", root=root)
    assert (tmp_path / "notes.txt").exists()


def test_too_little_room_for_the_copy(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, needed: int) -> None:
        assert needed == len(picture(1)) + len(picture(2))
        raise fetch.FetchError("not enough room")

    monkeypatch.setattr(fetch, "check_space", refuse)
    source = write_files(tmp_path / "checkout", CANTEEN_REPOSITORY)
    with pytest.raises(DataError, match="not enough room"):
        put("canteen", source=source, root=root)
    assert entries(root) == []


# What is there already


def test_present_data_are_kept(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "checkout", CANTEEN_REPOSITORY)
    put("canteen", source=source, root=root)
    before = (root / "canteen/labels_flat.csv").stat()
    (source / "labels_flat.csv").unlink()
    assert put("canteen", source=source, root=root) == root / "canteen"
    after = (root / "canteen/labels_flat.csv").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_force_replaces_and_leaves_nothing_old(tmp_path: Path, root: Path) -> None:
    write_files(root / "canteen", {"old.txt": b"old"})
    source = write_files(tmp_path / "checkout", CANTEEN_REPOSITORY)
    put("canteen", source=source, root=root, force=True)
    assert read_files(root / "canteen") == CANTEEN_RESULT
    assert entries(root) == ["canteen"]


def test_force_that_fails_keeps_what_was_there(tmp_path: Path, root: Path) -> None:
    write_files(root / "canteen", CANTEEN_RESULT)
    with pytest.raises(DataError):
        put("canteen", source=tmp_path / "nowhere", root=root, force=True)
    assert read_files(root / "canteen") == CANTEEN_RESULT


def test_an_incomplete_folder_is_not_taken_for_prepared(tmp_path: Path, root: Path) -> None:
    files = {name: content for name, content in CANTEEN_RESULT.items() if "002.jpg" not in name}
    write_files(root / "canteen", files)
    with pytest.raises(DataError, match="is not complete; --force replaces it"):
        put("canteen", source=tmp_path, root=root)


def test_grey_squares_are_not_taken_for_the_pictures(tmp_path: Path, root: Path) -> None:
    source = write_files(tmp_path / "tables", CANTEEN_TABLES)
    put("canteen", source=source, root=root, without_images=True)
    put("canteen", source=source, root=root, without_images=True)
    with pytest.raises(DataError, match="holds grey squares"):
        put("canteen", source=source, root=root)


def test_leftovers_of_a_killed_run_are_removed(tmp_path: Path, root: Path) -> None:
    write_files(root / ".staging-canteen-1", {"half.jpg": b"x"})
    write_files(root / ".staging-diningbench-1", {"others.jpg": b"x"})
    put("canteen", source=write_files(tmp_path / "checkout", CANTEEN_REPOSITORY), root=root)
    assert entries(root) == [".staging-diningbench-1", "canteen"]


def test_ctrl_c_leaves_nothing_half(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(staging, "_take_pictures", interrupt)
    with pytest.raises(KeyboardInterrupt):
        put("canteen", source=write_files(tmp_path / "checkout", CANTEEN_REPOSITORY), root=root)
    assert entries(root) == []


def test_a_second_process_waits_and_then_finds_the_data(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_files(tmp_path / "checkout", CANTEEN_REPOSITORY)
    (root / ".locks").mkdir(parents=True)
    said: queue.Queue[str] = queue.Queue()
    monkeypatch.setattr(logger, "info", said.put)
    done: list[Path] = []
    waiting = threading.Thread(target=lambda: done.append(put("canteen", source=source, root=root)))
    with filelock.FileLock(root / ".locks/canteen.lock"):
        waiting.start()
        assert "another process is preparing canteen" in said.get(timeout=30)
        assert (done, entries(root)) == ([], [])
    waiting.join(timeout=30)
    assert done == [root / "canteen"]


@pytest.mark.parametrize(
    ("benchmark", "options", "message"),
    [
        ("diningbench", {"without_images": True}, "--without-images is for"),
        ("canteen", {"without_images": True}, "--without-images is for"),
        ("mini", {"source": Path("x")}, "leave --from out"),
        ("canteen", {"map_file": Path("x")}, "--map and --from-dishes are for"),
        ("mini", {"dishes": Path("x")}, "--map and --from-dishes are for"),
        ("culturalmenu", {"dishes": Path("x"), "source": Path("y")}, "needs neither --from nor"),
        ("culturalmenu", {"dishes": Path("x"), "map_file": Path("y")}, "needs neither --from nor"),
        ("other", {}, "there is no benchmark 'other'"),
    ],
)
def test_options_that_do_not_go_together(
    root: Path, benchmark: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        put(benchmark, root=root, **options)  # type: ignore[arg-type] # one row fits each option


# The mini sets


@pytest.fixture(scope="module")
def mini(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return put("mini", root=tmp_path_factory.mktemp("mini") / "root")


def test_mini_sets_are_prepared_data(mini: Path) -> None:
    assert entries(mini) == sorted(tables.TABLES)
    for benchmark in tables.TABLES:
        assert data.read_provenance(mini / benchmark, benchmark).kind == "mini"


@pytest.mark.parametrize(
    ("benchmark", "table"),
    [(name, table) for name, tables in tables.TABLES.items() for table in tables],
)
def test_mini_tables_load(
    mini: Path, benchmark: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LMMS_EVAL_FOOD_DATA", str(mini))
    documents = data.load(benchmark, table)
    assert len(documents) > 0
    assert tables.missing_images(tables.row_images(documents)) == []


def test_mini_again_changes_nothing(mini: Path) -> None:
    before = (mini / "canteen").stat().st_ino
    put("mini", root=mini)
    assert (mini / "canteen").stat().st_ino == before


def test_mini_is_not_taken_for_the_real_data(mini: Path) -> None:
    with pytest.raises(DataError, match="holds the mini set"):
        put("canteen", root=mini)


@pytest.mark.parametrize("force", [False, True])
def test_mini_never_replaces_other_data(root: Path, force: bool) -> None:
    write_files(root / "canteen", CANTEEN_RESULT)
    with pytest.raises(DataError, match="holds other data than the mini set"):
        put("mini", root=root, force=force)
    assert entries(root) == ["canteen"]
    assert read_files(root / "canteen") == CANTEEN_RESULT


def test_one_lost_mini_set_is_put_back(mini: Path, root: Path) -> None:
    for benchmark in ("canteen", "culturalmenu"):
        write_files(
            root / benchmark,
            {
                file.relative_to(mini / benchmark).as_posix(): file.read_bytes()
                for file in (mini / benchmark).rglob("*")
                if file.is_file()
            },
        )
    kept = (root / "canteen").stat().st_ino
    put("mini", root=root)
    assert entries(root) == sorted(tables.TABLES)
    assert (root / "canteen").stat().st_ino == kept


def test_a_wrong_gzip_is_no_archive(tmp_path: Path, root: Path) -> None:
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(b"not a tar"))
    with pytest.raises(DataError, match="cannot be unpacked"):
        put("diningbench", source=tmp_path / "a.tar.gz", root=root)
