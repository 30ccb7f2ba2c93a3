"""The rules by which a reply claims an option letter, and which of its claims decides.

Every rule is a pattern with bounded parts: a search takes linear time for any text.
"""

from __future__ import annotations

import re

from lmms_eval_food.filters.cues import (
    DECORATION,
    first_line,
    last_line,
    without_emphasis,
    without_invisible,
)
from lmms_eval_food.filters.letter_claims import (
    AFTER,
    BEFORE,
    LETTER,
    OPTION_WORDS,
    Claim,
    claims,
    end_of_several,
    is_denied,
    is_letter,
    letters,
)
from lmms_eval_food.filters.numbers import compose, fold_width
from lmms_eval_food.filters.reasoning import boxes

_LEADING = re.compile(
    rf"{DECORATION}{{0,12}}(?i:(?:la\s|el\s|l['’]|the\s)?(?:{OPTION_WORDS})\s?:?\s?|la\s)?"
    rf"[(\[\"'“‘]{{0,2}}{LETTER}"
)
# A line such as "E numbers are …" does not begin with an option.
_SENTENCE = re.compile(r"[ \t]+(?!(?:or|and|because|since|as|given|due)\b)[a-zà-ɏḁ-ỿ]")
_RETRACTION = re.compile(
    r"\b(?:wait|actually|correction|sorry|oops)\b|[.!?]\s{0,3}no\s?[,.—-]|不对|更正|等等",
    re.IGNORECASE,
)
_CAPITAL = re.compile(rf"{BEFORE}(?P<letter>[A-HJ-Z]){AFTER}")
_OPTION_MARK = re.compile(r"(?:^|(?<=[\s;,，；]))[(\[]?(?P<letter>[A-Z])[.):、]", re.MULTILINE)
_LATEX = re.compile(r"\\(?:text|textbf|mathbf|mathrm|boxed|bf|rm)\b|[{}$]")
# "It is Mapo tofu (B).": the one letter in brackets at the end of the last line.
_BRACKETED = re.compile(r"\((?P<letter>[A-Z])\)[\s.。!\"”]{0,3}\Z")
_NEGATION = re.compile(
    r"\b(?:not|no|non|pas|ne|nor|neither|không)\b|n['’]t|[不没沒非]|ない|ません|아니|아닙|नहीं|ไม่"
    r"|\b(?:or|and)\b|[或和]",
    re.IGNORECASE,
)
_LONGEST_LINE = 400


def claimed_letter(text: str, last: bool = False) -> tuple[str | None, str]:
    r"""Return the upper-case letter a reply claims and the rule that found it.

    Rules, in order; the first one that applies decides, also when it finds a contradiction:

    1. "box": the last ``\boxed{…}`` that holds a letter.
    2. "announced": the last "the answer is X" (ten languages). Not where it names several, where
       the text takes it back and names another letter, or where the last line is another letter.
    3. "line" and "claim": the reply begins or ends with a line that is a letter or a letter and
       its option's text; "I would pick X", "选X", "X is correct". All must name one letter.

    With `last`, the prompt asks for the answer at the end: a last line that is nothing but a
    letter goes before rule 2, and under rules 2 and 3 the last claim decides; a mere statement
    ("it is X") does not outvote an announcement. What a reply denies ("X is wrong",
    "正解はXではない", "I don't think the answer is X") is no claim. The article "a" and the
    pronoun "I" are no letters. (None, "") where no rule applies or none decides.
    """
    folded = without_emphasis(compose(fold_width(without_invisible(text))))
    boxed = [letter for content in boxes(folded) if (letter := _boxed_letter(content))]
    if boxed:
        return _single(boxed[-1:], "box")
    final = _bare_letter(last_line(folded))
    if final and (last or "\n" not in folded.strip()):
        return _single([final], "line")
    found = claims(folded)
    if last:
        return _last_claim(folded, found)
    announced = [claim for claim in found if claim.rule == "announced"]
    if announced:
        claim = announced[-1]
        closing = [final] if final else []
        stands = _stands(folded, claim) and Claim(claim.letter, claim.end, "denial") not in found
        return _single([claim.letter, *closing] if stands else [], "announced")
    affirmed = [claim.letter for claim in found if claim.rule != "denial"]
    lines = [final, _edge_letter(folded), _bracketed_letter(folded)]
    named = [letter for letter in (*lines, *affirmed) if letter]
    return _single(named, "claim" if affirmed else "line")


