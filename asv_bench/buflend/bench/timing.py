"""How long alternatives take next to one another.

Rules of this file: it knows nothing of buffers. Alternatives are called in turns within one run, so that a slow moment
of the machine falls on all of them, and in orders in which each follows each other one equally often, since whoever
comes behind a reader of much memory finds the caches cold. Each round gives one time
per alternative, and with it one ratio against any other *of the same round*; what is reported is the median of these
paired ratios with its quartiles. Times are seconds per call. A time never leaves this file without its ratio.
"""

from __future__ import annotations

import gc
import math
import statistics
import time
from itertools import repeat
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

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
    """What one alternative took.

    Parameters
    ----------
    seconds : Spread
        Time per call.
    ratio : Spread
        Time over the baseline's time, paired by round. The baseline's own is 1.
    calls : int
        Calls per sample.
    rounds : int
        Samples taken.
    """

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
    """The samples of one run.

    Parameters
    ----------
    samples : mapping of name to list of float
        Seconds per call, one per round.
    calls : mapping of name to int
        Calls per sample.
    """

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
    """Time alternatives in turns.

    Parameters
    ----------
    alternatives : mapping of name to function
        Functions without arguments. Each is called before it is timed, to warm it and to see how often a sample has to
        call it.
    seconds : float
        Time to spend, about. Slow alternatives get fewer rounds, never under three.
    rounds : int
        Most samples per alternative.
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
    """Time alternatives in turns and compare each with one of them; see `run`.

    Raises
    ------
    ValueError
        When `baseline` is none of the names.
    """
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
