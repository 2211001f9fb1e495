"""The CUDA runtime, by ctypes: the few calls that no array library makes for us.

Lives here: loading the runtime, the copy to the host, waiting for a stream or an event. Must not know: protocols.
Nothing is loaded before one of them is asked for.
"""

import ctypes
from typing import Any

from .device import device_name
from .dlpack import Tensor, is_contiguous
from .errors import DeviceError
from .exporter import writable_address

_LIBRARIES = ("libcudart.so.13", "libcudart.so.12", "libcudart.so", "cudart64_13.dll", "cudart64_12.dll")
_TO_HOST = 2  # cudaMemcpyDeviceToHost
_runtime: Any = None


def runtime() -> Any:
    """Return the CUDA runtime library.

    Raises
    ------
    DeviceError
        When none can be loaded.
    """
    global _runtime  # noqa: PLW0603 - loaded once, on demand
    if _runtime is None:
        for name in _LIBRARIES:
            try:
                found = ctypes.CDLL(name)
            except OSError:
                continue
            found.cudaMemcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            found.cudaStreamSynchronize.argtypes = [ctypes.c_void_p]
            found.cudaEventSynchronize.argtypes = [ctypes.c_void_p]
            found.cudaGetErrorString.restype = ctypes.c_char_p
            _runtime = found
            break
        else:
            raise DeviceError(f"no CUDA runtime library can be loaded: looked for {', '.join(_LIBRARIES)}")
    return _runtime


def check(status: int, what: str) -> None:
    """Raise `DeviceError` unless a call of the runtime succeeded."""
    if status:
        text = runtime().cudaGetErrorString(status) or b"unknown error"
        raise DeviceError(f"{what} failed: CUDA error {status}, {text.decode()}")


def synchronize(stream: int) -> None:
    """Wait on the host for the work that is queued on a stream: 1 legacy default, 2 per thread, else a handle."""
    check(runtime().cudaStreamSynchronize(stream), f"waiting for stream {stream:#x}")


def wait_event(address: int) -> None:
    """Wait on the host for the event whose handle (`cudaEvent_t`) lies at an address."""
    event = ctypes.c_void_p.from_address(address).value
    check(runtime().cudaEventSynchronize(event), "waiting for an event")


def to_host(owner: object, tensor: Tensor) -> bytearray:
    """Return a copy of device memory.

    Raises
    ------
    DeviceError
        When the device is not CUDA's, or the runtime does not answer.
    BufferError
        When the elements are strided.
    """
    del owner  # alive while the caller's frame is
    if tensor.device[0] not in (2, 13):
        raise DeviceError(f"a copy from {device_name(tensor.device)} to the host is not made here; ask its own library")
    if not is_contiguous(tensor.shape, tensor.strides):
        raise BufferError(
            "strided device memory is not copied to the host here: make it contiguous on the device first"
        )
    cudart = runtime()
    host = bytearray(tensor.nbytes)
    if tensor.nbytes:
        status = cudart.cudaMemcpy(writable_address(host), tensor.ptr, tensor.nbytes, _TO_HOST)
        check(status, f"copying {tensor.nbytes} bytes to the host")
    return host
