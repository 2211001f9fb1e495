"""A graph for each work: lines over its sizes where it has some, otherwise bars that start at the first implementation.

Every machine has bars of its own, since only what was measured on one machine is comparable. Must not know: the page.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import plotly.graph_objects as go

from .. import wording
from ..drawing import COLOURS, OTHER, error_bars, layout, ratios, ticks
from ..wording import TIMES
from .rows import SECONDS, chosen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .rows import Cell, Row

FEWEST = 3
"""Sizes that make a line."""

AXIS = f"÷ the one marked 1{TIMES}; bar: quartiles"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash")


class Graph(NamedTuple):
    """A figure with what it is of: its name on a page, the file of the suite, on a GPU or not, and its title."""

    name: str
    file: str
    on_gpu: bool
    title: str
    figure: go.Figure


def graphs(rows: Iterable[Row]) -> list[Graph]:
    """Return a graph for each benchmark that was measured of at least two implementations or sizes."""
    by_benchmark: dict[str, list[Row]] = {}
    for row in rows:
        by_benchmark.setdefault(row.benchmark, []).append(row)
    found = []
    for name, group in by_benchmark.items():
        size = sizes(group)
        figure = lines(group, size) if size else bars(group)
        if figure is not None:
            found.append(Graph(name.replace(".", "-"), name.partition(".")[0], group[0].on_gpu, group[0].work, figure))
    return found


def amount(value: float, unit: str) -> str:
    """Give a value with its unit, as people read it."""
    if unit == SECONDS:
        return wording.time_text(value)
    return wording.size_text(value) if unit == "bytes" else f"{wording.digits(value)} {unit}"


def sizes(rows: list[Row]) -> str:
    """Return the name of the parameter that is a size and has at least `FEWEST` values; empty where none has."""
    for name in rows[0].parameters:
        values = {row.parameters[name] for row in rows}
        if len(values) >= FEWEST and all(number(value) is not None for value in values):
            return name
    return ""


def number(text: str) -> float | None:
    """Return the number that a parameter is, if it is one and has a logarithm."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if found > 0 and math.isfinite(found) else None


def bars(rows: list[Row]) -> go.Figure | None:
    """Draw each row as a group of bars; None where there is nothing to compare."""
    several = len({row.machine for row in rows}) > 1
    groups = []
    for row in rows:
        known = {name: cell for name, cell in row.cells.items() if cell.ratio is not None}
        if len(known) > 1:
            groups.append(
                {
                    "title": label(row, several=several) or row.work,
                    "baseline": row.base,
                    "alternatives": {name: _alternative(cell, row) for name, cell in known.items()},
                }
            )
    return ratios(groups, AXIS) if groups else None


def label(row: Row, *, several: bool, without: str = "") -> str:
    """Return what tells a row from the others of its work; the machine where there are several."""
    return ", ".join(filter(None, (chosen(row.parameters, without), row.machine if several else "")))


def _alternative(cell: Cell, row: Row) -> dict[str, Any]:
    base = row.cells[row.base].value
    assert cell.value is not None  # noqa: S101
    assert base  # noqa: S101
    around = [cell.value, cell.value if cell.low is None else cell.low, cell.value if cell.high is None else cell.high]
    ratio = [one / base for one in around]
    return {"outcome": "timed", "seconds": around, "ratio": ratio, "text": amount(cell.value, row.unit)}


def size_label(value: float) -> str:
    """Give a size in so few characters that its neighbours have room."""
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1, "")):
        if value >= factor:
            return f"{wording.digits(value / factor)}{unit}"
    return f"{value:g}"


def lines(rows: list[Row], size: str) -> go.Figure | None:
    """Draw values over a size: a line for each implementation, dashed where another parameter or machine differs."""
    several = len({row.machine for row in rows}) > 1
    dashes = list(dict.fromkeys(label(row, several=several, without=size) for row in rows))
    figure = go.Figure()
    found: list[float] = []
    for place, rest in enumerate(dashes):
        group = [row for row in rows if label(row, several=several, without=size) == rest]
        for name in dict.fromkeys(name for row in group for name in row.cells):
            there = [(row, row.cells[name]) for row in group if row.cells.get(name) and row.cells[name].value]
            if not there:
                continue
            points = [_point(cell) for _, cell in there]
            found += [point[0] for point in points]
            figure.add_trace(
                go.Scatter(
                    name=f"{name}, {rest}" if len(dashes) > 1 else name,
                    x=[number(row.parameters[size]) for row, _ in there],
                    y=[point[0] for point in points],
                    error_y=error_bars(points),
                    mode="lines+markers",
                    line={"dash": DASHES[place % len(DASHES)]},
                    marker_color=COLOURS.get(name.partition(".")[0], OTHER),
                    hovertemplate="%{customdata}<extra>%{fullData.name}</extra>",
                    customdata=[_hover(row, cell) for row, cell in there],
                )
            )
    if not found:
        return None
    where = sorted({one for row in rows if (one := number(row.parameters[size])) is not None})
    figure.update_xaxes(
        type="log",
        title=size,
        tickvals=where,
        ticktext=[size_label(one) for one in where],
    )
    low, high = math.log10(min(found)) - 0.15, math.log10(max(found)) + 0.15
    marks = ticks(low, high)["tickvals"]
    told = [amount(mark, rows[0].unit) for mark in marks]
    figure.update_yaxes(type="log", range=[low, high], tickvals=marks, ticktext=told)
    return layout(figure, 340 + 14 * len(figure.data))


def _point(cell: Cell) -> tuple[float, float, float]:
    """Return a value and the distances to its quartiles, as error bars want them."""
    value = cell.value or 0.0
    up, down = (0.0 if cell.high is None else cell.high - value), (0.0 if cell.low is None else value - cell.low)
    return value, max(up, 0.0), max(down, 0.0)


def _hover(row: Row, cell: Cell) -> str:
    ratio = "" if cell.ratio is None else f", {wording.times_text(cell.ratio)} of {row.base}'s"
    return f"{amount(cell.value or 0.0, row.unit)}{ratio}"
