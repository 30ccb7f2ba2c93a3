"""Downloads the benchmarks' files at pinned revisions where there are any, and checks what came.

huggingface_hub 2.4 takes up a cut connection, but starts a file from nothing once the program has
ended (its temporary file is one process's own and removed), and compares sizes, not checksums. So
the hub's library lists the files, builds the addresses and signs in; the download itself is the one
the repository archive takes too, which goes on where an earlier run stopped. Every hub file is then
compared with the checksum the hub gives.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NoReturn

import requests
from loguru import logger
from tqdm import tqdm

from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.tables import TABLES

if TYPE_CHECKING:
    from huggingface_hub import HfApi, RepoFile

DININGBENCH_REPO = "meituan/DiningBench"
DININGBENCH_REVISION = "77296fce4f7bfef305d3b134a0180f2c27024fa3"
DININGBENCH_FILES = (*(f"{table}.jsonl" for table in TABLES["diningbench"]), "images.tar.gz")
CULTURALMENU_REPO = "brainz/CulturalMenuBench"
CHECKSUMS = "SHA256SUMS"
CANTEEN_REPO = "Metabolic-Intelligence-Lab/vlm-food-benchmark"
CANTEEN_REVISION = "d1199b59be3f4c2744187be37e95c9f45d553962"
GITHUB = "https://codeload.github.com"

# Attempts in a row that may bring nothing new, and the pause in seconds, doubled after each.
ATTEMPTS = 4
RETRY_WAIT = 1.0
TIMEOUT = 60
_CHUNK = 2**20
# Of a chunk that a cut leaves incomplete nothing is kept, so these are small.
_RECEIVED_CHUNK = 2**15
_RETRIED_STATUS = (408, 429, 500, 502, 503, 504)


class FetchError(DataError):
    """A download failed or brought something else than expected."""


class _CutError(Exception):
    """The connection ended early; going on from here may help."""


_CUTS = (
    _CutError,
    requests.ConnectionError,
    requests.Timeout,
    requests.exceptions.ChunkedEncodingError,
)


def check_space(path: Path, needed: int) -> None:
    """Raise `FetchError` unless `needed` bytes are free where `path` is or will be."""
    place = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise FetchError(
            f"not enough room on the disk of {place}: {needed / 1e6:,.0f} MB are needed and "
            f"{free / 1e6:,.0f} MB are free; make room or choose another data root (--to DIR)"
        )


def fetch_diningbench(folder: Path) -> Path:
    """Download DiningBench's tables and picture archive into `folder` and return it."""
    fetch_hub(DININGBENCH_REPO, DININGBENCH_REVISION, DININGBENCH_FILES, folder)
    return folder


def fetch_culturalmenu(folder: Path) -> list[Path]:
    """Download the files that CulturalMenuBench's SHA256SUMS lists and return the archives.

    The publisher's checksums are compared as well as the hub's.
    """
    revision = hub_revision(CULTURALMENU_REPO)
    (sums_file,) = fetch_hub(CULTURALMENU_REPO, revision, [CHECKSUMS], folder)
    sums = read_checksums(sums_file)
    files = fetch_hub(CULTURALMENU_REPO, revision, sums, folder)
    for file, expected in zip(files, sums.values(), strict=True):
        _compare(file, _digest(file, hashlib.sha256()), expected)
    return [file for file in files if file.suffix == ".zip"]


def fetch_canteen(folder: Path) -> Path:
    """Download the canteen repository's archive at the pinned commit into `folder`.

    LMMS_EVAL_FOOD_GITHUB replaces https://codeload.github.com. The service gives no checksum; what
    is cut or wrong shows when the archive is unpacked and its tables and pictures are counted. One
    that came whole before is not fetched again.
    """
    archive = folder / f"repository-{CANTEEN_REVISION[:12]}.tar.gz"
    if archive.exists():
        return archive
    base = (os.environ.get("LMMS_EVAL_FOOD_GITHUB") or GITHUB).rstrip("/")
    url = f"{base}/{CANTEEN_REPO}/tar.gz/{CANTEEN_REVISION}"
    return download(url, archive)


def read_checksums(file: Path) -> dict[str, str]:
    """Return file name -> SHA-256 (lower-case hex) from a SHA256SUMS file, in its order."""
    sums = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip():
            continue
        match = re.fullmatch(r"([0-9a-fA-F]{64}) [ *](.+)", line.rstrip())
        name = PurePosixPath(match[2]) if match else PurePosixPath("/")
        if not match or name.is_absolute() or ".." in name.parts or "\\" in str(name):
            raise FetchError(f"{file}, line {number}: not a checksum and a relative name: {line!r}")
        sums[str(name)] = match[1].lower()
    if not sums:
        raise FetchError(f"{file} lists no files")
    return sums


def hub_revision(repo: str) -> str:
    """Return the commit that a hub dataset's main branch is at."""
    return str(_ask_hub(repo, lambda hub: hub.dataset_info(repo).sha))


def fetch_hub(repo: str, revision: str, names: Iterable[str], folder: Path) -> list[Path]:
    """Download files of a hub dataset into `folder` and return their paths, in the order given.

    HF_ENDPOINT names another hub. Files that are there already are checked, not fetched again; one
    that differs from the hub's checksum is deleted.

    Raises:
        FetchError: the hub does not have a file, cannot be reached, or a checksum differs.
    """
    from huggingface_hub import RepoFile, get_token, hf_hub_url

    wanted = list(names)
    infos = _ask_hub(
        repo,
        lambda hub: hub.get_paths_info(repo, wanted, revision=revision, repo_type="dataset"),
    )
    files = {info.path: info for info in infos if isinstance(info, RepoFile)}
    absent = [name for name in wanted if name not in files]
    if absent:
        raise FetchError(f"{repo} has no {', '.join(absent)} at revision {revision}")
    paths = [folder / name for name in wanted]
    left = sum(files[name].size for name in wanted if not (folder / name).exists())
    check_space(folder, left)
    token = get_token()
    signed = {"Authorization": f"Bearer {token}"} if token else {}
    for name, path in zip(wanted, paths, strict=True):
        if not path.exists():
            url = hf_hub_url(
                repo, name, repo_type="dataset", revision=revision, endpoint=_hub_endpoint()
            )
            download(url, path, size=files[name].size, headers=signed)
        _verify(path, files[name])
    return paths


