"""A dish as the construction of questions sees it: its row, and its fields ready to compare."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from lmms_eval_food.tasks.culturalmenu.prompts import (
    category_key,
    language_prompts,
    normalise_text,
)

Dish = Mapping[str, Any]
Item = dict[str, Any]
Content = str | tuple[str, ...]

IMAGE_FIELDS = ("dish_image", "practice_image")
TEXT_FIELDS = ("dish_name", "raw_material", "practice_text")


def rank(*parts: object) -> bytes:
    """Return a sort key that looks random and depends on `parts` alone."""
    return hashlib.sha256("\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()


@dataclass(frozen=True, slots=True)
class Entry:
    """One dish.

    Attributes:
        row: The row of dishes.jsonl.
        contents: Each field in the form in which two dishes are compared; empty where blank.
    """

    row: Dish
    contents: Mapping[str, Content]

    @classmethod
    def of(cls, row: Dish) -> Self:
        """Return the entry of a row of dishes.jsonl."""
        contents: dict[str, Content] = {
            name: normalise_text(row[name] or "") for name in TEXT_FIELDS
        }
        contents["category"] = category_key(row["category"] or "")
        contents["dish_image"] = (row["dish_image"],) if row["dish_image"] else ()
        contents["practice_image"] = tuple(row["practice_images"] or ())
        return cls(row, contents)

    @property
    def id(self) -> str:
        """The dish_id."""
        return str(self.row["dish_id"])

    @property
    def language(self) -> str:
        """The language of its texts."""
        return str(self.row["language"])

    def shown(self, field: str) -> Any:
        """Return a field as a question shows it: a list of picture paths, or the text."""
        return list(self.contents[field]) if field in IMAGE_FIELDS else self.row[field]

    def differs(self, other: Entry, field: str) -> bool:
        """Return whether two dishes have different contents in a field."""
        return self.contents[field] != other.contents[field]


def true_contents(
    dishes: Iterable[Entry], shown: str, asked: str
) -> dict[Content, frozenset[Content]]:
    """Return, for each content of one field, the contents of another that are true of it.

    Two dishes may share a picture, a name or a text: a question that shows it is then about both,
    and what is true of either is not wrong. Blank contents are in neither.
    """
    found: dict[Content, set[Content]] = {}
    for dish in dishes:
        if dish.contents[shown] and dish.contents[asked]:
            found.setdefault(dish.contents[shown], set()).add(dish.contents[asked])
    return {content: frozenset(values) for content, values in found.items()}


def entries(dishes: Sequence[Dish]) -> list[Entry]:
    """Return the dishes as entries, in order.

    Raises:
        ValueError: a dish id comes twice, or a language is none of the ten.
    """
    seen: set[str] = set()
    for dish in dishes:
        language_prompts(dish["language"])
        if dish["dish_id"] in seen:
            raise ValueError(f"dish_id {dish['dish_id']!r} comes twice")
        seen.add(dish["dish_id"])
    return [Entry.of(dish) for dish in dishes]