def _last_claim(text: str, found: list[Claim]) -> tuple[str | None, str]:
    """Return the letter of the last claim that is not denied afterwards, with its rule."""
    edges = [] if _echoes_options(text) else _edge_claims(text)
    announced = any(claim.rule == "announced" for claim in found)
    current: Claim | None = None
    for claim in sorted([*found, *edges], key=lambda claim: (claim.end, claim.rule == "denial")):
        if claim.rule == "denial":
            current = None if current and current.letter == claim.letter else current
        elif claim.rule != "statement" or not announced:
            current = claim
    if current is None:
        bracketed = _bracketed_letter(text)
        return _single([bracketed] if bracketed else [], "line")
    if not _stands(text, current):
        return None, ""
    rules = {"pick": "claim", "statement": "claim"}
    return _single([current.letter], rules.get(current.rule, current.rule))


def _edge_claims(text: str) -> list[Claim]:
    """Return what the first and the last line claim as lines that begin with an option."""
    edges = ((first_line(text), 0), (last_line(text), len(text.rstrip())))
    return [Claim(letter, end, "line") for line, end in edges if (letter := _line_letter(line))]


def _single(letters: list[str], step: str) -> tuple[str | None, str]:
    """Return the one letter named, or nothing when none or several are; "?" is several."""
    distinct = set(letters)
    if len(distinct) != 1 or "?" in distinct:
        return None, ""
    return distinct.pop(), step


def _stands(text: str, claim: Claim) -> bool:
    """Tell whether a claimed letter stands alone and is not taken back later."""
    if claim.letter == "?":
        return False
    taken_back = _RETRACTION.search(text, claim.end)
    if taken_back is None:
        return True
    later = letters(_CAPITAL, text[taken_back.end() :])
    return all(letter == claim.letter for letter, _ in later)


def _boxed_letter(content: str) -> str | None:
    """Return the letter a box holds: alone or before its option's text; "?" for several."""
    return _line_letter(_LATEX.sub("", content).strip())


def _line_letter(line: str) -> str | None:
    """Return the letter a line begins with as an option; "?" for several."""
    match = _LEADING.match(line)
    if match is None or not is_letter(line, match["letter"], match.end("letter")):
        return None
    end = match.end("letter")
    if _SENTENCE.match(line, end) or is_denied(line, end):
        return None
    several = end_of_several(line, end)
    if several is None:
        return match["letter"].upper()
    return None if is_denied(line, several) else "?"


def _bare_letter(line: str) -> str | None:
    """Return the letter a line consists of, with decoration or an option word; else None."""
    match = _LEADING.match(line)
    if match is None or line[match.end("letter") :].strip(" \t)]}>\"'”’」』】$.,:;!。、|\\"):
        return None
    return match["letter"].upper()


def _edge_letter(text: str) -> str | None:
    """Return the letter that the first or last line begins with; "?" when they differ.

    None where the reply lists the options.
    """
    if _echoes_options(text):
        return None
    first, final = _line_letter(first_line(text)), _line_letter(last_line(text))
    if first and final and first != final:
        return "?"
    return final or first


def _bracketed_letter(text: str) -> str | None:
    """Return the one letter in brackets that ends the last line; None where it is denied."""
    line = last_line(text)
    match = _BRACKETED.search(line[-_LONGEST_LINE:])
    if match is None or _NEGATION.search(line) or len(_CAPITAL.findall(line)) > 1:
        return None
    return match["letter"]


def _echoes_options(text: str) -> bool:
    """Tell whether the reply lists several options, so that its lines claim none."""
    return len({match["letter"] for match in _OPTION_MARK.finditer(text)}) > 1
