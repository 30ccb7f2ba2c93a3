"""The canteen form: 20 trays of four participants, each food weighed."""

from __future__ import annotations

from importlib import resources
from itertools import groupby
from pathlib import Path

from lmms_eval_food.tasks.mini.draw import save, tray_picture
from lmms_eval_food.tasks.mini.files import read_csv, write_csv, write_prepared, write_text

PROMPTS = ("system", "user", "repair")


def write_canteen(folder: Path) -> None:
    """Write the canteen mini set: labels, participants, three prompts and 20 pictures."""
    rows = read_csv("trays.csv")
    labels = [(row["image"], row["food"], row["portion"]) for row in rows]
    participants = {row["image"]: row["participant"] for row in rows}
    write_csv(folder / "labels_flat.csv", ("image", "food", "portion"), labels)
    write_csv(
        folder / "image_participants.csv",
        ("resized_filename", "participant_id"),
        participants.items(),
    )
    texts = resources.files("lmms_eval_food.tasks.canteen").joinpath("mini_prompts")
    for name in PROMPTS:
        text = texts.joinpath(f"{name}.txt").read_text("utf-8")
        write_text(folder / "prompts" / f"{name}.txt", text)
    (folder / "images").mkdir(exist_ok=True)
    for image, foods in groupby(labels, key=lambda label: label[0]):
        tray = [(food, float(grams)) for _, food, grams in foods]
        save(tray_picture(image, tray), folder / "images" / image)
    write_prepared(folder, "canteen")
