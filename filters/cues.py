"""How a reply announces its answer, in the ten languages of CulturalMenuBench.

"The answer is", "答案是", "La respuesta correcta es la", … as one pattern with bounded parts, so
that a search takes linear time for any text.
"""

from __future__ import annotations

import re

# What may stand between the announcement and the answer: markup, quotes, brackets, colons.
DECORATION = r"[\s:=\-–—>\"'“”‘’「『《【(\[{<*_`$\\]"
# Wrappers of formulas, read as decoration.
_WRAPPER = r"(?:\\(?:text|textbf|mathbf|mathrm|boxed|bf|rm)\s{0,2}\{)"

_NOUNS = (
    # en
    r"(?:correct|right|best|final|my|chosen|closest|likely|suitable|appropriate|fitting|accurate"
    r"|matching|similar|plausible|probable)\s{1,3}(?:option|choice|letter|match|fit|candidate)",
    r"answer|(?:conclusion|result|selection|prediction|verdict)\s{0,2}:",
    # zh
    r"答案|答\s?:|(?:正确|正確|最终|最終|最佳|最[^\s,。]{1,4}的)(?:选项|選項|结果|選擇|选择|一项)"
    r"|(?:结论|結論)\s?[:是为は]",
    # es, fr, it
    r"respuesta|opción correcta",
    r"r[ée]ponse|bonne option",
    r"risposta|opzione corretta",
    # hi, th, ja, ko, vi
    r"उत्तर|जवाब|सही विकल्प",
    r"คำตอบ|ตอบ",
    r"答え|正解|解答|回答",
    r"정답|답변|답",
    r"đáp án|câu trả lời|trả lời|(?:lựa chọn|phương án) (?:đúng|chính xác)",
)
# Words that may stand between the noun and the answer: those that say "is", and the others.
_COPULAS = (
    r"is|'s|would be|should be|must be",
    r"应该是|應該是|应为|應為|是|为|為",
    r"es|sería|est|è|e'",
    r"है|คือ|เป็น|は|が|은|는|là",
)
_OTHERS = (
    r"most likely|likely|probably|clearly|definitely|simply|therefore|thus|the|correct|option"
    r"|choice|letter",
    r"选项|選項|选|選|字母",
    r"la|el|opción|correcta|final|le|l'|option|correcte|il|lo|opzione|corretta|esatta|giusta"
    r"|letra|lettre|lettera",
    r"विकल्प|ข้อ|ตัวเลือก|ที่ถูกต้อง|選択肢|선택지|đúng|phương án|lựa chọn",
)
_NOUN = rf"(?:{'|'.join(_NOUNS)})"
_OTHER = rf"(?:{'|'.join(_OTHERS)})"
ANNOUNCED = (
    rf"{_NOUN}(?:{DECORATION}{{0,6}}(?:{'|'.join((*_COPULAS, *_OTHERS))})){{0,4}}"
    rf"(?:{DECORATION}{{0,12}}{_WRAPPER}){{0,2}}{DECORATION}{{0,12}}"
)
# An announcement without "is" or a sign: the negation that follows it may be the sentence's own.
BARE = re.compile(rf"{_NOUN}(?:\s{{0,2}}{_OTHER}){{0,4}}\s{{0,3}}\Z")

# What follows a word to deny it, where the negation comes last (hi, ja, ko).
DENIED = re.compile(
    r"[\s\"'”’」』】)\]]{0,3}(?:(?:सही\s)?(?:नहीं|नही)"
    r"|(?:で|じゃ)は?(?:ない|無い|ありません|なく|なくて)|じゃ(?:ない|なく|ありません)"
    r"|とは(?:言え|いえ|限り|限ら|思え|思い)|(?:이|가|은|는|라고는)?\s?(?:아니|아닙|아닌)"
    r"|(?:이)?라고\s?(?:할|볼|말할)\s?수\s?없)"
)
# What denies or leaves open the statement that it stands right before.
_OPEN = re.compile(
    r"(?:\b(?:not|never|cannot|unlikely|impossible|unsure|uncertain|unclear|hardly|whether|if|unless"
    r"|(?<!no )(?<!without )(?<!without a )(?<!beyond )doubt)|n['’]t)"
    r"(?:\s(?:think|believe|say|sure|certain|clear|clearly|possible|likely|know|conclude|tell"
    r"|convinced|mean|for|that|whether|if|it|is|be|at|all|to|really|determine|or|not|the)){0,6}"
    r"\s{1,3}\Z"
    r"|(?:不|没|沒|并非|未必|是否|无法|無法|排除|如果|若|假如)(?:可能|会|會|一定|太|应该|應該|应|认为|認為|觉得"
    r"|确定|肯定|知道|清楚|说|很|是|能|敢|有|正确|答案|它|这|這){0,5}\Z"
    r"|\b(?:no|non|pas|ne|n['’])(?:\s(?:creo|es|está|estoy|segur[oa]|claro|que|sé|si|puede|ser|è|credo"
    r"|penso|sono|sicur[oa]|chiaro|che|so|se|est|crois|pense|sûre?|clair|suis|je|la|le|el|il|a|ni)){0,6}"
    r"\s{1,3}(?:l['’])?\Z"
    r"|không(?:\s(?:phải|là|nghĩ|chắc|rằng|thể|biết|cho)){0,5}\s{1,3}\Z"
    r"|ไม่(?:ใช่|แน่ใจ|มั่นใจ|คิด|ได้|น่า|ว่า|เลือก|จะ){0,4}\s?\Z",
    re.IGNORECASE,
)
_OPEN_SPAN = 80
# Direction and joining marks, which are never seen; those that only join signs of a script go too:
# no answer word needs them.
_INVISIBLE = dict.fromkeys(
    (0xAD, *range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A), 0xFEFF)
)

_EMPHASIS = re.compile(r"[*`~#]")
_UNDERSCORES = re.compile(
    r"\n|(?P<opens>(?<!\w)_{1,3}(?=[^\s_]))|(?P<closes>(?<=[^\s_])_{1,3}(?!\w))"
)


def left_open(text: str, start: int) -> bool:
    """Tell whether what is said from `start` on is denied or left open by the words before it.

    >>> left_open("I don't think the answer is B", 18)
    True
    """
    return _OPEN.search(text[max(0, start - _OPEN_SPAN) : start]) is not None


def without_invisible(text: str) -> str:
    r"""Return the text without marks that are never seen (joiners, directions, byte order marks).

    >>> without_invisible("\u200eB\ufeff")
    'B'
    """
    return text if text.isascii() else text.translate(_INVISIBLE)


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
