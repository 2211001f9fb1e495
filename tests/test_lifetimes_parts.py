"""Lifetimes of columns of every layout, each part of which has an owner of its own.

What is made of a column reads what it read before, whatever is dropped; with the last of it all owners go, once. A part
that is kept alone keeps its own owner, and no other.
"""

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from buflend.maximal import Buffer, Column, Table, as_column, as_table, live_exports

from . import lifetimes
from .kinds import KINDS, Kind, alike, made
from .lifetimes import Life, Owner
from .only import only
from .ways import ARRAY, DEVICE_ARRAY, STREAM, TENSOR, VERSION, by_callbacks


class Way(NamedTuple):
    """A protocol: what a kind of column must say, or be copied, for it; what is handed over; what is taken of that."""

    name: str
    hand: Callable[[Column], Any]
    take: Callable[[Any], Any]
    read: Callable[[Any], Any] = Column.tolist


def _pickled(column: Column) -> tuple[bytes, list[pickle.PickleBuffer]]:
    parts: list[pickle.PickleBuffer] = []
    return pickle.dumps(column, 5, buffer_callback=parts.append), parts


def _array(pair: Any) -> Column:
    return as_column(ARRAY(pair))


WAYS = {
    "arrow array": Way("arrow", lambda c: c.__arrow_c_array__(), _array),
    "arrow array by callbacks": Way("arrow", by_callbacks(lambda c: c.__arrow_c_array__()), _array),
    "arrow device array by callbacks": Way(
        "arrow", by_callbacks(lambda c: c.__arrow_c_device_array__()), lambda pair: as_column(DEVICE_ARRAY(pair))
    ),
    "arrow stream": Way("arrow", lambda c: c.__arrow_c_stream__(), lambda one: as_column(STREAM(one))),
    "arrow stream by callbacks": Way(
        "arrow", by_callbacks(lambda c: c.__arrow_c_stream__()), lambda one: as_column(STREAM(one))
    ),
    "arrow array of a table": Way(
        "arrow",
        by_callbacks(lambda c: Table({"x": c, "y": c}).__arrow_c_array__()),
        lambda pair: as_table(ARRAY(pair))["y"],
    ),
    "dlpack": Way("dlpack", lambda c: c.__dlpack__(**VERSION), lambda one: as_column(TENSOR(one))),
    "interchange": Way("interchange", lambda c: only(Table({"x": c}), "dataframe"), lambda frame: as_table(frame)["x"]),
    "interchange column": Way("interchange", lambda c: c.for_interchange(), lambda c: c.get_buffers(), repr),
    "array": Way("", lambda c: c.__array__(), lambda array: array[:], lambda array: repr(array.tolist())),
    "pickle out of band": Way("", _pickled, lambda p: pickle.loads(p[0], buffers=p[1])),  # noqa: S301 - ours
    "copy": Way("", copy.copy, lambda column: column[:]),
    "slice": Way("", lambda c: c[1:], lambda column: column[: len(column)]),
    "parts": Way("", lambda c: c.buffers, lambda buffers: [as_column(b) for b in buffers.values()], repr),
}

CASES = [
    pytest.param(
        name, way, id=f"{name}, {way}", marks=pytest.mark.peers if way in ("arrow array", "arrow stream") else ()
    )
    for name, kind in KINDS.items()
    for way, how in WAYS.items()
    if not how.name or how.name in kind.says.split() or how.name in kind.copies.split()
]


@pytest.fixture(autouse=True)
def _mapped() -> Iterator[None]:
    with lifetimes.mapped():
        yield
        lifetimes.flush()


def lent(kind: Kind) -> tuple[Column, list[Life]]:
    """Return a column of a kind, and the lives of the owners of its parts."""
    lives: list[Life] = []

    def place(content: bytes) -> Buffer:
        owner = Owner(content)
        lives.append(Life(owner, owner.ptr, content))
        return Buffer(owner.ptr, len(content), owner=owner)

    return made(kind, place), lives


def _alive(lives: list[Life]) -> list[int]:
    return [number for number, life in enumerate(lives) if life.is_alive]


def _read(way: Way, thing: Any) -> Any:
    found = way.read(thing)
    return repr(alike(found)) if isinstance(found, list) else found


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_what_is_made_outlives_the_column(name: str, protocol: str) -> None:
    kind, way = KINDS[name], WAYS[protocol]
    if protocol in ("arrow array", "arrow stream"):
        pytest.importorskip("pyarrow")
    for order in itertools.permutations(("column", "handed over", "taken")):
        column, lives = lent(kind)
        handed = way.hand(column)
        held = {"column": column, "handed over": handed, "taken": way.take(handed)}
        del column, handed
        before = _read(way, held["taken"])
        if way.read is Column.tolist and protocol != "slice":
            # DLPack cannot say what is missing: NaN is a number.
            assert before == repr(alike(kind.values)).replace("None", "nan" if protocol == "dlpack" else "None")
        for each in order:
            assert "taken" not in held or _read(way, held["taken"]) == before, f"{each} is dropped next"
            del held[each]
        lifetimes.flush()
        assert not [life.fault(held=False) for life in lives if life.fault(held=False)], order
    assert not live_exports()


@pytest.mark.parametrize("name", KINDS)
def test_a_part_keeps_its_own_owner_alone(name: str) -> None:
    kind = KINDS[name]
    for number, part in enumerate(kind.parts):
        column, lives = lent(kind)
        kept = column.buffers[part]
        del column
        assert _alive(lives) == [number]
        assert memoryview(kept.memoryview()) == kind.parts[part]
        del kept
        assert not _alive(lives)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.children])
def test_a_child_keeps_its_own_owners_alone(name: str) -> None:
    kind = KINDS[name]
    first = len(kind.parts)  # of what was placed: the parts of the children come behind its own
    for number, child in enumerate(kind.children):
        column, lives = lent(kind)
        kept = column.children[number]
        del column
        assert _alive(lives) == list(range(first, first + len(child.parts)))
        assert alike(kept.tolist()) == alike(child.values)[: len(kept)]
        del kept
        assert not _alive(lives)
        first += len(child.parts)


def test_categories_keep_their_own_owners_alone() -> None:
    column, lives = lent(KINDS["categories"])
    kept = column.dictionary
    del column
    assert kept is not None
    assert len(_alive(lives)) == 2
    assert kept.tolist() == ["", "ab", "c"]
    del kept
    assert not _alive(lives)


@pytest.mark.peers
@pytest.mark.parametrize("stream", [Column.__arrow_c_stream__, by_callbacks(Column.__arrow_c_stream__)])
def test_a_cut_struct_is_taken_as_a_table(stream: Callable[[Column], Any]) -> None:
    """Rows with an offset are refused by pyarrow; where a callback releases them, the error is lost."""
    pa = pytest.importorskip("pyarrow")
    fields = [as_column(bytes(range(8))).rename(name) for name in ("x", "y")]
    cut = Column("+s", 8, children=fields)[2:4]
    assert pa.table(STREAM(stream(cut))).to_pylist() == [{"x": 2, "y": 2}, {"x": 3, "y": 3}]
