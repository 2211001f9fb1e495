"""The parts `consumers` and `protocols`, which are about buffers alone, as tables for a terminal.

Rules of this file: as in `sections`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from . import lines, wording
from .grid import notes, styled, table, told
from .matrix import OUTCOMES
from .protocols import TITLES
from .wording import TIMES, ratio_text, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console


def show_consumers(console: Console, part: Mapping[str, Any]) -> None:
    """Print who can take what."""
    console.print(
        f"Each call takes {size_text(part['size'])} in a process of its own; the lender is dropped before the result "
        "is read. Zero-copy: the same values at the same address. Copy: the same values elsewhere."
    )
    present = wording.here(part["lenders"])
    for group in dict.fromkeys(one["group"] for one in part["lenders"].values()):
        columns = [name for name in present if part["lenders"][name]["group"] == group]
        if not columns:
            continue
        made = table("", *(name.replace(".", ".\n") for name in columns), title=group)
        for taker, row in part["cells"].items():
            made.add_row(taker, *(_outcome(row[name]["outcome"]) for name in columns))
        made.add_section()
        for outcome in OUTCOMES[:2]:
            counts = [str(part["count"][name][outcome]) for name in columns]
            made.add_row(f"{outcome} of {len(part['cells'])}", *counts)
        console.print(made)
    notes(console, wording.not_here(part["lenders"]), wording.not_here(part["takers"]))
    told(console, lines.consumers_lines(part))
    notes(console, "Each refusal in its own words: --html FILE or --json FILE.")


def _outcome(outcome: str) -> str:
    return styled(outcome, outcome)


def show_protocols(console: Console, part: Mapping[str, Any]) -> None:
    """Print what each protocol costs."""
    console.print(f"Median of paired ratios over the one marked 1{TIMES}, in brackets the quartiles.")
    packages = {name: one for name, one in part["packages"].items() if not one["available"]}
    notes(console, wording.RUNS, wording.not_here(packages))
    for section, groups in part["sections"].items():
        if part["notes"][section]:
            console.print(styled(f"{section}: {escape(part['notes'][section])}", "crashed"))
        made = table("", "time", "ratio", title=TITLES[section])
        for group in groups:
            made.add_row(f"[bold]{escape(group['title'])}[/bold]")
            for name, one in group["alternatives"].items():
                timed = one["outcome"] == "timed"
                cells = (
                    [time_text(one["seconds"][0]), ratio_text(one["ratio"])] if timed else [_outcome(one["outcome"])]
                )
                made.add_row(f"  {escape(name)}", *cells)
        if made.row_count:
            console.print(made)
        for note in dict.fromkeys(group["note"] for group in groups if group["note"]):
            titles = ", ".join(group["title"] for group in groups if group["note"] == note)
            notes(console, f"{titles}: {note}")
        told(console, lines.untimed_lines(groups), dim=True)
