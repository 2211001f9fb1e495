"""Who frees device memory, and when: the owner, when the last that was made of it is gone, and not before.

What is expected: `dlpack.h` 1.3, `deleter`; Apache Arrow, "The Arrow C data interface", "Memory management"; Numba,
"CUDA Array Interface (Version 3)", "Lifetime management".
"""

import ctypes
import gc
import itertools
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table, live_exports
from buflend.shared import STATIC, DeviceError

from ..arrow_producer import Array, Lie
from ..capsules import consume, name_of, struct_of
from ..conftest import ROOTS, Run
from ..only import only
from .hooks import StandIn, contract, elsewhere
from .lenders import (
    NEW,
    OLD,
    SIZE,
    Arrow,
    Block,
    Described,
    Exporting,
    event_behind,
    late,
    refusal,
    seen,
    settled,
    side,
    tabled,
)

FREED = [contract.SUCCESS]
DEVICES = pytest.mark.parametrize("device", [0, 1])


class Consumer:
    """Takes a DLPack capsule over, as consumers in C do, and calls its deleter when it goes."""

    def __init__(self, capsule: object) -> None:
        self.delete = consume(capsule)

    def __del__(self) -> None:
        self.delete()


def exported(obj: Any) -> object:
    return as_buffer(obj).__dlpack__(max_version=(1, 3))


# What may be made of an object, and keeps its memory.
MAKES: dict[str, Callable[[Any], Any]] = {
    "buffer": as_buffer,
    "column": as_column,
    "slice": lambda obj: as_column(obj)[3:9],
    "part": lambda obj: as_column(obj).part("data"),
    "table": lambda obj: as_table({"n": obj}),
    "capsule": exported,
    "capsule before 1.0": lambda obj: Buffer(
        (made := as_buffer(obj)).ptr, SIZE, owner=made.owner, device=made.device
    ).__dlpack__(),
    "consumed capsule": lambda obj: Consumer(exported(obj)),
    "column's capsule": lambda obj: as_column(obj)[5:].__dlpack__(max_version=(1, 3)),
    "capsule in again": lambda obj: as_buffer(only(as_buffer(obj), "dlpack")),
    "interface in again": lambda obj: as_buffer(only(as_buffer(obj), "cuda_array_interface")),
    "Arrow's array": lambda obj: as_buffer(obj).__arrow_c_device_array__(),
    "Arrow's array of a column": lambda obj: as_column(obj).__arrow_c_device_array__(),
    "Arrow's array in again": lambda obj: as_column(only(as_buffer(obj), "arrow_c_device_array")),
    "description": lambda obj: as_buffer(only(as_buffer(obj), "description")),
}
# Of managed memory also what the host makes.
HOST: dict[str, Callable[[Any], Any]] = {
    "array": lambda obj: as_ndarray(as_buffer(obj)),
    "slice of an array": lambda obj: as_ndarray(as_buffer(obj), "<i8")[2:4],
    "memoryview": lambda obj: as_memoryview(as_buffer(obj))[8:],
    "to_host": lambda obj: as_buffer(obj).to_host(),
    "as the CPU's": lambda obj: as_buffer(obj).__dlpack__(dl_device=(1, 0), max_version=(1, 3)),
}
SOURCES: dict[str, Callable[[Block, int], Any]] = {
    "interface": lambda block, handle: Described(block, stream=handle),
    "dlpack": Exporting,
    "table": tabled,
}


class Loop:
    """One block, an object that lends it with work queued each time, and a consumer's stream."""

    def __init__(self, cuda: StandIn) -> None:
        self.cuda, self.block = cuda, Block(cuda, 1)
        self.producer, self.stream = side(cuda, 1), side(cuda, 1)
        self.interface = Described(self.block, stream=self.producer)
        self.dlpack = only(Buffer(self.block.address, SIZE, owner=self.block, device=(2, 1)), "dlpack")
        self.event = event_behind(cuda, self.producer, 1)

    def by_interface(self) -> None:
        as_buffer(self.interface).__dlpack_device__()

    def by_event(self) -> None:
        Consumer(as_buffer(self.dlpack).__dlpack__(stream=self.stream, max_version=(1, 3)))

    def to_host(self) -> None:
        as_buffer(self.dlpack).to_host()

    def by_arrow(self) -> None:
        as_column(only(as_column(self.dlpack), "arrow_c_device_array"))

    def by_table(self) -> None:
        as_table({"n": self.dlpack}).__cuda_array_interface__  # noqa: B018 - made, and thrown away

    WAYS = (by_interface, by_event, to_host, by_arrow, by_table)


