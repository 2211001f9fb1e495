"""Pieces in the form that another protocol wants: contiguous, in native byte order, in bits.

Lives here: what is copied on the way out, part by part, and nothing else. Must not know: protocols. Before anything is
copied `copy` is called, which raises where that is not allowed.

What is allocated here is aligned to 64 bytes and padded, as Arrow recommends ("Arrow Columnar Format", section "Buffer
Alignment and Padding"), and zero where an element is missing.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shared.chunk import NATIVE
from ..shared.interchange import NullKind
from .buffer import as_buffer
from .elements import elements
from .nulls import Copy, present
from .piece import MASKS, Piece, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIGNMENT = 64


def allocate(nbytes: int) -> "NDArray[np.uint8]":
    """Return zeroed bytes at an address that is a multiple of 64, with padding behind them up to another."""
    whole = np.zeros(-(-nbytes // _ALIGNMENT) * _ALIGNMENT + _ALIGNMENT, np.uint8)
    start = -whole.ctypes.data % _ALIGNMENT
    return whole[start : start + nbytes]


def pack_bits(flags: "NDArray[Any]", offset: int) -> "NDArray[np.uint8]":
    """Return flags as bits, the first one at bit `offset`."""
    made = allocate(-(-(offset + len(flags)) // 8))
    made[:] = np.packbits(np.concatenate([np.zeros(offset, flags.dtype), flags]), bitorder="little")
    return made


def is_plain(piece: Piece, type: Type) -> bool:  # noqa: A002 - the record's name
    """Tell whether elements of a width lie one after another in native byte order."""
    return piece.stride == type.width and (type.dtype.order in NATIVE or type.dtype.bits <= 8)


def contiguous(piece: Piece, type: Type, copy: Copy) -> tuple[Piece, Type]:  # noqa: A002
    """Return a piece whose elements of a width lie one after another in native byte order, and its type."""
    native = type._replace(dtype=type.dtype._replace(order="="))
    if is_plain(piece, type):
        return piece, native
    copy("elements are strided" if piece.stride != type.width else "elements are in foreign byte order")
    found = elements(piece, type)
    return _over(piece, type, found.astype(found.dtype.newbyteorder("=")), type.width), native


def narrow_days(piece: Piece, type: Type, copy: Copy) -> tuple[Piece, Type]:  # noqa: A002
    """Return days of 64 bits, NumPy's, as Arrow's of 32; what is missing is marked by a mask."""
    copy("days of 64 bits become 32 bits wide")
    days = elements(piece, type).astype("M8[D]").view(np.int64)
    there = present(piece, type)
    if there is not None:
        days = np.where(there, days, 0)
    narrow = days.astype(np.int32)
    if not np.array_equal(narrow, days):
        raise OverflowError("a date lies outside what 32 bits of days can say")
    dtype = type.dtype._replace(bits=32, order="=")
    return _over(piece, type, narrow, 4), type._replace(dtype=dtype)


def pack_bools(piece: Piece, type: Type, copy: Copy) -> tuple[Piece, Type]:  # noqa: A002
    """Return booleans of a byte each as bits."""
    copy("booleans are packed in bits")
    lead = lead_of(piece)
    flags = pack_bits(elements(piece, type).view(np.uint8) != 0, lead)
    packed = piece._replace(buffers=piece.buffers | {"data": as_buffer(flags)}, offset=lead, byte_offset=0, stride=0)
    return packed, type._replace(dtype=type.dtype._replace(bits=1, order="="))


def _over(piece: Piece, type: Type, values: "NDArray[Any]", width: int) -> Piece:  # noqa: A002
    """Return the piece over a copy of its elements; a sentinel stays, what a mask marks becomes zero."""
    lead = lead_of(piece)
    made = allocate((lead + len(values)) * width)
    rows = made[lead * width :]
    rows.view(values.dtype)[:] = values
    there = present(piece, type) if piece.null[0] in MASKS else None
    if there is not None:
        rows.reshape(-1, width)[~there] = 0
    return piece._replace(buffers=piece.buffers | {"data": as_buffer(made)}, offset=lead, byte_offset=0, stride=width)


def lead_of(piece: Piece) -> int:
    """Return how many elements go before a copy, so that a bit mask stays in step and need not be copied."""
    return piece.validity_offset % 8 if piece.null[0] == NullKind.USE_BITMASK else 0
