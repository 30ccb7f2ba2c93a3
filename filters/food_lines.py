"""One line of a food list: which words are the name, which the portion."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from lmms_eval_food.filters.cues import without_emphasis
from lmms_eval_food.filters.grams import quantity_span, robust_grams

# What stands further on in a line is no name and no portion; it also bounds every pattern here.
_LONGEST_LINE = 1_000
# A name has at most this many words; anything longer is a sentence.
_LONGEST_NAME = 12
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|could|would|might|appears?|seems?|contains?|shows?"
    r"|includes?|consists?|reveals?|presents?|i|we|you|there|there's|please|note)\b"
)
_SEPARATOR = re.compile(r":(?!\d)\s*|\s+[-–—=]+>?\s+|\t+")
_ARTICLE = re.compile(r"(?:an?|the)\b\s*", re.IGNORECASE)
_CONFIDENCE = re.compile(r"\(?\s*confidence\b.*", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(
    r"[(\[]\s*(?:approx(?:imately|\.)?|about|around|estimated|est\.?|~|≈)?\s*[)\]]"
)
_ABOUT = re.compile(
    r"(?:[\s,;:(~≈\-–—]|\b(?:approx(?:imately)?\.?|about|around|roughly|of))+$", re.I
)
_OF = re.compile(r"[\s,;:)\-–—]*(?:of\b\s*)?", re.IGNORECASE)
_NAME_LABEL = re.compile(r"(?:food |dish )?(?:name|item|food|dish)(?: name| item)?(?: \d{1,2})?")
_PORTION_LABEL = re.compile(
    r"(?:estimated |approximate |approx\.? )?(?:portion|weight|grams|serving|amount|quantity)"
    r"(?: size| weight| estimate| estimation)?s?(?: \(.{0,20}\))?"
)
_OTHER_LABEL = re.compile(
    r"(?:the )?(?:overall |estimated |approximate )?(?:(?:confidence|certainty|rationale"
    r"|explanation|reason|reasoning|notes?|description|details?|summary|total|assumptions?"
    r"|disclaimer|conclusion|constraints?)\b.*|calories|kcal|protein|fat|carbs|carbohydrates|image)"
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Portion:
    """A food and its portion as a list gives them.

    Attributes:
        name: The food's name, not empty.
        text: The portion as written; "" where none is.
        has_grams: The portion text gives a weight.
    """

    name: str
    text: str
    has_grams: bool


@dataclass(frozen=True, slots=True)
class Line:
    """What one line says.

    Attributes:
        name: Its food name; "" for a label.
        portion: Its portion text; "" where none is.
        is_label: It is a labelled detail ("Portion size: 50 g", "Confidence: 80%").
        gives_portion: It is a portion label.
        is_prose: It is a sentence, no name.
        is_named: A label says that it is a name ("Item: rice").
    """

    name: str
    portion: str
    is_label: bool = False
    gives_portion: bool = False
    is_prose: bool = False
    is_named: bool = False


@functools.lru_cache(maxsize=4096)  # replies that loop repeat their lines
def split_line(text: str) -> Line:
    """Return the parts of one list line, without its bullet or number."""
    head, tail = _parts(without_emphasis(text[:_LONGEST_LINE]).strip())
    label = _label(head)
    named = bool(tail and _NAME_LABEL.fullmatch(label))
    if named:
        head, tail = _parts(tail)
        label = _label(head)
    if _PORTION_LABEL.fullmatch(label):
        return Line("", tail, is_label=True, gives_portion=True)
    if _OTHER_LABEL.fullmatch(label):
        return Line("", "", is_label=True)
    return replace(_named(head, tail), is_named=named)


def without_confidence(line: str) -> str:
    """Return a line without emphasis and without what it says about confidence at its end."""
    return _CONFIDENCE.sub("", without_emphasis(line[:_LONGEST_LINE])).strip()


def portion_of(name: str, portion: str) -> Portion | None:
    """Return the food with its portion text; None where the name holds no word."""
    cleaned = _clean(without_emphasis(name[:_LONGEST_LINE]))
    if not _WORD.search(cleaned):
        return None
    text = without_confidence(portion).strip(" ,;(")
    return Portion(cleaned, text, robust_grams(text) is not None)


def _parts(line: str) -> tuple[str, str]:
    """Return what stands before and after the first colon or dash."""
    separator = _SEPARATOR.search(line)
    return (line[: separator.start()], line[separator.end() :]) if separator else (line, "")


def _label(head: str) -> str:
    return head.strip(" :.()").lower()


def _named(head: str, tail: str) -> Line:
    """Return a line that names a food, with the weight that stands in it or after it."""
    head = _CONFIDENCE.sub("", head)
    span = quantity_span(head)
    name, portion = head, tail
    if span:
        before = _ABOUT.sub("", head[: span[0]])
        if _WORD.search(before):
            name, portion = before, head[span[0] :].strip(") ")
        else:
            name, portion = _OF.sub("", head[span[1] :], count=1), head[span[0] : span[1]]
    elif not quantity_span(tail) and len(tail.split()) > 5:
        portion = ""  # a description
    prose = len(_clean(name).split()) > _LONGEST_NAME or bool(_SENTENCE.search(name.lower()))
    return Line(name, portion, is_prose=prose)


def _clean(name: str) -> str:
    """Return a name without article, quotes, empty brackets and closing punctuation."""
    bare = _EMPTY_BRACKETS.sub("", name).strip(" \t\"'“”.,;:-–—=")
    return _ARTICLE.sub("", bare, count=1) if _ARTICLE.match(bare) else bare
