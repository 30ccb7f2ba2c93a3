import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.bootstrap import (
    cluster_index,
    cluster_sums,
    leave_one_out_counts,
    out_of_bag_counts,
    paired_difference,
    percentile_interval,
    resample_counts,
    resampled_means,
    resampled_sums,
    share_interval,
)

NAN, INF = math.nan, math.inf
NUMBERS = st.integers(-1000, 1000).map(float)


@given(st.integers(2, 40), st.integers(0, 20), st.integers(0, 5))
def test_each_resample_draws_as_many_clusters_as_there_are(n, resamples, seed):
    counts = resample_counts(n, resamples, seed)
    assert counts.shape == (resamples, n)
    assert (counts >= 0).all()
    assert (counts.sum(axis=1) == n).all()


def test_the_seed_fixes_the_resamples():
    assert (resample_counts(9, 30, 4) == resample_counts(9, 30, 4)).all()
    assert (resample_counts(9, 30, 4) != resample_counts(9, 30, 5)).any()


def test_counts_have_the_moments_of_drawing_with_replacement():
    counts = resample_counts(10, 20_000)
    # Mean 1 and variance 9/10; five standard errors around each.
    assert np.abs(counts.mean(axis=0) - 1).max() < 5 * math.sqrt(0.9 / 20_000)
    assert np.abs(counts.var(axis=0) - 0.9).max() < 0.07


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_clusters_have_no_spread(n):
    counts = resample_counts(n, 50)
    assert counts.shape == (50, n)
    means = resampled_means(np.full(n, 3.0), np.arange(n), counts)
    assert np.isnan(means).all()
    assert all(math.isnan(end) for end in percentile_interval(means))


@pytest.mark.parametrize("sizes", [(-1, 3), (3, -1)])
def test_negative_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="must not be negative"):
        resample_counts(*sizes)


def test_out_of_bag_is_what_was_not_drawn():
    assert out_of_bag_counts(np.array([[2, 0, 1], [0, 3, 0]])).tolist() == [[0, 1, 0], [1, 0, 1]]


def test_one_group_is_left_out_at_a_time():
    labels, counts = leave_one_out_counts(["b", "a", "b"])
    assert labels == ["a", "b"]
    assert counts.tolist() == [[1, 0, 1], [0, 1, 0]]


def test_no_groups():
    labels, counts = leave_one_out_counts([])
    assert labels == []
    assert counts.shape == (0, 0)


def test_cluster_index():
    labels, index = cluster_index(["soup", "rice", "soup"])
    assert labels == ["rice", "soup"]
    assert index.tolist() == [1, 0, 1]


def test_sums_of_clusters_keep_the_empty_ones():
    sums = cluster_sums(np.array([[1.0, 2.0, 4.0], [0.0, 5.0, 0.0]]), np.array([2, 0, 2]), 4)
    assert sums.tolist() == [[2.0, 0.0, 5.0, 0.0], [5.0, 0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("sums", "expected"),
    [
        ([1.0, 10.0, 100.0], [111.0, 201.0, 20.0]),
        ([INF, 10.0, 100.0], [INF, INF, 20.0]),
        ([-INF, 10.0, 100.0], [-INF, -INF, 20.0]),
    ],
)
def test_a_cluster_that_was_not_drawn_adds_nothing(sums, expected):
    counts = np.array([[1, 1, 1], [1, 0, 2], [0, 2, 0]])
    assert resampled_sums(np.array(sums), counts).tolist() == expected


def test_opposite_infinities_are_undefined():
    assert math.isnan(resampled_sums(np.array([INF, -INF]), np.array([[1, 1]]))[0])


def test_sums_need_the_clusters_of_the_counts():
    with pytest.raises(ValueError, match="sums has 2 clusters, counts has 3"):
        resampled_sums(np.zeros(2), np.zeros((1, 3), dtype=np.int64))


# Cluster 0 holds the items 1 and 5, cluster 1 the item 9; an item without a score is left out.
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 5.0, 9.0], [5.0, 3.0, 9.0]),
        ([1.0, NAN, 9.0], [5.0, 1.0, 9.0]),
        ([1.0, 5.0, NAN], [3.0, 3.0, NAN]),
        ([[1.0, 5.0, 9.0], [0.0, 0.0, 3.0]], [[5.0, 3.0, 9.0], [1.0, 0.0, 3.0]]),
    ],
)
def test_means_of_resampled_clusters(values, expected):
    counts = np.array([[1, 1], [2, 0], [0, 2]])
    found = resampled_means(values, np.array([0, 0, 1]), counts)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_means_need_one_cluster_an_item():
    with pytest.raises(ValueError, match=r"values has shape \(2,\), cluster has \(3,\)"):
        resampled_means([1.0, 2.0], np.zeros(3, dtype=np.int64), np.ones((1, 1), dtype=np.int64))


@given(
    st.lists(st.tuples(NUMBERS, st.sampled_from("abcd")), min_size=1, max_size=30),
    st.integers(0, 9),
)
def test_means_equal_the_mean_of_the_items_drawn(rows, seed):
    values, clusters = zip(*rows, strict=True)
    labels, index = cluster_index(clusters)
    counts = np.random.default_rng(seed).integers(0, 3, (5, len(labels)))
    found = resampled_means(values, index, counts)
    for mean, row in zip(found, counts, strict=True):
        drawn = [v for v, c in zip(values, index, strict=True) for _ in range(row[c])]
        assert mean == pytest.approx(np.mean(drawn), abs=1e-9) if drawn else math.isnan(mean)


