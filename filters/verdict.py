"""A judge's verdict on an answer: right, wrong, or nothing that can be read."""

from __future__ import annotations

import re

from lmms_eval_food.filters.cues import last_line, without_emphasis
from lmms_eval_food.filters.numbers import compose, fold_width
from lmms_eval_food.filters.reasoning import strip_reasoning

# The published lists without the entries that can never decide: those with capitals (the text is
# lower-cased first) and "not match" (it holds "no").
_OFFICIAL_NEGATIVE = ("no", "false", "incorrect", "different", "否", "不一致", "不同", "错误")
_OFFICIAL_POSITIVE = (
    *("yes", "true", "correct", "match", "same"),
    *("是", "一致", "相同", "等价", "正确"),
)

_POSITIVE = ("yes", "true", "correct", "right", "是", "是的", "正确", "对", "对的", "一致", "相同")
_NEGATIVE = (
    *("no", "false", "incorrect", "not correct", "wrong", "not right"),
    *("否", "不", "不是", "不是的", "不正确", "不对", "错", "错误", "错的"),
    *("不一致", "不同", "不相同"),
)
_VERDICTS = dict.fromkeys(_POSITIVE, True) | dict.fromkeys(_NEGATIVE, False)
_WORD = "|".join(sorted(_VERDICTS, key=lambda word: (-len(word), word)))
_DIGIT = r"[01](?:\.0{1,3})?"

# What may stand around a verdict; every part is bounded, so that a search takes linear time.
_OPENING = r"[\s\"'“‘「『《【(\[{<$:=|\-]{0,12}(?:\\(?:boxed|text)\{){0,2}"
_CLOSING = r"[ \t\"'”’」』》】)\]}>$]{0,6}"
_STOP = r"\Z|\n|[,;!?。、—(]|:(?!\d)|\.(?!\d)|\s?[–-]\s"
# "1." and "1、" may also number the first line of a list.
_STOP_OF_DIGIT = r"\.?\Z|\n|[,;!?。—(]|:(?!\d)|\s?[–-]\s"

_LABEL = (
    r"(?:(?:the|my|final|overall|so|therefore|thus|因此|所以|最终|综上|我的)[\s,:]{0,2}){0,3}"
    r"(?:judge?ment|verdict|decision|conclusion|score|rating|grade|assessment|evaluation|result"
    r"|output|(?:is)?correct|判断|判定|裁决|结论|结果|评分|得分|评价|输出)(?:结果|结论)?"
)
_ANSWER = r"(?:final\s)?(?:answer|答案)"
_SIGN = r"(?:is|为|是|:|=|→|->|\s)"
_IS = rf"(?:[\"'”’」』】)\]}}]{{1,4}}{_SIGN}{{0,4}}|{_SIGN}{{1,4}})"
_OPENS = re.compile(
    rf"{_OPENING}(?:(?P<word>{_WORD})(?={_CLOSING}(?:{_STOP}))"
    rf"|(?P<digit>{_DIGIT})(?={_CLOSING}(?:{_STOP_OF_DIGIT})))"
)
# "Answer: no" is a verdict only at the very start: further on it may quote the judged answer.
_LABELLED = re.compile(
    rf"(?:^{_OPENING}{_LABEL}|\A{_OPENING}{_ANSWER}){_IS}{_OPENING}"
    rf"(?P<word>{_WORD}|{_DIGIT})(?={_CLOSING}(?:{_STOP}))",
    re.MULTILINE,
)
_CLOSES = re.compile(
    rf"(?:(?P<lead>[.;:!?。—]\s{{0,3}}|\s[–-]\s|\b(?:so|therefore|thus|hence)[\s,]{{1,2}}"
    rf"|(?:所以|因此|故)[\s,]{{0,2}}){_OPENING}(?P<word>{_WORD})"
    rf"|^{_OPENING}(?P<line>{_WORD}|{_DIGIT})){_CLOSING}[.!。]?\Z"
)
# A line that ends like this quotes what was judged, and gives no verdict.
_QUOTED = re.compile(
    r"(?:answers?|truth|prediction|predicted|reference|response|答案|回答|预测)"
    r"[\"'”’」』】)\]]{0,2}(?:\s{0,2}(?:is|was|says?|as|为|是))?\s{0,2}\Z"
)
# The longest verdict that `_CLOSES` can match is shorter.
_TAIL = 80


def official_verdict(text: str) -> bool:
    """Return whether DiningBench's own reading takes a judge's reply for "right".

    Wrong if any negative word occurs anywhere, else right if any positive one does, else wrong.
    One list of words serves both languages. So ``不是`` and ``不正确`` count as right, and
    ``Yes, there is no difference.`` as wrong; `strict_verdict` reads what was said.

    Source: meituan/DiningBench@516fd54:eval_vqa.py, parse_eval_result.
    """
    lowered = text.lower()
    if any(word in lowered for word in _OFFICIAL_NEGATIVE):
        return False
    return any(word in lowered for word in _OFFICIAL_POSITIVE)


def strict_verdict(text: str) -> bool | None:
    """Return the verdict that a judge's reply states, None where it states none; linear time.

    Reasoning goes first. A verdict is yes or no, right or wrong, true or false, 是 or 否 and the
    like, or 1 or 0. It counts where the reply opens with it, where a line gives it under a label
    ("Verdict: no", "Score: 0.", "判定：是"), and where the last line ends in it as a sentence of
    its own. A word inside a sentence is none, nor are two verdicts that contradict each other.

    >>> strict_verdict("Yes, there is no difference."), strict_verdict("不正确")
    (True, False)
    >>> strict_verdict("0 - the reference lists 1 more item"), strict_verdict("It depends.")
    (False, None)
    """
    folded = compose(fold_width(strip_reasoning(text).answer)).casefold()
    answer = without_emphasis(folded).strip()
    stated = [match["word"] for match in _LABELLED.finditer(answer)]
    # "Correct: no" opens with a label, not with a verdict.
    opening = None if _LABELLED.match(answer) else _OPENS.match(answer)
    if opening:
        stated.append(opening["word"] or opening["digit"])
    stated += _closing(last_line(answer))
    verdicts = {_VERDICTS.get(word, word.startswith("1")) for word in stated}
    return verdicts.pop() if len(verdicts) == 1 else None


def _closing(line: str) -> list[str]:
    """Return the verdict that a line ends in, as a list of one; [] where there is none."""
    start = max(0, len(line) - _TAIL)
    match = _CLOSES.search(line[start:])
    if match is None or (match["line"] and start):
        return []
    head = line[max(0, start + match.start() - _TAIL) : start + match.start()]
    return [] if match["word"] and _QUOTED.search(head) else [match["line"] or match["word"]]
