"""Plain memory of a CUDA device, as the runtime gives it to whoever asks; no library but `buflend.shared` is needed.

Lives here: making it of an array, freeing and counting it, the name of the device. Must not know: other libraries.
Addresses are integers, and what the runtime writes it writes into arrays of NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..taking import Lent

_TO_DEVICE, _DEFAULT_STREAM = 1, 1  # cudaMemcpyHostToDevice, cudaStreamLegacy
_NAME = 256  # bytes of the name, with which cudaDeviceProp begins in every version
_ROOM = 1 << 14  # bytes, more than that struct has in any


_live: dict[int, int] = {}  # address -> bytes that were made and not freed


class Plain:
    """Memory that the runtime gave, returned with this object, which says what `as_buffer` asks for."""

    def __init__(self, ptr: int, bufsize: int) -> None:
        self.ptr, self.bufsize = ptr, bufsize
        _live[ptr] = bufsize

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __del__(self) -> None:
        if not _runtime().cudaFree(self.ptr):
            del _live[self.ptr]


def make(array: NDArray[Any]) -> Lent:
    """Return a copy of an array of the host, and where it lies."""
    import numpy as np

    library, what = _runtime(), f"making {array.nbytes} bytes of device memory"
    place = np.zeros(1, np.uintp)
    _check(library.cudaMalloc(place.ctypes.data, array.nbytes), what)
    owner = Plain(int(place[0]), array.nbytes)
    _check(library.cudaMemcpyAsync(owner.ptr, array.ctypes.data, array.nbytes, _TO_DEVICE, _DEFAULT_STREAM), what)
    _check(library.cudaStreamSynchronize(_DEFAULT_STREAM), what)
    return owner, owner.ptr


def held() -> int:
    """Return how many bytes were made here and not freed."""
    return sum(_live.values())


def device_name(ordinal: int) -> str:
    """Return what the runtime calls a device; empty where it cannot say."""
    import numpy as np

    library = _runtime()
    if not hasattr(library, "cudaGetDeviceProperties"):
        return ""
    told = np.zeros(_ROOM, np.uint8)
    _check(library.cudaGetDeviceProperties(told.ctypes.data, ordinal), "asking for the name of the device")
    return told[:_NAME].tobytes().partition(b"\0")[0].decode("utf-8", "replace")


def _check(status: int, what: str) -> None:
    from buflend.shared import cuda

    cuda.check(status, what)


def _runtime() -> Any:
    """Return the runtime library, with prototypes for what is called here alone, in the types of those it has."""
    from buflend.shared import cuda_library

    library = cuda_library.runtime()
    if library.cudaMalloc.argtypes is None:
        pointer, _, size, number, _ = library.cudaMemcpyAsync.argtypes
        library.cudaMalloc.argtypes = (pointer, size)
        library.cudaFree.argtypes = (pointer,)
        if hasattr(library, "cudaGetDeviceProperties"):
            library.cudaGetDeviceProperties.argtypes = (pointer, number)
    return library
