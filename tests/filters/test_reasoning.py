from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.reasoning import (
    Stripped,
    boxes,
    first_boxed,
    strip_official,
    strip_reasoning,
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("G", "G"),
        ("<think>perhaps D</think>\nAnswer: G", "Answer: G"),
        ("<THINK>D?</Think>G", "G"),
        ("<thinking>D</thinking>G", "G"),
        ("<analysis>D</analysis>G", "G"),
        ("<reasoning>D</reasoning> G ", "G"),
        ("D it seems.</think>\nG", "G"),
        ("D</think>E</think>G", "G"),
        ("<think>D <think>E</think>G", "G"),
        ("<think>D</think>E<think>F</think>G", "EG"),
        ("<think></think>", ""),
        ("The tag <thin> stays", "The tag <thin> stays"),
        ("<think>D</think><answer>G</answer> bye", "G"),
        ("<answer>D</answer><answer>G</answer>", "G"),
        ("so <answer>G", "G"),
        ("<think><answer>D</answer></think>G", "G"),
        ("G</answer>", "G</answer>"),
        ("[THINK]D?[/THINK]G", "G"),
        ("D?[/THINK]G", "G"),
        ("◁think▷D◁/think▷G", "G"),
        ("<thought>D</thought>G", "G"),
        ("<seed:think>D</seed:think>G", "G"),
        ("<|begin_of_thought|>D<|end_of_thought|><|begin_of_solution|>G<|end_of_solution|>", "G"),
        ("<|START_THINKING|>D<|END_THINKING|><|START_RESPONSE|>G<|END_RESPONSE|>", "G"),
        (
            "<|channel|>analysis<|message|>D<|end|>"
            "<|start|>assistant<|channel|>final<|message|>G<|return|>",
            "G",
        ),
        ("<|channel>thought\nD<channel|>G", "G"),
        ("G<|im_end|>", "G"),
        ("<s>G</s>", "G"),
        ("a <s>struck</s> word", "a <s>struck</s> word"),
        ("a [thinking] man", "a [thinking] man"),
    ],
)
def test_answer_without_reasoning(text: str, answer: str) -> None:
    assert strip_reasoning(text) == Stripped(answer, truncated=False)


@pytest.mark.parametrize(
    "text",
    [
        *("<think>maybe D, the", "G <think>wait", "a</think>G<THINK>", "<analysis>"),
        *("[THINK]D", "◁think▷D", "<thought>D", "<|begin_of_thought|>D"),
        "<|channel|>analysis<|message|>D",
    ],
)
def test_unclosed_reasoning_is_cut_off(text: str) -> None:
    assert strip_reasoning(text) == Stripped("", truncated=True)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("E", "E"),
        ("<think>a</think>E", "E"),
        ("<think>a</think>E<think>b</think>", "E"),
        ("a</think>\n\nE", "E"),
        ("<think>never closed E", "<think>never closed E"),
        ("<thinking>a</thinking>E", "<thinking>a</thinking>E"),
        (r"<think>\boxed{A}</think>so \boxed{ E }, not \boxed{B}", "E"),
        (r"\boxed{\text{E}}", r"\text{E"),
        (r"\boxed{E", r"\boxed{E"),
        ("<answer>E</answer>", "<answer>E</answer>"),
        # The scripts know no other tags.
        ("[THINK]a[/THINK]E", "[THINK]a[/THINK]E"),
        ("E</s>", "E</s>"),
    ],
)
def test_official_answer(text: str, answer: str) -> None:
    assert strip_official(text) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<analysis>A</analysis><answer> E </answer><answer>B</answer>", "E"),
        (r"<answer>\boxed{E}</answer>", "E"),
        ("<analysis>A</analysis>E", "E"),
        ("<answer>E", "<answer>E"),
    ],
)
def test_official_answer_in_a_tag(text: str, answer: str) -> None:
    assert strip_official(text, answer_tag=True) == answer


@pytest.mark.parametrize(
    ("text", "content"),
    [(r"a \boxed{1} \boxed{2}", "1"), (r"\boxed{}", ""), ("none", None), (r"\boxed{1", None)],
)
def test_first_boxed(text: str, content: str | None) -> None:
    assert first_boxed(text) == content


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (r"\boxed{a} and \boxed {b}", ["a", "b"]),
        (r"\boxed{\frac{1}{2}}", [r"\frac{1}{2}"]),
        (r"\boxed{\boxed{a}}", ["a", r"\boxed{a}"]),
        (r"\boxed{\{a\}}", [r"\{a\}"]),
        (r"\boxed{a", []),
        ("} \\boxed{a}", ["a"]),
        ("\\boxed{" + "x" * 201 + "}", []),
    ],
)
def test_boxes(text: str, contents: list[str]) -> None:
    assert boxes(text) == contents


_PIECES = st.sampled_from(["<think>", "</think>", "<answer>", "</answer>", "B", " ", "\n"])


@given(st.lists(_PIECES, max_size=30))
def test_no_reasoning_tag_is_left(pieces: list[str]) -> None:
    answer = strip_reasoning("".join(pieces)).answer
    assert "<think>" not in answer
    assert "</think>" not in answer


@given(st.text(alphabet="abc \n", max_size=40))
def test_thinking_changes_nothing(text: str) -> None:
    assert strip_reasoning(f"<think>{text}</think>{text}").answer == text.strip()
