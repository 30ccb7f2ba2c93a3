"""Tables about portion estimates, worked out by hand."""

import pytest
from canteen_runs import canteen_run, row, titled, tray

from lmms_eval_food.results.canteen import canteen_tables

LABEL = "made size=7b"


def one_food(said, true, name="rice", image="{}.jpg"):
    """One photo of one food for each (estimate, true weight)."""
    return [
        tray(image.format(at), [(name, weight)], [(name, guess)])
        for at, (guess, weight) in enumerate(zip(said, true, strict=True))
    ]


def test_calibration_finds_the_line():
    # true = 10 + 2 said, exactly.
    run = canteen_run(one_food([20.0, 50.0, 80.0, 100.0], [50.0, 110.0, 170.0, 210.0]))
    found = row(titled(canteen_tables([run], resamples=2), "calibration"), LABEL)
    assert (found["n"], found["b"], found["k"]) == pytest.approx((4, 10.0, 2.0))
    assert (found["sd of b"], found["sd of k"]) == pytest.approx((0.0, 0.0), abs=1e-6)
    assert found["MAE raw"] == (30 + 60 + 90 + 110) / 4
    assert found["MedAE raw"] == 75.0
    for column in ("MAE in sample", "MAE left out", "MedAE left out"):
        assert found[column] == pytest.approx(0.0, abs=1e-9)


def test_replicates_are_also_calibrated_together():
    # Each run alone fits a line of its own; together the points are (10, 20), (30, 20): k = 0.
    runs = [
        canteen_run(one_food([10.0, 30.0], [10.0, 30.0]), "seed=1"),
        canteen_run(one_food([10.0, 30.0], [30.0, 10.0], image="x{}.jpg"), "seed=2"),
    ]
    table = titled(canteen_tables(runs, resamples=2), "calibration")
    assert [cells[0] for cells in table.rows] == [
        "made T=0 seed=1",
        "made T=0 seed=2",
        "made T=0 seed=1 and its replicates",
    ]
    assert [cells[1] for cells in table.rows] == [2, 2, 4]
    assert [cells[4] for cells in table.rows] == pytest.approx([1.0, -1.0, 0.0])


def test_same_items_and_within_food():
    # Of each food every portion is seen right up to 10 g; its typical serving is blind to size.
    true = [100.0, 120.0, 140.0, 160.0, 180.0]
    run = canteen_run(one_food([weight + 10 for weight in true], true))
    found = row(
        titled(
            canteen_tables([run], resamples=100),
            "the model and the typical serving on the same items",
        ),
        LABEL,
    )
    # Medians of the other four: 150, 150, 140, 130, 130.
    assert (found["n"], found["MAE model"]) == (5, 10.0)
    assert found["MAE typical"] == (50 + 30 + 0 + 30 + 50) / 5
    assert found["MAE combined"] == pytest.approx(0.0, abs=1e-6)
    assert found["gain over typical"] == pytest.approx(32.0)
    assert (found["foods"], found["their items"]) == (1, 5)
    assert found["r within food"] == pytest.approx(1.0)
    assert found["r 95% interval"] == "[1.00, 1.00]"


def test_a_food_needs_five_items():
    run = canteen_run(one_food([100.0] * 4, [100.0, 110.0, 120.0, 130.0]))
    table = titled(
        canteen_tables([run], resamples=2), "the model and the typical serving on the same items"
    )
    assert (row(table, LABEL)["foods"], row(table, LABEL)["their items"]) == (0, 0)


def test_quartiles_are_those_of_all_runs():
    # True weights of both runs: 10, 20, 30, 40; quartiles 17.5, 25, 32.5.
    runs = [
        canteen_run(one_food([15.0, 20.0], [10.0, 20.0]), "size=a"),
        canteen_run(one_food([30.0, 20.0], [30.0, 40.0], image="x{}.jpg"), "size=b"),
    ]
    table = titled(canteen_tables(runs, resamples=2), "signed error by portion size")
    counts = [cells[2] for cells in table.rows]
    assert counts == [1, 1, 0, 0, 0, 0, 1, 1]
    assert row(table, "made size=a", "up to 17.5 g")["median error"] == 5.0
    largest = row(table, "made size=b", "above 32.5 g")
    assert (largest["median error"], largest["median ratio"], largest["share below"]) == (
        -20.0,
        0.5,
        1.0,
    )


def test_errors_by_kind_of_food():
    log = [
        *one_food([200.0, 220.0], [330.0, 320.0], "Water"),
        *one_food([250.0], [200.0], "Tomato soup", "s{}.jpg"),
    ]
    table = titled(canteen_tables([canteen_run(log)], resamples=2), "errors by kind of food")
    assert row(table, LABEL, "beverages")["median error"] == (-130 - 100) / 2
    assert row(table, LABEL, "soups")["median ratio"] == 1.25
    assert len(table.rows) == 2


def test_kinds_of_food_can_be_replaced(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("- {category: wet, keywords: [water, soup]}\n", encoding="utf-8")
    log = one_food([200.0], [330.0], "Water")
    tables = canteen_tables([canteen_run(log)], resamples=2, categories=rules)
    assert row(titled(tables, "errors by kind of food"), LABEL, "wet")["n"] == 1


def test_rounding():
    true = [("rice", 150.0), ("soup", 210.0), ("tea", 200.0)]
    said = [("rice", 100.0), ("soup", 120.0), ("?", 250.0), ("??", None)]
    found = row(
        titled(
            canteen_tables([canteen_run([tray("1.jpg", true, said)])], resamples=2),
            "estimates that are multiples of 50 g",
        ),
        LABEL,
    )
    assert (found["estimates"], found["share"]) == (3, pytest.approx(2 / 3))
    assert (found["matched estimates"], found["share of matched"]) == (2, 0.5)
    assert found["share of their true weights"] == 0.5
