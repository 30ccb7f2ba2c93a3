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

from lmms_eval_food.tasks import data, tables
from lmms_eval_food.tasks.culturalmenu import origins as menu
from lmms_eval_food.tasks.origins import download, name_of, open_source
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.staging import check_tables, refuse_missing, stage

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
    seed: int | None = None,
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
        seed: With `dishes` only: seed of the questions; default: 0.

    Returns:
        The benchmark's folder (for "mini": the data root).

    Raises:
        DataError: the data cannot be had, are incomplete or do not fit; nothing was changed.
        OSError: the system does not let them be written; nothing was changed.
    """
    root = (root or data.data_root()).expanduser().absolute()
    if without_images and (benchmark != "canteen" or source is None):
        raise DataError("--without-images is for `prepare canteen --from FOLDER` only")
    _check_menu_options(benchmark, source, map_file, dishes)
    if seed is not None and dishes is None:
        raise DataError("--seed is for `prepare culturalmenu --from-dishes FILE` only")
    if benchmark == "mini":
        if source is not None:
            raise DataError("the mini sets are made, not taken from anywhere: leave --from out")
        return _prepare_mini(root, force)
    if benchmark not in BENCHMARKS:
        raise DataError(f"there is no benchmark {benchmark!r}: {', '.join(BENCHMARKS)}, mini")
    target, downloads = root / benchmark, root / ".downloads" / benchmark
    if source is not None:
        source = source.expanduser().absolute()
        if not source.exists():
            raise DataError(f"--from {source}: there is no such file or folder")
    with _lock(root, benchmark), _staging(root, benchmark) as staging:
        if target.exists() and not force:
            if dishes is not None or map_file is not None:
                raise DataError(f"{target} exists already; --force makes it anew")
            _accept(target, benchmark, without_images, source)
            return target
        if target.is_symlink():
            raise DataError(
                f"{target} is a link and would be replaced: remove it, or put the data root itself "
                "where there is room (--to DIR)"
            )
        if dishes is not None:
            origin = menu.from_dishes(dishes.expanduser().absolute(), staging, seed or 0)
        elif source is None:
            origin = download(benchmark, downloads, staging, map_file)
        else:
            origin = open_source(benchmark, source, staging, map_file)
        staged = staging / benchmark
        stage(benchmark, origin, staged, without_images)
        _put_in_place(staged, target)
        shutil.rmtree(downloads, ignore_errors=True)
    logger.info(f"{benchmark} is in place: {target}")
    return target


def _check_menu_options(
    benchmark: str, source: Path | None, map_file: Path | None, dishes: Path | None
) -> None:
    if benchmark != "culturalmenu" and (map_file is not None or dishes is not None):
        raise DataError("--map and --from-dishes are for `prepare culturalmenu` only")
    if dishes is not None and (source is not None or map_file is not None):
        raise DataError("--from-dishes needs neither --from nor --map: leave them out")


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
    except OSError as error:
        raise OSError(
            error.errno,
            f"{lock.lock_file} cannot be locked ({error.strerror}): put the data root on a file "
            "system with locks (--to DIR)",
        ) from error
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


def _accept(target: Path, benchmark: str, without_images: bool, source: Path | None) -> None:
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
    if source is not None and origin.source != name_of(source, benchmark):
        raise DataError(
            f"{target} was taken from {origin.source}, not from {source}; --force replaces it, "
            "--to DIR goes elsewhere"
        )
    logger.info(f"{benchmark} is in place already: {target} ({origin.kind}, {origin.source})")


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
