"""Yes or no, in ten languages (zh en es fr hi it th ja ko vi)."""

from __future__ import annotations

import functools
import re

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.cues import (
    ANNOUNCED,
    BARE,
    DENIED,
    last_line,
    left_open,
    without_emphasis,
    without_invisible,
)
from lmms_eval_food.filters.numbers import fold_width
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import boxes
from lmms_eval_food.filters.yesno_words import Word, fold, lexicon

_QUOTES = "\"'“”‘’«»‹›「」『』"
_OPENING = re.compile(rf"[\s{_QUOTES}《【(\[{{<>$:=|.,¡¿•\\\-–—]*")
_BOX_OPENING = re.compile(
    r"(?:\\(?:text|textbf|mathbf|mathrm|bf|rm|boxed)\s*\{|[\s\"'“「『(\[{$])*"
)
_CLOSING = re.compile(rf"[\s{_QUOTES}》】)\]}}>$.,।;:!。、!|\\]*$")
_LEAD_IN = re.compile(
    r"(?:so|therefore|thus|hence|overall|finally|in conclusion|in short|conclusion"
    r"|所以|因此|综上|綜上|总之|结论|por lo tanto|por tanto|así que|en conclusión|donc"
    r"|en conclusion|quindi|perciò|dunque|in conclusione|इसलिए|अतः|ดังนั้น|สรุป|したがって|よって|結論"
    r"|따라서|그러므로|결론|vì vậy|do đó|kết luận)(?:所述)?[\s,:、]{0,4}"
)
_OR = r"(?:\b(?:or|o|ou|oppure|hoặc|hay)\b|या|或者?|还是|還是|หรือ|または|또는|혹은)"
_CHOICE = re.compile(_OR)
_EITHER = re.compile(
    rf"[\s\"')]{{0,3}}(?:/|\||\b(?:and|y|et|e|và)\b|और|和|与|และ|と|か|와|과|,?\s{{0,3}}{_OR})"
    r"(?:\s{0,3}(?:maybe|perhaps|possibly|even|quizás?|tal vez|peut-être|forse|शायद|可能|也许"
    r"|อาจจะ|たぶん|아마|có thể))?[\s\"'(]{0,3}"
)
_ALSO = re.compile(rf"[\s.,।;:!?。、→()>\-{_QUOTES}]{{1,4}}")
# After a comma a phrase such as "I cannot tell" takes the word back; a new sentence does not.
_COMMA = re.compile(r"[\s]{0,2}[,、…—-]\s{0,3}")
# "Yes/No: no": the question's own choice, repeated before the answer.
_ECHO_END = re.compile(rf"[\s{_QUOTES})\]]{{0,3}}[:?=]")
# "The answer is not 'yes'": what stands between the negation and the denied word.
_NOT_THE_WORD = re.compile(rf"\s{{0,3}}(?:(?:es|è|là|是|का)\s{{0,2}})?[\s{_QUOTES}]{{1,4}}")
# Where a negation after a bare "the answer" is the answer itself: the sentence ends.
_ENDS = re.compile(rf"[\s{_QUOTES}]{{0,3}}(?:है\s{{0,2}})?(?:$|[.,।;:!。、)\]}}>|\n])")


class OfficialYesNo(OfficialFilter):
    """The yes or no word a reply begins with.

    Value: {"answer": "yes" or "no", "languages": codes whose word it was}. The paper publishes no
    rule for its yes/no answers, so this is the plainest one: stripped, composed (NFC), casefolded,
    the text begins with a yes or no word of one of the ten languages, the longest that fits and,
    in scripts with spaces between words, a whole word; else unreadable. Reasoning is not stripped.
    """

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        word = lexicon(strict=False).at(fold(text).strip())
        return _reading(text, word, "first_word")


class RobustYesNo(RobustFilter):
    """The yes or no a reply answers.

    Value: {"answer": "yes" or "no", "languages": codes whose word it was}. Read are: a box, an
    announced answer ("The answer is no", "答案：是", ten languages), the word the reply begins
    with, a last line that is such a word. Unreadable when there is none, when they contradict
    each other, or when one is hedged or denied ("yes and no", "是不是…", "No, I cannot tell",
    "the answer is not 'yes'").
    """

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        text = without_emphasis(fold(fold_width(without_invisible(answer))))
        boxed = [word for content in boxes(text) if (word := _boxed(content))]
        announced = _announced(text)
        if boxed or announced:
            step, words = ("box", boxed) if boxed else ("announced", announced)
            opening = _opening(text)
            words = words + ([opening] if opening else [])
        else:
            step, words = "word", [word for word in (_opening(text), _ending(text)) if word]
        return _reading(raw, _agreed(words), step)


