"""Who waits for whom, seen in the bytes: the stand-in does queued work when it is waited for, and in no other way.

What is expected: Python array API standard 2025.12, `array.__dlpack__`; Numba, "CUDA Array Interface (Version 3)",
"Synchronization"; `dlpack.h` 1.3, `DLPackExchangeAPI`.
"""

from collections.abc import Callable
from typing import Any

import pytest

from buflend.maximal import as_buffer, as_column, as_memoryview, as_table, cuda_array_interface
from buflend.shared import DeviceError, ProducerError

from ..capsules import read_struct
from ..only import only
from .hooks import StandIn
from .lenders import (
    LEGACY,
    NEW,
    OLD,
    PER_THREAD,
    SIZE,
    Block,
    Described,
    Exporting,
    late,
    refusal,
    seen,
    seen_on,
    side,
    tabled,
)

SIDE = 0  # a stream of the producer's own
STREAMS = pytest.mark.parametrize("stream", [SIDE, LEGACY, PER_THREAD], ids=["side", "legacy", "per-thread"])
# The device of the memory, and the one that is current.
PLACES = pytest.mark.parametrize(
    "place", [(0, 0), (0, 1), (1, 0), (1, 1)], ids=lambda place: f"{place[0]}-while-{place[1]}"
)
LEVELS: dict[str, Callable[[Any], Any]] = {"buffer": as_buffer, "column": as_column}
BY_EVENT = ["cudaEventCreateWithFlags", "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventDestroy"]


def ordering(calls: list[str]) -> list[str]:
    """Return calls without those that ask for and set the current device."""
    return [name for name in calls if name not in ("cudaGetDevice", "cudaSetDevice")]


def to_host(made: Any) -> bytes:
    """Return the bytes of a buffer, or of a column's values, copied by the library."""
    return as_memoryview((made if hasattr(made, "to_host") else made.data).to_host()).tobytes()


# How a consumer gets at what was read in: name -> the bytes that it sees. No way waits for the producer by itself.
WAYS: dict[str, Callable[[StandIn, Any, Block], bytes]] = {
    "another stream": lambda cuda, _, block: seen(cuda, block.address),
    "a stream of the other device": lambda cuda, _, block: seen_on(
        cuda, block.address, side(cuda, 1 - block.device), 1 - block.device
    ),
    "a bare copy": lambda cuda, _, block: cuda.read(block.address, SIZE),
    "to_host": lambda _cuda, made, _block: to_host(made),
}


