"""What the pages share: how templates are read, the colours of the libraries, and the look of a plot.

Plots are plotly's, drawn by the copy of its script that a page carries; text is put in by jinja2, which escapes it.
Colours of text and lines come from the page's style, so that plots follow the reader's light or dark setting.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from . import wording
from .wording import TIMES, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

COLOURS = {
    "minimal": "#3b82f6",
    "maximal": "#8b5cf6",
    "pandas": "#e08a00",
    "pyarrow": "#10a37f",
    "polars": "#e0529c",
    "numpy": "#4dabcf",
    "torch": "#ee4c2c",
    "nanoarrow": "#b07d2b",
    "arro3": "#7a9e1f",
    "duckdb": "#d9b400",
    "cupy": "#2a9d8f",
    "numba": "#1f6fb2",
    "cuda": "#76b900",
    "recipe2021": "#a0522d",
    "callbacks": "#6b4fa0",
}
OTHER = "#8a8f98"

ROW = 26
"""Height of one bar of a plot, in pixels."""


def template(name: str) -> Template:
    """Return a template; it has filters for times, sizes, ratios, counts, and texts that are not to be broken."""
    made = Environment(
        loader=PackageLoader("buflend.bench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers: dict[str, Callable[[Any], str]] = {"time": time_text, "size": size_text, "ratio": wording.ratio_text}
    made.filters |= {name: _unbroken(text) for name, text in numbers.items()}
    made.filters |= {"counts": wording.count_text, "nobreak": _unbroken(str)}
    return made.get_template(name)


def _unbroken(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Keep a number and its unit on one line, however narrow the page."""
    return lambda number: write(number).replace(" ", "\N{NO-BREAK SPACE}")


def embedded(figures: Mapping[str, go.Figure]) -> dict[str, Markup]:
    """Return figures as the JSON that a script element may hold, where only `</` could end it."""
    texts = {name: json.dumps(json.loads(figure.to_json())) for name, figure in figures.items()}
    return {name: Markup(text.replace("<", "\\u003c")) for name, text in texts.items()}  # noqa: S704 - plotly's JSON


def plotly() -> Markup:
    """Return plotly's own script."""
    return Markup(get_plotlyjs())  # noqa: S704 - plotly's own


def layout(figure: go.Figure, height: float, **more: Any) -> go.Figure:
    """Give a figure the look of all others, and its height in pixels."""
    figure.update_layout(
        height=int(height),
        margin={"l": 10, "r": 20, "t": 10 if more.get("showlegend") is False else 40, "b": 50},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        template="none",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        font={"size": 13},
        bargap=0.25,
        **more,
    )
    figure.update_xaxes(automargin=True, zeroline=False, title_font_size=13, title_standoff=8)
    figure.update_yaxes(automargin=True, zeroline=False, title_font_size=13)
    return figure


def spread(numbers: list[float], factor: float = 1.0) -> tuple[float, float, float]:
    """Return of median and quartiles the median, the distance to the upper and to the lower quartile."""
    median, low, high = (number * factor for number in numbers)
    return median, max(high - median, 0.0), max(median - low, 0.0)


def error_bars(points: list[tuple[float, float, float]]) -> dict[str, Any]:
    """Return error bars for what `spread` gives."""
    return {"type": "data", "array": [up for _, up, _ in points], "arrayminus": [down for _, _, down in points]}


def ticks(low: float, high: float) -> dict[str, Any]:
    """Return the ticks of a logarithmic axis of ratios, whose ends are given as powers of ten."""
    steps = (1, 2, 5) if high - low < 2.5 else (1,)
    found = [step * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    found = [tick for tick in found if low <= math.log10(tick) <= high]
    return {"tickvals": found, "ticktext": [f"{wording.digits(tick)}{TIMES}" for tick in found]}


def ratios(groups: list[dict[str, Any]], axis: str = "time ÷ minimal's; bar: quartiles") -> go.Figure:
    """Draw ratios to the baseline as bars that start at 1, on an axis where twice and half are equally far.

    A group has a `title`, a `baseline` and its `alternatives` by name; timed ones have `seconds` and `ratio`, each a
    median and quartiles; `text` stands for the seconds where it is not time.
    """
    names = list(dict.fromkeys(name for group in groups for name in group["alternatives"]))
    alone = len(groups) == 1
    titles = {group["title"]: _titled(group) for group in groups}
    figure = go.Figure()
    for name in names:
        timed = [(group, group["alternatives"][name]) for group in groups if was_timed(group, name)]
        if not timed:
            continue
        points = [spread(one["ratio"]) for _, one in timed]
        shared = {
            "name": name,
            "y": [name if alone else titles[group["title"]] for group, _ in timed],
            "marker": {"color": COLOURS.get(name.partition(".")[0], OTHER)},
            "hovertemplate": "%{customdata}<extra>%{fullData.name}</extra>",
            "customdata": [_hover(one) for _, one in timed],
        }
        if all(group["baseline"] == name for group, _ in timed):  # a bar from 1 to 1 would not be seen
            shared["marker"] |= {"symbol": "diamond", "size": 12}
            figure.add_trace(go.Scatter(x=[1.0] * len(timed), mode="markers", **shared))
            continue
        figure.add_trace(
            go.Bar(
                x=[median - 1 for median, _, _ in points],
                base=[1.0] * len(points),
                error_x=error_bars(points),
                orientation="h",
                **shared,
            )
        )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    low, high = _range([one for group in groups for one in group["alternatives"].values() if one["outcome"] == "timed"])
    figure.update_xaxes(type="log", range=[low, high], title=axis, **ticks(low, high))
    figure.add_vline(x=1, line_width=2, line_color=COLOURS["minimal"])
    bars = sum(was_timed(group, name) for group in groups for name in names)
    height = 90 + ROW * bars if alone else 110 + 0.6 * ROW * bars + 8 * len(groups)
    return layout(figure, height, showlegend=not alone)


def _hover(one: Mapping[str, Any]) -> str:
    made = f", makes {one['makes']}" if one.get("makes") else ""
    return f"{wording.ratio_text(one['ratio'])}, {_amount(one)}{made}"


def _titled(group: Mapping[str, Any]) -> str:
    """Return what the work is and what 1 stands for."""
    if not group["baseline"]:
        return str(group["title"])
    return f"{group['title']}<br>1{TIMES} = {_amount(group['alternatives'][group['baseline']])}"


def _amount(one: Mapping[str, Any]) -> str:
    return str(one["text"]) if "text" in one else time_text(one["seconds"][0])


def was_timed(group: Mapping[str, Any], name: str) -> bool:
    """Tell whether an alternative of a group has a time."""
    return bool(group["alternatives"].get(name, {}).get("outcome") == "timed")


def _range(timed: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that holds all quartiles, as powers of ten."""
    lows = [max(min(one["ratio"]), 1e-6) for one in timed] or [1.0]
    highs = [max(one["ratio"]) for one in timed] or [1.0]
    return math.log10(min(*lows, 0.5)) - 0.1, math.log10(max(*highs, 2.0)) + 0.1
