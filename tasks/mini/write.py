"""Writes all three mini sets as a data root."""

from __future__ import annotations

from pathlib import Path

from lmms_eval_food.tasks.mini.canteen import write_canteen
from lmms_eval_food.tasks.mini.cultural import write_cultural
from lmms_eval_food.tasks.mini.dining import write_dining


def write_mini(root: Path) -> None:
    """Write `root`/diningbench, canteen and culturalmenu, in the benchmarks' own file formats.

    Every run writes the same bytes (the pictures: on one version of Pillow). The folders are made
    where missing; files of the same names in them are replaced.
    """
    write_dining(root / "diningbench")
    write_canteen(root / "canteen")
    write_cultural(root / "culturalmenu")
