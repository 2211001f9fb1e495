"""Rows: what a step tells of each thing that it has looked at, and how reports of other forms become rows.

A row is JSON-able: `check`, `verdict` (PASS, FAIL, SKIP), `reason`, `seconds` (None where unknown), `figures`. Must not
know: steps, limits. Needs the standard library alone.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASS, FAIL, SKIP = "PASS", "FAIL", "SKIP"

Row = dict[str, Any]


class Report:
    """A file of rows, a line each, which are shown as they come. Where the writer is ended, those before are there."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.failed = 0
        if path is not None:
            path.write_text("", "utf-8")

    def add(self, row: Row) -> None:
        """Write a row; `failed` becomes 1 with the first that failed."""
        self.failed |= row["verdict"] == FAIL
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        sys.stdout.write(shown(row) + "\n")
        sys.stdout.flush()


def shown(row: Row) -> str:
    """Return a row as a line of text.

    Examples
    --------
    >>> shown({"check": "it_holds", "verdict": "PASS", "reason": "", "seconds": 0.25, "figures": {"bytes": 8}})
    'PASS  it_holds (0.25 s): bytes 8'
    """
    took = "" if row["seconds"] is None else f" ({row['seconds']:.2f} s)"
    figures = ", ".join(f"{name} {value}" for name, value in row["figures"].items())
    told = "; ".join(filter(None, (row["reason"], figures)))
    return f"{row['verdict']:<4}  {row['check']}{took}{f': {told}' if told else ''}"


def of_lines(path: Path) -> Iterator[Row]:
    """Yield the rows of a `Report`; a line that was cut off is none."""
    for line in path.read_text("utf-8").splitlines():
        try:
            yield json.loads(line)
        except ValueError:
            continue


def of_contract(path: Path) -> Iterator[Row]:
    """Yield a row for each fact of the contract's report."""
    for fact in json.loads(path.read_text("utf-8"))["facts"]:
        reason = "" if fact["holds"] else f"got {fact['got']}, expected {fact['expected']}"
        yield row(fact["what"], PASS if fact["holds"] else FAIL, reason)


_OUTCOMES = {"failure": FAIL, "error": FAIL, "skipped": SKIP}


def of_junit(path: Path) -> Iterator[Row]:
    """Yield a row for each test of a report of pytest."""
    for case in ET.parse(path).iter("testcase"):  # noqa: S314 - written by our own child
        outcome = next((part for part in case if part.tag in _OUTCOMES), None)
        verdict = PASS if outcome is None else _OUTCOMES[outcome.tag]
        reason = "" if outcome is None else " ".join((outcome.get("message") or "").split())
        yield row(case.get("name", ""), verdict, reason, float(case.get("time", 0)))


def of_pip(path: Path) -> Iterator[Row]:
    """Yield a row for each package that pip has installed, of its report."""
    for one in json.loads(path.read_text("utf-8"))["install"]:
        yield row(f"{one['metadata']['name']} {one['metadata']['version']}", PASS)


def row(check: str, verdict: str, reason: str = "", seconds: float | None = None, **figures: Any) -> Row:
    """Return a row."""
    return {"check": check, "verdict": verdict, "reason": reason, "seconds": seconds, "figures": figures}
