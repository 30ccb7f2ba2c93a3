from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.letters import OfficialChoice, OfficialLetter, RobustLetter
from lmms_eval_food.filters.reading import Status

FAILED = "[LMMS_EVAL_REQUEST_FAILED after 3 retries] Dead connection"


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("C", "C"),
        (" c.", "C"),
        ("(C) Beef", "C"),
        ("The answer is C", "T"),
        ("Answer: C", "A"),
        ("**C**", "C"),
        ("1. C", "C"),
        (r"It is \boxed{C}", "C"),
        ("<think>B?</think>C", "C"),
        ("<think>C", "T"),
        ("éC", None),
        ("答案：C", None),
        ("12 + 3", None),
        (r"\boxed{}C", None),
    ],
)
def test_official_letter(text: str, letter: str | None) -> None:
    reading = OfficialLetter().read(text)
    assert reading.value == letter
    assert reading.status == (Status.OK if letter else Status.UNREADABLE)


@pytest.mark.parametrize(("letter", "marks"), [("H", ()), ("I", ("beyond_options",))])
def test_official_letter_beyond_the_options_counts(letter: str, marks: tuple[str, ...]) -> None:
    reading = OfficialLetter(options=8).read(letter)
    assert (reading.value, reading.status, reading.marks) == (letter, Status.OK, marks)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("D", "D", "D"),
        ("Answer: D", "A", "D"),
        ("<think>B</think>D", "B", "D"),
        ("Could be B. I take C, not xD!", "C", "D"),
        ("d", None, None),
        ("Ｄ", None, None),
        ("EFG", None, None),
    ],
)
def test_official_choice(text: str, first: str | None, last: str | None) -> None:
    assert OfficialChoice().read(text).value == first
    assert OfficialChoice(last=True).read(text).value == last


