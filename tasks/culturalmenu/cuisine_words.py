"""Takes the words out of a dish name that say which regional cuisine it belongs to."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from importlib import resources
from typing import Any

import yaml

_HAN = "\u3400-\u9fff"
_SEPARATORS = r"\s·•・‧\-—–_、，,：:；;|｜/／~～"
_BRACKETS = (
    "()",
    "（）",
    "[]",
    "［］",
    "【】",
    "〔〕",
    "《》",
    "〈〉",
    "「」",
    "『』",
    "“”",
    "‘’",
    '""',
)
_EMPTY = re.compile(
    "|".join(f"{re.escape(b[0])}[{_SEPARATORS}]*{re.escape(b[1])}" for b in _BRACKETS)
)
_DOUBLED = re.compile(rf"([{_SEPARATORS}])[{_SEPARATORS}]+")
_EDGES = re.compile(rf"\A[{_SEPARATORS}]+|[{_SEPARATORS}]+\Z")


def without_cuisine_words(name: str) -> str:
    """Return a dish name without the words that name its region; "" where nothing else is left.

    One pass from left to right takes the longest word at each place, so that none is cut out of
    two others (浙江西湖 holds no 江西). Then brackets that became empty go, and separators at the
    ends.

    Source: CulturalMenuBench, Appendix K; the list is ours (cuisine_words.yaml).

    >>> without_cuisine_words("四川小吃红油抄手")
    '红油抄手'
    >>> without_cuisine_words("【川菜】浙江西湖醋鱼")
    '西湖醋鱼'
    """
    left = _words().sub(lambda found: found["kept"] or "", name)
    if left == name:
        return name.strip()
    left = _EMPTY.sub("", left)
    return _EDGES.sub("", _DOUBLED.sub(r"\1", left))


@functools.cache
def _words() -> re.Pattern[str]:
    folder = resources.files("lmms_eval_food.tasks.culturalmenu")
    lists: dict[str, Any] = yaml.safe_load(folder.joinpath("cuisine_words.yaml").read_text("utf-8"))
    short, endings = _any(lists["abbreviations"]), "|".join(lists["endings"])
    before = f"(?:{_any(lists['beginnings'])})?"
    words = (
        f"(?:{_any(lists['places'])})(?:{endings})?",
        f"(?:{short})(?:{endings}|{'|'.join(lists['short_endings'])})",
        f"(?:{_any(lists['alone'])})",
    )
    first = f"(?<![{_HAN}]){before}(?:{_any(lists['first'])})(?=[{_HAN}])"
    return re.compile(
        f"(?P<kept>{_any(lists['kept'])})|(?:{before}(?:{'|'.join(words)})|{first})(?:的|之)?"
    )


def _any(words: Iterable[str]) -> str:
    """Return a pattern of any of the words, the longest that fits."""
    return "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
