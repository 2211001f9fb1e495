"""DLPack in, by the C exchange table of a type: functions that describe an object without a capsule.

Lives here: the table (`DLPackExchangeAPI`, `dlpack.h` 1.3) and the reading of bytes through it. Must not know: what
becomes of the memory. A table is consumed here and never offered: a Python callback cannot leave an exception set.
"""

import ctypes
from typing import Any

from .cpython import capsule_is_valid, capsule_pointer
from .device import CPU, Device
from .dlpack import VERSION, is_contiguous
from .dlpack_import import TensorBytes, read_tensor
from .errors import CopyRequiredError

_NAME = b"dlpack_exchange_api"
_PREVIOUS_AT, _TENSOR_FROM_PY_AT = 8, 40  # offsets in the table
_Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)

Bytes = tuple[int, int, object, Device, bool]


def read(obj: Any) -> Bytes | None:
    """Return what the exchange table of an object's type says of its bytes.

    Returns
    -------
    tuple or None
        Address, bytes, owner (the object: the description is borrowed), device, and that it is read-only, since a table
        does not say that memory may be written. None where the type has no table that is understood, and for an object
        that must be asked otherwise: its memory is not the CPU's, whose order with other work the table leaves open, or
        it is part of a computation that is recorded, at which the table does not look.

    Raises
    ------
    CopyRequiredError
        When the values are strided, or not those in memory.
    """
    kind = type(obj)
    fill = _fill_of(kind)
    if fill is None:
        return None
    if getattr(kind, "is_neg", _never)(obj) or getattr(kind, "is_conj", _never)(obj):
        raise lazy_values(obj)
    if getattr(obj, "requires_grad", False):
        return None
    raw = TensorBytes()
    try:
        if fill(obj, ctypes.addressof(raw)):
            return None
    except RuntimeError:  # torch: no memory, or a type that DLPack lacks
        return None
    tensor, nbytes = read_tensor(raw)
    if tensor.device != CPU:
        return None
    if not is_contiguous(tensor.shape, tensor.strides):
        raise strided(obj, tensor.shape, tensor.strides)
    return tensor.ptr, nbytes, obj, CPU, True


def _never(_: object) -> bool:
    return False


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


def _fill_of(kind: type) -> Any:
    """Return the function of a type's table that fills a DLTensor, None without one; asked of the class that has it."""
    if not hasattr(kind, _ATTRIBUTE):
        return None
    for base in kind.__mro__:
        if _ATTRIBUTE in vars(base):
            if base not in _fills:
                _fills[base] = _fill_in(getattr(base, _ATTRIBUTE))
            return _fills[base]
    return None


_ATTRIBUTE = "__dlpack_c_exchange_api__"
_fills: dict[type, Any] = {}  # a table lives as long as the process, and so may the class that has it


def _fill_in(capsule: Any) -> Any:
    """Return the function of a table that fills a DLTensor; an older table may hang on a newer one."""
    if not capsule_is_valid(capsule, _NAME):
        return None
    address = capsule_pointer(capsule, _NAME)
    while address:
        if ctypes.c_uint32.from_address(address).value == VERSION[0]:
            function = ctypes.c_void_p.from_address(address + _TENSOR_FROM_PY_AT).value
            return _Fill(function) if function else None
        address = ctypes.c_void_p.from_address(address + _PREVIOUS_AT).value
    return None