def _hub_endpoint() -> str | None:
    # The library reads HF_ENDPOINT once, when it is imported.
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _ask_hub(repo: str, question: Callable[[HfApi], Any]) -> Any:
    from huggingface_hub import HfApi

    try:
        return question(HfApi(endpoint=_hub_endpoint()))
    except Exception as error:  # of the hub's library, of its HTTP client, or of the system
        raise FetchError(
            f"the hub does not answer for {repo}: {error}. Without a connection, take the files "
            "from a folder or archive: `lmms-eval-food prepare NAME --from PATH`"
        ) from error


def _verify(path: Path, info: RepoFile) -> None:
    if info.lfs is not None:
        _compare(path, _digest(path, hashlib.sha256()), info.lfs.sha256)
    else:
        # A small file's id on the hub is git's own.
        start = f"blob {path.stat().st_size}\0".encode()
        _compare(path, _digest(path, hashlib.sha1(start, usedforsecurity=False)), info.blob_id)


def _digest(path: Path, digest: Any) -> str:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return str(digest.hexdigest())


def _compare(path: Path, actual: str, expected: str) -> None:
    if actual != expected.lower():
        path.unlink()
        raise FetchError(
            f"{path.name} has the checksum {actual}, expected {expected}; it was deleted, run the "
            "command again to fetch it anew"
        )


def download(
    url: str, target: Path, *, size: int | None = None, headers: Mapping[str, str] | None = None
) -> Path:
    """Download a file, going on where an earlier call stopped, and return `target`.

    Bytes gather in `target` + ".part", which stays when the download fails and is renamed once it
    is complete. A cut connection is taken up again, with pauses that grow.

    Args:
        url: Address.
        target: File to write; its folder is made.
        size: Expected size in bytes; default: what the server says.
        headers: Sent with each request (not with one redirected to another host).

    Raises:
        FetchError: the server refuses, sends another size, or stops sending; or the disk is full.
    """
    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    part.touch()
    best, failures = part.stat().st_size, 0
    with tqdm(desc=target.name, total=size, unit="B", unit_scale=True, disable=None) as bar:
        while True:
            try:
                _receive(url, part, size, dict(headers or {}), bar)
                break
            except _CUTS as error:
                reached = part.stat().st_size
                failures = 0 if reached > best else failures + 1
                best = max(best, reached)
                if failures == ATTEMPTS:
                    raise FetchError(
                        f"{url} broke off at {reached} bytes ({error}). The same command goes on "
                        "from there; --from PATH takes a local folder or archive instead"
                    ) from error
                logger.info(f"{target.name}: {error}; going on from {reached} bytes")
                time.sleep(RETRY_WAIT * 2**failures)
            except OSError as error:  # a wrong address, a full disk: trying again would not help
                raise FetchError(f"{url} cannot be stored as {target}: {error}") from error
    part.replace(target)
    return target


def _receive(
    url: str, part: Path, size: int | None, headers: dict[str, str], bar: tqdm[NoReturn]
) -> None:
    """Ask for the bytes that `part` lacks and append them; return only when it is complete."""
    start = part.stat().st_size
    if start == size:
        return
    # Compressed on the way, a file has another length, and no byte of it a fixed place.
    headers["Accept-Encoding"] = "identity"
    if start:
        headers["Range"] = f"bytes={start}-"
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if response.status_code in _RETRIED_STATUS:
            raise _CutError(f"HTTP {response.status_code}")
        if response.status_code == 416:  # what is there is longer than the file, so no part of it
            part.write_bytes(b"")
            raise _CutError("the server has no such range; starting again")
        if response.status_code not in (200, 206):
            raise FetchError(f"{url}: HTTP {response.status_code} {response.reason}")
        if response.status_code == 200:
            start = 0  # the server does not resume and sends everything
        total = _total_size(response, start)
        if size is not None and total not in (None, size):
            part.unlink()
            raise FetchError(f"{url} has {total} bytes, expected {size}")
        size = total if size is None else size
        check_space(part.parent, max(0, (size or 0) - start))
        bar.reset(total=size)
        bar.update(start)
        with part.open("r+b") as file:
            file.truncate(start)
            file.seek(start)
            for chunk in response.iter_content(_RECEIVED_CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
    _check_size(url, part, size)


def _total_size(response: requests.Response, start: int) -> int | None:
    """Return the whole file's size as a response tells it, None where it does not."""
    if response.status_code == 206:
        sent = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", response.headers.get("Content-Range", ""))
        if not sent or int(sent[1]) != start:
            raise FetchError(f"{response.url} sent another part than asked for")
        return None if sent[2] == "*" else int(sent[2])
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return None
    length = response.headers.get("Content-Length", "")
    return int(length) if length.isascii() and length.isdigit() else None


def _check_size(url: str, part: Path, size: int | None) -> None:
    reached = part.stat().st_size
    if size is None or reached == size:
        return
    if reached < size:
        raise _CutError(f"only {reached} of {size} bytes came")
    part.unlink()
    raise FetchError(f"{url} sent {reached} bytes, expected {size}")
