"""Measurements in turns, whose ratio a slow minute of the machine leaves as it is: for `bars` and `turns`.

Lives here: the clock and the turns. Must not know: what is measured.
"""

import time
from collections.abc import Callable, Sequence
from timeit import Timer

# The thread's own time, where its clock is fine enough: without what other processes took in between.
CLOCK = time.thread_time if time.get_clock_info("thread_time").resolution < 1e-6 else time.perf_counter


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


def timed(rounds: int, number: int, timers: Sequence[Timer]) -> list[tuple[float, ...]]:
    """Return what statements take in turns, in seconds per call, of so many calls."""
    return in_turns(rounds, *(lambda timer=timer: timer.timeit(number) / number for timer in timers))
