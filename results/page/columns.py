"""Which numbers the headline tables show, and where the papers print the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Column:
    """One number of a headline table.

    Attributes:
        label: Its heading, with the unit.
        task: The task, "{}" standing for the setting's suffix.
        metric: The host's name of the metric.
        higher_is_better: Which end is better.
        published: Where the same number is printed: table and setting ("" for the row's own), by
            the table's own setting.
    """

    label: str
    task: str
    metric: str
    higher_is_better: bool
    published: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What a headline table shows.

    Attributes:
        name: Prefix of its tasks, and its name in `results.reference`.
        title: Its name for people.
        settings: Name of a setting -> suffix of its tasks.
        columns: Its numbers; ranks go by the first.
    """

    name: str
    title: str
    settings: Mapping[str, str]
    columns: tuple[Column, ...]


_DINING = (("2", "zh"), ("4", "en"))
_CANTEEN = (("2", "*"),)

BENCHMARKS = (
    Benchmark(
        "diningbench",
        "DiningBench",
        {"zh": "", "en": "_en"},
        (
            Column("Classification accuracy", "diningbench_cls{}", "acc", True, _DINING),
            Column("VQA judged accuracy", "diningbench_vqa{}", "judge_acc", True, _DINING),
            Column("Nutrition MAPE, %", "diningbench_nutrition{}", "mape", False, _DINING),
            Column("Nutrition MAE, kcal+g", "diningbench_nutrition{}", "mae", False, _DINING),
            Column("Nutrition RMSE, kcal+g", "diningbench_nutrition{}", "rmse", False, _DINING),
        ),
    ),
    Benchmark(
        "canteen",
        "Canteen portions",
        {"standard": "", "concise": "_concise"},
        (
            Column("F1", "canteen_portions{}", "f1", True, _CANTEEN),
            Column("NMAE, g", "canteen_portions{}", "nmae", False, _CANTEEN),
            Column("cpMAE, g", "canteen_portions{}", "cpmae", False, _CANTEEN),
            Column("cpMAE+FP, g", "canteen_portions{}", "cpmae_fp", False, _CANTEEN),
            Column("Meal AE, g", "canteen_portions{}", "meal_ae", False, _CANTEEN),
            Column("MAE, g", "canteen_portions{}", "mae", False, _CANTEEN),
            Column("MedAE, g", "canteen_portions{}", "medae", False, _CANTEEN),
            Column("Matched items", "canteen_portions{}", "matched", True, _CANTEEN),
        ),
    ),
    Benchmark(
        "culturalmenu",
        "CulturalMenuBench",
        {"": ""},
        (
            Column("Multiple-choice accuracy", "culturalmenu_mc", "acc", True, (("5", "mc"),)),
            Column("Binary accuracy", "culturalmenu_binary", "acc", True, (("5", "binary"),)),
            Column("Regional accuracy", "culturalmenu_region", "acc", True, (("7", "overall"),)),
        ),
    ),
)
