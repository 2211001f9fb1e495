"""numba-cuda and cuda.core, unmodified, on the stand-in: which address, size, device and owner arrive at either side.

What is ordered behind what is not asked here.
"""

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, as_buffer

from .hooks import StandIn, contract

CONTENT = bytes(range(64))
DEVICES = pytest.mark.parametrize("device", [0, 1])


class Lent:
    """Device memory that notes the status of each freeing."""

    def __init__(self, cuda: StandIn, device: int) -> None:
        self.cuda, self.freed = cuda, list[int]()
        self.address = cuda.allocate(CONTENT, device)

    def __del__(self) -> None:
        self.freed.append(self.cuda.call("cudaFree", self.address))


def freed_with_the_last(holders: list[Any], freed: list[int]) -> bool:
    """Drop holders one by one; tell whether the memory was freed with the last one, and once."""
    while holders:
        if freed:
            return False
        holders.pop()
        gc.collect()
    return freed == [contract.SUCCESS]


class TestNumba:
    @pytest.fixture
    def numba(self) -> Any:
        return pytest.importorskip("numba.cuda")

    @pytest.fixture
    def current(self, numba: Any, device: int) -> Iterator[None]:
        with numba.gpus[device]:
            yield

    @DEVICES
    @pytest.mark.usefixtures("current")
    def test_it_takes_a_buffer(self, stand_in: StandIn, numba: Any, device: int) -> None:
        lent = Lent(stand_in, device)
        address, freed = lent.address, lent.freed
        buffer = Buffer(address, len(CONTENT), owner=lent, device=(2, device))
        view = numba.as_cuda_array(buffer)
        assert view.device_ctypes_pointer.value == address
        assert (view.nbytes, view.dtype, view.shape) == (len(CONTENT), "uint8", (len(CONTENT),))
        assert view.copy_to_host().tobytes() == CONTENT
        holders = [view[8:], lent, buffer, view]
        del lent, buffer, view
        assert freed_with_the_last(holders, freed)

    @DEVICES
    @pytest.mark.parametrize("side", [False, True], ids=["default stream", "side stream"])
    @pytest.mark.usefixtures("current")
    def test_it_lends(self, numba: Any, device: int, side: bool) -> None:
        content = np.arange(10.0)
        array = numba.to_device(content, stream=numba.stream()) if side else numba.to_device(content)
        assert bool(array.__cuda_array_interface__["stream"]) == side
        buffer = as_buffer(array)
        assert buffer.ptr == array.device_ctypes_pointer.value
        assert (buffer.bufsize, buffer.readonly) == (80, False)
        assert (tuple(buffer.device), buffer.__dlpack_device__()) == ((2, device), (2, device))
        assert buffer.owner is array

    @DEVICES
    @pytest.mark.usefixtures("current")
    def test_its_memory_lives_as_long_as_the_buffer(self, stand_in: StandIn, numba: Any, device: int) -> None:
        pending = numba.current_context().memory_manager.deallocations
        pending.clear()
        before = stand_in.used(device)
        array = numba.to_device(np.arange(10.0))
        buffer = as_buffer(array)
        assert stand_in.used(device) == before + 80
        del array
        gc.collect()
        pending.clear()
        assert stand_in.used(device) == before + 80
        assert stand_in.read(buffer.ptr, buffer.bufsize) == np.arange(10.0).tobytes()
        del buffer
        gc.collect()
        pending.clear()
        assert stand_in.used(device) == before

    @DEVICES
    @pytest.mark.usefixtures("current")
    def test_a_part(self, numba: Any, device: int) -> None:
        array = numba.to_device(np.arange(10.0))
        buffer = as_buffer(array[3:7])
        assert buffer.ptr == array.device_ctypes_pointer.value + 24
        assert (buffer.bufsize, buffer.__dlpack_device__()) == (32, (2, device))


class TestCudaCore:
    @pytest.fixture
    def core(self) -> Any:
        return pytest.importorskip("cuda.core")

    @pytest.fixture
    def view(self) -> Any:
        return pytest.importorskip("cuda.core.utils").StridedMemoryView

    @DEVICES
    @pytest.mark.parametrize("way", ["from_dlpack", "from_cuda_array_interface", "from_any_interface"])
    def test_it_takes_a_buffer(self, stand_in: StandIn, core: Any, view: Any, device: int, way: str) -> None:
        core.Device(device).set_current()
        lent = Lent(stand_in, device)
        address, freed = lent.address, lent.freed
        buffer = Buffer(address, len(CONTENT), owner=lent, device=(2, device))
        taken = getattr(view, way)(buffer, stream_ptr=-1)
        assert (taken.ptr, taken.shape, taken.dtype) == (address, (len(CONTENT),), "uint8")
        assert (taken.device_id, taken.is_device_accessible, taken.readonly) == (device, True, False)
        assert taken.exporting_obj is buffer
        holders = [lent, buffer, taken]
        del lent, buffer, taken
        assert freed_with_the_last(holders, freed)

    @DEVICES
    def test_the_device_is_that_of_the_memory(self, stand_in: StandIn, core: Any, view: Any, device: int) -> None:
        core.Device(1 - device).set_current()
        buffer = Buffer(stand_in.allocate(CONTENT, device), len(CONTENT), owner=self, device=(2, device))
        assert view.from_cuda_array_interface(buffer, stream_ptr=-1).device_id == device
        assert view.from_dlpack(buffer, stream_ptr=-1).device_id == device

    @DEVICES
    def test_it_lends(self, stand_in: StandIn, core: Any, device: int) -> None:
        core.Device(device).set_current()
        lent = Lent(stand_in, device)
        address, freed = lent.address, lent.freed
        source = core.Buffer.from_handle(address, len(CONTENT), owner=lent)
        buffer = as_buffer(source)
        assert (buffer.ptr, buffer.bufsize) == (address, len(CONTENT))
        assert (tuple(buffer.device), buffer.__dlpack_device__()) == ((2, device), (2, device))
        holders = [lent, source, buffer]
        del lent, source, buffer
        assert freed_with_the_last(holders, freed)
