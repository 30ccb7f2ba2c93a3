"""How much comparing each name once, and sorting once, save: ratios within one run.

Run with `python benchmarks/bench_matching.py`; it needs the package of the `minilm` extra and takes
well under a minute. Only the ratios mean anything on another machine.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from lmms_eval_food.metrics.arrays import FloatArray
from lmms_eval_food.metrics.encoders import BiEncoder
from lmms_eval_food.metrics.matchers import MATCHERS, CachedMatcher, Job
from lmms_eval_food.metrics.matching import Pair, greedy_assignment
from lmms_eval_food.metrics.weights import MatcherError

PHOTOS, PHOTOS_BY_PAIR, ITEMS = 200, 40, 5
STYLES = ("boiled", "grilled", "fresh", "baked", "mixed", "creamy", "small portion of")
FOODS = ("rice", "pasta", "bread", "chicken", "salad", "carrots", "yogurt", "soup", "fish", "beans")
EXTRAS = ("", " with tomato", " with cheese", " and herbs", " in a bowl", " on a plate")


def seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def make_jobs(count: int) -> list[Job]:
    rng = random.Random(0)

    def name() -> str:
        return f"{rng.choice(STYLES)} {rng.choice(FOODS)}{rng.choice(EXTRAS)}"

    return [([name() for _ in range(ITEMS)], [name() for _ in range(ITEMS)]) for _ in range(count)]


def pair_by_pair(model: BiEncoder, jobs: list[Job]) -> list[FloatArray]:
    """Read both names of every pair, a photo's pairs in one batch: the plain use of the model."""
    matrices = []
    for preds, trues in jobs:
        lefts = model.compute([(pred, "") for pred in preds for _ in trues])
        rights = model.compute([(true, "") for _ in preds for true in trues])
        scores = [float(left @ right) for left, right in zip(lefts, rights, strict=True)]
        matrices.append(np.array(scores).reshape(len(preds), len(trues)).round(6))
    return matrices


def plain_greedy(scores: FloatArray, threshold: float) -> list[Pair]:
    """Look through all free pairs for the best one, again and again."""
    pairs: list[Pair] = []
    preds, trues = set(range(scores.shape[0])), set(range(scores.shape[1]))
    while True:
        free = [(-scores[p, t], p, t) for p in preds for t in trues if scores[p, t] >= threshold]
        if not free:
            return pairs
        score, pred, true = min(free)
        pairs.append((pred, true, -float(score)))
        preds.remove(pred)
        trues.remove(true)


def bench_matcher() -> None:
    spec = MATCHERS["minilm"]
    model = BiEncoder(spec.source, "cpu")
    try:
        model.compute([("warm up", "")])
    except MatcherError as error:
        sys.exit(str(error))
    jobs = make_jobs(PHOTOS)
    matcher = CachedMatcher("minilm", model)
    with ThreadPoolExecutor(4) as pool:
        # One photo a call from four threads: how the host's hook asks.
        ours = seconds(lambda: list(pool.map(lambda job: matcher.score([job]), jobs)))
    few = jobs[:PHOTOS_BY_PAIR]
    plain = seconds(lambda: pair_by_pair(model, few)) * PHOTOS / PHOTOS_BY_PAIR
    for expected, scores in zip(pair_by_pair(model, few[:2]), matcher.score(few[:2]), strict=True):
        np.testing.assert_allclose(scores, expected, atol=2e-6)
    names = len({name for job in jobs for side in job for name in side})
    print(f"{PHOTOS} photos of {ITEMS} x {ITEMS} names, {names} different ones, all-MiniLM-L6-v2")
    print(f"  each name once:  {ours:7.2f} s")
    print(f"  pair by pair:    {plain:7.2f} s (from {PHOTOS_BY_PAIR} photos)")
    print(f"  ratio:           {plain / ours:7.1f}")


def bench_greedy(size: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    matrices = [rng.random((size, size)).round(6) for _ in range(repeats)]
    assert all(greedy_assignment(m, 0.5) == plain_greedy(m, 0.5) for m in matrices[:5])
    ours = seconds(lambda: [greedy_assignment(m, 0.5) for m in matrices])
    plain = seconds(lambda: [plain_greedy(m, 0.5) for m in matrices])
    print(f"greedy assignment, {repeats} matrices of {size} x {size}")
    print(f"  sorted once:     {1e6 * ours / repeats:7.0f} µs a matrix")
    print(f"  plain loops:     {1e6 * plain / repeats:7.0f} µs a matrix")
    print(f"  ratio:           {plain / ours:7.1f}")


if __name__ == "__main__":
    bench_greedy(size=5, repeats=2000)
    bench_greedy(size=40, repeats=20)
    bench_matcher()
