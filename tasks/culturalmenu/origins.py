"""Where CulturalMenuBench may come from: the hub's archives, a user's folder, a list of dishes."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from loguru import logger

from lmms_eval_food.tasks import fetch, tables
from lmms_eval_food.tasks.culturalmenu.field_map import (
    default_map_file,
    read_field_map,
)
from lmms_eval_food.tasks.culturalmenu.from_dishes import write_items
from lmms_eval_food.tasks.culturalmenu.normal_form import NormalForm, write_normal_form
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.staging import Origin, unpack

# The two tables that cannot be done without.
_NEEDED = ("dishes", "binary")


def from_hub(downloads: Path, staging: Path, map_file: Path | None) -> Origin:
    """Download, check and unpack the published archives, and read them through a field map.

    Args:
        downloads: Folder that keeps the downloads; the archives are unpacked below it.
        staging: Empty folder for the tables.
        map_file: Field map; None: the packaged one.

    Raises:
        DataError: the archives cannot be had or are wrong, or a record does not fit the map.
    """
    revision = fetch.hub_revision(fetch.CULTURALMENU_REPO)
    archives = fetch.fetch_culturalmenu(downloads)
    unpacked = downloads / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    for archive in archives:
        unpack(archive, _unpacked(archive, downloads, unpacked), ours=True)
    try:
        form = _read([unpacked], staging, map_file)
    except DataError as error:
        raise DataError(f"{error} The archives are unpacked in {unpacked}.") from None
    source, kind = fetch.CULTURALMENU_REPO, "published"
    if _say_differences(form):
        source, kind = f"{source}, other counts than published", "local"
    return Origin(staging / "tables", (unpacked,), source, revision, kind, located=form.located)


def is_normal_form(folder: Path) -> bool:
    """Tell whether a folder holds the tables of our normal form."""
    return all(tables.table_file(folder, "culturalmenu", name).is_file() for name in _NEEDED)


def from_folder(
    folder: Path, name: str, ours: Sequence[Path], staging: Path, map_file: Path | None
) -> Origin:
    """Read a user's folder through a field map; archives in it are unpacked, and checked.

    Args:
        folder: The folder.
        name: What the data's source is called.
        ours: Folders of our own making that hold its files; their pictures are moved, not copied.
        staging: Empty folder for what is unpacked, and for the tables.
        map_file: Field map; None: the packaged one.

    Raises:
        DataError: an archive is not what SHA256SUMS says or cannot be unpacked, or a record does
            not fit the map.
    """
    # The ending may be in capitals.
    archives = sorted(path for path in folder.rglob("*.*") if path.suffix.lower() == ".zip")
    _verify(folder, archives)
    unpacked = staging / "archives"
    inside = {archive: _unpacked(archive, folder, unpacked) for archive in archives}
    for archive, target in inside.items():
        unpack(archive, target)
    try:
        form = _read([unpacked, folder], staging, map_file)
    except DataError as error:
        # What was unpacked is gone when the message is read: the archive is still there.
        packed = {target: str(archive) for archive, target in inside.items()}
        message = str(error)
        for place, called in (packed | dict.fromkeys(ours, name.removeprefix("local:"))).items():
            message = message.replace(f"{place}/", f"{called}: ")
        raise DataError(message) from None
    _say_differences(form)
    return Origin(staging / "tables", (unpacked, *ours), name, "", "local", located=form.located)


def from_dishes(file: Path, staging: Path, seed: int = 0) -> Origin:
    """Build the questions from a user's dishes (see `write_items`).

    Args:
        file: Rows like those of dishes.jsonl; pictures are looked for below the file's folder.
        staging: Empty folder for the tables.
        seed: Seed of the construction; noted in the source's name.
    """
    pictures = write_items(file, staging / "tables", seed)
    located = {PurePosixPath(path).as_posix(): file.parent / path for path in pictures}
    source = f"built from {file.name}, seed {seed}"
    return Origin(staging / "tables", (), source, "", "local", located=located)


def _read(roots: Sequence[Path], staging: Path, map_file: Path | None) -> NormalForm:
    field_map = read_field_map(map_file)
    try:
        return write_normal_form(roots, staging / "tables", field_map)
    except DataError as error:
        raise DataError(
            f"{error} The data are read through the field map {field_map.name}; where it does not "
            f"fit them, correct a copy of {default_map_file()} and name it with --map FILE."
        ) from None


def _say_differences(form: NormalForm) -> bool:
    differences = form.differences()
    for difference in differences:
        logger.warning(f"culturalmenu: {difference}")
    return bool(differences)


def _unpacked(archive: Path, folder: Path, target: Path) -> Path:
    return target / archive.relative_to(folder).with_suffix("")


def _verify(folder: Path, archives: Iterable[Path]) -> None:
    """Compare a user's archives with SHA256SUMS where there is one; nothing is ever deleted."""
    sums_file = folder / fetch.CHECKSUMS
    sums = fetch.read_checksums(sums_file) if sums_file.is_file() else {}
    by_name = {archive.relative_to(folder).as_posix(): archive for archive in archives}
    for name in sums:
        if not (folder / name).is_file():
            logger.warning(f"{sums_file} lists {name}, which is not in {folder}")
    for name, archive in by_name.items():
        if name not in sums:
            logger.warning(f"{archive} is not checked: no checksum of it in {sums_file}")
            continue
        with archive.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != sums[name]:
            raise DataError(
                f"{archive} has the checksum {found}, {sums_file} says {sums[name]}; fetch it anew"
            )
