from __future__ import annotations

from random import Random

import pytest

from lmms_eval_food.tasks import models, reference

CLS = [{"id": str(n), "ground_truth": letter, "images": []} for n, letter in enumerate("BCCB")]
TRAYS = [
    {"id": "1", "foods": ["Bread", "water"], "grams": [50.0, 200.0]},
    {"id": "2", "foods": ["bread"], "grams": [70.0]},
    {"id": "3", "foods": ["Bread", "apple"], "grams": [91.0, 150.5]},
]


def answer(predictor: str, task: str, docs: list[dict[str, object]], number: int) -> str:
    return reference.prepare(predictor, task, docs)(docs[number], Random(0))


@pytest.mark.parametrize(
    ("predictor", "expected"), [("oracle", "C"), ("majority", "B"), ("null", "")]
)
def test_letters(predictor: str, expected: str) -> None:
    assert answer(predictor, "diningbench_cls", CLS, 1) == expected


def test_a_tray_of_global_medians() -> None:
    # 50, 70, 91, 150.5, 200: the median is 91.
    text = answer("global_median", "canteen_portions", TRAYS, 2)
    assert '"name": "Bread", "portion_estimate": "91 g"' in text
    assert '"name": "apple", "portion_estimate": "91 g"' in text


def test_a_tray_of_typical_servings() -> None:
    # Bread elsewhere: 50 and 70, median 60. Apple occurs nowhere else: the global median.
    text = answer("typical_serving", "canteen_portions", TRAYS, 2)
    assert '"name": "Bread", "portion_estimate": "60 g"' in text
    assert '"name": "apple", "portion_estimate": "91 g"' in text


def test_a_tray_of_the_most_frequent_foods() -> None:
    # Trays hold 2, 1 and 2 foods: median 2. Bread (50, 70, 91) comes first, then water.
    text = answer("majority", "canteen_portions", TRAYS, 1)
    assert '"name": "bread", "portion_estimate": "70 g"' in text
    assert '"name": "water", "portion_estimate": "200 g"' in text
    assert "apple" not in text


def test_unknown_names_are_refused_with_the_choices() -> None:
    with pytest.raises(ValueError, match="choose random, majority, oracle"):
        reference.check_name("best")
    with pytest.raises(ValueError, match="does not fit diningbench_cls: choose random, majority"):
        answer("global_median", "diningbench_cls", CLS, 0)
    with pytest.raises(ValueError, match="tasks of this suite only"):
        answer("random", "mmlu", CLS, 0)


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        ("Reference", "predictor=best", "unknown predictor 'best': choose random"),
        ("Reference", "predictor=null,sed=1", "unknown model arguments: sed"),
        ("Replay", "responses=nowhere.jsonl", r"No such file or directory: 'nowhere\.jsonl'"),
        ("Replay", "", r"needs --model_args responses="),
    ],
)
def test_wrong_model_arguments_end_the_run(model: str, arguments: str, message: str) -> None:
    # The host logs any other exception and ends with status 0.
    made = getattr(models, model)
    with pytest.raises(SystemExit, match=f"^lmms-eval-food: .*{message}"):
        made.create_from_arg_string(arguments)


def test_a_predictor_that_does_not_fit_ends_the_run() -> None:
    model = models.Reference(predictor="global_median")
    with pytest.raises(SystemExit, match=r"'global_median' does not fit diningbench_cls: choose"):
        model.answer("diningbench_cls", CLS, 0)
