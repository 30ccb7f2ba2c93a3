"""DiningBench's part of a report: scores, views, reasoning and language, from sample logs alone."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_food.results.dining.answers import answer_counts, reasoning_faults
from lmms_eval_food.results.dining.comparisons import (
    categories,
    language_differences,
    reasoning_differences,
    scores,
    view_curve,
)
from lmms_eval_food.results.dining.items import items_by_task, nutrition_by_task
from lmms_eval_food.results.dining.nutrition import nutrient_tables
from lmms_eval_food.results.joined import Settings, join_runs
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table


def dining_tables(
    runs: Sequence[Run], *, resamples: int = 2000, seed: int = 0, reader: str = "robust"
) -> list[Table]:
    """Return the tables of DiningBench, those whose tasks were asked.

    Args:
        runs: Runs of one or several models; the runs of a model are joined (`joined.join_runs`).
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling.
        reader: Whose readings are scored, "official" or "robust".

    Returns:
        Counts of answers, scores with intervals, errors by nutrient, the multi-view curve, chain
        of thought minus none, Chinese minus English, and faults of reasoning; [] where no run
        asked such a task.

    Source: DiningBench, Sections 4.2-4.4 and 5.
    """
    models = join_runs(runs, "diningbench_")
    settings = Settings(resamples, seed, reader)
    items = {model.title: items_by_task(model, reader) for model in models}
    nutrition = {model.title: nutrition_by_task(model, reader) for model in models}
    return [
        *answer_counts(models, settings),
        *scores(items, settings),
        *nutrient_tables(nutrition, settings),
        *categories(models, settings),
        *view_curve(items, settings),
        *reasoning_differences(items, settings),
        *language_differences(items, settings),
        *reasoning_faults(models, settings),
    ]
