"""The elements of a piece as NumPy's: what dtype they are of, and a view of them.

Lives here: from a type to a dtype, and the view. Must not know: what is missing.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shared.arrays import to_ndarray
from ..shared.interchange import INDEX_KINDS, NUMBERS, TIMES, DtypeKind
from .piece import Piece, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AS_BYTES = (DtypeKind.BINARY, DtypeKind.DECIMAL, DtypeKind.INTERVAL, DtypeKind.OPAQUE, DtypeKind.STRING)


def numpy_dtype(type: Type) -> "np.dtype[Any] | None":  # noqa: A002 - the record's name
    """Return the dtype of an element of `data`, byte order included; None where elements have no bytes of their own.

    Times of 64 bits are NumPy's, those of 32 bits the integers that are stored; decimals, intervals, views and binary
    values of a fixed size are plain bytes.
    """
    kind, bits, text, order = type.dtype
    if not type.width:
        return None
    if kind == DtypeKind.CATEGORICAL:
        kind = INDEX_KINDS[text]
    if kind == DtypeKind.DATETIME:
        character = TIMES[text.partition(":")[0]][1] if bits == 64 else f"i{bits // 8}"
    elif kind == DtypeKind.BOOL:
        character = "?"
    elif kind in (DtypeKind.COMPLEX, DtypeKind.FLOAT):
        character = f"{'c' if kind == DtypeKind.COMPLEX else 'f'}{bits // 8}"
    elif kind in _AS_BYTES:
        character = f"V{bits // 8}"
    else:
        character = NUMBERS[kind, bits]
    return np.dtype(order + character)


def elements(piece: Piece, type: Type) -> "NDArray[Any]":  # noqa: A002
    """Return the elements of host memory as they lie, strided and in their byte order; nothing is copied.

    Raises
    ------
    TypeError
        When they have no bytes of their own: bits, text, nested types.
    DeviceError
        When the host cannot read them.
    """
    dtype = numpy_dtype(type)
    if dtype is None:
        raise TypeError(f"elements of type {type.dtype.format!r} are no items of a fixed number of bytes")
    if not piece.size:
        return np.empty(0, dtype)
    start = piece.byte_offset + piece.offset * piece.stride
    return to_ndarray(piece.buffers["data"], dtype, piece.size, piece.stride, start)
