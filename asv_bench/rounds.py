"""Measurements in turns: what shows the ratio of two things on a machine that does other work too.

Lives here: the turns, and statements that are timed in them. Must not know: what is measured, and what is made of it.

In a round every side is measured once, one directly behind the other, so that a slow minute of the machine slows both;
who comes first changes with the round. What counts is the median of the ratios within the rounds. Before the first
round each side is measured once for nothing.

Time is the processor's for this process, since on a busy machine it waits longer for one than it works: by the clock on
the wall the side that takes longer waits oftener, and looks worse than it is.
"""

import sys
import time
from collections.abc import Callable
from timeit import Timer
from typing import Any

# On Windows the processor's time goes in steps of 16 ms.
CLOCK = time.perf_counter if sys.platform == "win32" else time.process_time


def in_turns(rounds: int, *sides: Callable[[], float]) -> list[tuple[float, ...]]:
    """Return one measurement of each side per round; who comes first changes with the round."""
    for side in sides:
        side()  # files are read, caches filled
    measured = []
    for number in range(rounds):
        order = range(len(sides)) if number % 2 else reversed(range(len(sides)))
        values = {place: sides[place]() for place in order}
        measured.append(tuple(values[place] for place in range(len(sides))))
    return measured


def statements(rounds: int, number: int, *texts: tuple[str, dict[str, Any]]) -> list[tuple[float, ...]]:
    """Return what statements take in turns, in seconds each, without the collector of garbage.

    Parameters
    ----------
    rounds : int
        How many measurements of each.
    number : int
        How often a statement is executed for one measurement.
    *texts : tuple of (str, dict of str to object)
        The statements, and what they speak of.
    """
    timers = [Timer(text, timer=CLOCK, globals=names) for text, names in texts]
    return in_turns(rounds, *(lambda timer=timer: timer.timeit(number) / number for timer in timers))
