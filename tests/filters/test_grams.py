from __future__ import annotations

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.grams import Grams, official_grams, robust_grams
from lmms_eval_food.filters.quantities import quantity_span


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("120", 120.0),
        ("120g", 120.0),
        ("120 Grams", 120.0),
        ("about 120 g", 120.0),
        ("100-160 g", 130.0),
        ("100 – 160", 130.0),
        ("100~160 gram", 130.0),
        ("100g-160g", 130.0),
        ("100 to 160 g", 100.0),
        ("100—160 g", 100.0),
        ("about 100-160 g", 100.0),
        ("300 ml", 300.0),
        ("0.3 kg", 0.3),
        ("1,500 g", 1.0),
        ("2 slices (60 g)", 2.0),
        ("50 grams each", 50.0),
        ("-5", 5.0),
        ("0", 0.0),
        ("12.5.1", 12.5),
        ("1e+22", 1.0),
    ],
)
def test_official_grams(text: str, grams: float) -> None:
    assert official_grams(text) == pytest.approx(grams, rel=1e-12)


@pytest.mark.parametrize("text", ["", "uncertain", "one cup", "gram", "½ lb", "NaN", "9" * 400])
def test_official_grams_of_nothing(text: str) -> None:
    assert official_grams(text) is None


@pytest.mark.parametrize(
    ("text", "grams"),
    [
        ("120", 120.0),
        ("120 g", 120.0),
        ("120g", 120.0),
        ("120 gr.", 120.0),
        ("120 grammes", 120.0),
        ("１２０ｇ", 120.0),
        ("120克", 120.0),
        ("about 120 g", 120.0),
        ("~120 g", 120.0),
        ("approximately 120 grams", 120.0),
        ("approx. 120", 120.0),
        ("120 (approx.)", 120.0),
        ("0.3 kg", 300.0),
        ("1,5 kg", 1500.0),
        ("1,500 g", 1500.0),
        ("1 500 g", 1500.0),
        ("600 mg", 0.6),
        ("2 oz", 56.69904625),
        ("1/2 lb", 226.796185),
        ("1 1/2 pounds", 680.388555),
        ("½ kg", 500.0),
        ("2 slices (60 g)", 60.0),
        ("3 oz (85 g)", 85.0),
        ("90 g (about 250 ml)", 90.0),
        ("200 ml (206 g)", 206.0),
        ("100 g - roughly a third of the plate", 100.0),
        ("0 g", 0.0),
    ],
)
def test_robust_grams(text: str, grams: float) -> None:
    read = robust_grams(text)
    assert read is not None
    assert read.grams == pytest.approx(grams, rel=1e-12)
    assert read.marks == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300 ml", Grams(300.0, ("ml_as_g",))),
        ("0.25 l", Grams(250.0, ("ml_as_g",))),
        ("33 cl", Grams(330.0, ("ml_as_g",))),
        ("1 cup (240 millilitres)", Grams(240.0, ("ml_as_g",))),
        ("100-160 g", Grams(130.0, ("range",))),
        ("100–160", Grams(130.0, ("range",))),
        ("100 to 160 grams", Grams(130.0, ("range",))),
        ("100g-160g", Grams(130.0, ("range",))),
        ("between 100 and 160 g", Grams(130.0, ("range",))),
        ("200-300 ml", Grams(250.0, ("ml_as_g", "range"))),
        ("50 g each", Grams(50.0, ("each",))),
        ("3 pieces, 50 g each", Grams(150.0, ("count",))),
        ("50 g each (2 pieces)", Grams(100.0, ("count",))),
        ("two rolls, 50 g per roll", Grams(100.0, ("count",))),
        ("3 x 50 g", Grams(150.0, ("count",))),
        ("50g × 3", Grams(150.0, ("count",))),
        ("2 pieces, 40-60 g each", Grams(100.0, ("count", "range"))),
    ],
)
def test_robust_grams_and_how_they_were_read(text: str, expected: Grams) -> None:
    assert robust_grams(text) == expected


