"""The report as one self-contained HTML page: no network, no framework, escaped text."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from urllib.parse import quote

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from lmms_eval_food.results.logs import Run
from lmms_eval_food.results.page import draw
from lmms_eval_food.results.page.canteen_figures import canteen_figures
from lmms_eval_food.results.page.choice_figures import culture_figures, dining_figures
from lmms_eval_food.results.page.figures import Figure
from lmms_eval_food.results.page.headlines import OWN, Headline
from lmms_eval_food.results.page.text import short, visible
from lmms_eval_food.results.tables import Cell, Table

FILE_NAME = "report.html"
LONGEST_TABLE = 400  # rows; report.md has all of them
# What a data: address may hold unchanged; the fewer escapes, the smaller the page.
_AS_IT_IS = "/:;,.@!$()*+=[]-_~|"


@dataclass(frozen=True, slots=True)
class Page:
    """What a page shows; every text may hold anything.

    Attributes:
        title: Its heading.
        intro: What it is, in a sentence or two.
        headlines: One table a benchmark.
        figures: Pictures.
        tables: All other tables.
        provenance: (name of a run, what is known of it, what is known of its tasks).
        made: What the page was made with.
    """

    title: str
    intro: str
    headlines: Sequence[Headline]
    figures: Sequence[Figure]
    tables: Sequence[Table]
    provenance: Sequence[tuple[str, Mapping[str, str], Mapping[str, Mapping[str, str]]]]
    made: str


def figures_of(tables: Sequence[Table], runs: Sequence[Run], reader: str) -> list[Figure]:
    """Return every picture that the runs allow.

    Args:
        tables: `report.report_tables` of the same runs and reader.
        runs: The runs.
        reader: "official" or "robust".
    """
    return [
        *dining_figures(tables),
        *canteen_figures(tables, runs, reader),
        *culture_figures(tables, runs, reader),
    ]


def render(page: Page) -> str:
    """Return the page as HTML, the same for the same content."""
    script = _resource("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = (
        _environment()
        .get_template("page.html.j2")
        .render(
            page=page,
            own=OWN,
            pictures=[_picture(n, figure) for n, figure in enumerate(page.figures, 1)],
            style=Markup(_resource("page.css")),
            script=Markup(script),
            script_hash=f"sha256-{digest}",
            longest=LONGEST_TABLE,
        )
    )
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def download(text: str) -> str:
    """Return a data: address of a CSV file."""
    data = text.encode("utf-8", "backslashreplace")
    return f"data:text/csv;charset=utf-8,{quote(data, safe=_AS_IT_IS)}"


def _picture(number: int, figure: Figure) -> tuple[Figure, Markup, str]:
    return figure, Markup(draw.svg(figure, f"picture-{number}")), download(figure.data)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"short": short, "visible": visible, "cell": _cell}
    return environment


def _cell(cell: Cell) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    return f"{cell:.3f}" if isinstance(cell, float) else short(str(cell))


def _resource(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
