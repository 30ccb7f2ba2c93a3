"""The words for yes and no in ten languages, as one pattern."""

from __future__ import annotations

import functools
import importlib.resources
import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from lmms_eval_food.filters.numbers import compose

# Scripts that write words without spaces: an answer word may run on into the next one.
_UNSPACED = frozenset({"zh", "ja", "th"})

# Marks that Python's \w leaves out: accents, Devanagari and Thai vowel signs.
_MARKS = (
    r"\u0300-\u036f\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963"
    r"\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
)
_NO_WORD = rf"(?![\w{_MARKS}])(?!['’-]\w)"
_NO_NUMBER = r"(?!\.?\s?\d)"
_STOP = r"$|[.,।;:!?。，、；：！？…)\]}>\"'»”’」』|/\n\r]|[-–—]\s"


@dataclass(frozen=True, slots=True)
class Word:
    """An answer word found in a text.

    Attributes:
        answer: "yes", "no", or "" for an opening that holds such a word and answers nothing.
        languages: Codes of the languages the word belongs to, in the table's order.
        end: Where it ends.
    """

    answer: str
    languages: tuple[str, ...]
    end: int


class Lexicon:
    """The table as a pattern; texts must be composed (NFC) and casefolded.

    Args:
        table: The content of ``yesno_words.yaml``.
        strict: Mind the "undecided" openings and the words that answer only "alone". Without it
            any text that begins with a word is answered, as long as no longer word goes on.
    """

    def __init__(self, table: Mapping[str, Mapping[str, list[str]]], strict: bool) -> None:
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        patterns: dict[str, set[str]] = {}
        kinds = {"affirmative": "yes", "negative": "no"} | ({"undecided": ""} if strict else {})
        for code, words in table.items():
            alone = {_key(word) for word in words["alone"]} if strict else set()
            for kind, answer in kinds.items():
                for word in words[kind]:
                    key = _key(word)
                    codes = self._known.get(key, (answer, ()))[1]
                    self._known[key] = (answer, tuple(dict.fromkeys((*codes, code))))
                    gap = r"[\s,、]" if answer else r"\s"
                    body = rf"{gap}{{1,3}}".join(re.escape(part) for part in key.split(" "))
                    patterns.setdefault(key, set()).add(body + _follows(code, answer, key in alone))
        longest_first = sorted(patterns, key=lambda key: (-len(key), key))
        self.pattern = "|".join(option for key in longest_first for option in sorted(patterns[key]))
        self._compiled = re.compile(self.pattern)

    def at(self, text: str, position: int = 0) -> Word | None:
        """Return the answer word that begins there, the longest one that fits, else None."""
        match = self._compiled.match(text, position)
        return self.known(match.group(), match.end()) if match else None

    def known(self, found: str, end: int) -> Word:
        """Return the word that a match of `pattern` found."""
        answer, languages = self._known[_key(found)]
        return Word(answer, languages, end)


@functools.cache
def lexicon(strict: bool) -> Lexicon:
    """Return the packaged table's lexicon, read once a process."""
    source = importlib.resources.files("lmms_eval_food.filters") / "yesno_words.yaml"
    return Lexicon(yaml.safe_load(source.read_text(encoding="utf-8")), strict)


def fold(text: str) -> str:
    """Return the text as the lexicon wants it: composed, casefolded, one kind of apostrophe."""
    return compose(compose(text).casefold()).replace("’", "'")


def _key(word: str) -> str:
    return " ".join(re.split(r"[\s,、]+", fold(word).strip()))


def _follows(code: str, answer: str, alone: bool) -> str:
    """Return the pattern of what must follow a language's word."""
    if alone:
        space = r"|\s" if code in _UNSPACED else ""
        return rf"(?=[ \t]{{0,3}}(?:{_STOP}{space})){_NO_NUMBER}"
    if code in _UNSPACED:
        # A vowel sign that goes on from the last letter makes it another syllable.
        return rf"(?![{_MARKS}])"
    if code == "ko" and not answer:
        return ""  # particles are written on: 네 개가
    if code == "ko":
        # So is the copula: 아니요입니다.
        return rf"(?:(?=입니다|이에요|예요)|{_NO_WORD}){_NO_NUMBER}"
    return rf"{_NO_WORD}{_NO_NUMBER}"
