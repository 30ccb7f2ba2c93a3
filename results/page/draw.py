"""Draws the pictures of a page with matplotlib, as SVG that follows the page's colours."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from lmms_eval_food.results.page.canteen_figures import fitted
from lmms_eval_food.results.page.figures import Figure
from lmms_eval_food.results.page.text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Stands for the page's text colour, which changes with the theme.
_INK = "#010203"
# Okabe and Ito's colours; markers, dashes and hatches tell series apart without them.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = "osD^vP*X<>ph"
_DASHES = ("-", "--", "-.", ":")
# Attributes that hold places, and a number's digits after the second decimal.
_PLACES = re.compile(r' (?:d|x|y|transform|width|height)="[^"]*"')
_DECIMALS = re.compile(r"(\.\d\d)\d+")
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",  # real text: small, searchable, in the page's font
    "svg.hashsalt": "lmms-eval-food",  # ids that do not change from run to run
    "text.parse_math": False,  # a model's name may hold dollar signs
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "savefig.transparent": True,
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), _INK
    ),
}


def svg(figure: Figure, prefix: str) -> str:
    """Return the picture as an SVG element, the same for the same data.

    Args:
        figure: What to draw.
        prefix: What its ids begin with, for a page has several pictures.
    """
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure as Canvas

    panels = max(1, len(figure.series)) if figure.kind == "scatter" else 1
    width, height = _size(figure, panels)
    with rc_context(_SETTINGS), warnings.catch_warnings():
        # The browser draws the text, in fonts that matplotlib does not know of.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        canvas = Canvas(figsize=(width, height), layout="constrained")
        FigureCanvasSVG(canvas)
        across = min(3, panels)
        axes = canvas.subplots(math.ceil(panels / across), across, squeeze=False).ravel()
        for spare in axes[panels:]:
            spare.set_visible(False)
        if figure.kind == "scatter":
            for place, own in enumerate(axes[:panels]):
                _scatter(own, figure, place)
        else:
            _DRAW[figure.kind](axes[0], figure)
        buffer = io.StringIO()
        canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _embedded(buffer.getvalue(), prefix)


def _size(figure: Figure, panels: int) -> tuple[float, float]:
    if figure.kind == "scatter":
        return 3.0 * min(3, panels), 3.0 * math.ceil(panels / 3)
    if figure.kind == "heat":
        return 3.5 + 0.42 * len(figure.columns), 1.6 + 0.28 * len(figure.rows)
    return 7.0, 3.6 + 0.2 * len(figure.series)


def _lines(axes: Axes, figure: Figure) -> None:
    for place, one in enumerate(figure.series):
        axes.plot(
            np.array(one.x, dtype=np.float64),
            np.array(one.y, dtype=np.float64),
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKERS[place % len(_MARKERS)],
            linestyle=_DASHES[place // len(_COLOURS) % len(_DASHES)],
            label=plain(one.label),
        )
    _frame(axes, figure)


def _bars(axes: Axes, figure: Figure) -> None:
    names = list(dict.fromkeys(str(x) for one in figure.series for x in one.x))
    width = 0.8 / max(1, len(figure.series))
    for place, one in enumerate(figure.series):
        left = [names.index(str(x)) - 0.4 + (place + 0.5) * width for x in one.x]
        errors = None
        if one.low:
            values = np.array(one.y)
            errors = np.nan_to_num(
                np.clip([values - np.array(one.low), np.array(one.high) - values], 0, None)
            )
        axes.bar(
            left,
            one.y,
            width,
            yerr=errors,
            ecolor=_INK,
            color=_COLOURS[place % len(_COLOURS)],
            hatch=_HATCHES[place // len(_COLOURS) % len(_HATCHES)],
            label=plain(one.label),
        )
    axes.axhline(0, color=_INK, linewidth=0.8)
    axes.set_xticks(range(len(names)), [plain(name) for name in names])
    _frame(axes, figure)


def _scatter(axes: Axes, figure: Figure, place: int) -> None:
    one = figure.series[place]
    true, predicted = (np.array(part, dtype=np.float64) for part in (one.x, one.y))
    finite = np.isfinite(true) & np.isfinite(predicted)
    true, predicted = true[finite], predicted[finite]
    # One wild estimate must not press all others onto the axis; the line counts it.
    top = max(float(true.max(initial=1)), float(np.percentile([*predicted, 1], 99))) * 1.05
    axes.plot([0, top], [0, top], color=_INK, linestyle="--", linewidth=0.8)
    slope, intercept = fitted(one)
    if not math.isnan(slope):
        axes.plot([0, top], [intercept, intercept + slope * top], color=_COLOURS[1])
    axes.plot(
        true, predicted, linestyle="", marker="o", markersize=2.5, alpha=0.5, color=_COLOURS[0]
    )
    axes.set(xlim=(0, top), ylim=(0, top), xlabel=figure.x, ylabel=figure.y)
    axes.set_title(plain(one.label, 32), fontsize=9)


def _heat(axes: Axes, figure: Figure) -> None:
    values = np.array(figure.matrix, dtype=np.float64)
    # Counts have their own scale; shares have one scale on every page.
    whole = bool(np.all(np.isnan(values) | (values == np.round(values)))) and np.nanmax(values) > 1
    top = float(np.nanmax(values)) if whole else 1.0
    image = axes.pcolormesh(
        np.ma.masked_invalid(values), cmap="cividis", edgecolors="none", vmin=0, vmax=top
    )
    axes.invert_yaxis()
    axes.set_xticks(
        np.arange(len(figure.columns)) + 0.5, [plain(c) for c in figure.columns], rotation=90
    )
    axes.set_yticks(np.arange(len(figure.rows)) + 0.5, [plain(row) for row in figure.rows])
    label, _, colour = figure.y.partition("\n")
    axes.set(xlabel=figure.x, ylabel=label)
    axes.figure.colorbar(image, ax=axes, label=colour)
    for (row, column), value in np.ndenumerate(values):
        if not math.isnan(value) and (value or not whole):
            text = f"{value:.0f}" if whole else f"{value:.2f}"
            ink = "#000000" if value > top / 2 else "#ffffff"
            axes.text(
                column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7, color=ink
            )


_DRAW: dict[str, Callable[[Any, Figure], None]] = {"lines": _lines, "bars": _bars, "heat": _heat}


def _frame(axes: Axes, figure: Figure) -> None:
    axes.set(xlabel=figure.x, ylabel=figure.y)
    if figure.series:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(0, -0.16))


def _embedded(text: str, prefix: str) -> str:
    """Return the SVG element with ids of its own, in the page's ink, without a file's preamble."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>\s*", "", text, count=1, flags=re.DOTALL)
    # A hundredth of a point cannot be seen, and thirty runs must fit in one page.
    text = _PLACES.sub(lambda found: _DECIMALS.sub(r"\1", found[0]), text)
    text = re.sub(r"\s*\n\s*", "\n", text)
    # The page's own font, and no turning by nothing: each text has both.
    text = re.sub(r" font-family: [^;\"]*;|(?: transform=\"rotate\(-0 [^\"]*\")", "", text)
    text = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', text)
    text = re.sub(r'((?:xlink:)?href="#|url\(#)', rf"\g<1>{prefix}-", text)
    return text.replace(_INK, "currentColor").strip()
