import csv
import math
from collections import Counter
from importlib.resources import files

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.metrics.matching import greedy_assignment
from lmms_eval_food.metrics.portion_analysis import (
    assignment_difference,
    category,
    error_by_category,
    error_by_quartile,
    items_per_image,
    quartile_edges,
    rounding_share,
)
from lmms_eval_food.metrics.portions import ImageResult

NAN = math.nan
RULES = [
    ("fruit", ["watermelon"]),
    ("drinks", ["water", "TEA"]),
    ("fruit", ["apple", "pear"]),
    ("bread", ["bread"]),
]
GRAMS = st.integers(0, 500).map(float)
ITEMS = st.lists(st.tuples(GRAMS, GRAMS), max_size=30)


@pytest.fixture(scope="module")
def default_rules():
    text = files("lmms_eval_food.results").joinpath("food_categories.yaml").read_text("utf-8")
    return [(rule["category"], rule["keywords"]) for rule in yaml.safe_load(text)]


def test_errors_of_quartiles_by_hand():
    # Quartiles of 10 … 80: 27.5, 45, 62.5, so two items each.
    true = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
    pred = [14.0, 22.0, 30.0, 38.0, 50.0, 48.0, 50.0, 40.0]
    found = error_by_quartile(pred, true)
    assert [group.group for group in found] == ["q1", "q2", "q3", "q4"]
    assert [group.n for group in found] == [2, 2, 2, 2]
    assert [group.mean_error for group in found] == [3.0, -1.0, -6.0, -30.0]
    assert [group.median_error for group in found] == [3.0, -1.0, -6.0, -30.0]
    assert [group.mae for group in found] == [3.0, 1.0, 6.0, 30.0]
    assert [group.below for group in found] == [0.0, 0.5, 0.5, 1.0]
    assert found[0].median_ratio == pytest.approx((1.4 + 1.1) / 2)


def test_edges_of_several_models_can_be_given():
    found = error_by_quartile([1.0, 1.0, 1.0], [100.0, 100.1, 300.0], (50.0, 100.0, 200.0))
    assert [group.n for group in found] == [0, 1, 1, 1]
    assert math.isnan(found[0].median_error)
    assert math.isnan(found[0].below)


def test_quartile_edges_by_hand():
    assert quartile_edges([4.0, 1.0, 3.0, 2.0, 5.0]) == (2.0, 3.0, 4.0)
    assert all(math.isnan(edge) for edge in quartile_edges([]))


def test_no_items_have_no_errors():
    assert [group.n for group in error_by_quartile([], [])] == [0, 0, 0, 0]
    assert error_by_category([], [], [], RULES) == []


def test_one_item_is_a_quartile_of_its_own():
    found = error_by_quartile([50.0], [0.0])
    assert [group.n for group in found] == [1, 0, 0, 0]
    assert found[0].median_error == 50.0
    assert math.isnan(found[0].median_ratio)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (error_by_quartile, ([1.0], [1.0, 2.0]), "pred has 1 items, true has 2"),
        (error_by_quartile, ([NAN], [1.0]), "pred must be finite"),
        (error_by_category, (["a"], [1.0, 2.0], [1.0, 2.0], []), "foods has 1 items, pred has 2"),
        (rounding_share, ([1.0], 0.0), "step must be above 0"),
        (rounding_share, ([1.0], NAN), "step must be above 0"),
    ],
)
def test_bad_input(function, arguments, message):
    with pytest.raises(ValueError, match=message):
        function(*arguments)


@given(ITEMS)
def test_quartiles_hold_every_item_once(rows):
    pred, true = np.array(rows).reshape(-1, 2).T
    found = error_by_quartile(pred, true)
    assert sum(group.n for group in found) == len(rows)
    filled = [group for group in found if group.n]
    total = sum(group.mae * group.n for group in filled)
    assert total == pytest.approx(np.abs(pred - true).sum(), abs=1e-9)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Water", "drinks"),
        (" watermelon ", "fruit"),
        ("apple juice with tea", "drinks"),
        ("pear", "fruit"),
        ("breadsticks", "bread"),
        ("soup", "other"),
        ("", "other"),
    ],
)
def test_the_first_rule_with_a_keyword_decides(name, expected):
    assert category(name, RULES) == expected


def test_names_in_other_scripts_have_keywords_too():
    assert category("番茄鸡蛋汤", [("汤", ["汤"]), ("蛋", ["蛋"])]) == "汤"


