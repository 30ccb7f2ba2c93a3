"""Intervals of scores where every answer is alike."""

import pytest
from made_runs import choice
from run_files import vqa_record

from lmms_eval_food.results.intervals import intervals

# Wilson at 24 of 24: 24 / (24 + z squared), z = 1.959964.
LOW = 24 / (24 + 3.841459)


def test_all_right_is_no_point():
    records = [choice(f"q{n}", "A", "A", f"d{n}") for n in range(24)]
    found = intervals("diningbench_cls", records, 50)
    assert (found["acc"].low, found["acc"].high) == (pytest.approx(LOW, abs=1e-6), 1.0)
    lost = found["unreadable_rate"]
    assert (lost.low, lost.high) == (0.0, pytest.approx(1 - LOW, abs=1e-6))


def test_all_judged_right_is_no_point():
    records = [vqa_record(f"{n}", judge="made") for n in range(24)]
    found = intervals("diningbench_vqa", records, 50)["judge_acc"]
    assert (found.low, found.high) == (pytest.approx(LOW, abs=1e-6), 1.0)


def test_errors_of_nothing_are_no_share():
    truth = [100.0, 10.0, 20.0, 5.0]
    record = {"reader": "robust", "status": "ok", "step": "", "marks": [], "raw": ""}
    record |= {"predicted": truth, "true": truth, "counts": True, "views_short": False}
    record |= {"data": "made@1", "broken_pictures": 0}
    records = [{**record, "id": f"{n}"} for n in range(24)]
    found = intervals("diningbench_nutrition", records, 50)
    assert (found["calories_mae"].low, found["calories_mae"].high) == (0.0, 0.0)
    assert found["parse_failure_rate"].high == pytest.approx(1 - LOW, abs=1e-6)
