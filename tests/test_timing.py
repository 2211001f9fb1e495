"""Timing: alternatives are called in turns, ratios are paired by round, and the spread is theirs."""

import gc
import time
from collections import Counter
from itertools import pairwise

import pytest

from buflend.bench import timing


def work(times: int) -> int:
    return sum(sum(range(3000)) for _ in range(times))


def test_three_times_the_work_takes_about_three_times_as_long() -> None:
    found = timing.compare({"once": lambda: work(1), "thrice": lambda: work(3)}, baseline="once", seconds=0.6)
    ratio = found["thrice"].ratio
    assert 2 < ratio.median < 4.5
    assert ratio.low <= ratio.median <= ratio.high
    assert found["once"].ratio == (1, 1, 1)
    assert found["thrice"].seconds.median > found["once"].seconds.median


def test_short_functions_are_called_often_enough_for_the_clock() -> None:
    found = timing.compare({"short": lambda: None, "long": lambda: time.sleep(0.03)}, baseline="short", seconds=0.2)
    assert found["short"].calls > 100
    assert found["long"].calls == 1
    assert found["short"].rounds == found["long"].rounds >= 3


def test_alternatives_are_called_in_turns_and_the_order_turns() -> None:
    log: list[str] = []

    def call(name: str) -> None:
        log.append(name)
        time.sleep(0.025)  # long enough to be called once a sample

    done = timing.run({name: lambda name=name: call(name) for name in "abc"}, seconds=0, rounds=3)  # type: ignore[misc]
    assert done.calls == {"a": 1, "b": 1, "c": 1}
    assert "".join(log) == "abc" + "abc" + "bca" + "cab"  # once before, to see how long each takes


@pytest.mark.parametrize("count", range(2, 9))
def test_each_follows_each_other_equally_often(count: int) -> None:
    orders = timing.balanced(range(count))
    assert all(sorted(order) == list(range(count)) for order in orders)
    for place in range(count):
        assert set(Counter(order[place] for order in orders).values()) == {len(orders) // count}
    behind = Counter(pair for order in orders for pair in pairwise(order))
    assert len(behind) == count * (count - 1)
    assert set(behind.values()) == {len(orders) // count}


def test_one_alternative_has_one_order() -> None:
    assert timing.balanced(["alone"])[0] == ["alone"]


def test_ratios_are_paired_by_round() -> None:
    # In both rounds the second takes twice as long, though the machine slowed down tenfold between them.
    done = timing.Run({"a": [1.0, 10.0], "b": [2.0, 20.0]}, {"a": 1, "b": 1})
    assert done.timing("b", "a").ratio == (2, 2, 2)
    assert done.timing("a", "b").ratio == (0.5, 0.5, 0.5)
    assert done.timing("b", "a").seconds == (11, 6.5, 15.5)


def test_quartiles() -> None:
    assert timing.spread([7.0]) == (7, 7, 7)
    assert timing.spread([4.0, 1.0, 3.0, 2.0, 5.0]) == (3, 2, 4)
    with pytest.raises(ValueError, match="got none"):
        timing.spread([])


def test_a_baseline_that_takes_no_part_is_named() -> None:
    with pytest.raises(ValueError, match="got 'c', expected one of a, b"):
        timing.compare({"a": int, "b": int}, baseline="c")


def test_an_error_leaves_the_collector_as_it_was() -> None:
    calls = iter(range(3))

    def fail() -> None:
        time.sleep(0.03)
        next(calls)

    assert gc.isenabled()
    with pytest.raises(StopIteration):
        timing.run({"fails": fail}, seconds=10)
    assert gc.isenabled()
