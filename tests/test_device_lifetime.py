"""What `buflend compare --device cuda` judges: who holds memory of a device too long, too short or for ever.

The device is none: a source of memory that counts what it has lent, and of which nobody reads a byte.
"""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend.bench import taking
from buflend.bench.cuda import cost, device, lifetime, memory, speaking, takers, wording

pytestmark = pytest.mark.peers


class Block:
    """Memory of a library that counts what it has lent; a real address, of which nobody reads."""

    live = 0

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self.array = array
        Block.live += array.nbytes

    def __del__(self) -> None:
        Block.live -= self.array.nbytes


def made(array: np.ndarray[Any, Any]) -> tuple[Block, int]:
    return Block(array), array.ctypes.data


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be a source of memory that needs no device."""
    maker = memory.Maker(made, lambda: "", lambda: Block.live, "itself")
    monkeypatch.setattr(memory, "MAKERS", memory.MAKERS | {"tests": maker})
    gc.collect()
    Block.live = 0


def taken(buffer: Any, *held: Any) -> taking.Taken:
    """Return a view that holds something, or nothing."""
    return taking.Taken(buffer.ptr, lambda: list(held))


def judged(take: Callable[[Any], taking.Taken]) -> tuple[list[tuple[bool, bool]], bool, int]:
    """Return excess and dangling at each step, whether the owner went at once, and what leaked."""
    told = lifetime._round(take, "tests", itself=False)
    return [(one["excess"], one["dangling"]) for one in told["steps"]], told["at_once"], told["leaked"]


FINE = (False, False)


@pytest.mark.usefixtures("counted")
def test_a_view_that_holds_the_owner_is_right() -> None:
    assert judged(lambda buffer: taken(buffer, buffer.owner)) == ([FINE, FINE, FINE], True, 0)


@pytest.mark.usefixtures("counted")
def test_a_view_that_holds_nothing_dangles() -> None:
    assert judged(taken) == ([FINE, (False, True), FINE], True, 0)


@pytest.mark.usefixtures("counted")
def test_what_is_kept_for_ever_leaks() -> None:
    kept: list[Any] = []

    def keep(buffer: Any) -> taking.Taken:
        kept.append(buffer.owner)
        return taken(buffer, buffer.owner)

    assert judged(keep) == ([FINE, FINE, (True, False)], False, lifetime.SIZE)


@pytest.mark.usefixtures("counted")
def test_what_only_the_collector_returns_is_late() -> None:
    def cycle(buffer: Any) -> taking.Taken:
        ring: list[Any] = [buffer.owner]
        ring.append(ring)
        return taken(buffer, ring)

    gc.disable()
    try:
        assert judged(cycle) == ([FINE, FINE, FINE], False, 0)
    finally:
        gc.enable()


@pytest.mark.usefixtures("counted")
def test_more_memory_than_was_lent_is_excess() -> None:
    def twice(buffer: Any) -> taking.Taken:
        return taken(buffer, buffer.owner, Block(np.zeros(lifetime.SIZE, np.uint8)))

    assert judged(twice) == ([(True, False), (True, False), FINE], True, 0)


@pytest.mark.usefixtures("counted")
def test_a_copy_is_not_measured() -> None:
    with pytest.raises(ValueError, match="a copy holds nothing"):
        lifetime._round(lambda buffer: taking.Taken(buffer.ptr + 1, list), "tests", itself=False)


def test_every_fault_of_a_holder_is_a_line() -> None:
    def step(place: int, *, excess: bool = False, dangling: bool = False) -> dict[str, Any]:
        least = lifetime.LEAST[place]
        return {"step": lifetime.STEPS[place], "held": 5_000, "least": least, "excess": excess, "dangling": dangling}

    def holder(*steps: dict[str, Any], at_once: bool = True, leaked: int = 0) -> dict[str, Any]:
        return {"outcome": "measured", "detail": "", "steps": list(steps), "at_once": at_once, "leaked": leaked}

    part = {
        "holders": {
            "fine": holder(step(0), step(1), step(2)),
            "loose": holder(step(0), step(1, dangling=True), step(2)),
            "greedy": holder(step(0, excess=True), step(1), step(2)),
            "keeper": holder(step(0), step(1), step(2, excess=True), at_once=False, leaked=5_000),
            "late": holder(step(0), step(1), step(2), at_once=False),
            "gone": {"outcome": "n/a", "detail": "needs it", "steps": [], "at_once": None, "leaked": 0},
            "dead": {"outcome": "crashed", "detail": "signal", "steps": [], "at_once": None, "leaked": 0},
        }
    }
    lines = [f"{line.outcome}: {line.what} {line.where}: {line.why}" for line in wording.lifetime_lines(part)]
    assert lines == [
        "wrong: loose: freed under a living view, the view alone: 5 kB",
        "refused: greedy holds more than needed, all held: 5 kB",
        "wrong: keeper leaks in the end: 5 kB",
        "refused: late returns late : the owner goes with the collector, not with the view",
        "refused: dead not measured : signal",
    ]


def test_a_way_that_cannot_be_made_is_refused_and_the_others_are_timed() -> None:
    def fails(_lent: Any) -> Any:
        raise RuntimeError("out of memory")

    call = cost._made(cost.Way("it", (), fails), object())  # type: ignore[arg-type]
    with pytest.raises(RuntimeError, match="out of memory"):
        call()


def test_calls_and_protocols_are_named_once() -> None:
    for listed in (takers.TAKERS, speaking.TAKERS):
        names = [one.name for one in listed]
        assert len(set(names)) == len(names)
        assert len({one.place for one in listed}) == len(names)
    assert list(speaking.GROUPS) == [one.name for one in speaking.TAKERS]
    known = device.LIBRARIES.keys() | {""}
    assert {one.package for one in takers.TAKERS} <= known
    assert {name for ways in cost.PAIRS.values() for way in ways for name in way.needs} <= known
    assert set(takers.NATIVES.values()) == set(device.LIBRARIES)
    assert set(memory.SOURCES) < set(memory.MAKERS)
    assert all(memory.MAKERS[name].held for name in (*memory.SOURCES, memory.PLAIN))
