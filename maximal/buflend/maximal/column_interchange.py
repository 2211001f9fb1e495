"""The dataframe interchange protocol, out: a column as its consumers read it.

Lives here: what must be copied so that the protocol can say it, and the answers of a column. Must not know: Arrow,
tables. Source: data-apis/dataframe-api, `protocol/dataframe_protocol.py` (version 0).
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..shared.access import settle
from ..shared.chunk import Dtype
from ..shared.context import Context
from ..shared.interchange import INDEX_KINDS, NAT, NUMBERS, DtypeKind, NullKind
from .buffer import Buffer, as_buffer
from .nulls import Copy, in_phase, with_bitmap
from .piece import Piece, Type, byte_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .column import Column

_BITS = Dtype(DtypeKind.BOOL, 1, "b", "=")
_BYTES = Dtype(DtypeKind.BOOL, 8, "b", "=")
_CHARACTERS = Dtype(DtypeKind.UINT, 8, "C", "=")
_OFFSETS = {32: Dtype(DtypeKind.INT, 32, "i", "="), 64: Dtype(DtypeKind.INT, 64, "l", "=")}

_ZEROS = as_buffer(bytes(64))  # the one offset of no text
_NOTHING = Buffer(_ZEROS.ptr, 0, owner=_ZEROS.owner, readonly=True)  # pyarrow wants an address for nothing, too
_LARGE = {"vu": "U", "vz": "Z"}


def for_interchange(column: "Column", *, allow_copy: bool) -> "Column":
    """Return a column that the protocol can say, itself where it is one; only what it cannot say is copied.

    Raises
    ------
    TypeError
        For a type that the protocol lacks.
    CopyRequiredError
        When something must be copied and that is not allowed.
    """
    copy = Context(f"column {column.name!r}", allow_copy).copy
    type_ = _announced(column._type)
    pieces = []
    for piece in column._pieces:
        made, type_ = _conform(piece, column._type, copy)
        made = _fitted(made, type_)
        if made.dictionary is not None:
            made = made._replace(dictionary=for_interchange(made.dictionary, allow_copy=allow_copy))
        pieces.append(made)
    return column._make(type_, tuple(pieces), allow_copy=allow_copy)


def _announced(type: Type) -> Type:  # noqa: A002 - the record's name
    """Return the type as the protocol announces it."""
    kind, bits, text, _ = type.dtype
    known = kind in (DtypeKind.STRING, DtypeKind.DATETIME, DtypeKind.CATEGORICAL, DtypeKind.BOOL)
    if not known and (kind, bits) not in NUMBERS:
        raise TypeError(
            f"column {type.name!r}: the dataframe interchange protocol has no type for {text or type.dtype!r}: "
            "leave the column out, or hand it over by Arrow's capsules"
        )
    if type.is_view:
        bits, text = 8, _LARGE[text]
    elif text == "tdD":
        bits = 32
    return type._replace(dtype=Dtype(kind, bits, text, "="))


def _conform(piece: Piece, type: Type, copy: Copy) -> tuple[Piece, Type]:  # noqa: A002
    announced = _announced(type)
    if type.is_view:
        from .text_views import to_large_text

        copy("text in views is gathered between offsets")
        piece = to_large_text(piece, type)
    elif type.width:
        from .convert import contiguous, narrow_days

        if type.dtype.bits != announced.dtype.bits:
            piece, _ = narrow_days(with_bitmap(piece, type, copy), type, copy)
        else:
            piece, _ = contiguous(piece, type, copy)
        piece = _from_its_start(piece)
    if piece.null[0] == NullKind.USE_NAN and type.dtype.kind == DtypeKind.DATETIME:
        piece = piece._replace(null=(NullKind.USE_SENTINEL, NAT))
    return in_phase(piece, copy), announced


def _from_its_start(piece: Piece) -> Piece:
    """Return the piece over a buffer that starts with the element of index 0: the protocol has no `byte_offset`."""
    data = piece.buffers.get("data")
    if data is None or not piece.byte_offset:
        return piece
    moved = byte_range(data, piece.byte_offset, data._bufsize)
    return piece._replace(byte_offset=0, buffers=piece.buffers | {"data": moved})


def _fitted(piece: Piece, type: Type) -> Piece:  # noqa: A002
    """Return the piece over buffers of its own elements alone, and where there are bits of up to 7 before them.

    Of today's readers one takes a mask's offset twice, one not at all, and one neither an offset of 8 or more nor masks
    and offsets that are longer than they need be.
    """
    layout = type.layout
    data = 1 if type.dtype.bits == 1 else 8 * type.width
    mask = {NullKind.USE_BITMASK: 1, NullKind.USE_BYTEMASK: 8}.get(piece.null[0], 0)  # else one that nobody reads
    moved = piece.offset & ~7 if 1 in (data, mask) else piece.offset
    offset, buffers = piece.offset - moved, dict(piece.buffers)
    for name, step, more in (
        ("data", data, 0),
        ("validity", mask, 0),
        ("offsets", layout.offset_bits if layout else 0, 1),
    ):
        if step and name in buffers:
            held = buffers[name]._bufsize  # of no elements it may be less than lies before them
            start = min(moved * step // 8, held)
            end = start - (-(offset + piece.size + more) * step // 8)
            buffers[name] = byte_range(buffers[name], start, min(end, held))
    return piece._replace(offset=offset, validity_offset=offset, buffers=buffers)


def get_buffers(column: "Column") -> dict[str, tuple[Buffer, Dtype] | None]:
    """Return what `get_buffers` answers, for a column that the protocol can say as it is."""
    piece, type_ = column._piece, column._type
    if _announced(type_) != type_ or _conform(piece, type_, _refuse)[0] is not piece:
        raise TypeError(f"column {column.name!r} lies as the protocol cannot say it: take column.for_interchange()")
    buffers, text = piece.buffers, type_.is_text
    for buffer in buffers.values():
        settle(buffer)  # the protocol has no streams: what it hands out is ready
    data = buffers.get("data", _NOTHING)
    dtype = _CHARACTERS if text else type_.dtype
    if type_.dtype.kind == DtypeKind.CATEGORICAL:
        dtype = dtype._replace(kind=INDEX_KINDS[dtype.format])
    validity = buffers.get("validity") if piece.null[0] in _MASK_DTYPES else None
    offsets = _OFFSETS[32 if type_.dtype.format == "u" else 64]
    return {
        "data": (data if data.ptr else _NOTHING, dtype),
        "validity": None if validity is None else (validity, _MASK_DTYPES[piece.null[0]]),
        "offsets": (buffers.get("offsets", _ZEROS), offsets) if text else None,
    }


_MASK_DTYPES = {NullKind.USE_BITMASK: _BITS, NullKind.USE_BYTEMASK: _BYTES}


def _refuse(_: str) -> None:
    raise TypeError("column: it lies as the protocol cannot say it: take column.for_interchange()")


def describe_categorical(column: "Column") -> dict[str, Any]:
    """Return what `describe_categorical` answers."""
    categories = column._pieces[0].dictionary
    if column.dtype.kind != DtypeKind.CATEGORICAL or categories is None:
        raise TypeError(f"column {column.name!r}: describe_categorical is for categories, but this is {column.dtype}")
    return {"is_ordered": column.ordered, "is_dictionary": True, "categories": categories}


def get_chunks(column: "Column", n_chunks: int | None) -> "Iterator[Column]":
    """Yield chunks: those that there are, or each cut into as many as it takes."""
    for chunk, parts in zip(column.chunks, spread(column, n_chunks), strict=True):
        yield from (chunk[start:stop] for start, stop in parts) if len(parts) > 1 else (chunk,)


def spread(column: "Column", n_chunks: int | None) -> list[list[tuple[int, int]]]:
    """Return, for each chunk, the starts and ends of the parts that it is cut into, empty ones where it is short."""
    count = len(column._pieces)
    wanted = count if n_chunks is None else n_chunks
    if wanted < count or wanted % count:
        raise ValueError(f"n_chunks: got {n_chunks}, expected a multiple of num_chunks() = {count}")
    each = wanted // count
    found = []
    for piece in column._pieces:
        step = -(-piece.size // each)
        ends = [min(i * step, piece.size) for i in range(each + 1)]
        found.append(list(pairwise(ends)))
    return found
