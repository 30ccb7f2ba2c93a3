"""One line of a food list: which words are the name, which the portion."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace

from lmms_eval_food.filters.cues import without_emphasis
from lmms_eval_food.filters.food_items import Item
from lmms_eval_food.filters.grams import Grams, robust_grams
from lmms_eval_food.filters.numbers import fold_width
from lmms_eval_food.filters.quantities import quantity_span

# What stands further on in a line is no name and no portion; it also bounds every pattern here.
_LONGEST_LINE = 1_000
# A name has at most this many words; anything longer is a sentence.
_LONGEST_NAME = 12
_SENTENCE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|could|would|might|appears?|seems?|contains?|shows?"
    r"|includes?|consists?|reveals?|presents?|i|we|you|there|there's|please|note)\b"
)
_SEPARATOR = re.compile(r":(?!\d)\s*|\s+(?:[-–—=]+>?|\|)\s+|\t+")
_STAR_TIMES = re.compile(r"(?<=\d)\s?\*\s?(?=\d)")
_ARTICLE = re.compile(r"(?:an?|the)\b\s*", re.IGNORECASE)
_CONFIDENCE = re.compile(r"\(?\s*confidence\b.*", re.IGNORECASE)
_EMPTY_BRACKETS = re.compile(
    r"[(\[]\s*(?:approx(?:imately|\.)?|about|around|estimated|est\.?|~|≈)?\s*[)\]]"
)
_ABOUT = re.compile(
    r"(?:[\s,;:、(~≈\-–—]|\b(?:approx(?:imately)?\.?|about|around|roughly|of)|约|大约|約)+$", re.I
)
_OF = re.compile(r"[\s,;:)\-–—]*(?:of\b\s*)?", re.IGNORECASE)
_NAME_LABEL = re.compile(r"(?:food |dish )?(?:name|item|food|dish)(?: name| item)?(?: \d{1,2})?")
# A course before the name of what it was: "Main dish: lasagne".
_COURSE_LABEL = re.compile(
    r"(?:main|side|first|second)(?: dish| course)?|starter|appeti[sz]er|dessert|drink|beverage"
)
_PORTION = (
    r"(?:(?:estimated|approximate|approx\.?)[ _])?"
    r"(?:portion|weight|grams|serving|amount|quantity)"
    r"(?:[ _](?:size|weight|estimate|estimation))?s?(?: \(.{0,20}\))?"
)
_PORTION_LABEL = re.compile(_PORTION)
# The same within a line: "Rice (portion: 150 g)", "Rice, portion_estimate: 150 g".
_INLINE_PORTION = re.compile(rf"[,;(\[]\s{{0,3}}{_PORTION}\s{{0,3}}[:=]\s{{0,3}}", re.IGNORECASE)
_OTHER_LABEL = re.compile(
    r"(?:the )?(?:overall |estimated |approximate |grand )?(?:(?:confidence|certainty|rationale"
    r"|explanation|reason|reasoning|notes?|description|details?|summary|(?:sub)?total|assumptions?"
    r"|disclaimer|conclusion|constraints?)\b.*|image|sum|sum total|tray|totale|gesamt|insgesamt"
    r"|(?:plate|tray|meal)(?: total)? weight|合计|总计|总和|共计|小计|总重量?|合計|総計)"
)
_NUTRIENT_LABEL = re.compile(
    r"(?:(?:total|dietary|saturated|trans|net|added) )?(?:calories|kcal|energy|proteins?|fats?"
    r"|carbs|carbohydrates?|fib(?:er|re)|sodium|cholesterol|potassium|calcium|iron|vitamin \w{1,3}"
    r"|sugars)"
)
# These are nutrients beside others, and foods else.
_MAYBE_NUTRIENT = re.compile(r"(?:(?:total|added) )?(?:sugar|salt)")
# What stands for a food that was not named.
_SEEN = (
    r"visible|identifiable|recogni[sz]able|clear|sure|applicable|available|detected|erkennbar"
    r"|sichtbar|identifizierbar|identificabile|riconoscibile|visibile|reconnaissable|identificable"
    r"|reconocible"
)
_FOODS = r"foods?|items?|food items?|speisen?|lebensmittel|cibo"
_NO_NAME = re.compile(
    r"none|nothing|n/?a|unknown|unidentified|uncertain|unclear|unrecogni[sz]able|unbekannt"
    rf"|sconosciuto|inconnu|desconocido|(?:not|nicht|non|no|pas) (?:{_SEEN})"
    rf"|(?:no|keine?|nessun) (?:other |weiteren? )?(?:{_FOODS})(?: (?:{_SEEN}|found|identified))?"
    r"|未知|不确定|无法识别|无法辨认|看不清|无|不明"
)
# A number or measure in a bracket belongs to the portion: "Water (1 glass, 250 ml)".
_COUNTED = re.compile(r"\d|\b(?:an?|one|two|three|half|each)\b", re.IGNORECASE)
# A name begins with a letter and not with a count.
_COURSE_TAIL = re.compile(
    r"(?!(?:one|two|three|four|five|six|half|about|approx\w{0,8}|uncertain)\b)[^\W\d_]",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class Portion:
    """A food and its portion as a list gives them.

    Attributes:
        name: The food's name, not empty.
        text: The portion as written; "" where none is.
        read: Its weight; None where the text gives none.
    """

    name: str
    text: str
    read: Grams | None

    @property
    def has_grams(self) -> bool:
        """Whether the portion text gives a weight."""
        return self.read is not None

    def item(self) -> Item:
        """Return the food as an answer's item."""
        grams, marks = (self.read.grams, self.read.marks) if self.read else (None, ())
        return Item(self.name, grams, self.text, marks)


