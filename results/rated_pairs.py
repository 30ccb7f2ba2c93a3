"""Pairs of food names that people have judged, from two CSV files."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from lmms_eval_food.metrics.agreement import DIFFERENT, PARTIAL, SAME

PAIR_COLUMNS = ("pair_id", "pred_name", "gt_name")
SCORE = "score"
LABELS = (SAME, PARTIAL, DIFFERENT)

# One line of a file: its number and its cells by column.
Line = tuple[int, Mapping[str, str]]


class RatedPairsError(ValueError):
    """A file is not as it should be; the message names file, line and column."""


@dataclass(frozen=True, slots=True)
class RatedPairs:
    """Pairs with what every rater says about them, in the order of the pairs file.

    Attributes:
        ids: Their ids, n of them.
        preds: Predicted names.
        trues: True names.
        scores: Published similarities; None where the file has no column "score".
        raters: Names of the raters.
        ratings: One label a rater for each pair: "same", "partial" or "different".
    """

    ids: tuple[str, ...]
    preds: tuple[str, ...]
    trues: tuple[str, ...]
    scores: tuple[float, ...] | None
    raters: tuple[str, ...]
    ratings: tuple[tuple[str, ...], ...]


def read_rated_pairs(pairs: Path, labels: Path) -> RatedPairs:
    """Read pairs (`pair_id,pred_name,gt_name[,score]`) and labels (`pair_id`, a column a rater).

    Every pair needs a label of every rater, and every label a pair. Labels may be written in any
    case; other columns of the pairs file are ignored.

    Raises:
        RatedPairsError: a file is not as it should be.
        OSError: a file cannot be read.
    """
    columns, rows = _read(pairs, PAIR_COLUMNS)
    named = _by_id(pairs, rows)
    scored = SCORE in columns
    columns, rows = _read(labels, ("pair_id",))
    raters = tuple(name for name in columns if name != "pair_id")
    if not raters:
        raise RatedPairsError(f"{labels}:1: no column of a rater beside pair_id")
    rated = _by_id(labels, rows)
    for key, (number, _) in rated.items():
        if key not in named:
            raise RatedPairsError(f"{labels}:{number}: column pair_id: {key!r} is not in {pairs}")
    for key, (number, _) in named.items():
        if key not in rated:
            raise RatedPairsError(f"{pairs}:{number}: column pair_id: {key!r} has no labels")
    return RatedPairs(
        ids=tuple(named),
        preds=tuple(row["pred_name"] for _, row in named.values()),
        trues=tuple(row["gt_name"] for _, row in named.values()),
        scores=tuple(_score(pairs, line) for line in named.values()) if scored else None,
        raters=raters,
        ratings=tuple(
            tuple(_label(labels, rated[key], rater) for rater in raters) for key in named
        ),
    )


def _read(path: Path, needed: tuple[str, ...]) -> tuple[list[str], list[Line]]:
    """Return a file's columns and its lines."""
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    lines: list[Line] = []
    try:
        columns = [name.strip() for name in next(reader, [])]
        _check_columns(path, columns, needed)
        for cells in reader:
            if len(cells) not in (0, len(columns)):
                raise RatedPairsError(
                    f"{path}:{reader.line_num}: {len(cells)} cells for {len(columns)} columns"
                )
            if cells:
                row = dict(zip(columns, (cell.strip() for cell in cells), strict=True))
                lines.append((reader.line_num, row))
    except csv.Error as error:
        raise RatedPairsError(f"{path}:{reader.line_num}: not CSV ({error})") from error
    return columns, lines


def _text(path: Path) -> str:
    content = path.read_bytes()
    try:
        # What spreadsheets write begins with a byte order mark.
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise RatedPairsError(f"{path}:{line}: not UTF-8 ({error.reason})") from error


def _check_columns(path: Path, columns: list[str], needed: tuple[str, ...]) -> None:
    for name in needed:
        if name not in columns:
            raise RatedPairsError(f"{path}:1: no column {name}")
    for name in columns:
        if not name or columns.count(name) > 1:
            raise RatedPairsError(f"{path}:1: column {name!r} has no name, or is there twice")


def _by_id(path: Path, lines: list[Line]) -> dict[str, Line]:
    found: dict[str, Line] = {}
    for number, row in lines:
        key = row["pair_id"]
        if not key or key in found:
            fault = "is empty" if not key else f"{key!r} is there twice"
            raise RatedPairsError(f"{path}:{number}: column pair_id {fault}")
        found[key] = number, row
    if not found:
        raise RatedPairsError(f"{path}: no pairs")
    return found


def _score(path: Path, line: Line) -> float:
    number, row = line
    try:
        score = float(row[SCORE])
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise RatedPairsError(f"{path}:{number}: column {SCORE}: {row[SCORE]!r} is not a number")
    return score


def _label(path: Path, line: Line, rater: str) -> str:
    number, row = line
    label = row[rater].lower()
    if label not in LABELS:
        raise RatedPairsError(
            f"{path}:{number}: column {rater}: {row[rater]!r} is none of {', '.join(LABELS)}"
        )
    return label
