"""The parts of a report as tables and lines for a terminal, 80 columns wide or more.

Rules of this file: one function per part, which prints to the console it is given; `cost`, and the parts about buffers
alone, have files of their own. A time is shown beside its ratio. Who is absent is named in a line; what is refused is
written out, never left blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from . import lines, wording
from .buffer_tables import show_consumers, show_protocols
from .cost_tables import show_cost
from .grid import notes, styled, table, told
from .wording import OUTCOMES, plural, ratio_text, shortened, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

WORST = 3
"""Subjects of the battery named for each consumer."""


def _surface(console: Console, part: Mapping[str, Any]) -> None:
    for kind, title in (
        ("offers", "Names that a library's objects offer, counted on real ones"),
        ("uses", "Names that a reader asks a producer for"),
    ):
        made = table("", "frame", "column", "buffer", "of the buffer", title=title, text=("of the buffer",))
        for name, found in part[kind].items():
            if found["available"]:
                names = found["names"]
                counts = ["none" if one is None else str(len(one)) for one in names.values()]
                made.add_row(name, *counts, ", ".join(names["buffer"]))
        console.print(made)
        notes(console, wording.not_here(part[kind]))
    notes(console, wording.unbuilt(part))
    made = table(
        "package",
        "import",
        "÷ ctypes, enum",
        "files",
        "size",
        "lines",
        title="Import over a bare interpreter; what is installed",
    )
    for name in wording.packages(part):
        took, size = part["imports"].get(name), part["sizes"].get(name)
        if not any(one and one["available"] for one in (took, size)):
            continue
        cells = ["", ""]
        if took and took["available"]:
            cells = [time_text(took["seconds"][0]), ratio_text(took["ratio"]) if took["ratio"] else "too short to tell"]
        if size and size["available"]:
            code = "" if size["lines"] is None else f"{size['lines']:,}"
            cells += [f"{size['files']:,}", size_text(size["size"]), code]
        made.add_row(name, *cells)
    console.print(made)
    notes(console, wording.not_here(part["imports"]), wording.RUNS)


def _battery(console: Console, part: Mapping[str, Any]) -> None:
    made = table("consumer", *OUTCOMES, "of", "version")
    present = wording.here(part["consumers"])
    for name in present:
        found = part["consumers"][name]
        score = found["score"]
        counts = [styled(str(score[kind]), kind) if score[kind] else "0" for kind in OUTCOMES]
        made.add_row(name, *counts, str(score["total"]), found.get("version") or "")
    console.print(made)
    notes(console, wording.not_here(part["consumers"]))
    subjects = wording.by_subject(part)
    made = table("subject", "cases", *present, title="By subject: w wrong, r refused, c crashed, h hung")
    for subject, cases in subjects.items():
        made.add_row(subject, str(len(cases)), *(_bad(wording.outcomes(part, cases, name)) for name in present))
    console.print(made)
    for name in present:
        worst = wording.worst(part, name)[:WORST]
        if worst:
            text = ", ".join(f"{subject} ({bad} of {len(subjects[subject])})" for subject, bad in worst)
            console.print(f"{styled(f'{name} fails most', 'wrong')} in {escape(text)}")
    notes(console, "Each case by its name, with what was expected and what came: --html FILE or --json FILE.")


def _bad(count: Mapping[str, int]) -> str:
    """Give the counts of what is not right, each with the letter of its outcome."""
    bad = [styled(f"{count[kind]}{kind[0]}", kind) for kind in OUTCOMES if kind != "right" and count[kind]]
    return " ".join(bad) or "[green]all right[/green]"


def _values(console: Console, part: Mapping[str, Any]) -> None:
    if not part["available"]:
        console.print(f"[yellow]not measured:[/yellow] {escape(part['reason'])}")
        return
    about = part["table"]
    missing = sum(column["missing"] for column in about["columns"])
    chunks = f", {about['chunks']} chunks" if (about["chunks"] or 0) > 1 else ""
    console.print(
        f"{escape(about['name'])}: {plural(about['rows'], 'row')}, {plural(len(about['columns']), 'column')}, "
        f"{plural(missing, 'missing value')}{chunks}; read by {about['read_by']} ({escape(about['note'])})"
    )
    present = wording.here(part["consumers"])
    made = table("frame of", *present, title="Columns, by who read them")
    cells = {(pair["producer"], pair["consumer"]): _counted(pair) for pair in part["pairs"]}
    for producer in wording.here(part["producers"]):
        made.add_row(producer, *(cells.get((producer, name), "") for name in present))
    console.print(made)
    notes(console, wording.not_here(part["producers"]), wording.not_here(part["consumers"]))
    notes(console, *(f"{one}: {part['producers'][one]['note']}" for one in wording.here(part["producers"])))
    told(console, lines.values_lines(part))


def _counted(pair: Mapping[str, Any]) -> str:
    if not pair["columns"]:
        return styled(escape(shortened(pair["whole"], 18)), "refused")
    return "\n".join(styled(f"{count} {kind}", kind) for kind, count in pair["count"].items() if count)


def _lifetime(console: Console, part: Mapping[str, Any]) -> None:
    total = sum(part["buffers"].values())
    console.print(
        f"A watched frame of {plural(part['rows'], 'row')} and {plural(len(part['buffers']), 'buffer')}, "
        f"{size_text(total)}. Alive after each step; below it the least possible, where that differs."
    )
    consumers = {name: found for name, found in part["consumers"].items() if found["available"]}
    made = table("step", *consumers)
    steps: list[dict[str, Any]] = next((found["steps"] for found in consumers.values() if found["steps"]), [])
    for place, step in enumerate(steps):
        made.add_row(step["step"], *(_alive(found, place) for found in consumers.values()))
    console.print(made)
    notes(console, wording.not_here(part["consumers"]), wording.RECIPE)
    told(console, lines.lifetime_lines(part))


def _alive(found: Mapping[str, Any], place: int) -> str:
    if not found["steps"]:
        return "" if place else styled(found["outcome"], "crashed")
    one = found["steps"][place]
    text = size_text(one["alive_bytes"])
    if not one["excess"] and not one["dangling"]:
        return text
    return styled(f"{text}\nleast {size_text(one['least_bytes'])}", "wrong" if one["dangling"] else "refused")


SHOW: dict[str, Callable[[Console, Mapping[str, Any]], None]] = {
    "surface": _surface,
    "battery": _battery,
    "values": _values,
    "lifetime": _lifetime,
    "cost": show_cost,
    "consumers": show_consumers,
    "protocols": show_protocols,
}
