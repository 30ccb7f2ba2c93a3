"""Where the files of a benchmark come from: a download, or a folder or archive of the user's."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_food.tasks import data, fetch
from lmms_eval_food.tasks.culturalmenu import origins as menu
from lmms_eval_food.tasks.rows import DataError
from lmms_eval_food.tasks.staging import LAYOUTS, Origin, unpack


def download(benchmark: str, downloads: Path, staging: Path, map_file: Path | None) -> Origin:
    """Download a benchmark's files at their pinned revision into `downloads` and unpack them.

    Args:
        benchmark: One of `tables.TABLES`.
        downloads: Folder that keeps what came, for a next run.
        staging: Empty folder to unpack into.
        map_file: CulturalMenuBench's field map; None: the packaged one.
    """
    if benchmark == "diningbench":
        fetch.fetch_diningbench(downloads)
        pictures = _unpack(downloads / "images.tar.gz", staging / "pictures", benchmark, ours=True)
        return Origin(
            downloads, (pictures,), fetch.DININGBENCH_REPO, fetch.DININGBENCH_REVISION, "published"
        )
    if benchmark == "canteen":
        archive = fetch.fetch_canteen(downloads)
        folder = _descend(
            _unpack(archive, staging / "source", benchmark, ours=True), benchmark, archive
        )
        return Origin(folder, (folder,), fetch.CANTEEN_REPO, fetch.CANTEEN_REVISION, "published")
    return menu.from_hub(downloads, staging, map_file)


def open_source(benchmark: str, source: Path, staging: Path, map_file: Path | None) -> Origin:
    """Take a benchmark's files from the user's folder or archive; arguments as of `download`."""
    unpacked: list[Path] = []
    folder = source
    if source.is_file():
        folder = _descend(_unpack(source, staging / "source", benchmark), benchmark, source)
        unpacked.append(folder)
    archive = folder / "images.tar.gz"
    if benchmark == "diningbench" and archive.exists() and not (folder / "images").exists():
        unpacked.append(_unpack(archive, staging / "pictures", benchmark))
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


def _descend(folder: Path, benchmark: str, archive: Path) -> Path:
    """Return the folder that holds the tables, where an archive wraps them in single folders."""
    top, first = folder, next(iter(LAYOUTS[benchmark].files))
    while not (folder / first).exists():
        # macOS packs its own notes beside the folder that was meant.
        inside = [
            path
            for path in folder.iterdir()
            if path.name != "__MACOSX" and not path.name.startswith(".")
        ]
        if len(inside) != 1 or not inside[0].is_dir():
            break
        folder = inside[0]
    # CulturalMenuBench's own tables have other names; they are found through the field map.
    if benchmark != "culturalmenu" and not (folder / first).exists():
        place = folder.relative_to(top).as_posix()
        raise DataError(f"{archive} has no {first} in its folder {place!r}; {benchmark} needs it")
    return folder


def name_of(source: Path, benchmark: str) -> str:
    """Return what the data of a folder or archive of the user's are noted to come from."""
    if (source / data.PREPARED).exists():  # prepared before: it is still what it was
        return data.read_provenance(source, benchmark).source
    # The name, not the path: results are published with it.
    return f"local:{source.name}"
