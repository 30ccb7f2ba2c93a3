"""Free-text answers: what is left of a reply once its reasoning is gone."""

from __future__ import annotations

import re

from lmms_eval_food.filters.answers import OfficialFilter, RobustFilter
from lmms_eval_food.filters.reading import Reading, Status
from lmms_eval_food.filters.reasoning import last_box, strip_official

_MARKUP = r"[ \t*_`]{0,6}"
_NOTE = r"(?:\([^()\n]{0,40}\))?"
_LINE_START = (
    r"^[ \t#>*_`•\-\d.)(、]{0,20}"
    rf"(?:(?:step|步骤|第)[ \t]?[\d一二三]步?[ \t]?[:：.、\-]?[ \t]?{_MARKUP})?"
)
_WHICH_EN = (
    r"(?:(?:the|my|comprehensive|final|overall|correct|concise|short|direct)[ \t]{1,2}){0,3}"
)
_WHICH_ZH = r"(?:综合|最终|最后|正确|简短|我的|本题){0,2}"
_NAMES_ZH = r"(?:答案|回答|解答|答复|结论)"
# A marker with a colon anywhere, or as a heading: on a line of its own, or before a dash.
_MARKER = re.compile(
    rf"\banswers?{_MARKUP}{_NOTE}(?:[ \t]is)?{_MARKUP}[:：]"
    rf"|{_NAMES_ZH}(?:是|为|為|应为)?{_MARKUP}[:：]"
    rf"|{_LINE_START}(?:{_WHICH_EN}(?:answer|conclusion)|{_WHICH_ZH}{_NAMES_ZH}|答)"
    rf"{_MARKUP}{_NOTE}{_MARKUP}(?:[:：]|[-–—]{{1,2}}[ \t]|$)",
    re.IGNORECASE | re.MULTILINE,
)
# The same in a sentence; it counts only where no marker stands.
_SENTENCE = re.compile(
    r"\b(?:the|my|final|correct)[ \t](?:(?:final|correct)[ \t])?answer[ \t]"
    r"(?:is|should[ \t]be|would[ \t]be)\b(?![ \t]{1,2}(?:based|derived|supported|given|drawn)\b)"
    r"|答案(?:应该|应当|应)?(?:是|为|為)",
    re.IGNORECASE,
)
_AROUND = " \t\r\n$*`.。"
_DECORATION = " \t\r\n*_`#>:："
_LATEX = re.compile(r"\\(?:text(?:bf|it|rm)?|math(?:bf|it|rm)|boxed|bf|rm)\b")
_BRACES = re.compile(r"(?<!\\)[{}$]")
_ESCAPED = re.compile(r"\\([%$&#_{}])")


class OfficialText(OfficialFilter):
    r"""The answer's text as DiningBench's scripts cut it out, a first ``\boxed{…}`` included.

    Value: the text; empty when nothing is left.
    """

    def read_text(self, text: str) -> Reading:
        """Return the reading of one reply."""
        answer = strip_official(text)
        if not answer:
            return Reading(text, None, Status.EMPTY)
        return Reading(text, answer, Status.OK, "text")


class RobustText(RobustFilter):
    r"""The answer's text without its reasoning.

    Value: text that is not blank. The first of these that there is, each read from the end:

    1. "box": the content of the last ``\boxed{…}``, without LaTeX. Without `last` only where the
       reply is nothing else: a box within an answer is emphasis (``\boxed{steamed} fish``).
    2. "marker", only with `last`: what follows the last marker of a final answer (``Answer:``,
       ``Final answer:``, a heading such as ``3. Comprehensive Answer``, 答案：, 综合回答), else the
       last "the answer is" (答案是). A marker that nothing follows does not count.
    3. "text": all that is left.

    Args:
        last: The prompt asks for reasoning first, so the answer is at the end of the reply.
    """

    def __init__(self, last: bool = False) -> None:
        self._last = last

    def read_answer(self, answer: str, raw: str) -> Reading:
        """Return the reading of one answer."""
        boxed = last_box(answer) or ""
        if (self._last or _is_box(answer, boxed)) and (boxed := _plain(boxed)):
            return Reading(raw, boxed, Status.OK, "box")
        if self._last and (marked := _marked(answer, _MARKER) or _marked(answer, _SENTENCE)):
            return Reading(raw, marked, Status.OK, "marker")
        return Reading(raw, answer, Status.OK, "text")


def _is_box(text: str, content: str) -> bool:
    r"""Tell whether a text is nothing but a box of this content, as ``$\boxed{Yes}$`` is."""
    inner = text.strip(_AROUND).removeprefix(r"\[").removesuffix(r"\]").strip(_AROUND)
    inner = inner.removeprefix(r"\boxed").lstrip()
    return inner.startswith("{") and inner.endswith("}") and inner[1:-1].strip() == content


def _plain(content: str) -> str:
    r"""Return the content of a box without the commands around its words: ``\text{Yes}``."""
    if _LATEX.search(content):
        content = _BRACES.sub("", _LATEX.sub("", content))
    return _ESCAPED.sub(r"\1", content).strip()


def _marked(text: str, marker: re.Pattern[str]) -> str:
    """Return what follows the last marker that something follows, without emphasis; else ""."""
    end = len(text)
    for match in reversed(list(marker.finditer(text))):
        if found := text[match.end() : end].replace("**", "").strip(_DECORATION):
            return found
        end = match.start()
    return ""
