"""How long alternatives take next to one another.

They are called in turns within one run, so that a slow moment of the machine falls on all of them, and in orders in
which each follows each other one equally often, since behind a reader of much memory the caches are cold. Each round
gives a time in seconds per alternative, and a ratio to any other *of the same round*; reported are medians with
quartiles. Every alternative is called once before: what refuses is said and left out; what ends the process is said,
and the rest is timed again without it.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from . import processes
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Tell = Callable[[dict[str, Any]], None]

Name = TypeVar("Name")

SLOT = 2e-3
"""Shortest time in seconds that one sample should take, so that the clock's resolution does not show."""

MOST_CALLS = 100_000
FEWEST_ROUNDS = 3


class Spread(NamedTuple):
    """Median and quartiles of a set of numbers."""

    median: float
    low: float
    high: float


class Timing(NamedTuple):
    """What one alternative took: time per call, and over the baseline's, paired by round; calls per sample, samples."""

    seconds: Spread
    ratio: Spread
    calls: int
    rounds: int

    def as_json(self) -> dict[str, Any]:
        """Return it as a plain dictionary, each spread as `[median, low, high]`."""
        return {
            "seconds": list(self.seconds),
            "ratio": list(self.ratio),
            "calls": self.calls,
            "rounds": self.rounds,
        }


class Run(NamedTuple, Generic[Name]):
    """The samples of one run, seconds per call, one per round; and how many calls made a sample."""

    samples: Mapping[Name, Sequence[float]]
    calls: Mapping[Name, int]

    def timing(self, name: Name, baseline: Name) -> Timing:
        """Compare one alternative with another of this run."""
        one, base = self.samples[name], self.samples[baseline]
        ratios = [a / b for a, b in zip(one, base, strict=True)]
        return Timing(spread(one), spread(ratios), self.calls[name], len(one))


def spread(numbers: Sequence[float]) -> Spread:
    """Return the median and the quartiles (inclusive method) of at least one number.

    Examples
    --------
    >>> spread([1.0, 2.0, 3.0, 4.0, 5.0])
    Spread(median=3.0, low=2.0, high=4.0)
    """
    if not numbers:
        raise ValueError("numbers: got none, expected at least one")
    if len(numbers) == 1:
        return Spread(numbers[0], numbers[0], numbers[0])
    low, median, high = statistics.quantiles(numbers, n=4, method="inclusive")
    return Spread(median, low, high)


def run(alternatives: Mapping[Name, Callable[[], object]], *, seconds: float = 1.0, rounds: int = 25) -> Run[Name]:
    """Time alternatives in turns, for about so many seconds.

    Each is called before it is timed, to warm it and to see how often a sample has to call it. Slow ones get fewer
    rounds than `rounds`, never under three.
    """
    names = list(alternatives)
    calls = {name: _calibrate(alternatives[name]) for name in names}
    samples: dict[Name, list[float]] = {name: [] for name in names}
    orders = balanced(names)
    collecting = gc.isenabled()
    end = time.perf_counter() + seconds
    done = 0
    try:
        while done < rounds and (done < FEWEST_ROUNDS or time.perf_counter() < end):
            gc.collect()
            gc.disable()
            for name in orders[done % len(orders)]:
                samples[name].append(_sample(alternatives[name], calls[name]))
            if collecting:
                gc.enable()
            done += 1
    finally:
        if collecting:
            gc.enable()
    return Run(samples, calls)


