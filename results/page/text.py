"""Texts of models and files made fit for a page."""

from __future__ import annotations

import unicodedata

LONGEST = 120
# Characters that no page may hold, or that change what stands around them.
_HIDDEN = ("Cc", "Cs", "Co", "Cn")


def visible(text: str) -> str:
    r"""Return a text without control characters and halves of surrogate pairs.

    Line breaks and tabs become spaces, the others U+FFFD. Marks of direction stay: the page shows
    every such text apart from its surroundings.

    >>> visible("a\n\0b") == "a \ufffdb"
    True
    """
    spaced = text.replace("\r", " ").replace("\n", " ").replace("\t", " ")
    return "".join("\ufffd" if unicodedata.category(c) in _HIDDEN else c for c in spaced)


def short(text: str, longest: int = LONGEST) -> str:
    """Return the start of a text, and how long it is where that is not all.

    >>> short("x" * 200, 5)
    'xxxxx… (200 characters)'
    """
    if len(text) <= longest:
        return visible(text)
    return f"{visible(text[:longest])}… ({len(text)} characters)"


def plain(text: str, longest: int = 40) -> str:
    """Return a text for a picture: also without marks of direction, and short."""
    kept = "".join(c for c in text[:4096] if unicodedata.category(c) != "Cf")
    return visible(kept if len(kept) <= longest else f"{kept[: longest - 1]}…")
