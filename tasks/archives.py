"""Unpacks tar, tar.gz and zip archives from strangers without leaving the target folder.

Everything that is not a plain file or folder is refused, as is every name that could point
elsewhere, so nothing written here can be a way out for what is written next.
"""

from __future__ import annotations

import errno
import functools
import gzip
import re
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from tqdm import tqdm

from lmms_eval_food.tasks.rows import DataError

MAX_FILES = 200_000
MAX_BYTES = 64 * 2**30
_CHUNK = 2**20
# Tar keeps long names and comments in members of their own, which are read into memory whole.
_MAX_HEADER = 2**20
_HEADER_TYPES = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


# Formats that people pack data in and that are not read here, by their first bytes.
_OTHER_FORMATS = {
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"7z\xbc\xaf": "7z",
    b"Rar!": "rar",
}
# What the system refuses whatever the archive is: it is not to blame, and may be kept.
_SYSTEM_ERRORS = frozenset(
    {
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS),
        *(errno.EACCES, errno.EPERM, errno.EIO, errno.EMFILE, errno.ENFILE),
    }
)


class ArchiveError(DataError):
    """The archive is broken or not safe to unpack; the message names the member."""


def extract(
    archive: Path,
    target: Path,
    *,
    wanted: Callable[[str], bool] | None = None,
    max_bytes: int = MAX_BYTES,
    max_files: int = MAX_FILES,
) -> int:
    """Unpack an archive into a new folder and return the number of files written.

    The folder is complete or, after any error, absent.

    Args:
        archive: A .tar, .tar.gz or .zip file; its content decides, not its name.
        target: The folder to make; must not exist.
        wanted: Says of a member's path ("a/b.jpg") whether to unpack it; default: all. The names
            and sizes of the others are checked as well.
        max_bytes: Limit on the unpacked size of all members together.
        max_files: Limit on the number of members.

    Raises:
        ArchiveError: a member is absolute, climbs with "..", is a link or device, comes twice or
            breaks a limit; or the archive cannot be read to its end.
        OSError: the system does not let the files be written (no room, no permission).
    """
    if target.exists():
        raise ArchiveError(f"{archive} is not unpacked: {target} exists")
    try:
        target.mkdir(parents=True)
        with (
            archive.open("rb") as raw,
            tqdm(
                total=archive.stat().st_size,
                desc=f"unpacking {archive.name}",
                unit="B",
                unit_scale=True,
                disable=None,
            ) as bar,
        ):
            members = _zip_members(raw) if _is_zip(raw) else _tar_members(raw, max_bytes, max_files)
            unpacking = _Unpacking(target, max_bytes, max_files)
            for member in members:
                unpacking.take(member, wanted)
                bar.update(max(0, raw.tell() - bar.n))
        return unpacking.written
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if not isinstance(error, Exception):  # the user's Ctrl-C stays one
            raise
        if isinstance(error, OSError) and error.errno in _SYSTEM_ERRORS:
            raise OSError(error.errno, f"{archive} cannot be unpacked: {error.strerror}") from error
        # The readers raise nearly anything on a broken archive.
        reason = str(error) if isinstance(error, ArchiveError) else repr(error)
        raise ArchiveError(f"{archive} cannot be unpacked: {reason}") from error


@dataclass(frozen=True)
class _Member:
    name: str
    size: int
    kind: str  # "file", "folder" or what is refused
    open: Callable[[], IO[bytes]]


class _Unpacking:
    """One archive on its way into its folder: the running totals and the names seen."""

    def __init__(self, target: Path, max_bytes: int, max_files: int) -> None:
        self.target = target
        self.bytes_left = max_bytes
        self.members_left = max_files
        self.kinds: dict[PurePosixPath, str] = {}
        self.written = 0

    def take(self, member: _Member, wanted: Callable[[str], bool] | None) -> None:
        """Check one member, and write it if it is wanted."""
        path = _safe_path(member.name)
        if path is None:
            raise _refusal(member, "its name leads out of the folder")
        if path in self.kinds and not member.kind == self.kinds[path] == "folder":
            raise _refusal(member, "it comes twice")
        self.kinds[path] = member.kind
        self.members_left -= 1
        self.bytes_left -= member.size
        if member.size < 0 or self.bytes_left < 0 or self.members_left < 0:
            raise _refusal(member, "the archive holds more than its limit")
        if wanted is not None and not wanted(str(path)):
            return
        if member.kind == "folder":
            (self.target / path).mkdir(parents=True, exist_ok=True)
        elif member.kind == "file":
            self._write(member, self.target / path)
        else:
            raise _refusal(member, f"it is {member.kind}")

    def _write(self, member: _Member, path: Path) -> None:
        left = member.size
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # "x": on a file system that ignores case two names can still be one file.
            with member.open() as source, path.open("xb") as file:
                while chunk := source.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        break
                    file.write(chunk)
        except ArchiveError:
            raise
        except Exception as error:  # see extract: anything may come from a broken archive
            if isinstance(error, OSError) and error.errno in _SYSTEM_ERRORS:
                raise
            raise _refusal(member, repr(error)) from error
        if left:
            raise _refusal(member, f"it is not the {member.size} bytes it declares")
        self.written += 1


