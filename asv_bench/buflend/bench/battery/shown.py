"""What is shown of the battery: scores by consumer and by subject."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.markup import escape

from .. import wording
from ..terminal import notes, styled, table
from .runner import OUTCOMES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

WORST = 3
"""Subjects of the battery named for each consumer."""


def show(console: Console, part: Mapping[str, Any]) -> None:
    """Print the scores in a terminal."""
    made = table("consumer", *OUTCOMES, "of", "version")
    present = wording.here(part["consumers"])
    for name in present:
        found = part["consumers"][name]
        score = found["score"]
        counts = [styled(str(score[kind]), kind) if score[kind] else "0" for kind in OUTCOMES]
        made.add_row(name, *counts, str(score["total"]), found.get("version") or "")
    console.print(made)
    notes(console, wording.not_here(part["consumers"]))
    subjects = by_subject(part)
    through = [name for name in present if " from " in name]
    for names, title in (
        ([name for name in present if name not in through], "By subject: w wrong, r refused, c crashed, h hung"),
        (through, "By subject, read from the table that maximal made of each case"),
    ):
        made = table("subject", "cases", *names, title=title)
        for subject, cases in subjects.items():
            made.add_row(subject, str(len(cases)), *(_bad(outcomes(part, cases, name)) for name in names))
        if names:
            console.print(made)
    for name in present:
        if most := worst(part, name)[:WORST]:
            text = ", ".join(f"{subject} ({bad} of {len(subjects[subject])})" for subject, bad in most)
            console.print(f"{styled(f'{name} fails most', 'wrong')} in {escape(text)}")
    notes(console, "Each case by its name, with what was expected and what came: --html FILE or --json FILE.")


def _bad(count: Mapping[str, int]) -> str:
    """Give the counts of what is not right, each with the letter of its outcome."""
    bad = [styled(f"{count[kind]}{kind[0]}", kind) for kind in OUTCOMES if kind != "right" and count[kind]]
    return " ".join(bad) or "[green]all right[/green]"


def by_subject(part: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the cases of a battery by their subject, in order."""
    subjects: dict[str, list[dict[str, Any]]] = {}
    for case in part["cases"]:
        subjects.setdefault(case["subject"], []).append(case)
    return subjects


def outcomes(part: Mapping[str, Any], cases: Sequence[Mapping[str, Any]], consumer: str) -> dict[str, int]:
    """Count a consumer's outcomes over some cases of a battery."""
    results = part["consumers"][consumer]["results"]
    found = [results[case["name"]]["outcome"] for case in cases if case["name"] in results]
    return {outcome: found.count(outcome) for outcome in OUTCOMES}


def worst(part: Mapping[str, Any], consumer: str) -> list[tuple[str, int]]:
    """Return the subjects of a battery where a consumer is wrong, crashed or hung, with how often, worst first."""
    counted = {subject: outcomes(part, cases, consumer) for subject, cases in by_subject(part).items()}
    bad = {subject: count["wrong"] + count["crashed"] + count["hung"] for subject, count in counted.items()}
    return sorted(((subject, count) for subject, count in bad.items() if count), key=lambda one: -one[1])
