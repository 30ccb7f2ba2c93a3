import csv
import io
import re
from html.parser import HTMLParser
from urllib.parse import unquote

import pyarrow.parquet as pq
import pytest
from canteen_runs import canteen_run, tray
from hypothesis import given, settings
from hypothesis import strategies as st
from made_runs import choice, made_run
from run_files import write_run

from lmms_eval_food.results import page, report
from lmms_eval_food.results.canteen import rescored
from lmms_eval_food.results.cli import main
from lmms_eval_food.results.page import Page, draw, figures_of, render
from lmms_eval_food.results.page.figures import Figure, Series, ends, heat, lines
from lmms_eval_food.results.page.headlines import OWN, PUBLISHED, headlines
from lmms_eval_food.results.page.text import plain, short, visible
from lmms_eval_food.results.publish import page_of
from lmms_eval_food.results.report import report_tables, write_report
from lmms_eval_food.results.scores import COLUMNS, numbered, scores_of
from lmms_eval_food.results.tables import Table

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; alert(1); //",
    "\u202eevil\u2066",
    "</style></title><b>",
    "{{ 7 * 7 }}{% raw %}",
    "$\\frac{a}$",
    "\0\x1b[31m",
    "x" * 10_240,
]


class Reader(HTMLParser):
    """Collects what a browser would see: tags, attributes and text."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text.append(data)

    def of(self, name):
        return [value for _, own, value in self.attributes if own == name]


def made_page(**fields):
    empty = {"headlines": (), "figures": (), "tables": (), "provenance": (), "made": "tests"}
    return render(Page(title="Title", intro="Intro", **{**empty, **fields}))


def written(folder, *runs, resamples="30"):
    for number, fields in enumerate(runs):
        write_run(folder / f"run{number}", f"2026010{number + 1}_010000", **fields)
    out = folder / "out"
    logs = [str(folder / f"run{number}") for number in range(len(runs))]
    assert main(["report", *logs, "--out", str(out), "--resamples", resamples]) == 0
    return out


def test_the_report_writes_all_of_its_files(tmp_path):
    out = written(tmp_path, {"model_args": "size=7b"}, {"model_args": "size=3b"})
    names = {path.name for path in out.iterdir()}
    assert names == {"report.html", "report.md", "scores.csv", "scores.parquet", "leaderboard"}
    assert "## Completeness" in (out / "report.md").read_text("utf-8")


def test_the_same_runs_give_the_same_bytes(tmp_path):
    write_run(tmp_path / "run")
    outs = [tmp_path / "a", tmp_path / "b"]
    for out in outs:
        assert main(["report", str(tmp_path / "run"), "--out", str(out), "--resamples", "20"]) == 0
    first, second = (
        {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()} for out in outs
    )
    assert first == second


@pytest.mark.slow
def test_many_runs_read_by_two_processes_are_the_same_report(tmp_path, monkeypatch):
    for number in range(6):
        write_run(tmp_path / "runs", f"2026010{number + 1}_010000", f"size={number}")
    outs = [tmp_path / "two", tmp_path / "one"]
    write_report([tmp_path / "runs"], outs[0], 20)
    monkeypatch.setattr(report, "_ALONE", 99)
    write_report([tmp_path / "runs"], outs[1], 20)
    two, one = ((out / "report.html").read_bytes() for out in outs)
    assert two == one
    assert b"size=5" in two


def test_scores_are_tidy(tmp_path):
    out = written(tmp_path, {"model_args": "size=7b", "gen_kwargs": "temperature=1"})
    rows = list(csv.DictReader(io.StringIO((out / "scores.csv").read_text("utf-8"))))
    assert tuple(rows[0]) == COLUMNS
    (f1,) = [row for row in rows if row["metric"] == "f1"]
    assert f1["model"] == "made size=7b --gen_kwargs temperature=1"
    assert (f1["task"], f1["version"], f1["reader"]) == ("canteen_portions", "1", "robust")
    assert float(f1["value"]) == pytest.approx(0.8)
    assert float(f1["low"]) <= 0.8 <= float(f1["high"])
    assert (f1["n"], f1["unit"], f1["higher_is_better"]) == ("2", "share", "true")
    assert (f1["data"], f1["matcher"], f1["complete"]) == ("made@1", "equal names", "true")
    (acc,) = [row for row in rows if row["metric"] == "acc"]
    assert (acc["value"], acc["n"], acc["complete"]) == ("0.5", "4", "false")


def test_parquet_holds_the_same_rows(tmp_path):
    out = written(tmp_path, {})
    stored = pq.read_table(out / "scores.parquet").to_pylist()
    rows = list(csv.DictReader(io.StringIO((out / "scores.csv").read_text("utf-8"))))
    assert [row["metric"] for row in stored] == [row["metric"] for row in rows]
    assert [row["value"] for row in stored] == [
        float(row["value"]) if row["value"] else None for row in rows
    ]


def test_two_runs_of_one_name_are_told_apart():
    run = canteen_run([tray("1.jpg", [("rice", 100.0)], [("rice", 90.0)])])
    parts = numbered([scores_of(run, 5), scores_of(run, 5)])
    names = [{score.run for score in part} for part in parts]
    assert names == [{"made size=7b"}, {"made size=7b (2)"}]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_and_answers_are_text(tmp_path, text):
    out = written(tmp_path, {"model_args": text})
    html = (out / "report.html").read_text("utf-8")
    plain_page = Reader((written(tmp_path / "plain", {}) / "report.html").read_text("utf-8"))
    found = Reader(html)
    # The name adds no element and no attribute.
    assert found.tags == plain_page.tags
    assert [x[:2] for x in found.attributes] == [x[:2] for x in plain_page.attributes]
    assert "".join(visible(text)[:60].split()) in "".join("".join(found.text).split())


@given(st.text(max_size=60))
@settings(max_examples=40)
def test_no_text_becomes_markup(text):
    table = Table(text, (text,), ((text,),), text)
    figure = lines(text, text, text, [Series(text, (1.0,), (2.0,))], text, text)
    fields = {"provenance": [(text, {"model": text}, {"task": {"data": text}})], "made": text}
    found = Reader(made_page(tables=[table], **fields))
    same = Reader(made_page(tables=[Table("t", ("c",), (("v",),), "n")], **fields))
    assert found.tags == same.tags
    assert figure.alt


def test_the_page_asks_nothing_of_any_network(tmp_path):
    html = (written(tmp_path, {}) / "report.html").read_text("utf-8")
    found = Reader(html)
    assert not {"link", "img", "iframe", "object", "embed"} & set(found.tags) - {"link"}
    addresses = found.of("href") + found.of("src")
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert not re.search(r"url\((?!#)", html)
    assert "@import" not in html
    (policy,) = [value for value in found.of("content") if value.startswith("default-src")]
    assert "default-src 'none'" in policy


def test_ids_are_unique_and_references_have_a_target(tmp_path):
    found = Reader((written(tmp_path, {}, {}) / "report.html").read_text("utf-8"))
    ids = found.of("id")
    assert len(ids) == len(set(ids))
    targets = [address[1:] for address in found.of("href") if address.startswith("#")]
    names = ("aria-labelledby", "aria-describedby", "data-tells")
    targets += [one for name in names for value in found.of(name) for one in value.split()]
    assert set(targets) <= set(ids)


def test_every_number_tells_how_it_was_made(tmp_path):
    found = Reader((written(tmp_path, {}) / "report.html").read_text("utf-8"))
    told = [how for how in found.of("data-how") if how.startswith("f1 of canteen_portions")]
    assert len(told) == 1
    for part in ("version 1", "robust reader", "n = 2", "30 resamples", "made@1", "equal names"):
        assert part in told[0]
    assert [h for h in found.of("data-how") if "as printed" in h and "Table 2" in h]
    assert found.of("data-how") == found.of("title")


def own_scores(right, model_args="size=7b", **fields):
    records = [
        choice(f"q{n}", "A", "A" if r else "B", f"d{n}", **fields) for n, r in enumerate(right)
    ]
    return scores_of(made_run({"culturalmenu_mc": records}, model_args=model_args), 20)


def test_own_rows_are_ranked_and_marked_ones_are_not():
    parts = numbered(
        [
            own_scores([True, False], "size=a"),
            own_scores([True, True], "size=b"),
            own_scores([True, True, True], "size=c"),
        ]
    )
    marked = {(parts[2][0].run, "culturalmenu_mc"): ["--limit 3"]}
    (head,) = headlines([score for part in parts for score in part], marked, "made")
    own = [row for row in head.rows if row.kind == OWN]
    assert [(row.model, row.rank, row.status) for row in own] == [
        ("made size=b", 1, "complete"),
        ("made size=a", 2, "complete"),
        ("made size=c", None, "culturalmenu_mc: --limit 3"),
    ]


def test_equal_scores_share_a_rank():
    parts = numbered([own_scores([True, False], f"size={name}") for name in "ab"])
    (head,) = headlines([score for part in parts for score in part], {}, "made")
    assert [row.rank for row in head.rows if row.kind == OWN] == [1, 1]


def test_published_rows_stand_beside_in_the_same_unit():
    (head,) = headlines(own_scores([True]), {}, "made")
    published = {row.model: row for row in head.rows if row.kind == PUBLISHED}
    row = published["GPT-5.5 (proprietary)"]
    # Table 5 prints 95.4 and 81.4 percent.
    assert [number.text for number in row.numbers[:2]] == ["0.954", "0.814"]
    assert row.rank is None
    assert "95.4 %, n = 4085" in row.numbers[0].how


def test_only_benchmarks_that_were_asked_have_a_table():
    assert [head.benchmark.name for head in headlines(own_scores([True]), {}, "m")] == [
        "culturalmenu"
    ]
    assert headlines([], {}, "m") == []


def culture_run():
    groups = {"relation": "dish_image-dish_name", "tier": "recognition"}
    binary = [
        choice(f"b{n}", "yes", "yes" if n % 2 else "no", f"d{n}", language=language, **groups)
        for n, language in enumerate(["en", "en", "fr", "fr"])
    ]
    mc = [choice(f"m{n}", "A", "A", f"d{n}", language="en", letter="A", **groups) for n in range(4)]
    region = [
        choice(
            *(f"r{n}", "A", answer, f"d{n}"),
            options=["川菜", "湘菜", "粤菜", "鲁菜"],
            evidence="dish_image",
            cuisine="川菜",
            letter="A",
        )
        for n, answer in enumerate("AAB")
    ]
    tasks = {"binary": binary, "mc": mc, "region": region}
    return made_run({f"culturalmenu_{name}": records for name, records in tasks.items()})


def figures_by_title(runs):
    tables = report_tables(runs, resamples=20)
    return {figure.title: figure for figure in figures_of(tables, runs, "robust")}


def test_culture_pictures():
    found = figures_by_title([culture_run()])
    heat_map = next(f for t, f in found.items() if "language and relation, culturalmenu_b" in t)
    assert (heat_map.rows, heat_map.columns) == (("dish_image-dish_name",), ("en", "fr"))
    assert heat_map.matrix == ((0.5, 0.5),)
    confusion = next(f for t, f in found.items() if "confusion of cuisines" in t)
    assert len(confusion.columns) == 17
    assert confusion.rows[0].startswith("川菜 (")
    assert confusion.matrix[0][:2] == (2.0, 1.0)
    gap = found["CulturalMenuBench: knowledge-application gap"]
    # Multiple choice 1.0 minus binary 0.5.
    assert gap.series[0].y[0] == pytest.approx(0.5)
    assert gap.series[0].low[0] <= 0.5 <= gap.series[0].high[0]


def test_dining_pictures():
    def rows(right):
        return [choice(f"q{n}", "A", "A" if r else "B", f"q{n}") for n, r in enumerate(right)]

    run = made_run(
        {
            "diningbench_cls": rows([True, False, False, False]),
            "diningbench_cls_views2": rows([True, True, False, False]),
            "diningbench_cls_cot": rows([True, True, True, False]),
        }
    )
    found = figures_by_title([run])
    views = found["DiningBench: scores by number of views, cls, accuracy"]
    assert (views.series[0].x, views.series[0].y) == ((1.0, 2.0), (0.25, 0.5))
    cot = found["DiningBench: chain of thought minus none, accuracy"]
    assert cot.series[0].y == (pytest.approx(0.5),)


def canteen_runs():
    truth = [("rice", 100.0), ("soup", 200.0), ("tea", 300.0)]
    said = [("rice", 120.0), ("soup", 220.0), ("tea", 320.0)]
    return [
        canteen_run([tray("1.jpg", truth, said), tray("2.jpg", truth, said[:2])], temperature=t)
        for t in (0.0, 0.6)
    ]


def test_canteen_pictures():
    found = figures_by_title(canteen_runs())
    assert set(found) == {
        "Canteen: F1 by threshold",
        "Canteen: NMAE by threshold",
        "Canteen: F1 by temperature",
        "Canteen: NMAE by temperature",
        "Canteen: predicted against true grams",
        "Canteen: signed error by portion size",
    }
    assert found["Canteen: F1 by threshold"].series[0].x == (0.5, 0.6, 0.7, 0.8, 0.9)
    # Five of five said, six true: F1 = 10 / 11 at every temperature.
    assert found["Canteen: F1 by temperature"].series[0].y == (pytest.approx(10 / 11),) * 2
    grams = found["Canteen: predicted against true grams"]
    assert "5 items, predicted = 1.00 true +20 g" in grams.alt
    assert grams.data.count("\n") == 11


def test_pictures_name_matcher_and_threshold_and_mark_incomplete_runs():
    short_run = canteen_run(
        [canteen_runs()[0].records["canteen_portions"]["robust"][0]], documents=2
    )
    runs = [rescored(run, threshold=0.6) for run in (*canteen_runs(), short_run)]
    found = figures_by_title(runs)
    grams = found["Canteen: predicted against true grams"]
    assert "similarity >= 0.6 by equal names" in grams.note
    assert "(incomplete): not a whole run." in grams.note
    labels = [one.label for one in grams.series]
    assert labels == [
        "made size=7b T=0 #1",
        "made size=7b T=0.6",
        "(incomplete) made size=7b T=0 #2",
    ]
    for name in ("F1 by threshold", "signed error by portion size", "F1 by temperature"):
        figure = found[f"Canteen: {name}"]
        assert any(one.label.startswith("(incomplete) ") for one in figure.series)
        assert "by equal names" in figure.note
        assert "(incomplete): the table of runs says why" in figure.note
    # The short run stands apart: on its own photo, all three of three are right.
    f1 = {one.label: (one.x, one.y) for one in found["Canteen: F1 by temperature"].series}
    assert f1["made size=7b"][0] == (0.0, 0.6)
    assert f1["made size=7b"][1] == pytest.approx((10 / 11, 10 / 11))
    assert f1["(incomplete) made size=7b"] == ((0.0,), (1.0,))


def test_every_picture_has_words_and_data():
    runs = [*canteen_runs(), culture_run()]
    for figure in figures_by_title(runs).values():
        assert len(figure.alt) > 40
        assert len(list(csv.reader(io.StringIO(figure.data)))) > 1
        assert re.fullmatch("[a-z0-9-]+", figure.name)


def test_downloads_hold_the_data():
    figure = lines("T", "x", "y", [Series("a", (1.0,), (2.0,))], "a,b\n1,<&>\u00e9%41\n")
    found = Reader(made_page(figures=[figure]))
    (address,) = [x for x in found.of("href") if x.startswith("data:text/csv")]
    assert unquote(address.partition(",")[2]) == "a,b\n1,<&>\u00e9%41\n"


def test_a_long_table_is_cut_and_says_so():
    rows = tuple((f"row {n}",) for n in range(page.LONGEST_TABLE + 5))
    text = made_page(tables=[Table("T", ("c",), rows)])
    assert "row 399" in text
    assert "row 400" not in text
    assert "first 400 of 405 rows" in text


def test_more_series_than_fit_are_in_the_data_only():
    series = [Series(f"run {n}", (1.0,), (float(n),)) for n in range(15)]
    figure = lines("T", "x", "y", series, "data")
    assert len(figure.series) == 12
    assert figure.alt.endswith("3 more are in the data only.")


def test_a_heat_map_says_where_it_is_highest():
    figure = heat("T", ("x", "y", "share"), ["r1", "r2"], ["c"], [[0.25], [float("nan")]])
    assert figure.alt == "share by y (rows) and x (columns), 1 cells. Highest: r1 / c 0.25."
    assert figure.data == "y,c\nr1,0.25\nr2,\n"


@pytest.mark.parametrize(
    ("cell", "low", "high"), [("[-0.5, 1.25]", -0.5, 1.25), ("", None, None), (None, None, None)]
)
def test_ends_of_intervals(cell, low, high):
    found = ends(cell)
    assert found == (low, high) if low is not None else all(x != x for x in found)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("a\nb\tc", "a b c"), ("a\0b", "a\ufffdb"), ("\ud800", "\ufffd"), ("\u202ea", "\u202ea")],
)
def test_visible_text(text, shown):
    assert visible(text) == shown


def test_long_texts_are_cut():
    assert short("ab" * 100, 3) == "aba… (200 characters)"
    assert plain("\u202e" + "a" * 50) == "a" * 39 + "…"


KINDS = [
    lines("L", "x", "y", [Series("a $x$", (1.0, 2.0), (0.1, float("nan")))], ""),
    Figure(
        "b", "B", "bars", "x", "y", (Series("a", ("p", "q"), (1.0, -1.0), (0.5, -2.0), (2.0, 0.0)),)
    ),
    Figure(
        "s", "S", "scatter", "x", "y", (Series("<a>", (1.0, 2.0), (1.0, 3.0)), Series("b", (), ()))
    ),
    heat("H", ("x", "y", "n"), ["r"], ["c", "d"], [[1.0, float("nan")]]),
]


@pytest.mark.parametrize("figure", KINDS, ids=[figure.kind for figure in KINDS])
def test_pictures_are_the_same_each_time(figure):
    first = draw.svg(figure, "p1")
    assert first == draw.svg(figure, "p1")
    assert first.startswith("<svg")
    assert "currentColor" in first
    ids = re.findall(r'\bid="([^"]+)"', first)
    assert ids
    assert all(name.startswith("p1-") for name in ids)
    assert "<a>" not in first


def test_page_of_takes_runs_with_all_records():
    runs = [culture_run()]
    scores = numbered([scores_of(run, 10) for run in runs])
    tables = report_tables(runs, resamples=10)
    text = page_of(runs, scores, tables, resamples=10, reader="robust")
    assert text == page_of(runs, scores, tables, resamples=10, reader="robust")
    assert page.FILE_NAME == "report.html"
