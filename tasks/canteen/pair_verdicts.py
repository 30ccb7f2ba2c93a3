"""How a language model's reply about numbered pairs of names is read.

Asked for are lines like "1: same". Models also write "Pair 1 - Same food.", "| 1 | **same** |" or
"1: not the same"; those are read. A hedge, a question or two verdicts at once is none: a pair is
asked again rather than guessed.
"""

from __future__ import annotations

import re
import unicodedata

from lmms_eval_food.filters.reasoning import strip_reasoning

# What stands around a verdict and does not change it: emphasis, quotes, marks of code.
_DECORATION = str.maketrans(dict.fromkeys("*_`\"'’‘“”", ""))
_NUMBERED = re.compile(
    r"[\s#>|(\[-]{0,8}(?:pair|line|number|no)?[\s#.]{0,4}(?P<number>\d{1,3})"
    r"(?P<gap>[\s:.)\]|=>–—→-]{1,6})(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
# "1: same, 2: different" on one line.
_NEXT = re.compile(r"[,;][ \t]{0,8}(?=\d{1,3} ?[:=)])")
_WORD = re.compile(r"[a-z]+|\?")
_VERDICTS = {"same": True, "different": False}
_TURNS = frozenset({"not", "isnt", "arent"})
# May stand before a verdict.
_FILLERS = frozenset(
    _WORD.findall(
        "the a an they these both two names foods are is it its verdict answer quite exactly "
        "really clearly"
    )
)
# Make a verdict none wherever they stand.
_DOUBTS = frozenset(
    _WORD.findall(
        "? or if unless maybe perhaps possibly probably partly partially no neither nor never "
        "cannot cant dont doesnt unsure unclear"
    )
)
# Prose; no verdict needs so much.
_LONGEST_LINE = 300


def read_verdicts(reply: str | None, count: int) -> list[bool | None]:
    """Return what a reply says about each of `count` pairs; None where that cannot be read.

    A line counts where it begins with the pair's number, or for a single pair with the verdict
    itself. A number with both verdicts has none.

    Args:
        reply: Any text, None for no reply.
        count: How many pairs were asked.

    >>> read_verdicts("1: same", 2)
    [True, None]
    >>> read_verdicts("Not the same.", 1)
    [False]
    """
    said: dict[int, set[bool]] = {}
    text = strip_reasoning(reply).answer if reply is not None else ""
    plain = unicodedata.normalize("NFKC", text).translate(_DECORATION)
    for line in _NEXT.sub("\n", plain).splitlines():
        number, verdict = _read_line(line)
        if verdict is not None and (number is not None or count == 1):
            said.setdefault(1 if number is None else number, set()).add(verdict)
    found = [said.get(number, set()) for number in range(1, count + 1)]
    return [verdicts.pop() if len(verdicts) == 1 else None for verdicts in found]


def _read_line(line: str) -> tuple[int | None, bool | None]:
    """Return the number that a line begins with, and its verdict."""
    if len(line) > _LONGEST_LINE:
        return None, None
    numbered = _NUMBERED.match(line)
    if numbered is None:
        # A digit elsewhere may be the number of some pair.
        return None, None if any(c.isdigit() for c in line) else _verdict(line)
    # "1-2: same" is about neither.
    rest = numbered["rest"]
    return int(numbered["number"]), None if rest[:1].isdigit() else _verdict(rest)


def _verdict(text: str) -> bool | None:
    """Return the one verdict of a text; None where there is none, two, or doubt about it.

    >>> _verdict("same (spelling)"), _verdict("not quite the same"), _verdict("same or different")
    (True, False, None)
    """
    found: set[bool] = set()
    turned = False
    for word in _WORD.findall(text.lower()):
        if word in _DOUBTS or (turned and word in _TURNS):
            return None
        if word in _VERDICTS:
            found.add(_VERDICTS[word] != turned)
            turned = False
        elif word in _TURNS:
            turned = True
        elif word not in _FILLERS and (turned or not found):
            # A negation of something else, or a sentence that only comes to a verdict.
            return None
    return found.pop() if len(found) == 1 and not turned else None
