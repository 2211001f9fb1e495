"""How rows and bars are worded, and all of them as Markdown: what a person pastes into an issue."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..wording import DASH, TIMES, digits, times_text
from .figures import amount
from .rows import columns, described

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from .bars import Reached
    from .rows import Cell, Row, Table

GROUPS = {"CPU": False, "GPU": True}
"""The two parts of everything that is shown: works of memory of the host, and of a GPU."""


class Section(NamedTuple):
    """A file of the suite on one kind of device.

    Attributes
    ----------
    name, title : str
        The file's, and what it is about.
    rows : list of Row
        What was measured.
    columns : list of str
        The implementations that they have.
    reasons : list of str
        Why some of them do some of it not; values refer to them by number, from 1 on.
    """

    name: str
    title: str
    rows: list[Row]
    columns: list[str]
    reasons: list[str]


def sections(rows: Iterable[Row], words: Mapping[str, str]) -> list[Section]:
    """Return rows by the file of the suite that they come from."""
    by_file: dict[str, list[Row]] = {}
    there = list(rows)
    order = columns(there)
    for row in there:
        by_file.setdefault(row.benchmark.partition(".")[0], []).append(row)
    found = []
    for name, group in by_file.items():
        cells = [cell for row in group for cell in row.cells.values()]
        reasons = dict.fromkeys(cell.reason for cell in cells if cell.outcome == "n/a" and cell.reason)
        title = words.get(name, name.removeprefix("bench_").replace("_", " "))
        names = [one for one in order if any(one in row.cells for row in group)]
        found.append(Section(name, title.rstrip("."), group, names, list(reasons)))
    return found


def cell_text(cell: Cell, unit: str, reasons: list[str]) -> str:
    """Give one implementation's value with its ratio and spread, or what there is instead."""
    if cell.value is not None:
        ratio = "" if cell.ratio is None else times_text(cell.ratio)
        return " ".join(filter(None, (amount(cell.value, unit), ratio, spread(cell))))
    if cell.outcome == "n/a":
        return f"n/a [{reasons.index(cell.reason) + 1}]" if cell.reason else "n/a"
    return f"{cell.outcome}: {cell.reason}" if cell.reason else cell.outcome


def spread(cell: Cell) -> str:
    """Give half the distance between a value's quartiles, in percent of it; empty where there are none."""
    if cell.low is None or cell.high is None or not cell.value:
        return ""
    return f"±{(cell.high - cell.low) / 2 / cell.value:.0%}"


def around(cell: Cell, unit: str) -> str:
    """Give a value's quartiles, empty where there are none."""
    if cell.low is None or cell.high is None:
        return ""
    low, high = amount(cell.low, unit), amount(cell.high, unit)
    number, _, last = low.rpartition(" ")
    return f"{number if high.endswith(f' {last}') else low}{DASH}{high}"


def limits(one: Reached) -> str:
    """Give how many times the other side a work may cost."""
    told = {"bar": one.bar.bar, "stretch": one.bar.stretch}
    return ", ".join(f"{name} {times_text(limit)}" for name, limit in told.items() if limit is not None)


def told_ratio(one: Reached) -> str:
    """Give a ratio in as many digits as show on which side of its limits it is; empty where there is none."""
    if one.ratio is None:
        return ""
    sides = [one.ratio <= limit for limit in (one.bar.bar, one.bar.stretch) if limit is not None]
    for count in range(3, 8):
        told = digits(one.ratio, count)
        seen = float(told.replace(",", ""))
        if [seen <= limit for limit in (one.bar.bar, one.bar.stretch) if limit is not None] == sides:
            break
    return f"{told}{TIMES}"


def render(table: Table, bars: list[Reached], words: Mapping[str, str], notes: Iterable[str]) -> str:
    """Return rows and bars as Markdown."""
    lines = ["# buflend, side by side", "", *(f"- {note}" for note in notes), ""]
    for group, on_gpu in GROUPS.items():
        found = sections((row for row in table.rows if row.on_gpu is on_gpu), words)
        lines += [f"## {group}", "", *([] if found else ["No results.", ""])]
        for section in found:
            lines += [f"### {section.title}", "", *_table(section), ""]
            lines += [f"{place}. {reason}" for place, reason in enumerate(section.reasons, 1)]
            lines += [""] if section.reasons else []
    lines += ["## Bars", "", *_bars(bars), ""]
    return "\n".join(lines)


def _table(section: Section) -> Iterator[str]:
    yield _line(["work", "machine", *section.columns])
    yield _line(["---"] * (2 + len(section.columns)))
    for row in section.rows:
        where = f"{row.machine} ({row.gpu})" if row.on_gpu else row.machine
        told = []
        for name in section.columns:
            cell = row.cells.get(name)
            text = "" if cell is None else cell_text(cell, row.unit, section.reasons)
            told.append(f"**{text}**" if cell is not None and cell.best else text)
        yield _line([described(row.work, row.parameters), where, *told])


def _bars(bars: list[Reached]) -> Iterator[str]:
    yield _line(["work", "against", "at most", "ratio", "verdict", "machine"])
    yield _line(["---"] * 6)
    for one in bars:
        verdict = ", ".join(f"{name} {told}" for name, told in one.verdicts.items())
        yield _line([one.bar.work, one.bar.against, limits(one), told_ratio(one), verdict or one.reason, one.machine])


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"
