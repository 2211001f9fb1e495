"""Lifetimes: the owner lives exactly as long as the last view, whatever is dropped first."""

import ctypes
import gc
import itertools
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend.minimal import Buffer, as_buffer, as_memoryview, as_ndarray


class Owner:
    """Memory that is poisoned when it is returned, so that a read afterwards shows."""

    def __init__(self, returned: list[int]) -> None:
        self.memory = np.arange(8, dtype="int64")
        self.returned = returned

    def __del__(self) -> None:
        self.memory[:] = -1
        self.returned.append(1)


def lend() -> tuple[Buffer, list[int]]:
    returned: list[int] = []
    owner = Owner(returned)
    return Buffer(owner.memory.ctypes.data, 64, owner=owner), returned


VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole array": lambda b: as_ndarray(b, "int64"),
    "part": lambda b: as_ndarray(b, "int64", shape=(2, 2), strides=(16, 8)),
    "empty part": lambda b: as_ndarray(b, "int64", shape=0),
    "slice of an array": lambda b: as_ndarray(b, "int64")[2:4],
    "reshaped and recast": lambda b: as_ndarray(b, "int64").reshape(2, 4).view("int32").T,
    "memoryview": as_memoryview,
    "slice of a memoryview": lambda b: as_memoryview(b)[8:16].cast("q"),
    "array over a memoryview": lambda b: np.frombuffer(as_memoryview(b), "int64"),
    "array over an array over a memoryview": lambda b: as_ndarray(as_memoryview(as_ndarray(b)), "int64"),
    "buffer of an array": lambda b: as_buffer(as_ndarray(b)),
    "buffer of a buffer's view": lambda b: as_buffer(as_memoryview(b)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_the_view_alone_keeps_the_owner_and_returns_it(name: str) -> None:
    buffer, returned = lend()
    view = VIEWS[name](buffer)
    alive = weakref.ref(buffer)
    del buffer
    assert alive() is None, "the view must hold the owner, not the buffer"
    assert not returned
    del view
    assert returned == [1]


@pytest.mark.parametrize("name", VIEWS)
def test_values_after_everything_else_is_gone(name: str) -> None:
    buffer, returned = lend()
    expected = bytes(memoryview(VIEWS[name](np.arange(8, dtype="int64"))) if "buffer" not in name else b"")
    view = VIEWS[name](buffer)
    del buffer
    gc.collect()
    if "buffer" not in name:
        assert bytes(memoryview(view)) == expected
    else:
        assert as_ndarray(view, "int64").tolist() == list(range(8))
    assert not returned


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_every_order_of_dropping(order: tuple[int, ...]) -> None:
    buffer, returned = lend()
    held: list[Any] = [buffer, as_ndarray(buffer, "int64"), as_memoryview(buffer), as_ndarray(buffer, "int64")[1:]]
    del buffer
    for step, which in enumerate(order):
        assert not returned, f"returned before step {step}"
        held[which] = None
    assert returned == [1]


def test_the_base_chain_leads_to_the_owner() -> None:
    buffer, _ = lend()
    base: Any = as_ndarray(buffer, "int64")[2:].reshape(2, 3)
    while isinstance(base, np.ndarray):
        base = base.base
    assert base.obj.owner is buffer.owner


def test_a_buffer_object_is_the_owner_of_what_it_describes() -> None:
    returned: list[int] = []

    class Foreign:
        def __init__(self) -> None:
            self.keep = Owner(returned)
            self.ptr = self.keep.memory.ctypes.data
            self.bufsize = 64

        def __dlpack_device__(self) -> tuple[int, None]:
            return 1, None

    view = as_ndarray(Foreign(), "int64")
    gc.collect()
    assert view.tolist() == list(range(8))
    assert not returned
    del view
    assert returned == [1]


def test_a_failed_view_returns_the_owner() -> None:
    buffer, returned = lend()
    with pytest.raises(ValueError, match="bytes"):
        as_ndarray(buffer, "int64", shape=9)
    del buffer
    assert returned == [1]


def test_the_last_view_may_die_on_another_thread() -> None:
    buffer, returned = lend()
    views = [as_ndarray(buffer, "int64") for _ in range(8)]
    del buffer
    threads = [threading.Thread(target=views.pop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert returned == [1]


def test_memory_of_a_c_library_is_freed_with_its_last_view() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    libc.free.restype, libc.free.argtypes = None, [ctypes.c_void_p]
    freed: list[int] = []

    class Allocation:
        def __init__(self, size: int) -> None:
            self.ptr = libc.malloc(size)

        def __del__(self) -> None:
            libc.free(self.ptr)
            freed.append(self.ptr)

    owner = Allocation(80)
    view = as_ndarray(Buffer(owner.ptr, 80, owner=owner), "float64")
    address = owner.ptr
    del owner
    view[:] = 1.5
    part = view[3:5]
    del view
    assert part.tolist() == [1.5, 1.5]
    assert not freed
    del part
    assert freed == [address]


def test_many_exchanges_leave_nothing_behind() -> None:
    import tracemalloc

    memory = bytearray(64)

    def exchange(times: int) -> None:
        for _ in range(times):
            as_ndarray(memory, "int64")
            as_memoryview(memory)
            as_ndarray(memory, "int64", shape=(2, 2), strides=(8, 16))

    exchange(100)
    gc.collect()
    tracemalloc.start()
    try:
        exchange(100)
        before = tracemalloc.get_traced_memory()[0]
        exchange(20_000)
        gc.collect()
        growth = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert growth < 2000, f"{growth} bytes after 60000 exchanges"
    memory.extend(b"x")  # no export is left
