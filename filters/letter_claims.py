"""The statements by which a reply claims, or denies, an option letter.

Every pattern has bounded parts: a search takes linear time for any text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lmms_eval_food.filters.cues import ANNOUNCED, DECORATION, DENIED, left_open

# One Latin letter that is no part of a Latin word, a number or an elision (d'accord).
BEFORE = r"(?<![A-Za-zÀ-ɏḀ-ỿ0-9])(?<![A-Za-zÀ-ɏḀ-ỿ]['’])"
AFTER = r"(?![A-Za-zÀ-ɏḀ-ỿ0-9])(?!['’][A-Za-z])"
LETTER = rf"{BEFORE}(?P<letter>[A-Za-z]){AFTER}"
OPTION_WORDS = (
    r"option|choice|letter|选项|選項|字母|选|選|opción|letra|lettre|opzione|lettera|réponse|विकल्प"
    r"|ข้อ(?:ที่)?|ตัวเลือก(?:ที่)?|選択肢は?|선택지|보기|phương án|lựa chọn"
)
_OPTION = rf"(?:(?:the\s)?(?:option|choice|letter|answer)\s|{DECORATION}){{0,3}}"
_NEAR = rf"{DECORATION}{{0,8}}"
_STOP = r"(?=[\s)\]\"'”’」』】]{0,3}(?:\Z|[.,;:!?)(\n。、—-]))"
_SURELY = r"(?:(?:most |very )?(?:likely|probably|clearly|definitely|therefore|certainly|thus) )?"
_FINE = r"(?:correct|right|best|closest|answer|match|suitable|appropriate|accurate|fitting|likely)"
_FINE_ZH = r"最?(?:正确|正確|符合|匹配|接近|相符|合适|可能)|[对對](?!应|應)|答案"

_ANNOUNCEMENT = re.compile(rf"(?i:{ANNOUNCED}){LETTER}")
_PICKS = (
    # en: I would pick B; zh, ja: 选B, Bを選; es, fr, it, th, ko, vi
    rf"(?i:\b(?:I|we)(?:['’]d|['’]ll| would| will| should| must)?"
    rf"\s(?:pick|choose|select|go with|say|settle on|opt for)){DECORATION}{{1,8}}"
    rf"(?i:{_OPTION}){LETTER}",
    rf"(?<![不别勿没])[选選](?:择|擇)?{_NEAR}{LETTER}",
    rf"{LETTER}[)\]]?(?:を選|\s?[을를]\s?선택)",
    rf"(?i:\b(?:elijo|escojo|je choisis|scelgo|chọn|เลือก))(?:ข้อ)?(?: la)?{_NEAR}{LETTER}",
    # not A but C; Aではなく、Cです
    rf"(?i:\bnot\s(?:option\s)?[(\"]?[a-z][)\"]?,?\s(?:but|rather)\s(?:rather\s)?){_OPTION}{LETTER}",
    rf"(?i:\b(?:no|non|pas)\s(?:es\s|è\s)?(?:la\s)?[a-z],?\s(?:sino|mais|ma)\s(?:la\s)?){LETTER}",
    rf"(?:(?:で|じゃ)は?なく[て、,]{{0,2}}|아니라|बल्कि)\s?{_NEAR}{LETTER}",
    rf"[A-Z]\s?[-–—,.:]\s?(?i:no|nope|wait)[,.:—-]{{1,2}}\s?(?i:rather\s)?{LETTER}{_STOP}",
)
_STATEMENTS = (
    # en: it must be B; B is correct; option B best matches; the one that fits is B; so B
    rf"(?i:\b(?:it|this|that|dish|cuisine|shown|image|picture)(?:['’]s| is| must be| should be"
    rf"| would be) {_SURELY}(?:the )?(?:option |choice )?){_NEAR}{LETTER}",
    rf"(?i:(?P<sure>\b(?:option|choice)\s[(\"]?)?){LETTER}[)\]\"”]?"
    rf"(?i:\s(?:is|seems|appears to be|would be|must be) {_SURELY}(?:the |an? )?(?:most |very )?"
    rf"{_FINE})\b",
    rf"(?i:(?P<sure>\b(?:option|choice)\s[(\"]?)?){LETTER}[)\]\"”]?"
    rf"(?i:\s(?:best |most closely |perfectly |clearly |closely |exactly )?"
    rf"(?:match|fit|correspond)(?:e?s)?)\b",
    rf"(?i:\b(?:option|choice|one|dish)\s(?:that|which)\s(?:[\w'’]{{1,20}}\s){{1,8}}is\s)"
    rf"{_OPTION}{LETTER}",
    rf"(?i:\b(?:match(?:es)?|correspond(?:s|ing)? to|point(?:s)? to|fit(?:s)?|is|consistent with"
    rf"|closest to)\s(?P<sure>(?:the\s)?(?:option|choice)\s)){_NEAR}{LETTER}",
    rf"(?i:\b(?:so|thus|hence|therefore),?\s(?:(?:it['’]s|it is|option|choice)\s){{0,2}}"
    rf"|\b(?:selected|correct)\s?:){_NEAR}{LETTER}{_STOP}",
    # zh
    rf"(?<![不如若还])(?:应该|應該|就)?是{_NEAR}{LETTER}",
    rf"(?:最?接近|最?相符|对应|對應|最?符合|最?匹配|属于|即|是|为|為)(?:的是|于)?\s?(?:选项|選項)"
    rf"{_NEAR}{LETTER}",
    rf"(?:菜品?|菜肴|图中|菜系)(?:应|應)?[为為]{_NEAR}{LETTER}",
    rf"(?:所以|因此|故|综上|綜上|于是)[,:]?{_NEAR}{LETTER}{_STOP}",
    rf"{LETTER}[)\]]?\s?(?:选项|選項|项|項)?(?:才是?|就?是|为|為)?(?:{_FINE_ZH})",
    rf"{LETTER}(?:选项|選項|项|項)?才?是(?=[\s。,;.!]|\Z)",
    # ja, hi, th, ko, vi, es, fr, it
    rf"{LETTER}[)\]]?(?:が正解|が正しい|が最も)",
    rf"{LETTER}[)\]]?\s?(?:सही है|이 정답|가 정답|là (?:đáp án |lựa chọn |phương án )?đúng|ถูกต้อง)",
    rf"(?i:(?:^|\b)(?:c['’]est|es|è|e['’])\s(?:(?:la|l['’]|il|el)\s?)?(?:opción\s|option\s|opzione\s)?)"
    rf"{LETTER}{_STOP}",
    rf"{LETTER}[)\]]?(?i:\s(?:es|est|è|e['’])\s(?:la\s|l['’]|il\s)?(?:opción\s|réponse\s|risposta\s"
    rf"|option\s|opzione\s)?(?:correct|corrett|bonne|exact|esatt|giust|adecuad|mejor|migliore))",
)
_CLAIMS = tuple(
    (re.compile(pattern), picked)
    for patterns, picked in ((_PICKS, True), (_STATEMENTS, False))
    for pattern in patterns
)
_DENIED_AFTER = re.compile(
    r"[)\]\"”」』】]{0,3}(?:"
    r"(?:选项|選項|项|項)?[都均]?[并並]?"
    r"(?:不(?:是(?!\s?[A-Z])|对|對|正确|正確|符合|行|匹配|可能|成立|合适|合理)"
    r"|[并並]?非|是?[错錯]|有[误誤]|(?:可以|可|被|已)?排除|是不[对正]|是否|是不是|是?[吗嗎])"
    r"|(?i:(?:\s|['’]s)\s?(?:is|was|seems|would be|can be|must be)?\s?"
    r"(?:clearly |definitely |also )?"
    r"(?:wrong|incorrect|false|unlikely|ruled out|excluded|eliminated|impossible)\b"
    r"|\s(?:is(?: not|n['’]t)|cannot be|can['’]t be|is unlikely)\s?"
    r"(?:the\b|correct|right|a\b|it\b|likely|possible|an?\b)"
    r"|\s?[-–—:,.]\s?(?:no|nope|wrong|incorrect)\b(?=\s{0,2}(?:\Z|[,.;:!\n—–])|\s-)"
    r"|\s(?:no|non|n['’])\s?(?:es|è|est)\b"
    r"|\s(?:es|est|è|e['’])\s(?:incorrect|fals|faux|fauss|sbagliat|errat|incorrett|erron|mauvais))"
    r"|\s(?:không|sai\b)|\s?(?:ไม่|ผิด)|\s(?:गलत|ग़लत)"
    r"|[はが]?(?:間違|誤|違|不正解|不適)|[은는이가]?\s?(?:틀|오답))"
)
_DENIAL = re.compile(rf"{BEFORE}(?P<letter>[A-Z]){AFTER}(?:{_DENIED_AFTER.pattern})")

# Words that can follow the letter A but never the article: prepositions, conjunctions, verbs.
_NO_NOUN = (
    r"because|since|as|so|given|due|based|for|which|that|though|but|while|not|in|on|from|here"
    r"|is|was|are|has|seems|and|or|with|by|at|porque|parce|perché|car|puisque"
    r"|es|est|è|là|matches|fits|corresponds|would|must|should|appears|does|cannot|isn"
)
_WORD_AFTER = re.compile(rf"[ \t]+(?:(?P<known>(?:{_NO_NOUN})\b)|(?=[A-Za-zÀ-ɏḀ-ỿ]))")
_LOWER_END = re.compile(r"[ \t]{0,3}[)\]}\"'”’」』】.,:;!?。、\-–—_]{0,4}(?:\s|$)")
_END = re.compile(r"[\s()\]}>\"'”’」』】$.,:;!?。、\-–—/|_]|$|[^\x00-ɏḀ-ỿ]")
_AHEAD = r"[A-Z](?![A-Za-zÀ-ɏḀ-ỿ0-9])"
_SEVERAL = re.compile(
    r"[)\]}\"'$.]{0,3},?\s{0,3}(?:"
    r"(?:\b(?:or|and|o|ou|y|e|et|hoặc|và)\b|[/&+]|[或和及与]|या|और|หรือ|และ|または|か|과|와|또는)"
    rf"\s{{0,3}}(?:(?:maybe|perhaps|possibly|even)\s)?[(\[\"'$]{{0,3}}{_AHEAD}"
    rf"|[,、]\s{{0,3}}[(\[\"'$]{{0,3}}{_AHEAD}(?=\s{{0,3}}(?:$|[.,;)\]。、\n]|or\b|and\b|[或和都均])))"
)
_MOST_LETTERS = 26
# "也可能是": the second of two guesses.
_GUESS = re.compile(
    r"(?:也|或许|或許|或者?|\balso|\bor)\s?(?:有?可能|许|許|也|it)?\s?\Z", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement about a letter.

    Attributes:
        letter: Upper-case; "?" where several are named.
        end: Where the letter ends in the text.
        rule: "announced", "pick", "statement", "line", or "denial": it is not the answer.
    """

    letter: str
    end: int
    rule: str