@pytest.mark.parametrize("way", Loop.WAYS, ids=lambda way: way.__name__)
def test_100_000_exchanges_leave_nothing(stand_in: StandIn, way: Callable[[Loop], None]) -> None:
    """In all: a fifth of them by each way."""
    loop = Loop(stand_in)

    def exchange(times: int) -> None:
        for i in range(times):
            way(loop)
            if not i % 100:
                stand_in.library.cudaStreamSynchronize(ctypes.c_void_p(loop.stream))
                stand_in.forget_calls()

    def state() -> tuple[Any, ...]:
        settled()
        gc.collect()  # what Python keeps for later is of no exchange
        return (
            [stand_in.used(device) for device in (0, 1)],
            (stand_in.events(), stand_in.streams()),
            (sys.getrefcount(loop.block), sys.getrefcount(loop.interface)),
            [export for export in live_exports() if export.owner is loop.block],
        )

    exchange(500)
    before, blocks = state(), sys.getallocatedblocks()
    exchange(100_000 // len(Loop.WAYS))
    assert state() == before
    assert sys.getallocatedblocks() - blocks < 200, "of objects of Python: not one for every hundredth exchange"
    assert (loop.block.freed, seen(stand_in, loop.block.address)) == ([], OLD)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("source", SOURCES)
@DEVICES
def test_each_alone_keeps_the_memory(stand_in: StandIn, device: int, source: str, make: str) -> None:
    before = stand_in.used(device)
    block, handle = late(stand_in, device=device)
    obj, freed, address = SOURCES[source](block, handle), block.freed, block.address
    if source == "table":
        obj = as_buffer(obj)  # columns read no tables
    del block
    held = MAKES[make](obj)
    del obj
    settled()
    assert (freed, stand_in.used(device)) == ([], before + SIZE)
    with stand_in.on(device):
        stand_in.call("cudaDeviceSynchronize")
    assert seen(stand_in, address) == NEW
    del held
    settled()
    assert (freed, stand_in.used(device)) == (FREED, before)
    assert live_exports() == []


@pytest.mark.parametrize("make", MAKES | HOST)
@pytest.mark.parametrize("source", SOURCES)
def test_each_alone_keeps_managed_memory(stand_in: StandIn, source: str, make: str) -> None:
    block, handle = late(stand_in, kind="managed")
    obj, freed, address = as_buffer(SOURCES[source](block, handle)), block.freed, block.address
    del block
    held = (MAKES | HOST)[make](obj)
    del obj
    settled()
    stand_in.call("cudaDeviceSynchronize")
    assert (freed, ctypes.string_at(address, SIZE)) == ([], NEW)
    del held
    settled()
    assert freed == FREED


@pytest.mark.parametrize("source", SOURCES)
def test_every_order_of_dropping(stand_in: StandIn, source: str) -> None:
    makes = ["buffer", "slice", "consumed capsule", "interface in again", "Arrow's array in again"]
    before = stand_in.used(1)
    for order in itertools.permutations(range(len(makes))):
        block, handle = late(stand_in, device=1)
        obj, freed, address = as_buffer(SOURCES[source](block, handle)), block.freed, block.address
        held = {number: MAKES[name](obj) for number, name in enumerate(makes)}
        del block, obj
        settled()
        for number in order:
            assert freed == [], f"dropped in the order {order}, before {number}"
            assert seen(stand_in, address) == NEW
            del held[number]
            settled()
        assert (freed, stand_in.used(1)) == (FREED, before), order


def test_arrow_s_arrays_are_released_with_the_last_of_their_buffers(stand_in: StandIn) -> None:
    block, handle = late(stand_in)
    obj = Arrow(Lie("C", SIZE, [None, block.address]), (2, 0), event_behind(stand_in, handle, 0))
    log, made = obj.log, as_column(obj)
    held = [made, made[3:4], made.data, made.__dlpack__(max_version=(1, 3)), made.__arrow_c_device_array__()]
    del obj, made
    while held:
        settled()
        assert log.arrays == []
        held.pop(0)
    settled()
    assert log.arrays == [""]


class TestUseAfterFree:
    """The controls: the stand-in sees it, so that the tests above would fail."""

    def test_a_copy_is_refused(self, stand_in: StandIn) -> None:
        block = Block(stand_in, 1)
        address = block.address
        stale = Buffer(address, SIZE, owner=STATIC, device=(2, 1))
        assert as_memoryview(stale.to_host()).tobytes() == OLD
        del block
        target = contract.host()
        assert stand_in.call("cudaMemcpy", target, address, SIZE, contract.TO_HOST) == contract.INVALID_VALUE
        assert "CUDA error 1, invalid argument" in refusal(stale.to_host, DeviceError)

    @pytest.mark.parametrize("kind", ["pinned", "managed"])
    def test_the_host_dies(self, stand_in: StandIn, kind: str) -> None:
        block = Block(stand_in, kind=kind)
        stale = Buffer(block.address, SIZE, owner=STATIC, device=block.pair)
        assert as_ndarray(stale).tobytes() == OLD
        del block
        assert contract.signal_of(lambda: as_ndarray(stale).tobytes()) == signal.SIGSEGV


class TestThreads:
    def test_the_last_reference_is_dropped_elsewhere(self, stand_in: StandIn) -> None:
        for make in MAKES.values():
            block, handle = late(stand_in, device=1)
            freed, held = block.freed, [make(as_buffer(Exporting(block, handle)))]
            del block
            with stand_in.on(1):
                stand_in.call("cudaDeviceSynchronize")  # what is queued would find no memory
            elsewhere(held.clear)
            settled()
            assert freed == FREED
        assert stand_in.number("cudaGetDevice") == 0

    def test_a_deleter_is_called_by_a_thread_that_python_does_not_know(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, device=1)
        freed = block.freed
        capsule = exported(Exporting(block, handle))
        del block
        address = struct_of(capsule)
        deleter = ctypes.c_void_p.from_address(address + 16).value
        consume(capsule)
        assert name_of(capsule) == b"used_dltensor_versioned"
        del capsule
        settled()
        assert freed == []
        in_a_thread(deleter, address)
        assert freed == FREED

    def test_so_is_arrows_release(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, device=1)
        freed = block.freed
        pair = as_buffer(Exporting(block, handle)).__arrow_c_device_array__()
        del block
        source, moved = struct_of(pair[1]), Array()
        ctypes.memmove(ctypes.addressof(moved), source, ctypes.sizeof(Array))
        Array.from_address(source).release = None
        del pair
        settled()
        assert freed == []
        in_a_thread(moved.release, ctypes.addressof(moved))
        assert (moved.release, freed) == (None, FREED)


def in_a_thread(function: int | None, argument: int) -> None:
    """Call a function of C with an address in a thread of its own, and wait for it."""
    library, thread = ctypes.CDLL(None), ctypes.c_ulong()
    parameters = ctypes.c_void_p(function), ctypes.c_void_p(argument)
    assert library.pthread_create(ctypes.byref(thread), None, *parameters) == 0
    assert library.pthread_join(thread, None) == 0


AT_EXIT = """
from tests.fake_cuda.hooks import StandIn
from tests.fake_cuda.lenders import Block, Described, Exporting, side
from buflend.maximal import as_buffer, as_column

cuda = StandIn()
cuda.reset()
kept = []
for device in (0, 1):
    block = Block(cuda, device)
    block.queue(bytes(64), side(cuda, device))
    lent = as_buffer(Exporting(block, side(cuda, device)))
    kept += [lent, as_column(Described(block, stream=1)), lent.__dlpack__(max_version=(1, 3))]
    kept += [lent.__arrow_c_device_array__(), lent.__dlpack__(stream=side(cuda, device), max_version=(1, 3))]
kept.append(kept)
print("done")
"""


def test_what_is_lent_when_the_interpreter_goes(run_python: Run) -> None:
    repository = str(Path(__file__).resolve().parents[2])
    assert run_python(AT_EXIT, path=[*ROOTS, repository], site=True) == "done\n"
