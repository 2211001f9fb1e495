"""DLPack in, by the C exchange table of a type: functions that describe an object without a capsule.

Lives here: the table (`DLPackExchangeAPI`, `dlpack.h` 1.3) and the reading of bytes through it. Must not know: what
becomes of the memory. A table is consumed here and never offered: a Python callback cannot leave an exception set.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from .cpython import capsule_is_valid, capsule_pointer
from .device import CPU, Device
from .dlpack import VERSION, is_contiguous
from .dlpack_import import TENSOR, TensorBytes, read_tensor
from .errors import CopyRequiredError

_NAME = b"dlpack_exchange_api"
_PREVIOUS_AT, _TENSOR_FROM_PY_AT = 8, 40  # offsets in the table
_Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_addressof = ctypes.addressof
_long = ctypes.c_int64.from_address
_BYTE = 8  # bits
_CPU = CPU[0]

Bytes = tuple[int, int, object, Device, bool]


def reader(kind: type) -> Callable[[Any], Bytes | None] | None:
    """Return what reads the bytes of a type's objects by its exchange table, None where it has none that is understood.

    The function returns address, bytes, owner (the object: the description is borrowed), device and access; None for an
    object that must be asked otherwise: its memory is not the CPU's, whose order with other work the table leaves open,
    or it is part of a computation that is recorded, at which the table does not look.
    """
    fill = _fill_of(getattr(kind, "__dlpack_c_exchange_api__", None))
    if fill is None:
        return None
    is_conj, is_neg = (getattr(kind, name, _never) for name in ("is_conj", "is_neg"))

    def read(obj: Any) -> Bytes | None:
        if is_neg(obj) or is_conj(obj):
            raise lazy_values(obj)
        if getattr(obj, "requires_grad", False):
            return None
        raw = TensorBytes()
        try:
            if fill(obj, _addressof(raw)):
                return None
        except RuntimeError:  # torch: no memory, or a type that DLPack lacks
            return None
        data, device_type, _, ndim, _, bits, lanes, shape, strides, byte_offset = unpack(raw)
        if device_type != _CPU:
            return None
        if ndim == 1 and data and not bits % _BYTE and (not strides or _long(strides).value == 1):
            return data + byte_offset, _long(shape).value * bits // _BYTE * lanes, obj, CPU, False
        return _read_any(obj, raw)

    unpack = TENSOR.unpack_from
    return read


def _never(_: object) -> bool:
    return False


def _read_any(obj: Any, raw: Any) -> Bytes:
    tensor, nbytes = read_tensor(raw)
    if not is_contiguous(tensor.shape, tensor.strides):
        raise strided(obj, tensor.shape, tensor.strides)
    return tensor.ptr, nbytes, obj, CPU, False


def lazy_values(obj: object) -> CopyRequiredError:
    """Return the error for a tensor whose values are not those in its memory."""
    return CopyRequiredError(
        f"the values of this {type(obj).__name__} are not those in its memory, but negated or conjugated when they are "
        "read: call resolve_neg() or resolve_conj() first"
    )


def strided(obj: object, shape: tuple[int, ...], strides: tuple[int, ...]) -> CopyRequiredError:
    """Return the error for a tensor that is not one range of bytes."""
    return CopyRequiredError(
        f"a buffer is one contiguous range of bytes, but this {type(obj).__name__} is strided (shape {shape}, strides "
        f"{strides} in elements): copy it to contiguous memory first"
    )


def _fill_of(capsule: Any) -> Any:
    """Return the function of a table that fills a DLTensor; an older table may hang on a newer one."""
    if capsule is None or not capsule_is_valid(capsule, _NAME):
        return None
    address = capsule_pointer(capsule, _NAME)
    while address:
        if ctypes.c_uint32.from_address(address).value == VERSION[0]:
            function = ctypes.c_void_p.from_address(address + _TENSOR_FROM_PY_AT).value
            return _Fill(function) if function else None
        address = ctypes.c_void_p.from_address(address + _PREVIOUS_AT).value
    return None
