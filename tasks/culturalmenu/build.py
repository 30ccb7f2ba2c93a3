"""CulturalMenuBench questions built from dish metadata by the paper's rules (Section 2.2).

A dish is a row of dishes.jsonl: dish_id, dish_name, category, region, language, raw_material,
practice_text, dish_image, practice_images. Every choice hangs on a hash of the seed, the relation
and the dishes concerned, so a dish added to a table leaves nearly all other questions as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from lmms_eval_food.tasks.culturalmenu.binary import binary_items
from lmms_eval_food.tasks.culturalmenu.dishes import (
    IMAGE_FIELDS,
    Content,
    Dish,
    Entry,
    Item,
    entries,
    rank,
    true_contents,
)
from lmms_eval_food.tasks.culturalmenu.prompts import (
    BINARY_RELATIONS,
    MC_RELATIONS,
    REGION_LANGUAGE,
    canonical_cuisine,
    families,
    family_of,
    mc_prompt,
)

LETTERS = "ABCD"

T = TypeVar("T")


def build_binary(dishes: Sequence[Dish], seed: int = 0) -> list[Item]:
    """Return the rows of binary.jsonl: one question a dish and relation (Table 13).

    Every relation has as many yes as no, and each language within it as nearly so as its dishes
    allow. A dish has no row in a relation where a field is blank, or where it would upset that
    balance: the last one of an odd number, or one of too many that allow a single answer. A false
    value comes from a dish of the same language (a category: of any), of the same category where
    possible. It is true of no dish that has what is shown, also when letter case, width and spaces
    are ignored (`normalise_text`).
    `dish_ids` are the dishes whose pictures are shown. No dishes, or one: no rows.

    Raises:
        ValueError: a dish id comes twice, or a language is none of the ten.
    """
    table = entries(dishes)
    return [item for relation in BINARY_RELATIONS for item in binary_items(relation, table, seed)]


def build_mc(dishes: Sequence[Dish], seed: int = 0) -> list[Item]:
    """Return the rows of mc.jsonl: one question a dish and directed relation (Table 14).

    Of the four options one is the dish's own; the others come from dishes of the same category
    where possible, then of the same language, are true of no dish that has what is given, and
    differ from each other (`normalise_text`). Each letter is right equally often in a relation, up
    to one. A dish without three such others has no row.
    Fewer than four dishes: no rows.

    Raises:
        ValueError: a dish id comes twice, or a language is none of the ten.
    """
    table = entries(dishes)
    return [item for relation in MC_RELATIONS for item in _mc_items(relation, table, seed)]


def build_region(dishes: Sequence[Dish], seed: int = 0) -> list[Item]:
    """Return the rows of region.jsonl: dish image and practice images of each regional dish.

    The right cuisine stands with one of its own family, where the family has another, and others
    from outside it (Appendix K). Each letter is right equally often for each evidence, up to one.
    Dishes whose region is not one of the 16 cuisines have no row.

    Raises:
        ValueError: a dish id comes twice, or a language is none of the ten.
    """
    table = entries(dishes)
    return [item for evidence in IMAGE_FIELDS for item in _region_items(evidence, table, seed)]


def balance_report(items: Iterable[Item]) -> dict[str, dict[str, dict[str, int]]]:
    """Return how often each answer comes: relation -> language -> answer -> count.

    "all" stands for any relation and any language. Region rows count under their evidence and
    under "zh". No items: an empty report.
    """
    report: dict[str, dict[str, dict[str, int]]] = {}
    for item in items:
        for relation in ("all", item.get("relation") or item["evidence"]):
            for language in ("all", item.get("language", REGION_LANGUAGE)):
                counts = report.setdefault(relation, {}).setdefault(language, {})
                counts[item["answer"]] = counts.get(item["answer"], 0) + 1
    return report


def _mc_items(relation: str, dishes: Sequence[Entry], seed: int) -> list[Item]:
    given, asked = relation.split("->")
    usable = [dish for dish in dishes if dish.contents[given] and dish.contents[asked]]
    true = true_contents(usable, given, asked)
    wrong = {}
    for dish in usable:
        # A value of a dish that shares what is given (two dishes of one name, say) is right too.
        others = [o for o in usable if o.contents[asked] not in true[dish.contents[given]]]
        found = _distractors(dish, others, relation, seed)
        if len(found) == 3:
            wrong[dish.id] = found
    letters = _letters(wrong, seed, relation, MC_RELATIONS.index(relation))
    pictured = given in IMAGE_FIELDS
    return [
        {
            "id": f"{relation}/{dish.id}",
            "relation": relation,
            "language": dish.language,
            "dish_id": dish.id,
            "images": dish.shown(given) if pictured else [],
            "prompt": mc_prompt(relation, dish.language, "" if pictured else dish.shown(given)),
            "options": [
                option.shown(asked) for option in _arranged(dish, wrong[dish.id], letters[dish.id])
            ],
            "answer": letters[dish.id],
        }
        for dish in usable
        if dish.id in wrong
    ]


def _distractors(dish: Entry, others: Sequence[Entry], relation: str, seed: int) -> list[Entry]:
    """Return up to three of the dishes with wrong values, in an order of no meaning."""
    asked = relation.split("->")[1]

    def order(other: Entry) -> bytes:
        return rank(seed, relation, dish.id, other.id)

    near = [other for other in others if not dish.differs(other, "category")]
    same_language = [other for other in others if other.language == dish.language]
    chosen: dict[Content, Entry] = {}
    for pool in (near, same_language, others):
        for other in sorted(pool, key=order) if len(chosen) < 3 else ():
            if len(chosen) < 3:
                chosen.setdefault(other.contents[asked], other)
    return sorted(chosen.values(), key=order)


def _region_items(evidence: str, dishes: Sequence[Entry], seed: int) -> list[Item]:
    cuisines = {
        dish.id: cuisine
        for dish in dishes
        if dish.contents[evidence] and (cuisine := canonical_cuisine(dish.row["region"]))
    }
    letters = _letters(cuisines, seed, f"region/{evidence}", IMAGE_FIELDS.index(evidence))
    return [
        {
            "id": f"region/{evidence}/{dish.id}",
            "dish_id": dish.id,
            "dish_name": dish.row["dish_name"],
            "evidence": evidence,
            "images": dish.shown(evidence),
            "options": _arranged(
                cuisines[dish.id],
                _other_cuisines(cuisines[dish.id], seed, dish.id),
                letters[dish.id],
            ),
            "answer": letters[dish.id],
        }
        for dish in dishes
        if dish.id in cuisines
    ]


def _other_cuisines(cuisine: str, seed: int, dish_id: str) -> list[str]:
    """Return three wrong cuisines, one of the same family if there is one, the rest from others.

    They are the same for both kinds of evidence, so that the two differ in the pictures alone.
    """

    def order(name: str) -> bytes:
        return rank(seed, "region", dish_id, name)

    home = family_of(cuisine)
    by_family = families().items()
    kin = [name for family, names in by_family if family == home for name in names]
    strangers = [name for family, names in by_family if family != home for name in names]
    chosen = sorted((name for name in kin if name != cuisine), key=order)[:1]
    return sorted(chosen + sorted(strangers, key=order)[: 3 - len(chosen)], key=order)


def _letters(dish_ids: Iterable[str], seed: int, relation: str, turn: int) -> dict[str, str]:
    """Return a letter for each dish: quarters of the dishes in the order of their hashes.

    `turn` moves on the letters that get one dish more when four does not divide their number.
    """
    ranked = sorted(dish_ids, key=lambda dish_id: rank(seed, relation, "letter", dish_id))
    return {
        dish_id: LETTERS[(4 * place // len(ranked) + turn) % 4]
        for place, dish_id in enumerate(ranked)
    }


def _arranged(right: T, wrong: Sequence[T], letter: str) -> list[T]:
    place = LETTERS.index(letter)
    return [*wrong[:place], right, *wrong[place:]]
