"""As much of CuPy's interface as the checks for a GPU use, over the stand-in: CuPy itself does not run on it.

Lives here: the double, in the shape of CuPy's documentation, and how it takes the place of the library. It shows what
the checks do, never what CuPy does. Arrays compute their layout with NumPy, over an address that nobody reads. The late
kernel is a copy that is queued: it is as late as can be.
"""

import ctypes
import threading
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any, Self

import numpy as np

from buflend.shared.device import Device as Where
from buflend.shared.dlpack import NUMPY_TYPES, Tensor
from buflend.shared.dlpack_export import exporter
from buflend.shared.dlpack_import import read_capsule

from .hooks import StandIn, contract

LEGACY = 1
KINDS = {1: 3, 2: 2, 3: 13}  # cudaMemoryType -> DLDeviceType
CODES = {np.dtype(name): triple for triple, name in NUMPY_TYPES.items()}


class CUDARuntimeError(RuntimeError):
    """A call of the runtime that did not succeed."""


class State:
    """The library, the bytes that arrays own, and the streams that are current, by thread."""

    cuda: StandIn
    used = 0
    thread = threading.local()

    @classmethod
    def call(cls, name: str, *arguments: Any) -> None:
        if status := cls.cuda.call(name, *arguments):
            raise CUDARuntimeError(f"{name}: {status}")

    @classmethod
    def make(cls, name: str, *arguments: Any) -> int:
        status, made = cls.cuda.make(name, *arguments)
        if status:
            raise CUDARuntimeError(f"{name}: {status}")
        return made

    @classmethod
    def device(cls) -> int:
        return cls.cuda.number("cudaGetDevice")


class Memory:
    """Memory of the current device."""

    def __init__(self, size: int) -> None:
        self.ptr, self.size, self.device_id = State.make("cudaMalloc", size), size, State.device()
        State.used += size

    def __del__(self) -> None:
        State.used -= self.size
        State.call("cudaFree", self.ptr)


class ManagedMemory:
    def __init__(self, size: int) -> None:
        self.ptr, self.size = State.make("cudaMallocManaged", size, contract.ATTACH_GLOBAL), size
        self.device_id = State.device()

    def __del__(self) -> None:
        State.call("cudaFree", self.ptr)


class UnownedMemory:
    def __init__(self, ptr: int, size: int, owner: object, device_id: int = -1) -> None:
        self.ptr, self.size, self.owner = ptr, size, owner
        self.device_id = State.cuda.attributes(ptr)[2] if device_id < 0 else device_id


class MemoryPointer:
    def __init__(self, mem: Any, offset: int) -> None:
        self.mem, self.ptr, self.device_id = mem, mem.ptr + offset, mem.device_id

    def memset(self, value: int, size: int) -> None:
        State.call("cudaMemset", self.ptr, value, size)


def pinned(size: int) -> Any:
    address = State.make("cudaMallocHost", size)
    memory = type("PinnedMemoryPointer", (ctypes.c_ubyte * size,), {}).from_address(address)
    memory.ptr = address
    return memory


class Stream:
    null: "Stream"

    def __init__(self, *, non_blocking: bool = False, handle: int | None = None) -> None:
        self.ptr = State.make("cudaStreamCreateWithFlags", int(non_blocking)) if handle is None else handle

    @property
    def done(self) -> bool:
        return State.cuda.call("cudaStreamQuery", self.ptr) == contract.SUCCESS

    def synchronize(self) -> None:
        State.call("cudaStreamSynchronize", self.ptr)

    def __enter__(self) -> Self:
        State.thread.__dict__.setdefault("streams", []).append((State.device(), self))
        return self

    def __exit__(self, *_: object) -> None:
        State.thread.streams.pop()


Stream.null = Stream(handle=0)


def current_stream(device: int | None = None) -> Stream:
    device = State.device() if device is None else device
    entered = State.thread.__dict__.get("streams", [])
    return next((stream for place, stream in reversed(entered) if place == device), Stream.null)


class Event:
    def __init__(self, *, disable_timing: bool = False) -> None:
        self.ptr = State.make("cudaEventCreateWithFlags", contract.NO_TIMING * disable_timing)

    def record(self, stream: Stream | None = None) -> None:
        State.call("cudaEventRecord", self.ptr, (stream or current_stream()).ptr)


