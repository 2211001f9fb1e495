"""DLPack in: from a capsule to memory and its owner.

Lives here: the reading and checking of the structs. Must not know: what becomes of the memory.

A capsule is never consumed: kept as it is, it is the owner, and when it goes the producer's own destructor calls the
deleter, on whatever thread. No callback of ours is involved.
"""

import ctypes
import struct
from typing import Any

from .cpython import CAPSULE, capsule_is_valid, capsule_name, capsule_pointer
from .device import Device, to_device
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
from .memory import _MOST_BYTES

_MOST_DIMENSIONS = 1024  # more is nonsense: NumPy has 64, torch 64, JAX none that anybody uses

# The structs of `dlpack`, read at once: a field by ctypes costs as much as all of them this way.
TENSOR = struct.Struct("=QiiiBBHQQQ")
_HEAD = struct.Struct("=IIQQQ")
TensorBytes = ctypes.c_char * ctypes.sizeof(DLTensor)
_VersionedBytes = ctypes.c_char * ctypes.sizeof(DLManagedTensorVersioned)


def read_capsule(capsule: object) -> tuple[Tensor, int]:
    """Return what an unused DLPack capsule describes, and its bytes; the capsule stays unused and is the owner.

    Raises
    ------
    ProducerError
        When this is no unused capsule of DLPack, is of another major version, or describes what cannot be.
    """
    if type(capsule) is not CAPSULE:
        raise ProducerError("__dlpack__()", got=capsule, expected="a capsule")
    versioned = capsule_is_valid(capsule, VERSIONED)
    if not versioned and not capsule_is_valid(capsule, LEGACY):
        name = capsule_name(capsule)
        raise ProducerError("__dlpack__()", got=f"a capsule named {name!r}", expected="an unused DLPack capsule")
    address = capsule_pointer(capsule, VERSIONED if versioned else LEGACY)
    if not versioned:
        # The struct before 1.0 cannot say that memory may be written, and what does not say so is not written to.
        return read_tensor(TensorBytes.from_address(address), flags=READ_ONLY)
    raw = _VersionedBytes.from_address(address)
    major, minor, _, _, flags = _HEAD.unpack_from(raw)
    if major != VERSION[0]:  # nothing behind the version may be read; dropping the capsule calls the deleter
        raise ProducerError(
            "DLPack version", got=(major, minor), expected=f"major version {VERSION[0]}, as was asked for"
        )
    return read_tensor(raw, _HEAD.size, flags=flags)


def read_tensor(raw: Any, start: int = 0, *, flags: int = 0) -> tuple[Tensor, int]:
    """Return what the bytes of a DLTensor say, checked, and how many bytes it describes."""
    data, kind, ordinal, ndim, code, bits, lanes, shape_at, strides_at, byte_offset = TENSOR.unpack_from(raw, start)
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
    if nbytes > _MOST_BYTES:
        raise ProducerError("DLTensor.shape", got=shape, expected=f"extents of {_MOST_BYTES} bytes at most")
    if nbytes and not data:
        raise ProducerError("DLTensor.data", got=None, expected=f"the address of {nbytes} bytes")
    if nbytes and byte_offset > _MOST_BYTES:
        raise ProducerError("DLTensor.byte_offset", got=byte_offset, expected=f"{_MOST_BYTES} bytes at most")
    ptr = data + byte_offset if nbytes else data
    return Tensor(ptr, shape, strides, (code, bits, lanes), device, bool(flags & READ_ONLY)), nbytes


def _integers(address: int, count: int, field: str) -> tuple[int, ...]:
    if not count:
        return ()
    if not address:
        raise ProducerError(f"DLTensor.{field}", got=None, expected=f"the address of {count} integers")
    return struct.unpack(f"={count}q", ctypes.string_at(address, 8 * count))


def default_stream(device: Device) -> int | None:
    """Return the stream that a producer is to order against where the consumer has none: the legacy default stream."""
    return {2: 1, 10: 0, 13: 1}.get(int(device[0]))
