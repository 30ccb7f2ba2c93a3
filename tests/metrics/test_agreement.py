import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    majority_label,
    majority_matches,
    roc_auc,
    youden_threshold,
)

LABELS = st.sampled_from(["same", "partial", "different"])
RATINGS = st.lists(st.tuples(LABELS, LABELS, LABELS), min_size=1, max_size=20)
LABELLED = st.lists(st.tuples(st.booleans(), st.integers(-8, 8)), min_size=2, max_size=30)
BOTH = pytest.mark.parametrize("metric", [roc_auc, youden_threshold])


@pytest.mark.parametrize(
    ("labels", "scores", "area"),
    [
        ([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8], 0.75),  # 3 of the 4 (match, other) pairs in order
        ([0, 1], [0.2, 0.9], 1.0),
        ([0, 1], [0.9, 0.2], 0.0),
        ([0, 1, 0, 1], [0.5, 0.5, 0.5, 0.5], 0.5),
        ([1, 0, 0], [0.5, 0.5, 0.1], 0.75),  # one tie, counted half, and one in order
    ],
)
def test_roc_auc(labels, scores, area):
    assert roc_auc(labels, scores) == pytest.approx(area)


@given(LABELLED)
def test_roc_auc_is_the_share_of_ordered_pairs(rows):
    matches = [score for label, score in rows if label]
    others = [score for label, score in rows if not label]
    labels, scores = zip(*rows, strict=True)
    if not (matches and others):
        assert math.isnan(roc_auc(labels, scores))
        return
    wins = sum((m > o) + 0.5 * (m == o) for m in matches for o in others)
    assert roc_auc(labels, scores) == pytest.approx(wins / len(matches) / len(others))


@pytest.mark.parametrize(
    ("labels", "scores", "threshold"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.7, 0.9], 0.7),
        ([0, 1, 0, 1], [0.1, 0.4, 0.6, 0.8], 0.8),  # 0.8 and 0.4 both gain 0.5: the higher
        ([1, 0], [0.3, 0.6], 0.3),  # gains 0 at 0.3 and -1 at 0.6
    ],
)
def test_youden_threshold(labels, scores, threshold):
    assert youden_threshold(labels, scores) == threshold


@given(LABELLED)
def test_no_score_beats_the_youden_threshold(rows):
    labels, scores = (np.array(column) for column in zip(*rows, strict=True))
    best = youden_threshold(labels, scores)
    if labels.all() or not labels.any():
        assert math.isnan(best)
        return

    def gain(threshold):
        return (scores >= threshold)[labels].mean() - (scores >= threshold)[~labels].mean()

    assert all(gain(best) >= gain(score) - 1e-12 for score in scores)
    assert all(gain(best) > gain(score) for score in scores if score > best)


@BOTH
@pytest.mark.parametrize(
    ("labels", "scores"), [([], []), ([1], [0.5]), ([0], [0.5]), ([1, 1], [0.2, 0.5])]
)
def test_one_kind_of_pair_has_no_curve(metric, labels, scores):
    assert math.isnan(metric(labels, scores))


@BOTH
@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([0, 1], [0.5], "labels has 2 pairs, scores has 1"),
        ([0, 1], [0.5, math.nan], "scores must be finite"),
        ([0, 3], [0.5, 0.6], "labels must hold only true and false"),
    ],
)
def test_bad_labels_and_scores_are_refused(metric, labels, scores, message):
    with pytest.raises(ValueError, match=message):
        metric(labels, scores)


@pytest.mark.parametrize(
    ("labels", "majority"),
    [
        (["same", "same", "same"], "same"),
        (["partial", "same", "partial"], "partial"),
        (["different", "different", "same"], "different"),
        (["same", "partial", "different"], None),
        (["same", "partial"], None),
        (["same"], "same"),
        ([], None),
    ],
)
def test_majority_label(labels, majority):
    assert majority_label(labels) == majority


@pytest.mark.parametrize(
    ("labels", "strict", "lenient"),
    [
        (["same", "same", "different"], True, True),
        (["partial", "partial", "same"], False, True),
        (["different", "different", "same"], False, False),
        # No majority over three labels, though two of three raters see some overlap.
        (["same", "partial", "different"], False, False),
    ],
)
def test_majority_matches(labels, strict, lenient):
    assert majority_matches([labels]).tolist() == [strict]
    assert majority_matches([labels], lenient=True).tolist() == [lenient]


