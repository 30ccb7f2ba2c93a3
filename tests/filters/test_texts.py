"""The text of an answer: boxes, markers of a final answer, and all of it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.filters.texts import OfficialText, RobustText

THOUGHT = "1. Visual Observation: white, soft.\n2. Ingredient Breakdown: flour, yeast.\n"


def last(text: str) -> tuple[str | None, str]:
    reading = RobustText(last=True).read(text)
    return reading.value, reading.step


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (THOUGHT + "3. Comprehensive Answer: Yes, it is steamed.", "Yes, it is steamed."),
        (THOUGHT + "### 3. Comprehensive Answer\n\nYes", "Yes"),
        (THOUGHT + "**3. Comprehensive Answer:** It is **steamed**.", "It is steamed."),
        (THOUGHT + "**Step 3: Comprehensive Answer**\nNo", "No"),
        (THOUGHT + "Step 3 - Comprehensive Answer - No", "No"),
        (THOUGHT + "3. Comprehensive Answer: fried?\n\n**Final Answer:** Steamed", "Steamed"),
        (THOUGHT + "3. Comprehensive Answer:\n- rice\n- beef", "- rice\n- beef"),
        (THOUGHT + "**Answer**: Yes", "Yes"),
        (THOUGHT + "_Answer:_ 5", "5"),
        (THOUGHT + "Final Answer (concise): 5", "5"),
        (THOUGHT + "The final answer is: **5**.", "5."),
        (THOUGHT + "Conclusion: halal", "halal"),
        (THOUGHT + "So the answer is yes.", "yes."),
        ("Answer: no. Wait.\nAnswer: Yes\nAnswer:", "Yes"),
        ("Answer: no, the answer is unclear", "no, the answer is unclear"),
        ("1. 视觉观察：白色。\n2. 食材分析：面粉。\n3. 综合回答：是", "是"),
        ("**3. 综合答案**\n清蒸", "清蒸"),
        ("步骤三：综合回答\n清蒸", "清蒸"),
        ("分析……\n最终答案：**清蒸**", "清蒸"),
        ("先看图。答案：清蒸", "清蒸"),
        ("答：是的", "是的"),
        ("所以答案是清蒸。", "清蒸。"),
    ],
)
def test_chain_of_thought_ends_with_its_answer(text: str, answer: str) -> None:
    assert last(text) == (answer, "marker")
    assert last(f"<think>Answer: B</think>{text}") == (answer, "marker")
    # Without steps asked for, the reply is the answer.
    assert RobustText().read(text).value == text


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{Yes}", "Yes"),
        (r"$\boxed{\text{Steamed buns}}$.", "Steamed buns"),
        (r"\boxed{fried} no: \boxed{steamed}, as seen.", "steamed"),
        (r"\boxed{Yes}, and the final answer: No", "Yes"),
        (r"\boxed{steamed} \boxed{ }", "steamed"),
        (r"\boxed{\boxed{25\%}}", "25%"),
        (rf"\boxed{{{'rice ' * 100}}}", ("rice " * 100).strip()),
    ],
)
def test_a_box_goes_first(text: str, answer: str) -> None:
    assert last(text) == (answer, "box")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"\boxed{Yes}", "Yes"),
        (r"**$\boxed{\text{Steamed buns}}$**.", "Steamed buns"),
        (r"\[ \boxed{\boxed{Yes}} \]", "Yes"),
        (r"\boxed{steamed} fish", None),
        (r"\boxed{rice} and \boxed{beef}", None),
        (r"{Yes} \boxed{No}", None),
        ("{}", None),
    ],
)
def test_without_chain_of_thought_only_a_box_that_is_all(text: str, answer: str | None) -> None:
    reading = RobustText().read(text)
    assert reading.value == (answer or text)
    assert reading.step == ("box" if answer else "text")


@pytest.mark.parametrize(
    "text",
    [
        "It is steamed.",
        "My answer is based on the picture.",
        "Answer the question from the picture: steamed",
        "Answer:",
        r"\boxed{steamed",
        r"\boxed{}",
    ],
)
def test_without_a_final_answer_the_whole_text_is_it(text: str) -> None:
    assert last(text) == (text, "text")


def test_official_stays_as_published() -> None:
    text = THOUGHT + r"3. Comprehensive Answer: \boxed{fried} or \boxed{steamed}"
    assert OfficialText().read(text).value == "fried"
    assert OfficialText().read(THOUGHT + "Answer: no").value == THOUGHT + "Answer: no"


@given(st.text(alphabet="Answer:：\\boxed{} \n*答案是1.", max_size=60))
def test_any_text_has_a_value_that_is_not_blank(text: str) -> None:
    reading = RobustText(last=True).read(text)
    assert bool(reading.value and reading.value.strip()) == (reading.status is Status.OK)


@pytest.mark.parametrize(
    "unit",
    [
        *(
            "Answer:",
            "answer ",
            "\nanswer",
            "the final answer is ",
            "答案：",
            "\n答案",
            "** \n",
            "\n# ",
        ),
        *("\\boxed{", "\\boxed{}", "\\boxed{a}", "\n1. step 1: ", "the ", "answer (", "最终综合"),
    ],
)
def test_nasty_repeats_take_linear_time(unit: str) -> None:
    """Quadratic time would take minutes for this length."""
    text = unit * (400_000 // len(unit))
    start = time.process_time()
    RobustText(last=True).read(text)
    RobustText(last=True).read(text + "}" * 100_000)
    assert time.process_time() - start < 8
