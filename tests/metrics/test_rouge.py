import importlib
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics import rouge as module
from lmms_eval_food.metrics.rouge import RougeMissingError, RougeScores, rouge

pytest.importorskip("jieba")
pytest.importorskip("rouge_chinese")

LONG = 300_000
# The package adds 1e-8 to the denominator of F.
NEARLY = 1e-7


def f_score(common, predicted, true):
    precision, recall = common / predicted, common / true
    return 2 * precision * recall / (precision + recall) if common else 0.0


# (prediction, truth, (common, predicted, true) for words, pairs of words, subsequence)
BY_HAND = [
    ("steamed", "steamed", (1, 1, 1), (0, 1, 1), (1, 1, 1)),
    ("fried", "steamed", (0, 1, 1), (0, 1, 1), (0, 1, 1)),
    ("Steamed", "steamed", (0, 1, 1), (0, 1, 1), (0, 1, 1)),
    # the, rice, is, hot | is, the, rice, hot: pairs "the rice"; subsequence "the rice hot".
    ("the rice is hot", "is the rice hot", (4, 4, 4), (1, 3, 3), (3, 4, 4)),
    # Words and pairs count once however often they occur; the subsequence counts them all.
    ("hot hot hot soup", "hot soup", (2, 2, 2), (1, 2, 1), (2, 4, 2)),
    # steamed, "," fish | steamed, fish
    ("steamed, fish", "steamed fish", (2, 3, 2), (0, 2, 1), (2, 3, 2)),
    # 牛肉, 面条 | 牛肉
    ("牛肉面条", "牛肉", (1, 2, 1), (0, 1, 1), (1, 2, 1)),
    # 番茄, 和, 鸡蛋 | 鸡蛋, 和, 番茄
    ("番茄和鸡蛋", "鸡蛋和番茄", (3, 3, 3), (0, 2, 2), (1, 3, 3)),
]


@pytest.mark.parametrize(("prediction", "truth", "words", "pairs", "subsequence"), BY_HAND)
def test_worked_by_hand(prediction, truth, words, pairs, subsequence):
    scores = rouge(prediction, truth)
    assert scores.rouge_1 == pytest.approx(f_score(*words), abs=NEARLY)
    assert scores.rouge_2 == pytest.approx(f_score(*pairs), abs=NEARLY)
    assert scores.rouge_l == pytest.approx(f_score(*subsequence), abs=NEARLY)


@pytest.mark.parametrize(
    ("prediction", "truth"), [("", "soup"), ("soup", ""), ("", ""), ("  \n ", "soup"), ("汤", " ")]
)
def test_no_words_score_nothing(prediction, truth):
    assert rouge(prediction, truth) == RougeScores(0.0, 0.0, 0.0)


TEXTS = st.lists(
    st.sampled_from(
        [
            "红烧",
            "牛肉",
            "面",
            "炖",
            "的",
            "。",
            "？",
            "，",
            " ",
            "\n",
            "……",
            "”",
            "soup",
            "hot ",
            "3.5",
        ]
    ),
    max_size=12,
).map("".join)


@settings(max_examples=100)
@given(TEXTS, TEXTS)
def test_equal_to_the_package_called_as_published(prediction, truth):
    jieba, package = importlib.import_module("jieba"), importlib.import_module("rouge_chinese")
    texts = [" ".join(jieba.cut(text)) for text in (prediction, truth)]
    try:
        (expected,) = package.Rouge().get_scores(*texts)
    except ValueError:  # it has no score for a text without words
        expected = {name: {"f": 0.0} for name in ("rouge-1", "rouge-2", "rouge-l")}
    scores = rouge(prediction, truth)
    for name in ("rouge-1", "rouge-2", "rouge-l"):
        found = getattr(scores, name.replace("-", "_"))
        assert found == pytest.approx(expected[name]["f"], rel=1e-12, abs=1e-15)


@settings(max_examples=100)
@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_scores_in_range_and_both_ways_alike(first, second):
    scores, turned = rouge(first, second), rouge(second, first)
    for name in ("rouge_1", "rouge_2", "rouge_l"):
        assert 0 <= getattr(scores, name) < 1
        assert getattr(scores, name) == pytest.approx(getattr(turned, name), abs=1e-12)


@settings(max_examples=50)
@given(TEXTS.filter(str.strip))
def test_the_truth_itself_is_best(truth):
    assert rouge(truth, truth).rouge_1 == pytest.approx(1, abs=NEARLY)
    assert rouge(truth, truth).rouge_l == pytest.approx(1, abs=NEARLY)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["鑫", "炖 ", "。", "a", "7", "{", "<think>", "\n", "…", "炖熟的，"]
)
def test_a_long_prediction_takes_no_long_time(part):
    text = part * (LONG // len(part))
    start = time.perf_counter()
    rouge(text, "这碗面里的肉是炖熟的")
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize("missing", ["jieba", "rouge_chinese"])
def test_a_missing_package_is_said(missing, monkeypatch):
    module._packages.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(RougeMissingError, match=r"pip install 'lmms-eval-food\[rouge\]'"):
        rouge("soup", "soup")
    with pytest.raises(RougeMissingError, match=missing):
        module.load()
