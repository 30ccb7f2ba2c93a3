import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.bootstrap import (
    leave_one_out_counts,
    out_of_bag_counts,
    resample_counts,
    resampled_means,
)
from lmms_eval_food.metrics.ranking import (
    best_run,
    first_place_shares,
    left_out_rankings,
    selection_optimism,
    spearman,
)

NAN = math.nan
SMALL = st.integers(0, 5).map(float)
TABLES = st.integers(1, 4).flatmap(
    lambda runs: st.lists(
        st.lists(SMALL | st.just(NAN), min_size=runs, max_size=runs), min_size=1, max_size=20
    ).map(lambda rows: np.array(rows).T)
)


@pytest.mark.parametrize(
    ("values", "higher", "expected"),
    [
        ([[3, 1, 5, 2], [2, 4, 1, 2]], True, [2.5 / 4, 1.5 / 4]),
        ([[3, 1, 5, 2], [2, 4, 1, 2]], False, [1.5 / 4, 2.5 / 4]),
        ([[3, NAN, NAN], [2, 1, NAN]], True, [0.5, 0.5]),
        ([[NAN, NAN]], True, [NAN]),
        ([[], []], True, [NAN, NAN]),
        ([[7, 7]], False, [1.0]),
    ],
)
def test_first_places_by_hand(values, higher, expected):
    shares = first_place_shares(np.array(values, dtype=np.float64), higher_is_better=higher)
    assert shares.tolist() == pytest.approx(expected, nan_ok=True)


def test_first_places_need_runs_and_resamples():
    with pytest.raises(ValueError, match=r"shape \(runs, resamples\), its shape is \(3,\)"):
        first_place_shares(np.zeros(3), higher_is_better=True)


@given(TABLES, st.booleans())
def test_shares_of_first_places_sum_to_one(values, higher):
    shares = first_place_shares(values, higher_is_better=higher)
    if np.isnan(values).all():
        assert np.isnan(shares).all()
    else:
        assert shares.sum() == pytest.approx(1.0)
        mirrored = first_place_shares(-values, higher_is_better=not higher)
        assert shares.tolist() == mirrored.tolist()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3], [10, 20, 30], 1.0),
        ([1, 2, 3], [3, 2, 1], -1.0),
        # One swap of neighbours among four: 1 - 6 * 2 / (4 * 15).
        ([1, 2, 3, 4], [1, 3, 2, 4], 0.8),
        # Ranks 1.5, 1.5, 3 against 1, 2, 3: Pearson 1.5 / sqrt(1.5 * 2).
        ([1, 1, 2], [1, 2, 3], 1.5 / math.sqrt(3)),
        ([1, NAN, 2, 3], [1, 0, 2, NAN], 1.0),
        ([1], [1], NAN),
        ([], [], NAN),
        ([1, 1], [1, 2], NAN),
        ([NAN, NAN], [1, 2], NAN),
    ],
)
def test_spearman_by_hand(first, second, expected):
    assert spearman(first, second) == pytest.approx(expected, nan_ok=True)


def test_spearman_needs_the_same_runs():
    with pytest.raises(ValueError, match=r"they are \(1,\) and \(2,\)"):
        spearman([1.0], [1.0, 2.0])


def test_leaving_out_a_participant():
    # Run 0 is better on a's photos only.
    right = np.array([[1.0, 1, 1, 0], [0.0, 0, 1, 1], [0.0, 0, 0, 1]])
    groups, counts = leave_one_out_counts(["a", "a", "b", "b"])
    photos = np.arange(4)
    full = resampled_means(right, photos, np.ones((1, 4), dtype=np.int64))[:, 0]
    without = resampled_means(right, photos, counts)
    found = left_out_rankings(groups, full, without, higher_is_better=True)
    assert [part.group for part in found] == ["a", "b"]
    assert [part.scores.tolist() for part in found] == [[0.5, 1.0, 0.5], [1.0, 0.0, 0.0]]
    assert [part.best for part in found] == [1, 0]
    # Without b: ranks 3, 1.5, 1.5 against 3, 2, 1.
    assert found[1].spearman == pytest.approx(1.5 / math.sqrt(3))
    # Without a: ranks 1.5, 3, 1.5 against 3, 2, 1 are unrelated.
    assert found[0].spearman == pytest.approx(0.0)


def test_the_only_group_leaves_nothing():
    (found,) = left_out_rankings(["a"], np.ones(2), np.full((2, 1), NAN), higher_is_better=True)
    assert found.best is None
    assert math.isnan(found.spearman)