def test_errors_of_categories_by_hand():
    foods = ["soup", "water", "pear", "tea", "watermelon", "egg"]
    pred, true = [1.0, 200.0, 90.0, 250.0, 0.0, 5.0], [0.0, 400.0, 100.0, 200.0, 50.0, 4.0]
    found = {group.group: group for group in error_by_category(foods, pred, true, RULES)}
    assert list(found) == ["fruit", "drinks", "other"]
    assert [group.n for group in found.values()] == [2, 2, 2]
    assert found["drinks"].median_ratio == pytest.approx((0.5 + 1.25) / 2)
    assert found["drinks"].mean_error == -75.0
    assert found["drinks"].below == 0.5
    assert found["fruit"].mae == 30.0
    assert found["other"].median_ratio == 1.25


@pytest.mark.parametrize(
    ("grams", "step", "expected"),
    [
        ([50.0, 100.0, 125.0, 75.5], 50.0, 0.5),
        ([50.0, 100.0, 125.0, 75.5], 25.0, 0.75),
        ([NAN, 200.0], 50.0, 1.0),
        ([0.0], 50.0, 1.0),
        ([NAN], 50.0, NAN),
        ([], 50.0, NAN),
    ],
)
def test_rounding_by_hand(grams, step, expected):
    assert rounding_share(grams, step) == pytest.approx(expected, nan_ok=True)


def test_items_per_image():
    one = ImageResult("a", ("x", " ", "y"), (1.0, 2.0, NAN), ("x",), (1.0,))
    two = ImageResult("b", (), (), ("x", "y"), (1.0, 2.0))
    found = items_per_image([one, two])
    assert (found.predicted, found.true) == (1.5, 1.5)
    assert math.isnan(items_per_image([]).predicted)


def photo(scores):
    n_pred, n_true = scores.shape
    pairs = tuple(greedy_assignment(scores, 0.0))
    names = ("x",) * n_pred, ("y",) * n_true
    return ImageResult("a", names[0], (1.0,) * n_pred, names[1], (1.0,) * n_true, pairs)


def test_optimal_assignment_can_match_more():
    # Greedy takes 0.9 and is left with 0.1; the best total is 0.8 + 0.85.
    scores = np.array([[0.8, 0.9], [0.1, 0.85]])
    plain = np.array([[0.7]])
    found = assignment_difference([photo(scores), photo(plain)], [scores, plain])
    assert found.greedy_f1 == pytest.approx(2 * 2 / 6)
    assert found.optimal_f1 == 1.0
    assert found.difference == pytest.approx(1 / 3)
    assert found.changed == 1


def test_no_photos_have_no_difference():
    found = assignment_difference([], [])
    assert math.isnan(found.difference)
    assert found.changed == 0


def test_every_photo_needs_its_scores():
    with pytest.raises(ValueError, match="zip"):
        assignment_difference([photo(np.array([[0.7]]))], [])


@given(st.lists(st.integers(0, 10), max_size=5), st.sampled_from([0.3, 0.5, 0.9]))
def test_the_two_agree_where_nothing_competes(cells, threshold):
    scores = np.diag(np.array(cells, dtype=np.float64)) / 10
    found = assignment_difference([photo(scores)], [scores], threshold)
    accepted = sum(cell / 10 >= threshold for cell in cells)
    expected = accepted / len(cells) if cells else NAN
    assert found.greedy_f1 == pytest.approx(expected, nan_ok=True)
    assert found.optimal_f1 == pytest.approx(expected, nan_ok=True)
    assert found.changed == 0


def test_default_categories_have_the_published_sizes(published_canteen, default_rules):
    with (published_canteen / "labels_flat.csv").open(newline="", encoding="utf-8") as stream:
        rows = [(row["food"], float(row["portion"])) for row in csv.DictReader(stream)]
    counts = Counter(category(food, default_rules) for food, _ in rows)
    published = {
        "bread": 160,
        "pasta, rice and grains": 116,
        "vegetables": 97,
        "meat and other protein dishes": 93,
        "fruit": 86,
        "beverages": 59,
    }
    for name, size in published.items():
        assert abs(counts[name] - size) <= 1, (name, counts[name])
    assert counts.total() == 870
    drinks = [grams for food, grams in rows if category(food, default_rules) == "beverages"]
    assert np.median(drinks) == 330
    assert np.median(drinks) == max(
        np.median([grams for food, grams in rows if category(food, default_rules) == name])
        for name in published
    )


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Vegetable soup", "soups"),
        ("Strawberry yogurt", "dairy and desserts"),
        ("ricotta", "dairy and desserts"),
        ("baked potatoes", "potatoes"),
        ("pizza", "pizza and savoury pies"),
        ("kebab", "other"),
    ],
)
def test_default_categories(default_rules, name, expected):
    assert category(name, default_rules) == expected
