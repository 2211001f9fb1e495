"""The parts of a report as tables and lines for a terminal.

Rules of this file: one function per part, which prints to the console it is given. A time is shown beside its ratio.
What is absent, refused or not built is written out, never left blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from . import wording
from .wording import CONSUMERS, OUTCOMES, TIMES, count_text, digits, ratio_text, shortened, size_text, time_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import Console

STYLES = {
    "right": "green",
    "differing": "bold red",
    "wrong": "bold red",
    "refused": "yellow",
    "crashed": "bold magenta",
    "hung": "magenta",
}


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
    for name in wording.packages(part):
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
        table.add_row(subject, str(len(cases)), *(_bad(wording.outcomes(part, cases, name)) for name in present))
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
    chunks = f", {about['chunks']} chunks" if (about["chunks"] or 0) > 1 else ""
    console.print(
        f"{escape(about['name'])}: {about['rows']:,} rows, {len(about['columns'])} columns, {missing:,} missing values"
        f"{chunks}; read by {about['read_by']} ({escape(about['note'])})"
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
        return _styled(escape(shortened(pair["whole"], 60)), "refused")
    worst = next((kind for kind in ("crashed", "hung", "differing", "refused") if pair["count"][kind]), "right")
    return _styled(count_text(pair["count"]), worst)


def _value_lines(part: Mapping[str, Any]) -> Iterator[str]:
    for producer, made in part["producers"].items():
        for column, reason in made["not_offered"].items():
            yield _line(f"{producer} does not offer", "refused", column, reason)
        for column, change in made["frame_differs"].items():
            yield _line(f"the {producer} frame is not the source", "refused", column, change)
    for pair in part["pairs"]:
        yield from _pair_lines(pair)
    for producer, columns in part["nobody"].items():
        if columns:
            yield _line(
                f"nobody reads right from {producer}", "wrong", ", ".join(columns), "the producer may be at fault"
            )


def _pair_lines(pair: Mapping[str, Any]) -> Iterator[str]:
    who = f"{pair['consumer']} from {pair['producer']}"
    reasons: dict[tuple[str, str], list[str]] = {}
    for column, one in pair["columns"].items():
        if one["outcome"] == "differing":
            yield _line(f"{who} differs", "differing", column, one["detail"])
        elif one["outcome"] != "right":
            reasons.setdefault((one["outcome"], one["detail"]), []).append(column)
    for (outcome, reason), columns in reasons.items():
        yield _line(f"{who} {outcome}", outcome, ", ".join(columns), reason)
    for column, change in pair["written"].items():
        yield _line(f"{who} wrote into what it was lent", "crashed", column, change)


def _line(what: str, outcome: str, where: str, why: str) -> str:
    """Return a line of who did what, where and why; only the first is coloured."""
    return f"{_styled(escape(what), outcome)} {escape(where)}: {escape(shortened(why))}"


def _styled(text: str, outcome: str) -> str:
    return f"[{STYLES[outcome]}]{text}[/{STYLES[outcome]}]"


def _lifetime(console: Console, part: Mapping[str, Any]) -> None:
    total = sum(part["buffers"].values())
    console.print(
        f"A watched frame of {part['rows']:,} rows, {len(part['buffers'])} buffers, {size_text(total)}. Alive after "
        "each step; behind it the least possible, where that differs."
    )
    consumers = part["consumers"]
    table = _table("step", *consumers)
    steps: list[dict[str, Any]] = next((found["steps"] for found in consumers.values() if found["steps"]), [])
    for place, step in enumerate(steps):
        table.add_row(step["step"], *(_alive(found, place) for found in consumers.values()))
    console.print(table)
    for name, found in consumers.items():
        for line in _lifetime_lines(name, found):
            console.print(line)


def _alive(found: Mapping[str, Any], place: int) -> str:
    if not found["steps"]:
        if place:
            return ""
        return _styled(found["outcome"], "crashed") if found["available"] else _absent(found)
    one = found["steps"][place]
    text = size_text(one["alive_bytes"])
    if not one["excess"] and not one["dangling"]:
        return text
    return _styled(f"{text} (least {size_text(one['least_bytes'])})", "wrong" if one["dangling"] else "refused")


def _lifetime_lines(name: str, found: Mapping[str, Any]) -> Iterator[str]:
    if found["available"] and found["outcome"] != "measured":
        yield f"{name} {found['outcome']}: {escape(shortened(found['detail']))}"
    for column, reason in found["refused"].items():
        yield _line(f"{name} refused", "refused", f"{column}, measured without it", reason)
    for step in found["steps"]:
        if step["dangling"]:
            yield _line(f"{name}: freed under a living array,", "wrong", step["step"], ", ".join(step["dangling"]))
    for step in found["steps"][:-1]:
        if step["excess"]:
            yield _line(f"{name} holds longer than needed,", "refused", step["step"], ", ".join(step["excess"]))
    if found["leaks"]:
        yield _line(f"{name} leaks", "wrong", "at the end", ", ".join(found["leaks"]))


def _cost(console: Console, part: Mapping[str, Any]) -> None:
    console.print(
        f"Time over minimal's in the same round: median (quartiles) of paired ratios. 2{TIMES} takes twice as long."
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
    for line in wording.made(groups):
        console.print(f"[dim]{escape(line)}[/dim]")
    for group in groups:
        if not group["baseline"]:
            console.print(f"[yellow]{escape(group['title'])}: not timed, {escape(group['note'])}[/yellow]")
        by_reason: dict[str, list[str]] = {}
        for column, reason in group["left_out"].items():
            by_reason.setdefault(reason.partition(":")[0], []).append(column)
        for why, columns in by_reason.items():
            left_out = f"without {', '.join(columns)} ({why})"
            console.print(f"[dim]{escape(group['title'])}: {escape(left_out)}[/dim]")
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
        return f"{time_text(one['seconds'][0])} = 1{TIMES}"
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
                row.append(f"{time_text(one['seconds'][0])} = 1{TIMES}")
            else:
                row.append(f"{digits(one['growth'][0])}{TIMES}" if "growth" in one else time_text(one["seconds"][0]))
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
