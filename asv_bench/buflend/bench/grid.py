"""Tables and lines of the report for a terminal.

Rules of this file: numbers never break inside a cell; a person's text may wrap between words. Colour says how bad a
thing is, and never stands alone: the word is there too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from .wording import shortened

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from .lines import Line

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
    """Return an empty table.

    Parameters
    ----------
    *columns
        Headings; the first column and those of `text` hold words, which may wrap, all others numbers, which may not.
    title
        What the table shows.
    text
        Which other columns hold words.
    """
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
