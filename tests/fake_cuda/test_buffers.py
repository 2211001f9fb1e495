"""Where memory lies, and what the host may do with it: over device, pinned and managed memory of two devices.

What is expected: `cudaMemoryType` (NVIDIA, "CUDA Runtime API") and `DLDeviceType` (`dlpack.h` 1.3); Numba, "CUDA Array
Interface (Version 3)"; Python array API standard 2025.12, `array.__dlpack__`.
"""

import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table, live_exports
from buflend.shared import STATIC, CopyRequiredError, DeviceError, DeviceType, ProducerError

from ..capsules import IS_COPIED, read_struct
from ..guard import child, refused
from ..only import only
from .hooks import StandIn, contract
from .lenders import LEGACY, NEW, OLD, SIZE, Block, Described, Exporting, late, lent, refusal, seen, side, tabled

ASKED = "cudaPointerGetAttributes"
CURRENT = pytest.mark.parametrize("current", [0, 1])

# Kind of memory and the device that it was allocated for -> how DLPack numbers it: managed is 13, not 3.
WHERE = {
    ("device", 0): (2, 0),
    ("device", 1): (2, 1),
    ("pinned", 0): (3, 0),
    ("pinned", 1): (3, 0),
    ("managed", 0): (13, 0),
    ("managed", 1): (13, 0),
}


def described(address: int, size: int = SIZE, **fields: Any) -> Any:
    """Return an object with a CUDA array interface over any address."""
    fields = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3} | fields
    return type("Described", (), {"__cuda_array_interface__": fields})()


class TestWhere:
    """The interface of CUDA names no device: the pointer is asked, when somebody wants to know, and once."""

    @pytest.mark.parametrize("level", [as_buffer, as_column], ids=["buffer", "column"])
    @pytest.mark.parametrize("inside", [0, 1, SIZE - 1])
    @pytest.mark.parametrize("where", WHERE, ids=lambda where: f"{where[0]}-{where[1]}")
    @CURRENT
    def test_the_pointer_tells(
        self, stand_in: StandIn, where: tuple[str, int], current: int, inside: int, level: Callable[[Any], Any]
    ) -> None:
        block, expected = Block(stand_in, where[1], where[0]), WHERE[where]
        with stand_in.on(current):
            stand_in.forget_calls()
            made = level(described(block.address + inside, SIZE - inside))
            assert stand_in.calls() == [], "the constructor asks nothing"
            for _ in range(2):
                assert made.__dlpack_device__() == made.device == expected
                assert read_struct(made.__dlpack__(max_version=(1, 3)))["device"] == expected
            assert stand_in.calls() == [ASKED]

    @CURRENT
    def test_memory_that_cuda_does_not_know_is_the_hosts(self, stand_in: StandIn, current: int) -> None:
        memory = np.arange(SIZE, dtype="u1")
        with stand_in.on(current):
            buffer = as_buffer(described(memory.ctypes.data))
            assert buffer.__dlpack_device__() == (1, 0)
            assert as_ndarray(buffer).tolist() == memory.tolist()
        assert stand_in.call("cudaGetLastError") == 0

    @CURRENT
    def test_so_is_what_was_freed(self, stand_in: StandIn, current: int) -> None:
        block = Block(stand_in, 1)
        obj = described(block.address)
        del block
        with stand_in.on(current):
            buffer = as_buffer(obj)
            assert buffer.__dlpack_device__() == (1, 0), "the runtime knows it no more than any address"
            assert stand_in.call("cudaGetLastError") == 0
        assert child(lambda: as_memoryview(buffer).tobytes()).signal, "and who reads it dies, as of any such pointer"

    @CURRENT
    def test_nothing_is_on_the_current_device(self, stand_in: StandIn, current: int) -> None:
        buffer = as_buffer(described(0, 0))
        stand_in.forget_calls()
        with stand_in.on(current):
            assert buffer.__dlpack_device__() == (2, current)
            assert ASKED not in stand_in.calls()
        assert buffer.__dlpack_device__() == (2, current)
        assert buffer.__cuda_array_interface__["data"] == (0, False)

    @pytest.mark.parametrize("where", [(2, 0), (2, 1), (2, 7), (13, 1)])
    def test_what_was_named_is_believed(self, stand_in: StandIn, where: tuple[int, int]) -> None:
        block = Block(stand_in, 1)
        stand_in.forget_calls()
        for made in (
            Buffer(block.address, SIZE, owner=block, device=where),
            as_buffer(Exporting(block, LEGACY, device=where)),
        ):
            assert (made.__dlpack_device__(), made.device) == (where, where)
        assert ASKED not in stand_in.calls()

    def test_made_by_hand_without_an_ordinal(self, stand_in: StandIn) -> None:
        block = Block(stand_in, 1)
        for part in (minimal.Buffer, Buffer):
            assert part(block.address, SIZE, owner=block, device=(2, None)).__dlpack_device__() == (2, 1)


def _by_interface(obj: Any) -> bytes:
    assert obj.__array_interface__, "NumPy takes what lacks it for an object, and no memory"
    return np.asarray(only(obj, "array_interface")).tobytes()


