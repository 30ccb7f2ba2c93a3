import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.verdict import official_verdict, strict_verdict

MILLION = 1_000_000

RIGHT = [
    "yes",
    "Yes.",
    "YES!",
    "**yes**",
    "- yes",
    "“Yes”",
    "Ｙｅｓ",
    "Verdict: yes",
    "**Judgment:** Yes, both name the same soup.",
    "My final verdict is: correct.",
    "Yes, I see no error.",
    "Yes - nothing is missing",
    "Yes (the wording differs)",
    "<think>No meat, so perhaps no.</think>\nyes",
    r"\boxed{yes}",
    r"$\boxed{\text{Yes}}$",
    '{"verdict": "yes", "reason": "no difference"}',
    '{"is_correct": true}',
    "The two agree. Correct.",
    "Both say that it is boiled.\nSo, yes.",
    "Answer: yes",
    "是",
    "是的。",
    "“是”",
    "是，两句话是一个意思",
    "判定：是",
    "最终判断：是。",
    "【结论】是",
    "两句话意思相同。\n因此，是。",
    "正确",
    "参考答案：否\n待核对的回答：不辣\n判定：是",
    "1",
    "1.",
    "[1]",
    "1 - 3 items agree",
    "Score: 1.0",
    "评分：1",
]
WRONG = [
    "no",
    "No.",
    "**No**",
    "No, although yes would fit an older menu",
    "Today's dish is another one: No",
    "Judgement: no\nReference answer: yes",
    "Not correct.",
    "incorrect",
    "Verdict: wrong. Two of 3 items are right.",
    "No. The correct answer is: yes",
    "The answers differ. No.",
    "否",
    "否。",
    "不是",
    "不是的，答案说的是炸",
    "不正确",
    "不对，一个是炸，一个是炖",
    "不一致",
    "错误。",
    "是否一致：否",
    "答案：否",
    "0",
    "0 - there is 1 item too many",
    "Score: 0. Item 1 is missing.",
    "Rating: 0\nCount: 1",
]
UNCLEAR = [
    "",
    "   ",
    "That depends on the sauce.",
    "Not sure, no photo shows it",
    "Yes or no",
    "Yes/No",
    '"yes" or "no"',
    "是/否",
    "“是”或“否”",
    "是不是一致很难说",
    "是否正确？",
    "对比两句话",
    "正确答案是炖",
    "Yes\n\nNo",
    "No difference between the two",
    "Nothing is wrong here",
    "Yesterday",
    "Notable",
    "Reference answer: no",
    "预测答案：是",
    "The reference says: yes",
    "<think>It says yes",
    "1. Both are soups.\n2. Both are hot.",
    "1/2",
    "10",
    "0.5",
    "1:1",
    "1 item is missing",
    "Score: 10",
    "Items found: 1",
]


@pytest.mark.parametrize("text", RIGHT)
def test_right(text):
    assert strict_verdict(text) is True


@pytest.mark.parametrize("text", WRONG)
def test_wrong(text):
    assert strict_verdict(text) is False


@pytest.mark.parametrize("text", UNCLEAR)
def test_no_verdict(text):
    assert strict_verdict(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Yes", True),
        ("是", True),
        ("True", True),
        ("they match", True),
        ("the same", True),
        ("一致", True),
        ("相同", True),
        ("等价", True),
        ("正确", True),
        ("No", False),
        ("FALSE", False),
        ("incorrect", False),
        ("different", False),
        ("否", False),
        ("不一致", False),
        ("不同", False),
        ("错误", False),
        ("", False),
        ("perhaps", False),
        ("0", False),
        ("1", False),
        # Faults of the published rule, kept.
        ("不是", True),
        ("不正确", True),
        ("不对", False),
        ("Yes, there is nothing else.", False),
        ("Yes, I know.", False),
        ("是，没有不同", False),
        ("eyes", True),
    ],
)
def test_official_keywords(text, expected):
    assert official_verdict(text) is expected


@given(st.text(st.characters(codec=None)))
def test_any_text_is_read(text):
    assert strict_verdict(text) in {True, False, None}
    assert official_verdict(text) in {True, False}


PARTS = st.sampled_from(
    [
        "yes",
        "no",
        "是",
        "否",
        "不",
        "1",
        "0",
        ".",
        ":",
        "：",
        "\n",
        " ",
        "Score",
        "判定",
        "so, ",
        "the ",
    ]
)


@given(st.lists(PARTS, max_size=8).map("".join))
def test_decoration_changes_nothing(text):
    plain = strict_verdict(text)
    assert strict_verdict(f"<think>yes. no.</think>{text}") is plain
    assert strict_verdict(f"\n {text} \n") is plain


@given(st.lists(PARTS, max_size=8).map("".join))
def test_a_contradiction_is_no_verdict(text):
    verdict = strict_verdict(f"{text}\nVerdict: yes\nVerdict: no\n{text}")
    assert verdict is None


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        *(
            "<think>",
            "</think>",
            "{",
            "1",
            " ",
            "\n",
            "`",
            "\\boxed{",
            "yes",
            "yes ",
            "no-",
            "判断",
        ),
        *("the ", "final ", "score:", "score: ", "so, ", "- ", " - ", '"', "结论是", "\u0301"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "\n{}", "yes {}", "{}\nno"])
def test_a_long_reply_takes_no_long_time(part, around):
    text = around.format(part * (MILLION // len(part))) if part != "{" else part * MILLION
    start = time.perf_counter()
    strict_verdict(text)
    official_verdict(text)
    assert time.perf_counter() - start < 10
