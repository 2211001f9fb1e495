"""The bars as people read them: tables of the terminal, and the same in Markdown, which a page of the docs holds.

Lives here: columns and wording. Must not know: what is measured, and how.
"""

from __future__ import annotations

import datetime as dt
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from statistics import median, quantiles
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.table import Table

from buflend.bench import wording

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bars import Row
    from floors import Floor
    from rich.console import JustifyMethod

HEADINGS: dict[str, JustifyMethod] = {
    "ours\nagainst": "left",
    "each": "right",
    "ratio\nquartiles": "right",
    "at most": "right",
    "verdict": "left",
}
DISTANCES: dict[str, JustifyMethod] = {
    "ours\nagainst": "left",
    "floor": "right",
    "over floor\nquartiles": "right",
    "floor over\nother": "right",
    "stretch": "right",
}
BEGIN, END = "<!-- Measured: written by `make bars`. -->", "<!-- End of what was measured. -->"
"""Between them stands what was measured; the rest of the page is nobody's but its authors'."""


def table(rows: Iterable[Row]) -> Table:
    """Return what was measured as a table of the terminal, 80 columns wide at most."""
    shown = _table(HEADINGS)
    for one in rows:
        shown.add_row(
            f"{one.bar.work}\n{one.bar.against}",
            f"{one.ours:.3g} {one.unit}\n{one.other:.3g} {one.unit}",
            f"{wording.times_text(median(one.ratios))}\n{_around(one.ratios)}",
            "\n".join(f"{name} {wording.times_text(limit)}" for name, limit in one.limits.items()),
            "\n".join(one.verdict.values()),
            end_section=True,
        )
    return shown


def distances(rows: Iterable[Row]) -> Table:
    """Return how far each path is from its floor as a table of the terminal."""
    shown = _table(DISTANCES)
    for one in rows:
        if one.floor is not None:
            shown.add_row(
                f"{one.bar.work}\n{one.bar.against}",
                f"{one.floor:.3g} {one.unit}",
                f"{wording.times_text(median(one.over_floor))}\n{_around(one.over_floor)}",
                wording.times_text(one.floor / one.other),
                "\n".join(_stretch(one)),
                end_section=True,
            )
    return shown


def left_behind(found: dict[str, dict[str, Any]], count: int) -> Table:
    """Return what exchanges left behind as a table of the terminal."""
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in (f"left by {count:,} exchanges", "resident", "traced", "lent", "verdict"):
        shown.add_column(
            heading, no_wrap=heading != "verdict", justify="left" if " " in heading or heading == "verdict" else "right"
        )
    for name, one in found.items():
        shown.add_row(name, *_left(one))
    return shown


def _table(headings: Mapping[str, JustifyMethod]) -> Table:
    shown = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for name, justify in headings.items():
        shown.add_column(name, no_wrap=True, justify=justify)
    return shown


def _around(ratios: Sequence[float]) -> str:
    """Give the quartiles of ratios; a single one is of what is flat."""
    if len(ratios) == 1:
        return "max ÷ min"
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return f"{wording.digits(low, 2)}{wording.DASH}{wording.digits(high, 2)}"


def _stretch(one: Row) -> list[str]:
    """Say whether the stretch can be reached at all: not where the floor is above it."""
    stretch = one.bar.stretch
    if stretch is None or one.floor is None:
        return []
    return [wording.times_text(stretch), *(["beneath"] if one.floor / one.other > stretch else [])]


def _left(one: Mapping[str, Any]) -> list[str]:
    grown = [f"{one[key] / 1000:,.1f} kB" if key in one else "" for key in ("resident", "traced")]
    return [*grown, str(one.get("live", "")), one["verdict"]]


def markdown(
    rows: Sequence[Row],
    left: Mapping[str, Mapping[str, Any]],
    count: int,
    floors: Mapping[str, Floor],
    command: str,
) -> str:
    """Return all that was measured in Markdown, with what each floor calls."""
    lines = [_head(command), ""]
    lines += _markdown("ours", "against", "ours", "other", "ratio", "quartiles", "bar", "stretch")
    lines += [_line(*_cells(one)) for one in rows]
    lines += ["", "### From the floor", ""]
    lines += _markdown("ours", "against", "floor", "ours over floor", "quartiles", "floor over other", "stretch")
    for one in rows:
        if one.floor is not None:
            over, times = one.over_floor, wording.times_text
            figures = f"{one.floor:.3g} {one.unit}", times(median(over)), _around(over), times(one.floor / one.other)
            lines.append(_line(*_names(one), *figures, ", ".join(_stretch(one))))
    lines += ["", "### What the floors call", ""]
    lines += _markdown("path", "what cannot be avoided")
    lines += [_line(f"`{work}`", "; ".join(floor.calls)) for work, floor in floors.items()]
    if left:
        lines += ["", "### What is left", ""]
        lines += _markdown(f"{count:,} exchanges", "resident", "traced", "lent", "verdict")
        lines += [_line(name, *_left(one)) for name, one in left.items()]
    return "\n".join(lines)


def _head(command: str) -> str:
    """Say when, where, with what and by which command."""
    known = []
    for package in ("numpy", "pandas", "pyarrow", "torch", "nanoarrow", "arro3-core"):
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    busy = f", load {os.getloadavg()[0]:.1f} at the end" if hasattr(os, "getloadavg") else ""
    today = dt.datetime.now(dt.UTC).date()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores{busy}"
    versions = ", ".join([f"Python {platform.python_version()}", *known])
    return f"Measured on {today} by `{command}`, on one machine ({machine}): {versions}."


def _cells(one: Row) -> list[str]:
    verdicts = [
        f"{wording.times_text(one.limits[name])} {one.verdict[name]}" if name in one.limits else ""
        for name in ("bar", "stretch")
    ]
    each = [f"{value:.3g} {one.unit}" for value in (one.ours, one.other)]
    return [*_names(one), *each, wording.times_text(median(one.ratios)), _around(one.ratios), *verdicts]


def _names(one: Row) -> tuple[str, str]:
    return f"`{one.bar.work}`", one.bar.against


def _markdown(*headings: str) -> list[str]:
    return [_line(*headings), _line(*["---"] * len(headings))]


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def around(page: Path) -> tuple[str, str]:
    """Return what stands on a page before and after what was measured, with the marks; of a new page, these alone.

    Raises
    ------
    ValueError
        When the page has not both marks, each once and in this order, or the folder of a new one is not there.
    OSError
        When it cannot be read and written.
    """
    if not page.exists():
        if not page.parent.is_dir():
            raise ValueError(f"{page}: there is no folder {page.parent}")
        return BEGIN, END
    page.open("a").close()
    before, begin, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end or BEGIN in rest or END in after:
        raise ValueError(
            f"{page}: expected the marks {BEGIN!r} and {END!r}, each once, around what is to be replaced; "
            "name a page that is not there, and it is made"
        )
    return before + begin, end + after


def put(page: Path, text: str) -> None:
    """Write a text between the marks of a page; ValueError as for `around`."""
    before, after = around(page)
    page.write_text(f"{before}\n\n{text}\n\n{after.rstrip()}\n", "utf-8")
