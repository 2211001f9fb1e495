"""The report in a terminal.

Progress goes to standard error, and only where that is a terminal. What a stream's encoding lacks is written in other
words, never an error. Numbers never break inside a cell. Colour says how bad a thing is, and never stands alone.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import wording
from .wording import shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .wording import Line

PLAIN = {wording.TIMES: "x", wording.DASH: "-", "÷": "/", "±": "~", "µ": "u", "…": "..."}
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
    from .sections import SHOW

    console = _console()
    console.print(
        f"[bold]buflend {report['buflend']}[/bold]  {report['implementation']} {report['python']}, "
        f"{report['platform']}, {report['cpus']} CPUs, {report['started']}"
    )
    versions = [f"{name} {peer['version']}" for name, peer in wording.packages_of(report).items() if peer["available"]]
    console.print("with " + ", ".join(versions))
    for name, reason in wording.absent(report).items():
        console.print(f"[yellow]absent:[/yellow] {escape(name)} ({escape(reason)})")
    if unread := wording.unread(report):
        console.print(f"[yellow]note:[/yellow] {escape(unread)}")
    for name, part in report["parts"].items():
        console.print()
        console.rule(f"[bold]{name}[/bold]: {escape(wording.subtitle(name, report))}", align="left")
        SHOW[name](console, part)
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


def cell(reason: str) -> str:
    """Return what stands in a cell of what is not there."""
    return f"[yellow]{escape(shortened(reason, 60))}[/yellow]"


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
