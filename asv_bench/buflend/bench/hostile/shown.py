"""What is shown of the part `hostile`: outcomes by consumer, and by protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from .. import wording
from ..terminal import notes, styled, table
from .runner import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

NAMED = 8
"""Inputs named for each consumer in a terminal, of those that end its process."""

JUDGED = (
    "Right: refused where it must be or may be, or the values that may be read. Refused: what is sound. Wrong: other "
    "values, a lie that was believed, or memory that was not returned once. Memory ends at an unreadable page."
)


def show(console: Console, part: Mapping[str, Any]) -> None:
    """Print outcomes in a terminal."""
    console.print(JUDGED)
    present = wording.here(part["consumers"])
    made = table("consumer", *OUTCOMES, "of", "version")
    for name in present:
        found = part["consumers"][name]
        score = found["score"]
        counts = [styled(str(score[kind]), kind) if score[kind] else "0" for kind in OUTCOMES]
        made.add_row(name, *counts, str(score["total"]), found["version"])
    console.print(made)
    notes(console, wording.not_here(part["consumers"]))
    inputs = by_protocol(part)
    heads = [f"{protocol.replace(' ', chr(10))}\n{len(found)}" for protocol, found in inputs.items()]
    made = table("", *heads, title="By protocol: r refused, w wrong, c crashed, h hung; empty: not spoken")
    for name in present:
        made.add_row(name, *(_bad(outcomes(part, found, name)) for found in inputs.values()))
    console.print(made)
    for name in present:
        for outcome in ("crashed", "hung"):
            if ended := [key for key, one in part["consumers"][name]["results"].items() if one["outcome"] == outcome]:
                more = f"; {len(ended) - NAMED} more" if len(ended) > NAMED else ""
                console.print(f"{styled(f'{name} {outcome}', outcome)} on {escape('; '.join(ended[:NAMED]))}{more}")
    notes(console, "Each input, with what was expected and what came: --html FILE or --json FILE.")


def _bad(count: Mapping[str, int]) -> str:
    """Give the counts of what is not right, a line for each; empty where nothing was read."""
    if not sum(count.values()):
        return ""
    bad = [styled(f"{count[kind]}{kind[0]}", kind) for kind in OUTCOMES if kind != "right" and count[kind]]
    return "\n".join(bad) or styled("right", "right")


def by_protocol(part: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the inputs by protocol, in order."""
    return {
        protocol: [one for one in part["inputs"] if one["protocol"] == protocol]
        for protocol in part["protocols"]
        if any(one["protocol"] == protocol for one in part["inputs"])
    }


def outcomes(part: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], consumer: str) -> dict[str, int]:
    """Count a consumer's outcomes over some inputs."""
    results = part["consumers"][consumer]["results"]
    found = [results[one["name"]]["outcome"] for one in inputs if one["name"] in results]
    return {outcome: found.count(outcome) for outcome in OUTCOMES}
