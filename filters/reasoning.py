"""Where the thinking ends and the answer begins."""

from __future__ import annotations

import re
from dataclasses import dataclass

# How published models mark their thinking: <think> and its kin, Magistral, Kimi-VL, Sky-T1 and
# OpenThinker, Cohere, gpt-oss (its final channel ends the thinking), Gemma.
_TAG = re.compile(
    r"<(?P<close>/)?(?:seed:)?(?:think|thinking|thoughts?|analysis|reasoning|reflection)>"
    r"|\[(?P<close_2>/)?think\]"
    r"|◁(?P<close_3>/)?think▷"
    r"|<\|(?:begin|start|(?P<close_4>end))_(?:of_)?(?:thought|thinking|think)\|>"
    r"|<\|channel\|>(?:analysis|commentary|(?P<close_5>final))[^<\n]{0,40}<\|message\|>"
    r"|<\|channel>thought\b|(?P<close_6><channel\|>)",
    re.IGNORECASE,
)
# Signs of the chat format that a server may leave in the text.
_TOKEN = re.compile(
    r"<\|[a-z][a-z0-9_]{0,30}\|>(?:(?<=<\|start\|>)assistant)?|<(?:eos|bos|pad|end_of_turn)>|</s>\s*\Z"
    r"|\A\s*<s>|<start_of_turn>(?:model)?",
    re.IGNORECASE,
)
_THINK = re.compile(r"<(?P<close>/?)think>", re.IGNORECASE)
_ANALYSIS = re.compile(r"<(?P<close>/?)analysis>", re.IGNORECASE)
_ANSWER = re.compile(r"<(?P<close>/?)answer>", re.IGNORECASE)
_BRACE = re.compile(r"\\boxed\s{0,3}\{|\\[{}]|[{}]")
# Answers in boxes are short. Longer contents are left out so that nested boxes stay linear.
_LONGEST_BOX = 200


@dataclass(frozen=True, slots=True)
class Stripped:
    """What is left of a reply without its thinking.

    Attributes:
        answer: The answer's text; "" when there is none.
        truncated: The thinking was begun and never ended: the reply was cut off.
    """

    answer: str
    truncated: bool


def strip_reasoning(text: str) -> Stripped:
    """Return the reply without its thinking, in linear time.

    Closed blocks (``<think>``, ``<analysis>``, ``[THINK]``, ``◁think▷``, ``<|begin_of_thought|>``
    and the like, any case) go, and so do signs of the chat format such as ``<|im_end|>``. A
    closing tag without an opening one ends thinking that began before the reply: what follows the
    last such tag is kept. An unclosed block means the reply was cut off: no answer. Where
    ``<answer>`` is left, the content of the last one is the answer.

    >>> strip_reasoning("<think>C?</think>B")
    Stripped(answer='B', truncated=False)
    """
    kept, inside = _outside(text, _TAG)
    if inside:
        return Stripped("", truncated=True)
    answer = _last_answer(_TOKEN.sub("", "".join(kept)))
    return Stripped(answer.strip(), truncated=False)


def strip_official(text: str, answer_tag: bool = False) -> str:
    r"""Return the answer as DiningBench's own scripts cut it out.

    ``<think>…</think>`` goes; where only the closing tag is there, what follows the last one is
    kept; an unclosed block stays. With `answer_tag`, ``<analysis>…</analysis>`` goes too and the
    content of the first ``<answer>`` is kept. Then the content of the first ``\boxed{…}``
    replaces the answer. The scripts do the first three steps by model name, we for every model.

    Source: meituan/DiningBench@516fd54:eval_classification.py, clean_thinking_by_model.
    """
    answer = _without_closed_blocks(text, _THINK)
    if answer_tag:
        answer = _first_answer(_without_closed_blocks(answer, _ANALYSIS))
    boxed = first_boxed(answer)
    return (answer if boxed is None else boxed).strip()


def first_boxed(text: str) -> str | None:
    r"""Return the content of the first ``\boxed{…}``, None where there is none.

    As published it ends at the first closing brace, so a nested one cuts it short; `boxes` is
    the reading that minds nesting.
    """
    start = text.find(r"\boxed{")
    if start < 0:
        return None
    start += len(r"\boxed{")
    end = text.find("}", start)
    return None if end < 0 else text[start:end]


def boxes(text: str) -> list[str]:
    r"""Return the contents of all closed ``\boxed{…}`` up to 200 characters, in closing order.

    Braces are balanced; linear time. An outer box follows the boxes it holds.

    >>> boxes(r"$\boxed{\text{F}}$")
    ['\\text{F}']
    """
    return [text[start:end] for start, end in _box_spans(text) if end - start <= _LONGEST_BOX]


def last_box(text: str) -> str | None:
    r"""Return the content of the last closed ``\boxed{…}`` that is not blank, of any length.

    Braces are balanced; linear time. None where there is none.

    >>> last_box(r"\boxed{rice} no, \boxed{\text{noodles}}")
    '\\text{noodles}'
    """
    # Blank boxes hold no others, so all the slices together are linear.
    contents = (text[start:end].strip() for start, end in reversed(_box_spans(text)))
    return next((content for content in contents if content), None)


def _box_spans(text: str) -> list[tuple[int, int]]:
    """Return where the contents of closed boxes begin and end, in closing order."""
    found: list[tuple[int, int]] = []
    opened: list[int | None] = []
    for match in _BRACE.finditer(text):
        sign = match.group()
        if sign.startswith(r"\boxed"):
            opened.append(match.end())
        elif sign == "{":
            opened.append(None)
        elif sign == "}" and opened:
            start = opened.pop()
            if start is not None:
                found.append((start, match.start()))
    return found


def _outside(text: str, tag: re.Pattern[str]) -> tuple[list[str], bool]:
    """Return the pieces outside closed blocks, and whether a block is still open at the end.

    The pieces before a closing tag without an opening one are dropped.
    """
    kept: list[str] = []
    inside = False
    position = 0
    for match in tag.finditer(text):
        if any(match.groups()):
            if not inside:
                kept.clear()
            inside = False
            position = match.end()
        elif not inside:
            kept.append(text[position : match.start()])
            inside = True
            position = match.start()
    kept.append(text[position:])
    return kept, inside


def _without_closed_blocks(text: str, tag: re.Pattern[str]) -> str:
    return "".join(_outside(text, tag)[0])


def _last_answer(text: str) -> str:
    """Return the content of the last <answer>, closed or not; the text where there is none."""
    start, end = 0, len(text)
    opened = False
    for match in _ANSWER.finditer(text):
        if not match["close"]:
            start, end, opened = match.end(), len(text), True
        elif opened:
            end, opened = match.start(), False
    return text[start:end]


def _first_answer(text: str) -> str:
    r"""Return the content of the first closed <answer>; the text where there is none."""
    start = None
    for match in _ANSWER.finditer(text):
        if not match["close"] and start is None:
            start = match.end()
        elif match["close"] and start is not None:
            return text[start : match.start()]
    return text
