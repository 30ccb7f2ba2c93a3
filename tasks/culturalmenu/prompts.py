"""The question texts of CulturalMenuBench and its cuisine families, read once from YAML."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

# Sub-region questions have one wording (Appendix K).
REGION_LANGUAGE = "zh"
LANGUAGES = ("zh", "en", "es", "fr", "hi", "it", "th", "ja", "ko", "vi")

# Table 13, named by the two fields compared.
BINARY_RELATIONS = (
    "dish_image-dish_name",
    "dish_image-category",
    "dish_image-raw_material",
    "dish_image-practice_text",
    "practice_image-dish_name",
    "practice_image-category",
    "practice_image-raw_material",
    "practice_image-practice_text",
    "dish_image-dish_image",
    "practice_image-practice_image",
)

# Table 14, "given->asked".
MC_RELATIONS = (
    "dish_image->dish_name",
    "dish_image->practice_image",
    "dish_image->practice_text",
    "dish_image->raw_material",
    "dish_name->dish_image",
    "dish_name->practice_image",
    "practice_image->dish_image",
    "practice_image->dish_name",
    "practice_image->practice_text",
    "practice_image->raw_material",
    "practice_text->dish_image",
    "practice_text->practice_image",
    "raw_material->dish_image",
    "raw_material->practice_image",
)


@dataclass(frozen=True, slots=True)
class LanguagePrompts:
    """The texts of one language; the fields are those of prompts.yaml."""

    yes_word: str
    no_word: str
    answer_only: str
    letter_only: str
    numbering: str
    picture: str
    pictures: str
    categories: Mapping[str, str]
    binary: Mapping[str, str]
    given: Mapping[str, str]
    ask: Mapping[str, str]


# Characters that are not seen: the soft hyphen, zero-width spaces and joiners, marks of direction,
# fillers and selectors (Default_Ignorable_Code_Point in the Unicode Character Database).
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)


def normalise_text(text: str) -> str:
    """Return the form in which two texts are compared; two that look alike have the same.

    Width and composition are folded (NFKC), and letter case; characters that are not seen are
    dropped, and runs of spaces are one space. A text with nothing to see is "".

    >>> normalise_text("ＡＢ汤") == normalise_text(" ab汤\u200b")
    True
    """
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    return " ".join(unicodedata.normalize("NFKC", seen.casefold()).split())


def language_prompts(language: str) -> LanguagePrompts:
    """Return the texts of one of `LANGUAGES`.

    Raises:
        ValueError: the language is none of the ten.
    """
    try:
        return _by_language()[language]
    except KeyError:
        known = ", ".join(LANGUAGES)
        raise ValueError(f"language {language!r} is none of the ten: {known}") from None


def answer_word(language: str, answer: str) -> str:
    """Return the word of a language for an answer, "yes" or "no"."""
    texts = language_prompts(language)
    return {"yes": texts.yes_word, "no": texts.no_word}[answer]


def binary_prompt(relation: str, language: str, value: str = "") -> str:
    """Return the question of a binary relation (Table 13) and the line that asks for yes or no.

    Args:
        relation: One of `BINARY_RELATIONS`.
        language: One of `LANGUAGES`.
        value: The text asked about; a category is its name in `language`. Not used by the two
            relations between pictures.
    """
    texts = language_prompts(language)
    return f"{texts.binary[relation].format(value=value)}\n{texts.answer_only}"


def mc_prompt(relation: str, language: str, value: str = "") -> str:
    """Return a multiple-choice question (Table 14): two sentences, then the letter-only line.

    The options are not in it; they belong between the question and the last line.

    Args:
        relation: One of `MC_RELATIONS`.
        language: One of `LANGUAGES`.
        value: The text given; not used where a picture is given.
    """
    given, asked = relation.split("->")
    texts = language_prompts(language)
    question = f"{texts.given[given].format(value=value)}\n{texts.ask[asked]}"
    return f"{question}\n{texts.letter_only}"


def picture_names(language: str, counts: Sequence[int]) -> list[str]:
    """Return what groups of pictures are called when all are numbered in the order sent.

    >>> picture_names("en", [5, 1])
    ['images 1–5', 'image 6']
    """
    texts = language_prompts(language)
    names, first = [], 1
    for count in counts:
        last = first + count - 1
        if count == 1:
            names.append(texts.picture.format(n=first))
        else:
            names.append(texts.pictures.format(first=first, last=last))
        first = last + 1
    return names


def with_lines(prompt: str, lines: Sequence[str], last_line: str) -> str:
    """Return a prompt with lines before its last one, which says how to answer.

    A prompt that does not end in `last_line` gets it after them.
    """
    question = prompt.removesuffix(last_line).rstrip("\n")
    return "\n".join([question, *lines, last_line])


def region_prompt(variant: str, evidence: str, options: Sequence[str], dish_name: str = "") -> str:
    """Return a sub-region question (Appendix K) with its lettered options, in Chinese.

    Args:
        variant: "standard", "text", "cot" or "named".
        evidence: "dish_image" or "practice_image"; what the pictures are.
        options: Cuisine names for A, B, C, …
        dish_name: Used by "text" and "named".
    """
    texts = _document("prompts.yaml")["region"]
    practice = f"{variant}_practice"
    use_practice = evidence == "practice_image" and practice in texts
    template: str = texts[practice if use_practice else variant]
    lines = "\n".join(f"{chr(ord('A') + i)}. {option}" for i, option in enumerate(options))
    return template.format(options=lines, dish_name=dish_name)


def category_key(label: str) -> str:
    """Return what a category is compared by: a country's key, else the normalised label.

    The key is the same for a country's names in all ten languages, and for the other names that
    prompts.yaml lists (UK, 英格兰, British cuisine).
    """
    folded = normalise_text(label)
    return _category_keys().get(folded, folded)


def is_known_category(label: str) -> bool:
    """Return whether a category is one of the countries that have a name in all ten languages."""
    return category_key(label) in language_prompts("en").categories


def category_label(label: str, language: str) -> str:
    """Return a category's name in `language`; a label that is no known country stays as it is."""
    return language_prompts(language).categories.get(category_key(label), label)


