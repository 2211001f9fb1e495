"""The report in a terminal.

Rules of this file: it shows what a report holds and measures nothing. Progress goes to standard error, and only where that
is a terminal. A time is shown beside its ratio. What is absent, refused or not built is written out, never left blank.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from . import wording
from .compare import PARTS
from .wording import CONSUMERS, OUTCOMES, count_text, digits, ratio_text, shortened, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

WIDTH = 120
"""Columns of the report where there is no terminal to ask."""

STYLES = {
    "right": "green",
    "differing": "bold red",
    "wrong": "bold red",
    "refused": "yellow",
    "crashed": "bold magenta",
    "hung": "magenta",
}


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


def _table(*columns: str, title: str = "") -> Table:
    table = Table(box=SIMPLE_HEAD, title=title or None, title_justify="left", title_style="italic", pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 else "right", overflow="fold")
    return table


def _surface(console: Console, part: Mapping[str, Any]) -> None:
    table = _table(
        "names that",
        "frame",
        "column",
        "buffer",
        "of the buffer",
        title="The interchange surface, counted on real objects",
    )
    table.columns[-1].justify = "left"
    for kind, verb in (("offers", "offers"), ("uses", "asks a producer for")):
        for name, found in part[kind].items():
            if not found["available"]:
                table.add_row(f"{name} {verb}", f"[yellow]{escape(found['reason'])}[/yellow]", "", "", "")
                continue
            names = found["names"]
            counts = ["none" if one is None else str(len(one)) for one in names.values()]
            table.add_row(f"{name} {verb}", *counts, ", ".join(names["buffer"]))
    console.print(table)
    table = _table(
        "package",
        "import",
        "÷ ctypes, enum",
        "files",
        "size",
        "lines",
        title="Import over a bare interpreter; what is installed",
    )
    sizes = part["sizes"]
    for name in dict.fromkeys([*part["imports"], *sizes]):
        took, size = part["imports"].get(name), sizes.get(name)
        cells = ["", ""] if took is None else [_absent(took), ""]
        if took and took["available"]:
            cells = [time_text(took["seconds"][0]), ratio_text(took["ratio"]) if took["ratio"] else "too short to tell"]
        if size and size["available"]:
            lines = "" if size["lines"] is None else f"{size['lines']:,}"
            cells += [f"{size['files']:,}", size_text(size["size"]), lines]
        else:
            cells += ["", _absent(size) if size and not cells[0] else "", ""]
        table.add_row(name, *cells)
    console.print(table)


def _absent(entry: Mapping[str, Any]) -> str:
    return f"[yellow]{escape(shortened(entry['reason'], 60))}[/yellow]"


def _battery(console: Console, part: Mapping[str, Any]) -> None:
    table = _table("consumer", *OUTCOMES, "of", "version")
    for name, found in part["consumers"].items():
        if not found["available"]:
            table.add_row(name, _absent(found))
            continue
        score = found["score"]
        counts = [_styled(str(score[kind]), kind) if score[kind] else "0" for kind in OUTCOMES]
        table.add_row(name, *counts, str(score["total"]), found.get("version") or "")
    console.print(table)
    present = [name for name, found in part["consumers"].items() if found["available"]]
    subjects = wording.by_subject(part)
    table = _table("subject", "cases", *present)
    for subject, cases in subjects.items():
        counts = {name: wording.outcomes(part, cases, name) for name in present}
        table.add_row(subject, str(len(cases)), *(_bad(counts[name]) for name in present))
    console.print(table)
    for subject, cases in subjects.items():
        for who, names in _offenders(part, cases, present).items():
            console.print(f"[bold]{subject}[/bold], {who}: {escape(', '.join(names))}")
    console.print("Each case with what was expected and what came: --html FILE or --json FILE.")


def _bad(count: Mapping[str, int]) -> str:
    """Say what is worse than a refusal; refusals in brackets."""
    bad = [_styled(f"{count[kind]} {kind}", kind) for kind in ("wrong", "crashed", "hung") if count[kind]]
    refused = f"[dim]({count['refused']} refused)[/dim]" if count["refused"] else ""
    return " ".join([", ".join(bad), refused]).strip() or "[green]all right[/green]"


def _offenders(part: Mapping[str, Any], cases: list[dict[str, Any]], present: list[str]) -> dict[str, list[str]]:
    """Return the cases where someone is wrong, crashed or hung, by who it is."""
    found: dict[str, list[str]] = {}
    for case in cases:
        by_kind: dict[str, list[str]] = {}
        for name in present:
            kind = part["consumers"][name]["results"][case["name"]]["outcome"]
            if kind in ("wrong", "crashed", "hung"):
                by_kind.setdefault(kind, []).append(name)
        if by_kind:
            who = "; ".join(_styled(f"{', '.join(names)} {kind}", kind) for kind, names in by_kind.items())
            found.setdefault(who, []).append(case["name"])
    return found


def _values(console: Console, part: Mapping[str, Any]) -> None:
    if not part["available"]:
        console.print(f"[yellow]not measured:[/yellow] {escape(part['reason'])}")
        return
    about = part["table"]
    missing = sum(column["missing"] for column in about["columns"])
    chunks = f", {about['chunks']} chunks" if about["chunks"] else ""
    console.print(
        f"{escape(about['name'])}: {about['rows']:,} rows, {len(about['columns'])} columns, {missing:,} missing values{chunks}; "
        f"read by {about['read_by']} ({escape(about['note'])})"
    )
    consumers = part["consumers"]
    table = _table("frame of", *(f"read by {name}" for name in consumers))
    cells = {(pair["producer"], pair["consumer"]): _counted(pair) for pair in part["pairs"]}
    for producer, made in part["producers"].items():
        if made["available"]:
            empty = {name: "" if found["available"] else _absent(found) for name, found in consumers.items()}
            table.add_row(producer, *(cells.get((producer, name), empty[name]) for name in consumers))
        else:
            table.add_row(producer, _absent(made))
    console.print(table)
    for producer, made in part["producers"].items():
        if made["available"]:
            console.print(f"[dim]{producer}: {escape(made['note'])}[/dim]")
    for line in _value_lines(part):
        console.print(line)


def _counted(pair: Mapping[str, Any]) -> str:
    if not pair["columns"]:
        return _styled(escape(shortened(pair["whole"], 60)), "crashed")
    worst = next((kind for kind in ("crashed", "hung", "differing", "refused") if pair["count"][kind]), "right")
    return _styled(count_text(pair["count"]), worst)


def _value_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for producer, made in part["producers"].items():
        for column, reason in made["not_offered"].items():
            yield f"[yellow]{producer} does not offer[/yellow] {escape(column)}: {escape(shortened(reason))}"
        for column, change in made["frame_differs"].items():
            yield f"[yellow]the {producer} frame differs from the source[/yellow] in {escape(column)}: {escape(shortened(change))}"
    for pair in part["pairs"]:
        who = f"{pair['consumer']} from {pair['producer']}"
        reasons: dict[tuple[str, str], list[str]] = {}
        for column, one in pair["columns"].items():
            if one["outcome"] == "differing":
                yield f"{_styled(f'{who} differs', 'differing')} in {escape(column)}: {escape(shortened(one['detail']))}"
            elif one["outcome"] != "right":
                reasons.setdefault((one["outcome"], one["detail"]), []).append(column)
        for (outcome, reason), columns in reasons.items():
            yield f"{_styled(f'{who} {outcome}', outcome)} {escape(', '.join(columns))}: {escape(shortened(reason))}"
        for column, change in pair["written"].items():
            yield f"{_styled(f'{who} wrote into the memory it was lent', 'crashed')}, {escape(column)}: {escape(shortened(change))}"
    for producer, columns in part["nobody"].items():
        if columns:
            yield f"[bold]nobody reads right from {producer}[/bold]: {escape(', '.join(columns))} (a sign that the producer is at fault)"


def _styled(text: str, outcome: str) -> str:
    return f"[{STYLES[outcome]}]{text}[/{STYLES[outcome]}]"


def _lifetime(console: Console, part: Mapping[str, Any]) -> None:
    total = sum(part["buffers"].values())
    console.print(
        f"A watched frame of {part['rows']:,} rows, {len(part['buffers'])} buffers, {size_text(total)}. Alive of it after each step; "
        "behind it the least possible, where that differs."
    )
    consumers = part["consumers"]
    table = _table("step", *consumers)
    steps = next((found["steps"] for found in consumers.values() if found["steps"]), [])
    for place, step in enumerate(steps):
        row = []
        for found in consumers.values():
            if not found["steps"]:
                row.append(
                    _styled(found["outcome"], "crashed")
                    if found["available"] and not place
                    else ""
                    if place
                    else _absent(found)
                )
                continue
            one = found["steps"][place]
            text = size_text(one["alive_bytes"])
            if one["excess"] or one["dangling"]:
                text += f" (least {size_text(one['least_bytes'])})"
            row.append(
                _styled(text, "differing") if one["dangling"] else _styled(text, "refused") if one["excess"] else text
            )
        table.add_row(step["step"], *row)
    console.print(table)
    for name, found in consumers.items():
        if found["available"] and found["outcome"] != "measured":
            console.print(f"{name} {found['outcome']}: {escape(shortened(found['detail']))}")
        for column, reason in found["refused"].items():
            console.print(
                f"{_styled(f'{name} refused', 'refused')} {column}, measured without it: {escape(shortened(reason))}"
            )
        for step in found["steps"]:
            if step["dangling"]:
                text = f"{_styled(f'{name}: freed under a living array', 'wrong')}, {step['step']}: {', '.join(step['dangling'])}"
                console.print(text)
        held = [step for step in found["steps"][:-1] if step["excess"]]
        for step in held:
            console.print(
                f"{_styled(f'{name} holds longer than needed', 'refused')}, {step['step']}: {', '.join(step['excess'])}"
            )
        if found["leaks"]:
            console.print(f"{_styled(f'{name} leaks', 'wrong')}: {', '.join(found['leaks'])}")


def _cost(console: Console, part: Mapping[str, Any]) -> None:
    console.print(
        "Time over that of minimal in the same round: median (quartiles) of paired ratios. 2× takes twice as long."
    )
    for section, groups in part["sections"].items():
        if part["notes"][section]:
            console.print(_styled(f"{section}: {escape(part['notes'][section])}", "crashed"))
        if section == "pointer":
            for group in groups:
                _vertical(console, group)
        elif section == "size":
            _growth(console, groups)
        elif groups:
            _horizontal(console, section, groups)


def _vertical(console: Console, group: Mapping[str, Any]) -> None:
    table = _table(group["title"], "time", "ratio")
    for name, one in group["alternatives"].items():
        timed = one["outcome"] == "timed"
        cells = [time_text(one["seconds"][0]), ratio_text(one["ratio"])] if timed else [_untimed(one), ""]
        table.add_row(escape(name), *cells)
    console.print(table)


def _horizontal(console: Console, section: str, groups: list[dict[str, Any]]) -> None:
    names = [name for name in CONSUMERS if any(name in group["alternatives"] for group in groups)]
    rows = sorted({group["rows"] for group in groups})
    shown = f"{', '.join(f'{one:,}' for one in rows)} rows"
    table = _table(f"{section} ({shown})", *names)
    for group in groups:
        table.add_row(escape(group["title"]), *(_cell(group, name) for name in names))
    console.print(table)
    for group in groups:
        by_reason: dict[str, list[str]] = {}
        for column, reason in group["left_out"].items():
            by_reason.setdefault(reason.partition(":")[0], []).append(column)
        for consumer, columns in by_reason.items():
            console.print(
                f"[dim]{escape(group['title'])}: timed without {escape(', '.join(columns))}, which {consumer} refuses[/dim]"
            )
        for name, one in group["alternatives"].items():
            if one["outcome"] in ("refused", "crashed"):
                console.print(
                    f"[dim]{escape(group['title'])}: {name} {one['outcome']}: {escape(shortened(one['detail']))}[/dim]"
                )


def _cell(group: Mapping[str, Any], name: str) -> str:
    one = group["alternatives"].get(name)
    if one is None:
        return ""
    if one["outcome"] != "timed":
        return _untimed(one)
    if name == group["baseline"]:
        return f"{time_text(one['seconds'][0])} = 1×"
    return ratio_text(one["ratio"])


def _untimed(one: Mapping[str, Any]) -> str:
    return _absent({"reason": one["detail"]}) if one["outcome"] == "absent" else _styled(one["outcome"], one["outcome"])


def _growth(console: Console, groups: list[dict[str, Any]]) -> None:
    if not groups:
        return
    table = _table("growth with size", *(group["title"] for group in groups), f"÷ minimal at {groups[-1]['title']}")
    for name in [name for name in CONSUMERS if any(name in group["alternatives"] for group in groups)]:
        row = []
        for place, group in enumerate(groups):
            one = group["alternatives"].get(name, {"outcome": "absent", "detail": ""})
            if one["outcome"] != "timed":
                row.append(_untimed(one) if one["outcome"] != "absent" or not place else "")
            elif not place:
                row.append(f"{time_text(one['seconds'][0])} = 1×")
            else:
                row.append(f"{digits(one['growth'][0])}×" if "growth" in one else time_text(one["seconds"][0]))
        last = groups[-1]["alternatives"].get(name, {})
        table.add_row(name, *row, ratio_text(last["ratio"]) if last.get("outcome") == "timed" else "")
    console.print(table)


SHOW: dict[str, Callable[[Console, Mapping[str, Any]], None]] = {
    "surface": _surface,
    "battery": _battery,
    "values": _values,
    "lifetime": _lifetime,
    "cost": _cost,
}