def test_rankings_need_a_score_of_every_run_and_group():
    with pytest.raises(ValueError, match=r"without must have shape \(2, 1\)"):
        left_out_rankings(["a"], np.ones(2), np.ones((1, 2)), higher_is_better=True)


def test_optimism_by_hand():
    # Overall run 0 leads by 0.1. Resample 0 picks run 1, which leads there by 0.2: 0.2 + 0.1.
    # Resample 1 picks run 0: nothing gained.
    found = selection_optimism(
        np.array([0.6, 0.5]),
        np.array([[0.5, 0.7], [0.7, 0.4]]),
        np.array([[0.6, 0.55], [0.3, 0.5]]),
        higher_is_better=True,
    )
    assert found.best == 0
    assert found.score == 0.6
    assert found.optimism == pytest.approx(0.15)
    assert found.corrected == pytest.approx(0.45)
    assert found.out_of_bag == pytest.approx((0.3 + 0.55) / 2)
    assert found.picked.tolist() == [0.5, 0.5]


def test_errors_are_flattered_downwards():
    found = selection_optimism(
        np.array([40.0, 50.0]),
        np.array([[50.0], [30.0]]),
        np.array([[41.0], [60.0]]),
        higher_is_better=False,
    )
    assert found.optimism == pytest.approx(30.0)
    assert found.corrected == pytest.approx(70.0)
    assert found.out_of_bag == 60.0


def test_one_run_leaves_no_choice():
    values = np.random.default_rng(0).random((1, 50))
    found = selection_optimism(np.array([0.5]), values, values, higher_is_better=True)
    assert found.optimism == 0.0
    assert found.picked.tolist() == [1.0]


def test_no_run_has_a_score():
    nothing = np.full((2, 3), NAN)
    assert selection_optimism(nothing[:, 0], nothing, nothing, higher_is_better=True) is None


def test_no_resample_has_a_score():
    nothing = np.full((2, 3), NAN)
    found = selection_optimism(np.array([0.1, 0.2]), nothing, nothing, higher_is_better=True)
    assert found.best == 1
    assert math.isnan(found.optimism)
    assert math.isnan(found.out_of_bag)
    assert found.picked.tolist() == [0.0, 0.0]


def test_a_run_without_a_score_on_all_photos_is_not_chosen():
    resampled = np.array([[0.5, 0.5], [0.9, 0.9]])
    found = selection_optimism(np.array([0.5, NAN]), resampled, resampled, higher_is_better=True)
    assert found.picked.tolist() == [1.0, 0.0]
    assert found.optimism == 0.0


def test_optimism_needs_runs_and_resamples():
    with pytest.raises(ValueError, match="observed must have shape"):
        selection_optimism(np.ones(2), np.ones((3, 4)), np.ones((3, 4)), higher_is_better=True)


@given(TABLES, st.booleans(), st.integers(0, 99))
def test_choosing_never_flatters_less_than_nothing(resampled, higher, seed):
    observed = np.random.default_rng(seed).integers(0, 6, resampled.shape[0]).astype(float)
    found = selection_optimism(observed, resampled, resampled, higher_is_better=higher)
    assert math.isnan(found.optimism) or found.optimism >= 0


def test_optimism_is_what_the_choice_gains_on_equally_good_runs():
    # Six runs that are right half the time by chance: any lead of the best one is luck. Over 40
    # worlds of 200 photos the corrected score comes back to 0.5, the chosen one lies above.
    rng = np.random.default_rng(2)
    counts, photos = resample_counts(200, 200), np.arange(200)
    chosen, corrected, out_of_bag = [], [], []
    for _ in range(40):
        right = (rng.random((6, 200)) < 0.5).astype(float)
        found = selection_optimism(
            right.mean(axis=1),
            resampled_means(right, photos, counts),
            resampled_means(right, photos, out_of_bag_counts(counts)),
            higher_is_better=True,
        )
        chosen.append(found.score)
        corrected.append(found.corrected)
        out_of_bag.append(found.out_of_bag)
    assert np.mean(chosen) > 0.53
    assert np.mean(corrected) == pytest.approx(0.5, abs=0.015)
    assert np.mean(out_of_bag) == pytest.approx(0.5, abs=0.035)


@pytest.mark.parametrize(
    ("scores", "higher", "best"),
    [
        ([0.2, 0.7, 0.7], True, 1),
        ([0.2, 0.7, 0.2], False, 0),
        ([np.nan, 0.1], True, 1),
        ([np.nan, 3.0, np.nan], False, 1),
        ([np.nan], True, None),
        ([], True, None),
    ],
)
def test_the_best_run_is_the_first_of_several(scores, higher, best):
    assert best_run(np.array(scores), higher_is_better=higher) == best
