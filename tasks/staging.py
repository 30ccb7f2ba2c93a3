"""Gathers a benchmark's tables and pictures from wherever a source keeps them, and checks them."""

from __future__ import annotations

import importlib.resources
import io
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from tqdm import tqdm

from lmms_eval_food.tasks import data, fetch, images, tables
from lmms_eval_food.tasks.archives import ArchiveError, extract
from lmms_eval_food.tasks.rows import DataError

Rows = dict[str, list[dict[str, Any]]]  # table -> its rows

# What the papers and repositories count; checked when the files come from there. What
# CulturalMenuBench counts stands in normal_form.py: there a difference is said, and no error.
PUBLISHED_COUNTS: dict[str, dict[str, int]] = {
    "diningbench": {
        f"{table}{end}": count
        for table, count in (("classification", 2884), ("nutrition", 1650), ("vqa", 804))
        for end in ("", "_en")
    },
    "canteen": {"portions": 200, "items": 870},
    "culturalmenu": {},
}
_OPTIONAL_TABLES = frozenset({"mc", "region"})


@dataclass(frozen=True)
class Layout:
    """Where a source may keep what the data root has.

    Attributes:
        files: Place under the benchmark's folder -> places in a source; the first that exists.
        pictures: Folders of a source that stand for images/.
    """

    files: dict[str, tuple[str, ...]]
    pictures: tuple[str, ...] = ("images",)


LAYOUTS = {
    "diningbench": Layout({f"{t}.jsonl": (f"{t}.jsonl",) for t in tables.TABLES["diningbench"]}),
    "canteen": Layout(
        {
            "labels_flat.csv": ("labels_flat.csv",),
            "image_participants.csv": (
                "GT_Mensa_2025/image_participants.csv",
                "image_participants.csv",
            ),
            "prompts/system.txt": ("system_prompts/01.txt", "prompts/system.txt"),
            "prompts/user.txt": ("user_prompts/01.txt", "prompts/user.txt"),
            "prompts/repair.txt": (
                "system_prompts/json_llm_prompt_01.txt",
                "prompts/repair.txt",
            ),
        },
        ("GT_Mensa_2025/resized_images", "images"),
    ),
    "culturalmenu": Layout({f"{t}.jsonl": (f"{t}.jsonl",) for t in tables.TABLES["culturalmenu"]}),
}


@dataclass(frozen=True)
class Origin:
    """Files to take a benchmark from.

    Attributes:
        folder: Holds the tables.
        unpacked: Folders of our own making that may hold pictures; they are moved, not copied.
        source: For prepared.json.
        revision: For prepared.json.
        kind: For prepared.json; "published" files must have the published counts.
        placeholders: True when the pictures are grey squares.
        located: Picture as the tables name it -> the file; empty: looked for by its path.
    """

    folder: Path
    unpacked: tuple[Path, ...]
    source: str
    revision: str
    kind: str
    placeholders: bool = False
    located: Mapping[str, Path] = field(default_factory=dict)


def unpack(
    archive: Path, target: Path, *, wanted: Callable[[str], bool] | None = None, ours: bool = False
) -> Path:
    """Unpack an archive; delete one of `ours` that is broken, so that it is fetched anew."""
    # Pictures do not pack further: what comes out is about what went in.
    fetch.check_space(target, archive.stat().st_size)
    try:
        extract(archive, target, wanted=wanted)
    except ArchiveError as error:
        if not ours:
            raise
        archive.unlink()
        raise ArchiveError(f"{error}. It was deleted: the next run downloads it anew") from error
    return target


def stage(benchmark: str, origin: Origin, staged: Path, without_images: bool) -> None:
    """Gather tables and pictures in `staged`, check them, and note where they came from."""
    _take_tables(benchmark, origin.folder, staged, own_prompts=without_images)
    try:
        rows = check_tables(benchmark, staged)
    except DataError as error:
        # The staged copy is gone when the message is read.
        raise DataError(str(error).replace(f"{staged}/", f"{origin.folder}/")) from None
    if origin.kind == "published":
        _compare_counts(benchmark, rows)
    pictures = [Path(path).relative_to(staged) for path in _pictures(rows)]
    if without_images:
        _draw_placeholders(origin.folder, staged, pictures)
    else:
        _take_pictures(benchmark, origin, staged, pictures)
    note = {
        "benchmark": benchmark,
        "source": origin.source,
        "revision": origin.revision,
        "kind": origin.kind,
        "placeholders": without_images or origin.placeholders,
        "checksum": data.table_checksum(staged),
    }
    (staged / data.PREPARED).write_text(json.dumps(note, indent=2) + "\n", encoding="utf-8")


