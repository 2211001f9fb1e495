"""What a report holds as people read it, the same in the terminal and on the page.

One function per part yields what happened in it as lines; the same thing told by several columns is one line.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from . import peers
from .compare import CUDA_PARTS, PARTS, READ_TABLE
from .consumers import OURS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

RUNS = (
    "Quartiles are of the rounds of this one run, on this machine; another run can differ by more than they show. "
    "Repeat before you trust a small difference."
)
RECIPE = (
    "2021 recipe: as_ctypes_type + cast + as_array, as the discussion of the protocol had it; the array keeps no owner."
)

TIMES = "\N{MULTIPLICATION SIGN}"
DASH = "\N{EN DASH}"


def time_text(seconds: float) -> str:
    """Give a time with three digits and its unit."""
    for factor, unit in ((1e9, "ns"), (1e6, "µs"), (1e3, "ms")):
        if abs(seconds) * factor < 999.5:
            return f"{digits(seconds * factor)} {unit}"
    return f"{digits(seconds)} s"


def size_text(count: float) -> str:
    """Give a number of bytes with its decimal unit."""
    for factor, unit in ((1, "B"), (1e3, "kB"), (1e6, "MB")):
        if count / factor < 999.5:
            return f"{digits(count / factor)} {unit}"
    return f"{digits(count / 1e9)} GB"


def digits(number: float, count: int = 3) -> str:
    """Give a number with so many digits that count, without an exponent."""
    if number == 0:
        return "0"
    places = max(count - 1 - int(f"{number:.{count - 1}e}".partition("e")[2]), 0)
    text = f"{number:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def times_text(ratio: float) -> str:
    """Give a ratio: three digits, two below 1."""
    return f"{digits(ratio, 3 if ratio >= 1 else 2)}{TIMES}"


def ratio_text(spread: Sequence[float]) -> str:
    """Give a ratio with its quartiles."""
    if spread[0] == spread[1] == spread[2] == 1:
        return f"1{TIMES}"
    return f"{times_text(spread[0])} ({digits(spread[1], 2)}{DASH}{digits(spread[2], 2)})"


def short_ratio(spread: Sequence[float]) -> str:
    """Give a ratio with half the distance between its quartiles, in percent of it."""
    if spread[0] == spread[1] == spread[2] == 1:
        return f"1{TIMES}"
    return f"{times_text(spread[0])} ±{(spread[2] - spread[1]) / 2 / spread[0]:.0%}"


def plural(count: int, noun: str) -> str:
    """Give a number with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def count_text(count: Mapping[str, int]) -> str:
    """Give the counts that are not zero."""
    return ", ".join(f"{number} {name}" for name, number in count.items() if number) or "nothing read"


def shortened(text: str, length: int = 150) -> str:
    """Cut a text to a length, with dots where something is missing."""
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def packages(part: Mapping[str, Any]) -> list[str]:
    """Return the packages of a surface part in the order of display: what comes with Python, ours, theirs."""
    standard, *_ = part["imports"]
    return [standard, *part["sizes"]]


