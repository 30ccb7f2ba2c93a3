"""The papers' results tables as data: one CSV file a table, one row a printed figure.

- diningbench, Tables 2 and 4: "DiningBench: A Hierarchical Multi-view Benchmark for Perception and
  Reasoning in the Dietary Domain", arXiv:2604.10425.
- canteen, Tables 2, 3 and 4: Marchetti et al., "Benchmarking Open-Source Vision-Language Models for
  Food Image Recognition and Portion Size Estimation".
- culturalmenu, Tables 4-9, 12, 14, 16 and 17: "CulturalMenuBench: Probing the Knowledge-Application
  Gap in Multimodal Culinary Reasoning", arXiv:2609.03526.

Figures keep the printed precision; a dash in a table is no row, and a printed plus sign is left
out. Model names are as printed in that table, without the marks for open or proprietary, so one
model can have two spellings ("qwen2.5vl:7b" and "Qwen2.5VL:7B"; "Claude 4.6" and "Claude Opus
4.6"). Metrics have the names this suite gives them in the host's results where it has them.
"""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal, cast, get_args

Access = Literal["open", "proprietary", "human", "reference"]

COLUMNS = (
    "paper",
    "table",
    "model",
    "setting",
    "metric",
    "value",
    "unit",
    "low",
    "high",
    "n",
    "access",
    "source",
    "date",
)

# Unit -> lowest and highest possible value.
UNITS: dict[str, tuple[float, float]] = {
    "share": (0.0, 1.0),
    "%": (0.0, math.inf),  # 100 is whole; a percentage error can be more
    "pp": (-100.0, 100.0),  # difference of two percentages
    "items": (0.0, math.inf),
    "g": (-math.inf, math.inf),  # an intercept can be below 0
    "g/g": (-math.inf, math.inf),
    "kcal+g": (0.0, math.inf),  # mean of one figure in kcal and three in g
    "r": (-1.0, 1.0),  # correlation
}

_FILE = re.compile(
    r"(?P<benchmark>[a-z]+)_table(?P<table>(?P<appendix>[A-Z]?)(?P<number>[0-9]+))\.csv"
)
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_COUNT = re.compile(r"[1-9][0-9]*")
_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")


@dataclass(frozen=True, slots=True)
class ReferenceRow:
    """One printed figure.

    Attributes:
        paper: "diningbench", "canteen" or "culturalmenu".
        table: Number of the table in the paper, "2".
        model: As printed.
        setting: What tells apart a model's figures of one metric ("zh", "T=0.2", "mc",
            "practice_image/single"); "" where nothing does.
        metric: "acc", "nmae", "gap" and so on.
        value: The figure, in `unit`.
        printed: The figure as the paper prints it: its digits show its precision.
        unit: A key of `UNITS`.
        low: Lower end of the printed 95% interval, in `unit`; None where none is printed.
        high: Its upper end.
        n: How many the figure is over: questions or dishes; for the canteen photos ("f1",
            "meal_ae"), true items ("matched", "nmae", "cpmae", "cpmae_fp") or matched items with an
            estimate (the others); None where the paper does not say.
        access: "open" or "proprietary" model, "human", or "reference" (a predictor without a
            model, chance).
        source: Paper and table, for people.
        date: When the paper appeared: year, year-month or year-month-day, as far as is known.
    """

    paper: str
    table: str
    model: str
    setting: str
    metric: str
    value: float
    printed: str
    unit: str
    low: float | None
    high: float | None
    n: int | None
    access: Access
    source: str
    date: str


def tables() -> list[tuple[str, str]]:
    """Return benchmark and table of every file, ("canteen", "2") first, in the papers' order."""
    return list(_load())


def load_reference(benchmark: str | None = None, table: str | None = None) -> list[ReferenceRow]:
    """Return the published figures, in the order of `tables` and of the printed table.

    Args:
        benchmark: Only this one; None: all.
        table: Only this table, "2"; None: all.

    Raises:
        ValueError: there is no such table (the message lists those there are), or a file is
            malformed (the message names file and line).
    """
    loaded = _load()
    wanted = [key for key in loaded if benchmark in (None, key[0]) and table in (None, key[1])]
    if not wanted:
        known = ", ".join(f"{name} {number}" for name, number in loaded)
        raise ValueError(f"no table {table!r} of {benchmark!r}; there are: {known}")
    return [row for key in wanted for row in loaded[key]]


