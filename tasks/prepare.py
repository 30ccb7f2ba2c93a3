"""Puts a benchmark's data in place under the data root: whole and checked, or not at all.

Files gather in a staging folder beside the benchmark's own and take its name in one step at the
end. Downloads wait in `.downloads` so that a second run goes on where the first stopped.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import filelock
from loguru import logger

from lmms_eval_food.tasks import data, fetch, tables
from lmms_eval_food.tasks.culturalmenu import origins as menu
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.staging import (
    LAYOUTS,
    Origin,
    check_tables,
    refuse_missing,
    stage,
    unpack,
)

BENCHMARKS = tuple(tables.TABLES)
# What `prepare` may raise: its own errors, and the system's (no permission, no room).
PREPARE_ERRORS = (DataError, OSError)


def prepare(
    benchmark: str,
    *,
    source: Path | None = None,
    root: Path | None = None,
    without_images: bool = False,
    force: bool = False,
    map_file: Path | None = None,
    dishes: Path | None = None,
) -> Path:
    """Put one benchmark's data (or "mini", all three made-up sets) in place.

    Args:
        benchmark: "diningbench", "canteen", "culturalmenu" or "mini".
        source: Folder or archive to take the files from; default: download them.
        root: Data root; default: `data.data_root()`.
        without_images: Canteen with `source` only: grey squares stand for the pictures, and the
            data are marked so.
        force: Replace data that are there already (for "mini": mini sets only).
        map_file: CulturalMenuBench only: the field map through which its records are read, in
            place of the packaged one.
        dishes: CulturalMenuBench only, without `source`: build the questions from this list of
            dishes.

    Returns:
        The benchmark's folder (for "mini": the data root).

    Raises:
        DataError: the data cannot be had, are incomplete or do not fit; nothing was changed.
        OSError: the system does not let them be written; nothing was changed.
    """
    root = (root or data.data_root()).absolute()
    if without_images and (benchmark != "canteen" or source is None):
        raise DataError("--without-images is for `prepare canteen --from FOLDER` only")
    _check_menu_options(benchmark, source, map_file, dishes)
    if benchmark == "mini":
        if source is not None:
            raise DataError("the mini sets are made, not taken from anywhere: leave --from out")
        return _prepare_mini(root, force)
    if benchmark not in BENCHMARKS:
        raise DataError(f"there is no benchmark {benchmark!r}: {', '.join(BENCHMARKS)}, mini")
    target = root / benchmark
    with _lock(root, benchmark), _staging(root, benchmark) as staging:
        if target.exists() and not force:
            _accept(target, benchmark, without_images)
            return target
        if dishes is not None:
            origin = menu.from_dishes(dishes.expanduser().absolute(), staging)
        elif source is None:
            origin = _fetch(benchmark, root, staging, map_file)
        else:
            origin = _open_source(benchmark, source.expanduser().absolute(), staging, map_file)
        staged = staging / benchmark
        stage(benchmark, origin, staged, without_images)
        _put_in_place(staged, target)
        shutil.rmtree(_downloads(root, benchmark), ignore_errors=True)
    logger.info(f"{benchmark} is in place: {target}")
    return target


def _check_menu_options(
    benchmark: str, source: Path | None, map_file: Path | None, dishes: Path | None
) -> None:
    if benchmark != "culturalmenu" and (map_file is not None or dishes is not None):
        raise DataError("--map and --from-dishes are for `prepare culturalmenu` only")
    if dishes is not None and (source is not None or map_file is not None):
        raise DataError("--from-dishes needs neither --from nor --map: leave them out")


def prepare_all(*, root: Path | None = None, force: bool = False) -> list[Path]:
    """Download all three benchmarks; one that fails does not keep the others from it.

    Raises:
        DataError: at least one failed; the message joins all reasons.
    """
    folders, problems = [], []
    for benchmark in BENCHMARKS:
        try:
            folders.append(prepare(benchmark, root=root, force=force))
        except PREPARE_ERRORS as error:
            problems.append(f"{benchmark}: {error}")
    if problems:
        raise DataError("\n".join(problems))
    return folders


@contextmanager
def _lock(root: Path, benchmark: str) -> Iterator[None]:
    folder = root / ".locks"
    folder.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(folder / f"{benchmark}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        logger.info(f"another process is preparing {benchmark} in {root}; waiting for it")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _staging(root: Path, name: str) -> Iterator[Path]:
    """Give an empty folder beside the data and remove it; to be used under the lock."""
    for left in (*root.glob(f".staging-{name}-*"), *root.glob(f".old-{name}-*")):
        shutil.rmtree(left, ignore_errors=True)  # of a run that was killed
    staging = root / f".staging-{name}-{os.getpid()}"
    staging.mkdir(parents=True)
    try:
        yield staging
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _downloads(root: Path, benchmark: str) -> Path:
    return root / ".downloads" / benchmark


def _accept(target: Path, benchmark: str, without_images: bool) -> None:
    """Say that the data are there, or raise when they are not those asked for."""
    try:
        origin = data.read_provenance(target, benchmark)
        refuse_missing(benchmark, check_tables(benchmark, target))
    except DataError as error:
        raise DataError(
            f"{target} exists and is not complete; --force replaces it. {error}"
        ) from None
    if origin.kind == "mini" or (origin.placeholders and not without_images):
        what = "the mini set" if origin.kind == "mini" else "grey squares for the pictures"
        raise DataError(f"{target} holds {what}; --force replaces it, --to DIR goes elsewhere")
    logger.info(f"{benchmark} is in place already: {target} ({origin.kind}, {origin.source})")


def _fetch(benchmark: str, root: Path, staging: Path, map_file: Path | None) -> Origin:
    downloads = _downloads(root, benchmark)
    if benchmark == "diningbench":
        fetch.fetch_diningbench(downloads)
        pictures = _unpack(downloads / "images.tar.gz", staging / "pictures", benchmark, ours=True)
        return Origin(
            downloads, (pictures,), fetch.DININGBENCH_REPO, fetch.DININGBENCH_REVISION, "published"
        )
    if benchmark == "canteen":
        archive = fetch.fetch_canteen(downloads)
        folder = _descend(_unpack(archive, staging / "source", benchmark, ours=True), benchmark)
        return Origin(folder, (folder,), fetch.CANTEEN_REPO, fetch.CANTEEN_REVISION, "published")
    return menu.from_hub(downloads, staging, map_file)


def _open_source(benchmark: str, source: Path, staging: Path, map_file: Path | None) -> Origin:
    if not source.exists():
        raise DataError(f"--from {source}: there is no such file or folder")
    unpacked: list[Path] = []
    folder = source
    if source.is_file():
        folder = _descend(_unpack(source, staging / "source", benchmark), benchmark)
        unpacked.append(folder)
    archive = folder / "images.tar.gz"
    if benchmark == "diningbench" and archive.exists() and not (folder / "images").exists():
        unpacked.append(_unpack(archive, staging / "pictures", benchmark))
    # The folder's name, not its path: results are published with it.
    name = f"local:{source.name}"
    if benchmark == "culturalmenu" and (map_file is not None or not menu.is_normal_form(folder)):
        return menu.from_folder(folder, name, unpacked, staging, map_file)
    if (folder / data.PREPARED).exists():  # prepared before: it is still what it was
        noted = data.read_provenance(folder, benchmark)
        return Origin(
            *(folder, tuple(unpacked), noted.source, noted.revision, noted.kind),
            placeholders=noted.placeholders,
        )
    return Origin(folder, tuple(unpacked), name, "", "local")


def _unpack(archive: Path, target: Path, benchmark: str, *, ours: bool = False) -> Path:
    # The canteen repository also keeps tens of thousands of recorded answers.
    wanted = _is_canteen_file if benchmark == "canteen" else None
    return unpack(archive, target, wanted=wanted, ours=ours)


def _is_canteen_file(member: str) -> bool:
    # An archive wraps everything in a folder or more, named after repository and commit.
    layout, path = LAYOUTS["canteen"], f"/{member}"
    places = [place for places in layout.files.values() for place in (*places, data.PREPARED)]
    folder = path.rpartition("/")[0]
    return path.endswith(tuple(f"/{place}" for place in places)) or folder.endswith(
        tuple(f"/{pictures}" for pictures in layout.pictures)
    )


def _descend(folder: Path, benchmark: str) -> Path:
    """Return the folder that holds the tables, where an archive wraps them in single folders."""
    first = next(iter(LAYOUTS[benchmark].files))
    while not (folder / first).exists():
        inside = list(folder.iterdir())
        if len(inside) != 1 or not inside[0].is_dir():
            break
        folder = inside[0]
    return folder


def _put_in_place(staged: Path, target: Path) -> None:
    """Give the staged folder its name in one step; what had the name before is removed."""
    old = target.with_name(f".old-{target.name}-{os.getpid()}")
    if target.exists():
        target.rename(old)
    try:
        staged.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _prepare_mini(root: Path, force: bool) -> Path:
    from lmms_eval_food.tasks.mini import write_mini

    with ExitStack() as held:
        for (
            benchmark
        ) in BENCHMARKS:  # always in this order, so two processes cannot block each other
            held.enter_context(_lock(root, benchmark))
        staging = held.enter_context(_staging(root, "mini"))
        there = [benchmark for benchmark in BENCHMARKS if (root / benchmark).exists()]
        for benchmark in there:
            if data.read_provenance(root / benchmark, benchmark).kind != "mini":
                raise DataError(
                    f"{root / benchmark} holds other data than the mini set, which stay: give the "
                    "mini sets a data root of their own (--to DIR)"
                )
        wanted = [benchmark for benchmark in BENCHMARKS if force or benchmark not in there]
        if not wanted:
            logger.info(f"the mini sets are in place already: {root}")
            return root
        write_mini(staging)
        for benchmark in wanted:
            _put_in_place(staging / benchmark, root / benchmark)
    return root
