"""Native buffers: objects of libraries that are already imported.

Lives here: how an ndarray, a pyarrow buffer and a CuPy array are recognised and read, and the enum that names them.
Must not know: exchange protocols. Libraries are looked up in `sys.modules`: of one that was never imported, no object
exists.
"""

import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

from ..shared.device import CPU, to_device
from ..shared.dlpack_import import default_stream
from ..shared.errors import CopyRequiredError, DeviceError
from ..shared.exporter import writable_address
from .found import Found


class Native(Enum):
    """The library whose own buffer a `Buffer` wraps."""

    NONE = "none"
    NUMPY = "numpy"
    ARROW = "arrow"
    CUPY = "cupy"


def _is(obj: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and isinstance(obj, kind)


def native_of(owner: object) -> Native:
    """Return the library that an owner is a buffer of."""
    if _is(owner, "numpy", "ndarray"):
        return Native.NUMPY
    if _is(owner, "pyarrow", "Buffer"):
        return Native.ARROW
    return Native.CUPY if _is(owner, "cupy", "ndarray") else Native.NONE


# Types that were seen to be native -> their reader. Another type is asked again: its library may come later.
_readers: dict[type, Callable[[Any], Found]] = {}


def read(obj: Any) -> Found | None:
    """Return what a native buffer holds; the owner is the buffer itself."""
    kind = type(obj)
    reader = _readers.get(kind)
    if reader is None:
        reader = {Native.NUMPY: _ndarray, Native.ARROW: _arrow, Native.CUPY: _cupy}.get(native_of(obj))
        if reader is None:
            return None
        _readers[kind] = reader
    return reader(obj)


def _ndarray(array: Any) -> Found:
    flags, dtype = array.flags, array.dtype
    contiguous = flags.c_contiguous
    if contiguous and flags.writeable and dtype.kind in _PLAIN and type(array) is sys.modules["numpy"].ndarray:
        try:
            return writable_address(array), array.nbytes, array, CPU, False
        except ValueError:  # there is nothing in it
            pass
    if not (contiguous or flags.f_contiguous):
        raise _strided(array)
    if dtype.hasobject:
        raise TypeError(f"the memory of this ndarray of {dtype} holds Python objects, not data: convert it first")
    if _is(array, "numpy.ma", "MaskedArray"):
        raise TypeError("a masked array is two buffers: lend its data and its mask")
    return array.ctypes.data, array.nbytes, array, CPU, not flags.writeable


_PLAIN = frozenset("biufc")  # kinds of number, whose address is had by the short way


def _arrow(buffer: Any) -> Found:
    if buffer.is_cpu:
        return buffer.address, buffer.size, buffer, CPU, not buffer.is_mutable
    device = to_device((int(buffer.device_type), buffer.device.device_id), "pyarrow.Buffer.device")
    return buffer.address, buffer.size, buffer, device, not buffer.is_mutable


def _cupy(array: Any) -> Found:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise _strided(array)
    device = to_device(array.__dlpack_device__(), "cupy.ndarray.__dlpack_device__()")
    if array.nbytes:
        # A buffer carries no stream: what is queued must come before the default stream's work from here on.
        try:
            array.__dlpack__(stream=default_stream(device))
        except RuntimeError as error:
            raise DeviceError(f"the CUDA runtime does not answer: {error}") from error
    return array.data.ptr, array.nbytes, array, device, False


def _strided(array: Any) -> CopyRequiredError:
    return CopyRequiredError(
        f"a buffer is one contiguous range of bytes, but this array is strided (shape {array.shape}, strides "
        f"{array.strides}): copy it to contiguous memory first"
    )