# Every way by which the host reads a buffer.
READS: dict[str, Callable[[Any], bytes]] = {
    "as_ndarray": lambda obj: as_ndarray(obj).tobytes(),
    "part": lambda obj: as_ndarray(obj, shape=SIZE, offset=0).tobytes(),
    "as_memoryview": lambda obj: as_memoryview(obj).tobytes(),
    "memoryview": lambda obj: obj.memoryview().tobytes(),
    "__array__": lambda obj: np.asarray(only(obj, "array")).tobytes(),
    "__array_interface__": _by_interface,
    "pickle": lambda obj: as_ndarray(pickle.loads(pickle.dumps(obj))).tobytes(),  # noqa: S301 - our own
    "minimal": lambda obj: minimal.as_ndarray(minimal.as_buffer(obj)).tobytes(),
    "column": lambda obj: bytes(as_column(obj).tolist()),
    "arrow": lambda obj: bytes(as_column(only(obj, "arrow_c_array")).tolist()),
}
# And what gives an address to those who read it themselves.
GIVES: dict[str, Callable[[Any], int]] = {
    "__array_interface__": lambda obj: obj.__array_interface__["data"][0],
    "to_host": lambda obj: obj.to_host().ptr,
    "dl_device": lambda obj: read_struct(obj.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))["data"],
}
SOURCES: dict[str, Callable[[Block, int], Any]] = {
    "interface": lambda block, handle: Described(block, stream=handle),
    "dlpack": Exporting,
    "table": tabled,
}


class TestHost:
    @pytest.mark.parametrize("read", [*READS, *(f"address by {name}" for name in GIVES)])
    @pytest.mark.parametrize("source", SOURCES)
    @pytest.mark.parametrize("kind", ["pinned", "managed"])
    def test_it_reads_what_was_queued(self, stand_in: StandIn, kind: str, source: str, read: str) -> None:
        block, handle = late(stand_in, kind=kind)
        if (kind, source) == ("pinned", "dlpack"):  # its producers have nobody's stream to order: it is ready
            stand_in.call("cudaStreamSynchronize", handle)
        else:
            assert ctypes.string_at(block.address, SIZE) == OLD
        buffer = as_buffer(SOURCES[source](block, handle))
        if read in READS:
            assert READS[read](buffer) == NEW
        else:
            assert GIVES[read.removeprefix("address by ")](buffer) == block.address
            assert ctypes.string_at(block.address, SIZE) == NEW

    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("kind", ["pinned", "managed"])
    def test_nobody_waits_for_what_is_ready(self, stand_in: StandIn, kind: str, read: str) -> None:
        block = Block(stand_in, kind=kind)
        buffer = Buffer(block.address, SIZE, owner=block, device=block.pair)
        stand_in.forget_calls()
        assert READS[read](buffer) == OLD
        assert stand_in.calls() == []

    def test_it_waits_once(self, stand_in: StandIn) -> None:
        buffer = as_buffer(Exporting(*late(stand_in, kind="managed")))
        stand_in.forget_calls()
        for _ in range(3):
            as_ndarray(buffer)
        assert stand_in.calls().count("cudaStreamSynchronize") == 1

    def test_it_writes_too(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, kind="managed")
        as_ndarray(as_buffer(Exporting(block, handle)))[:8] = 7
        assert stand_in.read(block.address, SIZE) == b"\x07" * 8 + NEW[8:]

    @pytest.mark.parametrize("kind", ["pinned", "managed"])
    def test_columns_and_tables(self, stand_in: StandIn, kind: str) -> None:
        expected = np.frombuffer(NEW, "<i8").tolist()
        for read in (
            lambda obj: as_column(obj).tolist(),
            lambda obj: np.asarray(as_column(obj)).tolist(),
            lambda obj: np.asarray(as_table({"n": obj}))[:, 0].tolist(),
            lambda obj: minimal.column_to_ndarray(as_column(obj)).values.tolist(),
        ):
            block, handle = late(stand_in, kind=kind)
            assert read(Described(block, typestr="<i8", shape=(8,), stream=handle)) == expected
        block, handle = late(stand_in, kind="managed")
        assert as_column(Exporting(block, handle, dtype=(0, 64, 1), shape=(8,))).tolist() == expected


