"""One buffer of a piece as a column of numbers of its own.

Lives here: which numbers, and which of them belong to the piece's elements. Must not know: values, protocols.
"""

from ..shared.arrow_format import NUMBER_FORMATS
from ..shared.chunk import Dtype
from ..shared.interchange import DtypeKind, NullKind
from .piece import Piece, Type


def part(piece: Piece, type: Type, name: str) -> tuple[Type, tuple[Piece]]:  # noqa: A002 - the record's name
    """Return a buffer of a piece as numbers without nulls, and their type; see `Column.part`."""
    if name not in piece.buffers:
        raise ValueError(f"part: got {name!r}, expected one that is there: {', '.join(piece.buffers) or 'none is'}")
    layout, size, start = type.layout, piece.size, piece.offset
    kind, width, order = DtypeKind.UINT, 1, "="
    before, stride = 0, None
    if layout and name in ("offsets", "sizes", "type_ids"):
        kind = DtypeKind.INT
        if name != "type_ids":
            width = layout.offset_bits // 8
        if name == "offsets" and not {"sizes", "type_ids"} & set(layout.buffers):
            size += 1
    elif name == "validity" and piece.null[0] == NullKind.USE_BITMASK:
        start, size = _bytes_of(piece.validity_offset, size)
    elif name == "validity":
        start, before, stride = 0, piece.validity_offset, piece.validity_stride
    elif type.width:
        width, order, before, stride = type.width, type.dtype.order, piece.byte_offset, piece.stride
    elif type.is_text:
        start, size = 0, piece.buffers[name].bufsize
    else:
        start, size = _bytes_of(start * type.dtype.bits, size * type.dtype.bits)
    text = NUMBER_FORMATS.get((kind, 8 * width))
    dtype = Dtype(kind, 8 * width, text, order) if text else Dtype(DtypeKind.BINARY, 8 * width, f"w:{width}", order)
    stride = width if stride is None else stride
    found = Piece(size, start, {"data": piece.buffers[name]}, byte_offset=before, stride=stride)
    return Type(dtype, type.name, flags=0), (found,)


def _bytes_of(bit: int, bits: int) -> tuple[int, int]:
    """Return the first of the bytes that hold bits, and how many they are."""
    return bit // 8, -(-(bit % 8 + bits) // 8) if bits else 0
