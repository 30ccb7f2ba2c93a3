"""The whole canteen report on the paper's published labels and recorded answers."""

import csv
import json
import re

import numpy as np
import pytest
from canteen_runs import FAILED, canteen_run, row, titled, tray

from lmms_eval_food.filters.foods import OfficialFoods, RobustFoods
from lmms_eval_food.metrics.matching import normalise
from lmms_eval_food.results.canteen import canteen_tables
from lmms_eval_food.results.reference import load_reference
from lmms_eval_food.tasks.canteen import hooks

RECORDED = "gpt-4o_T0.2.jsonl"
PREDICTORS = {
    "Null predictor": "null",
    "Global-median predictor": "global median",
    "Typical-serving predictor": "typical serving",
}
SHOWN = {
    "mae": "MAE",
    "medae": "MedAE",
    "nmae": "NMAE",
    "cpmae": "cpMAE",
    "cpmae_fp": "cpMAE+FP",
    "meal_ae": "Meal AE",
}


@pytest.fixture(scope="module")
def documents(published_canteen):
    """The 200 photos as the tasks see them, without pictures."""
    with (published_canteen / "image_participants.csv").open(encoding="utf-8") as stream:
        took = {line["resized_filename"]: line["participant_id"] for line in csv.DictReader(stream)}
    docs = {}
    with (published_canteen / "labels_flat.csv").open(newline="", encoding="utf-8") as stream:
        for line in csv.DictReader(stream):
            name = line["image"]
            doc = docs.setdefault(
                name,
                {
                    "id": name,
                    "images": [],
                    "foods": [],
                    "grams": [],
                    "participant": took[name],
                    "data": "published",
                },
            )
            doc["foods"].append(line["food"])
            doc["grams"].append(float(line["portion"]))
    return docs


@pytest.fixture(scope="module")
def answers(published_canteen):
    with (published_canteen / "recorded" / RECORDED).open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    return {line["image"]: line["response"] for line in rows}


class SharedWords:
    """A stand-in for a matcher: the shared part of the shorter name's words."""

    name = fingerprint = "shared words"

    def score(self, jobs):
        return [
            np.array([[self.alike(p, t) for t in trues] for p in preds]).reshape(
                len(preds), len(trues)
            )
            for preds, trues in jobs
        ]

    @staticmethod
    def alike(pred, true):
        one, two = set(normalise(pred).split()), set(normalise(true).split())
        return 1.0 if one == two else 0.9 * len(one & two) / max(1, min(len(one), len(two)))


@pytest.fixture(scope="module")
def recorded(documents, answers):
    """The recorded answers as a run: read by both filters, scored by the task's own hook."""
    records = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hooks.matcher, "configured", SharedWords)
        for reader in (OfficialFoods(), RobustFoods()):
            for name, doc in documents.items():
                filtered = reader.apply([[answers.get(name, FAILED)]], None)
                records.append(hooks.portions(doc, filtered[0])["record"])
    return canteen_run(records, f"responses={RECORDED}", temperature=0.2)


@pytest.fixture(scope="module")
def report(recorded):
    return canteen_tables([recorded], resamples=100, reader="official")


@pytest.mark.parametrize("model", PREDICTORS)
def test_reference_predictors_score_as_published(documents, model):
    trays = [
        tray(name, list(zip(doc["foods"], doc["grams"], strict=True)))
        for name, doc in documents.items()
    ]
    table = titled(canteen_tables([canteen_run(trays)], resamples=2), "reference predictors")
    found = row(table, PREDICTORS[model])
    assert (found["photos"], found["true items"]) == (200, 870)
    published = [r for r in load_reference("canteen", "2") if r.model == model]
    checked = {r.metric: r.value for r in published if r.metric in SHOWN}
    assert {"cpmae", "cpmae_fp", "meal_ae"} <= checked.keys()
    for metric, value in checked.items():
        assert round(found[SHOWN[metric]]) == value, metric


def test_counts_of_the_recorded_run(report):
    found = row(titled(report, "runs"))
    assert found["run"] == f"(incomplete) made responses={RECORDED}"
    assert (found["photos"], found["of"], found["failed"]) == (200, 200, 24)
    assert found["items a photo"] == pytest.approx(4.62, abs=0.005)
    assert [found[f"repaired by {step}"] for step in ("json", "json_repair", "list", "model")] == [
        0,
        0,
        0,
        0,
    ]


def test_meal_error_and_items_by_other_means(report, answers, documents):
    errors, items = [], 0
    for name, response in answers.items():
        foods = json.loads(response)["food_items"]
        numbers = [re.search(r"\d+", str(food["portion_estimate"])) for food in foods]
        said = sum(int(number[0]) for number in numbers if number)
        errors.append(abs(said - sum(documents[name]["grams"])))
        items += len(foods)
    assert len(errors) == 176
    found = row(titled(report, "recognition and portions"))
    assert found["Meal AE"] == pytest.approx(sum(errors) / 176)
    assert found["Meal AE"] == pytest.approx(160.5, abs=0.05)
    assert row(titled(report, "runs"))["items a photo"] == pytest.approx(items / 176)


def test_the_report_of_one_run_is_complete(report):
    titles = [table.title.removeprefix("Canteen: ") for table in report]
    assert titles == [
        "runs",
        "recognition and portions",
        "intervals of all scores",
        "F1 by threshold",
        "NMAE by threshold",
        "penalty of a missed item",
        "greedy and optimal assignment",
        "reference predictors",
        "the model and the typical serving on the same items",
        "calibration",
        "signed error by portion size",
        "errors by kind of food",
        "estimates that are multiples of 50 g",
        "what repairs change",
        "participants",
    ]
    # Recorded answers are valid JSON: repairs change nothing.
    repairs = row(titled(report, "what repairs change"))
    assert repairs["F1"] == repairs["F1 repaired as empty"] == repairs["F1 JSON parser alone"]
    assert repairs["items not in the text"] == 0
    assert {cells[0] for cells in titled(report, "participants").rows} == {
        f"participant_{number}" for number in range(1, 7)
    }


def test_equation_1_holds_in_the_main_table(report, documents, answers):
    found = row(titled(report, "recognition and portions"))
    total = sum(len(documents[name]["foods"]) for name in answers)
    assert found["tp"] + found["fn"] == total
    expected = (found["MAE"] * found["P"] + 129 * (total - found["P"])) / total
    assert found["NMAE"] == pytest.approx(expected)


def test_f1_falls_with_the_threshold(report):
    scores = titled(report, "F1 by threshold").rows[0][1:]
    assert list(scores) == sorted(scores, reverse=True)
    assert scores[0] > scores[-1]


def test_two_runs_are_compared_on_the_photos_both_answered(recorded, documents):
    trays = [
        tray(name, list(zip(doc["foods"], doc["grams"], strict=True)), data="published")
        | {"matcher": "shared words", "participant": doc["participant"]}
        for name, doc in documents.items()
    ]
    # One document short, as the recorded run has failed requests: incomplete runs among themselves.
    other = canteen_run(trays, "size=none", documents=201)
    tables = canteen_tables([recorded, other], resamples=50)
    differences = titled(tables, "differences between models")
    assert "On the 176 photos" in differences.note
    assert row(differences, "F1")["share of resamples above 0"] == 1.0
    left_out = titled(tables, "ranking without one participant")
    assert [cells[-1] for cells in left_out.rows] == pytest.approx([1.0] * 12)
