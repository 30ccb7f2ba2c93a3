"""Yes or no, in ten languages (zh en es fr hi it th ja ko vi)."""

from __future__ import annotations

import functools
import re

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.cues import ANNOUNCED, last_line, without_emphasis
from lmms_eval_food.filters.numbers import fold_width
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import boxes
from lmms_eval_food.filters.yesno_words import Word, fold, lexicon

_OPENING = re.compile(r"[\s\"'“”‘«‹「『《【(\[{<>$:=|.,¡¿•\\\-–—]*")
_BOX_OPENING = re.compile(
    r"(?:\\(?:text|textbf|mathbf|mathrm|bf|rm|boxed)\s*\{|[\s\"'“「『(\[{$])*"
)
_CLOSING = re.compile(r"[\s\"'“”’»›」』》】)\]}>$.,।;:!。、!|\\]*$")
_LEAD_IN = re.compile(
    r"(?:so|therefore|thus|hence|overall|finally|in conclusion|in short|conclusion"
    r"|所以|因此|综上|綜上|总之|por lo tanto|por tanto|así que|en conclusión|donc|en conclusion"
    r"|quindi|perciò|dunque|in conclusione|इसलिए|अतः|ดังนั้น|สรุป|したがって|よって|結論"
    r"|따라서|그러므로|vì vậy|do đó|kết luận)(?:所述)?[\s,:、]{0,4}"
)
_EITHER = re.compile(
    r"[\s\"')]{0,3}(?:/|\||\b(?:and|or|y|o|et|ou|e|và|hoặc|hay)\b|और|या|和|与|或|还是|還是|และ|หรือ"
    r"|と|か|또는|혹은|와|과)[\s\"'(]{0,3}"
)
_ALSO = re.compile(r"[\s.,।;:!。、\"'()]{1,4}")


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
    each other, or when one is hedged ("yes and no", "是不是…", "not sure").
    """

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        text = without_emphasis(fold(fold_width(answer)))
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
    """Return the word, undecided where its opposite goes with it ("yes or no", "No. Yes.")."""
    if word is None or not word.answer:
        return word
    either = _EITHER.match(text, word.end)
    also = _ALSO.match(text, word.end)
    other = lexicon(strict=True).at(text, either.end()) if either else None
    if other is None and also:
        other = lexicon(strict=True).at(text, also.end())
        if other and not _CLOSING.match(text, other.end):
            other = None
    if other and other.answer != word.answer:
        return Word("", word.languages, word.end)
    return word


def _opening(text: str) -> Word | None:
    start = _OPENING.match(text)
    return _decided(text, lexicon(strict=True).at(text, start.end() if start else 0))


def _boxed(content: str) -> Word | None:
    start = _BOX_OPENING.match(content)
    return _decided(content, lexicon(strict=True).at(content, start.end() if start else 0))


def _announced(text: str) -> list[Word]:
    """Return the answers announced in the text, each decided or not."""
    words = (
        _decided(text, lexicon(strict=True).known(match["word"], match.end()))
        for match in _announcement().finditer(text)
    )
    return [word for word in words if word]


def _ending(text: str) -> Word | None:
    """Return the answer word that makes up the last line, if need be after "so" or "therefore"."""
    line = last_line(text)
    start = _OPENING.match(line)
    position = start.end() if start else 0
    lead_in = _LEAD_IN.match(line, position)
    word = lexicon(strict=True).at(line, lead_in.end() if lead_in else position)
    return word if word and _CLOSING.match(line, word.end) else None
