"""DiningBench's documents: which rows, how many views, with or without chain of thought.

Each task names one function of this module in YAML as `process_docs`; it puts the prepared rows in
place of the packaged manifest. Pictures beyond the asked views are dropped here, once, and the
chain-of-thought steps are added here, so what a document holds is what the model is sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, Any

from lmms_eval_food.tasks import common

if TYPE_CHECKING:
    from datasets import Dataset

Load = Callable[["Dataset"], "Dataset"]

# Table 5 of the paper, appended to the row's prompt.
STEPS = """\
Please strictly follow the Chain of Thought steps below for the analysis:
1. Visual Observation: Describe the food’s color, shape, texture, plating characteristics, and \
inferred cooking state.
2. Ingredient Breakdown: Identify and list the main ingredients, auxiliary ingredients, \
seasonings, and sauce components in detail.
3. Comprehensive Answer: Answer the question based on the original image content and the \
observations and breakdown above."""


def _questions(table: str, steps: bool = False) -> Load:
    """Return the function that loads a VQA table once its judge and ROUGE were looked for."""
    documents = _documents(table, None, steps)

    def load(manifest: Dataset) -> Dataset:
        from lmms_eval_food.tasks.diningbench import vqa

        docs = documents(manifest)
        vqa.check()
        return docs

    return load


def _documents(table: str, views: int | None, steps: bool = False) -> Load:
    """Return the function that loads a table.

    Args:
        table: Name of the table.
        views: Pictures a document, see `_shown`; None for all (questions about several pictures
            need them all). A document that has fewer is asked all the same; the column
            `views_short` says so.
        steps: Append the chain-of-thought steps.
    """

    def change(doc: dict[str, Any]) -> dict[str, Any]:
        images = doc["images"] if views is None else _shown(doc, views)
        prompt = f"{doc['prompt']}\n\n{STEPS}" if steps else doc["prompt"]
        short = len(images) < (views or 0)
        return {**doc, "prompt": prompt, "images": images, "views_short": short}

    def load(manifest: Dataset) -> Dataset:
        docs = common.documents("diningbench", table)
        return common.rebuilt(docs, [change(doc) for doc in docs])

    return load


def _shown(doc: dict[str, Any], views: int) -> list[str]:
    """Return a document's first views: the standard picture, then the user pictures in order.

    User pictures whose files are missing are passed over. A missing standard picture keeps its
    place: the published scripts put no other there, and let the request fail; here a grey square
    is sent and counted as a broken picture. So is the first picture where no file exists at all.

    Source: meituan/DiningBench@516fd54:eval_nutrition.py, run_inference.
    """
    standard = doc["standard_image"]
    there = (path for path in doc["images"] if path == standard or os.path.isfile(path))
    return [*islice(there, views)] or doc["images"][:1]


cls = _documents("classification", 1)
cls_views2 = _documents("classification", 2)
cls_views3 = _documents("classification", 3)
cls_views4 = _documents("classification", 4)
cls_cot = _documents("classification", 1, steps=True)
cls_en = _documents("classification_en", 1)
cls_en_cot = _documents("classification_en", 1, steps=True)

nutrition = _documents("nutrition", 1)
nutrition_views2 = _documents("nutrition", 2)
nutrition_views3 = _documents("nutrition", 3)
nutrition_views4 = _documents("nutrition", 4)
nutrition_cot = _documents("nutrition", 1, steps=True)
nutrition_en = _documents("nutrition_en", 1)
nutrition_en_cot = _documents("nutrition_en", 1, steps=True)

vqa = _questions("vqa")
vqa_cot = _questions("vqa", steps=True)
vqa_en = _questions("vqa_en")
vqa_en_cot = _questions("vqa_en", steps=True)
