"""The report as one page that needs nothing else.

Plots are plotly's, drawn by the copy of its script that the page carries; text is put in by jinja2, which escapes it.
Colours of text and lines come from the page's style, so that plots follow the reader's light or dark setting.
"""

from __future__ import annotations

import json
import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs
from plotly.subplots import make_subplots

from . import cost, holding, protocols, wording
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
}
OTHER = "#8a8f98"

OUTCOME_COLOURS = {
    "right": "#2f9e62",
    "wrong": "#d9363e",
    "refused": "#e0b000",
    "crashed": "#8e44c9",
    "hung": "#5b6ee1",
}

ROW = 26
"""Height of one bar of a plot, in pixels."""


def render(report: Mapping[str, Any]) -> str:
    """Return the page of a report, complete in itself."""
    environment = Environment(
        loader=PackageLoader("buflend.bench"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    numbers: dict[str, Callable[[Any], str]] = {"time": time_text, "size": size_text, "ratio": wording.ratio_text}
    environment.filters |= {name: _unbroken(text) for name, text in numbers.items()} | {"counts": wording.count_text}
    figures = {name: figure.to_json() for name, figure in _figures(report["parts"]).items()}
    return environment.get_template("compare.html.j2").render(
        report=report,
        parts=report["parts"],
        wording=wording,
        unread=wording.unread(report),
        absent=wording.absent(report),
        figures={name: Markup(_inside_script(text)) for name, text in figures.items()},  # noqa: S704 - plotly's JSON
        plotly=Markup(get_plotlyjs()),  # noqa: S704 - plotly's own script
        battery=import_module(".battery.shown", __package__) if "battery" in figures else None,
        packages=wording.packages,
        steps_of_holding=list(holding.STEPS),
        grid=_grid(report["parts"].get("values")),
        titles=cost.TITLES | protocols.TITLES,
    )


def _unbroken(write: Callable[[Any], str]) -> Callable[[Any], str]:
    """Keep a number and its unit on one line, however narrow the page."""
    return lambda number: write(number).replace(" ", "\N{NO-BREAK SPACE}")


def _inside_script(text: str) -> str:
    """Make JSON safe inside a script element, where only `</` could end it."""
    return json.dumps(json.loads(text)).replace("<", "\\u003c")


def _figures(parts: Mapping[str, Any]) -> dict[str, go.Figure]:
    figures = {}
    if "surface" in parts:
        figures["imports"] = _imports(parts["surface"])
    if parts.get("battery", {}).get("available"):
        figures["battery"] = _battery(parts["battery"])
    if "lifetime" in parts:
        figures["lifetime"] = _lifetime(parts["lifetime"])
    for section, groups in parts["cost"]["sections"].items() if "cost" in parts else ():
        if section == "size":
            figures["cost_size"] = _sizes(groups)
        elif section == "column" or any(group["baseline"] for group in groups):
            figures[f"cost_{section}"] = _ratios(groups)
    for section, groups in parts["protocols"]["sections"].items() if "protocols" in parts else ():
        if any(group["baseline"] for group in groups):
            figures[f"protocols_{section}"] = _ratios(groups, "time ÷ baseline's; bar: quartiles")
    return figures


def _layout(figure: go.Figure, height: float, **more: Any) -> go.Figure:
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


def _spread(spread: list[float], factor: float = 1.0) -> tuple[float, float, float]:
    """Return median, distance to the upper and to the lower quartile."""
    median, low, high = (number * factor for number in spread)
    return median, max(high - median, 0.0), max(median - low, 0.0)


def _bars(points: list[tuple[float, float, float]]) -> dict[str, Any]:
    """Return error bars for what `_spread` gives."""
    return {"type": "data", "array": [up for _, up, _ in points], "arrayminus": [down for _, _, down in points]}


def _imports(part: Mapping[str, Any]) -> go.Figure:
    found = {name: one for name, one in part["imports"].items() if one["available"]}
    points = [_spread(one["seconds"], 1e3) for one in found.values()]
    figure = go.Figure(
        go.Bar(
            y=list(found),
            x=[median for median, _, _ in points],
            error_x=_bars(points),
            orientation="h",
            marker_color=[COLOURS.get(name.removeprefix("buflend."), OTHER) for name in found],
            hovertext=[
                wording.ratio_text(one["ratio"]) + " of ctypes, enum" if one["ratio"] else "" for one in found.values()
            ],
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(title="milliseconds over a bare interpreter, median; bar: quartiles", rangemode="tozero")
    return _layout(figure, 90 + ROW * len(found), showlegend=False)


def _battery(part: Mapping[str, Any]) -> go.Figure:
    scored = {name: one["score"] for name, one in part["consumers"].items() if one["available"]}
    figure = go.Figure()
    for outcome, colour in OUTCOME_COLOURS.items():
        figure.add_trace(
            go.Bar(
                name=outcome,
                y=list(scored),
                x=[score[outcome] for score in scored.values()],
                orientation="h",
                marker_color=colour,
                text=[score[outcome] or "" for score in scored.values()],
                textangle=0,
                insidetextanchor="middle",
                textfont={"color": "white"},
            )
        )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(title="cases")
    return _layout(figure, 120 + 1.4 * ROW * len(scored), barmode="stack")


def _buffers(step: Mapping[str, Any], kind: str) -> list[str]:
    if kind == "needed and alive":
        return [name for name in step["least"] if name not in step["dangling"]]
    return list(step["excess" if kind == "alive without need" else "dangling"])


SHORT_STEPS = ("all held", "frame dropped", "one column", "one part", "nothing")


def _lifetime(part: Mapping[str, Any]) -> go.Figure:
    measured = {name: one for name, one in part["consumers"].items() if one["steps"]}
    figure = make_subplots(rows=1, cols=max(len(measured), 1), shared_yaxes=True, subplot_titles=list(measured))
    sizes = part["buffers"]
    kinds = {"needed and alive": "right", "alive without need": "refused", "needed, but freed": "wrong"}
    for place, one in enumerate(measured.values(), 1):
        for kind, colour in kinds.items():
            names = [_buffers(step, kind) for step in one["steps"]]
            figure.add_trace(
                go.Bar(
                    name=kind,
                    legendgroup=kind,
                    showlegend=place == 1,
                    x=list(SHORT_STEPS),
                    y=[sum(sizes[name] for name in step) / 1e6 for step in names],
                    marker_color=OUTCOME_COLOURS[colour],
                    hovertext=[", ".join(step) for step in names],
                ),
                row=1,
                col=place,
            )
    figure.update_yaxes(title="megabytes", col=1)
    # Every label, however narrow the page: by itself plotly leaves out those that would overlap.
    figure.update_xaxes(tickangle=-90, tickfont_size=11, dtick=1, showgrid=False)
    figure = _layout(figure, 420, barmode="stack")
    figure.update_annotations(font_size=11)  # the consumers' names
    return figure.update_layout(legend={"y": 1.12}, margin={"t": 70})


def _ratios(groups: list[dict[str, Any]], axis: str = "time ÷ minimal's; bar: quartiles") -> go.Figure:
    """Draw ratios to the baseline as bars that start at 1, on an axis where twice and half are equally far."""
    names = list(dict.fromkeys(name for group in groups for name in group["alternatives"]))
    alone = len(groups) == 1
    titles = {group["title"]: _titled(group) for group in groups}
    figure = go.Figure()
    for name in names:
        timed = [(group, group["alternatives"][name]) for group in groups if _timed(group, name)]
        if not timed:
            continue
        points = [_spread(one["ratio"]) for _, one in timed]
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
                error_x=_bars(points),
                orientation="h",
                **shared,
            )
        )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    low, high = _range([one for group in groups for one in group["alternatives"].values() if one["outcome"] == "timed"])
    figure.update_xaxes(type="log", range=[low, high], title=axis, **_ticks(low, high))
    figure.add_vline(x=1, line_width=2, line_color=COLOURS["minimal"])
    bars = sum(_timed(group, name) for group in groups for name in names)
    height = 90 + ROW * bars if alone else 110 + 0.6 * ROW * bars + 8 * len(groups)
    return _layout(figure, height, showlegend=not alone)


def _hover(one: Mapping[str, Any]) -> str:
    made = f", makes {one['makes']}" if one.get("makes") else ""
    return f"{wording.ratio_text(one['ratio'])}, {time_text(one['seconds'][0])}{made}"


def _titled(group: Mapping[str, Any]) -> str:
    """Return what the work is and what 1 stands for."""
    if not group["baseline"]:
        return str(group["title"])
    return f"{group['title']}<br>1{TIMES} = {time_text(group['alternatives'][group['baseline']]['seconds'][0])}"


def _timed(group: Mapping[str, Any], name: str) -> bool:
    return bool(group["alternatives"].get(name, {}).get("outcome") == "timed")


def _range(timed: list[dict[str, Any]]) -> tuple[float, float]:
    """Return the ends of a logarithmic axis that holds all quartiles, as powers of ten."""
    lows = [max(min(one["ratio"]), 1e-6) for one in timed] or [1.0]
    highs = [max(one["ratio"]) for one in timed] or [1.0]
    return math.log10(min(*lows, 0.5)) - 0.1, math.log10(max(*highs, 2.0)) + 0.1


def _ticks(low: float, high: float) -> dict[str, Any]:
    steps = (1, 2, 5) if high - low < 2.5 else (1,)
    ticks = [step * 10.0**power for power in range(math.floor(low), math.ceil(high) + 1) for step in steps]
    ticks = [tick for tick in ticks if low <= math.log10(tick) <= high]
    return {"tickvals": ticks, "ticktext": [f"{wording.digits(tick)}{TIMES}" for tick in ticks]}


def _sizes(groups: list[dict[str, Any]]) -> go.Figure:
    figure = go.Figure()
    for name in dict.fromkeys(name for group in groups for name in group["alternatives"]):
        timed = [(group["rows"], group["alternatives"][name]) for group in groups if _timed(group, name)]
        if not timed:
            continue
        points = [_spread(one["seconds"]) for _, one in timed]
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[rows for rows, _ in timed],
                y=[median for median, _, _ in points],
                error_y=_bars(points),
                mode="lines+markers",
                marker_color=COLOURS.get(name, OTHER),
                hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
                customdata=[
                    f"{time_text(one['seconds'][0])}, {wording.ratio_text(one['ratio'])} of minimal's"
                    + (
                        f", {wording.ratio_text(one['growth'])} of its own at {timed[0][0]:,}"
                        if "growth" in one
                        else ""
                    )
                    for _, one in timed
                ],
            )
        )
    rows = [group["rows"] for group in groups]
    figure.update_xaxes(
        type="log", title="integers in the column", tickvals=rows, ticktext=[f"{one:,}" for one in rows]
    )
    found = [one for group in groups for one in group["alternatives"].values() if one["outcome"] == "timed"]
    medians = [one["seconds"][0] for one in found] or [1.0]
    low, high = math.log10(min(medians)) - 0.15, math.log10(max(medians)) + 0.15
    ticks = _ticks(low, high)["tickvals"]
    figure.update_yaxes(
        type="log", title="time", range=[low, high], tickvals=ticks, ticktext=[time_text(tick) for tick in ticks]
    )
    return _layout(figure, 380)


def _grid(part: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Arrange the values part: a row per column of the table, a cell per producer and consumer."""
    if part is None or not part["available"]:
        return None
    rows: dict[str, list[Any]] = {}
    for column in (column["name"] for column in part["table"]["columns"]):
        rows[column] = cells = []
        for pair in part["pairs"]:
            reason = part["producers"][pair["producer"]]["not_offered"].get(column, pair["whole"])
            cells.append(pair["columns"].get(column, {"outcome": "not offered", "type": "", "detail": reason}))
    return {"heads": [f"{pair['producer']} → {pair['consumer']}" for pair in part["pairs"]], "rows": rows}