class TestNever:
    """Memory of a device is not read by the host: the child that tries is told, and lives."""

    @pytest.mark.parametrize("read", READS)
    @pytest.mark.parametrize("source", ["interface", "dlpack", "by hand"])
    @pytest.mark.parametrize("device", [0, 1])
    def test_it_is_refused(self, stand_in: StandIn, device: int, source: str, read: str) -> None:
        block, handle = late(stand_in, device=device)
        if source == "by hand":
            buffer = Buffer(block.address, SIZE, owner=block, device=block.pair)
        else:
            buffer = as_buffer(SOURCES[source](block, handle))
            buffer.device  # noqa: B018 - no driver survives a fork: the ordinal is asked for before
        refused(lambda: READS[read](buffer), DeviceError, ProducerError)

    def test_the_child_would_die_of_it(self, stand_in: StandIn) -> None:
        block = Block(stand_in)
        wrong = Buffer(block.address, SIZE, owner=block)  # said to be the host's
        for read in READS.values():
            assert child(lambda read=read: read(wrong)).signal

    def test_what_describes_it_reads_nothing(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, device=1)
        column = as_column(Exporting(block, handle))
        buffer = column.data
        assert buffer is not None
        assert "CUDA device 1" in repr(column)
        assert (column[3:9].size(), column.null_count, buffer.readonly) == (6, 0, False)
        assert column.__dlpack__(max_version=(1, 3)) is not None
        assert as_table({"n": column}).__dlpack_device__() == (2, 1)
        assert [each.ptr for each in live_exports() if each.owner is block] == []
        assert seen(stand_in, block.address) == OLD


class TestToHost:
    @pytest.mark.parametrize("copy", [None, True])
    @pytest.mark.parametrize("source", ["dlpack", "table", "interface"])
    @pytest.mark.parametrize(("device", "current"), [(0, 1), (1, 0), (1, 1)])
    def test_by_dlpack(self, stand_in: StandIn, device: int, current: int, source: str, copy: bool | None) -> None:
        block, handle = late(stand_in, device=device)
        with stand_in.on(current):
            buffer = as_buffer(SOURCES[source](block, handle))
            capsule = buffer.__dlpack__(dl_device=(1, 0), copy=copy, max_version=(1, 3))
            assert stand_in.number("cudaGetDevice") == current
        said = read_struct(capsule)
        assert (said["device"], said["shape"], said["flags"]) == ((1, 0), (SIZE,), IS_COPIED)
        assert said["data"] != block.address
        assert ctypes.string_at(said["data"], SIZE) == NEW

    def test_the_copy_is_the_hosts_own(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, device=1)
        before, freed = stand_in.used(1), block.freed
        buffer = as_buffer(Exporting(block, handle))
        copy = buffer.to_host()
        assert (copy.device, copy.bufsize, copy.readonly) == ((DeviceType.CPU, 0), SIZE, False)
        assert stand_in.used(1) == before
        del block, buffer
        assert (freed, as_memoryview(copy).tobytes()) == ([0], NEW)

    def test_a_copy_that_is_not_asked_for_is_refused(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        buffer = as_buffer(Exporting(block, handle))
        for options in ({"dl_device": (1, 0), "copy": False}, {"dl_device": (2, 1)}, {"copy": True}):
            refusal(lambda options=options: buffer.__dlpack__(**options), BufferError)
        assert seen(stand_in, block.address) == OLD

    def test_a_stream_is_no_argument_of_a_copy_to_the_host(self, stand_in: StandIn) -> None:
        buffer = as_buffer(Exporting(*late(stand_in)))
        refusal(lambda: buffer.__dlpack__(dl_device=(1, 0), stream=side(stand_in)), ValueError)

    @pytest.mark.parametrize("steps", [(2,), (-1,)])
    def test_strided(self, stand_in: StandIn, steps: tuple[int]) -> None:
        block = Block(stand_in)
        strided = {"shape": (SIZE // 2,), "strides": steps}
        start = block.address + (0 if steps[0] > 0 else SIZE - 1)
        obj = Described(block, data=(start, False), **strided)
        assert "contiguous" in refusal(lambda: as_buffer(obj), CopyRequiredError)
        column = as_column(obj)
        assert read_struct(column.__dlpack__(max_version=(1, 3)))["strides"] == steps
        assert "strided" in refusal(lambda: column.__dlpack__(dl_device=(1, 0)), BufferError)
        refusal(column.tolist, DeviceError)

    def test_other_devices_are_copied_by_their_own_library(self) -> None:
        for where in ((10, 0), (14, 0), (99, 1)):
            buffer = Buffer(0xDEAD0000, 8, owner=STATIC, device=where)
            assert "ask its own library" in refusal(buffer.to_host, DeviceError)

    def test_nothing(self, stand_in: StandIn) -> None:
        empty = Buffer(0, 0, owner=STATIC, device=(2, 1))
        stand_in.forget_calls()
        assert (empty.to_host().bufsize, stand_in.calls()) == (0, [])

    def test_beyond_the_block(self, stand_in: StandIn) -> None:
        block = Block(stand_in)
        longer = Buffer(block.address, SIZE + 1, owner=block, device=block.pair)
        text = refusal(longer.to_host, DeviceError)
        assert f"copying {SIZE + 1} bytes from CUDA device 0 to the host failed: CUDA error 1, " in text
        assert stand_in.call("cudaGetLastError") == contract.SUCCESS


def test_a_capsule_that_nobody_takes_gives_its_memory_back(stand_in: StandIn) -> None:
    block = Block(stand_in)
    freed = block.freed
    capsule = lent(block, data=block.address, device=block.pair)
    del block
    assert freed == []
    del capsule
    assert freed == [contract.SUCCESS]
