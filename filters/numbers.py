"""Numbers and letters as people type them: full width, decomposed, with separators."""

from __future__ import annotations

import math
import re
import unicodedata

# The full-width forms U+FF01..U+FF5E and the ideographic space. A full compatibility
# normalisation would also turn ① into 1 and m² into m2, which changes what was said.
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}

# Normalisation sorts a run of combining marks in quadratic time, so runs are cut.
_COMPOSABLE = re.compile(r"[\x00-\x7f]?[^\x00-\x7f]{1,500}")

_SPACES = " \u00a0\u2009\u202f'’"
_GROUPED = re.compile(
    rf"(?P<sign>[-+−]?)(?P<whole>[1-9]\d{{0,2}}(?:(?P<group>[.,{_SPACES}])\d{{3}})"
    rf"(?:(?P=group)\d{{3}})*)(?:(?P<point>[.,])(?P<part>\d+))?"
)
_PLAIN = re.compile(r"[-+−]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d{1,3})?")


def fold_width(text: str) -> str:
    """Return the text with full-width letters, digits and punctuation as ASCII.

    Signs that are not width variants (``①``, ``m²``, ``。``) stay as they are.

    >>> fold_width("（Ｂ）：３５０ m²")
    '(B):350 m²'
    """
    return text.translate(_FULL_WIDTH)


def compose(text: str) -> str:
    """Return the text in normalisation form C, in linear time for any text.

    Runs of more than 500 characters outside ASCII are composed piece by piece.
    """
    if text.isascii():
        return text
    return _COMPOSABLE.sub(lambda match: unicodedata.normalize("NFC", match.group()), text)


def parse_number(text: str) -> float | None:
    """Return the number a text consists of, else None.

    The rule for separators: where both ``.`` and ``,`` occur, the last one is the decimal sign.
    Commas, spaces or apostrophes before groups of exactly three digits are thousands separators
    (``1,200`` is 1200), unless the number starts with 0 (``0,125`` is 0.125). Any other single
    comma is a decimal sign (``12,5``). A single point is always a decimal sign; several points
    before groups of three are thousands separators. What fits no rule, and what is not finite,
    is no number.

    >>> parse_number("1.234,5"), parse_number("1 200"), parse_number("12,5")
    (1234.5, 1200.0, 12.5)
    """
    folded = fold_width(text).strip()
    grouped = _GROUPED.fullmatch(folded)
    if grouped and _is_grouping(grouped["whole"], grouped["group"], grouped["point"]):
        digits = grouped["whole"].replace(grouped["group"], "")
        return _finite(f"{grouped['sign']}{digits}.{grouped['part'] or '0'}")
    if _PLAIN.fullmatch(folded):
        return _finite(folded.replace(",", "."))
    return None


def _is_grouping(whole: str, group: str, point: str | None) -> bool:
    """Tell whether the sign between groups of three digits separates thousands."""
    if point is not None:
        return point != group
    return group != "." or whole.count(".") > 1


def _finite(text: str) -> float | None:
    value = float(text.replace("−", "-"))
    return value if math.isfinite(value) else None