@functools.cache
def families() -> Mapping[str, tuple[str, ...]]:
    """Return the five cultural families, each with its cuisines (16 in all)."""
    return {
        name: tuple(cuisines) for name, cuisines in _document("families.yaml")["families"].items()
    }


def canonical_cuisine(name: str | None) -> str | None:
    """Return the name that `families` uses for a regional cuisine; None if it is not of the 16."""
    return None if name is None else _cuisine_names().get(normalise_text(name))


def family_of(cuisine: str) -> str | None:
    """Return the family of a regional cuisine; None if it is not one of the 16."""
    name = canonical_cuisine(cuisine)
    return next((family for family, members in families().items() if name in members), None)


@functools.cache
def _document(name: str) -> dict[str, Any]:
    text = resources.files("lmms_eval_food.tasks.culturalmenu").joinpath(name).read_text("utf-8")
    document: dict[str, Any] = yaml.safe_load(text)
    return document


@functools.cache
def _by_language() -> Mapping[str, LanguagePrompts]:
    texts = _document("prompts.yaml")["languages"]
    return {language: LanguagePrompts(**texts[language]) for language in LANGUAGES}


@functools.cache
def _category_keys() -> Mapping[str, str]:
    keys = {
        normalise_text(name): key
        for key, names in _document("prompts.yaml")["other_categories"].items()
        for name in names
    }
    return keys | {
        normalise_text(label): key
        for texts in _by_language().values()
        for key, label in texts.categories.items()
    }


@functools.cache
def _cuisine_names() -> Mapping[str, str]:
    names: dict[str, str] = {}
    for cuisines in _document("families.yaml")["families"].values():
        for cuisine, others in cuisines.items():
            names |= {normalise_text(name): cuisine for name in (cuisine, *others)}
    return names
