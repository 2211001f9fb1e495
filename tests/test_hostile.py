"""Producers that lie, break and change their minds: each is refused with a documented error, or read right.

Some inputs of each protocol are drawn by Hypothesis. BUFLEND_HOSTILE says how many; `python -m tests.hostile.long`
draws for minutes.
"""

import os
from collections.abc import Iterator
from functools import partial

import pytest

from .guard import child, doing, survived
from .hostile.case import Input, table_of
from .hostile.driver import Found, hunt, settled
from .hostile.oracle import judge
from .hostile.protocols import PROTOCOLS

COUNT = int(os.environ.get("BUFLEND_HOSTILE", "40"))

protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


@protocols
def test_any_input_is_refused_or_read_right(protocol: str) -> None:
    found: Found = survived(hunt(protocol, COUNT))
    assert found.inputs
    assert not found.faults


@protocols
def test_what_tells_the_truth_is_read(protocol: str) -> None:
    given = [Input(protocol, base, twice=twice) for base in PROTOCOLS[protocol].bases for twice in (False, True)]
    assert _wrong(given) == {}


# What was once wrong: each of these faults, at every place where it can be.
KINDS = {
    "a dunder that raises": ("is what raises RuntimeError", "is what raises PanicError", "is what raises SystemExit"),
    "an answer without an end": ("is endless",),
    "a class that is said wrongly": (
        "is a liar that it is a Buffer",
        "is a liar that it is a Column",
        "is a liar that it is a tuple",
        "is what raises RuntimeError of its class",
        "is what raises SystemExit of its class",
    ),
    "an integer that says it is in bounds": ("is 2**40, and equal to all", "is an integer that raises PanicError"),
    "a dict that raises": ("is a dict that raises RuntimeError", "is a dict that raises KeyboardInterrupt"),
    "an interrupt that would hold its producer": ("raises KeyboardInterrupt",),
    "text that raises": ("is text that raises PanicError",),
}


@protocols
@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_fault_at_every_place(protocol: str, kind: str) -> None:
    assert _wrong(list(_everywhere(protocol, KINDS[kind]))) == {}


# What stands in a column is read in one way, wherever the column does: these places are not tried again.
AGAIN = ("get_chunks()", "['categories'].", "get_column_by_name('", "['validity'][0]", "['offsets'][0]", "<children>")


def _everywhere(protocol: str, names: tuple[str, ...]) -> Iterator[Input]:
    """Yield inputs with these faults at each place, once though several producers have it (in chunks, once more)."""
    seen: dict[bool, set[str]] = {True: set(), False: set()}
    for base in PROTOCOLS[protocol].bases:
        table, before = table_of(protocol, base), seen[base.startswith("chunks")]
        for path in [path for path in table if path not in before and not any(part in path for part in AGAIN)]:
            yield from (Input(protocol, base, ((path, name),)) for name in names if name in table[path])
        before |= table.keys()


def _wrong(given: list[Input]) -> dict[str, list[str]]:
    """Return what is wrong with inputs that a child tries, by input."""
    return dict(survived(child(partial(_judged, given))))


def _judged(given: list[Input]) -> list[tuple[str, list[str]]]:
    found = []
    for number, one in enumerate(given):
        settled(number)
        doing(repr(one))
        if wrong := judge(one):
            found.append((repr(one), wrong))
    return found