def _refusal(member: _Member, reason: str) -> ArchiveError:
    return ArchiveError(f"member {member.name!r} is refused: {reason}")


def _safe_path(name: str) -> PurePosixPath | None:
    """Return a member's path below the target, None where it could lead elsewhere."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if name.startswith("/") or "\\" in name or "\0" in name or ".." in parts:
        return None
    # On Windows a part like "C:" starts anew from that drive.
    if any(re.match(r"[A-Za-z]:", part) for part in parts):
        return None
    return PurePosixPath(*parts)


def _is_zip(raw: IO[bytes]) -> bool:
    start = raw.read(8)
    raw.seek(0)
    for mark, name in _OTHER_FORMATS.items():
        if start.startswith(mark):
            raise ArchiveError(
                f"it is packed with {name}; tar, tar.gz and zip are read. Unpack it yourself and "
                "name the folder"
            )
    return start[:4] in (b"PK\3\4", b"PK\5\6")


def _zip_members(raw: IO[bytes]) -> Iterator[_Member]:
    with zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            # Only the system that wrote the archive defines these bits; 0 is an ordinary file.
            mode = stat.S_IFMT(info.external_attr >> 16)
            if info.flag_bits & 1:
                kind = "encrypted"
            elif info.is_dir():
                kind = "folder"
            else:
                kind = "file" if mode in (0, stat.S_IFREG) else "a link or device"
            # zipfile cuts names at a zero byte; the name as stored tells.
            open_member = functools.partial(archive.open, info)
            yield _Member(info.orig_filename, info.file_size, kind, open_member)


def _tar_members(raw: IO[bytes], max_bytes: int, max_files: int) -> Iterator[_Member]:
    packed = raw.read(2) == b"\x1f\x8b"
    raw.seek(0)
    plain = gzip.GzipFile(fileobj=raw) if packed else raw
    # Headers and padding come on top of the members' own bytes.
    stream: Any = _Limited(plain, max_bytes + max_files * 4096)
    with tarfile.open(fileobj=stream, mode="r|", tarinfo=_TarInfo) as archive:
        for info in archive:
            kind = "a link, device or sparse file"
            if info.isdir():
                kind = "folder"
            elif info.isreg() and not info.issparse():
                kind = "file"
                # The standard library's own rules (from 3.11.4 on) as a second opinion.
                if _safe_path(info.name) is not None and hasattr(tarfile, "data_filter"):
                    tarfile.data_filter(info, ".")
            yield _Member(info.name, info.size, kind, functools.partial(_open_tar, archive, info))
    # The archive ends before the file does; only at its end gzip's own checksum is compared.
    while stream.read(_CHUNK):
        pass


def _open_tar(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    file = archive.extractfile(info)
    if file is None:
        raise ArchiveError(f"member {info.name!r} has no content")
    return file


class _TarInfo(tarfile.TarInfo):
    """A member whose headers may not fill the memory."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        info = super().frombuf(buf, encoding, errors)
        if info.type in _HEADER_TYPES and info.size > _MAX_HEADER:
            raise ArchiveError(f"a header of {info.size} bytes is refused")
        return info


class _Limited:
    """A stream that ends in an error once more bytes came out than the limit."""

    def __init__(self, source: Any, limit: int) -> None:
        self._source = source
        self._left = limit

    def read(self, size: int) -> bytes:
        data: bytes = self._source.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise ArchiveError("the archive unpacks to more than its limit")
        return data
