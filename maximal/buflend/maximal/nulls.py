"""What is missing in a piece: counted, as booleans, and in the form that another protocol wants.

Lives here: the five ways to mark it. Must not know: what the values mean. How values tell it (NaN, sentinels) is read
by `shared.validity`, as for any interchange column.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..shared.arrays import to_ndarray
from ..shared.chunk import Chunk, Part
from ..shared.context import Context
from ..shared.device import HOST_READABLE
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import Memory, to_memoryview
from .buffer import as_buffer
from .piece import ARROW_NULLS, MASKS, NO_NULLS, UNKNOWN, Piece, Type, byte_range

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Copy = Callable[[str], None]
"""Called with what is to be copied, before it is; raises where that is not allowed."""

_STEP = 1 << 16  # bytes of a mask that are counted at once


def count(piece: Piece, type: Type) -> int:  # noqa: A002 - the record's name
    """Return how many elements are missing; -1 where the host cannot look."""
    if type.dtype.kind == DtypeKind.NULL:
        return piece.size
    if piece.null_count != UNKNOWN or not piece.size or piece.null == NO_NULLS:
        return max(piece.null_count, 0)
    if piece.device[0] not in HOST_READABLE:
        return UNKNOWN
    if piece.null[0] != NullKind.USE_BITMASK:
        there = present(piece, type)
        return 0 if there is None else piece.size - int(there.sum())
    ones = _ones(piece.buffers["validity"], piece.validity_offset, piece.size)
    return ones if piece.null[1] else piece.size - ones


def _ones(memory: Memory, start: int, size: int) -> int:
    """Count the bits that are set among `size` bits from bit `start` on."""
    end = start + size
    view = to_memoryview(memory)[start // 8 : -(-end // 8)]
    found = sum(int.from_bytes(view[at : at + _STEP], "little").bit_count() for at in range(0, len(view), _STEP))
    before = view[0] & ((1 << start % 8) - 1)
    after = view[-1] >> (end % 8) if end % 8 else 0
    return found - before.bit_count() - after.bit_count()


def present(piece: Piece, type: Type) -> "NDArray[np.bool_] | None":  # noqa: A002
    """Return what is present in host memory, True = present; None where nothing is missing."""
    import numpy as np

    from ..shared.validity import unpack_bits

    if type.dtype.kind == DtypeKind.NULL:
        return np.zeros(piece.size, np.bool_)
    kind, value = piece.null
    if kind == NullKind.NON_NULLABLE or not piece.null_count or not piece.size:
        return None
    if kind == NullKind.USE_BITMASK:
        there = unpack_bits(piece.buffers["validity"], piece.validity_offset, piece.size) != value
    elif kind == NullKind.USE_BYTEMASK:
        mask = to_ndarray(piece.buffers["validity"], "u1", piece.size, piece.validity_stride, piece.validity_offset)
        there = (mask != 0) != bool(value)
    else:
        return _by_values(piece, type)
    return None if there.all() else there


def _by_values(piece: Piece, type: Type) -> "NDArray[np.bool_] | None":  # noqa: A002
    """Return what is present by the values themselves, NaN or a sentinel."""
    from ..shared.text import read_strings
    from ..shared.validity import from_values, unpack_bits
    from .elements import elements

    context = Context("column", allow_copy=True)
    chunk = Chunk(context, None, piece.size, piece.offset, type.dtype, *piece.null, {})
    if type.is_text:
        bits = 32 if type.dtype.format == "u" else 64
        offsets = type.dtype._replace(kind=DtypeKind.INT, bits=bits, order="=")
        chunk.parts["offsets"] = Part("offsets", piece.buffers["offsets"], offsets, context)
        chunk.parts["data"] = Part("data", piece.buffers["data"], type.dtype, context)
        return from_values(chunk, read_strings(chunk, None))
    if type.dtype.kind == DtypeKind.BOOL:  # bytes may hold a sentinel that is neither 0 nor 1
        packed = type.dtype.bits == 1
        data = piece.buffers["data"]
        return from_values(
            chunk, unpack_bits(data, piece.offset, piece.size) if packed else elements(piece, type).view("u1")
        )
    stored = elements(piece, type)
    if stored.dtype.kind in "Mm":
        stored = stored.view(stored.dtype.str[0] + "i8")
    return from_values(chunk, stored)


def with_bitmap(piece: Piece, type: Type, copy: Copy) -> Piece:  # noqa: A002
    """Return the piece with nulls as Arrow marks them: none, or a bit mask in the phase of `offset`, 0 = missing."""
    import numpy as np

    from .convert import pack_bits

    if piece.null == NO_NULLS or not piece.null_count:
        return _without_mask(piece)
    if piece.null == ARROW_NULLS and (found := _shifted(piece, 8)) is not None:
        return found
    there = present(piece, type)
    if there is None:
        return _without_mask(piece)
    copy("what is missing becomes a bit mask")
    lost = piece.size - int(np.count_nonzero(there))
    return _masked(piece, pack_bits(there, piece.offset), ARROW_NULLS)._replace(null_count=lost)


def in_phase(piece: Piece, copy: Copy) -> Piece:
    """Return the piece with its mask, if it has one, in the phase of `offset`, its bytes one after another."""
    from ..shared.validity import unpack_bits
    from .convert import allocate, pack_bits

    kind = piece.null[0]
    if kind not in MASKS:
        return piece
    unit = 8 if kind == NullKind.USE_BITMASK else 1
    if piece.validity_stride == 1 and (found := _shifted(piece, unit)) is not None:
        return found
    copy("the mask is not in step with the data")
    if kind == NullKind.USE_BYTEMASK:
        mask = allocate(piece.offset + piece.size)
        mask[piece.offset :] = to_ndarray(
            piece.buffers["validity"], "u1", piece.size, piece.validity_stride, piece.validity_offset
        )
        return _masked(piece, mask, piece.null)
    bits = unpack_bits(piece.buffers["validity"], piece.validity_offset, piece.size)
    return _masked(piece, pack_bits(bits, piece.offset), piece.null)


def _shifted(piece: Piece, unit: int) -> Piece | None:
    """Return the piece with the mask's start moved to where `offset` counts from; None where that is no whole byte."""
    shift = piece.validity_offset - piece.offset
    if shift % unit or shift < 0:
        return None
    if not shift:
        return piece
    mask = piece.buffers["validity"]
    moved = byte_range(mask, shift // unit, mask._bufsize)
    return piece._replace(buffers=piece.buffers | {"validity": moved}, validity_offset=piece.offset)


def _masked(piece: Piece, mask: Any, null: tuple[NullKind, Any]) -> Piece:
    buffers = piece.buffers | {"validity": as_buffer(mask)}
    return piece._replace(buffers=buffers, null=null, validity_offset=piece.offset, validity_stride=1)


def _without_mask(piece: Piece) -> Piece:
    buffers = {name: buffer for name, buffer in piece.buffers.items() if name != "validity"}
    return piece._replace(buffers=buffers, null=NO_NULLS, null_count=0, validity_offset=0)