# Reasoning before the answer, and stray letters in it.
REASONING = [
    ("<think>D looks fried</think>\nAnswer: G", "G"),
    ("D or E, hard to say.</think>\nG", "G"),
    ("<THINK>D!</THINK>G", "G"),
    ("<thinking>D</thinking>(G)", "G"),
    ("<think>D</think><answer>G</answer>", "G"),
]
# Capitals and articles in prose decide nothing.
PROSE = [
    ("A stew with potatoes, hence the answer is D.", "D"),
    ("The answer is C. Many would wrongly choose E.", "C"),
    ("The answer is C since Dumplings and Eggs are shown.", "C"),
    ("d", "D"),
    ("(d)", "D"),
    ("d)", "D"),
    ("answer: d", "D"),
    ("I would choose D - the safest one.", "D"),
    ("I'd go with D.", "D"),
    ("It must be D.", "D"),
    ("Hence this dish is most likely D.", "D"),
    ("The dish is a soup.", None),
    ("D is correct.", "D"),
    ("Given the picture, none of them.", None),
    ("A bowl of soup", None),
    ("a bowl of soup", None),
    ("I am not sure", None),
    ("I", None),
    ("Answer: A bowl of soup", None),
    ("The answer is A because of the bowl.", "A"),
    ("A", "A"),
    ("a", "A"),
    ("A.", "A"),
    ("A) Soup", "A"),
    ("E numbers are on the label", None),
    ("Full of vitamin C and D", None),
    ("c'est une soupe", None),
    ("e.g. soup", None),
    ("The answer is not D", None),
    ("D major", None),
]
# Decoration around the right letter.
DECORATED = [
    ("ANSWER: $G$", "G"),
    ("Answer: $G", "G"),
    ("**G**", "G"),
    ("**Answer:** G", "G"),
    ("The answer is: **G. Fried rice**", "G"),
    ("`G`", "G"),
    ("> G", "G"),
    ("- G", "G"),
    ("# G", "G"),
    ("Option G", "G"),
    ('{"answer": "G"}', "G"),
    ("Answer\n\nG", "G"),
    ("G. Fried rice", "G"),
    ("G) fried rice", "G"),
    ("G: fried rice", "G"),
    ("G Fried rice", "G"),
    ("G, fried rice", "G"),
    ("Final answer: \\text{G}", "G"),
    (r"\boxed{G}", "G"),
    (r"$\boxed{\text{G}}$", "G"),
    (r"\boxed{\mathbf{G}}", "G"),
    (r"\boxed{G: Fried rice}", "G"),
    (r"Half of it, \boxed{\frac{1}{2}}, is left. **Answer: C**", "C"),
    (r"\boxed{\text{neither}}", None),
    (r"\boxed{B} no, rather \boxed{G}", "G"),
    (r"\boxed{B, G}", None),
    (r"The answer is B. \boxed{G}", "G"),
]
# Full width, and Chinese without spaces.
WIDE = [
    ("Ｇ", "G"),
    ("（Ｇ）", "G"),
    ("答案：Ｇ。", "G"),
    ("选Ｇ、不是Ｃ", "G"),
    ("答案是G，因为C太甜。", "G"),
    ("我选择G。", "G"),
    ("正确选项是G", "G"),
    ("G、炒饭", "G"),
    ("G炒饭", "G"),
    ("不选C，选G", "G"),
    ("这道菜应该是G。", "G"),
    ("答案是C、G。", None),
    ("可能是C，也可能是G", None),
]
# Announced in the other languages.
LANGUAGES = [
    ("La respuesta correcta es la G.", "G"),
    ("Respuesta: g", "G"),
    ("La réponse est G.", "G"),
    ("Réponse : (G)", "G"),
    ("La risposta corretta è la G.", "G"),
    ("Risposta: G", "G"),
    ("सही उत्तर G है।", "G"),
    ("उत्तर: G", "G"),
    ("คำตอบคือ G", "G"),
    ("คำตอบที่ถูกต้องคือ ข้อ G", "G"),
    ("答えはGです。", "G"),
    ("正解：G", "G"),
    ("정답은 G입니다.", "G"),
    ("답: G", "G"),
    ("Đáp án đúng là G.", "G"),
    ("Câu trả lời: G", "G"),
    ("La respuesta es a base de arroz", None),
]
# Short replies in the other languages, without an announcement.
NATIVE = [
    ("La opción G.", "G"),
    ("La opción A.", "A"),
    ("L'option G.", "G"),
    ("C'est l'option G.", "G"),
    ("C’est A.", "A"),
    ("L'opzione G.", "G"),
    ("È la G", "G"),
    ("È la A", "A"),
    ("G est correcte", "G"),
    ("G es la correcta", "G"),
    ("A es la correcta", "A"),
    ("Lựa chọn G", "G"),
    ("Lựa chọn đúng là G", "G"),
    ("ตัวเลือก G", "G"),
    ("選択肢はG", "G"),
    ("बस विकल्प G", None),
    ("La respuesta: la letra G", "G"),
    ("Món ăn", None),
]
# Ordinary closings of a reply.
CLOSINGS = [
    ("The best match is **G. Fried rice**.", "G"),
    ("The most suitable option is **G**.", "G"),
    ("This matches option G.", "G"),
    ("Option **G** best matches the dish.", "G"),
    ("Option A best matches the dish.", "A"),
    ("G is the answer", "G"),
    ("So G.", "G"),
    ("So A dish", None),
    ("So A is out.", None),
    ("Conclusion: G", "G"),
    ("Result: G", "G"),
    ("As a result A dish is left", None),
    ("'G'", "G"),
    ("The answer is 'G'.", "G"),
    ("The dish is fried rice (G).", "G"),
    ("It is not fried rice (G).", None),
    ("因此，最符合的选项为G。", "G"),
    ("最匹配的选项：G", "G"),
    ("G选项最符合。", "G"),
    ("综上，图片中的菜品最符合选项 G（炒饭）。", "G"),
    ("结论：G", "G"),
    ("所以G", "G"),
    ("答案字母：G", "G"),
    ("**答案字母：G**", "G"),
    ("答案字母为G", "G"),
    ("最终答案字母：G", "G"),
    ("字母：G", "G"),
    ("答案是_G_。", "G"),
]
# Signs of the chat format, and marks that are never seen.
UNSEEN = [
    ("G</s>", "G"),
    ("<|begin_of_box|>G<|end_of_box|>", "G"),
    ("Answer: G<|im_end|>", "G"),
    ("\u200eG", "G"),
    ("\ufeffG", "G"),
    ("\u2066G\u2069", "G"),
    ("\u200bG\u200b", "G"),
    ("答案是\u200bG", "G"),
]
# What is denied or left open is not claimed; what is affirmed instead is.
DENIED = [
    ("正解はGではありません。", None),
    ("答えはGではない", None),
    ("정답은 G가 아닙니다", None),
    ("उत्तर G नहीं है", None),
    ("答えはCではなくGです", "G"),
    ("답은 C가 아니라 G입니다", "G"),
    ("The answer is not C but G.", "G"),
    ("I don't think the answer is G", None),
    ("It is unclear whether the answer is G", None),
    ("There is no doubt that the answer is G.", "G"),
    ("Not sure, but the answer is G.", "G"),
    ("It is not spicy, so the answer is G.", "G"),
    ("答案不可能是G", None),
    ("我不认为答案是G", None),
    ("如果答案是G", None),
    ("答案不是C，而是G", "G"),
    ("No es la G", None),
    ("Ce n'est pas G", None),
    ("G不对", None),
    ("G不正确", None),
    ("G是错误的", None),
    ("G is incorrect.", None),
    ("G isn't the answer.", None),
    ("G n'est pas correcte", None),
    ("G không đúng", None),
    ("G गलत है", None),
    ("Gは間違いです", None),
    ("G는 틀렸습니다", None),
    ("C - no, G", "G"),
    ("C不是，G是", "G"),
    ("C错，G对", "G"),
    ("A和C都不对，G才对", "G"),
    ("选G不选C", "G"),
    ("B、C、D都不对，所以选G", "G"),
    ("G是否正确不清楚", None),
    ("The answer is G, as C is wrong.", "G"),
    ("The answer is C. No, it is G.", "G"),
    ("Answer: G. No egg is visible.", "G"),
    ("G. No-bake cake", "G"),
    ("G. Not spicy tofu", "G"),
    ("G 不辣的豆腐", "G"),
]
# Several letters: the last announcement, or no answer.
SEVERAL = [
    ("The answer is C. On reflection the answer is G.", "G"),
    ("The answer is G. Wait, no, C.", None),
    ("The answer is C or G.", None),
    ("The answer is C.\n\nG", None),
    ("The answer is G.\n\n**G**", "G"),
    ("Answer: C, G", None),
    ("C or G", None),
    ("C/G", None),
    ("Both C and G are correct", None),
    ("The answer is G, A is another dish.", "G"),
    ("I would pick C. I would pick G.", None),
    ("C\nThe sauce is dark.\nG", None),
    ("A. Soup\nB. Rice\nC. Tofu\nD. Cake", None),
    ("A. Soup B. Rice C. Tofu D. Cake\nAnswer: C", "C"),
    ("A thick soup.\n\nG", "G"),
]


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        *(*REASONING, *PROSE, *DECORATED, *WIDE, *LANGUAGES, *NATIVE),
        *(*CLOSINGS, *UNSEEN, *DENIED, *SEVERAL),
    ],
)
def test_robust_letter(text: str, letter: str | None) -> None:
    reading = RobustLetter(options=8).read(text)
    assert reading.value == letter
    assert reading.status == (Status.OK if letter else Status.UNREADABLE)
    assert reading.raw == text


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("First it looks like A.\nThen B is likely.\nC", "C"),
        ("The answer seems to be A? No.\n\n(C)", "C"),
        ("这道菜可能是A。\n辣，所以是川菜。\nC", "C"),
        ("Thinking aloud.\n\nC. Sichuan", "C"),
        ("C\nThe sauce is dark.\nD", "D"),
        ("So the answer is C.", "C"),
        ("It is A or maybe B.", None),
        ("First I choose A.\nOn reflection, I choose B.", "B"),
        ("初看选A。\n仔细看后，最终选B。", "B"),
        ("It could be that it is A.\nBut it is B.", "B"),
        ("The answer is B. No, it is D.", "D"),
        ("I choose B. But B is wrong.", None),
        ("I choose C. I don't think the answer is B.", "C"),
        ("初看是A。但A不对，应该是C。", "C"),
        ("I choose A, then I choose B or C.", None),
        ("可能是C，也可能是D", None),
        ("选A。\n不对，选B", "B"),
        # What follows an announcement explains it.
        ("The answer is B.\n\nThe picture also matches option C in part.", "B"),
        ("1. 是面。\n2. A是米饭，不符合。\n3. 属于湘菜。\n\n答案字母：D", "D"),
        ("A. Soup\nB. Rice\nC. Tofu\n因此是C。", "C"),
        (r"\boxed{A} Answer: B", "A"),
    ],
)
def test_robust_letter_from_the_end(text: str, letter: str | None) -> None:
    assert RobustLetter(options=4, last=True).read(text).value == letter


