from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.reading import Status
from lmms_eval_food.filters.yesno import OfficialYesNo, RobustYesNo
from lmms_eval_food.filters.yesno_words import fold, lexicon

CODES = ("en", "zh", "es", "fr", "hi", "it", "th", "ja", "ko", "vi")
REPLIES = yaml.safe_load(Path(__file__).with_name("yesno_replies.yaml").read_text("utf-8"))
KINDS = {
    "affirmative": "yes",
    "negative": "no",
    "robust_affirmative": "yes",
    "robust_negative": "no",
}
ANSWERS = {"affirmative": "yes", "negative": "no", "neither": None}


def replies() -> Iterator[tuple[str, str, str | None]]:
    for code, kinds in REPLIES.items():
        for kind, texts in kinds.items():
            yield from ((code, text, ANSWERS[kind]) for text in texts)


def test_every_language_has_thirty_right_answers() -> None:
    counts = Counter(code for code, _, _ in replies())
    assert set(counts) == set(CODES)
    assert min(counts.values()) >= 30


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(("code", "text", "answer"), list(replies()))
def test_robust_answer(code: str, text: str, answer: str | None, form: str) -> None:
    reading = RobustYesNo().read(unicodedata.normalize(form, text))
    if answer is None:
        assert (reading.value, reading.status) == (None, Status.UNREADABLE)
    else:
        assert reading.status == Status.OK
        assert reading.value["answer"] == answer
        assert code in reading.value["languages"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("Ｙｅｓ。", "yes"),
        ("（否）", "no"),
        (r"\boxed{No}", "no"),
        (r"$\boxed{\text{Yes}}$", "yes"),
        (r"\boxed{Yes} \boxed{No}", None),
        (r"\boxed{maybe}", None),
        ("<think>no, no</think>Yes", "yes"),
        ("no.</think>\nYes", "yes"),
        ("<answer>No</answer>", "no"),
        ('{"answer": "no"}', "no"),
        ("## Answer\n**No**", "no"),
        ("- Yes", "yes"),
        ("_Yes_", "yes"),
        ("The dish has tofu in it.\n\nSo, yes.", "yes"),
        ("The dish has tofu in it.\nNo", "no"),
        ("Yes. Looking closer, the answer is no.", None),
        ("The answer is no. The answer is yes.", None),
        ("The answer is yes or no.", None),
        ("No-bake cake", None),
        ("No one can tell", None),
        ("It has yes written on it", None),
        ("Nothing", None),
        ("yes5", None),
        ("\u200eYes", "yes"),
        ("\u200fNo.", "no"),
        ("\ufeffYes", "yes"),
        ("\u2066No\u2069", "no"),
        ("Yes\u200bno", None),
        ("हाँ\u200d", "yes"),
        ("बिल्\u200dकुल सही है", "yes"),
        ("yes -> no", None),
        ("no/yes: no/yes: no", None),
    ],
)
def test_robust_shapes(text: str, answer: str | None) -> None:
    value = RobustYesNo().read(text).value
    assert (value["answer"] if value else None) == answer


@pytest.mark.parametrize(
    ("text", "answer", "languages"),
    [
        ("No", "no", ["en", "es", "it"]),
        ("Yes", "yes", ["en"]),
        ("Non", "no", ["fr", "it"]),
        ("Sì", "yes", ["it"]),
        ("Sí", "yes", ["es", "it"]),
        ("Không", "no", ["vi"]),
        ("Yes. 答案：是", "yes", ["zh", "en"]),
    ],
)
def test_languages_of_the_word(text: str, answer: str, languages: list[str]) -> None:
    value = RobustYesNo().read(text).value
    assert value is not None
    assert value["answer"] == answer
    assert sorted(value["languages"]) == sorted(languages)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" YES, it is", "yes"),
        ("No.", "no"),
        ("Not really", None),
        ("know", None),
        ("Oui", "yes"),
        ("ouïe", None),
        ("是不是很难判断", "yes"),
        ("不是", "no"),
        ("ไม่ใช่ครับ", "no"),
        ("ใช่หรือไม่", "yes"),
        ("はいった", "yes"),
        ("हाँ", "yes"),
        ("हांडी", None),
        ("예상", None),
        ("**Yes**", None),
        ("Answer: yes", None),
        ("<think>x</think>yes", None),
        ("Si\u0301", "yes"),
        ("Không có", "no"),
        ("Cóc", None),
    ],
)
def test_official_answer(text: str, answer: str | None) -> None:
    reading = OfficialYesNo().read(text)
    assert (reading.value["answer"] if reading.value else None) == answer
    assert reading.status == (Status.OK if answer else Status.UNREADABLE)


