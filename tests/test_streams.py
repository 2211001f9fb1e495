"""Streams: who waits for whom, on which device, and that nobody else does. The runtime is a double that writes down.

What is expected: Python array API standard 2025.12, `array.__dlpack__`; Numba, "CUDA Array Interface (Version 3)",
"Synchronization"; NVIDIA, "CUDA Runtime API" (event and stream management); Apache Arrow, "The Arrow C device data
interface", `sync_event`.
"""

import ctypes
import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend.maximal import as_buffer, as_column, as_table
from buflend.shared import DeviceError, ProducerError, cuda_library
from tests import arrow_producer, capsules, cuda_runtime
from tests.capsules import Producer
from tests.only import lend
from tests.streams import LEGACY_STREAM, ORDERED, OTHER, Described, ordered, taken


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> cuda_runtime.Runtime:
    return cuda_runtime.install(monkeypatch)


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
        assert ("cudaStreamSynchronize", OTHER) in runtime.calls

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


class TestNumbers:
    """A handle is a pointer, and an integer."""

    @pytest.mark.parametrize("stream", [2**64, 2**64 + OTHER, 2**70, 1.0, -1.0, "1", np.array([1, 2])], ids=repr)
    def test_out(self, stream: Any, runtime: cuda_runtime.Runtime) -> None:
        for buffer in (taken()[0], lend(device=(2, 1))[0]):
            with pytest.raises(ValueError, match="stream: got"):
                buffer.__dlpack__(stream=stream, max_version=(1, 3))
        assert not runtime.calls

    @pytest.mark.parametrize("stream", [2**64, 2**64 + OTHER, 2**70], ids=repr)
    @pytest.mark.parametrize("make", [as_buffer, as_column], ids=["buffer", "column"])
    def test_in(self, make: Callable[[Any], Any], stream: int, runtime: cuda_runtime.Runtime) -> None:
        with pytest.raises(ProducerError, match="stream"):
            make(Described(stream=stream))
        assert not runtime.calls

    @pytest.mark.parametrize("version", [(), 1, "1", ("a", 0), {}], ids=repr)
    def test_versions(self, version: Any) -> None:
        with pytest.raises(TypeError, match="max_version: got"):
            lend(device=(2, 1))[0].__dlpack__(max_version=version)


class TestManagedForCupy:
    """Streams 1 and 2 of an interface are those of the device that the memory was allocated for."""

    @pytest.mark.peers
    @pytest.mark.parametrize("named", [LEGACY_STREAM, OTHER])
    def test_each_stream_is_met_on_its_device(self, named: int, monkeypatch: pytest.MonkeyPatch) -> None:
        cupy = pytest.importorskip("cupy")
        from buflend.maximal import as_cupy

        runtime = cuda_runtime.install(monkeypatch, kind=3, ordinal=1)  # managed memory of device 1
        monkeypatch.setattr(cupy.cuda, "get_current_stream", lambda _: SimpleNamespace(ptr=0))

        def unowned(ptr: int, size: int, owner: object, device: int) -> Any:
            return made(ptr, size, owner, max(device, 0))

        made = cupy.cuda.UnownedMemory
        monkeypatch.setattr(cupy.cuda, "UnownedMemory", unowned)
        as_cupy(Described(stream=named))
        assert [name for name in runtime.names() if name != "cudaPointerGetAttributes"] == ORDERED
        placed = dict(zip(runtime.names(), runtime.devices, strict=True))
        assert (placed["cudaEventRecord"], placed["cudaStreamWaitEvent"], runtime.current) == (1, 0, 0)