@pytest.mark.parametrize("text", ["Answer: E", "E", r"\boxed{E}", "选E"])
def test_robust_letter_beyond_the_options_is_no_answer(text: str) -> None:
    reading = RobustLetter(options=4).read(text)
    assert (reading.value, reading.status) == (None, Status.UNREADABLE)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, Status.EMPTY),
        ("", Status.EMPTY),
        (" \n", Status.EMPTY),
        (FAILED, Status.FAILED),
        ("[LMMS_EVAL_BUDGET_EXCEEDED]", Status.FAILED),
        ("<think>It could be D, the", Status.TRUNCATED),
        ("<think>D</think>", Status.EMPTY),
    ],
)
def test_robust_letter_without_an_answer(text: str | None, status: Status) -> None:
    reading = RobustLetter().read(text)
    assert (reading.value, reading.status) == (None, status)


@pytest.mark.parametrize("reader", [OfficialLetter(), OfficialChoice()])
@pytest.mark.parametrize(
    ("text", "status"), [(None, Status.EMPTY), ("\t", Status.EMPTY), (FAILED, Status.FAILED)]
)
def test_official_letter_without_an_answer(
    reader: OfficialLetter | OfficialChoice, text: str | None, status: Status
) -> None:
    reading = reader.read(text)
    assert (reading.value, reading.status) == (None, status)