def _take_tables(benchmark: str, folder: Path, staged: Path, *, own_prompts: bool) -> None:
    for place, candidates in LAYOUTS[benchmark].files.items():
        (staged / place).parent.mkdir(parents=True, exist_ok=True)
        found = [folder / candidate for candidate in candidates if (folder / candidate).is_file()]
        if found:
            shutil.copyfile(found[0], staged / place)
        elif place.startswith("prompts/") and own_prompts:
            (staged / place).write_bytes(_own_prompt(place.removeprefix("prompts/")))
        elif PurePosixPath(place).stem not in _OPTIONAL_TABLES:
            raise DataError(f"{folder} has no {' or '.join(candidates)}, which {benchmark} needs")


def _own_prompt(name: str) -> bytes:
    prompts = importlib.resources.files("lmms_eval_food.tasks.canteen") / "mini_prompts"
    try:
        return (prompts / name).read_bytes()
    except OSError as error:
        raise DataError(f"this installation lacks its own canteen prompt {name}: {error}") from None


def check_tables(benchmark: str, folder: Path) -> Rows:
    """Return the rows of every table in the folder; raise when one does not fit."""
    rows = {
        table: tables.read_table(folder, benchmark, table)
        for table in tables.TABLES[benchmark]
        if table not in _OPTIONAL_TABLES or tables.table_file(folder, benchmark, table).exists()
    }
    dishes = {row["dish_id"] for row in rows.get("dishes", ())}
    for table in rows.keys() & {"binary", "mc", "region"}:
        for row in rows[table]:
            for dish in row.get("dish_ids", [row.get("dish_id")]):
                if dish not in dishes:
                    raise DataError(
                        f"{folder / table}.jsonl: item {row['id']!r} is about dish {dish!r}, which "
                        "dishes.jsonl does not have"
                    )
    return rows


def _compare_counts(benchmark: str, rows: Rows) -> None:
    counts = {table: len(found) for table, found in rows.items()}
    if benchmark == "canteen":
        counts["items"] = sum(len(row["foods"]) for row in rows["portions"])
    for what, expected in PUBLISHED_COUNTS[benchmark].items():
        if counts[what] != expected:
            raise DataError(
                f"{benchmark}: {what} has {counts[what]} rows, published are {expected}"
            )


def _pictures(rows: Rows) -> list[str]:
    return tables.row_images(row for found in rows.values() for row in found)


def refuse_missing(benchmark: str, rows: Rows) -> None:
    """Raise DataError where a picture that the rows name is missing."""
    pictures = _pictures(rows)
    missing = tables.missing_images(pictures)
    if missing:
        raise _missing(benchmark, missing, len(pictures))


def _missing(benchmark: str, missing: list[str], count: int) -> DataError:
    way = " (--without-images does without)" if benchmark == "canteen" else ""
    first = ", ".join(missing[:3])
    return DataError(
        f"{benchmark}: {len(missing)} of {count} pictures that the tables name are missing or "
        f"empty, first {first}{way}"
    )


def _take_pictures(benchmark: str, origin: Origin, staged: Path, pictures: list[Path]) -> None:
    found: dict[Path, Path] = {}
    for picture in pictures:
        for place in _places(benchmark, origin, picture):
            if place.is_file() and place.stat().st_size:
                found[picture] = place
                break
    missing = [str(picture) for picture in pictures if picture not in found]
    if missing:
        raise _missing(benchmark, missing, len(pictures))
    copied = [place for place in found.values() if not _is_ours(origin, place)]
    fetch.check_space(staged, sum(place.stat().st_size for place in copied))
    for picture, place in tqdm(found.items(), desc=f"{benchmark} pictures", disable=None):
        (staged / picture).parent.mkdir(parents=True, exist_ok=True)
        if _is_ours(origin, place):
            place.rename(staged / picture)
        else:
            shutil.copyfile(place, staged / picture)


def _places(benchmark: str, origin: Origin, picture: Path) -> Iterator[Path]:
    """Yield where a picture may lie in a source."""
    if origin.located:
        yield origin.located[picture.as_posix()]
        return
    for folder in dict.fromkeys((*origin.unpacked, origin.folder)):
        yield folder / picture
        if picture.parts[0] == "images":
            for pictures in LAYOUTS[benchmark].pictures:
                yield folder.joinpath(pictures, *picture.parts[1:])


def _is_ours(origin: Origin, place: Path) -> bool:
    return any(place.is_relative_to(folder) for folder in origin.unpacked)


def _draw_placeholders(folder: Path, staged: Path, pictures: list[Path]) -> None:
    from PIL import Image

    for name in LAYOUTS["canteen"].pictures:
        if (folder / name).exists():
            raise DataError(f"{folder / name} has pictures: leave --without-images out")
    file = io.BytesIO()
    Image.new("RGB", images.PLACEHOLDER_SIZE, images.GREY).save(file, "JPEG")
    for picture in pictures:
        (staged / picture).parent.mkdir(parents=True, exist_ok=True)
        (staged / picture).write_bytes(file.getvalue())
