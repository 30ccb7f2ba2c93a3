"""Confusion within cultural families: hand-worked items, Table 9, and what must always hold."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.confusion import (
    RegionAnswer,
    binomial_p,
    confusion_matrix,
    count_from_share,
    family_chance,
    family_confusion,
    holm,
    poisson_binomial_p,
)

# Deliberately not grouped: the matrix must bring families together.
FAMILIES = {
    "sichuan": "west",
    "cantonese": "south",
    "hunan": "west",
    "northwestern": "alone",
    "fujian": "south",
    "guizhou": "west",
}


def answer(truth: str, chosen: str | None, *wrong: str) -> RegionAnswer:
    return RegionAnswer(truth, chosen, (truth, *wrong))


# Chance of a blind wrong pick within the family: 1/3, 2/3, 1/3, 0 for the four errors.
BY_HAND = [
    answer("sichuan", "hunan", "hunan", "cantonese", "fujian"),
    answer("sichuan", "guizhou", "hunan", "guizhou", "cantonese"),
    answer("cantonese", "fujian", "fujian", "sichuan", "northwestern"),
    answer("northwestern", "fujian", "sichuan", "hunan", "fujian"),
    answer("fujian", "fujian", "cantonese", "hunan", "guizhou"),
    answer("hunan", None, "sichuan", "guizhou", "fujian"),
]

p_values = st.floats(0, 1)


@st.composite
def region_answers(draw: st.DrawFn) -> RegionAnswer:
    options = tuple(draw(st.permutations(sorted(FAMILIES)))[: draw(st.integers(2, 5))])
    truth = draw(st.sampled_from(options))
    return RegionAnswer(truth, draw(st.none() | st.sampled_from(options)), options)


many_answers = st.lists(region_answers(), max_size=25)


def test_by_hand_counts_and_shares() -> None:
    found = family_confusion(BY_HAND, FAMILIES)
    assert (found.answers, found.unreadable, found.errors, found.same_family) == (6, 1, 4, 3)
    assert found.share == 0.75
    assert found.chance == pytest.approx((1 / 3 + 2 / 3 + 1 / 3 + 0) / 4)
    assert found.p0 == found.chance


def test_by_hand_binomial_p_at_the_mean_chance() -> None:
    # Binomial(4, 1/3) in 81sts: 16, 32, 24, 8, 1. No likelier than 3 of 4: 8 + 1.
    assert family_confusion(BY_HAND, FAMILIES).p_value == pytest.approx(9 / 81)


def test_by_hand_p_against_each_items_own_options() -> None:
    # Of 0 to 4 events with chances 1/3, 2/3, 1/3, 0, in 27ths: 4, 12, 9, 2, 0.
    assert family_confusion(BY_HAND, FAMILIES).p_own_options == pytest.approx(2 / 27)


def test_by_hand_p_against_a_given_share() -> None:
    found = family_confusion(BY_HAND, FAMILIES, p0=0.5)
    assert found.p0 == 0.5
    assert found.p_value == pytest.approx((1 + 4 + 4 + 1) / 16)
    assert found.p_own_options == pytest.approx(2 / 27)


def test_by_hand_matrix_puts_families_together() -> None:
    matrix = confusion_matrix(BY_HAND, FAMILIES)
    assert matrix.cuisines == (
        "sichuan",
        "hunan",
        "guizhou",
        "cantonese",
        "fujian",
        "northwestern",
    )
    assert matrix.families == ("west", "west", "west", "south", "south", "alone")
    assert matrix.counts.tolist() == [
        [0, 1, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 0, 0, 0, 1, 0],
    ]
    assert matrix.unreadable.tolist() == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    "answers",
    [[], [BY_HAND[4]], [BY_HAND[4]] * 3, [BY_HAND[5]], [BY_HAND[4], BY_HAND[5]]],
    ids=["empty", "one right", "all right", "one unreadable", "right and unreadable"],
)
def test_no_errors_is_nan_not_zero(answers: list[RegionAnswer]) -> None:
    found = family_confusion(answers, FAMILIES)
    assert found.errors == found.same_family == 0
    numbers = (found.share, found.chance, found.p0, found.p_value, found.p_own_options)
    assert all(map(math.isnan, numbers))


def test_no_errors_keeps_the_given_share_but_tests_nothing() -> None:
    found = family_confusion([], FAMILIES, p0=0.181)
    assert found.p0 == 0.181
    assert math.isnan(found.p_value)


def test_one_error_is_no_evidence_either_way() -> None:
    found = family_confusion([BY_HAND[1]], FAMILIES)
    assert found.share == 1.0
    assert found.p_value == pytest.approx(1.0)
    assert found.p_own_options == pytest.approx(1.0)


def test_all_wrong_without_any_relative_on_offer() -> None:
    found = family_confusion([BY_HAND[3]] * 5, FAMILIES)
    assert (found.errors, found.share, found.chance) == (5, 0.0, 0.0)
    assert found.p_value == found.p_own_options == 1.0


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (RegionAnswer("hunan", "hunan", ("hunan",)), "at least two"),
        (RegionAnswer("hunan", "hunan", ("hunan", "fujian", "fujian")), "must differ"),
        (RegionAnswer("hunan", "guizhou", ("hunan", "fujian")), "'guizhou'.*not among its options"),
        (RegionAnswer("guizhou", None, ("hunan", "fujian")), "'guizhou'.*not among its options"),
        (RegionAnswer("hunan", "hunan", ("hunan", "yunnan")), "no family given for .'yunnan'"),
    ],
)
def test_answers_that_do_not_fit_are_refused(bad: RegionAnswer, message: str) -> None:
    with pytest.raises(ValueError, match=f"answer 1: .*{message}"):
        family_confusion([BY_HAND[0], bad], FAMILIES)
    with pytest.raises(ValueError, match=message):
        confusion_matrix([bad], FAMILIES)


# Table 9 of the paper: model, errors, intra-family share (%).
TABLE_9 = [
    ("GPT-5, high effort", 162, 17.9),
    ("Claude 4.6", 166, 16.9),
    ("Kimi K2.6", 166, 21.7),
    ("GPT-5", 177, 14.7),
    ("GPT-5.1", 193, 18.7),
    ("Qwen3.6-Flash", 202, 16.3),
    ("Qwen3.6-Plus", 211, 20.9),
    ("GPT-5 Mini", 214, 12.6),
    ("Qwen3.5-35B", 214, 22.4),
    ("GPT-5 Nano", 216, 15.7),
    ("Gemma4-26B", 234, 9.8),
]
PAPER_CHANCE = 0.181
BELOW_CHANCE = {"GPT-5 Mini", "Gemma4-26B"}


@pytest.mark.parametrize(("model", "errors", "percent"), TABLE_9)
def test_table_9_verdict_of_each_row(model: str, errors: int, percent: float) -> None:
    same = count_from_share(percent, errors)
    p = binomial_p(same, errors, PAPER_CHANCE)
    assert (p < 0.05) == (model in BELOW_CHANCE)
    if model in BELOW_CHANCE:
        assert same / errors < PAPER_CHANCE


def test_table_9_after_holm_only_gemma_stays_below_chance() -> None:
    raw = [binomial_p(count_from_share(share, n), n, PAPER_CHANCE) for _, n, share in TABLE_9]
    small = {model for (model, *_), p in zip(TABLE_9, holm(raw), strict=True) if p < 0.05}
    assert small == {"Gemma4-26B"}


@given(many_answers)
def test_the_matrix_agrees_with_the_counts(answers: list[RegionAnswer]) -> None:
    matrix, found = confusion_matrix(answers, FAMILIES), family_confusion(answers, FAMILIES)
    family = np.array(matrix.families)
    relatives = (family[:, None] == family) & ~np.eye(len(family), dtype=bool)
    assert matrix.counts.sum() + matrix.unreadable.sum() == len(answers)
    assert matrix.counts.sum() - np.trace(matrix.counts) == found.errors
    assert matrix.counts[relatives].sum() == found.same_family


@given(many_answers, st.permutations(sorted(FAMILIES)))
def test_renaming_cuisines_changes_nothing(answers: list[RegionAnswer], names: list[str]) -> None:
    new = dict(zip(sorted(FAMILIES), names, strict=True))
    renamed = [
        RegionAnswer(
            new[a.truth],
            None if a.chosen is None else new[a.chosen],
            tuple(new[option] for option in a.options),
        )
        for a in answers
    ]
    families = {new[cuisine]: family for cuisine, family in FAMILIES.items()}
    # repr: the fields may be nan.
    assert repr(family_confusion(renamed, families)) == repr(family_confusion(answers, FAMILIES))


@given(many_answers, st.randoms(use_true_random=False))
def test_order_of_options_and_answers_changes_nothing(
    answers: list[RegionAnswer], random: Random
) -> None:
    shuffled = [replace(a, options=a.options[::-1]) for a in answers]
    random.shuffle(shuffled)
    one, other = family_confusion(answers, FAMILIES), family_confusion(shuffled, FAMILIES)
    assert (one.errors, one.same_family) == (other.errors, other.same_family)
    assert one.chance == pytest.approx(other.chance, nan_ok=True)
    assert one.p_own_options == pytest.approx(other.p_own_options, nan_ok=True)


@given(region_answers())
def test_chance_counts_only_wrong_options(item: RegionAnswer) -> None:
    wrong = set(item.options) - {item.truth}
    relatives = [w for w in wrong if FAMILIES[w] == FAMILIES[item.truth]]
    assert family_chance(item, FAMILIES) == pytest.approx(len(relatives) / len(wrong))


@given(st.data(), st.lists(st.integers(0, 6), min_size=1, max_size=7))
def test_poisson_binomial_p_equals_the_sum_over_all_outcomes(
    data: st.DataObject, sixths: list[int]
) -> None:
    # In whole numbers, so that equal probabilities are exactly equal.
    weight = [0] * (len(sixths) + 1)
    for outcome in itertools.product((0, 1), repeat=len(sixths)):
        product = 1
        for happened, sixth in zip(outcome, sixths, strict=True):
            product *= sixth if happened else 6 - sixth
        weight[sum(outcome)] += product
    successes = data.draw(st.integers(0, len(sixths)))
    expected = sum(w for w in weight if w <= weight[successes]) / 6 ** len(sixths)
    found = poisson_binomial_p(successes, [sixth / 6 for sixth in sixths])
    assert found == pytest.approx(expected, abs=1e-12)


@given(st.integers(1, 60), st.floats(0.01, 0.99), st.data())
def test_equal_chances_give_the_binomial_p(n: int, chance: float, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, n))
    expected = binomial_p(successes, n, chance)
    assert poisson_binomial_p(successes, [chance] * n) == pytest.approx(expected, rel=1e-6)


def test_binomial_p_by_hand() -> None:
    # Binomial(3, 1/4) in 64ths: 27, 27, 9, 1.
    assert binomial_p(2, 3, 0.25) == pytest.approx(10 / 64)


def test_p_of_no_trials_is_nan() -> None:
    assert math.isnan(binomial_p(0, 0, 0.5))
    assert math.isnan(poisson_binomial_p(0, []))


@pytest.mark.parametrize("p0", [-0.1, 1.1, math.nan])
def test_binomial_p_refuses_a_share_outside_its_range(p0: float) -> None:
    with pytest.raises(ValueError, match=r"p0 must lie in \[0, 1\]"):
        binomial_p(1, 2, p0)
    with pytest.raises(ValueError, match=r"chances must be .* in \[0, 1\]"):
        poisson_binomial_p(1, [0.5, p0])


@pytest.mark.parametrize("successes", [-1, 3])
def test_p_refuses_an_impossible_count(successes: int) -> None:
    with pytest.raises(ValueError, match=r"successes must lie in 0\.\.2"):
        binomial_p(successes, 2, 0.5)
    with pytest.raises(ValueError, match=r"successes must lie in 0\.\.2"):
        poisson_binomial_p(successes, [0.5, 0.5])


def test_holm_by_hand() -> None:
    # Ascending 0.01, 0.02, 0.03, 0.9 times 4, 3, 2, 1; 0.06 may not fall behind 0.06.
    assert holm([0.02, 0.9, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.9, 0.04, 0.06])


def test_holm_caps_at_one_and_keeps_the_order() -> None:
    assert holm([0.6, 0.4]).tolist() == pytest.approx([0.8, 0.8])
    assert holm([0.9, 0.8, 0.7]).tolist() == [1.0, 1.0, 1.0]


def test_holm_does_not_count_nan_as_a_test() -> None:
    adjusted = holm([math.nan, 0.02, math.nan, 0.5])
    assert adjusted[[1, 3]].tolist() == pytest.approx([0.04, 0.5])
    assert np.isnan(adjusted[[0, 2]]).all()


@pytest.mark.parametrize("raw", [[], [math.nan], [0.3]], ids=["empty", "nan", "one"])
def test_holm_leaves_less_than_two_tests_alone(raw: list[float]) -> None:
    np.testing.assert_array_equal(holm(raw), raw)


@pytest.mark.parametrize("raw", [[[0.1]], [1.2], [-0.1]], ids=["2-D", "above", "below"])
def test_holm_refuses_what_is_no_p_value(raw: list[float]) -> None:
    with pytest.raises(ValueError, match="p_values must be one-dimensional"):
        holm(raw)


@given(st.lists(p_values, min_size=1, max_size=15))
def test_holm_is_monotone_and_between_raw_and_bonferroni(raw: list[float]) -> None:
    adjusted, given_p = holm(raw), np.array(raw)
    assert (adjusted >= given_p).all()
    assert (adjusted <= np.minimum(given_p * len(raw), 1.0)).all()
    assert (np.diff(adjusted[np.argsort(given_p, kind="stable")]) >= 0).all()


@pytest.mark.parametrize(
    ("percent", "n", "count"), [(17.9, 162, 29), (0.0, 5, 0), (100.0, 5, 5), (33.3, 3, 1)]
)
def test_count_from_share(percent: float, n: int, count: int) -> None:
    assert count_from_share(percent, n) == count


@pytest.mark.parametrize(("percent", "n"), [(17.5, 162), (50.0, 0), (101.0, 5), (-1.0, 5)])
def test_count_from_share_refuses_a_share_that_no_count_has(percent: float, n: int) -> None:
    with pytest.raises(ValueError, match="no count out of"):
        count_from_share(percent, n)


@given(st.data(), st.integers(1, 900))
def test_count_from_share_undoes_printing(data: st.DataObject, n: int) -> None:
    count = data.draw(st.integers(0, n))
    assert count_from_share(round(100 * count / n, 1), n) == count
