"""The few calls of the CUDA runtime that no array library makes for us.

Lives here: which device a pointer is of, what waits for what, and the copy to the host. Must not know: protocols, where
the library is found. Nothing is loaded before one of them is asked for.

A stream is a number here: 1 the legacy default stream, 2 that of the thread, any other a handle (`cudaStream_t`). The
first two are streams of the device that is current, so that its ordinal goes with every call. Source: NVIDIA, "CUDA
Runtime API".
"""

import ctypes
import struct
from types import TracebackType
from typing import Any

from .cuda_library import in_use, runtime
from .device import CPU, Device, device_name
from .dlpack import Tensor, is_contiguous
from .errors import DeviceError
from .exporter import writable_address

__all__ = [
    "current_device",
    "device_at",
    "device_count",
    "in_use",
    "order",
    "ordinal_at",
    "synchronize",
    "to_host",
    "wait_event",
]

DEFAULT_STREAM = 1  # the legacy one
_PER_THREAD_STREAM = 2

# cudaMemoryType -> the device type of DLPack: unregistered (the host's), host (pinned), device, managed.
_MEMORY_TYPES = {0: 1, 1: 3, 2: 2, 3: 13}
_ATTRIBUTES = struct.Struct("@ii")  # type and device, the first fields of cudaPointerAttributes
_ROOM = 256  # bytes, more than cudaPointerAttributes has in any version

_TO_HOST = 2  # cudaMemcpyDeviceToHost
_NO_TIMING = 2  # cudaEventDisableTiming


def check(status: int, what: str) -> None:
    """Raise `DeviceError` unless a call of the runtime succeeded, and leave no error behind for the next call."""
    if status:
        library = runtime()
        library.cudaGetLastError()
        text = library.cudaGetErrorString(status) or b"unknown error"
        raise DeviceError(f"{what} failed: CUDA error {status}, {text.decode()}")


def device_count() -> int:
    """Return how many CUDA devices there are; DeviceError where the runtime is not there or does not answer."""
    return _number(runtime().cudaGetDeviceCount, "counting CUDA devices")


def current_device() -> Device:
    """Return the device that is current in this thread."""
    return Device(2, _number(runtime().cudaGetDevice, "asking for the current CUDA device"))


def device_at(ptr: int) -> Device:
    """Return the device whose memory an address is: CUDA, CUDA_HOST, CUDA_MANAGED or, not CUDA's at all, the CPU.

    Raises
    ------
    DeviceError
        When there is no runtime, or it does not know.
    """
    kind, ordinal = _attributes(ptr)
    if kind not in _MEMORY_TYPES:
        raise DeviceError(f"the CUDA runtime calls the memory at {ptr:#x} of type {kind}, which is not known here")
    found = _MEMORY_TYPES[kind]
    return CPU if found == 1 else Device(found, ordinal if found == 2 else 0)


def ordinal_at(ptr: int) -> int:
    """Return the ordinal of the device that memory was allocated for, pinned and managed memory too.

    Its default streams are those that are meant where a stream is named beside the memory. Of memory that is not CUDA's
    they are the current device's. Errors are those of `device_at`.
    """
    _, ordinal = _attributes(ptr)
    return ordinal if ordinal >= 0 else current_device().id


def _attributes(ptr: int) -> tuple[int, int]:
    """Return what the runtime says of an address: cudaMemoryType and ordinal."""
    raw = ctypes.create_string_buffer(_ROOM)
    check(runtime().cudaPointerGetAttributes(raw, ptr), f"asking for the device of address {ptr:#x}")
    kind, ordinal = _ATTRIBUTES.unpack_from(raw)
    return kind, ordinal


def synchronize(stream: int, ordinal: int) -> None:
    """Wait on the host for the work that is queued on a stream of a device."""
    with _Current(ordinal):
        check(runtime().cudaStreamSynchronize(stream), f"waiting for stream {stream:#x}")


def order(before: int, after: int, ordinal: int, ordinal_after: int | None = None) -> None:
    """Make the work that comes to stream `after` wait for what is queued on stream `before`; the host does not wait.

    The first is a stream of device `ordinal`, and so is the second where no other ordinal is given.
    """
    elsewhere = ordinal_after is not None and ordinal_after != ordinal
    if before == after and not (elsewhere and after <= _PER_THREAD_STREAM):
        return
    library, event = runtime(), ctypes.c_void_p()
    what = f"ordering stream {after:#x} behind stream {before:#x}"
    with _Current(ordinal):
        check(library.cudaEventCreateWithFlags(ctypes.byref(event), _NO_TIMING), what)
        try:
            check(library.cudaEventRecord(event, before), what)
            with _Current(ordinal if ordinal_after is None else ordinal_after):
                check(library.cudaStreamWaitEvent(after, event, 0), what)
        finally:
            destroyed = library.cudaEventDestroy(event)  # the runtime keeps it until it has happened
            if destroyed:
                library.cudaGetLastError()
        check(destroyed, what)


def wait_event(address: int) -> None:
    """Wait on the host for the event whose handle (`cudaEvent_t`) lies at an address."""
    event = ctypes.c_void_p.from_address(address).value
    check(runtime().cudaEventSynchronize(event), "waiting for an event")


def to_host(owner: object, tensor: Tensor) -> bytearray:
    """Return a copy of device memory, made in the order of the stream that the tensor names.

    Raises
    ------
    DeviceError
        When the device is not CUDA's, or the runtime does not answer.
    BufferError
        When the elements are strided.
    """
    del owner  # alive while the caller's frame is
    kind, ordinal = tensor.device
    if kind not in (2, 13):
        raise DeviceError(f"a copy from {device_name(tensor.device)} to the host is not made here; ask its own library")
    if not is_contiguous(tensor.shape, tensor.strides):
        raise BufferError(
            "strided device memory is not copied to the host here: make it contiguous on the device first"
        )
    host = bytearray(tensor.nbytes)
    if tensor.nbytes:
        what = f"copying {tensor.nbytes} bytes from {device_name(tensor.device)} to the host"
        library, stream = runtime(), tensor.stream or DEFAULT_STREAM
        if ordinal < 0:
            ordinal = device_at(tensor.ptr).id
        with _Current(ordinal):
            check(library.cudaMemcpyAsync(writable_address(host), tensor.ptr, tensor.nbytes, _TO_HOST, stream), what)
            check(library.cudaStreamSynchronize(stream), what)
    return host


def _number(function: Any, what: str) -> int:
    number = ctypes.c_int()
    check(function(ctypes.byref(number)), what)
    return number.value


class _Current:
    """Makes a device current in this thread for a while."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal
        self.before = ordinal

    def __enter__(self) -> None:
        self.before = current_device().id
        if self.before != self.ordinal:
            check(runtime().cudaSetDevice(self.ordinal), f"making CUDA device {self.ordinal} the current one")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.before != self.ordinal:
            check(runtime().cudaSetDevice(self.before), f"making CUDA device {self.before} the current one again")
