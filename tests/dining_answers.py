"""Hypothesis strategies: DiningBench answers as models write them, good and bad."""

from __future__ import annotations

import json

from hypothesis import strategies as st

KEYS = (
    ("calories", "卡路里"),
    ("protein", "蛋白质"),
    ("carbohydrates", "碳水化合物"),
    ("fat", "脂肪"),
)
FAILED = "[LMMS_EVAL_REQUEST_FAILED after 5 retries] Connection error."

_numbers = st.integers(0, 1500) | st.integers(0, 15000).map(lambda tenths: tenths / 10)
_values = (
    _numbers
    | _numbers.map(str)
    | st.sampled_from(["nan", "inf", " 12 ", "1e2", "12 g", "12-15", "", "１２", "-3", "1_0"])
    | st.sampled_from([None, True, float("nan"), -5, [], {}])
)


@st.composite
def _objects(draw: st.DrawFn) -> str:
    """An object's text: mostly all keys in one language, mostly numbers, sometimes neither."""
    good = draw(st.integers(0, 3)) > 0
    language = draw(st.integers(0, 1))
    found = {"精炼菜品名称": "麻婆豆腐"} if draw(st.booleans()) else {}
    for names in KEYS:
        if good or draw(st.integers(0, 9)) > 0:
            key = names[language if good else draw(st.integers(0, 1))]
            found[key] = draw(_numbers if good else _values)
    if draw(st.booleans()):
        found = dict(reversed(found.items()))
    text = json.dumps(found, ensure_ascii=False, indent=draw(st.sampled_from([None, 2])))
    broken = draw(st.integers(0, 9))
    return {0: text[:-1], 1: text.replace('"', "'"), 2: text + "}"}.get(broken, text)


def _wrapped(draw: st.DrawFn, answer: str) -> str:
    """An answer in what models put around it."""
    fences = [answer] * 3 + [
        f"```json\n{answer}\n```",
        f"```\n{answer}```",
        f"Sure!\n```json\n{answer}\n```\nEnjoy.",
        rf"\boxed{{{answer}}}",
        rf"The answer is $\boxed{{ {answer} }}$.",
        f"Answer: {answer}",
        f"```json\n{answer}",
        "",
    ]
    thoughts = ["", "", "<think>B or C? {1}</think>\n\n", "A fish, D?</think>", "<THINK>x</THINK>"]
    thoughts += ["<think>never done ", "<think>1</think>2</think>", r"<think>\boxed{Z}</think>"]
    return draw(st.sampled_from(thoughts)) + draw(st.sampled_from(fences))


@st.composite
def _nutrition(draw: st.DrawFn) -> str | None:
    answer = draw(_objects())
    if draw(st.integers(0, 9)) == 0:
        answer += "\n" + draw(_objects())
    return draw(st.sampled_from([_wrapped(draw, answer)] * 18 + [FAILED, None]))


@st.composite
def _letter(draw: st.DrawFn) -> str | None:
    letter = draw(st.sampled_from("ABCDEFGHIabcdefgh"))
    forms = [
        letter,
        f"{letter}. Mapo tofu",
        f"The answer is {letter}",
        f"答案：{letter}",
        f"({letter})",
    ]
    forms += [f"**{letter}**", f"1) {letter}", "None of these", "…", "Ｂ", rf"\text{{{letter}}}"]
    answer = draw(st.sampled_from(forms))
    return draw(st.sampled_from([_wrapped(draw, answer)] * 18 + [FAILED, None]))


nutrition_answers = _nutrition()
letter_answers = _letter()
truths = st.lists(st.integers(0, 9000).map(lambda tenths: tenths / 10), min_size=4, max_size=4)
