"""CulturalMenuBench's part of a report: scores, gaps and the diagnosis, from sample logs alone."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_food.results.culture.answers import answer_tables
from lmms_eval_food.results.culture.confusion import confusion_tables
from lmms_eval_food.results.culture.gaps import gap_tables
from lmms_eval_food.results.culture.scores import score_tables
from lmms_eval_food.results.joined import Settings, join_runs
from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.tables import Table


def culture_tables(
    runs: Sequence[Run], *, resamples: int = 2000, seed: int = 0, reader: str = "robust"
) -> list[Table]:
    """Return the tables of CulturalMenuBench, those whose tasks were asked.

    Failed requests are counted and left out of every score. Accuracies and their differences are
    shares (1 is whole).

    Args:
        runs: Runs of one or several models; the runs of a model are joined (`joined.join_runs`).
        resamples: Number of bootstrap resamples of dishes.
        seed: Seed of the resampling and of the dish subsets.
        reader: Whose readings are scored, "official" or "robust".

    Returns:
        Accuracy overall and by group, response bias, unreadable answers, gaps between the layers
        and conditions, confusion within cuisine families; [] where no run asked such a task.

    Source: CulturalMenuBench, Sections 3.2-3.4, Appendix D, Tables 5-7, 9, 16 and 17.
    """
    models = join_runs(runs, "culturalmenu_")
    settings = Settings(resamples, seed, reader)
    return [
        *score_tables(models, settings),
        *answer_tables(models, settings),
        *gap_tables(models, settings),
        *confusion_tables(models, settings),
    ]
