import pytest

from lmms_eval_food.results.scoring import (
    distinct,
    logged_with,
    named_thresholds,
    scoring_of,
    threshold_of,
)

LOGGED = {"id": "1.jpg", "matcher": "minilm"}
ANEW = {**LOGGED, "matcher": "other", "threshold": 0.65, "logged_with": "minilm >= 0.5"}


def test_a_log_has_the_primary_threshold():
    assert threshold_of([LOGGED]) == threshold_of([]) == 0.5
    assert logged_with([LOGGED]) == ""
    assert scoring_of({"official": [LOGGED], "robust": [LOGGED]}) == "minilm >= 0.5"


def test_rescored_records_say_both():
    assert threshold_of([ANEW]) == 0.65
    assert logged_with([ANEW]) == "minilm >= 0.5"
    assert scoring_of({"robust": [ANEW]}) == "other >= 0.65 (rescored; logged with minilm >= 0.5)"


def test_tasks_without_a_matcher_have_no_scoring():
    assert scoring_of({"robust": [{"id": "1"}]}) == scoring_of({}) == ""


@pytest.mark.parametrize(
    ("primary", "names"),
    [
        (0.5, ["", "_at_60", "_at_70", "_at_80", "_at_90"]),
        (0.65, ["", "_at_50", "_at_60", "_at_70", "_at_80", "_at_90"]),
        (0.1 + 0.2 + 0.3 + 0.1, ["", "_at_50", "_at_60", "_at_80", "_at_90"]),
    ],
)
def test_every_other_usual_threshold_has_a_name(primary, names):
    found = named_thresholds(primary)
    assert list(found) == names
    assert found[""] == primary


def test_the_first_record_of_a_photo_counts():
    rows = [{"id": "b", "n": 1}, {"id": "a", "n": 2}, {"id": "b", "n": 3}]
    assert distinct(rows) == rows[:2]
    assert distinct([]) == []
