"""What is shown in a terminal of a CUDA device, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import wording
from ..terminal import PAIRED, matrix, notes, styled, table, timings, told
from . import cost, speaking
from . import wording as of_device

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rich.console import Console

TITLES = {cost.SECTION: cost.TITLE}


def _consumers(console: Console, part: Mapping[str, Any]) -> None:
    console.print(wording.taking(part))
    matrix(console, part)
    notes(console, wording.not_here(part["lenders"]))
    told(console, wording.consumers_lines(part))
    notes(console, "Each refusal in its own words: --html FILE or --json FILE.")


def _protocols(console: Console, part: Mapping[str, Any]) -> None:
    console.print(of_device.speaking(part))
    present = wording.here(part["lenders"])
    for group in dict.fromkeys(part["groups"].values()):
        made = table("", *present, title=group)
        for call, row in part["cells"].items():
            if part["groups"][call] == group:
                label = call + wording.lacks(part["takers"][call])
                made.add_row(label, *(_outcome(row[name]["outcome"], group) for name in present))
        console.print(made)
    told(console, wording.consumers_lines(part))


def _outcome(outcome: str, group: str) -> str:
    """Give an outcome; of what the host would read a refusal is right, and anything else is not."""
    if group != speaking.HOST or outcome in {"n/a", "crashed", "hung"}:
        return styled(outcome, outcome)
    return styled(outcome, "right" if outcome == "refused" else "wrong")


def _lifetime(console: Console, part: Mapping[str, Any]) -> None:
    console.print(of_device.returning(part))
    steps: list[dict[str, Any]] = next((found["steps"] for found in part["holders"].values() if found["steps"]), [])
    made = table("call", *(step["step"] for step in steps), "owner back")
    for name, found in part["holders"].items():
        if found["outcome"] == "measured":
            at_once = styled("at once", "right") if found["at_once"] else styled("late", "refused")
            made.add_row(name, *(_held(step) for step in found["steps"]), at_once)
        else:
            made.add_row(name + wording.lacks(found), styled(found["outcome"], found["outcome"]))
    console.print(made)
    told(console, of_device.lifetime_lines(part))


def _held(step: Mapping[str, Any]) -> str:
    """Give the bytes that are in use, coloured where they are not what is needed."""
    outcome = "wrong" if step["dangling"] else "refused" if step["excess"] else "right"
    return styled(wording.size_text(max(step["held"], 0)), outcome)


def _cost(console: Console, part: Mapping[str, Any]) -> None:
    console.print(PAIRED)
    notes(console, wording.RUNS)
    timings(console, part, TITLES)


SHOW: dict[str, Callable[[Console, Mapping[str, Any]], None]] = {
    "consumers": _consumers,
    "protocols": _protocols,
    "lifetime": _lifetime,
    "cost": _cost,
}
