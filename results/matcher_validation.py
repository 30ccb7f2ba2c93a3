"""How well matchers agree with people, and people with each other.

Source: the canteen paper, Section 2.2.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from lmms_eval_food.metrics.agreement import (
    cohen_kappa,
    fleiss_kappa,
    majority_matches,
    roc_auc,
    youden_threshold,
)
from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import RESAMPLES, percentile_interval, resample_counts
from lmms_eval_food.metrics.match_quality import MatchQuality, match_quality
from lmms_eval_food.metrics.matchers import MATCHERS, MatcherError
from lmms_eval_food.metrics.matches import accepted_matches
from lmms_eval_food.metrics.portion_bootstrap import THRESHOLDS
from lmms_eval_food.metrics.portions import PRIMARY_THRESHOLD, score_portions
from lmms_eval_food.results.canteen import open_matcher, rescore
from lmms_eval_food.results.canteen.entries import Entry
from lmms_eval_food.results.rated_pairs import RatedPairs

# The name under which the score column of the pairs file goes.
PUBLISHED = "published"
SEED = 0


@dataclass(frozen=True, slots=True)
class Cut:
    """How well a similarity tells apart what people call a match.

    Attributes:
        matches: Pairs that people call a match.
        auc: Area under the ROC curve, in [0, 1]; nan where all pairs are alike.
        youden: Threshold that agrees with people best; nan likewise.
        low: Lower end of its percentile interval over resamples of the pairs.
        high: Upper end.
    """

    matches: int
    auc: float
    youden: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Validation:
    """One matcher against the raters.

    Attributes:
        name: The matcher.
        scores: Its similarity of each pair, shape (n,).
        strict: With only the same food as a match.
        lenient: With partly the same food too.
    """

    name: str
    scores: FloatArray
    strict: Cut
    lenient: Cut

    @property
    def threshold(self) -> float:
        """The threshold to use; nan where the labels do not say.

        Of the paper's grid (0.5 to 0.9) the value within both intervals that is nearest to the
        strict optimum; where the grid has none, the strict optimum to two decimals.
        """
        low, high = max(self.strict.low, self.lenient.low), min(self.strict.high, self.lenient.high)
        inside = [at for at in THRESHOLDS if low <= at <= high]
        if inside:
            return min(inside, key=lambda at: abs(at - self.strict.youden))
        return round(self.strict.youden, 2)


def validate(
    pairs: RatedPairs, name: str, scores: FloatArray, resamples: int = RESAMPLES, seed: int = SEED
) -> Validation:
    """Compare a matcher's similarities with the raters' majority labels.

    Args:
        pairs: Rated pairs, n of them.
        name: The matcher's name.
        scores: Its similarity of each pair, shape (n,).
        resamples: Resamples of the pairs for the intervals.
        seed: Their seed.
    """
    counts = resample_counts(len(pairs.ids), resamples, seed)
    strict, lenient = (
        _cut(majority_matches(pairs.ratings, lenient=partial), scores, counts)
        for partial in (False, True)
    )
    return Validation(name, scores, strict, lenient)


def _cut(matches: BoolArray, scores: FloatArray, counts: IntArray) -> Cut:
    rows = np.arange(scores.size)
    resampled = [
        youden_threshold(matches[drawn], scores[drawn])
        for drawn in (np.repeat(rows, row) for row in counts)
    ]
    return Cut(
        int(matches.sum()),
        roc_auc(matches, scores),
        youden_threshold(matches, scores),
        *percentile_interval(resampled),
    )


def pair_scores(pairs: RatedPairs, matcher: str) -> FloatArray:
    """Return a matcher's similarity of each pair, shape (n,).

    Raises:
        MatcherError: the matcher cannot score, or "published" is asked and there is no such column.
    """
    if matcher != PUBLISHED:
        jobs = [([pred], [true]) for pred, true in zip(pairs.preds, pairs.trues, strict=True)]
        scores = np.array([one.item() for one in open_matcher(matcher).score(jobs)])
        if undecided := int(np.isnan(scores).sum()):
            raise MatcherError(
                f"the matcher {matcher} gives no verdict on {undecided} of {scores.size} pairs; "
                "run it again to ask only these"
            )
        return scores
    if pairs.scores is None:
        raise MatcherError(f"the matcher {PUBLISHED!r} needs a column `score` in the pairs file")
    return np.array(pairs.scores)


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a run's accepted matches at the primary threshold are worth.

    Attributes:
        label: The run.
        f1: Its F1.
        quality: The make-up of its accepted matches; None where the run's names were not scored by
            this matcher and cannot be.
    """

    label: str
    f1: float
    quality: MatchQuality | None


def accepted_quality(
    pairs: RatedPairs, validation: Validation, entries: Sequence[Entry]
) -> list[Accepted]:
    """Return what the accepted matches of each run are worth under a matcher.

    The names are scored by that matcher; "published" scores belong to the paper's matcher and tell
    only about runs that it scored.

    Raises:
        MatcherError: the matcher cannot score.
    """
    return [_accepted(pairs, validation, entry) for entry in entries]


def _accepted(pairs: RatedPairs, validation: Validation, entry: Entry) -> Accepted:
    if validation.name != PUBLISHED:
        records = tuple(rescore(entry.records, open_matcher(validation.name)))
        entry = replace(entry, records=records)
    elif not entry.source[1].startswith(MATCHERS["distilroberta"].source.model):
        return Accepted(entry.label, math.nan, None)
    found = accepted_matches(entry.photos, PRIMARY_THRESHOLD)
    f1 = score_portions(entry.photos, PRIMARY_THRESHOLD).f1
    quality = match_quality(pairs.ratings, validation.scores, found.similarity, found.exact, f1)
    return Accepted(entry.label, f1, quality)


def rater_summary(pairs: RatedPairs) -> dict[str, Any]:
    """Return how far the raters agree, as the JSON output holds it.

    `cohen_kappa` has one value for every two raters, in the order of the columns; `unanimous` and
    `all_different` count the pairs on which all raters, and no two raters, agree.
    """
    by_rater = list(zip(*pairs.ratings, strict=True))
    several = len(pairs.raters) > 1
    distinct = [len(set(labels)) for labels in pairs.ratings]
    return {
        "pairs": len(pairs.ids),
        "raters": list(pairs.raters),
        "fleiss_kappa": fleiss_kappa(pairs.ratings) if several else math.nan,
        "cohen_kappa": [cohen_kappa(one, two) for one, two in combinations(by_rater, 2)],
        "unanimous": distinct.count(1),
        "all_different": distinct.count(len(pairs.raters)) if several else 0,
    }
