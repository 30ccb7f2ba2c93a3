"""The DiningBench form: 24 dishes of three menus, asked about in Chinese and in English."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_food.tasks.mini.draw import dish_picture, save
from lmms_eval_food.tasks.mini.files import read_csv, write_jsonl, write_prepared

LETTERS = "ABCDEFGH"
VIEWS = 4

Row = dict[str, str]


@dataclass(frozen=True, slots=True)
class _Words:
    """What the prompts of one language say."""

    code: str
    suffix: str
    choose: str
    estimate: str
    nutrients: tuple[str, str, str, str]
    name_key: str | None
    last_line: str


_CHINESE = _Words(
    code="zh",
    suffix="",
    choose="请仔细观察图片，从以下选项中选出与图中菜品最相符的一项，并回答其选项字母。",
    estimate=(
        "请根据图片估算这份菜品的总热量（千卡）以及蛋白质、碳水化合物和脂肪的含量（克），"
        "并按以下JSON格式输出："
    ),
    nutrients=("卡路里", "蛋白质", "碳水化合物", "脂肪"),
    name_key="精炼菜品名称",
    last_line="仅输出最终答案，不要包含任何解释、分析、前言或总结。",
)
_ENGLISH = _Words(
    code="en",
    suffix="_en",
    choose=(
        "Look closely at the image and choose the option that fits the dish best. "
        "Answer with its letter."
    ),
    estimate=(
        "Estimate from the image the total energy of this dish (kcal) and its protein, "
        "carbohydrates and fat (g). Use this JSON format: "
    ),
    nutrients=("calories", "protein", "carbohydrates", "fat"),
    name_key=None,
    last_line=(
        "Output only the final answer, without any explanation, analysis, preface, or summary."
    ),
)


def write_dining(folder: Path) -> None:
    """Write the DiningBench mini set: three tables of 24 rows in two languages, 96 pictures."""
    dishes = read_csv("dining.csv")
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for number, dish in enumerate(dishes, 1):
        _draw(number, dish, folder)
    for words in (_CHINESE, _ENGLISH):
        for name, rows in _tables(dishes, words).items():
            write_jsonl(folder / f"{name}{words.suffix}.jsonl", rows)
    write_prepared(folder, "diningbench")


def _draw(number: int, dish: Row, folder: Path) -> None:
    ingredients = dish["ingredients"].split("|")
    for view, path in enumerate(_paths(number)):
        picture = dish_picture(dish["name_zh"], ingredients, dish["vessel"], view, dish["colour"])
        save(picture, folder / path)


def _tables(dishes: Sequence[Row], words: _Words) -> dict[str, list[dict[str, Any]]]:
    tables: dict[str, list[dict[str, Any]]] = {"classification": [], "nutrition": [], "vqa": []}
    for number, dish in enumerate(dishes, 1):
        row_id = {"id": f"{number:05d}"}
        standard, *users = _paths(number)
        views = {"standard_image": standard, "user_images": users}
        # A few questions show two views, as a few of the benchmark's do.
        shown = [standard, users[0]] if number % 8 == 0 else [standard]
        tables["classification"].append(row_id | _classification(dish, dishes, words) | views)
        tables["nutrition"].append(row_id | _nutrition(dish, words) | views)
        tables["vqa"].append(row_id | _vqa(dish, words) | {"images": shown})
    return tables


def _paths(number: int) -> list[str]:
    return [f"images/{number:05d}_{view}.jpg" for view in range(VIEWS)]


def _rank(*parts: str) -> bytes:
    return hashlib.sha256("/".join(parts).encode()).digest()


def _classification(dish: Row, dishes: Sequence[Row], words: _Words) -> dict[str, Any]:
    """Return prompt and letter; the eight options are the dish's whole menu.

    Each of a menu's eight dishes gets another letter, so that all letters are equally frequent.
    """
    menu = [other for other in dishes if other["menu"] == dish["menu"]]
    by_hash = sorted(menu, key=lambda other: _rank("letter", other["name_zh"]))
    place = by_hash.index(dish)
    options = sorted(
        (other for other in menu if other is not dish),
        key=lambda other: _rank("option", dish["name_zh"], other["name_zh"]),
    )
    options.insert(place, dish)
    lines = [
        f"{letter}. {option[f'name_{words.code}']}"
        for letter, option in zip(LETTERS, options, strict=True)
    ]
    prompt = "\n".join([words.choose, *lines, words.last_line])
    return {"prompt": prompt, "ground_truth": LETTERS[place]}


def _nutrition(dish: Row, words: _Words) -> dict[str, Any]:
    """Return prompt and truth; the energy follows from the rest (4, 4 and 9 kcal a gram)."""
    protein, carbohydrates, fat = (float(dish[key]) for key in ("protein", "carbohydrates", "fat"))
    energy = float(round(4 * protein + 4 * carbohydrates + 9 * fat))
    amounts = (energy, protein, carbohydrates, fat)
    truth: dict[str, Any] = dict(zip(words.nutrients, amounts, strict=True))
    if words.name_key:
        truth = {words.name_key: dish[f"name_{words.code}"], **truth}
    form = json.dumps(dict.fromkeys(words.nutrients, 0), ensure_ascii=False)
    return {
        "prompt": f"{words.estimate}{form}\n{words.last_line}",
        "ground_truth": truth,
    }


def _vqa(dish: Row, words: _Words) -> dict[str, Any]:
    return {
        "prompt": f"{dish[f'question_{words.code}']}\n{words.last_line}",
        "ground_truth": dish[f"answer_{words.code}"],
    }
