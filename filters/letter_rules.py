"""The rules by which a reply claims an option letter.

Every rule is a pattern with bounded parts: a search takes linear time for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from lmms_eval_food.filters.cues import (
    ANNOUNCED,
    DECORATION,
    first_line,
    last_line,
    without_emphasis,
)
from lmms_eval_food.filters.numbers import compose, fold_width
from lmms_eval_food.filters.reasoning import boxes

# One Latin letter that is no part of a Latin word, a number or an elision (d'accord).
_BEFORE = r"(?<![A-Za-zÀ-ɏ0-9'’])"
_AFTER = r"(?![A-Za-zÀ-ɏ0-9])(?!['’][A-Za-z])"
_LETTER = rf"{_BEFORE}(?P<letter>[A-Za-z]){_AFTER}"
_AHEAD = r"[A-Z](?![A-Za-zÀ-ɏ0-9])"
_OPTION_WORDS = (
    r"option|choice|letter|选项|選項|选|選|opción|opzione|réponse|विकल्प|ข้อ|選択肢|선택지|phương án"
)

_ANNOUNCEMENT = re.compile(rf"(?i:{ANNOUNCED}){_LETTER}")
_LEADING = re.compile(rf"{DECORATION}{{0,12}}(?i:(?:{_OPTION_WORDS})\s?:?\s?)?[(\[]?{_LETTER}")
_CLAIMS = tuple(
    re.compile(pattern)
    for pattern in (
        # en: I would pick B; it must be B; B is correct
        rf"(?i:\b(?:I|we)(?:['’]d|['’]ll| would| will| should| must)?"
        rf"\s(?:pick|choose|select|go with|say)){DECORATION}{{1,8}}"
        rf"(?i:(?:option|choice|letter)\s)?[(\[]?{_LETTER}",
        rf"(?i:\b(?:it|this|that|dish|cuisine)(?:['’]s| is| must be)"
        rf" (?:most likely |likely |probably )?(?:option )?)[(\[]?{_LETTER}",
        rf"{_LETTER}[)\]\"”]?\s(?:is|seems) (?:the )?(?:correct|right|best)\b",
        # zh, ja
        rf"(?<![不别勿没])[选選](?:择|擇)?{DECORATION}{{0,8}}{_LETTER}",
        rf"(?<![不如若而还就])(?:应该|應該|就)?是{DECORATION}{{0,8}}{_LETTER}",
        rf"{_LETTER}[)\]]?(?:是|为)?(?:正确|正確|对的|對的)",
        rf"{_LETTER}[)\]]?(?:を選|が正解|が正しい)",
        # es, fr, it, hi, th, ko, vi
        rf"(?i:\b(?:elijo|escojo|je choisis|scelgo|chọn|เลือก))(?:ข้อ)?(?: la)?"
        rf"{DECORATION}{{0,8}}{_LETTER}",
        rf"{_LETTER}[)\]]?\s?(?:सही है|이 정답|가 정답|을 선택|를 선택|là đúng|ถูกต้อง)",
    )
)

# Words that can follow the letter A but never the article: prepositions, conjunctions, verbs.
_NO_NOUN = (
    r"because|since|as|so|given|due|based|for|which|that|though|but|while|not|in|on|from|here"
    r"|is|was|are|has|seems|and|or|with|by|at|porque|parce|perché|car|puisque"
)
_WORD_AFTER = re.compile(rf"[ \t]+(?:(?P<known>(?:{_NO_NOUN})\b)|(?=[A-Za-zÀ-ɏ]))")
_LOWER_END = re.compile(r"[ \t]{0,3}[)\]}\"'”’」』】.,:;!?。、\-–—]{0,4}(?:\s|$)")
_END = re.compile(r"[\s)\]}>\"'”’」』】$.,:;!?。、\-–—/|]|$|[^\x00-ɏ]")
# A line such as "E numbers are …" does not begin with an option.
_SENTENCE = re.compile(r"[ \t]+(?!(?:or|and|because|since|as|given|due)\b)[a-zà-ɏ]")
_SEVERAL = re.compile(
    r"[)\]}\"'$.]{0,3},?\s{0,3}(?:"
    r"(?:\b(?:or|and|o|ou|y|e|et|hoặc|và)\b|[/&+]|[或和及与]|या|और|หรือ|และ|または|か|과|와|또는)"
    rf"\s{{0,3}}(?:(?:maybe|perhaps|possibly|even)\s)?[(\[\"'$]{{0,3}}{_AHEAD}"
    rf"|[,、]\s{{0,3}}[(\[\"'$]{{0,3}}{_AHEAD}\s{{0,3}}(?:$|[.,;)\]。、\n]|or\b|and\b|[或和]))"
)
_RETRACTION = re.compile(
    r"\b(?:wait|actually|correction|sorry|oops)\b|不对|更正|等等", re.IGNORECASE
)
_CAPITAL = re.compile(rf"{_BEFORE}(?P<letter>[A-HJ-Z]){_AFTER}")
_OPTION_MARK = re.compile(r"(?:^|(?<=[\s;,，；]))[(\[]?(?P<letter>[A-Z])[.):、]", re.MULTILINE)
_LATEX = re.compile(r"\\(?:text|textbf|mathbf|mathrm|boxed|bf|rm)\b|[{}$]")


def claimed_letter(text: str, last: bool = False) -> tuple[str | None, str]:
    r"""Return the upper-case letter a reply claims and the rule that found it.

    Rules, in order; the first one that applies decides, also when it finds a contradiction:

    1. "box": the last ``\boxed{…}`` that holds a letter.
    2. "announced": the last "the answer is X" (ten languages). Not where it names several, where
       the text takes it back and names another letter, or where the last line is another letter.
    3. "line" and "claim": the reply begins or ends with a line that is a letter or a letter and
       its option's text; "I would pick X", "选X", "X is correct". All must name one letter.

    With `last`, a last line that is nothing but a letter goes before rule 2. The article "a" and
    the pronoun "I" are no letters. (None, "") where no rule applies or none decides.
    """
    folded = without_emphasis(compose(fold_width(text)))
    boxed = [letter for content in boxes(folded) if (letter := _boxed_letter(content))]
    if boxed:
        return _single(boxed[-1:], "box")
    final = _bare_letter(last_line(folded))
    if last and final:
        return _single([final], "line")
    announced = list(_letters(_ANNOUNCEMENT, folded))
    if announced:
        letter, end = announced[-1]
        closing = [final] if final else []
        stands = _stands(folded, letter, end)
        return _single([letter, *closing] if stands else [], "announced")
    lines = [final, _edge_letter(folded, last)]
    claims = [
        letter if not _SEVERAL.match(folded, end) else "?"
        for pattern in _CLAIMS
        for letter, end in _letters(pattern, folded)
    ]
    found = [letter for letter in (*lines, *claims) if letter]
    return _single(found, "claim" if claims else "line")


def _single(letters: list[str], step: str) -> tuple[str | None, str]:
    """Return the one letter named, or nothing when none or several are; "?" is several."""
    distinct = set(letters)
    if len(distinct) != 1 or "?" in distinct:
        return None, ""
    return distinct.pop(), step


def _letters(pattern: re.Pattern[str], text: str) -> Iterable[tuple[str, int]]:
    """Yield the letters a pattern finds, upper-case, with the end of each."""
    for match in pattern.finditer(text):
        end = match.end("letter")
        if _is_letter(text, match["letter"], end):
            yield match["letter"].upper(), end


def _is_letter(text: str, letter: str, end: int) -> bool:
    """Tell a letter from an article, a pronoun or a one-letter word, by what follows it."""
    follower = _WORD_AFTER.match(text, end)
    if follower:
        return follower["known"] is not None or (letter.isupper() and letter not in "AI")
    return bool((_END if letter.isupper() else _LOWER_END).match(text, end))


def _stands(text: str, letter: str, end: int) -> bool:
    """Tell whether an announced letter stands alone and is not taken back later."""
    if _SEVERAL.match(text, end):
        return False
    taken_back = _RETRACTION.search(text, end)
    if taken_back is None:
        return True
    return all(later == letter for later, _ in _letters(_CAPITAL, text[taken_back.end() :]))


def _boxed_letter(content: str) -> str | None:
    """Return the letter a box holds: alone or before its option's text; "?" for several."""
    return _line_letter(_LATEX.sub("", content).strip())


def _line_letter(line: str) -> str | None:
    """Return the letter a line begins with as an option; "?" for several."""
    match = _LEADING.match(line)
    if match is None or not _is_letter(line, match["letter"], match.end("letter")):
        return None
    if _SENTENCE.match(line, match.end("letter")):
        return None
    return "?" if _SEVERAL.match(line, match.end("letter")) else match["letter"].upper()


def _bare_letter(line: str) -> str | None:
    """Return the letter a line consists of, with decoration or an option word; else None."""
    match = _LEADING.match(line)
    if match is None or line[match.end("letter") :].strip(" \t)]}>\"'”’」』】$.,:;!。、|\\"):
        return None
    return match["letter"].upper()


def _edge_letter(text: str, last: bool) -> str | None:
    """Return the letter that the first or last line begins with; "?" when they differ.

    With `last`, the last line goes before the first. None where the reply lists the options.
    """
    if _echoes_options(text):
        return None
    first, final = _line_letter(first_line(text)), _line_letter(last_line(text))
    if first and final and first != final:
        return final if last else "?"
    return final or first


def _echoes_options(text: str) -> bool:
    """Tell whether the reply lists several options, so that its lines claim none."""
    return len({match["letter"] for match in _OPTION_MARK.finditer(text)}) > 1
