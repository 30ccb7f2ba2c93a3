"""What the reader of the published tables accepts, refuses and hands out."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_food.results.reference import (
    COLUMNS,
    ReferenceRow,
    load_reference,
    read_table,
    tables,
)

GOOD = {
    "paper": "canteen",
    "table": "9",
    "model": "m",
    "setting": "T=0.1",
    "metric": "f1",
    "value": "0.5",
    "unit": "share",
    "low": "0.4",
    "high": "0.6",
    "n": "7",
    "access": "open",
    "source": "A paper",
    "date": "2025-01",
}


def as_file(*rows: dict[str, str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(row.values() for row in rows)
    return text.getvalue()


def test_a_row_has_types_and_source() -> None:
    assert load_reference("canteen", "3")[5] == ReferenceRow(
        paper="canteen",
        table="3",
        model="GPT-4o",
        setting="T=0.2",
        metric="within_food_r",
        value=0.25,
        printed="0.25",
        unit="r",
        low=0.09,
        high=0.41,
        n=None,
        access="proprietary",
        source="Marchetti et al. (canteen portions), Table 3",
        date="2026",
    )


def test_a_caller_cannot_change_what_the_next_one_gets() -> None:
    load_reference("canteen", "4").clear()
    tables().clear()
    assert load_reference("canteen", "4")
    assert tables()


@pytest.mark.parametrize("unknown", [("canteen", "5"), ("dining", None), (None, "A2")])
def test_unknown_table_is_an_error_that_lists_the_known(
    unknown: tuple[str | None, str | None],
) -> None:
    with pytest.raises(ValueError, match="there are: canteen 2, canteen 3"):
        load_reference(*unknown)


def test_a_good_file_reads() -> None:
    (row,) = read_table(as_file(GOOD), "canteen_table9.csv")
    assert (row.value, row.low, row.high, row.n, row.date) == (0.5, 0.4, 0.6, 7, "2025-01")


def test_a_file_with_only_a_header_has_no_rows() -> None:
    assert read_table(as_file(), "canteen_table9.csv") == []


@pytest.mark.parametrize(
    ("column", "text", "message"),
    [
        ("paper", "diningbench", "in a file of another"),
        ("table", "2", "in a file of another"),
        ("model", " ", "model is empty"),
        ("metric", "", "metric is empty"),
        ("value", "", "value '' is not a plain number"),
        ("value", "n/a", "value 'n/a' is not a plain number"),
        ("value", "1e-1", "value '1e-1' is not a plain number"),
        ("value", "nan", "value 'nan' is not a plain number"),
        ("value", "٣", "is not a plain number"),
        ("value", "50", "value 50 is outside the range of unit 'share'"),
        ("value", "0.3", r"outside \[0.4, 0.6\]"),
        ("unit", "percent", "unit 'percent' is none of"),
        ("low", "", "both low and high"),
        ("high", "0,6", "high '0,6' is not a plain number"),
        ("n", "0", "n '0' is not a whole number above 0"),
        ("n", "2.5", "n '2.5' is not a whole number above 0"),
        ("access", "closed", "access 'closed' is none of"),
        ("source", "", "source is empty"),
        ("date", "May 2026", "date 'May 2026' is not"),
    ],
)
def test_a_bad_cell_is_an_error_that_names_file_and_line(
    column: str, text: str, message: str
) -> None:
    other = GOOD | {"model": "other"}
    with pytest.raises(ValueError, match=rf"^canteen_table9\.csv:3: .*{message}"):
        read_table(as_file(other, GOOD | {column: text}), "canteen_table9.csv")


def test_an_endless_number_is_out_of_range() -> None:
    row = GOOD | {"unit": "%", "value": "9" * 400, "low": "", "high": ""}
    with pytest.raises(ValueError, match="outside the range of unit '%'"):
        read_table(as_file(row), "canteen_table9.csv")


def test_a_second_row_of_one_figure_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"canteen_table9\.csv:3: second row"):
        read_table(as_file(GOOD, GOOD | {"value": "0.6"}), "canteen_table9.csv")


@pytest.mark.parametrize("line", ["canteen,9,m", as_file(GOOD).split("\r\n")[1] + ","])
def test_a_line_of_another_width_is_an_error(line: str) -> None:
    with pytest.raises(ValueError, match=r"canteen_table9\.csv:2: \d+ cells, 13 columns"):
        read_table(as_file() + line, "canteen_table9.csv")


@pytest.mark.parametrize("text", ["", "model,value\n", as_file().replace("value", "score")])
def test_other_columns_are_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"canteen_table9\.csv:1: the columns must be"):
        read_table(text, "canteen_table9.csv")


@pytest.mark.parametrize("name", ["canteen.csv", "canteen_table.csv", "table9.csv", "a_table9.txt"])
def test_another_file_name_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="not named"):
        read_table(as_file(GOOD), name)


@given(st.sampled_from(COLUMNS), st.text(max_size=30))
def test_any_cell_is_read_as_it_stands_or_refused(column: str, text: str) -> None:
    file = as_file(GOOD | {column: text})
    try:
        (row,) = read_table(file, "canteen_table9.csv")
    except ValueError:
        with pytest.raises(ValueError, match=r"^canteen_table9\.csv:[0-9]+: "):
            read_table(file, "canteen_table9.csv")
        return
    kept = row.printed if column == "value" else getattr(row, column)
    assert text == ("" if kept is None else str(kept)) or float(text) == kept
