"""The report in a terminal.

Rules of this file: it shows what a report holds and measures nothing. Progress goes to standard error, and only where
that is a terminal. What a stream's encoding lacks is written in other words, never an error.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from . import wording
from .sections import SHOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

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
