"""The report in a terminal, as tables and lines, 80 columns wide or more.

Progress goes to standard error, and only where that is a terminal. What a stream's encoding lacks is written in other
words, never an error. Numbers never break inside a cell. Colour says how bad a thing is, and never stands alone. A time
is shown beside its ratio; where several readers stand side by side, its spread is in percent, so that five of them fit.
Who is absent is named in a line; what is refused is written out, never left blank.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import holding, wording
from .cost import BASELINE
from .cost import TITLES as COST_TITLES
from .cuda import wording as cuda
from .protocols import TITLES
from .taking import OUTCOMES as TAKEN
from .wording import TIMES, plural, ratio_text, short_ratio, shortened, size_text, time_text, times_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .wording import Line

PLAIN = {TIMES: "x", wording.DASH: "-", "÷": "/", "±": "~", "µ": "u", "…": "..."}
"""What is written for characters that a stream's encoding lacks; a question mark for all others."""

NARROWEST = 80
"""Columns of the report at least: in fewer, numbers would be cut; the terminal may break the lines."""

WIDTH = 120
"""Columns of the report where there is no terminal to ask."""


def tame() -> None:
    """Let the standard streams write every text, whatever their encoding: a report must not end in its printing."""
    codecs.register_error("buflend.plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="buflend.plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(PLAIN.get(one, "?") for one in error.object[error.start : error.end]), error.end


def say(text: str) -> None:
    """Write a line to standard output."""
    _console().print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress() -> Iterator[Callable[[str, float], None]]:
    """Show a progress bar while the comparison works; nothing where standard error is no terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _text, _fraction: None
        return
    columns = (BarColumn(30), TaskProgressColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1.0)
        yield lambda text, fraction: bar.update(task, description=escape(text), completed=fraction)


def show(report: Mapping[str, Any]) -> None:
    """Print a report."""
    console = _console()
    console.print(
        f"[bold]buflend {report['buflend']}[/bold]  {report['implementation']} {report['python']}, "
        f"{report['platform']}, {report['cpus']} CPUs, {report['started']}"
    )
    versions = [f"{name} {peer['version']}" for name, peer in wording.packages_of(report).items() if peer["available"]]
    console.print("with " + ", ".join(versions))
    if device := cuda.device(report):
        console.print(f"[bold]{escape(device)}[/bold]")
    for name, reason in wording.absent(report).items():
        console.print(f"[yellow]absent:[/yellow] {escape(name)} ({escape(reason)})")
    if unread := wording.unread(report):
        console.print(f"[yellow]note:[/yellow] {escape(unread)}")
    if not report["device"]["available"]:
        return
    show_part = import_module(".cuda.shown", __package__).SHOW if wording.on_cuda(report) else SHOW
    for name, part in report["parts"].items():
        console.print()
        console.rule(f"[bold]{name}[/bold]: {escape(wording.subtitle(name, report))}", align="left")
        if part.get("available", True):
            show_part[name](console, part)
        else:
            console.print(f"[yellow]not measured:[/yellow] {escape(part['reason'])}")
    console.print()
    took = ", ".join(f"{name} {part['took_s']:.0f} s" for name, part in report["parts"].items())
    console.print(f"took {report['took_s']:.0f} s ({took})")


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return Console(highlight=False, width=WIDTH)
    return console if console.width >= NARROWEST else Console(highlight=False, width=NARROWEST)


STYLES = {
    "right": "green",
    "zero-copy": "green",
    "copy": "cyan",
    "lucky": "bold yellow",
    "differing": "bold red",
    "wrong": "bold red",
    "refused": "yellow",
    "crashed": "bold magenta",
    "hung": "magenta",
    "n/a": "dim",
}


def table(*columns: str, title: str = "", text: Iterable[str] = ()) -> Table:
    """Return an empty table; its first column and those of `text` hold words, which may wrap, all others numbers."""
    made = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="italic", pad_edge=False)
    for place, name in enumerate(columns):
        words = place == 0 or name in text
        made.add_column(name, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    return made


def styled(text: str, outcome: str) -> str:
    """Return markup of a text in the colour of an outcome."""
    return f"[{STYLES[outcome]}]{text}[/{STYLES[outcome]}]"


def told(console: Console, found: Iterable[Line], *, dim: bool = False) -> None:
    """Print lines; only who did what is coloured."""
    for line in found:
        where = f" {escape(shortened(line.where))}" if line.where else ""
        what = escape(line.what) if dim else styled(escape(line.what), line.outcome)
        text = f"{what}{where}: {escape(shortened(line.why))}"
        console.print(f"[dim]{text}[/dim]" if dim else text)


def notes(console: Console, *texts: Any) -> None:
    """Print what has to be known of a table, where there is something."""
    for text in filter(None, texts):
        console.print(f"[dim]{escape(text)}[/dim]")


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


def _values(console: Console, part: Mapping[str, Any]) -> None:
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
    held = part["table"]
    console.print(f"{wording.holding(held)}.")
    made = table("holding", *holding.STEPS)
    made.add_row("least", *map(size_text, held["least"]))
    for name, found in held["consumers"].items():
        if found["outcome"] == "measured":
            pairs = zip(found["held"], held["least"], strict=True)
            made.add_row(name, *("" if size is None else _held(size, least) for size, least in pairs))
    console.print(made)
    told(console, wording.holding_lines(held))


def _held(size: int, least: int) -> str:
    """Give the bytes that are held, coloured where they are more than what is needed."""
    return styled(size_text(size), "refused" if size > least else "right")


def _alive(found: Mapping[str, Any], place: int) -> str:
    if not found["steps"]:
        return "" if place else styled(found["outcome"], "crashed")
    one = found["steps"][place]
    text = size_text(one["alive_bytes"])
    if not one["excess"] and not one["dangling"]:
        return text
    return styled(f"{text}\nleast {size_text(one['least_bytes'])}", "wrong" if one["dangling"] else "refused")


def _cost(console: Console, part: Mapping[str, Any]) -> None:
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
    headings = [f"{name}\n= 1{TIMES}" if name == BASELINE else name for name in present]
    made = table("", *headings, title=f"{COST_TITLES[section]}, {rows}")
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
    made = table("", *rows, f"÷ minimal's at {rows[-1]}", title=COST_TITLES["size"])
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


def _consumers(console: Console, part: Mapping[str, Any]) -> None:
    console.print(wording.taking(part))
    matrix(console, part)
    notes(console, wording.not_here(part["lenders"]), wording.not_here(part["takers"]))
    told(console, wording.consumers_lines(part))
    notes(console, "Each refusal in its own words: --html FILE or --json FILE.")


def matrix(console: Console, part: Mapping[str, Any]) -> None:
    """Print who takes what, a table for each group of lenders; a call that is not here names what it needs."""
    present, calls = wording.here(part["lenders"]), wording.here(part["takers"])
    for group in dict.fromkeys(one["group"] for one in part["lenders"].values()):
        columns = [name for name in present if part["lenders"][name]["group"] == group]
        if not columns:
            continue
        made = table("", *(name.replace(".", ".\n") for name in columns), title=group)
        for taker, row in part["cells"].items():
            label = taker + wording.lacks(part["takers"][taker])
            made.add_row(label, *(_same(row[name]["outcome"]) for name in columns))
        made.add_section()
        for outcome in TAKEN[:2]:
            counts = [str(part["count"][name][outcome]) for name in columns]
            made.add_row(f"{outcome} of {len(calls)}", *counts)
        console.print(made)


def _same(outcome: str) -> str:
    return styled(outcome, outcome)


def _protocols(console: Console, part: Mapping[str, Any]) -> None:
    console.print(PAIRED)
    packages = {name: one for name, one in part["packages"].items() if not one["available"]}
    notes(console, wording.RUNS, wording.not_here(packages))
    timings(console, part, TITLES)


PAIRED = f"Median of paired ratios over the one marked 1{TIMES}, in brackets the quartiles."


def timings(console: Console, part: Mapping[str, Any], titles: Mapping[str, str]) -> None:
    """Print the times of a part's sections, a table for each."""
    for section, groups in part["sections"].items():
        if part["notes"][section]:
            console.print(styled(f"{section}: {escape(part['notes'][section])}", "crashed"))
        made = table("", "time", "ratio", title=titles[section])
        for group in groups:
            made.add_row(f"[bold]{escape(group['title'])}[/bold]")
            for name, one in group["alternatives"].items():
                if one["outcome"] == "absent":
                    made.add_row(f"  {escape(name)}\n    needs {one['needs']}", _same("n/a"))
                    continue
                timed = one["outcome"] == "timed"
                cells = [time_text(one["seconds"][0]), ratio_text(one["ratio"])] if timed else [_same(one["outcome"])]
                made.add_row(f"  {escape(name)}", *cells)
        if made.row_count:
            console.print(made)
        for note in dict.fromkeys(group["note"] for group in groups if group["note"]):
            noted = ", ".join(group["title"] for group in groups if group["note"] == note)
            notes(console, f"{noted}: {note}")
        told(console, wording.untimed_lines(groups), dim=True)


SHOW: dict[str, Callable[[Console, Mapping[str, Any]], None]] = {
    "surface": _surface,
    "battery": lambda *given: import_module(".battery.shown", __package__).show(*given),
    "hostile": lambda *given: import_module(".hostile.shown", __package__).show(*given),
    "values": _values,
    "lifetime": _lifetime,
    "cost": _cost,
    "consumers": _consumers,
    "protocols": _protocols,
}
