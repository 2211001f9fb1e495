"""The parts of a report as tables and lines for a terminal, 80 columns wide or more.

A time is shown beside its ratio; where several readers stand side by side, its spread is in percent, so that five of
them fit. Who is absent is named in a line; what is refused is written out, never left blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from . import wording
from .cost import BASELINE
from .matrix import OUTCOMES as TAKEN
from .protocols import TITLES
from .terminal import notes, styled, table, told
from .wording import OUTCOMES, TIMES, plural, ratio_text, short_ratio, shortened, size_text, time_text, times_text

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
    told(console, wording.values_lines(part))


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
    told(console, wording.lifetime_lines(part))


def _alive(found: Mapping[str, Any], place: int) -> str:
    if not found["steps"]:
        return "" if place else styled(found["outcome"], "crashed")
    one = found["steps"][place]
    text = size_text(one["alive_bytes"])
    if not one["excess"] and not one["dangling"]:
        return text
    return styled(f"{text}\nleast {size_text(one['least_bytes'])}", "wrong" if one["dangling"] else "refused")


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
            made.add_row(escape(group["title"]), *(_ratio(group, name) for name in present))
    if made.row_count:
        console.print(made)
    notes(console, *wording.types(groups))
    told(console, wording.cost_lines(groups), dim=True)


def _ratio(group: Mapping[str, Any], name: str) -> str:
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
            made.add_row(taker, *(_same(row[name]["outcome"]) for name in columns))
        made.add_section()
        for outcome in TAKEN[:2]:
            counts = [str(part["count"][name][outcome]) for name in columns]
            made.add_row(f"{outcome} of {len(part['cells'])}", *counts)
        console.print(made)
    notes(console, wording.not_here(part["lenders"]), wording.not_here(part["takers"]))
    told(console, wording.consumers_lines(part))
    notes(console, "Each refusal in its own words: --html FILE or --json FILE.")


def _same(outcome: str) -> str:
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
                cells = [time_text(one["seconds"][0]), ratio_text(one["ratio"])] if timed else [_same(one["outcome"])]
                made.add_row(f"  {escape(name)}", *cells)
        if made.row_count:
            console.print(made)
        for note in dict.fromkeys(group["note"] for group in groups if group["note"]):
            titles = ", ".join(group["title"] for group in groups if group["note"] == note)
            notes(console, f"{titles}: {note}")
        told(console, wording.untimed_lines(groups), dim=True)


SHOW: dict[str, Callable[[Console, Mapping[str, Any]], None]] = {
    "surface": _surface,
    "battery": _battery,
    "values": _values,
    "lifetime": _lifetime,
    "cost": show_cost,
    "consumers": show_consumers,
    "protocols": show_protocols,
}
