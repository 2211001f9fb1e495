"""Streams: who waits for whom, on which device, and that nobody else does. The runtime is a double that writes down.

What is expected: Python array API standard 2025.12, `array.__dlpack__`; Numba, "CUDA Array Interface (Version 3)",
"Synchronization"; NVIDIA, "CUDA Runtime API" (event and stream management); Apache Arrow, "The Arrow C device data
interface", `sync_event`.
"""

import ctypes
import gc
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table
from buflend.shared import DeviceError, ProducerError, cuda, cuda_library
from buflend.shared.device import Device
from buflend.shared.dlpack import Tensor
from buflend.shared.memory import share
from tests import arrow_producer, capsules, cuda_runtime
from tests.capsules import Producer
from tests.only import lend, only

LEGACY_STREAM = 1
OTHER = 0x7F0012345678  # a stream's handle
ORDERED = ["cudaEventCreateWithFlags", "cudaEventRecord", "cudaStreamWaitEvent", "cudaEventDestroy"]


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> cuda_runtime.Runtime:
    return cuda_runtime.install(monkeypatch)


class Described:
    """An object with `__cuda_array_interface__` and nothing else."""

    def __init__(self, **fields: Any) -> None:
        self.memory = (ctypes.c_ubyte * 64)(*range(64))
        data = ctypes.addressof(self.memory), False
        self.__cuda_array_interface__ = {"shape": (64,), "typestr": "|u1", "data": data, "version": 3} | fields


def ordered(runtime: cuda_runtime.Runtime, before: int, after: int, ordinal: int) -> bool:
    """Tell whether all that was done is that one stream waits for the other, on one device, and the host for none."""
    (_, flags), (_, first, recorded), (_, waiting, second, _), (_, destroyed) = runtime.calls
    assert runtime.names() == ORDERED
    assert flags == 2, "an event without a time, which waiting would be slower for"
    assert first == second == destroyed
    assert runtime.devices == [ordinal] * 4
    assert runtime.current == 0, "the device that was current is so again"
    return (recorded, waiting) == (before, after)


def taken(device: tuple[int, int] = (2, 1), **fields: Any) -> tuple[Buffer, Producer]:
    producer = Producer(device=device, **fields)
    return as_buffer(producer), producer