@pytest.mark.parametrize("reader", [OfficialYesNo(), RobustYesNo()])
@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, Status.EMPTY),
        ("  ", Status.EMPTY),
        ("[LMMS_EVAL_REQUEST_FAILED after 5 retries] no", Status.FAILED),
    ],
)
def test_no_reply(reader: OfficialYesNo | RobustYesNo, text: str | None, status: Status) -> None:
    reading = reader.read(text)
    assert (reading.value, reading.status) == (None, status)


@pytest.mark.parametrize(
    ("text", "status"), [("<think>yes", Status.TRUNCATED), ("<think>yes</think>", Status.EMPTY)]
)
def test_only_reasoning(text: str, status: Status) -> None:
    assert RobustYesNo().read(text).status == status


def table() -> dict[str, dict[str, list[str]]]:
    import lmms_eval_food.filters.yesno_words as module

    path = Path(module.__file__).with_name("yesno_words.yaml")
    words: dict[str, dict[str, list[str]]] = yaml.safe_load(path.read_text("utf-8"))
    return words


@pytest.mark.parametrize("code", CODES)
def test_every_word_of_the_table_is_read_alone(code: str) -> None:
    words = table()[code]
    for kind, answer in KINDS.items():
        for word in words[kind]:
            found = lexicon(strict=True).at(fold(word))
            assert found is not None, word
            assert (found.answer, found.end) == (answer, len(fold(word))), word
            assert code in found.languages, word


def test_the_official_reading_minds_the_plain_words_only() -> None:
    for text, answer in (("没有错", "no"), ("符合", None), ("No images", "no"), ("ハイ", None)):
        value = OfficialYesNo().read(text).value
        assert (value["answer"] if value else None) == answer


def test_many_repeated_choices_end() -> None:
    for text in ("yes/no: ", "no doubt, ", "no se ve nada ", "the answer is not "):
        OfficialYesNo().read(text * 20_000)
        assert RobustYesNo().read(text * 20_000).value is None or text == "no doubt, "


@pytest.mark.parametrize("code", CODES)
def test_words_that_answer_alone_are_answers(code: str) -> None:
    words = table()[code]
    answers = {word for kind in KINDS for word in words[kind]}
    assert set(words["alone"]) | set(words["openers"]) <= answers


def test_no_word_is_yes_and_no() -> None:
    words = table().values()
    said = [
        (answer, fold(word))
        for entry in words
        for kind, answer in KINDS.items()
        for word in entry[kind]
    ]
    yes = {word for answer, word in said if answer == "yes"}
    no = {word for answer, word in said if answer == "no"}
    undecided = {fold(word) for entry in words for word in entry["undecided"]}
    assert not yes & no
    assert not (yes | no) & undecided


@given(st.sampled_from(["yes", "no"]), st.text(alphabet="abc xyz", max_size=20))
def test_a_word_that_goes_on_is_no_answer(word: str, rest: str) -> None:
    assert RobustYesNo().read(f"{word}q{rest}").value is None


@given(st.sampled_from(["Yes", "No", "是的", "ไม่ใช่", "Không"]), st.sampled_from("*\"'_`("))
def test_markup_changes_nothing(word: str, sign: str) -> None:
    bare, marked = RobustYesNo().read(word).value, RobustYesNo().read(f"{sign}{word}{sign}").value
    assert bare == marked is not None


# yesstr and nostr of the POSIX messages of CLDR 48.2 (npm package cldr-misc-full), without the
# one-letter abbreviations.
CLDR = {
    "zh": (["确定", "是"], ["否定", "否"]),
    "en": (["yes"], ["no"]),
    "es": (["sí"], ["no"]),
    "fr": (["oui"], ["non"]),
    "hi": (["हाँ"], ["नहीं"]),
    "it": (["sì"], ["no"]),
    "th": (["ใช่"], ["ไม่ใช่"]),
    "ja": (["はい"], ["いいえ"]),
    "ko": (["예"], ["아니요"]),
    "vi": (["có"], ["không"]),
}


@pytest.mark.parametrize("reader", [OfficialYesNo(), RobustYesNo()])
@pytest.mark.parametrize("language", CLDR)
def test_the_base_words_are_those_of_cldr(language: str, reader: OfficialYesNo) -> None:
    for answer, words in zip(("yes", "no"), CLDR[language], strict=True):
        for word in words:
            value = reader.read(word).value
            assert value["answer"] == answer
            assert language in value["languages"]
