from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import huggingface_hub
import pytest
from huggingface_hub import constants

from lmms_eval_food.tasks import fetch
from lmms_eval_food.tasks.fetch import FetchError, download
from tests.tasks.hub_server import Hub, serving

REPO = "team/data"
CONTENT = bytes(range(256)) * 400


class Disk(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving(Hub()) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("LMMS_EVAL_FOOD_GITHUB", server.url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
        monkeypatch.setattr(fetch, "RETRY_WAIT", 0)
        monkeypatch.setattr(fetch, "_RECEIVED_CHUNK", 1024)  # a divisor of half of CONTENT
        yield server


def archive_url(hub: Hub) -> str:
    return f"{hub.url}/{REPO}/tar.gz/main"


ARCHIVE = f"{REPO}/tar.gz"


@pytest.mark.slow
def test_a_file_arrives_whole(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    target = download(archive_url(hub), tmp_path / "new/file.bin")
    assert target.read_bytes() == CONTENT
    assert os.listdir(target.parent) == ["file.bin"]


@pytest.mark.slow
def test_an_empty_file_arrives(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = b""
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == b""


@pytest.mark.slow
def test_a_cut_connection_goes_on_where_it_broke(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    hub.cuts[ARCHIVE] = 2
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == CONTENT
    half, rest = len(CONTENT) // 2, len(CONTENT) // 4
    assert [asked for _, _, asked in hub.asked] == ["", f"bytes={half}-", f"bytes={half + rest}-"]


@pytest.mark.slow
def test_a_later_run_goes_on_where_the_first_stopped(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    (tmp_path / "file.bin.part").write_bytes(CONTENT[:1000])
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == CONTENT
    assert [asked for _, _, asked in hub.asked] == ["bytes=1000-"]


@pytest.mark.slow
def test_a_part_that_is_complete_needs_no_request(hub: Hub, tmp_path: Path) -> None:
    (tmp_path / "file.bin.part").write_bytes(CONTENT)
    download(archive_url(hub), tmp_path / "file.bin", size=len(CONTENT))
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert hub.asked == []


@pytest.mark.slow
def test_a_server_that_cannot_resume_sends_everything(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    hub.without_range.add(ARCHIVE)
    hub.cuts[ARCHIVE] = 1
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.slow
def test_a_part_longer_than_the_file_is_thrown_away(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    (tmp_path / "file.bin.part").write_bytes(b"x" * (len(CONTENT) + 5))
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.slow
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.files[ARCHIVE] = CONTENT
    hub.statuses[ARCHIVE] = [status, status]
    assert download(archive_url(hub), tmp_path / "file.bin").read_bytes() == CONTENT


@pytest.mark.slow
@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_not_asked_again(hub: Hub, tmp_path: Path, status: int) -> None:
    hub.statuses[ARCHIVE] = [status]
    with pytest.raises(FetchError, match=f"HTTP {status}"):
        download(archive_url(hub), tmp_path / "file.bin")
    assert len(hub.asked) == 1


@pytest.mark.slow
def test_cuts_that_bring_nothing_new_end(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    hub.without_range.add(ARCHIVE)
    hub.cuts[ARCHIVE] = 1000
    with pytest.raises(FetchError, match="broke off"):
        download(archive_url(hub), tmp_path / "file.bin")
    # The first brought bytes; after it, as many as may fail in a row.
    assert len(hub.asked) == 1 + fetch.ATTEMPTS
    assert os.listdir(tmp_path) == ["file.bin.part"]


@pytest.mark.slow
def test_fewer_bytes_than_announced_are_no_file(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    hub.lengths[ARCHIVE] = len(CONTENT) + 10
    with pytest.raises(FetchError):
        download(archive_url(hub), tmp_path / "file.bin")
    assert not (tmp_path / "file.bin").exists()


@pytest.mark.slow
def test_another_size_than_expected_is_no_file(hub: Hub, tmp_path: Path) -> None:
    hub.files[ARCHIVE] = CONTENT
    with pytest.raises(FetchError, match=f"has {len(CONTENT)} bytes, expected 7"):
        download(archive_url(hub), tmp_path / "file.bin", size=7)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_nobody_there(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(FetchError, match="broke off at 0 bytes"):
        download("http://127.0.0.1:9/file", tmp_path / "file.bin")


@pytest.mark.slow
def test_a_full_disk_is_said_at_once(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.files[ARCHIVE] = CONTENT
    monkeypatch.setattr("shutil.disk_usage", lambda path: Disk(10, 0, 10))
    with pytest.raises(FetchError, match="not enough room"):
        download(archive_url(hub), tmp_path / "file.bin")
    assert len(hub.asked) == 1


def test_space_is_measured_where_the_folder_will_be(tmp_path: Path) -> None:
    fetch.check_space(tmp_path / "not/there/yet", 1)
    with pytest.raises(FetchError, match="MB are needed") as caught:
        fetch.check_space(tmp_path / "not/there/yet", 10**18)
    assert str(tmp_path) in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_hub_files_are_compared_with_the_hubs_checksum(
    hub: Hub, tmp_path: Path, large: bool
) -> None:
    hub.files = {f"{REPO}/a.jsonl": b"one\n", f"{REPO}/sub/b.bin": CONTENT}
    if large:
        hub.large = set(hub.files)
    paths = fetch.fetch_hub(REPO, "rev", ["sub/b.bin", "a.jsonl"], tmp_path)
    assert paths == [tmp_path / "sub/b.bin", tmp_path / "a.jsonl"]
    assert [path.read_bytes() for path in paths] == [CONTENT, b"one\n"]


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_a_wrong_checksum_deletes_the_file(hub: Hub, tmp_path: Path, large: bool) -> None:
    hub.files[f"{REPO}/b.bin"] = CONTENT
    hub.announced[f"{REPO}/b.bin"] = CONTENT[::-1]
    if large:
        hub.large = set(hub.files)
    with pytest.raises(FetchError, match=r"b\.bin has the checksum"):
        fetch.fetch_hub(REPO, "rev", ["b.bin"], tmp_path)
    assert os.listdir(tmp_path) == []


@pytest.mark.slow
def test_a_file_that_is_there_is_checked_and_kept(hub: Hub, tmp_path: Path) -> None:
    hub.files[f"{REPO}/b.bin"] = CONTENT
    (tmp_path / "b.bin").write_bytes(CONTENT)
    fetch.fetch_hub(REPO, "rev", ["b.bin"], tmp_path)
    assert hub.asked == []


@pytest.mark.slow
def test_a_file_the_hub_lacks_is_named(hub: Hub, tmp_path: Path) -> None:
    hub.files[f"{REPO}/b.bin"] = CONTENT
    with pytest.raises(FetchError, match=r"has no other\.bin at revision rev"):
        fetch.fetch_hub(REPO, "rev", ["b.bin", "other.bin"], tmp_path)


@pytest.mark.slow
def test_the_users_token_is_sent(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: "made-up")
    hub.files[f"{REPO}/b.bin"] = CONTENT
    fetch.fetch_hub(REPO, "rev", ["b.bin"], tmp_path)
    assert hub.tokens == {"Bearer made-up"}


@pytest.mark.slow
def test_offline_names_the_way_on(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(FetchError, match="--from PATH"):
        fetch.fetch_hub(REPO, "rev", ["b.bin"], tmp_path)


def sums_line(content: bytes, name: str) -> str:
    return f"{hashlib.sha256(content).hexdigest()}  {name}\n"


@pytest.mark.slow
def test_menu_files_are_those_that_the_checksums_list(hub: Hub, tmp_path: Path) -> None:
    repo = fetch.CULTURALMENU_REPO
    sums = (
        sums_line(b"m", "metadata.zip") + sums_line(b"i", "media/1.zip") + sums_line(b"r", "r.md")
    )
    hub.files = {
        f"{repo}/SHA256SUMS": sums.encode(),
        f"{repo}/metadata.zip": b"m",
        f"{repo}/media/1.zip": b"i",
        f"{repo}/r.md": b"r",
    }
    found = fetch.fetch_culturalmenu(tmp_path)
    assert found == [tmp_path / "metadata.zip", tmp_path / "media/1.zip"]


@pytest.mark.slow
def test_menu_file_that_differs_from_the_list_is_deleted(hub: Hub, tmp_path: Path) -> None:
    repo = fetch.CULTURALMENU_REPO
    hub.files = {
        f"{repo}/SHA256SUMS": sums_line(b"listed", "metadata.zip").encode(),
        f"{repo}/metadata.zip": b"served",
    }
    with pytest.raises(FetchError, match="checksum"):
        fetch.fetch_culturalmenu(tmp_path)
    assert not (tmp_path / "metadata.zip").exists()


@pytest.mark.parametrize(
    "line", ["not a sum", "ab  short.zip", f"{'0' * 64}  ../up.zip", f"{'0' * 64}  /abs.zip"]
)
def test_a_checksum_line_that_does_not_fit(tmp_path: Path, line: str) -> None:
    (tmp_path / "SHA256SUMS").write_text(f"{sums_line(b'', 'fine.zip')}{line}\n")
    with pytest.raises(FetchError, match="line 2: not a checksum"):
        fetch.read_checksums(tmp_path / "SHA256SUMS")


def test_an_empty_checksum_list_is_refused(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("\n")
    with pytest.raises(FetchError, match="lists no files"):
        fetch.read_checksums(tmp_path / "SHA256SUMS")


def test_checksums_are_read_with_either_mark_and_case(tmp_path: Path) -> None:
    (tmp_path / "S").write_text(f"{'AB' * 32} *a b.zip\n\n{'01' * 32}  ./c.zip\n")
    assert fetch.read_checksums(tmp_path / "S") == {"a b.zip": "ab" * 32, "c.zip": "01" * 32}