class Device:
    def __init__(self, number: int | None = None) -> None:
        self.id = State.device() if number is None else number

    def __enter__(self) -> Self:
        self.before = State.device()
        State.call("cudaSetDevice", self.id)
        return self

    def __exit__(self, *_: object) -> None:
        State.call("cudaSetDevice", self.before)


class ndarray:  # noqa: N801 - CuPy's name
    """An array; `layout` is NumPy's, of the same address, and is never read."""

    def __init__(self, shape: Any, dtype: Any = float, memptr: Any = None, strides: Any = None) -> None:
        dtype = np.dtype(dtype)
        size = int(np.prod(shape)) * dtype.itemsize
        self.data = memptr or MemoryPointer(Memory(size), 0)
        described = {"shape": tuple(np.atleast_1d(shape)), "typestr": dtype.str, "strides": strides, "version": 3}
        described["data"] = (self.data.ptr or 1, False)
        self._become(np.asarray(SimpleNamespace(__array_interface__=described)))

    def _become(self, layout: Any) -> None:
        self.layout = layout
        for name in ("shape", "dtype", "strides", "size", "nbytes", "flags"):
            setattr(self, name, getattr(layout, name))

    def _view(self, layout: Any) -> "ndarray":
        made = object.__new__(ndarray)
        made.data = MemoryPointer(self.data.mem, layout.ctypes.data - self.data.mem.ptr if self.data.ptr else 0)
        made._become(layout)
        return made

    @property
    def T(self) -> "ndarray":  # noqa: N802 - CuPy's name
        return self._view(self.layout.T)

    def reshape(self, *shape: int) -> "ndarray":
        return self._view(self.layout.reshape(*shape))

    def __getitem__(self, part: slice) -> "ndarray":
        return self._view(self.layout[part])

    @property
    def device(self) -> Device:
        return Device(self.data.device_id)

    def get(self, stream: Stream | None = None, order: str = "C") -> Any:
        assert order in {"A", "C"}
        stream, host = stream or current_stream(), np.zeros(self._reach(), np.uint8)
        if self.nbytes:
            State.call("cudaMemcpyAsync", host.ctypes.data, self.data.ptr, host.nbytes, contract.TO_HOST, stream.ptr)
        stream.synchronize()
        return np.array(np.ndarray(self.shape, self.dtype, host, 0, self.strides), order=order)

    def _reach(self) -> int:
        """Return the bytes from the first to the end of the last element."""
        steps = zip(self.shape, self.strides, strict=True)
        return self.size and sum((extent - 1) * step for extent, step in steps) + self.dtype.itemsize

    def __dlpack_device__(self) -> tuple[int, int]:
        kind = KINDS.get(State.cuda.attributes(self.data.ptr)[1], 2)
        return kind, self.data.device_id

    def __dlpack__(self, *, stream: int | None = None, max_version: Any = None, copy: Any = None) -> object:
        assert stream != 0
        current, stream = current_stream(self.data.device_id).ptr or LEGACY, LEGACY if stream is None else stream
        if stream not in {-1, current}:
            event = Event(disable_timing=True)
            State.call("cudaEventRecord", event.ptr, current)
            State.call("cudaStreamWaitEvent", stream, event.ptr, 0)
            State.call("cudaEventDestroy", event.ptr)
        steps = tuple(step // self.dtype.itemsize for step in self.strides)
        where = Where(*self.__dlpack_device__())
        tensor = Tensor(self.data.ptr, self.shape, steps, CODES[self.dtype], where)
        return exporter(self, tensor)(max_version=max_version)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.data.ptr if self.size else 0, False)}
        strides = None if self.flags.c_contiguous else self.strides
        return {**found, "version": 3, "strides": strides, "stream": current_stream().ptr or LEGACY}


