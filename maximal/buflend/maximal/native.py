"""Native buffers: objects of libraries that are already imported.

Lives here: how an ndarray, a tensor, a pyarrow buffer and a CuPy array are recognised and read, and the enum of owners.
Must not know: exchange protocols. Libraries are looked up in `sys.modules`: of one that was never imported, no object
exists.
"""

import sys
from collections.abc import Callable
from enum import Enum
from typing import Any

from ..shared.device import CPU, to_device
from ..shared.dlpack import is_contiguous
from ..shared.dlpack_import import default_stream
from ..shared.dlpack_table import lazy_values
from ..shared.errors import CopyRequiredError, DeviceError
from ..shared.exporter import writable_address
from . import buffer_protocol
from .found import Found


class Native(Enum):
    """The library whose own buffer a `Buffer` wraps."""

    NONE = "none"
    NUMPY = "numpy"
    ARROW = "arrow"
    CUPY = "cupy"


def _is(obj: object, module: str, name: str) -> bool:
    kind = getattr(sys.modules.get(module), name, None)
    return kind is not None and issubclass(type(obj), kind)


_TYPES = {Native.NUMPY: ("numpy", "ndarray"), Native.ARROW: ("pyarrow", "Buffer"), Native.CUPY: ("cupy", "ndarray")}


def native_of(owner: object) -> Native:
    """Return the library that an owner is a buffer of."""
    return next((native for native, (module, name) in _TYPES.items() if _is(owner, module, name)), Native.NONE)


Reader = Callable[[Any], Found | None]


# The libraries' own classes -> their readers. Subclasses are looked up each time: they may be thrown away.
readers: dict[type, Reader] = {}


def reader(kind: type) -> Reader | None:
    """Return what reads the native buffers of a type, None for any other type.

    A reader may return None for an object that must be asked by a protocol.
    """
    for module, name, exact, read in _READERS:
        library = getattr(sys.modules.get(module), name, None)
        if kind is library:
            readers[kind] = read
        if kind is library or (library is not None and not exact and issubclass(kind, library)):
            return read
    return None


def read_ndarray(array: Any) -> Found:
    """Return what an ndarray holds; the owner is the array."""
    if array.dtype.kind in PLAIN:
        try:
            return writable_address(array), array.nbytes, array, CPU, False, None
        except (TypeError, ValueError, BufferError):  # it is empty, read-only or not in C order
            pass
    return _read_any_ndarray(array)


def _read_any_ndarray(array: Any) -> Found:
    # Of a subclass: its attributes may say anything, and how long the memory is, is known to NumPy alone.
    ndarray = sys.modules["numpy"].ndarray
    plain = array if type(array) is ndarray else ndarray.view(array, ndarray)
    flags, dtype = plain.flags, plain.dtype
    if not (flags.c_contiguous or flags.f_contiguous):
        raise _strided(plain)
    if dtype.hasobject:
        raise TypeError(f"the memory of this ndarray of {dtype} holds Python objects, not data: convert it first")
    if _is(array, "numpy.ma", "MaskedArray"):
        raise TypeError("a masked array is two buffers: lend its data and its mask")
    return plain.ctypes.data, plain.nbytes, array, CPU, not flags.writeable, None


PLAIN = frozenset("biufc")  # kinds of number, whose address is had by the short way


def _arrow(buffer: Any) -> Found:
    if buffer.is_cpu:
        return buffer.address, buffer.size, buffer, CPU, not buffer.is_mutable, None
    device = to_device((int(buffer.device_type), buffer.device.device_id), "pyarrow.Buffer.device")
    # pyarrow's copies to a device are over when they return.
    return buffer.address, buffer.size, buffer, device, not buffer.is_mutable, None


def _cupy(array: Any) -> Found:
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        raise _strided(array)
    try:
        device = to_device(array.__dlpack_device__(), "cupy.ndarray.__dlpack_device__()")
        stream = default_stream(device) if array.nbytes else None
        if array.nbytes:
            # CuPy makes that stream wait for its own, which is then done with; the capsule is not needed.
            array.__dlpack__(stream=stream)
    except RuntimeError as error:
        raise unanswered(error) from error
    return array.data.ptr, array.nbytes, array, device, False, stream


def unanswered(error: BaseException) -> DeviceError:
    """Return the error for an array of CuPy whose runtime does not answer; the array is not at fault."""
    return DeviceError(f"the CUDA runtime does not answer: {error}")


def _strided(array: Any) -> CopyRequiredError:
    return CopyRequiredError(
        f"a buffer is one contiguous range of bytes, but this array is strided (shape {array.shape}, strides "
        f"{array.strides}): copy it to contiguous memory first"
    )


def _torch(tensor: Any) -> Found | None:
    """Return what a tensor of PyTorch holds by its own pointer: plain, dense, on the CPU, and not recorded."""
    if tensor.is_neg() or tensor.is_conj():
        raise lazy_values(tensor)
    if tensor.requires_grad or not tensor.is_cpu:
        return None
    try:
        if tensor.is_contiguous() or is_contiguous(tuple(tensor.shape), tensor.stride()):
            ptr, nbytes = tensor.data_ptr(), tensor.nbytes
            if ptr or not nbytes:  # else it has a shape and no memory: a fake, or storage that was given back
                return ptr, nbytes, tensor, CPU, False, None
    except RuntimeError:  # it has no storage: sparse, or one that only looks like a tensor
        pass
    return None


# Module, class, whether subclasses are left out, and what reads its objects; the first that fits.
_READERS: tuple[tuple[str, str, bool, Reader], ...] = (
    ("numpy", "ndarray", True, read_ndarray),
    ("numpy", "ndarray", False, _read_any_ndarray),
    # A scalar's array interface is that of a temporary before NumPy 2.5; what it exports is itself.
    ("numpy", "generic", False, buffer_protocol.read),
    ("torch", "Tensor", False, _torch),
    ("pyarrow", "Buffer", False, _arrow),
    ("cupy", "ndarray", False, _cupy),
)
