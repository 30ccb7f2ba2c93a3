"""CulturalMenuBench's documents: the rows of each task, their questions complete.

Each task names one function of this module in YAML as `process_docs`; it puts the prepared rows in
place of the packaged manifest. Options are lettered here, pictures put in the order in which they
are sent, and the first-step ablation drops pictures, so what a document holds is what is sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from loguru import logger

from lmms_eval_food.tasks import common
from lmms_eval_food.tasks.culturalmenu import prompts
from lmms_eval_food.tasks.culturalmenu.cuisine_words import without_cuisine_words

if TYPE_CHECKING:
    from datasets import Dataset

Row = dict[str, Any]
Load = Callable[["Dataset"], "Dataset"]
LETTERS = "ABCD"


def binary_row(row: Row, first_step: bool) -> Row:
    """Return a yes/no question; the text says which pictures make up each of two groups."""
    groups = row["image_groups"]
    if first_step and row["relation"].startswith("practice_image"):
        groups = [group[:1] for group in groups]
    prompt = row["prompt"]
    sizes = [len(group) for group in groups]
    if len(groups) > 1 and max(sizes) > 1:
        # One list of pictures reaches the model: nothing else tells where the second group begins.
        texts = prompts.language_prompts(row["language"])
        names = prompts.picture_names(row["language"], sizes)
        lines = [texts.numbering, *(f"{n}. {name}" for n, name in enumerate(names, 1))]
        prompt = prompts.with_lines(prompt, lines, texts.answer_only)
    return {**row, "prompt": prompt, "image_groups": groups, "images": _flat(groups)}


def mc_row(row: Row, first_step: bool) -> Row:
    """Return a four-way question with its options as lettered lines.

    Options that are pictures follow the question's own pictures; the text numbers them all and
    says which numbers are option A, B, C and D, so no backend can confuse them.
    """
    given, options = row["images"], row["option_images"]
    from_step, to_step = (part == "practice_image" for part in row["relation"].split("->"))
    if first_step and from_step:
        given = given[:1]
    if first_step and to_step:
        options = [group[:1] for group in options]
    texts = prompts.language_prompts(row["language"])
    lines, labels = [], row["option_texts"]
    if options:
        groups = [given, *options] if given else options
        labels = prompts.picture_names(row["language"], [len(group) for group in groups])
        labels = labels[len(groups) - len(options) :]
        lines = [texts.numbering]
    lines += [f"{letter}. {label}" for letter, label in zip(LETTERS, labels, strict=True)]
    return {
        **row,
        "prompt": prompts.with_lines(row["prompt"], lines, texts.letter_only),
        "images": [*given, *_flat(options)],
    }


def region_row(row: Row, variant: str) -> Row:
    """Return a sub-region question in one of the wordings of Appendix K."""
    name = without_cuisine_words(row["dish_name"]) if variant == "text" else row["dish_name"]
    return {
        **row,
        "prompt": prompts.region_prompt(variant, row["evidence"], row["options"], name),
        "images": [] if variant == "text" else row["images"],
        "language": prompts.REGION_LANGUAGE,
    }


def _flat(groups: Sequence[Sequence[str]]) -> list[str]:
    return [path for group in groups for path in group]


def _load(
    table: str,
    change: Callable[[Row], Row],
    keep: Callable[[Row], bool] = lambda row: True,
    kept: str = "",
) -> Load:
    """Return the loader of a task; `kept` says in words which rows of the table are its own."""

    def load(manifest: Dataset) -> Dataset:
        docs = common.documents("culturalmenu", table)
        return common.rebuilt(docs, [change(row) for row in docs if keep(row)], kept)

    return load


def _shows_the_dish(row: Row) -> bool:
    return bool(row["evidence"] == "dish_image")


def _can_be_named(row: Row) -> bool:
    """Tell whether a question about a dish image is left when its name loses the cuisine words.

    A name of such words alone leaves nothing to ask about, and whole it would be the answer.
    """
    if not _shows_the_dish(row):
        return False
    if without_cuisine_words(row["dish_name"]):
        return True
    logger.warning(
        f"culturalmenu_region_text leaves out {row['id']}: its dish name, {row['dish_name']!r}, "
        "is made of cuisine words alone"
    )
    return False


_DISH_ROWS = "about a dish image"
binary = _load("binary", lambda row: binary_row(row, first_step=False))
binary_first_step = _load("binary", lambda row: binary_row(row, first_step=True))
mc = _load("mc", lambda row: mc_row(row, first_step=False))
mc_first_step = _load("mc", lambda row: mc_row(row, first_step=True))
region = _load("region", lambda row: region_row(row, "standard"))
# The paper asks these of the dish images' items only.
region_text = _load("region", lambda row: region_row(row, "text"), _can_be_named, _DISH_ROWS)
region_cot = _load("region", lambda row: region_row(row, "cot"), _shows_the_dish, _DISH_ROWS)
region_named = _load("region", lambda row: region_row(row, "named"), _shows_the_dish, _DISH_ROWS)
