"""Option preference and yes-rate: hand-worked values and what always holds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_food.metrics.response_bias import option_preference, yes_bias

FEW = 200  # Resamples, where their number does not matter.

words = st.sampled_from(["yes", "no"])
letters = st.sampled_from("ABCD")


def test_option_preference_by_hand() -> None:
    # Picked 6, 2, 1; right 4, 4, 1; one more answer has no letter. With two degrees of freedom the
    # p of a statistic x is exp(-x / 2).
    found = option_preference(
        [*"AAAAAABBC", None], [*"AAAABBBBC", "A"], [*"abcdefghij"], letters="ABC", resamples=FEW
    )
    assert found.counts == {"A": 6, "B": 2, "C": 1}
    assert found.true_counts == {"A": 4, "B": 4, "C": 1}
    assert found.unreadable == 1
    assert found.against_truth.statistic == pytest.approx(4 / 4 + 4 / 4 + 0)
    assert found.against_truth.p_value == pytest.approx(math.exp(-1))
    assert found.against_truth.smallest_expected == 1
    assert found.against_uniform.statistic == pytest.approx(9 / 3 + 1 / 3 + 4 / 3)
    assert found.against_uniform.p_value == pytest.approx(math.exp(-7 / 3))
    assert found.against_uniform.smallest_expected == 3


def test_option_preference_of_gpt_5_nano() -> None:
    # Appendix D: 29.1% A over 4,085 questions, p < 0.0001. An even rest is the least striking.
    picked = ["A"] * 1189 + ["B"] * 966 + ["C"] * 965 + ["D"] * 965
    assert 100 * picked.count("A") / len(picked) == pytest.approx(29.1, abs=0.05)
    assert (
        option_preference(
            picked, ["A"] * 4085, ["dish"] * 4085, resamples=FEW
        ).against_uniform.p_value
        < 0.0001
    )


def test_letters_neither_picked_nor_right_do_not_count_against_truth() -> None:
    # Picked 2 and 1, right 1 and 2. With one degree of freedom the p is erfc(sqrt(x / 2)).
    test = option_preference([*"AAB"], [*"ABB"], [*"abc"], resamples=FEW).against_truth
    assert test.statistic == pytest.approx(1 / 1 + 1 / 2)
    assert test.p_value == pytest.approx(math.erfc(math.sqrt(1.5 / 2)))
    assert test.smallest_expected == 1


def test_all_right_shows_no_preference_against_truth() -> None:
    truth = [*"AAABBCD"]
    found = option_preference(truth, truth, [*"aabbccd"], resamples=FEW)
    assert (found.against_truth.statistic, found.against_truth.p_value) == (0.0, 1.0)
    assert found.against_truth.p_over_dishes == 1.0
    assert found.against_uniform.statistic > 0


@pytest.mark.parametrize(
    ("chosen", "truth"),
    [([], []), ([None, None], ["A", "B"]), (["A", "A"], ["A", "A"]), (["B", "A"], ["A", "A"])],
    ids=["empty", "nothing read", "one letter only", "picked but never right"],
)
def test_option_preference_that_cannot_be_tested_is_nan(
    chosen: list[str | None], truth: list[str]
) -> None:
    found = option_preference(chosen, truth, [*"abc"][: len(truth)], resamples=FEW)
    assert math.isnan(found.against_truth.statistic)
    assert math.isnan(found.against_truth.p_value)
    assert math.isnan(found.against_truth.p_over_dishes)


def test_one_answer_is_no_preference() -> None:
    # One A where a quarter is expected: 0.75^2 / 0.25 + 3 * 0.25 = 3.
    found = option_preference(["A"], ["A"], ["a"], resamples=FEW)
    assert found.against_uniform.statistic == pytest.approx(3)
    assert found.against_uniform.p_value > 0.3
    assert math.isnan(found.against_uniform.p_over_dishes)  # a single dish has no spread
    assert math.isnan(found.picked["A"].low)


def test_shares_of_the_letters_over_dishes_by_hand() -> None:
    # Dish a picks A twice, dish b picks B and C: a resample holds both, a twice or b twice.
    found = option_preference([*"AABC", None], [*"ABCDA"], [*"aabbb"], resamples=FEW)
    assert found.unreadable == 1
    assert found.true_counts == {"A": 1, "B": 1, "C": 1, "D": 1}
    ends = {letter: (s.count, s.n, s.share, s.low, s.high) for letter, s in found.picked.items()}
    assert ends == {
        "A": (2, 4, 0.5, 0.0, 1.0),
        "B": (1, 4, 0.25, 0.0, 0.5),
        "C": (1, 4, 0.25, 0.0, 0.5),
        "D": (0, 4, 0.0, 0.0, 0.0),
    }


def test_p_over_dishes_by_hand() -> None:
    # Three dishes of one answer: A, A, B. Observed minus even is 0.5, 0.5, -0.5 for A, 0.5 in all;
    # centred, 1/3, 1/3, -2/3. A draw that holds the third k times sums to 1 - k: 8, 12, 6 and 1 of
    # 27 draws for k = 0 to 3, of which all but k = 1 reach 0.5 either way.
    found = option_preference([*"AAB"], [*"ABA"], [*"abc"], letters="AB", resamples=20_000)
    assert found.against_uniform.statistic == pytest.approx(2 * 0.25 / 1.5)
    assert found.against_uniform.p_over_dishes == pytest.approx(15 / 27, abs=0.015)


def test_a_dish_answered_once_or_fourteen_times_counts_the_same() -> None:
    once = option_preference([*"AAABCD"], [*"ABCDAB"], [*"abcdef"], resamples=FEW)
    often = option_preference(
        [letter for letter in "AAABCD" for _ in range(14)],
        [letter for letter in "ABCDAB" for _ in range(14)],
        [dish for dish in "abcdef" for _ in range(14)],
        resamples=FEW,
    )
    for test in ("against_truth", "against_uniform"):
        few, many = getattr(once, test), getattr(often, test)
        assert many.statistic == pytest.approx(14 * few.statistic)
        assert many.p_over_dishes == few.p_over_dishes
        assert many.p_value < few.p_value


def simulated(rng: np.random.Generator, weights: list[float]) -> tuple[bool, bool]:
    """Return whether each p is below 0.05 where 100 dishes have one pick each for 14 questions."""
    picks = np.repeat(rng.choice(4, size=100, p=weights), 14)
    found = option_preference(
        ["ABCD"[pick] for pick in picks],
        ["ABCD"[right] for right in rng.integers(0, 4, 1400)],
        [f"{number // 14}" for number in range(1400)],
        resamples=400,
    ).against_uniform
    return found.p_value < 0.05, found.p_over_dishes < 0.05


def test_false_alarms_where_a_dish_is_always_answered_alike() -> None:
    rng = np.random.default_rng(5)
    alarms = np.mean([simulated(rng, [0.25] * 4) for _ in range(300)], axis=0)
    assert alarms[0] > 0.8  # answers taken as independent
    assert 0.02 < alarms[1] < 0.08


def test_a_real_preference_is_found_over_dishes() -> None:
    rng = np.random.default_rng(6)
    found = np.mean([simulated(rng, [0.49, 0.17, 0.17, 0.17]) for _ in range(50)], axis=0)
    assert found[1] > 0.95


@pytest.mark.parametrize("place", ["chosen", "truth"])
def test_unknown_letters_are_refused(place: str) -> None:
    given_letters = {"chosen": ["A"], "truth": ["A"]} | {place: ["E"]}
    with pytest.raises(ValueError, match=r"other than A, B, C, D: \['E'\]"):
        option_preference(**given_letters, dishes=["a"])


def test_lengths_must_agree() -> None:
    with pytest.raises(ValueError, match="there are 2 answers, dishes has length 1"):
        option_preference(["A", "B"], ["A", "B"], ["a"])


@given(st.lists(st.tuples(st.none() | letters, letters), max_size=40), st.permutations("ABCD"))
def test_renaming_letters_changes_no_statistic(
    pairs: list[tuple[str | None, str]], names: list[str]
) -> None:
    new = dict(zip("ABCD", names, strict=True))
    dishes = [f"{place // 3}" for place in range(len(pairs))]
    one = option_preference(
        [pick for pick, _ in pairs], [right for _, right in pairs], dishes, resamples=FEW
    )
    other = option_preference(
        [new[pick] if pick else None for pick, _ in pairs],
        [new[right] for _, right in pairs],
        dishes,
        resamples=FEW,
    )
    for test in ("against_truth", "against_uniform"):
        ours, theirs = getattr(one, test), getattr(other, test)
        assert theirs.statistic == pytest.approx(ours.statistic, nan_ok=True)
        assert theirs.p_value == pytest.approx(ours.p_value, nan_ok=True)
        assert theirs.p_over_dishes == pytest.approx(ours.p_over_dishes, nan_ok=True)
    assert sorted(one.counts.values()) == sorted(other.counts.values())
    assert sum(one.counts.values()) + one.unreadable == len(pairs)


def test_yes_bias_by_hand() -> None:
    truth = ["yes"] * 5 + ["no"] * 5
    answers = ["yes", "yes", "no", "no", None, "yes", "no", "no", "no", "no"]
    found = yes_bias(answers, truth, [*"abcdefghij"], resamples=FEW)
    assert (found.yes.n, found.yes.count, found.unreadable) == (9, 3, 1)
    assert found.true_yes_rate == pytest.approx(4 / 9)
    assert found.rejection.difference == pytest.approx(1 / 9)
    assert found.rejection.low < 1 / 9 < found.rejection.high
    assert found.yes.low < 1 / 3 < found.yes.high


@pytest.mark.parametrize(("word", "bias"), [("no", 0.5), ("yes", -0.5)])
def test_always_the_same_word(word: str, bias: float) -> None:
    # Two questions a dish, one of each kind: every resample shows the same bias.
    found = yes_bias([word] * 8, ["yes", "no"] * 4, [*"aabbccdd"], resamples=FEW)
    assert found.yes.share == found.yes.low == found.yes.high == (word == "yes")
    assert found.rejection.difference == found.rejection.low == found.rejection.high == bias


@pytest.mark.parametrize(
    ("answers", "truth", "dishes"),
    [([], [], []), ([None], ["yes"], ["a"])],
    ids=["empty", "nothing read"],
)
def test_yes_bias_without_answers_is_nan(
    answers: list[str | None], truth: list[str], dishes: list[str]
) -> None:
    found = yes_bias(answers, truth, dishes, resamples=FEW)
    assert found.unreadable == len(answers)
    assert all(map(math.isnan, (found.yes.share, found.true_yes_rate, found.rejection.difference)))


def test_yes_bias_of_one_dish_has_no_interval() -> None:
    found = yes_bias(["no", "no"], ["yes", "no"], ["a", "a"], resamples=FEW)
    assert (found.yes.share, found.rejection.difference) == (0.0, 0.5)
    assert math.isnan(found.yes.low)
    assert math.isnan(found.rejection.high)


def test_yes_bias_refuses_other_words() -> None:
    with pytest.raises(ValueError, match=r"other than yes, no: \['Yes'\]"):
        yes_bias(["Yes"], ["yes"], ["a"])


@settings(max_examples=60)
@given(st.lists(st.tuples(st.none() | words, words, st.sampled_from("abcdef")), max_size=30))
def test_swapping_yes_and_no_turns_the_bias_round(
    rows: list[tuple[str | None, str, str]],
) -> None:
    other = {"yes": "no", "no": "yes", None: None}
    dishes = [dish for _, _, dish in rows]
    one = yes_bias([a for a, _, _ in rows], [t for _, t, _ in rows], dishes, FEW)
    two = yes_bias(
        [other[a] for a, _, _ in rows], [other[t] or "" for _, t, _ in rows], dishes, FEW
    )
    assert two.yes.count == one.yes.n - one.yes.count
    ends = (-one.rejection.difference, -one.rejection.high, -one.rejection.low)
    turned = (two.rejection.difference, two.rejection.low, two.rejection.high)
    assert turned == pytest.approx(ends, nan_ok=True, abs=1e-9)
