"""How much faster the bootstrap of all portion scores is than two plain ways to write it.

All three score the same 2,000 resamples of 200 photos, for 30 runs at 5 thresholds, and must agree.
The plain ways are timed on a part of the work, and the time is scaled up to all of it; ours is
timed whole, the drawing of the resamples included. Matrix products get one thread: the plain ways
use no more, and threads that wait for a busy machine's cores say nothing about the methods.

    python benchmarks/bench_bootstrap.py
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped] # no stubs

from lmms_eval_food.metrics.arrays import BoolArray, FloatArray, IntArray
from lmms_eval_food.metrics.bootstrap import resample_counts
from lmms_eval_food.metrics.meals import FlatItems, ImageResult, flatten
from lmms_eval_food.metrics.portion_bootstrap import PORTION_METRICS, THRESHOLDS, score_resamples

PHOTOS, RUNS, RESAMPLES, W0 = 200, 30, 2000, 129.0
LOOP_RESAMPLES, GATHER_RUNS, REPEATS = 40, 2, 3


def made_up_run(seed: int) -> list[ImageResult]:
    """Return a run over the same photos as every other: 1 to 7 true items, most of them matched."""
    world, model = np.random.default_rng(0), np.random.default_rng(seed)
    images = []
    for photo in range(PHOTOS):
        true = np.round(world.lognormal(4.8, 0.6, int(world.integers(1, 8))))
        pred = np.round(model.lognormal(4.8, 0.6, int(model.integers(1, 8))) / 10) * 10
        pred[model.random(pred.size) < 0.1] = np.nan
        n = min(true.size, pred.size)
        pairs = zip(
            model.permutation(pred.size)[:n].tolist(),
            model.permutation(true.size)[:n].tolist(),
            model.uniform(0.3, 1.0, n).tolist(),
            strict=True,
        )
        names = ("food",) * pred.size, ("food",) * true.size
        images.append(
            ImageResult(
                str(photo),
                names[0],
                tuple(pred.tolist()),
                names[1],
                tuple(true.tolist()),
                (*pairs,),
            )
        )
    return images


def by_loop(images: list[ImageResult], drawn: list[int], at: float) -> dict[str, float]:
    """Score one resample in plain Python."""
    n_pred = n_true = tp = 0
    errors: list[float] = []
    percents: list[float] = []
    missed = false = meal = 0.0
    for photo in drawn:
        result = images[photo]
        n_pred += len(result.pred_names)
        n_true += len(result.true_names)
        pairs = [pair for pair in result.pairs if pair[2] >= at]
        tp += len(pairs)
        partner = {true: result.pred_grams[pred] for pred, true, _ in pairs}
        for item, grams in enumerate(result.true_grams):
            guess = partner.get(item, math.nan)
            if math.isnan(guess):
                missed += grams
            else:
                errors.append(abs(guess - grams))
                percents.append(100 * abs(guess - grams) / grams)
        taken = {pred for pred, _, _ in pairs}
        total = 0.0
        for item, grams in enumerate(result.pred_grams):
            if not math.isnan(grams):
                total += grams
                false += 0.0 if item in taken else grams
        meal += abs(total - sum(result.true_grams))
    error = sum(errors)
    return {
        "precision": tp / n_pred,
        "recall": tp / n_true,
        "f1": 2 * tp / (n_pred + n_true),
        "mae": error / len(errors),
        "medae": statistics.median(errors),
        "rmse": math.sqrt(sum(value * value for value in errors) / len(errors)),
        "medape": statistics.median(percents),
        "nmae": (error + (n_true - len(errors)) * W0) / n_true,
        "cpmae": (error + missed) / n_true,
        "cpmae_fp": (error + missed + false) / n_true,
        "meal_ae": meal / len(drawn),
    }


def padded(values: FloatArray, owner: IntArray, kept: BoolArray) -> FloatArray:
    """Return each photo's kept values in a row, filled up with inf."""
    owner, values = owner[kept], values[kept]
    counts = np.bincount(owner, minlength=PHOTOS)
    place = np.arange(owner.size) - np.repeat(np.cumsum(counts) - counts, counts)
    table = np.full((PHOTOS, int(counts.max())), np.inf)
    table[owner, place] = values
    return table