def balanced(names: Sequence[Name]) -> list[list[Name]]:
    """Return orders in which each name stands at each place, and directly behind each other name, equally often.

    Notes
    -----
    The design is E. J. Williams's of 1949: one order that goes to and fro (0, 1, n-1, 2, n-2, ...), all of its
    rotations, and for odd n their reverses too.

    Examples
    --------
    >>> ["".join(order) for order in balanced("abcd")]
    ['abdc', 'bcad', 'cdba', 'dacb']
    """
    count = len(names)
    places = [(step + 1) // 2 if step % 2 else -(step // 2) for step in range(count)]
    orders = [[names[(place + turn) % count] for place in places] for turn in range(count)]
    return orders + [order[::-1] for order in orders] if count % 2 else orders


def compare(
    alternatives: Mapping[str, Callable[[], object]], *, baseline: str, seconds: float = 1.0, rounds: int = 25
) -> dict[str, Timing]:
    """Time alternatives in turns and compare each with one of them, which must be there; see `run`."""
    if baseline not in alternatives:
        raise ValueError(f"baseline: got {baseline!r}, expected one of {', '.join(alternatives)}")
    done = run(alternatives, seconds=seconds, rounds=rounds)
    return {name: done.timing(name, baseline) for name in alternatives}


def _sample(function: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in repeat(None, calls):
        function()
    return (time.perf_counter() - start) / calls


def _calibrate(function: Callable[[], object]) -> int:
    """Return how many calls make one sample of about SLOT seconds."""
    if _sample(function, 1) > 10 * SLOT:
        return 1
    calls = 1
    while True:
        taken = _sample(function, calls) * calls
        if taken >= SLOT or calls >= MOST_CALLS:
            return calls
        calls = min(MOST_CALLS, max(calls * 2, math.ceil(calls * SLOT / max(taken, 1e-7))))


class Group(NamedTuple):
    """Alternatives that do the same work, on so many rows.

    The title is unique within its section. `left_out` are columns that are not read, and who refuses them why. The
    baseline is what all others are compared with: where it is empty or not here, buflend's, else the first that works.
    """

    title: str
    alternatives: dict[str, Callable[[], object]]
    rows: int
    note: str = ""
    left_out: Mapping[str, str] = MappingProxyType({})
    baseline: str = ""


def in_process(job: str, payload: dict[str, Any], told: Callable[[str], None]) -> tuple[list[dict[str, Any]], str]:
    """Time groups in a process of its own, again without whatever ended that process.

    The job calls `time_all` with the payload. Return the groups, JSON-able, and why they are not all, if so.
    """
    groups: list[dict[str, Any]] = []
    skip: dict[str, dict[str, str]] = {}
    while True:
        now = {"title": "", "name": ""}
        order = {**payload, "done": [group["title"] for group in groups], "skip": skip}
        end: dict[str, Any] = {}
        for message in processes.run(job, order):
            if "group" in message:
                groups.append(message["group"])
            elif "try" in message:
                if message["try"]["title"] != now["title"]:
                    told(message["try"]["title"])
                now = message["try"]
            else:
                end = message
        if end["end"] == "done":
            return groups, ""
        if end["end"] == "failed" or not now["title"] or now["name"] in skip.get(now["title"], {}):
            return groups, f"{end['end']}: {end['detail']}"
        skip.setdefault(now["title"], {})[now["name"]] = f"{end['end']}: {end['detail']}"


def in_sections(
    part: str, sections: Iterable[str], payload: dict[str, Any], progress: Callable[[str, float], None]
) -> dict[str, Any]:
    """Time the sections of a part, whose module has a `_job`; return `sections` with their groups, and `notes`."""
    names = list(sections)
    groups, notes = {}, {}
    for done, section in enumerate(names):

        def told(text: str, share: float = done / len(names)) -> None:
            progress(f"{part}: {text}", share)

        told(section)
        order = {"section": section, **payload}
        groups[section], notes[section] = in_process(f"{__package__}.{part}:_job", order, told)
    return {"sections": groups, "notes": notes}


def time_all(
    groups: Iterable[Group],
    payload: dict[str, Any],
    tell: Tell,
    baseline: str = "",
    makes: Callable[[Any], str] = lambda _result: "",
) -> None:
    """Try and time groups, and tell of each; those that `payload` names as done are left out.

    Groups are made one after another, so that what one holds is gone before the next. `baseline` is how the name of the
    one begins that others are compared with, where the group names none; `makes` says what a result is, in a word.
    """
    for group in groups:
        if group.title in payload["done"]:
            continue
        usable, entries = tried(group, payload["skip"].get(group.title, {}), tell)
        if usable:
            tell({"try": {"title": group.title, "name": "timing"}})
            base = _base(group, usable, baseline)
            for name, found in compare(usable, baseline=base, seconds=payload["seconds"]).items():
                entries[name] = {"outcome": "timed", "detail": "", "makes": makes(usable[name]()), **found.as_json()}
            tell({"group": as_json(group, base, entries)})
        else:
            tell({"group": as_json(group, "", entries)})


def _base(group: Group, usable: Mapping[str, object], baseline: str) -> str:
    if group.baseline in usable:
        return group.baseline
    return next((name for name in usable if baseline and name.startswith(baseline)), next(iter(usable)))


def as_json(group: Group, baseline: str, entries: dict[str, Any]) -> dict[str, Any]:
    """Return a group with what became of its alternatives."""
    return {
        "title": group.title,
        "rows": group.rows,
        "note": group.note,
        "left_out": dict(group.left_out),
        "baseline": baseline,
        "alternatives": {name: entries[name] for name in group.alternatives if name in entries},
    }


def tried(
    group: Group, skip: dict[str, str], tell: Tell
) -> tuple[dict[str, Callable[[], object]], dict[str, dict[str, Any]]]:
    """Call each alternative once; return those that work, and an entry for each that does not."""
    usable, entries = {}, {}
    for name, function in group.alternatives.items():
        reason = skip.get(name) or skip.get("timing")
        if reason is not None:
            entries[name] = {"outcome": "crashed", "detail": reason}
            continue
        tell({"try": {"title": group.title, "name": name}})
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            entries[name] = {"outcome": "refused", "detail": sentence(error)}
        else:
            usable[name] = function
    return usable, entries
