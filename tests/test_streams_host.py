"""The host and streams: it waits before it reads, for what is pending, once, and for nothing else.

The runtime is a double that writes down. What is expected: Python array API standard 2025.12, `array.__dlpack__`;
NVIDIA, "CUDA Runtime API" (stream management).
"""

import ctypes
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table
from buflend.shared import DeviceError, cuda
from buflend.shared.device import Device
from buflend.shared.dlpack import Tensor
from buflend.shared.memory import share
from tests import cuda_runtime
from tests.capsules import Producer
from tests.only import lend, only
from tests.streams import LEGACY_STREAM, OTHER, taken


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> cuda_runtime.Runtime:
    return cuda_runtime.install(monkeypatch)


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


@pytest.mark.parametrize("copy", [None, True])
@pytest.mark.parametrize("stream", [None, -1])
def test_without_order_the_host_waits_all_the_same(stream: Any, copy: Any, runtime: cuda_runtime.Runtime) -> None:
    buffer, _ = taken((13, 0))
    buffer.__dlpack__(stream=stream, copy=copy, dl_device=(1, 0), max_version=(1, 3))
    assert runtime.calls == [("cudaStreamSynchronize", LEGACY_STREAM)]


@pytest.mark.parametrize("make", [as_buffer, as_column, lambda obj: as_table({"n": obj})])
def test_asking_what_is_spoken_raises_nothing(make: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    cuda_runtime.install(monkeypatch, fails="cudaStreamSynchronize")
    made = make(Producer(device=(13, 0)))
    assert not hasattr(made, "__array_interface__")
    with pytest.raises(DeviceError, match=r"700|waiting for it has failed"):
        made.__array_interface__  # noqa: B018 - the property raises
