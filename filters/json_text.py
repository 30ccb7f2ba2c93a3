"""JSON as models write it: fenced, in full width, cut off, several objects, broken quotes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import json_repair

from lmms_eval_food.filters.numbers import fold_width

_FENCE = re.compile(r"```[A-Za-z]{0,10}[ \t]{0,10}\r?\n?")
_TOKEN = re.compile(r'\\.|"(?:[^"\\\n]|\\.)*"(?=\s{0,20}[,:}\]])|[{}]', re.DOTALL)
# A bare 1,200 or 12,5 after a colon, which JSON would take for two values.
_COMMA_NUMBER = re.compile(
    r"(?P<colon>:\s{0,5})(?P<number>\d+(?:,\d+)+(?:\.\d+)?)(?=\s{0,20}(?:[,}\]]|$))"
)
_BRACKET = re.compile(r"[{\[]")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# A value whose closing quote is missing, with the next member on the next line.
_UNCLOSED_LINE = re.compile(
    r'(?P<value>:\s{0,5}"[^"\n]{0,300}?),?\s{0,5}\n(?=\s{0,40}"[^"\n]{1,60}"\s{0,5}:)'
)
_CUT_NUMBER = re.compile(r":\s{0,20}[\d.,]+$")
_OPEN_STRING = re.compile(r'"(?P<key>[^"\n]{1,80})"\s{0,20}:\s{0,20}"?$')

# json_repair takes quadratic time on some texts, so it is handed short ones only.
_LONGEST_OBJECT = 2_000
_LONGEST_TEXT = 8_000


@dataclass(frozen=True, slots=True)
class Fragment:
    """One object found in a text.

    Attributes:
        value: Its members, without nested objects.
        cut_key: The key whose value was cut off, None when none was.
        closed: Its closing brace is there.
    """

    value: dict[str, Any]
    cut_key: str | None
    closed: bool


def without_fence(text: str) -> str:
    r"""Return the text without a code fence that opens it, and without the one that closes it.

    >>> without_fence("```json\n[]\n```")
    '[]'
    """
    stripped = text.strip()
    opening = _FENCE.match(stripped)
    if opening is None:
        return stripped
    return stripped[opening.end() :].removesuffix("```").strip()


def load_json(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of a text that is valid JSON as a whole.

    Args:
        text: The text.
        pairs: Makes something else than a dict of an object's members.

    Raises:
        ValueError: it is not, or it is nested too deeply or holds a number too long to read.
    """
    try:
        return json.loads(text, object_pairs_hook=pairs)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def fold_json(text: str) -> str:
    """Return the text with full-width signs in ASCII, and curly quotes where no plain one is."""
    folded = fold_width(text)
    if '"' not in folded:
        folded = folded.replace("“", '"').replace("”", '"')
    return folded


def fragments(text: str) -> Iterator[Fragment]:
    """Yield the objects of a text in the order they begin, inner ones apart from outer ones.

    Takes any text in linear time. An object that is not closed ends with the text. A value whose
    quotes were opened and never closed before its object ends is cut off: it is left out and its
    key is named. Objects longer than 2,000 characters of their own are cut there.
    """
    if ":" not in text:
        return
    known: dict[str, Any] = {}  # replies that loop repeat their objects
    for own, closed in _own_texts(text):
        if ":" not in own:
            continue
        body, cut_key = _without_cut_value(_UNCLOSED_LINE.sub(r'\g<value>",\n', own), closed)
        if body not in known:
            known[body] = _repaired("{" + quote_numbers(body) + "}")
        if isinstance(known[body], dict):
            yield Fragment(known[body], cut_key, closed)


def repair_text(text: str) -> Any:
    """Return what the tolerant parser makes of a text that begins as JSON and is not long."""
    if not text.startswith(("{", "[")) or len(text) > _LONGEST_TEXT:
        return None
    body, _ = _without_cut_value(text, closed=False)
    value = _repaired(quote_numbers(body))
    return value if isinstance(value, dict if text[0] == "{" else list) else None


def first_value(text: str, pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of the valid JSON at the first brace or bracket, None where none is."""
    start = _BRACKET.search(text)
    if start is None:
        return None
    try:
        return json.JSONDecoder(object_pairs_hook=pairs).raw_decode(text, start.start())[0]
    except (ValueError, RecursionError):
        return None


def quote_numbers(text: str) -> str:
    """Return JSON text with bare numbers that hold a comma as strings: ``1,200`` is one value.

    Only after a colon: ``[1,200]`` stays a list of two numbers.

    >>> quote_numbers('{"kcal": 1,200, "fat": 12,5}')
    '{"kcal": "1,200", "fat": "12,5"}'
    """
    pieces: list[str] = []
    position = 0
    for string in _STRING.finditer(text):
        pieces += [_quoted(text[position : string.start()]), string.group()]
        position = string.end()
    return "".join([*pieces, _quoted(text[position:])])


def _quoted(text: str) -> str:
    return _COMMA_NUMBER.sub(r'\g<colon>"\g<number>"', text)


def _repaired(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return json_repair.loads(text, skip_json_loads=True)
    except Exception:  # any text may come here, and the parser names no errors of its own
        return None


def _own_texts(text: str) -> list[tuple[str, bool]]:
    """Return each object's own text, without nested objects, and whether it was closed."""
    done: list[tuple[int, list[str], bool]] = []
    opened: list[tuple[int, list[str]]] = []
    position = 0
    for token in _TOKEN.finditer(text):
        if token.group() not in "{}":
            continue
        if opened:
            opened[-1][1].append(text[position : token.start()])
        position = token.end()
        if token.group() == "{":
            if opened:
                opened[-1][1].append("null")
            opened.append((token.start(), []))
        elif opened:
            done.append((*opened.pop(), True))
    if opened:
        opened[-1][1].append(text[position:])
    done += [(start, pieces, False) for start, pieces in opened]
    return [
        ("".join(pieces)[:_LONGEST_OBJECT], closed)
        for _, pieces, closed in sorted(done, key=lambda item: item[0])
    ]


def _without_cut_value(body: str, closed: bool) -> tuple[str, str | None]:
    """Return an object's text without a last value that was cut off, and the key it had."""
    quote = _last_open_quote(body)
    if quote is not None:
        cut = body[: quote + 1]
    elif not closed:
        # A bare number at the very end of a text may go on.
        number = _CUT_NUMBER.search(body, max(0, len(body) - 40))
        cut = body[: number.start() + 1] if number else body.rstrip()
    else:
        return body, None
    key = _OPEN_STRING.search(cut, max(0, len(cut) - 130))
    if key:
        return cut[: key.start()], key["key"]
    return (body, None) if quote is None else (cut.removesuffix('"'), "")


def _last_open_quote(body: str) -> int | None:
    """Return where the string begins that the text ends in, None where it ends in none."""
    quote = body.rfind('"')
    after = body[quote + 1 :].lstrip()
    # What follows a closing quote is nothing or punctuation.
    if quote < 0 or not after or after[0] in ":,}]":
        return None
    before = body[:quote].rstrip()
    return quote if not before or before[-1] in ":,{[" else None