@pytest.mark.parametrize(
    ("text", "grams", "marks"),
    [
        ("100 ± 20 g", 100.0, ()),
        ("150±20 g", 150.0, ()),
        ("100 +/- 20 g", 100.0, ()),
        ("150 g ± 20 g", 150.0, ()),
        ("about 150 (±20 g)", 150.0, ()),
        ("100/150 g", 125.0, ("range",)),
        ("150 g to 200", 175.0, ("range",)),
        ("150 g-200", 175.0, ("range",)),
        ("100 bis 150 g", 125.0, ("range",)),
        ("150 g - 90%", 150.0, ()),
        ("150 g - 2 slices", 150.0, ()),
        ("1 kg 200 g", 1200.0, ()),
        ("1 kg and 200 g", 1200.0, ()),
        ("1 lb 4 oz", 566.9904625, ()),
        ("1 l 200 ml", 1200.0, ("ml_as_g",)),
        ("1e2 g", 100.0, ()),
        ("150+ g", 150.0, ()),
        ("150.g", 150.0, ()),
        ("g 150", 150.0, ()),
        ("grams: 150", 150.0, ()),
        ("1 ½ kg", 1500.0, ()),
        ("200ml/200g", 200.0, ()),
        ("2*100", 200.0, ("count",)),
        ("2 x 60 g", 120.0, ("count",)),
        ("5 pieces of 20 g", 100.0, ("count",)),
        ("3-4 pieces, 25 g each", 87.5, ("count", "range")),
        ("3 to 4 pieces, 25 g each", 87.5, ("count", "range")),
        ("3 rolls, each 50 g", 150.0, ("count",)),
        ("3 pieces, 25 g (1 oz) each", 75.0, ("count",)),
        # What is for all of it counts before what is for each.
        ("2 slices (60 g total, 30 g each)", 60.0, ()),
        ("2 eggs, 100 g total (50 g each)", 100.0, ()),
        ("100 g (2 pieces, 50 g each)", 100.0, ()),
        ("50 g each (2 pieces), 100 g total", 100.0, ()),
        *[
            (f"150 {unit}", 150.0, ())
            for unit in ("grammi", "gramos", "Gramm", "г", "グラム", "그램", "กรัม", "克")
        ],
    ],
)
def test_the_written_rule(text: str, grams: float, marks: tuple[str, ...]) -> None:
    read = robust_grams(text)
    assert read is not None
    assert read.grams == pytest.approx(grams, rel=1e-12)
    assert read.marks == marks


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("2 bread rolls", "50 g each", Grams(100.0, ("count",))),
        ("Eggs x3", "50 g each", Grams(150.0, ("count",))),
        ("bread rolls (2)", "50 g each", Grams(100.0, ("count",))),
        ("Two to three eggs", "50 g each", Grams(125.0, ("count", "range"))),
        ("2 eggs", "3 pieces, 50 g each", Grams(150.0, ("count",))),
        ("2 eggs", "100 g", Grams(100.0)),
        ("7UP", "330 g each", Grams(330.0, ("each",))),
        ("Vitamin 12 bar", "50 g each", Grams(50.0, ("each",))),
    ],
)
def test_a_count_in_the_name(name: str, text: str, expected: Grams) -> None:
    assert robust_grams(text, name) == expected


@pytest.mark.parametrize(
    ("text", "unit", "grams"),
    [("0.2", "kg", 200.0), ("150", "", 150.0), ("150 g", "kg", 150.0), ("2", "piece", None)],
)
def test_a_unit_from_elsewhere(text: str, unit: str, grams: float | None) -> None:
    read = robust_grams(text, unit=unit)
    assert (read.grams if read else None) == grams


@pytest.mark.parametrize("piece", ["100 ", "100 000 ", "1-", "1/2 ", "50 g each ", "2 x ", "1e1 "])
def test_long_texts_take_linear_time(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    start = time.perf_counter()
    robust_grams(text)
    assert time.perf_counter() - start < 5


def test_fluid_ounces_are_a_volume() -> None:
    read = robust_grams("8 fl oz")
    assert read is not None
    assert read.grams == pytest.approx(236.588, abs=1e-3)
    assert read.marks == ("ml_as_g",)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "uncertain",
        "1 cup",
        "2 slices",
        "3 pieces",
        "large",
        "2 large",
        "20%",
        "100 and 160",
        "250 kcal per 100 g",
        "-5",
        "nan",
        "inf",
        "9" * 400,
        "9" * 400 + " g",
        "1/0 lb",
        "2.5.1 g",
        "1e400 g",
        "1e4000 g",
        "-50 g",
        "(-50 g)",
        "± 20 g",
        "1/150 g",
        "150 g - 200 ml",
        "250 kcal / 100 g",
    ],
)
def test_no_weight(text: str) -> None:
    assert robust_grams(text) is None


def test_two_quantities_are_no_range() -> None:
    assert robust_grams("150 g and 50 g") == Grams(150.0)


@pytest.mark.parametrize(
    ("text", "found"),
    [("Rice (150 g)", "150 g"), ("Rice", None), ("2 eggs", None), ("0.5 L milk", "0.5 L")],
)
def test_quantity_span(text: str, found: str | None) -> None:
    span = quantity_span(text)
    assert (text[span[0] : span[1]] if span else None) == found


@given(st.integers(min_value=0, max_value=5000), st.sampled_from(["{} g", "{}g", "about {} grams"]))
def test_both_readings_agree_on_plain_grams(grams: int, form: str) -> None:
    text = form.format(grams)
    assert official_grams(text) == float(grams)
    assert robust_grams(text) == Grams(float(grams))


@given(st.integers(min_value=1, max_value=900))
def test_kilograms_are_a_thousand_grams(number: int) -> None:
    kilograms, grams = robust_grams(f"{number} kg"), robust_grams(f"{number}000 g")
    assert kilograms == grams is not None


@given(st.text(alphabet="0123456789gklb .,-/½xeach~()", max_size=40))
def test_grams_are_finite_and_not_negative(text: str) -> None:
    read = robust_grams(text)
    values = [official_grams(text), read.grams if read else None]
    assert all(value is None or (math.isfinite(value) and value >= 0) for value in values)
