from __future__ import annotations

import errno
import gzip
import io
import os
import stat
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.tasks import archives
from lmms_eval_food.tasks.archives import ArchiveError, extract

GOOD = {"a.txt": b"one", "folder/b.bin": b"\0" * 3000}


def write_tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload] # mode is a str here
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def write_special(path: Path, kind: bytes, name: str = "x", link: str = "") -> Path:
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, link
        archive.addfile(info)
    return path


def write_zip(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def files_below(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob("*")
        if file.is_file()
    }


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_tar_comes_out_whole(tmp_path: Path, mode: str) -> None:
    archive = write_tar(tmp_path / "a", GOOD, mode)
    assert extract(archive, tmp_path / "out") == 2
    assert files_below(tmp_path / "out") == GOOD


def test_zip_comes_out_whole(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / "a", {**GOOD, "empty/": b""})
    assert extract(archive, tmp_path / "out") == 2
    assert files_below(tmp_path / "out") == GOOD
    assert (tmp_path / "out/empty").is_dir()


def test_root_and_repeated_folders_are_harmless(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, "w") as archive:
        for name in (".", "./d", "d"):
            info = tarfile.TarInfo(name)
            info.type = tarfile.DIRTYPE
            archive.addfile(info)
    assert extract(path, tmp_path / "out") == 0
    assert (tmp_path / "out/d").is_dir()


def test_only_wanted_members_are_written(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "a.tar.gz", GOOD)
    assert extract(archive, tmp_path / "out", wanted=lambda name: name.endswith(".bin")) == 1
    assert list(files_below(tmp_path / "out")) == ["folder/b.bin"]


def test_unwanted_link_does_no_harm(tmp_path: Path) -> None:
    archive = write_special(tmp_path / "a.tar", tarfile.SYMTYPE, "x", "/etc/passwd")
    assert extract(archive, tmp_path / "out", wanted=lambda name: False) == 0
    assert list((tmp_path / "out").iterdir()) == []


BAD_NAMES = [
    "/absolute.txt",
    "../up.txt",
    "folder/../../up.txt",
    "folder/..",
    "C:/windows.txt",
    "folder/c:evil.txt",
    "..\\up.txt",
    "\\\\server\\share.txt",
]


@pytest.mark.parametrize("name", BAD_NAMES)
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_names_that_lead_out_are_refused(tmp_path: Path, kind: str, name: str) -> None:
    write = write_tar if kind == "tar" else write_zip
    archive = write(tmp_path / "a", {"good.txt": b"1", name: b"2"})
    with pytest.raises(ArchiveError, match="leads out") as caught:
        extract(archive, tmp_path / "out")
    assert repr(name) in str(caught.value)
    assert os.listdir(tmp_path) == ["a"]


def test_refused_even_where_not_wanted(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "a", {"../up.txt": b"2"})
    with pytest.raises(ArchiveError, match="leads out"):
        extract(archive, tmp_path / "out", wanted=lambda name: False)


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "../../etc/passwd"),
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "inside.txt"),
        (tarfile.LNKTYPE, "inside.txt"),
        (tarfile.CHRTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes, link: str) -> None:
    archive = write_special(tmp_path / "a.tar", kind, "some-name", link)
    with pytest.raises(ArchiveError, match="'some-name' is refused: it is a link, device"):
        extract(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_zip_link_is_refused(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("some-name")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="'some-name' is refused: it is a link"):
        extract(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("second", ["same.txt", "./same.txt"])
def test_same_file_twice_is_refused(tmp_path: Path, second: str) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name in ("same.txt", second):
            archive.addfile(tarfile.TarInfo(name), io.BytesIO())
    with pytest.raises(ArchiveError, match="twice"):
        extract(tmp_path / "a.tar", tmp_path / "out")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_same_file_twice_in_a_zip_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("same.txt", "1")
        archive.writestr("same.txt", "2")
    with pytest.raises(ArchiveError, match=r"'same\.txt' is refused: it comes twice"):
        extract(tmp_path / "a.zip", tmp_path / "out")


def test_file_used_as_a_folder_is_refused(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "a", {"x": b"1", "x/y": b"2"})
    with pytest.raises(ArchiveError, match="'x/y' is refused"):
        extract(archive, tmp_path / "out")


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_too_many_members(tmp_path: Path, write: object) -> None:
    archive = write(tmp_path / "a", {f"{n}": b"" for n in range(4)})  # type: ignore[operator]
    with pytest.raises(ArchiveError, match="'3' is refused: the archive holds more"):
        extract(archive, tmp_path / "out", max_files=3)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("write", [write_tar, write_zip])
def test_too_many_bytes_together(tmp_path: Path, write: object) -> None:
    archive = write(tmp_path / "a", {"1": b"x" * 600, "2": b"x" * 600})  # type: ignore[operator]
    with pytest.raises(ArchiveError, match="'2' is refused: the archive holds more"):
        extract(archive, tmp_path / "out", max_bytes=1000)
    assert extract(archive, tmp_path / "out", max_bytes=1200) == 2


def test_bomb_between_members_ends_at_the_limit(tmp_path: Path) -> None:
    # A small member, then zeros that no member declares.
    plain = write_tar(tmp_path / "a.tar", {"1": b""}, "w").read_bytes()
    (tmp_path / "b").write_bytes(gzip.compress(plain + b"\0" * 3_000_000))
    with pytest.raises(ArchiveError, match="unpacks to more than its limit"):
        extract(tmp_path / "b", tmp_path / "out", max_bytes=1000, max_files=10)


def test_giant_header_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("name")
    info.type, info.size = tarfile.XHDTYPE, 2**32
    (tmp_path / "a.tar").write_bytes(info.tobuf() + b"\0" * 1024)
    with pytest.raises(ArchiveError, match=f"a header of {2**32} bytes"):
        extract(tmp_path / "a.tar", tmp_path / "out")


def test_zip_that_lies_about_a_size_is_refused(tmp_path: Path) -> None:
    content = write_zip(tmp_path / "a.zip", {"some-name": b"x" * 5000}).read_bytes()
    told = content.replace((5000).to_bytes(4, "little"), (40).to_bytes(4, "little"))
    (tmp_path / "a.zip").write_bytes(told)
    with pytest.raises(ArchiveError, match="'some-name' is refused"):
        extract(tmp_path / "a.zip", tmp_path / "out")


@pytest.mark.parametrize("keep", [0, 3, 0.5, 0.98])
def test_cut_archive_leaves_nothing(tmp_path: Path, keep: float) -> None:
    content = write_tar(tmp_path / "a.tar.gz", {"big": os.urandom(5000)}).read_bytes()
    kept = int(keep * len(content)) if keep < 1 else int(keep)
    (tmp_path / "a.tar.gz").write_bytes(content[:kept])
    with pytest.raises(ArchiveError, match=r"a\.tar\.gz cannot be unpacked"):
        extract(tmp_path / "a.tar.gz", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_wrong_gzip_checksum_is_noticed(tmp_path: Path) -> None:
    content = bytearray(write_tar(tmp_path / "a.tar.gz", GOOD).read_bytes())
    content[-8] ^= 1
    (tmp_path / "a.tar.gz").write_bytes(content)
    with pytest.raises(ArchiveError, match="CRC"):
        extract(tmp_path / "a.tar.gz", tmp_path / "out")


def test_existing_target_is_left_alone(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / "a", GOOD)
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine.txt").write_text("mine")
    with pytest.raises(ArchiveError, match="exists"):
        extract(archive, tmp_path / "out")
    assert files_below(tmp_path / "out") == {"mine.txt": b"mine"}


def test_ctrl_c_leaves_nothing_and_stays_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(archives._Unpacking, "_write", interrupt)
    archive = write_tar(tmp_path / "a", GOOD)
    with pytest.raises(KeyboardInterrupt):
        extract(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


PARTS = st.sampled_from(["..", ".", "", "a", "b", "C:", "~", "\\", "..\\x", "é", "\x01", "a" * 300])
NAMES = st.one_of(
    st.lists(PARTS, min_size=1, max_size=5).map("/".join),
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=20),
)


@given(st.lists(NAMES, min_size=1, max_size=4), st.booleans())
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_no_name_writes_outside_the_target(names: list[str], packed_as_zip: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "1/2/3"
        home.mkdir(parents=True)
        path = home / "archive"
        if packed_as_zip:
            with zipfile.ZipFile(path, "w") as archive:
                for name in names:
                    archive.writestr(zipfile.ZipInfo(name), b"content")
        else:
            with tarfile.open(path, "w") as tar:
                for name in names:
                    info = tarfile.TarInfo(name)
                    info.size = 7
                    tar.addfile(info, io.BytesIO(b"content"))
        try:
            count = extract(path, home / "out")
        except ArchiveError:
            count = 0
            assert not (home / "out").exists()
        written = [file for file in Path(folder).rglob("*") if file.is_file() and file != path]
        assert len(written) == count
        assert all(file.is_relative_to(home / "out") for file in written)


@pytest.mark.parametrize(("mode", "name"), [("w:bz2", "bzip2"), ("w:xz", "xz")])
def test_other_formats_are_named(tmp_path: Path, mode: str, name: str) -> None:
    archive = write_tar(tmp_path / "a", GOOD, mode)
    with pytest.raises(ArchiveError, match=f"it is packed with {name}; tar, tar.gz and zip are"):
        extract(archive, tmp_path / "out")


def test_what_the_system_refuses_is_not_the_archives_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_tar(tmp_path / "a", GOOD)
    opened = Path.open

    def full(path: Path, *args: str) -> object:
        if path.name == "b.bin":
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, *args)

    monkeypatch.setattr(Path, "open", full)
    with pytest.raises(OSError, match="a cannot be unpacked: No space left") as caught:
        extract(archive, tmp_path / "out")
    assert caught.value.errno == errno.ENOSPC
    assert not isinstance(caught.value, ArchiveError)
    assert not (tmp_path / "out").exists()
