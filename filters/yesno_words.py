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
# Around the words of a phrase: what may separate them, and the articles written on (l'immagine).
_GAP = r"\s{1,3}"
_ELISION = r"(?:[a-zà-ɏ]{1,5}')?"
# An ellipsis in a phrase: up to four words, or six signs where words are not spaced.
_WORDS = rf"(?:\s{{1,3}}[\w{_MARKS}'-]{{1,25}}){{0,4}}"
_SIGNS = r"[^\s,.;:!?。、]{0,6}"
_NOTATION = re.compile(r"[*…(?]")
_PAUSE = re.compile(r"[\s.,;:!。、\"'“”‘’—-]{1,4}")
_HEDGE_END = re.compile(
    r"\s{0,3}(?:$|[.,।;:!?。、…)\]\n]|(?:pas|rien|from|whether|if|for|with|based|si|se|de|determin\w{0,9}"
    r"|saber\w{0,3}|decir\w{0,3}|dire|dirlo)\b|是否|か)"
)
_STOP = r"$|[.,।;:!?。，、；：！？…)\]}>\"'»”’」』|/\n\r]|[-–—]\s"
# "Certainly" answers as the whole reply or before a comma; before other words it opens a speech.
_OPENER = r"(?=[ \t]{0,3}(?:[,、]|[.!।。…\"'”’»」)]{0,4}\s{0,3}\Z))"
_NOTHING = re.compile(r"(?!)")


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
    """The table as patterns; texts must be composed (NFC) and casefolded.

    Args:
        table: The content of ``yesno_words.yaml``.
        strict: Mind all of it. Without it only the "affirmative" and "negative" words count, and
            any text that begins with one is answered, as long as no longer word goes on.
    """

    def __init__(self, table: Mapping[str, Mapping[str, list[str]]], strict: bool) -> None:
        self._known: dict[str, tuple[str, tuple[str, ...]]] = {}
        patterns: dict[str, set[str]] = {}
        kinds = {"affirmative": "yes", "negative": "no"}
        if strict:
            kinds |= {"robust_affirmative": "yes", "robust_negative": "no", "undecided": ""}
        for code, words in table.items():
            alone = {_key(word) for word in words["alone"]} if strict else set()
            openers = {_key(word) for word in words["openers"]} if strict else set()
            for kind, answer in kinds.items():
                for word in words[kind]:
                    if _NOTATION.search(word):
                        continue
                    key = _key(word)
                    codes = self._known.get(key, (answer, ()))[1]
                    self._known[key] = (answer, tuple(dict.fromkeys((*codes, code))))
                    gap = r"[\s,、]" if answer else r"\s"
                    body = rf"{gap}{{1,3}}".join(re.escape(part) for part in key.split(" "))
                    follows = _OPENER if key in openers else _follows(code, answer, key in alone)
                    patterns.setdefault(key, set()).add(body + follows)
        longest_first = sorted(patterns, key=lambda key: (-len(key), key))
        self.pattern = "|".join(option for key in longest_first for option in sorted(patterns[key]))
        self._compiled = re.compile(self.pattern)
        self._hedges = _phrases(table, "undecided") if strict else _NOTHING
        self._assurances = _phrases(table, "assurances") if strict else _NOTHING

    def at(self, text: str, position: int = 0) -> Word | None:
        """Return the answer word that begins there, the longest one that fits, else None.

        An assurance ("no doubt") is the answer word that follows it, or "yes".
        """
        assurance = self._assurances.match(text, position)
        if assurance:
            pause = _PAUSE.match(text, assurance.end())
            word = self._word(text, pause.end()) if pause else None
            return word or Word("yes", (str(assurance.lastgroup),), assurance.end())
        return self._word(text, position)

    def hedged(self, text: str, position: int) -> bool:
        """Tell whether a clause begins there that answers nothing ("I cannot tell").

        One that goes on to say what is not seen or not there is another matter: "no veo carne".
        """
        word = self.at(text, position)
        return word is not None and not word.answer and bool(_HEDGE_END.match(text, word.end))

    def _word(self, text: str, position: int) -> Word | None:
        match = self._compiled.match(text, position)
        hedge = self._hedges.match(text, position)
        if hedge and (match is None or hedge.end() > match.end()):
            return Word("", (str(hedge.lastgroup),), hedge.end())
        if match is None:
            return None
        found = match.group()
        answer, languages = self._known.get(found) or self._known[_key(found)]
        return Word(answer, languages, match.end())


def _phrases(table: Mapping[str, Mapping[str, list[str]]], kind: str) -> re.Pattern[str]:
    """Return the pattern of all phrases in the notation of a kind, a group for each language."""
    groups = []
    for code, words in table.items():
        options = [
            _phrase(code, word)
            + (_follows(code, "yes", alone=True) if kind == "assurances" else "")
            for word in words[kind]
            if kind == "assurances" or _NOTATION.search(word)
        ]
        if options:
            groups.append(f"(?P<{code}>{'|'.join(options)})")
    return re.compile("|".join(groups))


def _phrase(code: str, phrase: str) -> str:
    """Return the pattern of a phrase written as the table's head explains."""
    pattern = ""
    for token in fold(phrase).split(" "):
        gap = _GAP if pattern and code not in _UNSPACED else ""
        if token == "…":
            pattern += _SIGNS if code in _UNSPACED else _WORDS
            continue
        parts = token.rstrip("?,").strip("()").split("|")
        options = "|".join(_part(code, part) for part in parts)
        bare = f"{gap}{_ELISION}(?:{options}){',' if token.endswith(',') else ''}"
        pattern += f"(?:{bare})?" if token.endswith("?") else bare
    return pattern + (rf"(?![{_MARKS}])" if code in _UNSPACED else _NO_WORD)


def _part(code: str, part: str) -> str:
    if code in _UNSPACED:
        return re.escape(part)
    stem = re.escape(part.removesuffix("*"))
    return rf"{stem}[\w{_MARKS}]{{0,20}}" if part.endswith("*") else rf"{stem}{_NO_WORD}"


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
