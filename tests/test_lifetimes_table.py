"""Lifetimes, as a table that is run: owner by protocol by consumer, and the orders in which what is there is dropped.

While anything lives that must hold the owner, its weak reference is alive and what is left reads its bytes. With the
last of them the owner goes, at once and once; each struct that lent its memory was released once, and nothing is lent.

By default each set of things is what is left in one order. BUFLEND_LIFETIMES=1 walks all orders.
"""

import gc
import importlib.util
import itertools
import os
import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, as_memoryview, as_ndarray, live_exports

from . import lifetimes
from .lifetimes import SIZE, Life
from .raw import raw_array
from .sources import SOURCES
from .ways import EXPORTS, HIGH, LEVELS, LOW, NUMPY, TAKERS, Taker, by_callbacks

ALL_ORDERS = bool(os.environ.get("BUFLEND_LIFETIMES"))


class Row(NamedTuple):
    """An owner, how it is read, and a protocol."""

    source: str
    level: str
    export: str

    @property
    def is_refused(self) -> bool:
        return EXPORTS[self.export].writes and not SOURCES[self.source].writable

    @property
    def libraries(self) -> set[str]:
        return {SOURCES[self.source].library, EXPORTS[self.export].library} - {""}

    def takers(self, *, peers: bool) -> Iterator[tuple[str, Taker]]:
        """Yield those that take what this exports, in this library and NumPy or in others."""
        for name, taker in TAKERS.items():
            fits = EXPORTS[self.export].group in taker.groups.split(",") and self.level in taker.levels.split()
            if fits and taker.numpy <= NUMPY and bool(taker.library or self.libraries) is peers:
                yield name, taker


@cache
def _there(library: str) -> bool:
    return not library or importlib.util.find_spec(library.partition(".")[0]) is not None


TABLE = [
    Row(source, level, name)
    for source, how in SOURCES.items()
    for level in LEVELS
    for name, export in EXPORTS.items()
    if level in how.read.split() and level in export.levels.split()
]


class Things:
    """What is alive of a row and a consumer, by name, and which of it must hold the owner."""

    def __init__(self, row: Row, taker: Taker) -> None:
        source, self.life = SOURCES[row.source].make()
        wrapped = LEVELS[row.level](source)
        handed = EXPORTS[row.export].make(wrapped)
        taken = taker.take(handed)
        self.held: dict[str, Any] = {"source": source, "wrapped": wrapped, "handed over": handed}
        if taken is not None:
            self.held["taken"] = taken
            if taker.result.view is not None:
                self.held["view"] = taker.result.view(taken)
        self.holds = {"source", "wrapped"}
        if not EXPORTS[row.export].copies:
            self.holds = self.held.keys() - ({"handed over"} if taker.uses_up else set())
        if SOURCES[row.source].gives:
            self.holds -= {"source"}

    def fault(self, taker: Taker, *, read: bool) -> str:
        """Return what is wrong now."""
        if wrong := self.life.fault(held=bool(self.holds & self.held.keys())):
            return wrong
        content, how = self.life.content, taker.result
        if read and "taken" in self.held and (got := how.read(self.held["taken"])) != content:
            return f"what was taken reads {got!r}"
        if (
            read
            and "view" in self.held
            and how.read_view
            and (got := how.read_view(self.held["view"])) != content[LOW:HIGH]
        ):
            return f"the view reads {got!r}"
        return ""


@cache
def orders(count: int) -> list[tuple[int, ...]]:
    """Return orders of dropping in which each set of things is what is left once; all orders where they are wanted."""
    every = list(itertools.permutations(range(count)))
    if ALL_ORDERS:
        return every
    lefts = {order: {frozenset(order[i:]) for i in range(count)} for order in every}
    missing, found = set().union(*lefts.values()), []
    while missing:
        found.append(max(every, key=lambda order: len(lefts[order] & missing)))
        missing -= lefts[found[-1]]
    return found


def _walk(row: Row, taker: Taker, order: tuple[int, ...]) -> None:
    things = Things(row, taker)
    names = [[*things.held][i] for i in order]
    for step, each in enumerate(names):
        wrong = things.fault(taker, read=step in {0, len(names) - 1})
        assert not wrong, f"after dropping {names[:step]}: {wrong}"
        del things.held[each]
        if each == "handed over" and EXPORTS[row.export].is_parked:
            lifetimes.flush()  # see LONGER
    wrong = things.fault(taker, read=False)
    assert not wrong, f"after dropping {names}: {wrong}"


def _kinds(life: Life, *, copies: bool) -> set[str]:
    """Return what is said to be lent of an owner's memory; nothing else may be, but copies of it."""
    found = live_exports()
    for export in found:
        assert copies or life.ptr <= export.ptr < life.ptr + SIZE, f"{export} is lent still"
    return {export.kind for export in found}


def _refusal(row: Row, source: object) -> str:
    """Return the text of the error; the error itself is gone, with the frames that it held."""
    try:
        EXPORTS[row.export].make(LEVELS[row.level](source))
    except BufferError as error:
        return str(error)
    return "accepted"


def _run(row: Row, *, peers: bool) -> int:
    """Walk a row, and return how many orders that were."""
    for library in row.libraries:
        pytest.importorskip(library)
    if row.is_refused:
        source, life = SOURCES[row.source].make()
        assert "readonly" in _refusal(row, source).replace("-", "")
        assert not life.fault(held=not SOURCES[row.source].gives)
        del source
        assert not life.fault(held=False)
        return 1
    done = 0
    for name, taker in row.takers(peers=peers):
        if not _there(taker.library):
            continue
        things = Things(row, taker)
        for order in orders(len(things.held)):
            try:
                _walk(row, taker, order)
            except AssertionError as error:
                error.add_note(f"consumer: {name}")
                raise
            done += 1
    if done:
        kind, copies = EXPORTS[row.export].kind, EXPORTS[row.export].copies
        assert {kind} - {""} <= _kinds(things.life, copies=copies)
    return done