@functools.cache
def _announcement() -> re.Pattern[str]:
    return re.compile(rf"{ANNOUNCED}(?P<word>{lexicon(strict=True).pattern})")


def _reading(raw: str, word: Word | None, step: str) -> Reading:
    if word is None or not word.answer:
        return Reading(raw, None, Status.UNREADABLE)
    value = {"answer": word.answer, "languages": list(word.languages)}
    return Reading(raw, value, Status.OK, step)


def _agreed(words: list[Word]) -> Word | None:
    """Return the one answer the words give; None when none do or they differ."""
    if len({word.answer for word in words}) != 1:
        return None
    codes = dict.fromkeys(code for word in words for code in word.languages)
    return Word(words[0].answer, tuple(codes), words[0].end)


def _decided(text: str, word: Word | None) -> Word | None:
    """Return the word, undecided where it is denied, taken back or goes with its opposite."""
    if word is None or not word.answer:
        return word
    comma = _COMMA.match(text, word.end)
    if (
        _is_denied(text, word)
        or (comma and lexicon(strict=True).hedged(text, comma.end()))
        or _goes_with_opposite(text, word)
    ):
        return Word("", word.languages, word.end)
    return word


def _is_denied(text: str, word: Word) -> bool:
    """Tell whether a negation follows that denies the word, and does not only repeat it."""
    if not DENIED.match(text, word.end):
        return False
    also = _ALSO.match(text, word.end)
    again = lexicon(strict=True).at(text, also.end()) if also else None
    return again is None or again.answer != word.answer


def _goes_with_opposite(text: str, word: Word) -> bool:
    """Tell whether the opposite goes with the word ("yes or no", "No. Yes.", "Yes? No, …")."""
    if _is_opposite(_alternative(text, word), word):
        return True
    also = _ALSO.match(text, word.end)
    other = lexicon(strict=True).at(text, also.end()) if also else None
    if also is None or other is None or not _is_opposite(other, word):
        return False
    return "?" in also.group() or _CLOSING.match(text, other.end) is not None


def _alternative(text: str, word: Word) -> Word | None:
    """Return the answer word that "or" or "and" ties to the word."""
    either = _EITHER.match(text, word.end)
    return lexicon(strict=True).at(text, either.end()) if either else None


def _is_opposite(other: Word | None, word: Word) -> bool:
    return other is not None and bool(other.answer) and other.answer != word.answer


def _opening(text: str) -> Word | None:
    start = _OPENING.match(text)
    position = _after_echo(text, start.end() if start else 0)
    return _decided(text, lexicon(strict=True).at(text, position))


def _after_echo(text: str, position: int) -> int:
    """Return where the answer begins after the question's own choice ("Yes/No: "), if it is there.

    Without one it is the position given.
    """
    word = lexicon(strict=True).at(text, position)
    if word is None:
        return position
    if word.answer:
        other = _alternative(text, word)
        end = other.end if other and _is_opposite(other, word) else None
    else:
        end = word.end if _CHOICE.search(text, position, word.end) else None
    mark = _ECHO_END.match(text, end) if end is not None else None
    if mark is None:
        return position
    start = _OPENING.match(text, mark.end())
    return start.end() if start else mark.end()


def _boxed(content: str) -> Word | None:
    start = _BOX_OPENING.match(content)
    return _decided(content, lexicon(strict=True).at(content, start.end() if start else 0))


def _announced(text: str) -> list[Word]:
    """Return the answers announced in the text, each decided or not."""
    words = []
    for match in _announcement().finditer(text):
        word = lexicon(strict=True).at(text, match.start("word"))
        if left_open(text, match.start()):
            continue
        if word and not _is_denial(text, text[match.start() : match.start("word")], word):
            words.append(_decided(text, word))
    found = [word for word in words if word]
    # "The answer is not clear at first. So the answer is yes.": what was open is settled.
    return [word for word in found if word.answer] if found and found[-1].answer else found


def _is_denial(text: str, announcement: str, word: Word) -> bool:
    """Tell whether the "no" is the sentence's own: "the answer is not 'yes'", "… no está clara"."""
    if _is_denied(text, word):
        return True
    if word.answer != "no":
        return False
    denied = _NOT_THE_WORD.match(text, word.end)
    if denied and lexicon(strict=True).at(text, denied.end()):
        return True
    return BARE.match(announcement) is not None and not _ENDS.match(text, word.end)


def _ending(text: str) -> Word | None:
    """Return the answer word that makes up the last line, if need be after "so" or "therefore"."""
    line = last_line(text)
    start = _OPENING.match(line)
    position = start.end() if start else 0
    lead_in = _LEAD_IN.match(line, position)
    word = lexicon(strict=True).at(line, lead_in.end() if lead_in else position)
    return word if word and _CLOSING.match(line, word.end) else None
