"""DLPack in: from a capsule, or from the C exchange table of a type, to memory and its owner.

Lives here: the reading and checking of both structs. Must not know: what becomes of the memory.

A capsule is never consumed: kept as it is, it is the owner, and when it goes the producer's own destructor calls the
deleter, on whatever thread. No callback of ours is involved.
"""

import ctypes
import struct
from typing import Any

from .cpython import capsule_is_valid, capsule_name, capsule_pointer
from .device import CPU, Device, to_device
from .dlpack import (
    FIXED_BITS,
    IS_SUBBYTE_TYPE_PADDED,
    LEGACY,
    READ_ONLY,
    VERSION,
    VERSIONED,
    DLManagedTensorVersioned,
    DLTensor,
    Tensor,
    compact_strides,
)
from .errors import ProducerError

_MOST_DIMENSIONS = 1024  # more is nonsense: NumPy has 64, torch 64, JAX none that anybody uses

# The structs of `dlpack`, read at once: a field by ctypes costs as much as all of them this way.
_TENSOR = struct.Struct("=QiiiBBHQQQ")
_HEAD = struct.Struct("=IIQQQ")
_TensorBytes = ctypes.c_char * ctypes.sizeof(DLTensor)
_VersionedBytes = ctypes.c_char * ctypes.sizeof(DLManagedTensorVersioned)


def read_capsule(capsule: object) -> tuple[Tensor, int]:
    """Return what an unused DLPack capsule describes, and its bytes; the capsule stays unused and is the owner.

    Raises
    ------
    ProducerError
        When this is no unused capsule of DLPack, is of another major version, or describes what cannot be.
    """
    try:
        versioned = capsule_is_valid(capsule, VERSIONED)
        if not versioned and not capsule_is_valid(capsule, LEGACY):
            name = capsule_name(capsule)
            raise ProducerError("__dlpack__()", got=f"a capsule named {name!r}", expected="an unused DLPack capsule")
    except ValueError as error:
        if isinstance(error, ProducerError):
            raise
        raise ProducerError("__dlpack__()", got=capsule, expected="a capsule") from None
    address = capsule_pointer(capsule, VERSIONED if versioned else LEGACY)
    if not versioned:
        return _tensor(_TensorBytes.from_address(address), 0, flags=0)
    raw = _VersionedBytes.from_address(address)
    major, minor, _, _, flags = _HEAD.unpack_from(raw)
    if major != VERSION[0]:  # nothing behind the version may be read; dropping the capsule calls the deleter
        raise ProducerError(
            "DLPack version", got=(major, minor), expected=f"major version {VERSION[0]}, as was asked for"
        )
    return _tensor(raw, _HEAD.size, flags=flags)


def _tensor(raw: Any, start: int, *, flags: int) -> tuple[Tensor, int]:
    data, kind, ordinal, ndim, code, bits, lanes, shape_at, strides_at, byte_offset = _TENSOR.unpack_from(raw, start)
    device = to_device((kind, ordinal), "DLTensor.device")
    if not 0 <= ndim <= _MOST_DIMENSIONS:
        raise ProducerError("DLTensor.ndim", got=ndim, expected=f"0 to {_MOST_DIMENSIONS} dimensions")
    if not bits or not lanes or bits != FIXED_BITS.get(code, bits):
        raise ProducerError(
            "DLTensor.dtype", got=(code, bits, lanes), expected="bits that go with the code, lanes of 1 or more"
        )
    shape = _integers(shape_at, ndim, "shape")
    if min(shape, default=0) < 0:
        raise ProducerError("DLTensor.shape", got=shape, expected="extents of 0 or more")
    strides = _integers(strides_at, ndim, "strides") if strides_at else compact_strides(shape)
    size = 1
    for extent in shape:
        size *= extent
    width = bits * lanes
    if flags & IS_SUBBYTE_TYPE_PADDED and bits < 8:
        width = 8 * lanes
    nbytes = -(-size * width // 8)
    if nbytes and not data:
        raise ProducerError("DLTensor.data", got=None, expected=f"the address of {nbytes} bytes")
    ptr = data + byte_offset if nbytes else data
    return Tensor(ptr, shape, strides, (code, bits, lanes), device, bool(flags & READ_ONLY)), nbytes


def _integers(address: int, count: int, field: str) -> tuple[int, ...]:
    if not count:
        return ()
    if not address:
        raise ProducerError(f"DLTensor.{field}", got=None, expected=f"the address of {count} integers")
    return struct.unpack(f"={count}q", ctypes.string_at(address, 8 * count))


# --- the C exchange table (`DLPackExchangeAPI`): functions that fill a struct without a capsule

_API_NAME = b"dlpack_exchange_api"
_PREVIOUS_AT, _TENSOR_FROM_PY_AT = 8, 40  # offsets in the table
_Fill = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
_tables: "dict[type, Any]" = {}


def borrow_by_table(obj: object) -> tuple[Tensor, int] | None:
    """Return what the exchange table of an object's type says of it, None where there is none or it is of no use.

    The description is borrowed: the object is the owner. The table orders no stream, so it serves the CPU only, and it
    does not look at `requires_grad`.
    """
    kind = type(obj)
    try:
        fill = _tables[kind]
    except KeyError:
        fill = _tables[kind] = _table(kind)
    if fill is None or getattr(obj, "requires_grad", False):
        return None
    raw = _TensorBytes()
    if fill(obj, ctypes.addressof(raw)):
        return None
    tensor, nbytes = _tensor(raw, 0, flags=0)
    return (tensor, nbytes) if tensor.device == CPU else None


def _table(kind: type) -> Any:
    """Return the function that fills a DLTensor, from the table that hangs on the type."""
    capsule = getattr(kind, "__dlpack_c_exchange_api__", None)
    if capsule is None or not capsule_is_valid(capsule, _API_NAME):
        return None
    address = capsule_pointer(capsule, _API_NAME)
    while address:
        if ctypes.c_uint32.from_address(address).value == VERSION[0]:
            function = ctypes.c_void_p.from_address(address + _TENSOR_FROM_PY_AT).value
            return _Fill(function) if function else None
        address = ctypes.c_void_p.from_address(address + _PREVIOUS_AT).value
    return None


def default_stream(device: Device) -> int | None:
    """Return the stream that a producer is to order against where the consumer has none: the legacy default stream."""
    return {2: 1, 10: 0, 13: 1}.get(int(device[0]))