def claims(text: str) -> list[Claim]:
    """Return all claims and denials of a text, in its order."""
    found = [Claim(letter, end, "denial") for letter, end in letters(_DENIAL, text)]
    for match, letter, end in _matches(_ANNOUNCEMENT, text):
        found.append(_claim(text, match.start(), letter, end, "announced"))
    for pattern, picked in _CLAIMS:
        for match, letter, end in _matches(pattern, text):
            found.append(
                _claim(text, match.start(), letter, end, "pick" if picked else "statement")
            )
    # At one place a denial comes last, so that it takes back what another rule read there.
    return sorted(found, key=lambda claim: (claim.end, claim.rule == "denial"))


def letters(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, int]]:
    """Yield the letters a pattern finds, upper-case, with the end of each."""
    return ((letter, end) for _, letter, end in _matches(pattern, text))


def is_letter(text: str, letter: str, end: int) -> bool:
    """Tell a letter from an article, a pronoun or a one-letter word, by what follows it."""
    follower = _WORD_AFTER.match(text, end)
    if follower:
        return follower["known"] is not None or (letter.isupper() and letter not in "AI")
    return bool((_END if letter.isupper() else _LOWER_END).match(text, end))


def is_denied(text: str, end: int) -> bool:
    """Tell whether what follows a letter says that it is not the answer."""
    return bool(DENIED.match(text, end) or _DENIED_AFTER.match(text, end))


def end_of_several(text: str, end: int) -> int | None:
    """Return where the last letter ends that goes with the one ending there ("B or C"), or None."""
    several = None
    for _ in range(_MOST_LETTERS):
        match = _SEVERAL.match(text, end)
        if match is None:
            break
        several = end = match.end()
    return several


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], str, int]]:
    sure = "sure" in pattern.groupindex
    for match in pattern.finditer(text):
        letter, end = match["letter"], match.end("letter")
        if (sure and match["sure"]) or is_letter(text, letter, end):
            yield match, letter.upper(), end


def _claim(text: str, start: int, letter: str, end: int, rule: str) -> Claim:
    if is_denied(text, end) or left_open(text, start):
        return Claim(letter, end, "denial")
    guess = _GUESS.search(text[max(0, start - 12) : start])
    several = end_of_several(text, end)
    return Claim("?" if guess or several is not None else letter, end, rule)