def gathered_median(table: FloatArray, index: IntArray, sizes: FloatArray) -> FloatArray:
    """Gather the rows of each resample, sort them and take the middle."""
    rows = np.sort(table[index].reshape(index.shape[0], -1), axis=1)
    at = np.arange(index.shape[0])
    sizes = sizes.astype(np.int64)
    medians: FloatArray = (rows[at, (sizes - 1) // 2] + rows[at, sizes // 2]) / 2
    return medians


def by_gathering(items: FlatItems, index: IntArray, at: float) -> dict[str, FloatArray]:
    """Score all resamples of one run by indexing its photos."""

    def total(owner: IntArray, values: FloatArray | None = None) -> FloatArray:
        summed: FloatArray = np.bincount(owner, values, PHOTOS)[index].sum(axis=1)
        return summed

    accepted = items.true_score >= at
    kept = accepted & ~np.isnan(items.paired_grams)
    error = np.abs(items.paired_grams - items.true_grams)
    percent = 100 * error / items.true_grams
    false = ~(items.pred_score >= at)
    owner = items.true_image[kept]
    n_pred, n_true = total(items.pred_image), total(items.true_image)
    tp, sizes = total(items.true_image[accepted]), total(owner)
    summed = total(owner, error[kept])
    weight = summed + total(items.true_image[~kept], items.true_grams[~kept])
    grams = np.nan_to_num(items.pred_grams)
    meals = np.bincount(items.pred_image, grams, PHOTOS) - np.bincount(
        items.true_image, items.true_grams, PHOTOS
    )
    return {
        "precision": tp / n_pred,
        "recall": tp / n_true,
        "f1": 2 * tp / (n_pred + n_true),
        "mae": summed / sizes,
        "medae": gathered_median(padded(error, items.true_image, kept), index, sizes),
        "rmse": np.sqrt(total(owner, np.square(error[kept])) / sizes),
        "medape": gathered_median(padded(percent, items.true_image, kept), index, sizes),
        "nmae": (summed + (n_true - sizes) * W0) / n_true,
        "cpmae": weight / n_true,
        "cpmae_fp": (weight + total(items.pred_image[false], grams[false])) / n_true,
        "meal_ae": np.abs(meals)[index].mean(axis=1),
    }


def seconds(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def check(runs: list[list[ImageResult]], flat: list[FlatItems], index: IntArray) -> None:
    """Raise AssertionError unless all three ways give the same scores."""
    counts = resample_counts(PHOTOS, RESAMPLES)
    ours = score_resamples(flat[:1], counts)
    for at, threshold in enumerate(THRESHOLDS):
        loop = by_loop(runs[0], index[0].tolist(), threshold)
        gathered = by_gathering(flat[0], index, threshold)
        for name in PORTION_METRICS:
            np.testing.assert_allclose(ours[name][0, at], gathered[name], rtol=1e-9, err_msg=name)
            np.testing.assert_allclose(ours[name][0, at, 0], loop[name], rtol=1e-9, err_msg=name)


def main() -> None:
    runs = [made_up_run(seed) for seed in range(1, RUNS + 1)]
    flat = [flatten(images) for images in runs]
    counts = resample_counts(PHOTOS, RESAMPLES)
    drawn_photos = np.repeat(np.tile(np.arange(PHOTOS), RESAMPLES), counts.ravel())
    index = drawn_photos.reshape(RESAMPLES, PHOTOS)
    check(runs, flat, index)
    drawn = index[:LOOP_RESAMPLES].tolist()
    works: dict[str, Callable[[], object]] = {
        "ours": lambda: score_resamples(flat, resample_counts(PHOTOS, RESAMPLES)),
        "loop": lambda: [by_loop(runs[0], row, at) for at in THRESHOLDS for row in drawn],
        "gathering": lambda: [
            by_gathering(run, index, at) for run in flat[:GATHER_RUNS] for at in THRESHOLDS
        ],
    }
    # In turn, so that a busy moment of the machine hits all alike; the best time of each counts.
    with threadpool_limits(1):
        rounds = [{name: seconds(work) for name, work in works.items()} for _ in range(REPEATS)]
    best = {name: min(times[name] for times in rounds) for name in works}
    looped = best["loop"] * RUNS * RESAMPLES / LOOP_RESAMPLES
    gathering = best["gathering"] * RUNS / GATHER_RUNS
    print(f"all {len(PORTION_METRICS)} scores of the three ways agree to 1e-9")
    print(f"{RUNS} runs, {len(THRESHOLDS)} thresholds, {RESAMPLES} resamples of {PHOTOS} photos:")
    print(f"ours: {best['ours']:.2f} s, all of it")
    print(
        f"plain Python loop: {looped:.0f} s, scaled from {best['loop']:.2f} s "
        f"for 1 run and {LOOP_RESAMPLES} resamples"
    )
    print(
        f"NumPy gathering: {gathering:.1f} s, scaled from {best['gathering']:.2f} s "
        f"for {GATHER_RUNS} runs"
    )
    print(f"ratio loop/ours {looped / best['ours']:.0f}")
    print(f"ratio gathering/ours {gathering / best['ours']:.1f}")


if __name__ == "__main__":
    main()