def read_table(text: str, name: str) -> list[ReferenceRow]:
    """Read one file.

    Args:
        text: The whole file, the header included.
        name: Its name, `<benchmark>_table<N>.csv`; the columns paper and table must agree with it.

    Returns:
        One row a line, in order; empty when there is only a header.

    Raises:
        ValueError: the name, the columns, a figure, a unit or any other cell is not as it should
            be, or two rows have the same model, setting and metric; names file and line.
    """
    named = _FILE.fullmatch(name)
    if named is None:
        raise ValueError(f"{name}: not named <benchmark>_table<N>.csv")
    reader = csv.reader(io.StringIO(text, newline=""))
    if tuple(next(reader, [])) != COLUMNS:
        raise ValueError(f"{name}:1: the columns must be {','.join(COLUMNS)}")
    rows: list[ReferenceRow] = []
    seen: set[tuple[str, str, str]] = set()
    for cells in reader:
        try:
            row = _row(cells)
            if (row.paper, row.table) != (named["benchmark"], named["table"]):
                raise ValueError(f"paper {row.paper!r}, table {row.table!r} in a file of another")
            key = (row.model, row.setting, row.metric)
            if key in seen:
                raise ValueError(f"second row for {key}")
        except ValueError as error:
            raise ValueError(f"{name}:{reader.line_num}: {error}") from None
        seen.add(key)
        rows.append(row)
    return rows


@cache
def _load() -> dict[tuple[str, str], tuple[ReferenceRow, ...]]:
    """Read every packaged file, once a process."""
    found = {
        (match["benchmark"], match["appendix"], int(match["number"])): file
        for file in files(__name__).iterdir()
        if (match := _FILE.fullmatch(file.name))
    }
    return {
        (benchmark, f"{appendix}{number}"): tuple(
            read_table(file.read_text(encoding="utf-8"), file.name)
        )
        for (benchmark, appendix, number), file in sorted(found.items())
    }


def _row(cells: list[str]) -> ReferenceRow:
    """Read the cells of one line; ValueError says what is wrong with them."""
    if len(cells) != len(COLUMNS):
        raise ValueError(f"{len(cells)} cells, {len(COLUMNS)} columns")
    cell = dict(zip(COLUMNS, cells, strict=True))
    for column in ("model", "metric", "source"):
        if not cell[column].strip():
            raise ValueError(f"{column} is empty")
    if cell["access"] not in get_args(Access):
        raise ValueError(f"access {cell['access']!r} is none of {', '.join(get_args(Access))}")
    if not _DATE.fullmatch(cell["date"]):
        raise ValueError(f"date {cell['date']!r} is not YYYY, YYYY-MM or YYYY-MM-DD")
    if cell["n"] and not _COUNT.fullmatch(cell["n"]):
        raise ValueError(f"n {cell['n']!r} is not a whole number above 0")
    value = _figure("value", cell["value"], cell["unit"])
    low, high = (
        _figure(end, cell[end], cell["unit"]) if cell[end] else None for end in ("low", "high")
    )
    if (low is None) != (high is None):
        raise ValueError("an interval needs both low and high")
    if low is not None and high is not None and not low <= value <= high:
        raise ValueError(f"value {value} is outside [{low}, {high}]")
    return ReferenceRow(
        paper=cell["paper"],
        table=cell["table"],
        model=cell["model"],
        setting=cell["setting"],
        metric=cell["metric"],
        value=value,
        printed=cell["value"],
        unit=cell["unit"],
        low=low,
        high=high,
        n=int(cell["n"]) if cell["n"] else None,
        access=cast(Access, cell["access"]),
        source=cell["source"],
        date=cell["date"],
    )


def _figure(column: str, text: str, unit: str) -> float:
    """Read a figure and check it against the range of its unit."""
    if unit not in UNITS:
        raise ValueError(f"unit {unit!r} is none of {', '.join(UNITS)}")
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{column} {text!r} is not a plain number")
    figure = float(text)
    lowest, highest = UNITS[unit]
    if not (math.isfinite(figure) and lowest <= figure <= highest):
        raise ValueError(f"{column} {text} is outside the range of unit {unit!r}")
    return figure