@given(
    st.sampled_from("ABCDEFGH"),
    st.sampled_from(["{}", "({})", "**{}**", "Answer: {}", "答案：{}", r"\boxed{{{}}}", "{}."]),
    st.sampled_from(["", "<think>B or C</think>", "\n\n"]),
)
def test_every_letter_is_read_in_every_dress(letter: str, dress: str, before: str) -> None:
    assert RobustLetter().read(before + dress.format(letter)).value == letter


# Natural closings of a reply that reasoned first, as models write them.
ENDINGS = [
    "3. Comprehensive Answer: Among the options, the best match is **{}. 肉丝面**.",
    "The option that best matches the image is **{}. Noodles**.",
    "the closest match is option {}.",
    "This corresponds to option **{}**.",
    "Therefore, I conclude that the dish is 肉丝面 ({}).",
    "**{}. 肉丝面** is the best match.",
    "Thus, {}.",
    "So the dish shown is option {}.",
    "Hence option {}.",
    "最相符的选项为 **{}. 肉丝面**",
    "综上，图中菜品为{}. 肉丝面。",
    "与图中菜品最相符的是 **{}. 肉丝面**。",
    "最接近选项{}。",
    "对应选项 **{}**。",
    "因此，答案应该是：\n**{}. 肉丝面**",
    "因此是{}项",
    "故{}正确",
    "最终结果：{}",
    "最终选择：**{}**",
    "Selected: {}",
    "Final choice: {}",
    "Correct: {}",
    "Prediction: {}",
]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("letter", "AD")
def test_robust_letter_of_ordinary_endings(ending: str, letter: str) -> None:
    text = "The picture shows a bowl.\n\n" + ending.format(letter)
    assert RobustLetter(options=4, last=True).read(text).value == letter


@given(st.text(max_size=80), st.booleans())
def test_robust_letter_is_within_the_options(text: str, last: bool) -> None:
    assert RobustLetter(options=3, last=last).read(text).value in {None, "A", "B", "C"}
