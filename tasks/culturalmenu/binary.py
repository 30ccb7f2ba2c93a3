"""Yes/no questions of one relation: where a false value comes from, and how many get which."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lmms_eval_food.tasks.culturalmenu.dishes import Content, Entry, Item, rank, true_contents
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    LANGUAGES,
    binary_prompt,
    category_label,
)

# Content shown -> the contents asked about that are true of it (see `true_contents`).
_Truth = Mapping[Content, frozenset[Content]]


def binary_items(relation: str, dishes: Sequence[Entry], seed: int) -> list[Item]:
    """Return the questions of one relation, in the order of the dishes (see `build_binary`)."""
    shown, asked = relation.split("-")
    find = _pair_partners if shown == asked else _value_sources
    usable = [dish for dish in dishes if dish.contents[shown] and dish.contents[asked]]
    # Two pictures are of the same cuisine or not: what a picture answers is its category.
    true = true_contents(usable, shown, "category" if shown == asked else asked)
    sources = {
        dish.id: found
        for dish in usable
        if (found := find(dish, usable, relation, true, (seed, relation, dish.id)))
    }
    by_language: dict[str, list[str]] = {
        language: [] for language in sorted(LANGUAGES, key=lambda name: rank(seed, name))
    }
    for dish in sorted(usable, key=lambda dish: rank(seed, relation, "answer", dish.id)):
        if dish.id in sources:
            by_language[dish.language].append(dish.id)
    answers = balanced_answers(by_language, sources, BINARY_RELATIONS.index(relation))
    return [
        _item(relation, dish, sources[dish.id][answers[dish.id]], answers[dish.id])
        for dish in usable
        if dish.id in answers
    ]


def balanced_answers(
    by_language: Mapping[str, Sequence[str]],
    possible: Mapping[str, Collection[str]],
    turn: int = 0,
) -> dict[str, str]:
    """Return yes or no for each dish, both equally often, out of what is possible for it.

    Within a language the first dishes get yes, so that one dish more changes the answer of one
    other at most. Half of the languages with an odd number are rounded up. What still cannot be
    evened out is left out, from the languages where it weighs most.

    Args:
        by_language: The dishes' ids by language, in an order of no meaning.
        possible: For each id "yes", "no" or both.
        turn: Number of the relation; the languages that are rounded up take turns.
    """
    yes_counts, answers = _yes_counts(by_language, possible, turn), {}
    for language, ids in by_language.items():
        free_yes = yes_counts[language] - sum("no" not in possible[i] for i in ids)
        for dish_id in ids:
            if len(possible[dish_id]) == 1:
                answers[dish_id] = next(iter(possible[dish_id]))
            else:
                answers[dish_id] = "yes" if free_yes > 0 else "no"
                free_yes -= 1
    _drop_surplus(answers, by_language)
    return answers


def _yes_counts(
    by_language: Mapping[str, Sequence[str]],
    possible: Mapping[str, Collection[str]],
    turn: int,
) -> dict[str, int]:
    counts, can_rise = {}, []
    for language, ids in by_language.items():
        least = sum("no" not in possible[i] for i in ids)
        most = sum("yes" in possible[i] for i in ids)
        half = len(ids) // 2
        counts[language] = min(max(half, least), most)
        if len(ids) % 2 and least <= half < most:
            can_rise.append(language)
    more_no = sum(map(len, by_language.values())) - 2 * sum(counts.values())
    needed = min(max(more_no, 0) // 2, len(can_rise))
    for place in range(turn * needed, (turn + 1) * needed):
        counts[can_rise[place % len(can_rise)]] += 1
    return counts


def _drop_surplus(answers: dict[str, str], by_language: Mapping[str, Sequence[str]]) -> None:
    more_yes = sum(1 if answer == "yes" else -1 for answer in answers.values())
    surplus = "yes" if more_yes > 0 else "no"
    droppable = {
        language: [i for i in ids if answers[i] == surplus] for language, ids in by_language.items()
    }
    excess = {
        language: 2 * len(droppable[language]) - len(ids) for language, ids in by_language.items()
    }
    for _ in range(abs(more_yes)):
        language = max(excess, key=lambda name: excess[name])
        excess[language] -= 1
        del answers[droppable[language].pop()]


def _value_sources(
    dish: Entry, dishes: Sequence[Entry], relation: str, true: _Truth, key: tuple[object, ...]
) -> dict[str, Entry]:
    """Return for yes and no the dish whose value is asked about.

    A wrong value is true of no dish that has what is shown. A category has a name in every
    language, so a wrong one may come from any dish, and counts once however many dishes it has.
    Other wrong texts come from dishes of the same language, of the same category where possible.
    """
    shown, asked = relation.split("-")

    def order(other: Entry) -> tuple[Any, ...]:
        same_for = other.contents["category"] if asked == "category" else other.id
        return dish.differs(other, "category"), rank(*key, same_for), other.id

    wrong = [
        other
        for other in dishes
        if other.contents[asked] not in true[dish.contents[shown]]
        and (asked == "category" or other.language == dish.language)
    ]
    return {"yes": dish} | ({"no": min(wrong, key=order)} if wrong else {})


def _pair_partners(
    dish: Entry, dishes: Sequence[Entry], relation: str, true: _Truth, key: tuple[object, ...]
) -> dict[str, Entry]:
    """Return for yes and no the dish whose pictures are shown beside those of `dish`.

    Pictures of two dishes from two countries are neither of the same cuisine nor of another.
    """
    field = relation.split("-")[0]
    own = true.get(dish.contents[field], frozenset())
    found: dict[str, Entry] = {}
    if len(own) == 1 and dish.contents["category"]:
        others = [
            other
            for other in dishes
            if other.contents["category"]
            and dish.differs(other, field)
            and len(true[other.contents[field]]) == 1
        ]
        for other in sorted(others, key=lambda other: rank(*key, other.id)):
            found.setdefault("no" if dish.differs(other, "category") else "yes", other)
    return found


def _item(relation: str, dish: Entry, source: Entry, answer: str) -> Item:
    shown, asked = relation.split("-")
    item: Item = {
        "id": f"{relation}/{dish.id}",
        "relation": relation,
        "language": dish.language,
        "dish_ids": [dish.id],
    }
    value = ""
    if shown == asked:
        item["dish_ids"].append(source.id)
        item["image_groups"] = [dish.shown(shown), source.shown(shown)]
    else:
        item["images"] = dish.shown(shown)
        value = source.shown(asked)
        if asked == "category":
            value = category_label(value, dish.language)
    return item | {"prompt": binary_prompt(relation, dish.language, value), "answer": answer}
