import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.match_quality import match_quality

NAN = math.nan
SAME, PARTIAL, DIFFERENT = (["same"] * 3, ["partial"] * 3, ["different"] * 3)
SPLIT = ["same", "partial", "different"]
EDGES = (0.5, 0.75, 1.0)


def test_by_hand():
    # Below 0.75: 1 same, 1 partial, 2 different (one pair has no majority). From 0.75: 3 same,
    # 1 partial. Accepted: two low, three high, and one of equal names.
    ratings = [SAME, PARTIAL, DIFFERENT, DIFFERENT, SPLIT, SAME, SAME, SAME, PARTIAL, SAME]
    rated = [0.5, 0.6, 0.6, 0.74, 0.7, 0.75, 0.9, 1.0, 0.8, 0.3]
    found = match_quality(
        ratings, rated, [0.5, 0.6, 0.75, 0.8, 1.0, 1.0], [0, 0, 0, 0, 0, 1], 0.6, EDGES
    )
    low, high = found.intervals
    assert (low.low, low.high, low.labelled, low.matches) == (0.5, 0.75, 4, 2)
    assert (low.same, low.partial, low.different) == (0.25, 0.25, 0.5)
    assert (high.low, high.high, high.labelled, high.matches) == (0.75, 1.0, 4, 3)
    assert (high.same, high.partial, high.different) == (0.75, 0.25, 0.0)
    assert found.matches == 6
    assert found.exact == pytest.approx(1 / 6)
    assert found.same == pytest.approx((1 + 2 * 0.25 + 3 * 0.75) / 6)
    assert found.partial == pytest.approx((2 * 0.25 + 3 * 0.25) / 6)
    assert found.different == pytest.approx(2 * 0.5 / 6)
    assert found.strict_f1 == pytest.approx(0.6 * 3.75 / 6)


def test_strict_f1_counts_only_same_foods():
    # 4 matches of 5 predictions and 6 true items; half are the same food: 2 * 2 / 11.
    found = match_quality([SAME, DIFFERENT], [0.6, 0.6], [0.6] * 4, [0] * 4, 8 / 11, EDGES)
    assert found.strict_f1 == pytest.approx(4 / 11)


def test_equal_names_need_no_labels():
    found = match_quality([], [], [1.0, 1.0], [True, True], 0.8)
    assert (found.exact, found.same, found.partial, found.different) == (1.0, 1.0, 0.0, 0.0)
    assert found.strict_f1 == 0.8


@pytest.mark.parametrize("f1", [0.0, NAN])
def test_no_matches(f1):
    found = match_quality([SAME], [0.9], [], [], f1)
    assert found.matches == 0
    assert math.isnan(found.same)
    assert math.isnan(found.exact)
    assert found.strict_f1 == pytest.approx(f1, nan_ok=True)


def test_matches_where_nobody_rated_are_unknown():
    found = match_quality([SAME, SPLIT], [0.9, 0.6], [0.6, 0.9], [0, 0], 0.5, EDGES)
    assert math.isnan(found.intervals[0].same)
    assert found.intervals[1].same == 1.0
    for value in (found.same, found.partial, found.different, found.strict_f1):
        assert math.isnan(value)


@pytest.mark.parametrize(
    ("ratings", "rated", "scores", "exact", "edges", "message"),
    [
        ([SAME], [], [], [], EDGES, "must have one length"),
        ([], [], [0.6], [], EDGES, "must have one length"),
        ([], [], [], [], (0.5, 0.5), "edges must rise"),
        ([], [], [], [], (0.5,), "edges must rise"),
        ([], [], [0.4], [0], EDGES, r"must lie in \[0.5, 1.0\]"),
        ([], [], [NAN], [0], EDGES, "match_scores must be finite"),
        ([], [], [0.6], [2], EDGES, "exact must hold only true and false"),
    ],
)
def test_bad_input(ratings, rated, scores, exact, edges, message):
    with pytest.raises(ValueError, match=message):
        match_quality(ratings, rated, scores, exact, 0.5, edges)


@given(
    st.lists(st.tuples(st.sampled_from([SAME, PARTIAL, DIFFERENT]), st.integers(0, 100))),
    st.lists(st.tuples(st.integers(50, 100), st.booleans()), min_size=1),
)
def test_shares_sum_to_one(rated, accepted):
    found = match_quality(
        [labels for labels, _ in rated],
        [score / 100 for _, score in rated],
        [score / 100 for score, _ in accepted],
        [exact for _, exact in accepted],
        0.5,
    )
    total = found.same + found.partial + found.different
    assert math.isnan(total) or total == pytest.approx(1.0)
    assert sum(part.matches for part in found.intervals) == sum(not exact for _, exact in accepted)
    assert math.isnan(found.same) or found.exact <= found.same + 1e-12


def test_published_labels_rise_with_similarity(rated_pairs):
    found = match_quality(
        [labels for *_, labels in rated_pairs],
        [score for _, _, score, _ in rated_pairs],
        [0.55, 0.65, 0.75, 0.85, 0.95],
        [0] * 5,
        0.77,
    )
    assert all(part.labelled > 10 for part in found.intervals)
    assert found.intervals[-1].same > found.intervals[0].same + 0.3
    # The paper: 70-81% same, 10-18% partial, 8-14% different, with more matches at the top.
    assert 0.55 < found.same < 0.85
    assert 0.0 < found.different < 0.3
