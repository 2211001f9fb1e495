"""Facts of DLPack, as tables and structs.

Lives here: numbers and layouts of `dlpack.h` 1.3, and the description of a tensor in Python's terms. Must not know: how
a capsule is made or read.
"""

import ctypes
from typing import NamedTuple

from .device import CPU, Device

VERSION = (1, 3)  # what is understood: a minor version only adds values

READ_ONLY = 1  # DLPACK_FLAG_BITMASK_READ_ONLY
IS_COPIED = 2  # DLPACK_FLAG_BITMASK_IS_COPIED
IS_SUBBYTE_TYPE_PADDED = 4  # DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED

LEGACY, VERSIONED = b"dltensor", b"dltensor_versioned"

# Codes of `DLDataTypeCode`.
INT, UINT, FLOAT, OPAQUE, BFLOAT, COMPLEX, BOOL = range(7)
FLOAT8_E3M4, FLOAT8_E4M3, FLOAT8_E4M3B11FNUZ, FLOAT8_E4M3FN, FLOAT8_E4M3FNUZ = range(7, 12)
FLOAT8_E5M2, FLOAT8_E5M2FNUZ, FLOAT8_E8M0FNU = range(12, 15)
FLOAT6_E2M3FN, FLOAT6_E3M2FN, FLOAT4_E2M1FN = range(15, 18)

# Codes whose number of bits is fixed.
FIXED_BITS = {
    **dict.fromkeys(range(FLOAT8_E3M4, FLOAT8_E8M0FNU + 1), 8),
    FLOAT6_E2M3FN: 6,
    FLOAT6_E3M2FN: 6,
    FLOAT4_E2M1FN: 4,
}

# (code, bits, lanes) -> the type of NumPy that is exported with these numbers.
NUMPY_TYPES = {
    (INT, 8, 1): "i1",
    (INT, 16, 1): "i2",
    (INT, 32, 1): "i4",
    (INT, 64, 1): "i8",
    (UINT, 8, 1): "u1",
    (UINT, 16, 1): "u2",
    (UINT, 32, 1): "u4",
    (UINT, 64, 1): "u8",
    (FLOAT, 16, 1): "f2",
    (FLOAT, 32, 1): "f4",
    (FLOAT, 64, 1): "f8",
    (COMPLEX, 64, 1): "c8",
    (COMPLEX, 128, 1): "c16",
    (BOOL, 8, 1): "b1",
}

# Bits of one element -> a type of NumPy with the same layout, to stand in for a type that NumPy lacks.
STAND_INS = {8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}

BYTES = (UINT, 8, 1)


class Tensor(NamedTuple):
    """What a DLPack struct says of memory.

    Attributes
    ----------
    ptr : int
        Address of the first element, `byte_offset` included.
    shape : tuple of int
        Extents in elements.
    strides : tuple of int
        Elements from one to the next in each dimension.
    dtype : tuple of (int, int, int)
        Code, bits, lanes.
    device : Device
        Where the memory lies.
    readonly : bool
        Whether it may not be written.
    stream : int or None
        The stream in whose order the memory is ready; None where it is ready.
    """

    ptr: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: tuple[int, int, int] = BYTES
    device: Device = CPU
    readonly: bool = False
    stream: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all elements; types below a byte are packed."""
        size = 1
        for extent in self.shape:
            size *= extent
        return -(-size * self.dtype[1] * self.dtype[2] // 8)


class DLDevice(ctypes.Structure):
    """`DLDevice`: kind and ordinal."""

    _fields_ = (("type", ctypes.c_int32), ("id", ctypes.c_int32))


class DLDataType(ctypes.Structure):
    """`DLDataType`: code, bits of one lane, lanes."""

    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class DLTensor(ctypes.Structure):
    """`DLTensor`: where the elements are; strides in elements, NULL means C order."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class DLManagedTensor(ctypes.Structure):
    """`DLManagedTensor`, the struct before version 1: no flags, no version."""

    _fields_ = (("dl_tensor", DLTensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p))


class DLManagedTensorVersioned(ctypes.Structure):
    """`DLManagedTensorVersioned`; what stands before `dl_tensor` keeps its place in every version."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("dl_tensor", DLTensor),
    )


STRUCTS = {LEGACY: DLManagedTensor, VERSIONED: DLManagedTensorVersioned}


def compact_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides, in elements, of C order.

    Examples
    --------
    >>> compact_strides((2, 3, 4))
    (12, 4, 1)
    """
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def is_contiguous(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Tell whether elements fill one range of memory from its start, in whatever order of dimensions.

    The stride of a dimension with one element means nothing; nothing at all is contiguous.

    Examples
    --------
    >>> is_contiguous((2, 3), (1, 2)), is_contiguous((2, 3), (4, 1)), is_contiguous((3,), (-1,))
    (True, False, False)
    """
    if 0 in shape:
        return True
    expected = 1
    for step, extent in sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1):
        if step != expected:
            return False
        expected *= extent
    return True