class TestDlpack:
    @pytest.mark.parametrize("device", [(2, 1), (13, 0)])
    def test_the_default_stream_is_asked_for_and_nothing_is_waited_for(
        self, device: tuple[int, int], runtime: cuda_runtime.Runtime
    ) -> None:
        _, producer = taken(device)
        assert producer.asked == [{"max_version": (1, 3), "stream": LEGACY_STREAM}]
        assert not runtime.calls

    @pytest.mark.parametrize("stream", [None, 1, -1])
    @pytest.mark.parametrize("version", [None, (1, 3)])
    def test_out_to_who_needs_no_order(self, stream: int | None, version: Any, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken(flags=0)
        capsule = buffer.__dlpack__(stream=stream, max_version=version)
        assert capsules.read_struct(capsule)["device"] == (2, 1)
        assert not runtime.calls

    @pytest.mark.parametrize("stream", [2, OTHER])
    def test_out_to_another_stream(self, stream: int, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken()
        buffer.__dlpack__(stream=stream, max_version=(1, 3))
        assert ordered(runtime, LEGACY_STREAM, stream, 1)

    @pytest.mark.usefixtures("runtime")
    @pytest.mark.parametrize("version", [None, (1, 3)])
    def test_out_it_keeps_what_it_was_taken_of(self, version: Any) -> None:
        buffer, producer = taken(flags=0)
        capsule = buffer.__dlpack__(stream=OTHER, max_version=version)
        del buffer
        assert not producer.lent[0].deleted
        capsules.consume(capsule)()
        assert len(producer.lent[0].deleted) == 1

    @pytest.mark.parametrize(("device", "stream"), [((2, 1), 0), ((13, 0), 0), ((10, 1), 1), ((10, 1), 2), ((3, 0), 1)])
    def test_out_to_a_stream_that_the_standard_forbids(
        self, device: tuple[int, int], stream: int, runtime: cuda_runtime.Runtime
    ) -> None:
        buffer, _ = taken(device)
        with pytest.raises(ValueError, match=rf"stream: got {stream}"):
            buffer.__dlpack__(stream=stream, max_version=(1, 3))
        assert not runtime.calls

    @pytest.mark.parametrize("fails", ORDERED[:3])
    def test_what_fails_is_told_and_cleared(self, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, fails=fails, status=709)
        buffer, producer = taken()
        with pytest.raises(DeviceError, match=r"CUDA error 709, no luck with 709"):
            buffer.__dlpack__(stream=OTHER, max_version=(1, 3))
        assert (runtime.cleared, runtime.current) == (1, 0)
        made = runtime.names().count(ORDERED[0]) - (fails == ORDERED[0])
        assert runtime.names().count("cudaEventDestroy") == made, "no event is left behind"
        del buffer
        gc.collect()
        assert len(producer.lent[0].deleted) == 1

    def test_an_event_that_cannot_be_destroyed_is_told(self, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, fails="cudaEventDestroy", status=709)
        buffer, _ = taken()
        with pytest.raises(DeviceError, match=r"CUDA error 709, no luck with 709"):
            buffer.__dlpack__(stream=OTHER, max_version=(1, 3))
        assert (runtime.cleared > 0, runtime.current) == (True, 0)

    @pytest.mark.parametrize("stream", [None, 1, 2, OTHER, -1])
    def test_described_memory_is_ready(self, stream: int | None, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = lend(device=(2, 1))
        buffer.__dlpack__(stream=stream, max_version=(1, 3))
        assert not runtime.calls

    def test_nothing_is_ready(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken(shape=(0,), data=0)
        buffer.__dlpack__(stream=OTHER, max_version=(1, 3))
        assert buffer.__cuda_array_interface__["stream"] is None
        assert not runtime.calls

    def test_parts_of_memory_are_as_ready_as_it_is(self, runtime: cuda_runtime.Runtime) -> None:
        producer = Producer(device=(2, 1), dtype=(0, 64, 1), shape=(8,))
        column = as_column(producer)
        assert column[2:4].__cuda_array_interface__["stream"] == LEGACY_STREAM
        column[2:4].part("data").__dlpack__(stream=OTHER, max_version=(1, 3))
        assert ordered(runtime, LEGACY_STREAM, OTHER, 1)

    def test_rocm_has_another_default_and_no_events_here(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, producer = taken((10, 1))
        assert producer.asked[0]["stream"] == 0
        for stream in (None, 0, -1):
            assert capsules.read_struct(buffer.__dlpack__(stream=stream, max_version=(1, 3)))["device"] == (10, 1)
        with pytest.raises(BufferError, match="default stream"):
            buffer.__dlpack__(stream=OTHER, max_version=(1, 3))
        with pytest.raises(DeviceError, match="synchronise the device"):
            buffer.__arrow_c_device_array__()
        assert not runtime.calls

    @pytest.mark.parametrize("device", [(3, 0), (14, 1), (99, 0)])
    def test_devices_without_streams(self, device: tuple[int, int], runtime: cuda_runtime.Runtime) -> None:
        buffer, producer = taken(device)
        assert producer.asked[0]["stream"] is None
        buffer.__dlpack__(max_version=(1, 3))
        buffer.__arrow_c_device_array__()
        assert not runtime.calls

    @pytest.mark.parametrize("device", [(2, 1), (13, 0)])
    def test_a_table_of_columns(self, device: tuple[int, int], runtime: cuda_runtime.Runtime) -> None:
        table = as_table({"n": Producer(device=device, dtype=(0, 64, 1), shape=(8,))})
        table.__dlpack__(stream=OTHER, max_version=(1, 3))
        assert ordered(runtime, LEGACY_STREAM, OTHER, device[1])
        assert table.__cuda_array_interface__["stream"] == LEGACY_STREAM


class TestExchangeTable:
    """The table leaves the order open, and tells the producer's stream (`dlpack.h` 1.3, `current_work_stream`)."""

    @staticmethod
    def made(
        handle: int, status: int = 0, device: tuple[int, int] = (2, 1), **fields: Any
    ) -> tuple[Any, list[tuple[int, int]]]:
        lent, asked = capsules.Lent(), []
        described = capsules.tensor_bytes(lent, device=device, **fields)

        def fill(out: int, _: Any = lent) -> int:
            ctypes.memmove(out, described, len(described))
            return 0

        def stream(kind: int, ordinal: int) -> tuple[int, int]:
            asked.append((kind, ordinal))
            return status, handle

        kind = type("Tabled", (Producer,), {"__dlpack_c_exchange_api__": capsules.table(fill, stream=stream)})
        return kind(device=device, **fields), asked

    @pytest.mark.parametrize("handle", [0, 1])
    def test_the_default_stream_needs_no_call(self, handle: int, runtime: cuda_runtime.Runtime) -> None:
        obj, asked = self.made(handle)
        buffer = as_buffer(obj)
        assert (buffer.device, buffer.owner, asked) == ((2, 1), obj, [(2, 1)])
        assert not obj.asked, "no capsule is made"
        assert buffer.__cuda_array_interface__["stream"] == LEGACY_STREAM
        assert not runtime.calls

    @pytest.mark.parametrize("handle", [2, OTHER])
    def test_another_stream_comes_before_the_default_one(self, handle: int, runtime: cuda_runtime.Runtime) -> None:
        obj, _ = self.made(handle)
        assert as_buffer(obj).device == (2, 1)
        assert ordered(runtime, handle, LEGACY_STREAM, 1)

    @pytest.mark.parametrize(("device", "default"), [((10, 1), 0), ((14, 0), None), ((99, 3), None)])
    def test_other_devices_are_asked_for_a_capsule(
        self, device: tuple[int, int], default: int | None, runtime: cuda_runtime.Runtime
    ) -> None:
        obj, asked = self.made(OTHER, device=device)
        assert as_buffer(obj).device == device
        assert [options["stream"] for options in obj.asked] == [default]
        assert (asked, runtime.calls) == ([], [])

    def test_of_nothing_no_stream_is_asked_for(self, runtime: cuda_runtime.Runtime) -> None:
        obj, asked = self.made(OTHER, shape=(0,), data=0)
        assert as_buffer(obj).__cuda_array_interface__["stream"] is None
        assert (asked, obj.asked, runtime.calls) == ([], [], [])

    def test_a_table_that_does_not_answer(self, runtime: cuda_runtime.Runtime) -> None:
        obj, _ = self.made(0, status=-1)
        with pytest.raises(ProducerError, match="current_work_stream"):
            as_buffer(obj)
        assert not runtime.calls


class TestCudaArrayInterface:
    @pytest.mark.parametrize("make", [as_buffer, as_column], ids=["buffer", "column"])
    @pytest.mark.parametrize("stream", [1, 2, OTHER])
    def test_the_host_waits_and_what_goes_out_is_ready(
        self, make: Callable[[Any], Any], stream: int, runtime: cuda_runtime.Runtime
    ) -> None:
        runtime.ordinal = 1
        made = make(Described(stream=stream))
        assert runtime.calls[-1] == ("cudaStreamSynchronize", stream)
        assert runtime.devices[-1] == 1
        before = list(runtime.calls)
        assert made.__cuda_array_interface__["stream"] is None
        made.__dlpack__(stream=OTHER + 8, max_version=(1, 3))
        assert [call for call in runtime.calls if call not in before] == []

    def test_a_default_stream_is_that_of_the_device_that_managed_memory_was_made_for(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        runtime = cuda_runtime.install(monkeypatch, kind=3, ordinal=1)
        assert as_buffer(Described(stream=LEGACY_STREAM)).device == (13, 0)
        waited = runtime.calls.index(("cudaStreamSynchronize", LEGACY_STREAM))
        assert (runtime.devices[waited], runtime.current) == (1, 0)

    def test_the_stream_of_a_mask_is_waited_for(self, runtime: cuda_runtime.Runtime) -> None:
        mask = Described(typestr="|b1", stream=OTHER)
        as_column(Described(mask=mask))
        assert runtime.calls[-1] == ("cudaStreamSynchronize", OTHER)

    def test_no_stream_is_nothing_to_wait_for(self, runtime: cuda_runtime.Runtime) -> None:
        for fields in ({}, {"stream": None}):
            assert as_buffer(Described(**fields)).__cuda_array_interface__["stream"] is None
        assert not runtime.calls

    @pytest.mark.parametrize("make", [as_buffer, as_column], ids=["buffer", "column"])
    def test_of_nothing_the_stream_is_not_waited_for(
        self, make: Callable[[Any], Any], runtime: cuda_runtime.Runtime
    ) -> None:
        made = make(Described(shape=(0,), data=(0, False), stream=OTHER))
        assert made.__cuda_array_interface__["stream"] is None
        assert "cudaStreamSynchronize" not in runtime.names()

    @pytest.mark.parametrize("make", [as_buffer, as_column], ids=["buffer", "column"])
    def test_zero_is_forbidden(self, make: Callable[[Any], Any], runtime: cuda_runtime.Runtime) -> None:
        with pytest.raises(ProducerError, match="0 is forbidden"):
            make(Described(stream=0))
        assert not runtime.calls

    def test_what_came_by_dlpack_names_the_stream_of_its_order(self) -> None:
        buffer, _ = taken()
        assert buffer.__cuda_array_interface__["stream"] == LEGACY_STREAM
        described, _ = lend(device=(2, 1))
        assert described.__cuda_array_interface__["stream"] is None


def _bytes_of(buffer: Buffer) -> dict[str, Callable[[], bytes]]:
    """Return every way by which the host reads a buffer."""
    return {
        "as_ndarray": lambda: as_ndarray(buffer).tobytes(),
        "part": lambda: as_ndarray(buffer, shape=64, offset=0).tobytes(),
        "as_memoryview": lambda: as_memoryview(buffer).tobytes(),
        "memoryview": lambda: buffer.memoryview().tobytes(),
        "__array__": lambda: np.asarray(only(buffer, "array")).tobytes(),
        "__array_interface__": lambda: np.asarray(only(buffer, "array_interface")).tobytes(),
        "pickle": lambda: as_memoryview(pickle.loads(pickle.dumps(buffer))).tobytes(),  # noqa: S301 - our own
        "dl_device": lambda: as_memoryview(
            as_buffer(_Capsule(buffer.__dlpack__(dl_device=(1, 0), max_version=(1, 3))))
        ).tobytes(),
        "copy": lambda: as_memoryview(
            as_buffer(_Capsule(buffer.__dlpack__(dl_device=(1, 0), copy=True, max_version=(1, 3))))
        ).tobytes(),
        "arrow": lambda: bytes(as_column(only(buffer, "arrow_c_array")).tolist()),
        "to_host": lambda: as_memoryview(buffer.to_host()).tobytes(),
    }


class _Capsule:
    """A producer of one capsule over host memory."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: Any) -> object:
        return self.capsule


READS = sorted(_bytes_of(lend()[0]))


class TestTheHost:
    @pytest.mark.parametrize("read", READS)
    def test_waits_for_managed_memory_before_it_reads(self, read: str, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken((13, 0))
        assert _bytes_of(buffer)[read]() == bytes(range(64))
        assert runtime.calls[:1] == [("cudaStreamSynchronize", LEGACY_STREAM)]

    @pytest.mark.parametrize("read", READS)
    def test_waits_for_no_memory_that_is_ready(self, read: str, runtime: cuda_runtime.Runtime) -> None:
        for device in [(3, 0), (13, 0)]:
            buffer, _ = lend(bytes(range(64)), device=device)
            assert _bytes_of(buffer)[read]() == bytes(range(64))
        assert not runtime.calls

    def test_waits_once(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken((13, 0))
        for _ in range(3):
            as_ndarray(buffer)
        assert runtime.names() == ["cudaStreamSynchronize"]

    def test_waits_for_memory_that_was_handed_on(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken((13, 0))
        part = share(Buffer, buffer, 8, 24)
        assert minimal.as_ndarray(minimal.as_buffer(buffer)).tolist() == list(range(64))
        assert runtime.calls == [("cudaStreamSynchronize", LEGACY_STREAM)]
        assert as_ndarray(part).tolist() == list(range(8, 24))
        assert runtime.names() == ["cudaStreamSynchronize"] * 2

    def test_waits_for_no_part_without_bytes(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken((13, 0))
        assert as_ndarray(share(Buffer, buffer, 8, 8)).tolist() == []
        assert not runtime.calls

    def test_waits_when_memory_that_it_can_read_is_to_be_its_own(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken((13, 0))
        assert buffer.to_host() is buffer
        assert runtime.calls == [("cudaStreamSynchronize", LEGACY_STREAM)]

    @pytest.mark.usefixtures("runtime")
    def test_and_what_it_waited_for_is_ready(self) -> None:
        buffer, _ = taken((13, 0))
        as_ndarray(buffer)
        assert buffer.__cuda_array_interface__["stream"] is None

    @pytest.mark.parametrize("read", READS)
    def test_without_a_driver_in_the_process_nothing_can_be_pending(
        self, read: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cuda_runtime.remove(monkeypatch)
        buffer, _ = taken((13, 0))
        assert _bytes_of(buffer)[read]() == bytes(range(64))

    def test_what_cannot_be_waited_for_is_not_read(self, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.install(monkeypatch, fails="cudaStreamSynchronize")
        buffer, _ = taken((13, 0))
        for _ in range(2):
            with pytest.raises(DeviceError, match="700"):
                as_ndarray(buffer)

    def test_never_reads_memory_of_the_device(self, runtime: cuda_runtime.Runtime) -> None:
        buffer, _ = taken()
        for read in ("as_ndarray", "as_memoryview", "part", "pickle"):
            with pytest.raises(DeviceError):
                _bytes_of(buffer)[read]()
        assert not runtime.calls

    @pytest.mark.parametrize("read", ["to_host", "dl_device", "copy"])
    def test_copies_when_asked_in_the_order_of_the_stream(self, read: str, runtime: cuda_runtime.Runtime) -> None:
        buffer, producer = taken()
        assert _bytes_of(buffer)[read]() == bytes(range(64))
        assert runtime.calls == [
            ("cudaMemcpyAsync", producer.lent[0].ptr, 64, 2, LEGACY_STREAM),
            ("cudaStreamSynchronize", LEGACY_STREAM),
        ]
        assert (runtime.devices, runtime.current) == ([1, 1], 0)

    def test_copies_no_strided_memory(self, runtime: cuda_runtime.Runtime) -> None:
        tensor = Tensor(0xDEAD0000, (4,), (2,), device=Device(2, 1))
        with pytest.raises(BufferError, match="contiguous on the device first"):
            cuda.to_host(self, tensor)
        assert not runtime.calls

    @pytest.mark.parametrize("fails", ["cudaMemcpyAsync", "cudaStreamSynchronize"])
    def test_a_copy_that_fails(self, fails: str, monkeypatch: pytest.MonkeyPatch) -> None:
        runtime = cuda_runtime.install(monkeypatch, fails=fails)
        buffer, _ = taken()
        with pytest.raises(
            DeviceError, match=r"copying 64 bytes from CUDA device 1 to the host failed: CUDA error 700"
        ):
            buffer.to_host()
        assert (runtime.cleared, runtime.current) == (1, 0)

    @pytest.mark.parametrize("stream", [2, OTHER])
    def test_copies_in_the_order_of_any_stream(self, stream: int, runtime: cuda_runtime.Runtime) -> None:
        memory = (ctypes.c_ubyte * 64)(*range(64))
        tensor = Tensor(ctypes.addressof(memory), (64,), (1,), device=Device(2, 1), stream=stream)
        assert cuda.to_host(memory, tensor) == bytes(range(64))
        assert [(name, of) for name, *_, of in runtime.calls] == [
            ("cudaMemcpyAsync", stream),
            ("cudaStreamSynchronize", stream),
        ]

    def test_columns_of_managed_memory(self, runtime: cuda_runtime.Runtime) -> None:
        column = as_column(Producer(device=(13, 0), dtype=(0, 64, 1), shape=(8,)))
        expected = np.arange(64, dtype="u1").view("i8").tolist()
        assert not runtime.calls
        assert column.tolist() == expected
        assert runtime.calls[0] == ("cudaStreamSynchronize", LEGACY_STREAM)

    def test_a_table_of_managed_memory(self, runtime: cuda_runtime.Runtime) -> None:
        table = as_table({"n": Producer(device=(13, 0), dtype=(0, 64, 1), shape=(8,))})
        assert not runtime.calls
        assert np.asarray(table)[:, 0].tolist() == np.arange(64, dtype="u1").view("i8").tolist()
        assert runtime.calls[:1] == [("cudaStreamSynchronize", LEGACY_STREAM)]

    @pytest.mark.peers
    @pytest.mark.parametrize("name", ["__arrow_array__", "__arrow_c_array__"])
    def test_waits_where_pyarrow_makes_the_array(self, name: str, runtime: cuda_runtime.Runtime) -> None:
        pytest.importorskip("pyarrow")
        buffer, _ = taken((13, 0))
        getattr(buffer, name)()
        assert runtime.calls[:1] == [("cudaStreamSynchronize", LEGACY_STREAM)]

    @pytest.mark.parametrize("read", ["interface", "buffers", "arrow"])
    def test_columns_whose_addresses_are_given_away(self, read: str, runtime: cuda_runtime.Runtime) -> None:
        column = as_column(Producer(device=(13, 0), dtype=(0, 64, 1), shape=(8,)))
        {
            "interface": lambda: column.__array_interface__,
            "buffers": column.get_buffers,
            "arrow": column.__arrow_c_array__,
        }[read]()
        assert runtime.calls[:1] == [("cudaStreamSynchronize", LEGACY_STREAM)]


class TestArrow:
    @pytest.mark.parametrize("level", [as_buffer, as_column, lambda obj: as_table({"n": obj})])
    def test_out_the_memory_is_ready(self, level: Callable[[Any], Any], runtime: cuda_runtime.Runtime) -> None:
        made = level(Producer(device=(2, 1)))
        assert not runtime.calls
        _, capsule = made.__arrow_c_device_array__()
        assert runtime.calls == [("cudaStreamSynchronize", LEGACY_STREAM)]
        assert runtime.devices == [1]
        address = capsules.struct_of(capsule)
        fields = (ctypes.c_int64 * 3).from_address(address + 80)  # behind the array: id, type and padding, event
        assert (fields[0], fields[1] & 0xFFFFFFFF, fields[2]) == (1, 2, 0)

    @pytest.mark.parametrize("device", [2, 3, 13])
    def test_in_the_event_behind_the_pointer_is_waited_for(self, device: int, runtime: cuda_runtime.Runtime) -> None:
        log, lie = arrow_producer.Log(), arrow_producer.Lie("c", 1, [None, 0xDEAD0000])
        event = arrow_producer.keep(ctypes.c_uint64(0xE4E47))
        pair = arrow_producer.schema(lie, log), arrow_producer.device_array(lie, log, (device, 0), event=event)
        offering = type("Offering", (), {"__arrow_c_device_array__": lambda *_, **__: pair})()
        column = as_column(offering)
        assert runtime.calls == [("cudaEventSynchronize", 0xE4E47)]
        assert column.device == (device, 0)
        if device != 3:
            assert column.__cuda_array_interface__["stream"] is None

    def test_in_the_event_of_each_chunk_is_waited_for(self, runtime: cuda_runtime.Runtime) -> None:
        event = arrow_producer.keep(ctypes.c_uint64(0xE4E47))
        lie = arrow_producer.Lie("c", 1, [None, 0xDEAD0000])
        script = arrow_producer.Script(lie, [lie, lie], device=2, event=event)
        stream = arrow_producer.stream(script, arrow_producer.Log())
        assert as_column(SimpleNamespace(__arrow_c_device_stream__=lambda: stream)).num_chunks() == 2
        assert runtime.calls == [("cudaEventSynchronize", 0xE4E47)] * 2


class TestOfCupy:
    """`as_cupy`: CuPy's current stream is the consumer's. Without a driver CuPy makes views, and no byte is read."""

    @pytest.fixture(autouse=True)
    def _cupy(self) -> None:
        self.cupy = pytest.importorskip("cupy")
        if self.cupy.cuda.runtime.driverGetVersion():
            pytest.skip("a driver is there: it would be asked for streams that are none")

    def current(self, monkeypatch: pytest.MonkeyPatch, handle: int) -> None:
        self.asked: list[int] = []

        def get_current_stream(ordinal: int) -> Any:
            self.asked.append(ordinal)
            return SimpleNamespace(ptr=handle)

        monkeypatch.setattr(self.cupy.cuda, "get_current_stream", get_current_stream)

    @pytest.mark.peers
    @pytest.mark.parametrize("source", ["capsule", "buffer"])
    def test_another_stream_waits_for_the_default_one(
        self, source: str, runtime: cuda_runtime.Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from buflend.maximal import as_cupy

        self.current(monkeypatch, OTHER)
        producer = Producer(device=(2, 1))
        view = as_cupy(producer if source == "capsule" else as_buffer(producer))
        assert view.data.ptr == producer.lent[0].ptr
        assert self.asked == [1], "each device has a current stream of its own"
        assert ordered(runtime, LEGACY_STREAM, OTHER, 1)

    @pytest.mark.peers
    @pytest.mark.parametrize("handle", [0, LEGACY_STREAM])
    def test_the_default_stream_waits_for_nothing(
        self, handle: int, runtime: cuda_runtime.Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from buflend.maximal import as_cupy

        self.current(monkeypatch, handle)
        as_cupy(Producer(device=(2, 1)))
        as_cupy(lend(device=(2, 1))[0])
        assert not runtime.calls

    @pytest.mark.peers
    @pytest.mark.parametrize(("named", "current", "after"), [(OTHER, 0, 1), (OTHER, OTHER + 8, OTHER + 8), (2, 0, 1)])
    def test_the_stream_of_an_interface_is_not_waited_for_on_the_host(
        self, named: int, current: int, after: int, runtime: cuda_runtime.Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from buflend.maximal import as_cupy

        runtime.ordinal = 1
        self.current(monkeypatch, current)
        obj = Described(stream=named)
        as_cupy(obj)
        assert runtime.calls.pop(0) == ("cudaPointerGetAttributes", ctypes.addressof(obj.memory))
        runtime.devices.pop(0)
        assert ordered(runtime, named, after, 1)

    @pytest.mark.peers
    def test_without_a_driver_in_the_process_nothing_can_be_pending(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from buflend.maximal import as_cupy

        cuda_runtime.remove(monkeypatch)
        producer = Producer(device=(2, 1))
        assert as_cupy(producer).data.ptr == producer.lent[0].ptr

    @pytest.mark.peers
    def test_the_same_stream_waits_for_nothing(
        self, runtime: cuda_runtime.Runtime, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from buflend.maximal import as_cupy

        self.current(monkeypatch, OTHER)
        as_cupy(Described(stream=OTHER))
        assert runtime.names() == ["cudaPointerGetAttributes"]


def test_whether_a_driver_is_there_is_asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    cuda_runtime.remove(monkeypatch)
    assert not cuda_library.in_use()
    monkeypatch.setattr(cuda_library, "_DRIVER", "libc.so.6")  # stands for a driver that somebody loaded meanwhile
    assert cuda_library.in_use()