class TestCudaArrayInterface:
    """The producer names its stream, and the consumer waits."""

    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("level", LEVELS)
    @STREAMS
    @PLACES
    def test_the_new_bytes(self, stand_in: StandIn, place: tuple[int, int], stream: int, level: str, way: str) -> None:
        device, current = place
        block, handle = late(stand_in, stream, device)
        assert seen(stand_in, block.address) == OLD
        with stand_in.on(current):
            made = LEVELS[level](Described(block, stream=handle))
            assert stand_in.number("cudaGetDevice") == current
            assert WAYS[way](stand_in, made, block) == NEW
            assert stand_in.number("cudaGetDevice") == current

    @pytest.mark.parametrize("level", LEVELS)
    def test_or_the_old_ones_where_nobody_waited(
        self, stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, level: str
    ) -> None:
        for module in ("cuda_array_interface", "column_interface"):
            monkeypatch.setattr(f"buflend.maximal.{module}.wait", lambda *_: None)
        block, handle = late(stand_in)
        LEVELS[level](Described(block, stream=handle))
        assert seen(stand_in, block.address) == OLD

    @pytest.mark.parametrize("device", [0, 1])
    def test_default_streams_are_those_of_the_memorys_device(self, stand_in: StandIn, device: int) -> None:
        block, other = late(stand_in, LEGACY, device)[0], late(stand_in, LEGACY, 1 - device)[0]
        as_buffer(Described(block, stream=LEGACY))
        assert (seen(stand_in, block.address), seen(stand_in, other.address)) == (NEW, OLD)

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("kind", ["pinned", "managed"])
    @pytest.mark.parametrize("stream", [LEGACY, PER_THREAD])
    @PLACES
    def test_so_are_they_of_memory_that_the_host_reads(
        self, stand_in: StandIn, place: tuple[int, int], stream: int, kind: str, level: str
    ) -> None:
        device, current = place
        block, _ = late(stand_in, stream, device, kind)
        with stand_in.on(current):
            LEVELS[level](Described(block, stream=stream))
        assert seen(stand_in, block.address) == NEW

    @pytest.mark.parametrize("level", LEVELS)
    def test_one_call_waits(self, stand_in: StandIn, level: str) -> None:
        block, handle = late(stand_in, device=1)
        obj = Described(block, stream=handle)
        stand_in.forget_calls()
        made = LEVELS[level](obj)
        assert ordering(stand_in.calls()) == ["cudaPointerGetAttributes", "cudaStreamSynchronize"]
        stand_in.forget_calls()
        assert made.__cuda_array_interface__["stream"] is None
        made.__dlpack__(stream=side(stand_in), max_version=(1, 3))
        assert "cudaEventRecord" not in stand_in.calls(), "it is ready"
        assert obj.asked == 1

    @pytest.mark.parametrize("level", LEVELS)
    @pytest.mark.parametrize("fields", [{}, {"stream": None}], ids=["absent", "None"])
    def test_without_a_stream_nothing_is_asked(self, stand_in: StandIn, level: str, fields: dict[str, None]) -> None:
        obj = Described(late(stand_in)[0], **fields)
        stand_in.forget_calls()
        LEVELS[level](obj)
        assert stand_in.calls() == []

    @pytest.mark.parametrize("level", LEVELS)
    def test_0_is_forbidden(self, stand_in: StandIn, level: str) -> None:
        block, _ = late(stand_in, LEGACY)
        stand_in.forget_calls()
        assert "0 is forbidden" in refusal(lambda: LEVELS[level](Described(block, stream=0)), ProducerError)
        assert stand_in.calls() == []
        mask = Described(Block(stand_in), stream=0)
        text = refusal(lambda: as_column(Described(block, mask=mask)), ProducerError)
        assert "['mask']['stream']" in text

    def test_a_mask_has_a_stream_of_its_own(self, stand_in: StandIn) -> None:
        values, first = late(stand_in, device=1)
        mask, second = late(stand_in, LEGACY, device=1)
        column = as_column(Described(values, stream=first, mask=Described(mask, stream=second)))
        assert column.validity is not None
        assert (column.validity.ptr, seen(stand_in, mask.address), seen(stand_in, values.address)) == (
            mask.address,
            NEW,
            NEW,
        )

    def test_a_stream_that_was_destroyed_is_told(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        stand_in.call("cudaStreamDestroy", handle)
        assert "CUDA error 400" in refusal(lambda: as_buffer(Described(block, stream=handle)), DeviceError)

    def test_the_unordered_reader_leaves_the_order_to_its_caller(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        found = cuda_array_interface.read_unordered(Described(block, stream=handle))
        assert found is not None
        assert (found[-1], seen(stand_in, block.address)) == (handle, OLD)


class TestDlpack:
    """The consumer names its stream, and the producer puts it behind its own."""

    @pytest.mark.parametrize("level", LEVELS)
    @PLACES
    def test_in_the_default_stream_is_asked_for(self, stand_in: StandIn, place: tuple[int, int], level: str) -> None:
        device, current = place
        block, handle = late(stand_in, device=device)
        producer = Exporting(block, handle)
        with stand_in.on(current):
            stand_in.forget_calls()
            made = LEVELS[level](producer)
            assert producer.asked == [LEGACY]
            assert ordering(stand_in.calls()) == BY_EVENT, "those of the producer: the host waits for nothing"
            assert seen(stand_in, block.address) == OLD
            assert stand_in.number("cudaGetDevice") == current
            assert to_host(made) == NEW

    @pytest.mark.parametrize("device", [0, 1])
    def test_the_default_stream_sees_the_new_bytes(self, stand_in: StandIn, device: int) -> None:
        block, handle = late(stand_in, device=device)
        as_buffer(Exporting(block, handle))
        assert seen_on(stand_in, block.address, LEGACY, 1 - device) == OLD
        assert seen_on(stand_in, block.address, LEGACY, device) == NEW

    @pytest.mark.parametrize("take", ["buffer", "column", "slice", "part", "table", "again"])
    @pytest.mark.parametrize("consumer", ["side", "per-thread", "of the other device"])
    @pytest.mark.parametrize("device", [0, 1])
    def test_out_another_stream_waits_by_an_event(
        self, stand_in: StandIn, device: int, consumer: str, take: str
    ) -> None:
        block, handle = late(stand_in, device=device)
        producer = Exporting(block, handle)
        made = {
            "buffer": as_buffer,
            "column": as_column,
            "slice": lambda obj: as_column(obj)[8:24],
            "part": lambda obj: as_column(obj).part("data"),
            "table": lambda obj: as_table({"n": obj}),
            "again": lambda obj: as_buffer(only(as_buffer(obj), "dlpack")),
        }[take](producer)
        where = 1 - device if consumer == "of the other device" else device
        stream = PER_THREAD if consumer == "per-thread" else side(stand_in, where)
        assert seen(stand_in, block.address) == OLD
        events = stand_in.events()
        stand_in.forget_calls()
        capsule = made.__dlpack__(stream=stream, max_version=(1, 3))
        assert ordering(stand_in.calls()) == BY_EVENT
        assert (stand_in.events(), stand_in.number("cudaGetDevice")) == (events, 0)
        assert seen(stand_in, block.address) == OLD, "the host has not waited"
        assert read_struct(capsule)["device"] == (2, device)
        assert seen_on(stand_in, block.address, stream, where) == NEW

    @pytest.mark.parametrize("stream", [None, LEGACY, -1])
    @pytest.mark.parametrize("device", [0, 1])
    def test_out_who_needs_no_order_costs_no_call(self, stand_in: StandIn, device: int, stream: int | None) -> None:
        block, handle = late(stand_in, device=device)
        buffer = as_buffer(Exporting(block, handle))
        stand_in.forget_calls()
        buffer.__dlpack__(stream=stream, max_version=(1, 3))
        assert stand_in.calls() == []
        assert seen(stand_in, block.address) == OLD
        assert seen_on(stand_in, block.address, LEGACY, device) == NEW

    @pytest.mark.parametrize("device", [0, 1])
    def test_out_by_the_array_interface_the_stream_is_named(self, stand_in: StandIn, device: int) -> None:
        block, handle = late(stand_in, device=device)
        for made in (as_buffer(Exporting(block, handle)), as_column(Exporting(block, handle))):
            said = made.__cuda_array_interface__
            assert (said["stream"], said["data"][0]) == (LEGACY, block.address)
        assert seen(stand_in, block.address) == OLD
        taken = as_buffer(only(made, "cuda_array_interface"))
        assert (seen(stand_in, block.address), taken.ptr) == (NEW, block.address)

    def test_0_is_forbidden(self, stand_in: StandIn) -> None:
        block, handle = late(stand_in)
        buffer = as_buffer(Exporting(block, handle))
        assert "stream: got 0" in refusal(lambda: buffer.__dlpack__(stream=0), ValueError)
        assert seen_on(stand_in, block.address, LEGACY) == NEW


class TestExchangeTable:
    """The table tells the stream of the producer's work, and leaves the order to the consumer."""

    @STREAMS
    @PLACES
    def test_the_default_stream_is_put_behind_it(self, stand_in: StandIn, place: tuple[int, int], stream: int) -> None:
        device, current = place
        block, handle = late(stand_in, stream, device)
        obj = tabled(block, handle)
        with stand_in.on(current):
            events = stand_in.events()
            stand_in.forget_calls()
            buffer = as_buffer(obj)
            assert ordering(stand_in.calls()) == ([] if stream == LEGACY else BY_EVENT)
            assert (stand_in.events(), stand_in.number("cudaGetDevice")) == (events, current)
        assert (buffer.owner is obj, buffer.device) == (True, (2, device))
        assert seen(stand_in, block.address) == OLD
        consumer = side(stand_in, device)
        buffer.__dlpack__(stream=consumer, max_version=(1, 3))
        assert seen_on(stand_in, block.address, consumer, device) == NEW

    def test_0_means_the_default_stream(self, stand_in: StandIn) -> None:
        block, _ = late(stand_in, LEGACY)
        obj = tabled(block, 0)
        stand_in.forget_calls()
        assert to_host(as_buffer(obj)) == NEW
        assert ordering(stand_in.calls()) == ["cudaMemcpyAsync", "cudaStreamSynchronize"]

    @pytest.mark.parametrize("options", [{}, {"dl_device": (1, 0)}], ids=["as it is", "as the CPU's"])
    def test_who_takes_pinned_memory_has_no_stream_and_reads_at_once(
        self, stand_in: StandIn, options: dict[str, Any]
    ) -> None:
        block, handle = late(stand_in, kind="pinned")
        buffer = as_buffer(tabled(block, handle))
        assert seen(stand_in, block.address) == OLD
        capsule = buffer.__dlpack__(max_version=(1, 3), **options)
        assert read_struct(capsule)["device"] == options.get("dl_device", (3, 0))
        assert seen(stand_in, block.address) == NEW
