"""The most that is taken, of extents, dimensions, parts and items: as many are taken, one more is refused.

What is beyond is refused and never left out, and of what has no end no more is asked for than tells so.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, arguments, as_buffer, as_column, as_ndarray
from buflend.shared import STATIC, ProducerError, context
from buflend.shared.arrays import to_ndarray
from buflend.shared.context import Context
from buflend.shared.dlpack import Tensor
from buflend.shared.dlpack_export import exporter
from buflend.shared.dlpack_import import read_capsule
from buflend.shared.memory import Memory

from . import capsules

MEMORY = np.arange(64, dtype="u1")
LONG = 3000  # steps of what stands for what has no end


class Long:
    """Yields the same again and again, and counts what was asked for."""

    def __init__(self, item: object) -> None:
        self.item, self.asked = item, 0

    def __iter__(self) -> Iterator[object]:
        for self.asked in range(1, LONG + 1):
            yield self.item


class LongTuple(tuple[Any, ...]):
    """A tuple that yields more than it holds."""

    __slots__ = ()
    asked: int

    def __iter__(self) -> Iterator[Any]:
        for asked in range(1, LONG + 1):
            LongTuple.asked = asked
            yield 1


class Described:
    def __init__(self, **fields: object) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": (64,),
            "typestr": "|u1",
            "data": (MEMORY.ctypes.data, False),
            **fields,
        }


@pytest.mark.parametrize("field", ["shape", "strides"])
def test_of_an_interface_without_an_end(field: str) -> None:
    with pytest.raises(ProducerError, match=field):
        as_buffer(Described(**{field: LongTuple((1,))}))
    assert LongTuple.asked == 1025


def test_as_many_extents_of_an_interface_as_are_taken() -> None:
    assert as_buffer(Described(shape=(*[1] * 1023, 64))).bufsize == 64
    with pytest.raises(ProducerError, match="1024 extents at most"):
        as_buffer(Described(shape=(*[1] * 1024, 64)))


@pytest.mark.parametrize("extent", [2**64 - 1, 2**64, -(2**64)])
def test_an_extent_of_an_interface_is_a_number_of_64_bits(extent: int) -> None:
    with pytest.raises(ProducerError, match=r"\['shape'\]"):
        as_buffer(Described(shape=(0, extent)))


def test_as_many_dimensions_of_dlpack_as_are_taken() -> None:
    capsule, _ = capsules.lend(shape=(*[1] * 1023, 64))
    tensor, nbytes = read_capsule(capsule)
    assert (len(tensor.shape), nbytes) == (1024, 64)
    capsule, _ = capsules.lend(shape=(*[1] * 1024, 64))
    with pytest.raises(ProducerError, match="expected 0 to 1024 dimensions"):
        read_capsule(capsule)


@pytest.mark.parametrize("kind", [(1, 8, 1), (4, 16, 1)], ids=["NumPy's", "another"])
def test_as_many_dimensions_as_numpy_lends(kind: tuple[int, int, int]) -> None:
    assert callable(exporter(STATIC, Tensor(0x1000, (1,) * 64, (1,) * 64, kind)))
    with pytest.raises(BufferError, match="65 dimensions, expected 64 at most"):
        exporter(STATIC, Tensor(0x1000, (1,) * 65, (1,) * 65, kind))


def test_a_view_of_more_dimensions_than_numpy_has() -> None:
    most = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
    assert as_ndarray(MEMORY, shape=(*[1] * (most - 1), 64)).ndim == most
    for more in (1, 2, 100):
        with pytest.raises(ValueError, match="dimension"):
            as_ndarray(MEMORY, shape=(*[1] * most, *[1] * (more - 1), 64))


@pytest.mark.parametrize("field", ["shape", "strides"])
def test_of_a_view_without_an_end(field: str) -> None:
    given = Long(1)
    options: dict[str, Any] = {"shape": (1,), "strides": None, field: given}
    memory = Memory(MEMORY.ctypes.data, 64, owner=MEMORY)
    with pytest.raises(ValueError, match="dimension"):
        to_ndarray(memory, "u1", options["shape"], options["strides"], 0)
    assert given.asked == 65


@pytest.mark.parametrize("count", [3, 4])
def test_as_many_parts_as_are_taken(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert arguments._MOST_PARTS == 2**20
    monkeypatch.setattr(arguments, "_MOST_PARTS", 3)
    children = [as_column(np.arange(2)) for _ in range(count)]
    if count == 3:
        assert len(Column("+s", 2, children=children).children) == 3
    else:
        with pytest.raises(ValueError, match="children: got more, expected at most 3 Columns"):
            Column("+s", 2, children=children)


def test_of_parts_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "_MOST_PARTS", 3)
    children: Any = Long(as_column(np.arange(2)))
    with pytest.raises(ValueError, match="children: got more"):
        Column("+s", 2, children=children)
    assert children.asked == 4


def test_of_steps_without_an_end() -> None:
    strides: Any = Long(1)
    with pytest.raises(TypeError, match="strides: got"):
        Column("C", 2, data=as_buffer(b"ab"), strides=strides)
    assert strides.asked == 2


class Producer:
    """Yields names, say, by a method."""

    def __init__(self, items: object) -> None:
        self.items = items

    def names(self) -> object:
        return self.items


def test_as_many_items_as_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert context.MOST_ITEMS == 2**20
    monkeypatch.setattr(context, "MOST_ITEMS", 3)
    asked = Context("table", allow_copy=True)
    assert asked.items(Producer(["a", "b", "c"]), "names") == ["a", "b", "c"]
    long = Long("a")
    with pytest.raises(ProducerError, match=r"table: names\(\): got 'more', expected at most 3 items"):
        asked.items(Producer(long), "names")
    assert long.asked == 4


@pytest.mark.parametrize("given", ["abc", "a", Long("a")], ids=["one more", "one less", "no end"])
def test_as_many_items_as_there_must_be(given: Any) -> None:
    asked = Context("table", allow_copy=True)
    assert asked.parts("ab", 2, "pair", "two") == ["a", "b"]
    with pytest.raises(ProducerError, match=r"table: pair: got .*, expected two"):
        asked.parts(given, 2, "pair", "two")
    assert type(given) is str or given.asked == 3
