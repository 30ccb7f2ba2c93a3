"""The CulturalMenuBench form: 30 dishes in ten languages, and the questions built from them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lmms_eval_food.tasks.culturalmenu.build import build_binary, build_mc, build_region
from lmms_eval_food.tasks.mini.draw import dish_picture, save, step_picture
from lmms_eval_food.tasks.mini.files import read_text, write_jsonl, write_prepared


def mini_dishes() -> list[dict[str, Any]]:
    """Return the 30 dishes as rows of dishes.jsonl."""
    return [_row(dish) for dish in yaml.safe_load(read_text("dishes.yaml"))["dishes"]]


def write_cultural(folder: Path) -> None:
    """Write the CulturalMenuBench mini set: dishes, three tables of questions, 180 pictures."""
    dishes = mini_dishes()
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for dish in dishes:
        _draw(dish, folder)
    write_jsonl(folder / "dishes.jsonl", dishes)
    write_jsonl(folder / "binary.jsonl", build_binary(dishes))
    write_jsonl(folder / "mc.jsonl", build_mc(dishes))
    write_jsonl(folder / "region.jsonl", build_region(dishes))
    write_prepared(folder, "culturalmenu")


def _row(dish: Mapping[str, Any]) -> dict[str, Any]:
    dish_id, steps = dish["dish_id"], dish["steps"]
    texts = ("dish_id", "dish_name", "category", "region", "language", "raw_material")
    return {name: dish[name] for name in texts} | {
        "practice_text": " ".join(f"{n}. {step}" for n, step in enumerate(steps, 1)),
        "dish_image": f"images/{dish_id}_0.jpg",
        "practice_images": [f"images/{dish_id}_{n}.jpg" for n in range(1, len(steps) + 1)],
    }


def _draw(dish: Mapping[str, Any], folder: Path) -> None:
    name, language = dish["dish_name"], dish["language"]
    # Thai lists have spaces where the others have commas.
    separator = r"\s+" if language == "th" else r"[、,]\s*"
    ingredients = re.split(separator, dish["raw_material"])
    save(dish_picture(name, ingredients, "plate"), folder / dish["dish_image"])
    for step, path in enumerate(dish["practice_images"], 1):
        picture = step_picture(name, ingredients, step, len(dish["practice_images"]))
        save(picture, folder / path)
