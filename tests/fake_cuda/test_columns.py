"""Columns and tables in memory of devices: Arrow's device arrays with events that happen, and every layout of a column.

What is expected: Apache Arrow, "The Arrow C device data interface" and "Arrow Columnar Format"; Numba, "CUDA Array
Interface (Version 3)"; the dataframe interchange protocol.
"""

import ctypes
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, as_buffer, as_column, as_memoryview, as_table
from buflend.shared import DeviceError, cuda
from buflend.shared.interchange import NullKind

from .. import arrow_producer
from ..arrow_producer import Lie, Log, Script
from ..capsules import Producer, read_struct, struct_of
from ..hand import i8, i32, i64, inline
from ..kinds import KINDS, alike, made
from ..only import only
from .hooks import StandIn
from .lenders import (
    LEGACY,
    NEW,
    OLD,
    PER_THREAD,
    SIZE,
    Arrow,
    Block,
    Exporting,
    event_behind,
    late,
    refusal,
    seen,
    seen_on,
    side,
)

DEVICES = pytest.mark.parametrize("device", [0, 1])
NUMBERS = np.frombuffer(NEW, "<i8").tolist()


def host_bytes(buffer: Buffer | None) -> bytes:
    assert buffer is not None
    return as_memoryview(buffer.to_host()).tobytes()


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the bytes of each copy from a device that the library makes."""
    sizes: list[int] = []
    to_host = cuda.to_host

    def noting(owner: object, tensor: Any) -> bytearray:
        sizes.append(tensor.nbytes)
        return to_host(owner, tensor)

    monkeypatch.setattr(cuda, "to_host", noting)
    return sizes


class TestArrowIn:
    @pytest.mark.parametrize("stream", [0, LEGACY, PER_THREAD], ids=["side", "legacy", "per-thread"])
    @pytest.mark.parametrize("current", [0, 1])
    @DEVICES
    def test_the_one_offset_that_is_read_is_read_after_the_event(
        self, stand_in: StandIn, device: int, current: int, stream: int, copied: list[int]
    ) -> None:
        offsets, handle = late(stand_in, stream, device, old=i32(0, 0, 0, 9), new=i32(0, 1, 2, 3))
        text = Block(stand_in, device, content=b"abcdefgh")
        obj = Arrow(
            Lie("u", 3, [None, offsets.address, text.address]), (2, device), event_behind(stand_in, handle, device)
        )
        with stand_in.on(current):
            stand_in.forget_calls()
            column = as_column(obj)
            assert stand_in.calls()[0] == "cudaEventSynchronize"
            assert stand_in.number("cudaGetDevice") == current
        assert (column.data.bufsize, column.data.ptr) == (3, text.address)  # type: ignore[union-attr]
        assert (column.device, column.offsets.ptr) == ((2, device), offsets.address)  # type: ignore[union-attr]
        assert copied == [4]
        assert host_bytes(column.offsets) == i32(0, 1, 2, 3)

    def test_without_an_event_it_is_ready(self, stand_in: StandIn, copied: list[int]) -> None:
        offsets, _ = late(stand_in, old=i32(0, 2), new=i32(0, 4))  # queued by somebody who says nothing of it
        text = Block(stand_in, content=b"abcd")
        stand_in.forget_calls()
        column = as_column(Arrow(Lie("u", 1, [None, offsets.address, text.address]), (2, 0)))
        assert "cudaEventSynchronize" not in stand_in.calls()
        assert (column.data.bufsize, copied) == (2, [4])  # type: ignore[union-attr]
        assert host_bytes(column.data) == b"ab"

    @DEVICES
    def test_numbers_are_ready_and_not_read(self, stand_in: StandIn, device: int, copied: list[int]) -> None:
        block, handle = late(stand_in, device=device)
        obj = Arrow(Lie("l", 8, [None, block.address]), (2, device), event_behind(stand_in, handle, device))
        stand_in.forget_calls()
        column = as_column(obj)
        assert (stand_in.calls(), copied) == (["cudaEventSynchronize"], [])
        assert seen(stand_in, block.address) == NEW
        consumer = side(stand_in, device)
        stand_in.forget_calls()
        assert column.__cuda_array_interface__["stream"] is None
        column.__dlpack__(stream=consumer, max_version=(1, 3))
        assert stand_in.calls() == []

    def test_what_comes_after_the_event_is_not_waited_for(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        event = event_behind(stand_in, handle, 0)
        block.queue(b"z" * SIZE, handle)
        as_column(Arrow(Lie("C", SIZE, [None, block.address]), (2, 0), event))
        assert seen(stand_in, block.address) == NEW

    @pytest.mark.parametrize(("kind", "number"), [("pinned", 3), ("managed", 13)])
    def test_the_host_reads_after_the_event(self, stand_in: StandIn, kind: str, number: int, copied: list[int]) -> None:
        offsets, handle = late(stand_in, kind=kind, old=i32(0, 0, 0), new=i32(0, 2, 3))
        text, _ = late(stand_in, handle, kind=kind, old=b"???", new=b"abc")
        obj = Arrow(Lie("u", 2, [None, offsets.address, text.address]), (number, 0), event_behind(stand_in, handle, 0))
        assert (as_column(obj).tolist(), copied) == (["ab", "c"], [])

    def test_a_table_waits_once_and_each_field_has_its_own_owner(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, device=1)
        other = Block(stand_in, 1, content=i8(1, 2, 3))
        children = [Lie("l", 3, [None, block.address], name="n"), Lie("c", 3, [None, other.address], name="m")]
        obj = Arrow(Lie("+s", 3, [None], children=children), (2, 1), event_behind(stand_in, handle, 1))
        stand_in.forget_calls()
        table = as_table(obj)
        assert stand_in.calls() == ["cudaEventSynchronize"]
        assert {column.device for column in table.columns} == {(2, 1)}
        last = table["m"]
        del table
        assert obj.log.arrays == ["", "n"]
        del last
        assert obj.log.arrays == ["", "n", "m"]

    @pytest.mark.parametrize("place", ["device", "host"])
    def test_the_sizes_of_views_may_lie_on_either_side(self, stand_in: StandIn, place: str, copied: list[int]) -> None:
        """Device pointers by the specification; exporters that copy nothing have them where they counted."""
        text, views = Block(stand_in, 1), Block(stand_in, 1, content=inline(b"abc"))
        sizes = Block(stand_in, 1, content=i64(SIZE))
        where = sizes.address if place == "device" else arrow_producer.keep(ctypes.c_int64(SIZE))
        column = as_column(Arrow(Lie("vu", 1, [None, views.address, text.address, where]), (2, 1)))
        assert [(each.ptr, each.bufsize) for each in column.variadic] == [(text.address, SIZE)]
        assert copied == [8] * (place == "device")

    @DEVICES
    def test_streams_of_arrays_each_with_an_event(self, stand_in: StandIn, device: int) -> None:
        pairs = [late(stand_in, device=device) for _ in range(3)]
        events = [arrow_producer.keep(ctypes.c_void_p(event_behind(stand_in, it, device))) for _, it in pairs]
        chunks = iter([(Lie("l", 8, [None, each.address]), event) for (each, _), event in zip(pairs, events)])  # noqa: B905 - made so
        log = Log()

        def get_next(_: int, out: int) -> int:
            given = next(chunks, None)
            if given is None:
                arrow_producer.Array.from_address(out).release = None
                return 0
            arrow_producer.fill_array(arrow_producer.Array.from_address(out), given[0], log)
            whole = arrow_producer.DeviceArray.from_address(out)
            whole.device_type, whole.device_id, whole.sync_event = 2, device, given[1]
            return 0

        answers = arrow_producer.address_of(arrow_producer.Fill(get_next))
        script = Script(Lie("l", 0), [], device=2, stream={"get_next": answers})
        obj = type("Offering", (), {"__arrow_c_device_stream__": lambda _: arrow_producer.stream(script, log)})()
        stand_in.forget_calls()
        column = as_column(obj)
        assert stand_in.calls() == ["cudaEventSynchronize"] * 3
        assert [chunk.device for chunk in column.chunks] == [(2, device)] * 3
        assert [seen(stand_in, block.address) for block, _ in pairs] == [NEW] * 3
        assert (log.streams, log.arrays) == (1, [])
        del column
        assert log.arrays == [""] * 3


def pointers(array: Any) -> Iterator[int]:
    """Yield all buffers of an ArrowArray that are there, and of all arrays below it."""
    if array.buffers:
        yield from filter(None, (ctypes.c_void_p * array.n_buffers).from_address(array.buffers))
    nested = [*(ctypes.c_void_p * array.n_children).from_address(array.children)] if array.n_children else []
    for address in [*nested, *([array.dictionary] if array.dictionary else [])]:
        yield from pointers(arrow_producer.Array.from_address(address))


class Places:
    """Buffers of bytes that are queued, and came by DLPack: ready in the order of the default stream."""

    def __init__(self, cuda: StandIn, kind: str, device: int) -> None:
        self.cuda, self.kind, self.device = cuda, kind, device
        self.contents: list[tuple[Block, bytes]] = []

    def __call__(self, content: bytes) -> Buffer:
        block, handle = late(self.cuda, 0, self.device, self.kind, new=content, old=bytes(len(content)))
        self.contents.append((block, content))
        return as_buffer(Exporting(block, handle))

    def ready(self) -> bool:
        return all(seen(self.cuda, block.address, block.size) == content for block, content in self.contents)


class TestEveryLayout:
    @pytest.mark.parametrize("name", KINDS)
    def test_the_host_reads_none_of_a_device(self, stand_in: StandIn, name: str) -> None:
        place = Places(stand_in, "device", 1)
        column = made(KINDS[name], place)
        refusal(column.tolist, DeviceError)
        if "arrow" in KINDS[name].copies or column.variadic:  # of views the sizes would have to be copied there
            refusal(column.__arrow_c_device_array__, DeviceError)

    @pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "arrow" in kind.says and name != "views"])
    @DEVICES
    def test_out_by_arrow_the_memory_is_ready(self, stand_in: StandIn, device: int, name: str) -> None:
        place = Places(stand_in, "device", device)
        column = made(KINDS[name], place)
        assert not place.ready()
        _, capsule = column.__arrow_c_device_array__()
        assert place.ready()
        assert stand_in.number("cudaGetDevice") == 0
        said = arrow_producer.DeviceArray.from_address(struct_of(capsule))
        assert (said.device_type, said.device_id, said.sync_event) == (2, device, None)
        found = [stand_in.attributes(pointer)[1:] for pointer in pointers(said.array)]
        assert set(found) <= {(2, device)}, "nothing of the host's"
        assert len(found) >= len(place.contents)

    @pytest.mark.parametrize("name", KINDS)
    def test_of_managed_memory_the_host_reads_the_new_values(self, stand_in: StandIn, name: str) -> None:
        column = made(KINDS[name], Places(stand_in, "managed", 0))
        assert alike(column.tolist()) == alike(KINDS[name].values)

    @pytest.mark.parametrize("out", ["interchange", "arrow"])
    @pytest.mark.parametrize("name", KINDS)
    def test_what_gives_addresses_of_managed_memory_has_waited(self, stand_in: StandIn, name: str, out: str) -> None:
        place = Places(stand_in, "managed", 0)
        column = made(KINDS[name], place)

        def gives() -> object:
            return column.__arrow_c_array__() if out == "arrow" else column.for_interchange().get_buffers()

        if out in KINDS[name].says + KINDS[name].copies:
            assert gives()
            assert place.ready()
        else:
            refusal(gives, (TypeError, AttributeError))

    @pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "cuda" in kind.says])
    @DEVICES
    def test_out_by_the_array_interface(self, stand_in: StandIn, device: int, name: str) -> None:
        place = Places(stand_in, "device", device)
        column = made(KINDS[name], place)
        said = column.__cuda_array_interface__
        assert said["stream"] == LEGACY
        assert not place.ready()
        again = as_column(only(column, "cuda_array_interface"))
        assert place.ready(), "the mask's stream, too"
        assert (again.size(), again.device, again.strides) == (column.size(), (2, device), column.strides)

    @pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if "dlpack" in kind.says])
    @DEVICES
    def test_out_by_dlpack(self, stand_in: StandIn, device: int, name: str) -> None:
        place = Places(stand_in, "device", device)
        column = made(KINDS[name], place)
        stream = side(stand_in, device)
        said = read_struct(column.__dlpack__(stream=stream, max_version=(1, 3)))
        ((block, content),) = place.contents
        assert (said["device"], said["shape"]) == ((2, device), (column.size(),))
        assert seen_on(stand_in, block.address, stream, device, block.size) == content


class TestTables:
    def lent(self, cuda: StandIn, device: int, columns: int = 2) -> tuple[Block, Any]:
        """Return a block that is a table of int64 whose columns follow one another, late, and the table."""
        block, handle = late(cuda, device=device)
        buffer = as_buffer(Exporting(block, handle))
        rows = SIZE // 8 // columns
        return block, as_table(
            {f"{i}": Column("l", rows, data=buffer, byte_offset=8 * rows * i) for i in range(columns)}
        )

    @DEVICES
    def test_as_one_array(self, stand_in: StandIn, device: int) -> None:
        block, table = self.lent(stand_in, device)
        said = table.__cuda_array_interface__
        assert (said["shape"], said["strides"], said["stream"]) == ((4, 2), (8, 32), LEGACY)
        assert said["data"] == (block.address, False)
        stream = side(stand_in, device)
        capsule = table.__dlpack__(stream=stream, max_version=(1, 3))
        assert (read_struct(capsule)["shape"], read_struct(capsule)["strides"]) == ((4, 2), (1, 4))
        assert seen_on(stand_in, block.address, stream, device) == NEW

    def test_by_arrow(self, stand_in: StandIn) -> None:
        block, table = self.lent(stand_in, 1)
        said = arrow_producer.DeviceArray.from_address(struct_of(table.__arrow_c_device_array__()[1]))
        assert (said.device_type, said.device_id, said.sync_event, said.array.n_children) == (2, 1, None, 2)
        assert (seen(stand_in, block.address), [*pointers(said.array)]) == (
            NEW,
            [block.address, block.address + 32],
        )

    def test_of_managed_memory_the_host_sees_the_new_values(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in, kind="managed")
        table = as_table({"n": as_column(Exporting(block, handle, dtype=(0, 64, 1), shape=(8,)))})
        assert ctypes.string_at(block.address, SIZE) == OLD
        assert np.asarray(table)[:, 0].tolist() == NUMBERS

    def test_of_rocm_keeps_its_order(self) -> None:
        """Its default stream has the number 0, which is one."""
        columns: list[Callable[[Any], Any]] = [as_column, lambda obj: as_table({"n": obj})]
        for level in columns:
            lent = level(Producer(device=(10, 0), dtype=(0, 64, 1), shape=(8,)))
            assert read_struct(lent.__dlpack__(stream=0, max_version=(1, 3)))["device"] == (10, 0)
            assert "default stream" in refusal(lambda lent=lent: lent.__dlpack__(stream=12345), BufferError)


def test_a_mask_of_bytes_goes_out_and_comes_in(stand_in: StandIn) -> None:
    values, mask = late(stand_in, device=1), late(stand_in, device=1, old=bytes(8), new=i8(1, 0, 1, 1, 1, 1, 1, 1))
    column = Column(
        "l",
        8,
        data=as_buffer(Exporting(*values)),
        validity=as_buffer(Exporting(*mask)),
        null=(NullKind.USE_BYTEMASK, 0),
    )
    assert column.null_count is None, "the host cannot look"
    again = as_column(only(column, "cuda_array_interface"))
    assert again.describe_null == (NullKind.USE_BYTEMASK, 0)
    assert host_bytes(again.validity) == i8(1, 0, 1, 1, 1, 1, 1, 1)
    assert struct.unpack("<8q", host_bytes(again.data)) == tuple(NUMBERS)
