import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lmms_eval_food.metrics.matching import (
    greedy_assignment,
    normalise,
    optimal_assignment,
)

ASSIGN = pytest.mark.parametrize("assign", [greedy_assignment, optimal_assignment])
THRESHOLDS = st.integers(0, 10).map(lambda tenths: tenths / 10)
# Coarse values, so that ties are common; some below zero and some missing.
MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=5),
    elements=st.sampled_from([-0.3, 0.0, 0.2, 0.5, 0.5, 0.7, 0.9, 1.0, math.nan]),
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("  Boiled Rice\n", "boiled rice"),
        ("\tŒUFS ÉCRASÉS ", "œufs écrasés"),
        ("麻婆豆腐\u3000", "麻婆豆腐"),
        ("a  b", "a  b"),
        (" \n", ""),
        ("", ""),
        ("tea\ud800", "tea?"),
    ],
)
def test_normalise(name, expected):
    assert normalise(name) == expected


@given(st.text(st.characters(codec=None)))
def test_normalised_names_can_be_stored_and_stay(name):
    once = normalise(name)
    assert once.encode("utf-8").decode("utf-8") == once
    assert normalise(once) == once


def test_greedy_takes_the_most_similar_pair_first():
    scores = np.array([[0.80, 0.90], [0.10, 0.85]])
    # Optimal in total would be 0.80 + 0.85; greedy takes 0.90 and is left with 0.10.
    assert greedy_assignment(scores, 0.0) == [(0, 1, 0.90), (1, 0, 0.10)]
    assert greedy_assignment(scores, 0.5) == [(0, 1, 0.90)]


def test_optimal_takes_the_largest_total():
    scores = np.array([[0.80, 0.90], [0.10, 0.85]])
    assert optimal_assignment(scores, 0.5) == [(1, 1, 0.85), (0, 0, 0.80)]


def test_optimal_prefers_one_good_pair_to_two_poor_ones():
    scores = np.array([[0.9, 0.4], [0.4, 0.0]])
    assert optimal_assignment(scores, 0.3) == [(0, 0, 0.9)]


def test_optimal_does_not_lean_on_pairs_below_the_threshold():
    # With 0.45 allowed, (0, 1) and (1, 0) would win: 0.70 + 0.45 > 0.95.
    scores = np.array([[0.95, 0.70], [0.45, 0.0]])
    assert optimal_assignment(scores, 0.5) == [(0, 0, 0.95)]
    assert optimal_assignment(scores, 0.4) == [(0, 1, 0.70), (1, 0, 0.45)]


@ASSIGN
def test_the_threshold_itself_is_accepted(assign):
    assert assign(np.array([[0.5]]), 0.5) == [(0, 0, 0.5)]
    assert assign(np.array([[np.nextafter(0.5, 0)]]), 0.5) == []


def test_ties_go_by_prediction_then_true_item():
    assert greedy_assignment(np.full((2, 3), 0.7), 0.5) == [(0, 0, 0.7), (1, 1, 0.7)]
    assert greedy_assignment(np.array([[0.1, 0.7], [0.7, 0.7]]), 0.5) == [(0, 1, 0.7), (1, 0, 0.7)]


@ASSIGN
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_finite_never_match(assign, bad):
    assert assign(np.array([[bad, 0.6], [bad, bad]]), 0.0) == [(0, 1, 0.6)]


@ASSIGN
@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0)])
def test_nothing_to_pair(assign, shape):
    assert assign(np.zeros(shape), 0.0) == []


@ASSIGN
@pytest.mark.parametrize("threshold", [-0.1, 1.1, math.nan])
def test_threshold_outside_its_range_is_refused(assign, threshold):
    with pytest.raises(ValueError, match=r"threshold must lie in \[0, 1\]"):
        assign(np.zeros((1, 1)), threshold)


@ASSIGN
def test_a_vector_is_refused(assign):
    with pytest.raises(ValueError, match=r"shape \(n_pred, n_true\), its shape is \(3,\)"):
        assign(np.zeros(3), 0.5)


@ASSIGN
@given(scores=MATRICES, threshold=THRESHOLDS)
def test_pairs_are_one_to_one_and_good_enough(assign, scores, threshold):
    pairs = assign(scores, threshold)
    assert len({pred for pred, _, _ in pairs}) == len(pairs)
    assert len({true for _, true, _ in pairs}) == len(pairs)
    assert all(scores[pred, true] == score >= threshold for pred, true, score in pairs)
    assert pairs == sorted(pairs, key=lambda pair: (-pair[2], pair[0], pair[1]))


@given(scores=MATRICES, threshold=THRESHOLDS)
def test_greedy_at_a_threshold_is_a_prefix_of_greedy_at_zero(scores, threshold):
    everything = greedy_assignment(scores, 0.0)
    accepted = greedy_assignment(scores, threshold)
    assert accepted == everything[: len(accepted)]
    assert all(score < threshold for _, _, score in everything[len(accepted) :])


@given(scores=MATRICES, threshold=THRESHOLDS)
def test_greedy_leaves_no_acceptable_pair_free(scores, threshold):
    pairs = greedy_assignment(scores, threshold)
    preds, trues = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    free = [
        scores[pred, true]
        for pred, true in np.ndindex(scores.shape)
        if pred not in preds and true not in trues
    ]
    assert not any(score >= threshold for score in free)


@given(
    scores=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 4), st.integers(1, 4)),
        elements=st.integers(0, 20).map(lambda twentieths: twentieths / 20),
    ),
    threshold=THRESHOLDS,
)
def test_optimal_total_is_the_best_of_all_pairings(scores, threshold):
    wide = scores if scores.shape[0] <= scores.shape[1] else scores.T
    best = max(
        sum(s for s in (wide[row, column] for row, column in enumerate(order)) if s >= threshold)
        for order in itertools.permutations(range(wide.shape[1]), wide.shape[0])
    )
    total = sum(score for _, _, score in optimal_assignment(scores, threshold))
    assert total == pytest.approx(best)
    assert total >= sum(s for _, _, s in greedy_assignment(scores, threshold)) - 1e-9
