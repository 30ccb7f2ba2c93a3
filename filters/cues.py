"""How a reply announces its answer, in the ten languages of CulturalMenuBench.

"The answer is", "答案是", "La respuesta correcta es la", … as one pattern with bounded parts, so
that a search takes linear time for any text.
"""

from __future__ import annotations

import re

# What may stand between the announcement and the answer: markup, quotes, brackets, colons.
DECORATION = r"[\s:=\-–—>\"“”‘「『《【(\[{<*_`$\\]"
# Wrappers of formulas, read as decoration.
_WRAPPER = r"(?:\\(?:text|textbf|mathbf|mathrm|boxed|bf|rm)\s{0,2}\{)"

_NOUNS = (
    # en
    r"(?:correct|right|best|final|my|chosen)\s{1,3}(?:option|choice|letter)",
    r"answer",
    # zh
    r"答案|答\s?:|(?:正确|正確|最终|最佳)(?:选项|選項)",
    # es, fr, it
    r"respuesta|opción correcta",
    r"r[ée]ponse|bonne option",
    r"risposta|opzione corretta",
    # hi, th, ja, ko, vi
    r"उत्तर|जवाब|सही विकल्प",
    r"คำตอบ|ตอบ",
    r"答え|正解|解答|回答",
    r"정답|답변|답",
    r"đáp án|câu trả lời|trả lời",
)
_FILLERS = (
    r"is|'s|would be|should be|must be|most likely|likely|probably|clearly|definitely|simply"
    r"|therefore|thus|the|correct|option|choice|letter",
    r"应该是|應該是|应为|應為|是|为|為|选项|選項|选|選",
    r"es|sería|la|el|opción|correcta|final|est|le|option|correcte|è|e'|il|lo|opzione|corretta"
    r"|esatta|giusta",
    r"है|विकल्प|คือ|เป็น|ข้อ|ที่ถูกต้อง|は|が|選択肢|은|는|선택지|là|đúng|phương án",
)
ANNOUNCED = (
    rf"(?:{'|'.join(_NOUNS)})"
    rf"(?:{DECORATION}{{0,6}}(?:{'|'.join(_FILLERS)})){{0,4}}"
    rf"(?:{DECORATION}{{0,12}}{_WRAPPER}){{0,2}}{DECORATION}{{0,12}}"
)

_EMPHASIS = re.compile(r"[*`~#]")
_UNDERSCORES = re.compile(
    r"\n|(?P<opens>(?<!\w)_{1,3}(?=[^\s_]))|(?P<closes>(?<=[^\s_])_{1,3}(?!\w))"
)


def without_emphasis(text: str) -> str:
    """Return the text without the signs of bold, italic, code and heading markup.

    Underscores go only in pairs around words of one line: ``portion_estimate`` stays as it is.

    >>> without_emphasis("**portion_estimate**: _large_")
    'portion_estimate: large'
    """
    bare = _EMPHASIS.sub("", text)
    return _without_underscores(bare) if "_" in bare else bare


def _without_underscores(text: str) -> str:
    """Return the text without the underscores that open or close an emphasis, in linear time."""
    opened: list[re.Match[str]] = []
    paired: list[tuple[int, int]] = []
    for sign in _UNDERSCORES.finditer(text):
        if sign.lastgroup is None:
            opened.clear()
        elif opened and len(sign.group()) == len(opened[-1].group()) and _closes(text, sign):
            paired += [opened.pop().span(), sign.span()]
        elif sign["opens"]:
            opened.append(sign)
    kept, position = [], 0
    for start, end in sorted(paired):
        kept.append(text[position:start])
        position = end
    return "".join([*kept, text[position:]])


def _closes(text: str, sign: re.Match[str]) -> bool:
    """Tell whether the sign may close: right after a word; an opening one may do both."""
    return sign["closes"] is not None or not text[sign.start() - 1].isspace()


def last_line(text: str) -> str:
    """Return the last line that is not blank, stripped; "" for a blank text."""
    return text.rstrip().rpartition("\n")[2].strip()


def first_line(text: str) -> str:
    """Return the first line that is not blank, stripped; "" for a blank text."""
    return text.lstrip().partition("\n")[0].strip()