@pytest.fixture(autouse=True)
def _mapped() -> Iterator[None]:
    gc.freeze()  # what was made before is not looked through
    with lifetimes.mapped():
        yield
        lifetimes.flush()


@pytest.mark.parametrize("row", [row for row in TABLE if not row.libraries], ids=", ".join)
def test_every_order(row: Row, record_property: Callable[[str, object], None]) -> None:
    done = _run(row, peers=False)
    assert done
    record_property("orders", done)


@pytest.fixture(scope="module")
def _libraries() -> None:
    """Import all that is there, and put it aside, so that looking through all objects is quick."""
    for library in sorted({how.library for how in (*SOURCES.values(), *EXPORTS.values(), *TAKERS.values())} - {""}):
        if _there(library):
            importlib.import_module(library)


@pytest.mark.peers
@pytest.mark.usefixtures("_libraries")
@pytest.mark.parametrize("row", [row for row in TABLE if any(row.takers(peers=True))], ids=", ".join)
def test_every_order_with_peers(row: Row, record_property: Callable[[str, object], None]) -> None:
    record_property("orders", _run(row, peers=True))


class Longer(NamedTuple):
    """What is held for longer than by whom a person sees, by its nature.

    Attributes
    ----------
    lend : callable
        Makes something of a source, which is dropped; returns what else the test must hold.
    let_go : callable
        Gets the owner and what the test holds: then the owner goes.
    why : str
        The reason, and where a user reads it.
    source : str
        Of which source.
    """

    lend: Callable[[Any], Any]
    let_go: Callable[[Any, Any], object]
    why: str
    source: str = "pointer and size"


def _callbacks(export: str, level: str = "buffer") -> Callable[[Any], None]:
    def lend(source: Any) -> None:
        EXPORTS[export].make(LEVELS[level](source))

    return lend


def _keep(made: Callable[[Buffer], Any]) -> Callable[[Any], None]:
    """Let the owner keep something over its own memory."""

    def lend(source: Any) -> None:
        buffer = Buffer(source.ptr, SIZE, owner=source.owner)
        source.owner.kept = made(buffer)

    return lend


def _exported(buffer: Buffer) -> Buffer:
    np.from_dlpack(buffer) if NUMPY >= (2, 1) else buffer.__dlpack__()
    return buffer


def _column(buffer: Buffer) -> Column:
    made = Column("C", SIZE, data=buffer)
    raw_array(by_callbacks(Column.__arrow_c_array__)(made))
    return made


def _others(count: int, export: str) -> Callable[[Any, Any], None]:
    def let_go(*_: object) -> None:
        for _ in range(count):
            EXPORTS[export].make(LEVELS["buffer" if "array" in export else "column"](bytes(SIZE)))

    return let_go


def _collect(times: int) -> Callable[[Any, Any], None]:
    def let_go(*_: object) -> None:
        for _ in range(times):
            gc.collect()

    return let_go


_PARKED = "the last capsules wait: a consumer that refuses one would lose its exception (`arrow_release`)"
_CYCLE = "arrays are invisible to the collector (docs/protocols.md, on exports at exit): keep the buffer elsewhere"
_FORGET = lambda owner, _: delattr(owner, "kept")  # noqa: E731
LONGER = {
    "unused array, flushed": Longer(_callbacks("arrow array by callbacks"), lambda *_: lifetimes.flush(), _PARKED),
    "unused array, collected": Longer(_callbacks("arrow array by callbacks"), _collect(2), _PARKED),
    "unused array, others": Longer(
        _callbacks("arrow array by callbacks"), _others(4, "arrow array by callbacks"), _PARKED
    ),
    "unused device array": Longer(
        _callbacks("arrow device array by callbacks"), _others(8, "arrow device array by callbacks"), _PARKED
    ),
    "unused stream": Longer(
        _callbacks("arrow stream by callbacks", "column"),
        _others(8, "arrow stream by callbacks"),
        _PARKED,
        "buffer protocol",
    ),
    "owner keeps its buffer": Longer(_keep(lambda buffer: buffer), _collect(1), "a cycle, which the collector sees"),
    "owner keeps a memoryview": Longer(_keep(as_memoryview), _collect(1), "a cycle, which the collector sees"),
    "owner keeps its column, exported": Longer(
        _keep(_column), _collect(1), "a cycle, which the collector sees: what is kept for the next export too"
    ),
    "owner keeps its buffer, exported": Longer(_keep(_exported), _FORGET, _CYCLE),
    "owner keeps an array": Longer(_keep(as_ndarray), _FORGET, _CYCLE),
    "what is lent, listed": Longer(
        lambda source: [as_ndarray(source), live_exports()][1:],
        lambda _, kept: kept.clear(),
        "the list holds the owners while it lives (`live_exports`)",
    ),
}
"""Who holds for longer -> how it is shown."""


@pytest.mark.parametrize("name", LONGER)
def test_what_holds_longer(name: str) -> None:
    how = LONGER[name]
    lifetimes.flush()
    gc.disable()  # but where it is called
    try:
        source, life = SOURCES[how.source].make()
        kept = how.lend(source)
        owner = weakref.ref(source.owner)
        del source
        assert not life.fault(held=True)
        how.let_go(owner(), kept)
        assert not life.fault(held=False), how.why
    finally:
        gc.enable()