def test_majority_matches_of_nothing():
    assert majority_matches([]).shape == (0,)


def test_unknown_labels_are_refused():
    with pytest.raises(ValueError, match=r"unknown labels: \['maybe'\]"):
        majority_matches([["same", "maybe", "same"]])


@given(RATINGS)
def test_every_strict_match_is_a_lenient_one(ratings):
    assert (majority_matches(ratings) <= majority_matches(ratings, lenient=True)).all()


@pytest.mark.parametrize(
    ("first", "second", "kappa"),
    [
        # Agreement 3/4; chance (2/4)(3/4) + (2/4)(1/4) = 1/2.
        (["a", "a", "b", "b"], ["a", "a", "a", "b"], 0.5),
        (["a", "b"], ["a", "b"], 1.0),
        (["a", "b"], ["b", "a"], -1.0),
        (["a", "a"], ["a", "b"], 0.0),
    ],
)
def test_cohen_kappa(first, second, kappa):
    assert cohen_kappa(first, second) == pytest.approx(kappa)


@pytest.mark.parametrize(("first", "second"), [([], []), (["a"], ["a"]), (["a", "a"], ["a", "a"])])
def test_cohen_kappa_of_one_label_is_nan(first, second):
    assert math.isnan(cohen_kappa(first, second))


def test_cohen_kappa_refuses_other_lengths():
    with pytest.raises(ValueError, match="the raters gave 2 and 1 labels"):
        cohen_kappa(["a", "b"], ["a"])


@pytest.mark.parametrize(
    ("ratings", "kappa"),
    [
        ([["a", "a", "a"], ["b", "b", "b"]], 1.0),
        # Observed (1 + 1/3) / 2 = 2/3; shares 4/6 and 2/6, chance 20/36 = 5/9.
        ([["a", "a", "a"], ["a", "b", "b"]], (2 / 3 - 5 / 9) / (1 - 5 / 9)),
        # Two raters who always differ.
        ([["a", "b"], ["b", "a"]], -1.0),
    ],
)
def test_fleiss_kappa(ratings, kappa):
    assert fleiss_kappa(ratings) == pytest.approx(kappa)


@pytest.mark.parametrize("ratings", [[], [["a", "a"]], [["a", "a"], ["a", "a"]]])
def test_fleiss_kappa_of_one_label_is_nan(ratings):
    assert math.isnan(fleiss_kappa(ratings))


@pytest.mark.parametrize("ratings", [[["a"]], [["a", "b"], ["a"]]])
def test_fleiss_kappa_needs_the_same_raters_throughout(ratings):
    with pytest.raises(ValueError, match="same number of raters, at least two"):
        fleiss_kappa(ratings)


@given(RATINGS, st.randoms())
def test_fleiss_kappa_does_not_know_the_raters_apart(ratings, random):
    shuffled = [random.sample(labels, 3) for labels in ratings]
    random.shuffle(shuffled)
    assert fleiss_kappa(shuffled) == pytest.approx(fleiss_kappa(ratings), nan_ok=True)


# The published validation of the paper's matcher, Section 2.2.2.


def test_published_agreement_between_raters(rated_pairs):
    ratings = [labels for *_, labels in rated_pairs]
    first, second, third = zip(*ratings, strict=True)
    assert cohen_kappa(first, second) == pytest.approx(0.666, abs=5e-4)
    assert cohen_kappa(first, third) == pytest.approx(0.603, abs=5e-4)
    assert cohen_kappa(second, third) == pytest.approx(0.544, abs=5e-4)
    assert fleiss_kappa(ratings) == pytest.approx(0.602, abs=5e-4)
    assert sum(len(set(labels)) == 1 for labels in ratings) == 194
    assert sum(majority_label(labels) is None for labels in ratings) == 6


@pytest.mark.parametrize(
    ("lenient", "area", "threshold"), [(False, 0.882, 0.550), (True, 0.885, 0.519)]
)
def test_published_cross_encoder_against_raters(rated_pairs, lenient, area, threshold):
    _, _, scores, ratings = zip(*rated_pairs, strict=True)
    matches = majority_matches(ratings, lenient=lenient)
    assert roc_auc(matches, scores) == pytest.approx(area, abs=5e-4)
    assert youden_threshold(matches, scores) == pytest.approx(threshold, abs=5e-4)
