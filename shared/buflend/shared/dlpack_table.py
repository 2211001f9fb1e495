"""DLPack in, by the C exchange table of a type: functions that describe an object without a capsule.

Lives here: the table (`DLPackExchangeAPI`, `dlpack.h` 1.3) and the reading of bytes through it. Must not know: what
becomes of the memory. A table is consumed here and never offered: a Python callback cannot leave an exception set.
"""

import ctypes
from typing import Any

from .access import CUDA
from .cpython import CAPSULE, capsule_is_valid, capsule_pointer
from .device import CPU, Device
from .dlpack import VERSION, is_contiguous
from .dlpack_import import TensorBytes, read_tensor
from .errors import EXITS, CopyRequiredError, ProducerError
from .memory import failed

_NAME = b"dlpack_exchange_api"
_PREVIOUS_AT, _TENSOR_FROM_PY_AT, _CURRENT_WORK_STREAM_AT = 8, 40, 48  # offsets in the table
_Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_WorkStream = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int32, ctypes.c_void_p)

Bytes = tuple[int, int, object, Device, bool, int | None]


def read(obj: Any) -> Bytes | None:
    """Return what the exchange table of an object's type says of its bytes.

    Returns
    -------
    tuple or None
        Address, bytes, owner (the object: the description is borrowed), device, that it is read-only, since a table
        does not say that memory may be written, and the stream in whose order it is ready. None where the type has no
        table that is understood, and for an object that must be asked otherwise: its memory is not CUDA's or the CPU's,
        or it is part of a computation that is recorded, at which the table does not look.

    Raises
    ------
    CopyRequiredError
        When the values are strided, or not those in memory.
    """
    kind = type(obj)
    functions = _functions_of(kind)
    if functions is None:
        return None
    fill, work_stream = functions
    raw = TensorBytes()
    try:
        is_lazy = getattr(kind, "is_neg", _never)(obj) or getattr(kind, "is_conj", _never)(obj)
        if not is_lazy and (getattr(obj, "requires_grad", False) or fill(obj, ctypes.addressof(raw))):
            return None
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - no memory, or a type that DLPack lacks: the capsule's refusal says which
        return None
    if is_lazy:
        raise lazy_values(obj)
    tensor, nbytes = read_tensor(raw)
    device, stream = tensor.device, None
    if device != CPU:
        if device[0] not in CUDA or work_stream is None:
            return None
        stream = _ordered(device, work_stream) if nbytes else None
    if not is_contiguous(tensor.shape, tensor.strides):
        raise strided(obj, tensor.shape, tensor.strides)
    return tensor.ptr, nbytes, obj, device, True, stream


def _ordered(device: Device, work_stream: Any) -> int | None:
    """Make the default stream wait for what the producer has queued, and return it: tables leave the order open."""
    from .cuda import DEFAULT_STREAM, order

    found = ctypes.c_void_p()
    whose = "DLPackExchangeAPI.current_work_stream()"
    try:
        status = work_stream(int(device[0]), device[1], ctypes.addressof(found))
    except BaseException as error:
        raise failed("DLPackExchangeAPI", "current_work_stream()", error) from error
    if status:
        raise ProducerError(whose, got=status, expected="0, and a stream")
    order(found.value or DEFAULT_STREAM, DEFAULT_STREAM, device[1])
    return DEFAULT_STREAM


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


def _functions_of(kind: type) -> Any:
    """Return what a type's table has to fill a DLTensor and to tell a stream; asked of the class that has it."""
    try:
        if not hasattr(kind, _ATTRIBUTE):
            return None
        for base in kind.__mro__:
            if _ATTRIBUTE in vars(base):
                if base not in _tables:
                    _tables[base] = _functions_in(getattr(base, _ATTRIBUTE))
                return _tables[base]
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001, S110 - a type whose attributes cannot even be looked up has no table
        pass
    return None


_ATTRIBUTE = "__dlpack_c_exchange_api__"
_tables: dict[type, Any] = {}  # a table lives as long as the process, and so may the class that has it


def _functions_in(capsule: Any) -> Any:
    """Return two functions of a table, of which the second may be missing; an older table may hang on a newer one."""
    if type(capsule) is not CAPSULE or not capsule_is_valid(capsule, _NAME):
        return None
    address = capsule_pointer(capsule, _NAME)
    seen: set[int] = set()
    while address and address not in seen:
        seen.add(address)
        if ctypes.c_uint32.from_address(address).value == VERSION[0]:
            fill = ctypes.c_void_p.from_address(address + _TENSOR_FROM_PY_AT).value
            stream = ctypes.c_void_p.from_address(address + _CURRENT_WORK_STREAM_AT).value
            return (_Fill(fill), _WorkStream(stream) if stream else None) if fill else None
        address = ctypes.c_void_p.from_address(address + _PREVIOUS_AT).value
    return None
