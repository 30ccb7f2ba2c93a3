"""Faults of raw answers: cut off, looping; and their length."""

from __future__ import annotations

import math
import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.answers import cut_off, cut_offs, loops, mean_length

SENTENCE = "Wait, let me look at the plate again, it could be braised pork. "


def prose(characters: int, seed: int = 3) -> str:
    """Words that do not repeat as a whole, like an answer that goes on."""
    source = random.Random(seed)
    text = ""
    while len(text) < characters:
        text += "".join(source.choice("aeiounrstl") for _ in range(source.randint(2, 9))) + " "
    return text[:characters]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", False),
        ("B", False),
        ("<think>Could be C, the rice", True),
        ("<think>C?</think>B", False),
        ("Maybe C.</think>B", False),
        ("<THINK>C?", True),
        ("<think>C?</Think>B", False),
        ("<think>a</think>B<think>again", False),
        ("<think>a</think>\n<analysis>again", True),
        (" \n<think>C?", True),
        ("The answer is B. (I avoided using the <think> tag.)", False),
        ("B <analysis>", False),
        ("Not <think> but </think><think>", False),
        ("<think>a<think>b</think>c", False),
        ("<reasoning>long", True),
        ("<analysis>long</analysis>B", False),
        ("</think><thinking>", True),
        ("a < think > b", False),
        ("<answer>B", False),
    ],
)
def test_cut_off(text: str, expected: bool) -> None:
    assert cut_off(text) is expected


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["Could be C", "B"], [False, False]),
        # The prompt opens the reasoning of every answer.
        (["C? No.</think>B", "Could be C, the rice"], [False, True]),
        (
            ["C?</think>\n\nB", "B", " ", "", "<think>C", "<think>C</think>B"],
            [False, True, False, False, True, False],
        ),
        (["C?</think>B", "Is <think> a tag", "Is <think> a tag?</think>B"], [False, True, False]),
        (["C?</think><think>D", "B"], [True, False]),
        # The answers open it themselves.
        (["<think>C?</think>B", "B"], [False, False]),
        (["Is <think> closed by </think>?", "B"], [False, False]),
    ],
)
def test_cut_offs_of_a_run(texts: list[str], expected: list[bool]) -> None:
    assert cut_offs(texts) == expected


def options(sentence: str, letters: str = "ABCDEFGH") -> str:
    return "".join(f"Option {letter}: {sentence}\n" for letter in letters)


@pytest.mark.parametrize(
    "text",
    [
        SENTENCE * 30,
        prose(800) + SENTENCE * 30,
        "<think>" + prose(300) + "".join(f"{SENTENCE}({n}) " for n in range(30)),
        "ha " * 100,
        "a" * 200,
        "\n" * 5000,
        "是不是红烧肉？让我再看看。" * 40,
        prose(300) * 6,
        prose(100) + "{" * 900,
        SENTENCE * 30 + "The answer is B.",
        "\ud800" * 300,
        # 40 rounds of other numbers; the eight options again and again.
        "".join(f"{n}. Is it rice? Let me check the picture again.\n" for n in range(40)),
        options("the dish has red sauce and tofu, not matching.") * 6,
    ],
    ids=lambda text: ascii(text[:20]) + str(len(text)),
)
def test_texts_that_loop(text: str) -> None:
    assert loops(text) is True


@pytest.mark.parametrize(
    "text",
    [
        "",
        "B",
        "a" * 199,
        prose(200),
        prose(20_000),
        SENTENCE * 30 + prose(4000),
        prose(6000) + SENTENCE * 30,  # under a third of the last half
        prose(500) * 2,  # half of the end, and longer than a third of it
        prose(300) * 4,  # two times in the end, each half of it
        "".join(f"{n}. {prose(60, n)}\n" for n in range(100)),
        # Eight options turned down in the same words, once and in both languages.
        options("the dish has red sauce and tofu, not matching."),
        options("does not match the picture shown."),
        options(prose(400)),
        options("图中没有这些配料，而且颜色和摆盘都不一样，所以不符合这道菜。"),
        prose(300) + options("the dish has red sauce and tofu, not matching."),
        "".join(
            f"- {name}: 10 g of protein, 5 g of fat, 20 g of carbohydrates\n"
            for name in ("Rice", "Tofu", "Pork", "Egg")
        ),
    ],
    ids=lambda text: ascii(text[:20]) + str(len(text)),
)
def test_texts_that_do_not_loop(text: str) -> None:
    assert loops(text) is False


@settings(max_examples=150)
@given(st.text(min_size=1, max_size=40), st.text(max_size=200))
def test_any_span_repeated_long_enough_loops(span: str, before: str) -> None:
    assert loops(before + span * (1 + 800 // len(span)))


@settings(max_examples=150)
@given(st.text(min_size=1, max_size=30), st.integers(400, 900))
def test_the_rest_of_the_end_may_be_anything(span: str, size: int) -> None:
    """A fifth is free, less what is lost of the span where it is cut on either side."""
    free = prose(size // 5 - 2 * len(span))
    repeated = (span * size)[: size - len(free)]
    assert loops(prose(size) + free + repeated)
    assert not loops(prose(size) + repeated[: size // 2] + prose(size - size // 2))


@settings(max_examples=150)
@given(st.text(max_size=2000))
def test_any_text_is_judged(text: str) -> None:
    assert loops(text) in (True, False)
    assert cut_off(text) in (True, False)


NASTY = ["<think>", "{", "a", "ab", " ", "```", "\\boxed{", "0123456789", prose(50)]


@pytest.mark.parametrize("unit", NASTY, ids=lambda unit: ascii(unit[:10]))
def test_a_megabyte_is_judged_at_once(unit: str) -> None:
    text = (unit * 1_000_000)[:1_000_000]
    start = time.process_time()
    assert loops(text)
    assert cut_off(text) is (unit == "<think>")
    assert time.process_time() - start < 2


def test_a_megabyte_of_two_letters_is_judged_at_once() -> None:
    source = random.Random(1)
    text = "".join(source.choices("ab", k=1_000_000))
    start = time.process_time()
    assert not loops(text)
    assert time.process_time() - start < 5


def test_mean_length() -> None:
    assert mean_length(["B", "<think>x</think>B", "", "是"]) == (1 + 17 + 0 + 1) / 4
    assert math.isnan(mean_length([]))


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("<think></think>", False),
        ("<think></think> \n", False),
        ("</think>", False),
        ("</think> ", False),
        ("x<think>", False),
        (" <think>", True),
        ("<", False),
    ],
)
def test_a_megabyte_of_tags_is_judged_at_once(unit: str, expected: bool) -> None:
    text = unit * (1_000_000 // len(unit))
    start = time.process_time()
    assert cut_offs([text, text]) == [expected] * 2
    assert time.process_time() - start < 2
