"""PyTorch, pyarrow and numba where no driver is found: what they refuse comes back once, and theirs is told clearly.

Refusals are each library's own. What has a shape and no memory is no buffer, whatever it calls itself.
"""

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Buffer, as_buffer, as_column, as_cupy, as_ndarray, as_table
from buflend.shared import CopyRequiredError, DeviceError, ProducerError, dlpack_light
from buflend.shared.arrow_release import flush
from buflend.shared.dlpack import Tensor

from .capsules import struct_of
from .driver import absent
from .only import CONTENT, Owner, lend, only
from .test_driverless import LAYOUTS, refused, versions

pytestmark = [pytest.mark.peers, absent]

INTO: dict[str, Callable[[Any], Any]] = {
    "as_buffer": as_buffer,
    "as_column": as_column,
    "as_table": lambda obj: as_table({"x": obj}),
    "as_ndarray": as_ndarray,
    "as_cupy": as_cupy,
}
into = pytest.mark.parametrize("take", INTO.values(), ids=INTO)


class TestTorchRefuses:
    """It holds the capsule already when it raises: the deleter is called with an exception pending."""

    # Device -> the error of a build without CUDA, and some of its words.
    ERRORS: dict[tuple[int, int], tuple[type[Exception], str]] = {  # noqa: RUF012 - a table
        (2, 0): (AssertionError, "CUDA"),
        (2, 1): (AssertionError, "CUDA"),
        (3, 0): (BufferError, "nsupported device_type: 3"),
        (13, 0): (BufferError, "nsupported device_type: 13"),
        (99, 1): (BufferError, "nsupported device_type: 99"),
    }
    devices = pytest.mark.parametrize("device", ERRORS)
    # It ends the process over strides below 0, whoever lends and from wherever.
    forward = pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "reversed"])

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        self.torch: Any = pytest.importorskip("torch")
        if self.torch.version.cuda:
            pytest.skip("this PyTorch was built with CUDA, and has other words")

    def refused(self, device: tuple[int, int], lent: object) -> bool:
        kind, words = self.ERRORS[device]
        return words in refused(kind, self.torch.from_dlpack, lent)

    @forward
    @versions
    @devices
    def test_a_capsule(self, name: str, version: Any, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        capsule = LAYOUTS[name].make(buffer).__dlpack__(max_version=version)
        del buffer
        assert self.refused(device, capsule)
        del capsule
        assert returned == [1]

    @forward
    @devices
    def test_an_object(self, name: str, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        assert self.refused(device, LAYOUTS[name].make(buffer))
        del buffer
        assert returned == [1]

    @versions
    @devices
    def test_a_capsule_made_without_numpy(self, version: Any, device: tuple[int, int]) -> None:
        """Its deleter is Python, in which the pending exception is lost; the owner is not."""
        buffer, returned = lend(device=device)
        tensor = Tensor(buffer.ptr, (4, 2), (2, 1), (2, 32, 1), device=buffer.device)
        capsule = dlpack_light.exporter(buffer.owner, tensor)(max_version=version)
        del buffer
        with pytest.raises((SystemError, self.ERRORS[device][0])):
            self.torch.from_dlpack(capsule)
        del capsule
        assert returned == [1]


class TestTorchWithoutMemory:
    """Shapes and types, but no memory: of a device that is none, or at the address 0 of the CPU."""

    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        self.torch: Any = pytest.importorskip("torch")

    @into
    @pytest.mark.parametrize("kind", ["plain", "empty", "strided"])
    def test_meta(self, take: Callable[[Any], Any], kind: str) -> None:
        part = {"plain": slice(None), "empty": slice(0, 0), "strided": slice(None, None, 2)}[kind]
        assert "meta" in refused(ProducerError, take, self.torch.empty(8, device="meta")[part])

    @pytest.mark.parametrize("take", [minimal.as_buffer, as_table])
    def test_who_does_not_read_tensors_says_what_it_looked_for(self, take: Callable[[Any], Any]) -> None:
        text = refused(TypeError, take, self.torch.empty(8, device="meta"))
        assert "torch.Tensor" in text
        assert "looked for" in text

    def made(self, kind: str) -> Any:
        plain = self.torch.ones(4)
        if kind == "storage given back":
            plain.untyped_storage().resize_(0)
            return plain
        if kind == "wrapper":
            own = type("Own", (self.torch.Tensor,), {"__torch_dispatch__": classmethod(lambda *_, **__: plain)})
            return self.torch.Tensor._make_wrapper_subclass(own, (4,), dtype=plain.dtype, device=plain.device)
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            return self.torch.empty(4)

    @pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
    @into
    @pytest.mark.parametrize("kind", ["storage given back", "wrapper", "fake"])
    def test_the_address_0_is_no_memory(self, take: Callable[[Any], Any], kind: str) -> None:
        tensor = self.made(kind)
        assert (tensor.device.type, tensor.nbytes) == ("cpu", 16)
        text = refused(ProducerError, take, tensor)
        assert "the address of 16 bytes" in text or text.startswith("Own: "), "the wrapper does not answer a column"

    def test_nothing_may_lie_there(self) -> None:
        tensor = self.torch.empty(0)
        assert tensor.data_ptr() == 0
        assert (as_buffer(tensor).bufsize, as_column(tensor).tolist()) == (0, [])


class TestPyarrowRefuses:
    """Its wheels know no device but the CPU. What it has not taken is ours to release, once."""

    RELEASE = 64  # offset in an ArrowArray, with which an ArrowDeviceArray starts (Apache Arrow, C data interface)
    each = pytest.mark.parametrize("name", ["buffer", "column", "table"])
    devices = pytest.mark.parametrize("device", [(2, 0), (2, 1), (3, 0), (13, 0)])

    @pytest.fixture(autouse=True)
    def _pyarrow(self) -> None:
        self.pa: Any = pytest.importorskip("pyarrow")

    def taker(self, name: str) -> Any:
        return self.pa.RecordBatch if name == "table" else self.pa.Array

    @each
    @devices
    def test_structs_by_their_addresses(self, name: str, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        pair = LAYOUTS[name].make(buffer).__arrow_c_device_array__()
        schema, array = map(struct_of, pair)
        del buffer
        with pytest.raises((ImportError, KeyError)):
            self.taker(name)._import_from_c_device(array, schema)
        release = ctypes.c_uint64.from_address(array + self.RELEASE)
        assert (returned, bool(release.value)) == ([], True), "not taken, not released"
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(release.value or 0)(array)
        assert (returned, release.value) == ([1], 0)
        del pair
        flush()
        assert returned == [1]

    @each
    @devices
    def test_capsules(self, name: str, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        pair = LAYOUTS[name].make(buffer).__arrow_c_device_array__()
        del buffer
        with pytest.raises((ImportError, KeyError)):
            self.taker(name)._import_from_c_device_capsule(*pair)
        assert not returned
        del pair
        flush()
        assert returned == [1]

    @each
    @devices
    def test_objects(self, name: str, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        take = self.pa.record_batch if name == "table" else self.pa.array
        with pytest.raises((ImportError, KeyError)):
            take(only(LAYOUTS[name].make(buffer), "arrow_c_device_array"))
        del buffer
        flush()
        assert returned == [1]


class Failing:
    """A stream whose handle nobody gets."""

    def __init__(self, error: type[Exception]) -> None:
        self.error = error

    def __int__(self) -> int:
        raise self.error("Error at driver init")


class TestNumba:
    """Its arrays can be made around an address; all else that it has starts the driver, and raises an ImportError."""

    @pytest.fixture(autouse=True)
    def _numba(self) -> None:
        self.cuda: Any = pytest.importorskip("numba.cuda")
        from numba.cuda.cudadrv import devicearray, driver
        from numba.cuda.cudadrv.error import CudaSupportError

        self.kind, self.pointer, self.error = devicearray.DeviceNDArray, driver.MemoryPointer, CudaSupportError

    def array(self, *, stream: object = 0, step: int = 4) -> tuple[Any, int, list[int]]:
        returned: list[int] = []
        owner = Owner(returned, CONTENT)
        memory = self.pointer(None, ctypes.c_void_p(owner.address), 64, owner=owner)
        made = self.kind((8,), (step,), np.dtype("f4"), stream=stream, gpu_data=memory)
        return made, owner.address, returned

    def test_its_failure_is_nobody_elses(self) -> None:
        assert issubclass(self.error, ImportError), "which elsewhere says that a library is not there"
        for make in (self.cuda.to_device, self.cuda.pinned_array, self.cuda.device_array):
            with pytest.raises(self.error):
                make(np.arange(4))
        assert as_ndarray(np.arange(4), "i8").tolist() == [0, 1, 2, 3]
        assert as_column(np.arange(4)).tolist() == [0, 1, 2, 3]
        assert minimal.as_ndarray(b"ab").tolist() == [97, 98]
        assert np.from_dlpack(as_buffer(b"ab")).tolist() == [97, 98]

    def test_it_takes_nothing(self) -> None:
        buffer, returned = lend(device=(2, 0))
        with pytest.raises(self.error):
            self.cuda.as_cuda_array(buffer)
        del buffer
        assert returned == [1]

    def test_a_buffer_over_its_array(self) -> None:
        array, address, returned = self.array()
        buffer = as_buffer(array)
        assert (buffer.ptr, buffer.bufsize, buffer.readonly) == (address, 32, False)
        assert buffer.device == (2, -1), "it names none, and nobody can be asked"
        assert buffer.owner is array
        del array
        assert not returned
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("step", [4, 8])
    def test_a_column_over_its_array(self, step: int) -> None:
        array, address, returned = self.array(step=step)
        column = as_column(array)
        described = column.__cuda_array_interface__
        assert (column.size(), column.strides, column.dtype.format, column.device) == (8, (step,), "f", (2, -1))
        assert (described["data"], described["shape"], described["typestr"]) == ((address, False), (8,), "<f4")
        del array
        assert not returned
        del column
        assert returned == [1]

    def test_a_strided_one_is_no_buffer(self) -> None:
        array, _, returned = self.array(step=8)
        assert "contiguous" in refused(CopyRequiredError, as_buffer, array)
        del array
        assert returned == [1]

    @pytest.mark.parametrize("name", ["as_buffer", "as_column", "as_table"])
    @pytest.mark.parametrize("stream", [1, 2, 0x7F0012345678])
    def test_a_stream_needs_the_runtime(self, name: str, stream: int) -> None:
        array, _, returned = self.array(stream=stream)
        assert "CUDA runtime" in refused(DeviceError, INTO[name], array)
        del array
        assert returned == [1]

    @into
    def test_a_property_that_raises(self, take: Callable[[Any], Any]) -> None:
        array, _, returned = self.array(stream=Failing(self.error))
        text = refused(ProducerError, take, array)
        assert "DeviceNDArray: __cuda_array_interface__" in text
        assert "CudaSupportError: Error at driver init" in text
        del array
        assert returned == [1]

    @pytest.mark.parametrize("make", [Buffer, minimal.Buffer], ids=["maximal", "minimal"])
    def test_its_memory_can_be_lent_by_hand(self, make: Callable[..., Any]) -> None:
        array, address, returned = self.array()
        buffer = make(address, 32, owner=array, device=(2, 1))
        del array
        assert (buffer.__dlpack_device__(), returned) == ((2, 1), [])
        del buffer
        gc.collect()
        assert returned == [1]
