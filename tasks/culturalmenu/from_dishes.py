"""Writes questions built from a user's own list of dishes, and says how their answers balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from loguru import logger

from lmms_eval_food.tasks import tables
from lmms_eval_food.tasks.culturalmenu.build import (
    balance_report,
    build_binary,
    build_mc,
    build_region,
)
from lmms_eval_food.tasks.culturalmenu.normal_form import write_rows
from lmms_eval_food.tasks.culturalmenu.prompts import canonical_cuisine, is_known_category
from lmms_eval_food.tasks.culturalmenu.schemas import first_problem, shown
from lmms_eval_food.tasks.rows import DataError, Source

_BUILDERS = {"binary": build_binary, "mc": build_mc, "region": build_region}
_ANSWERS = {"binary": ("yes", "no"), "mc": tuple("ABCD"), "region": tuple("ABCD")}


class _OwnFile(Source):
    """The folder of a user's own list: nothing but the user can put it right."""

    @property
    def remedy(self) -> str:
        """Return what the user can do about a wrong row."""
        return "correct it and try again"


def write_items(file: Path, target: Path, seed: int = 0) -> list[str]:
    """Write dishes.jsonl and the questions built from it into a new folder.

    A kind of question that the dishes do not allow (multiple choice needs four of them, sub-region
    questions a regional cuisine) has no file. Regions and categories that are not known are said,
    each with the number of its dishes.

    Args:
        file: JSON Lines, rows like those of dishes.jsonl.
        target: Folder to make.
        seed: Seed of the construction: another one makes other questions of the same dishes.

    Returns:
        The picture paths that the dishes name, each once.

    Raises:
        DataError: the file cannot be read, a row does not fit, or no yes/no question can be built.
    """
    dishes = _read_dishes(file)
    _say_unknown(dishes)
    target.mkdir(parents=True)
    write_rows(target / "dishes.jsonl", dishes)
    for table, build in _BUILDERS.items():
        items = build(dishes, seed)
        if items:
            write_rows(target / f"{table}.jsonl", items)
        elif table == "binary":
            raise DataError(f"{file} has {len(dishes)} dishes, too few for a yes/no question")
    return tables.row_images(dishes)


def _read_dishes(file: Path) -> list[dict[str, Any]]:
    if not file.is_file():
        raise DataError(f"--from-dishes {file}: there is no such file")
    dishes: dict[str, dict[str, Any]] = {}
    for row in _OwnFile("culturalmenu", file.parent).json_rows(file.name):
        problem = first_problem("dishes", row.values)
        if not problem and row.id("dish_id") in dishes:
            problem = ("dish_id", "an id that no other row has")
        if problem:
            raise DataError(f"{row.wrong(*problem)}. The row is {shown(row.values)}")
        dish_id = row.id("dish_id")
        filled = {
            "region": row.values.get("region"),
            "practice_images": row.values.get("practice_images") or [],
        }
        dishes[dish_id] = row.values | {"dish_id": dish_id} | filled
    return list(dishes.values())


def _say_unknown(dishes: Iterable[dict[str, Any]]) -> None:
    """Warn of regions that make no sub-region question, and of categories with one name only."""
    regions, categories = Counter[str](), Counter[str]()
    for dish in dishes:
        if dish["region"] is not None and canonical_cuisine(dish["region"]) is None:
            regions[dish["region"]] += 1
        if not is_known_category(dish["category"]):
            categories[dish["category"]] += 1
    for region, count in regions.items():
        logger.warning(
            f"culturalmenu: region {region!r} ({count} dishes) is none of the 16 regional cuisines "
            "of families.yaml: no sub-region questions about them"
        )
    for category, count in categories.items():
        logger.warning(
            f"culturalmenu: category {category!r} ({count} dishes) is none of the eleven countries "
            "of prompts.yaml: its name stands in questions of every language as it is here, and "
            "another name of the same country would count as another country"
        )


def balance_table(folder: Path) -> str:
    """Return how often each answer is right, a line for each relation and language.

    Args:
        folder: Holds binary.jsonl and, where there are any, mc.jsonl and region.jsonl.
    """
    source = Source("culturalmenu", folder)
    blocks = []
    for table, answers in _ANSWERS.items():
        if tables.table_file(folder, "culturalmenu", table).is_file():
            items = [row.values for row in source.json_rows(f"{table}.jsonl")]
            blocks.append("\n".join(_balance_lines(table, answers, items)))
    return "\n\n".join(blocks)


def _balance_lines(
    table: str, answers: tuple[str, ...], items: Iterable[dict[str, Any]]
) -> list[str]:
    report = balance_report(items)
    by_relation = {relation: report[relation]["all"] for relation in report if relation != "all"}
    by_language = {name: counts for name, counts in report["all"].items() if name != "all"}
    lines = by_relation | by_language | {"all": report["all"]["all"]}
    width = max(map(len, [*lines, table]))
    return [
        f"{name:{width}}" + "".join(f"{cell:>7}" for cell in cells)
        for name, cells in (
            (table, answers),
            *((name, [counts.get(a, 0) for a in answers]) for name, counts in lines.items()),
        )
    ]
