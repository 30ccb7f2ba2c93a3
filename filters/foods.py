"""Canteen answers: the foods of a tray, each with its portion."""

from __future__ import annotations

from collections.abc import Callable

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter, answer_of
from lmms_eval_food.filters.food_items import (
    Item,
    Vocabulary,
    food_list,
    official_item,
    robust_item,
)
from lmms_eval_food.filters.food_shapes import are_items, by_repeats, foods_of, repaired_items
from lmms_eval_food.filters.json_text import (
    first_value,
    fold_json,
    fragments,
    load_json,
    repair_text,
    without_fence,
)
from lmms_eval_food.filters.lists import read_list
from lmms_eval_food.filters.reading import Reading, Status

SecondModel = Callable[[str], str | None]


class OfficialFoods(OfficialFilter):
    """The foods of a reply that is valid JSON, as the paper reads it.

    Value: {"items": [{"name", "grams", "text", "marks"}]}, grams by `official_grams`. A code fence
    that opens the reply is cut. Accepted are an object with the list "food_items" and a bare list;
    an item may be a string (a name without portion), one with an empty name is kept (a false
    positive), one of another type is dropped. Anything else is rewritten by the second model, and
    its items taken as they come; without one it is unreadable.

    Args:
        second_model: Rewrites a reply that is no such JSON; None for none.

    Source: Metabolic-Intelligence-Lab/vlm-food-benchmark@d1199b5:main.py and
    analysis/evaluation.py, load_and_normalize_preds.
    """

    def __init__(self, second_model: SecondModel | None = None) -> None:
        self._second_model = second_model

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        entries, status, step = _json_list(text), Status.OK, "json"
        if entries is None and self._second_model is not None:
            entries = _json_list(self._second_model(text) or "")
            status, step = Status.REPAIRED, "model"
        if entries is None:
            return Reading(text, None, Status.UNREADABLE)
        return _reading(text, [official_item(entry) for entry in entries], status, step)


class RobustFoods(RobustFilter):
    """The foods of a reply in any shape that `read_foods` reads.

    Value: {"items": [{"name", "grams", "text", "marks"}]}, grams by `robust_grams`.

    Args:
        second_model: Rewrites a reply that no rule reads; None for none.
    """

    def __init__(self, second_model: SecondModel | None = None) -> None:
        self._second_model = second_model

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        return _read_answer(answer, raw, self._second_model)


def read_foods(text: str | None, second_model: SecondModel | None = None) -> Reading:
    """Return the foods of a canteen reply.

    The steps, each tried where the one before finds nothing:

    1. "json": valid JSON, ok with the asked list (also an empty one), repaired with another shape
       (one item, a list under another key, a map from foods to weights).
    2. "json_repair": objects in a text that is no valid JSON, each read by the tolerant parser;
       all of them are kept. An item whose name breaks off is dropped; a portion that breaks off
       is no estimate.
    3. "list": bullets, numbers, tables and reports read by rule. Running prose is unreadable.
    4. "model": the second model's rewriting, where there is one; None from it is no answer.

    Items that repeat are kept as written. What a repair yields is checked against the text: a name
    with a word that is not there is dropped, and a second model's answer is dropped as a whole.
    """
    answer = answer_of(text)
    return answer if isinstance(answer, Reading) else _read_answer(answer, text or "", second_model)


def _read_answer(answer: str, raw: str, second_model: SecondModel | None) -> Reading:
    vocabulary = Vocabulary(answer)
    reading = _from_json(answer, raw) or _from_repair(answer, raw, vocabulary)
    if reading is None and not without_fence(answer).startswith(("{", "[")):
        reading = _from_list(answer, raw, vocabulary)
    if reading is None and second_model is not None:
        reading = _from_model(second_model(answer), raw, vocabulary)
    return reading or Reading(raw, None, Status.UNREADABLE)


def _json_list(text: str) -> list[dict[str, object] | str] | None:
    """Return the entries of valid JSON of the asked shape, else None."""
    try:
        return food_list(load_json(without_fence(text)))
    except ValueError:
        return None


def _from_json(answer: str, raw: str) -> Reading | None:
    try:
        value = load_json(without_fence(answer), by_repeats)
    except ValueError:
        return None
    entries = food_list(value)
    if entries is not None and are_items(entries):
        return _reading(raw, [robust_item(entry) for entry in entries], Status.OK, "json")
    items = foods_of(value)
    return _reading(raw, items, Status.REPAIRED, "json") if items else None


def _from_repair(answer: str, raw: str, vocabulary: Vocabulary) -> Reading | None:
    folded = fold_json(answer)
    items: list[Item] = []
    cut_off = False
    for fragment in fragments(folded):
        items += repaired_items(fragment.value, fragment.cut_key)
        cut_off = cut_off or fragment.cut_key is not None or not fragment.closed
    first = first_value(folded, by_repeats)
    if not any(item.name for item in items):
        items = foods_of(first) or foods_of(repair_text(without_fence(folded))) or items
    items = [item for item in items if vocabulary.holds(item.name)]
    if not items and food_list(first) != []:
        return None
    marks = ("cut_off",) if cut_off else ()
    return _reading(raw, items, Status.REPAIRED, "json_repair", marks)


def _from_list(answer: str, raw: str, vocabulary: Vocabulary) -> Reading | None:
    items = [food.item() for food in read_list(answer) if vocabulary.holds(food.name)]
    return _reading(raw, items, Status.REPAIRED, "list") if items else None


def _from_model(reply: str | None, raw: str, vocabulary: Vocabulary) -> Reading | None:
    """Return what a second model made of the reply; None where it holds words of its own.

    A portion that the text does not hold is left out, its item marked "portion_not_in_text".
    """
    entries = _json_list(reply) if reply else None
    if not entries:
        return None
    items = [robust_item(entry) for entry in entries]
    if not all(item.name and vocabulary.holds(item.name) for item in items):
        return None
    checked = [
        item if vocabulary.holds(item.text) else Item(item.name, None, "", ("portion_not_in_text",))
        for item in items
    ]
    return _reading(raw, checked, Status.REPAIRED, "model")


def _reading(
    raw: str, items: list[Item], status: Status, step: str, marks: tuple[str, ...] = ()
) -> Reading:
    return Reading(raw, {"items": [item.to_value() for item in items]}, status, step, marks)