def test_clusters_of_alike_items_widen_the_interval():
    # 100 dishes of 10 like items each: the items are worth 100, not 1000.
    rights = np.random.default_rng(3).random(100) < 0.5
    values, dishes = np.repeat(rights, 10).astype(float), np.repeat(np.arange(100), 10)
    counts = resample_counts(100)
    low, high = percentile_interval(resampled_means(values, dishes, counts))
    assert high - low == pytest.approx(2 * 1.96 * math.sqrt(0.25 / 100), rel=0.12)


@pytest.mark.parametrize(
    ("values", "confidence", "expected"),
    [
        (range(1, 40), 0.95, (1.0, 39.0)),
        (range(1, 80), 0.95, (2.0, 78.0)),
        (range(1, 20), 0.9, (1.0, 19.0)),
        (range(1, 40), 0.9, (2.0, 38.0)),
        ([5.0], 0.95, (5.0, 5.0)),
        ([3.0, NAN, 1.0], 0.95, (1.0, 3.0)),
        ([INF, 1.0, 2.0], 0.95, (1.0, INF)),
        ([], 0.95, (NAN, NAN)),
        ([NAN, NAN], 0.95, (NAN, NAN)),
    ],
)
def test_the_interval_ends_at_the_kth_values(values, confidence, expected):
    assert percentile_interval(list(values), confidence) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 95.0, NAN])
def test_confidence_is_a_share(confidence):
    with pytest.raises(ValueError, match="confidence must lie strictly between 0 and 1"):
        percentile_interval([1.0, 2.0], confidence)


def test_the_interval_is_of_one_statistic():
    with pytest.raises(ValueError, match=r"one-dimensional, its shape is \(1, 2\)"):
        percentile_interval([[1.0, 2.0]])


@given(st.lists(NUMBERS, min_size=1, max_size=60), st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_mirrors_its_values(values, confidence):
    low, high = percentile_interval(values, confidence)
    assert percentile_interval([-value for value in values], confidence) == (-high, -low)
    assert min(values) <= low <= high <= max(values)


def test_difference_by_hand():
    # Differences -1, 0, 2, 3 and one undefined: two at or below 0, three at or above it.
    found = paired_difference(1.5, [0.0, 1.0, 3.0, 4.0, NAN], [1.0, 1.0, 1.0, 1.0, 1.0])
    assert found.difference == 1.5
    assert (found.low, found.high) == (-1.0, 3.0)
    assert found.share_above == 0.5
    assert found.p_value == 1.0  # 2 (1 + 2) / (1 + 4) is above 1
    assert found.undefined == pytest.approx(0.2)


def test_a_difference_that_never_changes_sign_has_the_smallest_p():
    found = paired_difference(0.1, np.full(1999, 0.6), np.full(1999, 0.5))
    assert found.p_value == pytest.approx(2 / 2000)
    assert found.share_above == 1.0


def test_a_run_against_itself():
    values = np.random.default_rng(0).random(100)
    found = paired_difference(0.0, values, values)
    assert (found.low, found.high, found.share_above, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_equal_infinite_scores_do_not_differ():
    found = paired_difference(0.0, [INF, 2.0], [INF, 1.0])
    assert (found.low, found.high, found.undefined) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_no_defined_resample(values):
    found = paired_difference(0.3, values, values)
    assert found.difference == 0.3
    assert found.undefined == 1.0
    for value in (found.low, found.high, found.share_above, found.p_value):
        assert math.isnan(value)


def test_compared_runs_share_their_resamples():
    with pytest.raises(ValueError, match="first has shape"):
        paired_difference(0.0, [1.0], [1.0, 2.0])


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=50))
def test_swapping_the_runs_mirrors_the_difference(rows):
    first, second = zip(*rows, strict=True)
    one, two = paired_difference(1.0, first, second), paired_difference(-1.0, second, first)
    assert (two.low, two.high) == (-one.high, -one.low)
    assert two.p_value == one.p_value
    assert 0 < one.p_value <= 1
    assert one.share_above + two.share_above <= 1


def test_the_p_value_holds_its_level():
    # 400 comparisons of runs that are equally good: about 5% fall below 0.05.
    rng = np.random.default_rng(11)
    counts, index = resample_counts(60, 399), np.arange(60)
    below = 0
    for _ in range(400):
        gaps = rng.normal(size=60)
        means = resampled_means(gaps, index, counts)
        below += paired_difference(gaps.mean(), means, np.zeros(399)).p_value < 0.05
    assert 0.02 < below / 400 < 0.10


@pytest.mark.parametrize(
    ("values", "clusters", "expected"),
    [
        # Wilson at n of n: n / (n + z squared), z = 1.959964, to 1; over dishes, not questions.
        ([1.0] * 24, range(24), (24 / (24 + 3.841459), 1.0)),
        ([1.0] * 24, [n // 2 for n in range(24)], (12 / (12 + 3.841459), 1.0)),
        ([0.0, 0.0, NAN], [0, 1, 2], (0.0, 3.841459 / (2 + 3.841459))),
        ([1.0, 1.0], [0, 0], (NAN, NAN)),
        ([1.0, NAN], [0, 1], (NAN, NAN)),
        ([], [], (NAN, NAN)),
        # Not alike, or alike and neither 0 nor 1: the percentile interval of 0.25 and 0.75.
        ([1.0, 0.0], [0, 1], (0.25, 0.75)),
        ([0.5, 0.5], [0, 1], (0.25, 0.75)),
    ],
)
def test_a_share_of_all_or_none_has_wilsons_interval(values, clusters, expected):
    index = np.array(list(clusters), dtype=np.int64)
    found = share_interval(np.array(values), index, [0.25, 0.75])
    assert found == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_a_share_has_a_cluster_for_each_item():
    with pytest.raises(ValueError, match="values has shape"):
        share_interval(np.ones(2), np.zeros(3, dtype=np.int64), [1.0])