@dataclass(frozen=True, slots=True)
class Line:
    """What one line says.

    Attributes:
        name: Its food name; "" for a label.
        portion: Its portion text; "" where none is.
        is_label: It is a labelled detail ("Portion size: 50 g", "Confidence: 80%").
        gives_portion: It is a portion label.
        is_nutrient: It is a nutrient's amount ("Fiber: 3 g").
        is_prose: It is a sentence, no name.
        is_named: A label says that it is a name ("Item: rice", "Side: rice").
    """

    name: str
    portion: str
    is_label: bool = False
    gives_portion: bool = False
    is_nutrient: bool = False
    is_prose: bool = False
    is_named: bool = False


@functools.lru_cache(maxsize=4096)  # replies that loop repeat their lines
def split_line(text: str) -> Line:
    """Return the parts of one list line, without its bullet or number."""
    line = fold_width(_plain(text)).strip()
    line, portion = _split_inline(line)
    head, tail = _parts(line)
    label = _label(head)
    named = bool(tail and _NAME_LABEL.fullmatch(label)) or _is_course(label, tail)
    if named:
        head, tail = _parts(tail)
        label = _label(head)
    if _PORTION_LABEL.fullmatch(label):
        return Line("", tail, is_label=True, gives_portion=True)
    if _NUTRIENT_LABEL.fullmatch(label):
        return Line("", "", is_label=True, is_nutrient=True)
    if is_no_food(label, portion or tail):
        return Line("", "", is_label=True)
    return replace(_named(head, portion or tail), is_named=named)


def is_no_food(name: str, portion: str) -> bool:
    """Tell whether what stands where a name should is a sum, a note or a nutrient.

    A placeholder ("unknown") is none either, unless it has a weight: that is a food claimed.
    """
    label = _label(_plain(name))
    if _OTHER_LABEL.fullmatch(label) or _NUTRIENT_LABEL.fullmatch(label):
        return True
    return bool(_NO_NAME.fullmatch(label)) and not _weighs(portion)


def _weighs(portion: str) -> bool:
    read = robust_grams(portion)
    return read is not None and read.grams > 0


def may_be_nutrient(name: str) -> bool:
    """Tell whether a name is a nutrient where others stand beside it ("Sugar")."""
    return bool(_MAYBE_NUTRIENT.fullmatch(name.lower()))


def without_confidence(line: str) -> str:
    """Return a line without emphasis and without what it says about confidence at its end."""
    return _CONFIDENCE.sub("", _plain(line)).strip()


def portion_of(name: str, portion: str) -> Portion | None:
    """Return the food with its portion text; None where the name holds no word."""
    cleaned = _clean(_plain(name))
    if not _WORD.search(cleaned):
        return None
    text = _balanced(without_confidence(portion).strip(" ,;\"'"))
    return Portion(cleaned, text, robust_grams(text, cleaned))


def _plain(text: str) -> str:
    """Return the beginning of a text without emphasis; "2*60" is a product."""
    return without_emphasis(_STAR_TIMES.sub(" x ", text[:_LONGEST_LINE]))


def _parts(line: str) -> tuple[str, str]:
    """Return what stands before and after the first colon or dash."""
    separator = _SEPARATOR.search(line)
    return (line[: separator.start()], line[separator.end() :]) if separator else (line, "")


def _split_inline(line: str) -> tuple[str, str]:
    """Return a line up to the portion it labels further on, and that portion."""
    label = _INLINE_PORTION.search(line)
    return (line[: label.start()].rstrip(), line[label.end() :]) if label else (line, "")


def _is_course(label: str, tail: str) -> bool:
    """Tell whether a course stands before the name of a food, and not before its portion."""
    return bool(_COURSE_LABEL.fullmatch(label) and _COURSE_TAIL.match(tail))


def _balanced(text: str) -> str:
    """Return a text without a bracket at its ends that has no partner."""
    if text.startswith("(") and ")" not in text:
        text = text[1:]
    return text[:-1].rstrip() if text.endswith(")") and text.count("(") < text.count(")") else text


def _label(head: str) -> str:
    return head.strip(" :.()[]\"'").lower().replace("_", " ")


def _named(head: str, tail: str) -> Line:
    """Return a line that names a food, with the weight that stands in it or after it."""
    head = _CONFIDENCE.sub("", head)
    span = quantity_span(head)
    name, portion = head, tail
    if span:
        before, opened = _before_bracket(head[: span[0]])
        before = _ABOUT.sub("", before)
        if before.count("(") > before.count(")"):
            before += ")"
        if _WORD.search(before):
            name, portion = before, opened + head[span[0] :]
        else:
            name, portion = _OF.sub("", head[span[1] :], count=1), head[span[0] : span[1]]
    elif not quantity_span(tail) and len(tail.split()) > 5:
        portion = ""  # a description
    prose = len(_clean(name).split()) > _LONGEST_NAME or bool(_SENTENCE.search(name.lower()))
    return Line(name, portion, is_prose=prose)


def _before_bracket(text: str) -> tuple[str, str]:
    """Return what stands before a bracket that is still open at the end, and what it holds."""
    at = text.rfind("(")
    if at < 0 or ")" in text[at:] or not _COUNTED.search(text, at):
        return text, ""
    return text[:at], text[at + 1 :].lstrip()


def _clean(name: str) -> str:
    """Return a name without article, quotes, empty brackets and closing punctuation."""
    bare = _EMPTY_BRACKETS.sub("", name).strip(" \t\"'“”.,;:-–—=")
    return _ARTICLE.sub("", bare, count=1) if _ARTICLE.match(bare) else bare
