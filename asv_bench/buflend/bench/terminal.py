"""The report in a terminal.

Rules of this file: it shows what a report holds and measures nothing. Progress goes to standard error, and only where
that is a terminal.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from . import wording
from .compare import PARTS
from .sections import SHOW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

WIDTH = 120
"""Columns of the report where there is no terminal to ask."""


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
    versions = [f"{name} {peer['version']}" for name, peer in report["peers"].items() if peer["available"]]
    console.print("with " + ", ".join(versions))
    for name, reason in wording.absent(report).items():
        console.print(f"[yellow]absent:[/yellow] {escape(name)} ({escape(reason)})")
    for name, part in report["parts"].items():
        console.print()
        console.rule(f"[bold]{name}[/bold]: {PARTS[name]}", align="left")
        SHOW[name](console, part)
    console.print()
    took = ", ".join(f"{name} {part['took_s']:.0f} s" for name, part in report["parts"].items())
    console.print(f"took {report['took_s']:.0f} s ({took})")


def _console() -> Console:
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        return Console(highlight=False, width=WIDTH)
    return console
