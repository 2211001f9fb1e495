"""The report as one page that needs nothing else; what its plots look like stands in `drawing`."""

from __future__ import annotations

import math
from importlib import import_module
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from . import cost, drawing, holding, protocols, wording
from .cuda import cost as cuda_cost
from .cuda import wording as of_device
from .drawing import COLOURS, OTHER, ROW, error_bars, layout, ratios, spread, ticks, was_timed
from .wording import time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

OUTCOME_COLOURS = {
    "right": "#2f9e62",
    "wrong": "#d9363e",
    "refused": "#e0b000",
    "crashed": "#8e44c9",
    "hung": "#5b6ee1",
}


def render(report: Mapping[str, Any]) -> str:
    """Return the page of a report, complete in itself."""
    measured = {name: part for name, part in report["parts"].items() if part.get("available", True)}
    drawn = _figures_on_cuda(measured) if wording.on_cuda(report) else _figures(measured)
    figures = drawing.embedded(drawn)
    return drawing.template("compare.html.j2").render(
        report=report,
        parts=report["parts"],
        wording=wording,
        of_device=of_device,
        unread=wording.unread(report),
        absent=wording.absent(report),
        figures=figures,
        plotly=drawing.plotly(),
        battery=import_module(".battery.shown", __package__) if "battery" in figures else None,
        hostile=import_module(".hostile.shown", __package__) if "hostile" in figures else None,
        packages=wording.packages,
        steps_of_holding=list(holding.STEPS),
        grid=_grid(report["parts"].get("values")),
        titles=cost.TITLES | protocols.TITLES | {cuda_cost.SECTION: cuda_cost.TITLE},
    )


def _figures(parts: Mapping[str, Any]) -> dict[str, go.Figure]:
    figures = {}
    if "surface" in parts:
        figures["imports"] = _imports(parts["surface"])
    if "battery" in parts:
        figures["battery"] = _scores(parts["battery"], "cases")
    if "hostile" in parts:
        figures["hostile"] = _scores(parts["hostile"], "inputs")
    if "lifetime" in parts:
        figures["lifetime"] = _lifetime(parts["lifetime"])
    for section, groups in parts["cost"]["sections"].items() if "cost" in parts else ():
        if section == "size":
            figures["cost_size"] = _sizes(groups)
        elif section == "column" or any(group["baseline"] for group in groups):
            figures[f"cost_{section}"] = ratios(groups)
    for section, groups in parts["protocols"]["sections"].items() if "protocols" in parts else ():
        if any(group["baseline"] for group in groups):
            figures[f"protocols_{section}"] = ratios(groups, "time ÷ baseline's; bar: quartiles")
    return figures


def _figures_on_cuda(parts: Mapping[str, Any]) -> dict[str, go.Figure]:
    sections = parts["cost"]["sections"] if "cost" in parts else {}
    return {
        f"cost_{section}": ratios(groups, "time ÷ the library's own; bar: quartiles")
        for section, groups in sections.items()
        if any(group["baseline"] for group in groups)
    }


def _imports(part: Mapping[str, Any]) -> go.Figure:
    found = {name: one for name, one in part["imports"].items() if one["available"]}
    points = [spread(one["seconds"], 1e3) for one in found.values()]
    figure = go.Figure(
        go.Bar(
            y=list(found),
            x=[median for median, _, _ in points],
            error_x=error_bars(points),
            orientation="h",
            marker_color=[COLOURS.get(name.removeprefix("buflend."), OTHER) for name in found],
            hovertext=[
                wording.ratio_text(one["ratio"]) + " of ctypes, enum" if one["ratio"] else "" for one in found.values()
            ],
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(title="milliseconds over a bare interpreter, median; bar: quartiles", rangemode="tozero")
    return layout(figure, 90 + ROW * len(found), showlegend=False)


def _scores(part: Mapping[str, Any], what: str) -> go.Figure:
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
    figure.update_xaxes(title=what)
    return layout(figure, 120 + 1.4 * ROW * len(scored), barmode="stack")


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
    figure = layout(figure, 420, barmode="stack")
    figure.update_annotations(font_size=11)  # the consumers' names
    return figure.update_layout(legend={"y": 1.12}, margin={"t": 70})


def _sizes(groups: list[dict[str, Any]]) -> go.Figure:
    figure = go.Figure()
    for name in dict.fromkeys(name for group in groups for name in group["alternatives"]):
        timed = [(group["rows"], group["alternatives"][name]) for group in groups if was_timed(group, name)]
        if not timed:
            continue
        points = [spread(one["seconds"]) for _, one in timed]
        figure.add_trace(
            go.Scatter(
                name=name,
                x=[rows for rows, _ in timed],
                y=[median for median, _, _ in points],
                error_y=error_bars(points),
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
    marks = ticks(low, high)["tickvals"]
    figure.update_yaxes(
        type="log", title="time", range=[low, high], tickvals=marks, ticktext=[time_text(mark) for mark in marks]
    )
    return layout(figure, 380)


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