def from_dlpack(given: Any) -> ndarray:
    if hasattr(given, "__dlpack_device__"):
        kind, device = given.__dlpack_device__()
        assert kind in {2, 13}
        with Device(device):
            given = given.__dlpack__(stream=current_stream().ptr or LEGACY, max_version=(1, 0), copy=None)
    tensor, nbytes = read_capsule(given)
    dtype = np.dtype(NUMPY_TYPES[tensor.dtype])
    memory = UnownedMemory(tensor.ptr, nbytes, given, int(tensor.device[1]))
    strides = tuple(step * dtype.itemsize for step in tensor.strides)
    return ndarray(tensor.shape, dtype, MemoryPointer(memory, 0), strides)


def asarray(given: Any) -> ndarray:
    if isinstance(given, np.ndarray):
        made = ndarray(given.shape, given.dtype)
        State.call("cudaMemcpy", made.data.ptr, given.ctypes.data, given.nbytes, contract.TO_DEVICE)
        return made
    said = given.__cuda_array_interface__
    assert said["stream"] != 0
    if said["stream"] is not None:
        State.call("cudaStreamSynchronize", said["stream"])
    dtype = np.dtype(said["typestr"])
    memory = UnownedMemory(said["data"][0], int(np.prod(said["shape"])) * dtype.itemsize, given)
    return ndarray(said["shape"], dtype, MemoryPointer(memory, 0), said["strides"])


class RawKernel:
    """The late kernel: it writes ones."""

    def __init__(self, code: str, name: str) -> None:
        assert f"void {name}(" in code
        self.ones: Any = None

    def __call__(self, _grid: tuple[int], _block: tuple[int], arguments: tuple[ndarray, Any, Any]) -> None:
        array, count, ticks = arguments
        assert (count.dtype, ticks.dtype, count) == (np.int32, np.int64, array.size)
        self.ones = np.ones(array.shape, array.dtype)
        State.call("cudaMemcpyAsync", array.data.ptr, self.ones.ctypes.data, array.nbytes, 4, current_stream().ptr)


def attributes(ptr: int) -> Any:
    _, kind, device = State.cuda.attributes(ptr)
    return SimpleNamespace(type=kind, device=device)


def memory_info() -> tuple[int, int]:
    used = State.cuda.used(State.device())
    return (1 << 30) - used, 1 << 30


RUNTIME = {
    "CUDARuntimeError": CUDARuntimeError,
    "cudaDevAttrConcurrentManagedAccess": 89,
    "deviceGetAttribute": lambda _attribute, _device: 1,
    "deviceSynchronize": lambda: State.call("cudaDeviceSynchronize"),
    "getDevice": State.device,
    "is_hip": False,
    "memGetInfo": memory_info,
    "memcpy": lambda *arguments: State.call("cudaMemcpy", *arguments),
    "memcpyAsync": lambda *arguments: State.call("cudaMemcpyAsync", *arguments),
    "memcpyDefault": 4,
    "memcpyDeviceToDevice": 3,
    "memcpyHostToDevice": contract.TO_DEVICE,
    "pointerGetAttributes": attributes,
}


def library(cuda: StandIn) -> ModuleType:
    """Return the double as a module, over a stand-in."""
    State.cuda = cuda
    module: Any = ModuleType("cupy")
    module.__spec__ = ModuleSpec("cupy", None)
    module.__version__ = "14 (a double)"
    module.ndarray, module.from_dlpack, module.asarray, module.dtype = ndarray, from_dlpack, asarray, np.dtype
    module.RawKernel, module.empty, module.is_available = RawKernel, ndarray, lambda: True
    module.arange = lambda *arguments, dtype: asarray(np.arange(*arguments, dtype=dtype))
    module.zeros = lambda shape, dtype: asarray(np.zeros(shape, dtype))
    pool = SimpleNamespace(used_bytes=lambda: State.used, free_all_blocks=lambda: None)
    module.get_default_memory_pool = lambda: pool
    module.cuda = SimpleNamespace(
        Device=Device,
        Event=Event,
        MemoryPointer=MemoryPointer,
        Stream=Stream,
        UnownedMemory=UnownedMemory,
        alloc_pinned_memory=pinned,
        get_current_stream=current_stream,
        malloc_managed=lambda size: MemoryPointer(ManagedMemory(size), 0),
        runtime=SimpleNamespace(**RUNTIME),
    )
    return module