def types(groups: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say in what types the same columns came; the types tell what was copied, text say."""
    found: dict[str, list[str]] = {}
    for group in groups:
        by_type: dict[str, list[str]] = {}
        for name, one in group["alternatives"].items():
            if one.get("makes"):
                by_type.setdefault(one["makes"], []).append(name)
        if by_type:
            text = ", ".join(f"{kind} ({', '.join(names)})" for kind, names in by_type.items())
            found.setdefault(text, []).append(group["title"])
    return [f"{', '.join(titles)} come{'s' if len(titles) == 1 else ''} as {text}" for text, titles in found.items()]


def unbuilt(part: Mapping[str, Any]) -> str:
    """Say what of maximal a surface part found missing; empty where nothing is."""
    found = part["offers"]["maximal"]
    missing = [level for level, names in found.get("names", {}).items() if names is None]
    plurals = {"frame": "tables", "column": "columns", "buffer": "buffers"}
    return f"maximal's {' and '.join(plurals[level] for level in missing)}: not built yet" if missing else ""


def subtitle(name: str, report: Mapping[str, Any]) -> str:
    """Say what a part of a report is about; a person's own file is named."""
    if name == "values" and report["data"] is not None:
        return f"{PurePath(report['data']).name}, every column against its source"
    return (PARTS | CUDA_PARTS if on_cuda(report) else PARTS)[name]


def on_cuda(report: Mapping[str, Any]) -> bool:
    """Tell whether a report is of a CUDA device, be it there or not."""
    return bool(report["device"]["kind"] == "cuda")


def unread(report: Mapping[str, Any]) -> str:
    """Say that a table was named and no part reads it; empty where one does."""
    if report["data"] is None:
        return ""
    if on_cuda(report):
        return f"{report['data']} was not read: with --device cuda no part reads a table"
    if set(READ_TABLE) & set(report["parts"]):
        return ""
    measured = " and ".join(report["parts"])
    return f"{report['data']} was not read: {measured} measures no table, {' and '.join(READ_TABLE)} do"


def here(consumers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return the consumers that can read."""
    return [name for name, found in consumers.items() if found["available"]]


def lacks(call: Mapping[str, Any]) -> str:
    """Say, below the name of a call, which package it needs that is not here; empty where it lacks none."""
    missing = not call.get("available", True) or call.get("outcome") == "n/a"
    return f"\n  needs {call['package']}" if missing else ""


def not_here(consumers: Mapping[str, Mapping[str, Any]]) -> str:
    """Say which consumers are left out of a table, and why; empty where all take part."""
    return "; ".join(f"{name}: {found['reason']}" for name, found in consumers.items() if not found["available"])


def packages_of(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the peers of a report, and after them the packages that only some of its parts look for.

    A package that is there and cannot be imported is absent for all.
    """
    found: dict[str, Mapping[str, Any]] = dict(report["peers"])
    for part in report["parts"].values():
        for name, one in part.get("packages", {}).items():
            if name not in found or not one["available"]:
                found[name] = one
    return found


def absent(report: Mapping[str, Any]) -> dict[str, str]:
    """Return everything that a report names as absent, with the reasons."""
    found = {
        name: "; ".join(filter(None, (peer["reason"], peer.get("get", peers.how_to_get(name)))))
        for name, peer in packages_of(report).items()
        if not peer["available"]
    }
    for part in report["parts"].values():
        for name, consumer in part.get("consumers", {}).items():
            if not consumer["available"]:
                package = name.partition(" ")[0]
                ours = package in OURS
                reason = consumer["reason"] if ours else f"{consumer['reason']}; {peers.how_to_get(package)}"
                found.setdefault(f"buflend.{package}" if ours else package, reason)
    return found


class Line(NamedTuple):
    """One thing that happened: how bad, as a word that has a colour; who did what; columns or step; why."""

    outcome: str
    what: str
    where: str
    why: str


def values_lines(part: Mapping[str, Any]) -> Iterator[Line]:
    """Tell what producers and consumers of the real table did that is not right."""
    for producer, made in part["producers"].items():
        yield from _grouped(f"{producer} does not offer", "refused", made["not_offered"])
        for column, change in made["frame_differs"].items():
            yield Line("refused", f"the {producer} frame is not the source", column, change)
    for pair in part["pairs"]:
        yield from _pair_lines(pair, part["broken"][pair["producer"]])
    for producer, broken in part["broken"].items():
        for column, why in broken.items():
            yield Line("differing", f"{producer} contradicts itself in", column, why)
    for producer, columns in part["nobody"].items():
        if columns:
            yield Line(
                "differing", f"nobody reads right from {producer}", ", ".join(columns), "the producer may be at fault"
            )
    if any(pair["count"]["lucky"] for pair in part["pairs"]):
        yield Line("lucky", "lucky", "", "the values are right, though the producer's column contradicts itself")


def _pair_lines(pair: Mapping[str, Any], broken: Mapping[str, str]) -> Iterator[Line]:
    """Tell what a consumer did; not that it refused what is told of the producer."""
    who = f"{pair['consumer']} from {pair['producer']}"
    for column, one in pair["columns"].items():
        if one["outcome"] == "differing":
            yield Line("differing", f"{who} differs", column, one["detail"])
    for outcome in ("refused", "crashed", "hung"):
        reasons = {column: one["detail"] for column, one in pair["columns"].items() if one["outcome"] == outcome}
        told = {column: reason for column, reason in reasons.items() if broken.get(column) != reason}
        yield from _grouped(f"{who} {outcome}", outcome, told)
    for column, change in pair["written"].items():
        yield Line("crashed", f"{who} wrote into what it was lent", column, change)


def _grouped(what: str, outcome: str, reasons: Mapping[str, str]) -> Iterator[Line]:
    """Yield one line for the columns that share a reason."""
    columns: dict[str, list[str]] = {}
    for column, reason in reasons.items():
        columns.setdefault(reason, []).append(column)
    for reason, names in columns.items():
        yield Line(outcome, what, ", ".join(names), reason)


def lifetime_lines(part: Mapping[str, Any]) -> Iterator[Line]:
    """Tell who held too long, too short, or for ever."""
    for name, found in part["consumers"].items():
        if found["available"] and found["outcome"] != "measured":
            yield Line("crashed", f"{name} {found['outcome']}", "", found["detail"])
        for column, reason in found["refused"].items():
            yield Line("refused", f"{name} refused", f"{column}, measured without it", reason)
        for verb, kind, outcome in (
            (": freed under a living array", "dangling", "wrong"),
            (" holds longer than needed", "excess", "refused"),
        ):
            steps: dict[str, list[str]] = {}
            for step in found["steps"] if kind == "dangling" else found["steps"][:-1]:
                if step[kind]:
                    steps.setdefault(", ".join(step[kind]), []).append(step["step"])
            for names, places in steps.items():
                yield Line(outcome, f"{name}{verb},", "; ".join(places), names)
        if found["leaks"]:
            yield Line("wrong", f"{name} leaks", "in the end", ", ".join(found["leaks"]))


def holding(held: Mapping[str, Any]) -> str:
    """Say what is measured of a table that is handed over by Arrow's capsules."""
    return (
        f"A table of {held['columns']} columns of text, handed over by Arrow's capsules: bytes of it that are not "
        "returned while this is held"
    )


def holding_lines(held: Mapping[str, Any]) -> Iterator[Line]:
    """Tell who could not be measured, and who returned nothing in the end."""
    for name, found in held["consumers"].items():
        if found["outcome"] != "measured":
            yield Line("refused", f"{name} not measured", "", found["detail"])
        elif found["leaked"]:
            yield Line("wrong", f"{name} leaks", "in the end", size_text(found["leaked"]))


def cost_lines(groups: list[dict[str, Any]]) -> Iterator[Line]:
    """Tell which works were not timed, or without which columns, or by whom not."""
    for group in groups:
        if not group["baseline"]:
            yield Line("refused", f"{group['title']} not timed", "", group["note"])
    # Frames of one table leave out the same columns, some of them for the same reason.
    reasons: dict[tuple[str, str], list[str]] = {}
    for group in groups:
        columns: dict[str, list[str]] = {}
        for column, reason in group["left_out"].items():
            columns.setdefault(reason.partition(":")[0], []).append(column)
        for why, names in columns.items():
            reasons.setdefault((why, ", ".join(names)), []).append(group["title"])
    for (why, where), titles in reasons.items():
        yield Line("refused", f"{'; '.join(titles)} without", where, why)
    yield from untimed_lines(groups)


def taking(part: Mapping[str, Any]) -> str:
    """Say how it was found out who can take what."""
    return (
        f"Each call takes {size_text(part['size'])} in a process of its own; the lender is dropped before the result "
        "is read. Zero-copy: the same values at the same address. Copy: the same values elsewhere."
    )


def consumers_lines(part: Mapping[str, Any]) -> Iterator[Line]:
    """Tell which calls did worse than refuse, and which refused the maximal buffer."""
    for outcome in ("wrong", "crashed", "hung"):
        for taker, row in part["cells"].items():
            found = {lender: one["detail"] for lender, one in row.items() if one["outcome"] == outcome}
            yield from _grouped(f"{taker} {outcome}", outcome, found)
    for taker, row in part["cells"].items():
        if row.get("maximal", {}).get("outcome") == "refused":
            yield Line("refused", f"{taker} refused", "maximal", row["maximal"]["detail"])


def refusals_lines(part: Mapping[str, Any]) -> Iterator[Line]:
    """Tell how each call words what it refuses."""
    for taker, row in part["cells"].items():
        found = {lender: one["detail"] for lender, one in row.items() if one["outcome"] == "refused"}
        yield from _grouped(f"{taker} refused", "refused", found)


def untimed_lines(groups: list[dict[str, Any]]) -> Iterator[Line]:
    """Tell who could not be timed, and why not."""
    for group in groups:
        for name, one in group["alternatives"].items():
            if one["outcome"] in ("refused", "crashed"):
                yield Line(one["outcome"], f"{group['title']}: {name} {one['outcome']}", "", one["detail"])
