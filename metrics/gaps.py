"""Differences between two forms of a question, between two conditions, and between models."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lmms_eval_food.metrics.arrays import as_flags
from lmms_eval_food.metrics.bootstrap import (
    CONFIDENCE,
    RESAMPLES,
    PairedDifference,
    cluster_index,
    paired_difference,
    resample_counts,
    resampled_means,
)
from lmms_eval_food.metrics.classification import accuracy
from lmms_eval_food.metrics.confusion import binomial_p
from lmms_eval_food.metrics.ranking import spearman
from lmms_eval_food.metrics.shares import check_lengths


@dataclass(frozen=True, slots=True)
class Gap:
    """Accuracy in one form of question minus accuracy in another.

    Attributes:
        first: Accuracy in the first form, in [0, 1]; nan without answers.
        second: Accuracy in the second form.
        gap: first - second, in [-1, 1], and what resampling dishes makes of it.
        dishes: Number of dishes counted.
        shared: Those that occur in both forms.
        subset_gaps: The gap within each disjoint subset of the dishes; nan where a form has no
            answer there.
        subset_sd: Standard deviation of those that are not nan (n - 1), nan for fewer than two.
        subset_min: The smallest of them, nan for none.
    """

    first: float
    second: float
    gap: PairedDifference
    dishes: int
    shared: int
    subset_gaps: tuple[float, ...]
    subset_sd: float
    subset_min: float


@dataclass(frozen=True, slots=True)
class PairedGap:
    """Accuracy in one condition minus accuracy in another, on the same items.

    Attributes:
        n: Number of items.
        first: Accuracy in the first condition, in [0, 1]; nan without items.
        second: Accuracy in the second condition.
        gap: first - second, in [-1, 1], and what resampling dishes makes of it.
        only_first: Items right in the first condition only.
        only_second: Items right in the second condition only.
        mcnemar_p: McNemar's exact two-sided p, in [0, 1]; 1 where no item differs, nan without
            items. It takes items as independent; the interval of `gap` does not.
    """

    n: int
    first: float
    second: float
    gap: PairedDifference
    only_first: int
    only_second: int
    mcnemar_p: float


@dataclass(frozen=True, slots=True)
class DifficultyAgreement:
    """Do models find the same cuisines difficult?

    Attributes:
        pairs: Spearman's rho of each pair of models, in [-1, 1]; nan where it is undefined.
        mean: Mean over the pairs that are defined, nan for none.
    """

    pairs: Mapping[tuple[str, str], float]
    mean: float


def form_gap(
    first: npt.ArrayLike,
    first_dishes: Sequence[str],
    second: npt.ArrayLike,
    second_dishes: Sequence[str],
    *,
    shared_only: bool = False,
    subsets: int = 5,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> Gap:
    """Compare accuracy in two forms of question about one stock of dishes.

    Multiple choice minus binary, or standard minus regional. Every question about a dish, in both
    forms, is drawn together with the dish, so the comparison is paired where dishes are the same.

    Args:
        first: One flag an answer in the first form, shape (n,).
        first_dishes: The dish of each, length n; the first one where a question shows two.
        second: One flag an answer in the second form, shape (m,).
        second_dishes: The dish of each, length m.
        shared_only: Whether only dishes that occur in both forms count, as in the paper's analysis
            of standard minus regional.
        subsets: Number of disjoint subsets, see `dish_subsets`.
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling and of the subsets.
        confidence: Coverage of the interval, in (0, 1).

    Returns:
        The gap; nan where a form has no answer, without interval for fewer than two dishes.

    Raises:
        ValueError: lengths differ, or flags are no flags.

    Source: CulturalMenuBench, Table 5 and Appendix D (disjoint-subset and bootstrap analysis).
    """
    flags = as_flags(first, "first"), as_flags(second, "second")
    check_lengths(flags[0].size, first_dishes=len(first_dishes))
    check_lengths(flags[1].size, second_dishes=len(second_dishes))
    ours, theirs = {*first_dishes}, {*second_dishes}
    counted = ours & theirs if shared_only else ours | theirs
    dishes = [*first_dishes, *second_dishes]
    kept = [place for place, name in enumerate(dishes) if name in counted]
    names, dish = cluster_index([dishes[place] for place in kept])
    # One row a form, nan in the other form's columns.
    form = np.repeat([0, 1], [flags[0].size, flags[1].size])[kept]
    rows = np.where(form == [[0], [1]], np.concatenate(flags)[kept], math.nan)
    resampled = resampled_means(rows, dish, resample_counts(len(names), resamples, seed))
    one, two = (accuracy(row[form == number]) for number, row in enumerate(rows))
    place = dish_subsets(names, subsets, seed)
    members = np.array([place[name] for name in names]) == np.arange(subsets)[:, None]
    parts = resampled_means(rows, dish, members.astype(np.int64))
    subset_gaps = parts[0] - parts[1]
    found = subset_gaps[~np.isnan(subset_gaps)]
    return Gap(
        first=one,
        second=two,
        gap=paired_difference(one - two, resampled[0], resampled[1], confidence),
        dishes=len(names),
        shared=len(ours & theirs),
        subset_gaps=tuple(subset_gaps.tolist()),
        subset_sd=float(found.std(ddof=1)) if found.size > 1 else math.nan,
        subset_min=float(found.min()) if found.size else math.nan,
    )


def dish_subsets(dishes: Sequence[str], subsets: int = 5, seed: int = 0) -> dict[str, int]:
    """Deal dishes into disjoint subsets, as evenly as possible.

    Args:
        dishes: Dish ids, in any order, any number of times.
        subsets: Number of subsets.
        seed: Which deal: dishes are ranked by a hash of seed and id, then dealt in turn.

    Returns:
        Dish id -> subset in 0..subsets - 1; sizes differ by one at most.

    Source: CulturalMenuBench, Appendix D (five disjoint random subsets).
    """

    def rank(dish: str) -> bytes:
        return hashlib.sha256(f"{seed}\x1f{dish}".encode("utf-8", "surrogatepass")).digest()

    return {dish: place % subsets for place, dish in enumerate(sorted({*dishes}, key=rank))}


def paired_gap(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    dishes: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> PairedGap:
    """Compare two conditions on the same items: text or named minus image, full minus first step.

    Args:
        first: One flag an item in the first condition, shape (n,).
        second: The flags of the same items, in the same order, in the second condition.
        dishes: The dish of each item, length n; the first one where a question shows two.
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling.
        confidence: Coverage of the interval, in (0, 1).

    Returns:
        The comparison; nan without items, without interval for fewer than two dishes.

    Raises:
        ValueError: lengths differ, or flags are no flags.

    Source: CulturalMenuBench, Tables 6, 16 and 17; Q. McNemar, Psychometrika 12 (1947), exact form.
    """
    ours, theirs = as_flags(first, "first"), as_flags(second, "second")
    check_lengths(ours.size, second=theirs.size, dishes=len(dishes))
    names, dish = cluster_index(dishes)
    counts = resample_counts(len(names), resamples, seed)
    resampled = resampled_means(np.stack([ours, theirs]), dish, counts)
    one, two = accuracy(ours), accuracy(theirs)
    only_first, only_second = int((ours & ~theirs).sum()), int((theirs & ~ours).sum())
    differing = only_first + only_second
    unchanged = 1.0 if ours.size else math.nan
    return PairedGap(
        n=ours.size,
        first=one,
        second=two,
        gap=paired_difference(one - two, resampled[0], resampled[1], confidence),
        only_first=only_first,
        only_second=only_second,
        mcnemar_p=binomial_p(only_first, differing, 0.5) if differing else unchanged,
    )


def paired_gap_by_group(
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    dishes: Sequence[str],
    groups: Sequence[str | None],
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> dict[str, PairedGap]:
    """`paired_gap` within each group (a tier, a relation); groups in alphabetical order.

    Args:
        first: See `paired_gap`.
        second: See `paired_gap`.
        dishes: See `paired_gap`.
        groups: The group of each item, length n; None for none.
        resamples: Number of bootstrap resamples of the dishes of each group.
        seed: Seed of the resampling.
        confidence: Coverage of the intervals, in (0, 1).

    Returns:
        Group -> comparison; {} without items.

    Raises:
        ValueError: lengths differ, or flags are no flags.

    Source: CulturalMenuBench, Table 6 (practice-image tasks and others).
    """
    ours, theirs = as_flags(first, "first"), as_flags(second, "second")
    check_lengths(ours.size, second=theirs.size, dishes=len(dishes), groups=len(groups))
    found = {}
    for group in sorted({group for group in groups if group is not None}):
        items = [place for place, own in enumerate(groups) if own == group]
        own_dishes = [dishes[place] for place in items]
        found[group] = paired_gap(
            ours[items], theirs[items], own_dishes, resamples, seed, confidence
        )
    return found


def difficulty_agreement(
    accuracies: Mapping[str, Mapping[str, float]],
) -> DifficultyAgreement:
    """Rank correlation of per-cuisine accuracy for every pair of models.

    Args:
        accuracies: Model -> cuisine -> accuracy. A pair is compared on the cuisines for which both
            have one that is not nan.

    Returns:
        Pairs in the order of the models, and their mean. A pair is nan with fewer than two common
        cuisines, or where a model is equally accurate on all of them.

    Source: CulturalMenuBench, Section 3.4 (visual saliency).
    """
    pairs = {}
    for one, two in itertools.combinations(accuracies, 2):
        common = sorted({*accuracies[one]} & {*accuracies[two]})
        scores = [[accuracies[model][cuisine] for cuisine in common] for model in (one, two)]
        pairs[one, two] = spearman(*scores)
    defined = [rho for rho in pairs.values() if not math.isnan(rho)]
    return DifficultyAgreement(pairs, float(np.mean(defined)) if defined else math.nan)
