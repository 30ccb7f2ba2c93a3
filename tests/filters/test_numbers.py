from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.filters.numbers import compose, fold_width, parse_number


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Ｄ", "D"),
        ("（ｂ）", "(b)"),
        ("４２０", "420"),
        ("｛＂ｇ＂：５｝", '{"g":5}'),
        ("面\u3000包", "面 包"),
        ("①", "①"),
        ("12 m²", "12 m²"),
        ("好。", "好。"),
    ],
)
def test_fold_width(text: str, folded: str) -> None:
    assert fold_width(text) == folded


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7.0),
        ("-3", -3.0),
        ("2.5", 2.5),
        ("2,5", 2.5),
        ("1,200", 1200.0),
        ("12,500", 12500.0),
        ("1,200,300", 1200300.0),
        ("1.234,5", 1234.5),
        ("1,234.5", 1234.5),
        ("1 200", 1200.0),
        ("1\u202f200,75", 1200.75),
        ("1'200", 1200.0),
        ("1.200", 1.2),
        ("1.200.300", 1200300.0),
        ("0,125", 0.125),
        ("1234,567", 1234.567),
        ("2e3", 2000.0),
        ("３５０", 350.0),
        (" 8 ", 8.0),
        ("१२०", 120.0),
    ],
)
def test_parse_number(text: str, number: float) -> None:
    assert parse_number(text) == pytest.approx(number, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "five",
        "nan",
        "inf",
        "-Infinity",
        "1e999",
        "9" * 400,
        "1,20,000",
        "1,234,5",
        "5 g",
        "1/2",
        "1,",
        ",5",
        "1..2",
        "½",
    ],
)
def test_no_number(text: str) -> None:
    assert parse_number(text) is None


@given(st.integers(min_value=0, max_value=10**12))
def test_grouping_by_thousands_changes_nothing(number: int) -> None:
    assert parse_number(f"{number:,}") == float(number)


@given(st.floats(min_value=0, max_value=1e9, allow_nan=False))
def test_a_decimal_comma_reads_as_a_point_does(number: float) -> None:
    text = f"{number:.2f}"
    assert parse_number(text.replace(".", ",")) == parse_number(text) == float(text)


@given(st.text(max_size=200))
def test_compose_is_normalisation_form_c(text: str) -> None:
    assert compose(text) == unicodedata.normalize("NFC", text)
