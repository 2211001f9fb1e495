"""The part `cost` as tables for a terminal.

Rules of this file: as in `sections`. Where several readers stand side by side, a ratio's spread is given in percent, so
that five of them fit in 80 columns; the quartiles themselves are on the page and in the JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from . import lines, wording
from .cost import BASELINE
from .grid import notes, styled, table, told
from .wording import TIMES, plural, ratio_text, short_ratio, time_text, times_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


def show_cost(console: Console, part: Mapping[str, Any]) -> None:
    """Print all sections."""
    console.print(
        f"Time over minimal's in the same round, median of paired ratios: 2{TIMES} takes twice as long. In brackets "
        "the quartiles; behind ± half their distance."
    )
    notes(console, wording.RUNS, wording.not_here(part["consumers"]))
    present = wording.here(part["consumers"])
    for section, groups in part["sections"].items():
        if part["notes"][section]:
            console.print(styled(f"{section}: {escape(part['notes'][section])}", "crashed"))
        if section == "pointer":
            for group in groups:
                _vertical(console, group)
            notes(console, wording.RECIPE)
        elif section == "size":
            _growth(console, groups, present)
        elif groups:
            _horizontal(console, section, groups, present)


def _vertical(console: Console, group: Mapping[str, Any]) -> None:
    made = table(group["title"], "time", "ratio")
    for name, one in group["alternatives"].items():
        if one["outcome"] != "absent":
            timed = one["outcome"] == "timed"
            cells = [time_text(one["seconds"][0]), ratio_text(one["ratio"])] if timed else [_untimed(one), ""]
            made.add_row(escape(name), *cells)
    console.print(made)
    notes(console, group["note"])


def _horizontal(console: Console, section: str, groups: list[dict[str, Any]], present: list[str]) -> None:
    rows = ", ".join(plural(count, "row") for count in sorted({group["rows"] for group in groups}))
    titles = {"column": "One column out of each library's frame", "table": "The whole table"}
    headings = [f"{name}\n= 1{TIMES}" if name == BASELINE else name for name in present]
    made = table("", *headings, title=f"{titles[section]}, {rows}")
    for group in groups:
        if group["baseline"]:
            made.add_row(escape(group["title"]), *(_cell(group, name) for name in present))
    if made.row_count:
        console.print(made)
    notes(console, *wording.types(groups))
    told(console, lines.cost_lines(groups), dim=True)


def _cell(group: Mapping[str, Any], name: str) -> str:
    one = group["alternatives"].get(name)
    if one is None:
        return ""
    if one["outcome"] != "timed":
        return _untimed(one)
    if name == group["baseline"]:
        return time_text(one["seconds"][0]) + ("" if name == BASELINE else f" = 1{TIMES}")
    return short_ratio(one["ratio"])


def _untimed(one: Mapping[str, Any]) -> str:
    return styled(one["outcome"], one["outcome"])


def _growth(console: Console, groups: list[dict[str, Any]], present: list[str]) -> None:
    if not groups:
        return
    rows = [f"{group['rows']:,}" + ("" if place else f"\n= 1{TIMES}") for place, group in enumerate(groups)]
    made = table("", *rows, f"÷ minimal's at {rows[-1]}", title="Growth with the number of plain integers in a column")
    made.columns[-1].no_wrap = False
    for name in present:
        row = []
        for place, group in enumerate(groups):
            one = group["alternatives"].get(name)
            if one is None or one["outcome"] != "timed":
                row.append("" if one is None else _untimed(one))
            elif not place:
                row.append(time_text(one["seconds"][0]))
            else:
                row.append(times_text(one["growth"][0]) if "growth" in one else time_text(one["seconds"][0]))
        last = groups[-1]["alternatives"].get(name, {})
        made.add_row(name, *row, short_ratio(last["ratio"]) if last.get("outcome") == "timed" else "")
    console.print(made)
