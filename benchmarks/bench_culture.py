"""How fast a whole CulturalMenuBench run is scored, and how much resampling dishes once saves.

11,048 generated answers, as many as the benchmark has questions, get every breakdown with
intervals over dishes, the yes-rate, the option preference and the confusion test. Reading the
answers is not in it. The ratio is to plain Python loops over the same resamples in the same run;
only the ratio means anything on another machine.

    python benchmarks/bench_culture.py
"""

from __future__ import annotations

import random
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lmms_eval_food.metrics.bootstrap import percentile_interval, resample_counts
from lmms_eval_food.metrics.confusion import RegionAnswer, family_confusion
from lmms_eval_food.metrics.response_bias import option_preference, yes_bias
from lmms_eval_food.metrics.shares import shares_over_dishes, unreadable_by_group

RESAMPLES, PLAIN_RESAMPLES, REPEATS = 2000, 20, 5
DISHES = [f"dish {number:03}" for number in range(587)]
LANGUAGES = ("zh", "en", "es", "fr", "hi", "it", "th", "ja", "ko", "vi")
# Sixteen cuisines in five families, as in the paper.
FAMILIES = {
    f"cuisine {family}{place}": f"family {family}"
    for family, size in zip("abcde", (3, 4, 4, 4, 1), strict=True)
    for place in range(size)
}
Breakdowns = dict[str, list[str | None]]


@dataclass(frozen=True, slots=True)
class Layer:
    """Generated answers to one form of question; an option is None where none was read."""

    name: str
    truth: list[str]
    chosen: list[str | None]
    dishes: list[str]
    breakdowns: Breakdowns

    @property
    def correct(self) -> list[bool]:
        """Which answers are right."""
        return [pick == right for pick, right in zip(self.chosen, self.truth, strict=True)]


def make_layer(name: str, size: int, options: str | tuple[str, ...], relations: int) -> Layer:
    rng = random.Random(name)
    truth = rng.choices(options, k=size)
    chosen = [rng.choice((right, right, *options, None)) for right in truth]
    dishes = rng.choices(DISHES, k=size)
    language = {dish: LANGUAGES[number % 10] for number, dish in enumerate(DISHES)}
    cuisine = dict(zip(DISHES[::10], rng.choices([*FAMILIES], k=59), strict=True))
    relation = [f"relation {rng.randrange(relations)}" for _ in range(size)]
    breakdowns: Breakdowns = {
        "all": ["all"] * size,
        "relation": [*relation],
        "tier": ["process" if text[-1] in "13579" else "recognition" for text in relation],
        "language": [language[dish] for dish in dishes],
        "cuisine": [cuisine.get(dish) for dish in dishes],
        "option": [*truth],
    }
    return Layer(name, truth, chosen, dishes, breakdowns)


def make_region_answers(layer: Layer) -> list[RegionAnswer]:
    rng = random.Random(0)
    answers = []
    for right, pick in zip(layer.truth, layer.chosen, strict=True):
        options = dict(zip("ABCD", rng.sample([*FAMILIES], 4), strict=True))
        chosen = None if pick is None else options[pick]
        answers.append(RegionAnswer(options[right], chosen, tuple(options.values())))
    return answers


def plain_shares(
    layer: Layer, resamples: int
) -> dict[str, dict[str, tuple[float, tuple[float, float]]]]:
    """Share and interval of every group by loops over resamples, dishes and answers."""
    names = sorted(set(layer.dishes))
    answers = defaultdict(list)
    for place, dish in enumerate(layer.dishes):
        answers[dish].append(place)
    correct, found = layer.correct, {}
    counts = [[1] * len(names), *resample_counts(len(names), resamples).tolist()]
    for breakdown, groups in layer.breakdowns.items():
        shares = defaultdict(list)
        for drawn in counts:
            totals, hits = defaultdict(int), defaultdict(int)
            for dish, times in zip(names, drawn, strict=True):
                for place in answers[dish] if times else ():
                    totals[groups[place]] += times
                    hits[groups[place]] += times * correct[place]
            for group, total in totals.items():
                shares[group].append(hits[group] / total)
        found[breakdown] = {
            group: (own[0], percentile_interval(own[1:]))
            for group, own in shares.items()
            if group is not None
        }
    return found


def our_shares(layer: Layer, resamples: int) -> dict[str, dict[str, object]]:
    return shares_over_dishes(layer.correct, layer.dishes, layer.breakdowns, resamples)


def score_all(layers: list[Layer], region: list[RegionAnswer]) -> None:
    for layer in layers:
        our_shares(layer, RESAMPLES)
        unreadable_by_group(layer.chosen, layer.breakdowns["language"])
        if layer.name == "binary":
            yes_bias(layer.chosen, layer.truth, layer.dishes, RESAMPLES)
        else:
            option_preference(layer.chosen, layer.truth, layer.dishes, resamples=RESAMPLES)
    family_confusion(region, FAMILIES)


def check_same(layers: list[Layer]) -> None:
    """Stop where the two ways differ on the same resamples."""
    for layer in layers:
        ours, plain = our_shares(layer, PLAIN_RESAMPLES), plain_shares(layer, PLAIN_RESAMPLES)
        assert {name: {*groups} for name, groups in ours.items()} == {
            name: {*groups} for name, groups in plain.items()
        }
        for breakdown, groups in ours.items():
            for group, share in groups.items():
                expected, ends = plain[breakdown][group]
                found = [share.share, share.low, share.high]
                if not np.isnan(share.low):  # a single dish has no interval
                    np.testing.assert_allclose(found, [expected, *ends], rtol=1e-9)


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> None:
    letters = tuple("ABCD")
    layers = [
        make_layer("binary", 4870, ("yes", "no"), 10),
        make_layer("mc, Chinese", 2607, letters, 14),
        make_layer("mc, foreign", 3217, letters, 14),
        make_layer("region", 354, letters, 2),
    ]
    region = make_region_answers(layers[-1])
    answers = sum(len(layer.truth) for layer in layers)
    check_same(layers)
    score_all(layers, region)  # imports scipy.stats
    whole = min(seconds(lambda: score_all(layers, region)) for _ in range(REPEATS))
    ours = min(seconds(lambda: [our_shares(x, RESAMPLES) for x in layers]) for _ in range(REPEATS))
    few = seconds(lambda: [plain_shares(layer, PLAIN_RESAMPLES) for layer in layers])
    # The plain loops also score the answers once as they are.
    plain = few * (RESAMPLES + 1) / (PLAIN_RESAMPLES + 1)
    groups = sum(len(set(g) - {None}) for layer in layers for g in layer.breakdowns.values())
    print(f"{answers} answers, {len(DISHES)} dishes, {groups} groups, {RESAMPLES} resamples")
    print(f"  everything:        {whole:7.2f} s, {answers / whole:8.0f} answers a second")
    print(f"  shares over dishes:{ours:7.2f} s")
    print(f"  plain loops:       {plain:7.2f} s (from {PLAIN_RESAMPLES} resamples, scaled)")
    print(f"  ratio:             {plain / ours:7.1f}")


if __name__ == "__main__":
    main()
