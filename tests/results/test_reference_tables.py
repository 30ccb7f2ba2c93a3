"""The published tables are whole, as printed, and agree with themselves and each other."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

from lmms_eval_food.results.reference import ReferenceRow, load_reference, tables

SHARED = Path(__file__).parents[3] / "shared"

# Models (and predictors, people) times figures each, counted on the printed tables.
ROWS = {
    ("canteen", "2"): 31 * 8 + 2 * 6 + 5,  # the reference predictors have fewer figures
    ("canteen", "3"): 11 * 6,
    ("canteen", "4"): 8 * 4,
    ("culturalmenu", "4"): 5 + 2,
    ("culturalmenu", "5"): 12 * 3 + 2,  # chance has no gap
    ("culturalmenu", "6"): 3 * 3 * 3,
    ("culturalmenu", "7"): 9 * 3,
    ("culturalmenu", "8"): 4 * 3,
    ("culturalmenu", "9"): 11 * 4 + 3,  # chance has no errors
    ("culturalmenu", "12"): 5 + 2,
    ("culturalmenu", "14"): 15 * 3,
    ("culturalmenu", "16"): 3 * 5,
    ("culturalmenu", "17"): 3 * 3,
    ("diningbench", "2"): 29 * 9,
    ("diningbench", "4"): 17 * 5,
}
ITEMS, PHOTOS, PENALTY = 870, 200, 129

# Printed figures that do not follow from the printed figures beside them, with what does.
# -5.7 fits 275 and 292 right of 300: both shares and the difference were rounded separately.
DELTAS_OFF = {("6", "Claude 4.6", "practice_image"): Decimal("-5.6")}
# 103 of the 177 photos are 58.2%, 104 are 58.8%: no count gives the printed 58.3.
NOT_A_COUNT = {("16", "Qwen3.6-Plus", "baseline"): Decimal("58.2")}

# Table -> (setting and metric of a difference, what it is taken from, what is taken off).
DIFFERENCES = {
    "5": [(("", "gap"), "mc", "binary")],
    "6": [
        ((part, "delta"), f"{part}/single", f"{part}/full")
        for part in ("overall", "practice_image", "no_practice_image")
    ],
    "8": [(("", "gap"), "recognition", "region")],
    "16": [(("cot", "delta"), "cot", "baseline"), (("name", "delta"), "name", "baseline")],
    "17": [(("text_only", "delta"), "text_only", "image")],
}


def figures(benchmark: str, table: str) -> dict[str, dict[tuple[str, str], ReferenceRow]]:
    """Model (with its reasoning setting in Table 9) -> setting, metric -> row."""
    found: dict[str, dict[tuple[str, str], ReferenceRow]] = defaultdict(dict)
    for row in load_reference(benchmark, table):
        apart = table == "9" and row.setting
        model, setting = (f"{row.model} {row.setting}", "") if apart else (row.model, row.setting)
        found[model][setting, row.metric] = row
    return found


def metrics(benchmark: str, table: str) -> dict[str, dict[str, ReferenceRow]]:
    """Model -> metric -> row, for tables with one setting a model."""
    return {
        model: {metric: row for (_, metric), row in cells.items()}
        for model, cells in figures(benchmark, table).items()
    }


def half_unit(row: ReferenceRow) -> float:
    """Half a unit of the last printed digit."""
    digits = len(row.printed.partition(".")[2])
    return 0.5 * 10.0**-digits + 1e-9


def test_tables_are_those_of_the_papers_in_order() -> None:
    assert tables() == list(ROWS)


@pytest.mark.parametrize(("key", "count"), ROWS.items())
def test_row_count(key: tuple[str, str], count: int) -> None:
    assert len(load_reference(*key)) == count


def test_all_tables_together_and_by_benchmark() -> None:
    everything = load_reference()
    assert len(everything) == sum(ROWS.values())
    assert [row for row in everything if row.paper == "canteen"] == load_reference("canteen")
    assert {row.table for row in load_reference(table="2")} == {"2"}


@pytest.mark.parametrize(
    ("key", "counts"),
    [
        (("diningbench", "2"), {"proprietary": 10, "open": 19}),
        (("diningbench", "4"), {"proprietary": 7, "open": 10}),
        (("canteen", "2"), {"proprietary": 5, "open": 26, "reference": 3}),
        (("canteen", "4"), {"proprietary": 5, "open": 3}),
        (("culturalmenu", "4"), {"human": 7}),
        (("culturalmenu", "5"), {"proprietary": 9, "open": 3, "reference": 1}),
        (("culturalmenu", "7"), {"proprietary": 5, "open": 3, "reference": 1}),
        (("culturalmenu", "12"), {"human": 7}),
    ],
)
def test_models_by_access(key: tuple[str, str], counts: dict[str, int]) -> None:
    models = {(row.model, row.access) for row in load_reference(*key)}
    found = {access: sum(a == access for _, a in models) for _, access in models}
    assert found == counts


def test_a_model_is_open_or_proprietary_in_every_table() -> None:
    access: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in load_reference():
        access[row.paper, row.model.casefold()].add(row.access)
    assert [key for key, found in access.items() if len(found) > 1] == []


@pytest.mark.parametrize("model", sorted(figures("diningbench", "2")))
def test_diningbench_average_mape_is_the_mean_of_the_four(model: str) -> None:
    row = metrics("diningbench", "2")[model]
    four = [row[f"{what}_mape"] for what in ("calories", "protein", "carbohydrates", "fat")]
    mean = sum(figure.value for figure in four) / 4
    assert mean == pytest.approx(row["mape"].value, abs=half_unit(row["mape"]) + half_unit(four[0]))


def accuracies() -> Iterator[ReferenceRow]:
    for row in load_reference():
        if row.metric in {"acc", "judge_acc"} and row.n and row.model != "Average":
            yield row


def test_accuracies_are_whole_numbers_of_right_answers() -> None:
    off = {}
    for row in accuracies():
        assert row.n is not None
        whole = 100 if row.unit == "%" else 1
        nearest = whole * round(row.value / whole * row.n) / row.n
        if abs(nearest - row.value) > half_unit(row):
            off[row.table, row.model, row.setting] = Decimal(f"{nearest:.1f}")
    assert off == NOT_A_COUNT


@pytest.mark.parametrize("table", DIFFERENCES)
def test_culturalmenu_printed_differences(table: str) -> None:
    off = {}
    for model, cells in figures("culturalmenu", table).items():
        for key, larger, smaller in DIFFERENCES[table]:
            if key not in cells:
                assert model == "Random"
                continue
            more, less = (Decimal(cells[end, "acc"].printed) for end in (larger, smaller))
            if more - less != Decimal(cells[key].printed):
                off[table, model, key[0]] = more - less
    assert off == {key: value for key, value in DELTAS_OFF.items() if key[0] == table}


@pytest.mark.parametrize("model", sorted(figures("culturalmenu", "7")))
def test_culturalmenu_table_7_overall_is_the_mean_of_both_columns(model: str) -> None:
    row = {setting: cell for (setting, _), cell in figures("culturalmenu", "7")[model].items()}
    mean = (row["dish_image"].value + row["practice_image"].value) / 2
    assert row["overall"].value == pytest.approx(mean, abs=half_unit(row["overall"]))


@pytest.mark.parametrize("model", sorted(figures("culturalmenu", "9")))
def test_culturalmenu_table_9_row(model: str) -> None:
    row = metrics("culturalmenu", "9")[model]
    share = Decimal(row["intra_family_share"].printed)
    assert Decimal(row["delta_vs_random"].printed) == share - Decimal("18.1")
    if model == "Random baseline":
        return
    errors = row["errors"].value
    assert 100 * (1 - errors / 378) == pytest.approx(row["acc"].value, abs=half_unit(row["acc"]))
    within = round(float(share) * errors / 100)
    assert 100 * within / errors == pytest.approx(float(share), abs=0.05 + 1e-9)


@pytest.mark.parametrize("table", ["4", "12"])
def test_culturalmenu_human_average(table: str) -> None:
    row = {model: cells["acc"] for model, cells in metrics("culturalmenu", table).items()}
    five = [row[f"Annotator {number}"].value for number in range(1, 6)]
    assert sum(five) / 5 == pytest.approx(row["Average"].value, abs=half_unit(row["Average"]))


@pytest.mark.parametrize("model", sorted(figures("culturalmenu", "6")))
@pytest.mark.parametrize("images", ["full", "single"])
def test_culturalmenu_table_6_overall_is_300_and_200_of_500(model: str, images: str) -> None:
    row = {
        setting: cell.value for (setting, _), cell in figures("culturalmenu", "6")[model].items()
    }
    mean = 0.6 * row[f"practice_image/{images}"] + 0.4 * row[f"no_practice_image/{images}"]
    assert row[f"overall/{images}"] == pytest.approx(mean, abs=0.1)


@pytest.mark.parametrize("model", ["GPT-5 Mini", "Claude Sonnet 4", "GPT-5 Nano"])
def test_culturalmenu_table_14_overall_is_within_its_rows_and_that_of_table_5(model: str) -> None:
    cells = figures("culturalmenu", "14")[model]
    overall = cells.pop(("overall", "acc"))
    rows = [cell.value for cell in cells.values()]
    assert min(rows) < overall.value < max(rows)
    assert overall.printed == figures("culturalmenu", "5")[model]["mc", "acc"].printed


def test_culturalmenu_tables_7_and_17_repeat_each_other_and_table_9() -> None:
    seven, nine = figures("culturalmenu", "7"), figures("culturalmenu", "9")
    photos = figures("culturalmenu", "17")
    both = seven.keys() & nine.keys()
    assert len(both) == 8
    assert all(seven[m]["overall", "acc"].value == nine[m]["", "acc"].value for m in both)
    again = seven.keys() & photos.keys()
    assert again == {"Qwen3.6-Plus", "Kimi K2.6"}
    assert all(
        seven[m]["dish_image", "acc"].value == photos[m]["image", "acc"].value for m in again
    )


CANTEEN = metrics("canteen", "2")
PREDICTORS = {model for model in CANTEEN if model.endswith("predictor")}


@pytest.mark.parametrize("model", sorted(CANTEEN.keys() - PREDICTORS))
def test_canteen_nmae_follows_from_mae_and_matched(model: str) -> None:
    row = CANTEEN[model]
    matched = row["matched"].value
    nmae = (row["mae"].value * matched + PENALTY * (ITEMS - matched)) / ITEMS
    assert row["nmae"].value == pytest.approx(nmae, abs=0.5 * matched / ITEMS + 0.5)
    assert row["cpmae"].value <= row["cpmae_fp"].value


@pytest.fixture(scope="module")
def trays(published_canteen: Path) -> dict[str, list[float]]:
    """The published labels: photo -> grams of its items."""
    found: dict[str, list[float]] = defaultdict(list)
    with (published_canteen / "labels_flat.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            found[row["image"]].append(float(row["portion"]))
    return found


def test_canteen_null_predictor_follows_from_the_published_labels(
    trays: dict[str, list[float]],
) -> None:
    grams = np.concatenate([np.array(tray) for tray in trays.values()])
    row = {metric: cell.value for metric, cell in CANTEEN["Null predictor"].items()}
    assert (len(trays), grams.size) == (PHOTOS, ITEMS)
    assert row.pop("matched") == 0
    assert row.pop("nmae") == PENALTY == np.median(grams)
    assert row.pop("cpmae") == row.pop("cpmae_fp") == round(float(grams.mean()))
    assert row == {"meal_ae": round(float(grams.sum()) / PHOTOS)}


def test_canteen_global_median_predictor_follows_from_the_published_labels(
    trays: dict[str, list[float]],
) -> None:
    errors = np.abs(np.concatenate([np.array(tray) for tray in trays.values()]) - PENALTY)
    meals = [abs(sum(tray) - PENALTY * len(tray)) for tray in trays.values()]
    row = {metric: cell.value for metric, cell in CANTEEN["Global-median predictor"].items()}
    assert row.pop("matched") == ITEMS
    assert row.pop("mae") == row.pop("cpmae") == row.pop("cpmae_fp") == round(float(errors.mean()))
    assert row.pop("medae") == np.median(errors)
    assert row == {"meal_ae": round(float(np.mean(meals)))}


def test_canteen_table_3_has_the_models_with_450_estimates_as_in_table_2() -> None:
    three = metrics("canteen", "3")
    enough = {model for model, row in CANTEEN.items() if row["matched"].value >= 450}
    assert set(three) == enough - PREDICTORS
    for model, row in three.items():
        for metric in ("matched", "mae"):
            assert row[metric].value == CANTEEN[model][metric].value
            assert row[metric].setting == CANTEEN[model][metric].setting


def test_canteen_table_4_raw_error_is_that_of_table_2() -> None:
    two = {model.casefold(): row["medae"] for model, row in CANTEEN.items() if "medae" in row}
    for model, row in metrics("canteen", "4").items():
        if "replicates" not in row["medae"].setting:
            printed = two[model.casefold()]
            assert (printed.setting, printed.n) == (row["medae"].setting, row["medae"].n)
            assert printed.value == pytest.approx(row["medae"].value, abs=half_unit(printed))


# How a model's figures stand in the paper's text: its name, then its numbers in this order.
PAPERS = {
    "diningbench": "000_fe2721effc9086b8.txt",
    "canteen": "002_01af9689519dfdea.txt",
    "culturalmenu": "003_a71d1f3bde9af251.txt",
}


def printed_line(row: ReferenceRow) -> tuple[str, str]:
    """What rows of one line of the printed table share."""
    if (row.paper, row.table) == ("culturalmenu", "14"):
        return "", row.setting
    return row.model, row.setting if row.table == "9" else ""


def line_pattern(rows: list[ReferenceRow]) -> str:
    first = rows[0]
    label = first.model
    if printed_line(first)[0] == "":
        ends = ["".join(w[0] for w in end.split("_")).upper() for end in first.setting.split("->")]
        label = "Overall" if ends == ["O"] else r" \leftrightarrow ".join(ends)
    numbers: list[str] = []
    if re.match("T=[0-9]", first.setting) and first.table != "3":  # Table 3 prints no temperature
        numbers.append(first.setting.removeprefix("T="))
    for row in rows:
        ends = [f"{end:.2f}" for end in (row.low, row.high) if end is not None]
        numbers += [row.printed, *ends]
    pattern = re.escape(label)
    for number in numbers:
        sign = "[-−]" if number.startswith("-") else "(?<![-−])"
        pattern += rf"[^0-9\n]*?{sign}{re.escape(number.lstrip('-'))}(?![0-9.]*[0-9])"
    return pattern


@pytest.mark.parametrize("key", ROWS)
def test_figures_stand_in_the_papers_text_in_this_order(key: tuple[str, str]) -> None:
    paper = SHARED / "seeds" / PAPERS[key[0]]
    if not paper.is_file():
        pytest.skip(f"the paper's text is not found: {paper}")
    text = paper.read_text(encoding="utf-8")
    patterns = [line_pattern(list(rows)) for _, rows in groupby(load_reference(*key), printed_line)]
    assert [pattern for pattern in patterns if not re.search(pattern, text)] == []
