import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.medians import resampled_medians

NAN = math.nan


def index(*clusters):
    return np.array(clusters, dtype=np.int64)


# Cluster 0 holds 5 and 1, cluster 1 holds 3, cluster 2 holds nothing.
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([1, 1, 1], 3.0),
        ([1, 0, 0], 3.0),
        ([0, 1, 0], 3.0),
        ([2, 1, 5], 3.0),
        ([1, 2, 0], 3.0),
        ([0, 0, 4], NAN),
        ([0, 0, 0], NAN),
    ],
)
def test_by_hand(counts, expected):
    sample = np.array([5.0, 1.0, 3.0]), index(0, 0, 1)
    assert resampled_medians([sample], np.array([counts])) == pytest.approx(
        np.array([[expected]]), nan_ok=True
    )


def test_an_even_number_of_items_has_the_mean_of_the_middle_two():
    sample = np.array([1.0, 2.0, 10.0]), index(0, 1, 2)
    counts = np.array([[1, 0, 1], [1, 1, 0], [2, 1, 1]])
    assert resampled_medians([sample], counts).tolist() == [[5.5, 1.5, 1.5]]


def test_infinite_errors_are_the_largest():
    sample = np.array([1.0, math.inf, math.inf]), index(0, 1, 2)
    counts = np.array([[1, 1, 1], [1, 1, 0], [2, 1, 0]])
    assert resampled_medians([sample], counts).tolist() == [[math.inf, math.inf, 1.0]]


@pytest.mark.parametrize(("n_samples", "resamples"), [(0, 3), (1, 3), (2, 0)])
def test_nothing_to_take_a_median_of(n_samples, resamples):
    found = resampled_medians(
        [(np.array([]), index())] * n_samples, np.ones((resamples, 4), dtype=np.int64)
    )
    assert found.shape == (n_samples, resamples)
    assert np.isnan(found).all()


@pytest.mark.parametrize(
    "sample",
    [
        (np.array([1.0, NAN]), index(0, 0)),
        (np.array([1.0, 2.0]), index(0)),
        (np.array([[1.0]]), np.array([[0]])),
    ],
)
def test_unusable_samples_are_refused(sample):
    with pytest.raises(ValueError, match="one length and hold no nan"):
        resampled_medians([sample], np.ones((1, 1), dtype=np.int64))


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 20).map(float), st.integers(0, 5)), max_size=70),
        max_size=3,
    ),
    st.integers(0, 99),
)
def test_equals_the_median_of_the_items_drawn(samples, seed):
    counts = np.random.default_rng(seed).integers(0, 4, (8, 6))
    arrays = [
        (np.array([v for v, _ in rows]), np.array([c for _, c in rows], dtype=np.int64))
        for rows in samples
    ]
    found = resampled_medians(arrays, counts)
    for medians, rows in zip(found, samples, strict=True):
        for median, row in zip(medians, counts, strict=True):
            drawn = [value for value, cluster in rows for _ in range(row[cluster])]
            assert median == np.median(drawn) if drawn else math.isnan(median)
