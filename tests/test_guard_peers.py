"""Other libraries over memory that no read survives: they take what needs no byte, and are refused before they read.

In a forked child they get an object and answer; nothing is computed there. pyarrow makes the capsules of Arrow that
hold host memory, so that both ways of making them are tried over the ends of pages.
"""

import sys
from collections.abc import Callable
from typing import Any

import pytest

from buflend.maximal import Buffer, Column, Table, as_column, as_cupy
from buflend.shared import STATIC

from .guard import UNREADABLE, dies, doing, in_a_child, lent, on_devices, on_host, survive
from .kinds import KINDS, NUMBER, Kind, made

pytestmark = pytest.mark.peers
pa = pytest.importorskip("pyarrow")

Pair = tuple[int, int]
CONTENT = bytes(range(1, 65))


def on(device: Pair, kind: Kind) -> Column:
    return made(kind, lambda content: Buffer(UNREADABLE, len(content), owner=STATIC, device=device))


def block(device: Pair) -> Buffer:
    return Buffer(UNREADABLE, 64, owner=STATIC, device=device)


# Function of pyarrow -> what it is asked to take.
TAKES: dict[str, tuple[type, ...]] = {
    "array": (Buffer, Column),
    "chunked_array": (Column,),
    "py_buffer": (Buffer, Column, Table),
    "table": (Column, Table),
    "record_batch": (Column, Table),
}
# What it raises for memory that its build does not know (it has no CUDA), and for what offers nothing that it takes.
REFUSALS = (BufferError, ImportError, KeyError, NotImplementedError, TypeError, ValueError)


@on_devices
@pytest.mark.parametrize("name", TAKES)
@in_a_child
def test_pyarrow_does_not_read_a_device(name: str, device: Pair) -> None:
    for title, kind in KINDS.items():
        column = on(device, kind)
        for obj in (block(device), column, Table({"x": column})):
            if isinstance(obj, TAKES[name]):
                doing(f"{title}, {type(obj).__name__}")
                with pytest.raises(REFUSALS):
                    getattr(pa, name)(obj)


@on_devices
@in_a_child
def test_pyarrow_is_told_the_type(device: Pair) -> None:
    given = (block(device), on(device, NUMBER), on(device, KINDS["text"]))
    assert [str(pa.field(one).type) for one in given] == ["uint8", "int64", "string"]


# pyarrow has no type for intervals of days and milliseconds.
ARROW = {name: kind for name, kind in KINDS.items() if "arrow" in kind.says + kind.copies and kind.dtype != "tiD"}


@on_host
@pytest.mark.parametrize("take", [pa.array, pa.chunked_array], ids=["array", "chunked_array"])
@pytest.mark.parametrize("kind", ARROW.values(), ids=[name.replace(" ", "-") for name in ARROW])
@in_a_child
def test_capsules_of_pyarrow_have_all_elements(kind: Kind, take: Callable[[Any], Any], device: Pair) -> None:
    for side in ("end", "start"):
        doing(side)
        column = made(kind, lambda content, side=side: lent(Buffer, content, side, device=device))  # type: ignore[misc]
        assert as_column(take(column)).tolist() == kind.values


@on_host
@pytest.mark.parametrize("side", ["end", "start"])
@in_a_child
def test_pyarrow_has_all_bytes(side: str, device: Pair) -> None:
    buffer = lent(Buffer, CONTENT, side, device=device)
    taken = pa.array(buffer)
    assert (taken.buffers()[1].address, taken.to_pylist()) == (buffer.ptr, list(CONTENT))


@pytest.mark.parametrize("make", [lambda: block((3, 0)), lambda: on((3, 0), NUMBER)], ids=["buffer", "column"])
def test_the_same_over_unreadable_memory_kills(make: Callable[[], Any]) -> None:
    assert dies(lambda: pa.array(make()).to_pylist(), peers=True)


@on_devices
def test_nanoarrow_does_not_read_a_device(device: Pair) -> None:
    na = pytest.importorskip("nanoarrow")
    from nanoarrow.device import c_device_array

    def each() -> None:
        for obj in (block(device), on(device, NUMBER)):
            taken = c_device_array(obj)
            assert (taken.device_type_id, taken.device_id) == device
            with pytest.raises(REFUSALS):
                na.Array(obj).to_pylist()

    survive(each, peers=True)


@pytest.mark.parametrize("device", [(2, 0), (2, 1)], ids=["CUDA-device-0", "CUDA-device-1"])
def test_cupy_views_without_a_read(device: Pair) -> None:
    cupy = pytest.importorskip("cupy")

    def describe() -> list[Any]:
        sys.modules["cupy"] = cupy
        view = as_cupy(block(device), "int16")
        part = view[4:20:2].reshape(2, 4)
        return [view.data.ptr, view.shape, view.device.id, part.data.ptr, part.strides]

    assert survive(describe, peers=True) == [UNREADABLE, (32,), device[1], UNREADABLE + 8, (16, 4)]
