"""What happened in a part, line by line, the same in the terminal and on the page.

Rules of this file: one function per part, which yields lines and knows of no terminal and no page. The same thing told
by several columns or steps is one line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .wording import LUCKY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Line(NamedTuple):
    """One thing that happened.

    Parameters
    ----------
    outcome
        How bad it is, as a word that has a colour.
    what
        Who did what.
    where
        Columns or step.
    why
        The reason, or what came.
    """

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
        what, _, why = LUCKY.partition(": ")
        yield Line("lucky", what, "", why)


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
