"""The dataframe interchange protocol, in: from a foreign column to a column of ours.

Lives here: what a chunk's description means as a piece. Must not know: values. What is read is read to be checked, in
host memory: the count of masks, offsets, times of day. What is copied is offsets in foreign byte order, and codes whose
width changes from chunk to chunk.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..shared.arrays import to_ndarray
from ..shared.arrow_c import NULLABLE, ORDERED
from ..shared.arrow_format import NUMBER_FORMATS
from ..shared.categories import describe_categories, index_type
from ..shared.chunk import NATIVE, Chunk, Dtype, Part, describe, settle_order, settle_width
from ..shared.context import Context
from ..shared.device import HOST_READABLE
from ..shared.frame import gather
from ..shared.interchange import DtypeKind, NullKind
from ..shared.numbers import DAY, check_times, number_type, time_type
from ..shared.text import STRING_TYPE, checked_offsets
from ..shared.validity import describe_mask, from_values
from .buffer import Buffer, as_buffer
from .column import Column
from .elements import elements
from .fault import fault
from .nulls import count, present
from .piece import MASKS, NO_NULLS, UNKNOWN, Piece, Type


def read_column(foreign: Any, context: Context) -> Column:
    """Return a column over the buffers of a foreign one, each of which is an owner of its own.

    Raises
    ------
    ProducerError
        When the description cannot be true, or the chunks are of several types.
    """
    return _join(_chunks(foreign, context), context)


def read_frame(df: Any, *, allow_copy: bool) -> dict[str, Column]:
    """Return the columns of a foreign frame that offers `__dataframe__`."""
    read = gather(df, _chunks, lambda one: one[1].size, allow_copy=allow_copy)
    return {name: _join(found, Context(f"column {name!r}", allow_copy), name) for name, found in read.items()}


def _chunks(foreign: Any, context: Context) -> list[tuple[Type, Piece]]:
    number = context.integer(context.call(foreign, "num_chunks"), "num_chunks()")
    chunks = context.items(foreign, "get_chunks") if number > 1 else []
    return [_read(chunk, context.within(f"chunk {i}")) for i, chunk in enumerate(chunks)] or [_read(foreign, context)]


def _join(read: list[tuple[Type, Piece]], context: Context, name: str = "") -> Column:
    """Return the column of pieces that must be of one type; empty ones are left out where there are others."""
    filled = [one for one in read if one[1].size] or read[:1]
    types = {type_ for type_, _ in filled}
    if len(types) > 1 and {type_.dtype.kind for type_ in types} == {DtypeKind.CATEGORICAL}:
        context.copy("codes of several types become 64 bits wide")
        filled = [_wide(*one) for one in filled]
        types = {type_ for type_, _ in filled}
    if len(types) > 1:
        raise context.broken("dtype", sorted(str(type_.dtype) for type_ in types), "one type in all chunks")
    return Column._make(filled[0][0]._replace(name=name), _alike([piece for _, piece in filled], context))


def _alike(pieces: list[Piece], context: Context) -> tuple[Piece, ...]:
    """Return pieces whose categories are of one type; where there are no categories, the type is not known."""
    known = [piece.dictionary for piece in pieces if piece.dictionary]
    stored = {dictionary.dtype for dictionary in known}
    if len(stored) > 1:
        raise context.broken("categories: dtype", sorted(map(str, stored)), "one type in all chunks")
    return tuple([piece._replace(dictionary=piece.dictionary or known[0]) if known else piece for piece in pieces])


def _wide(type: Type, piece: Piece) -> tuple[Type, Piece]:  # noqa: A002 - the record's name
    """Return codes as integers of 64 bits."""
    codes = elements(piece, type).astype(np.int64)
    made = piece._replace(buffers=piece.buffers | {"data": as_buffer(codes)}, offset=0, byte_offset=0, stride=8)
    return type._replace(dtype=Dtype(DtypeKind.CATEGORICAL, 64, "l", "=")), made


def _read(foreign: Any, context: Context) -> tuple[Type, Piece]:
    chunk = describe(foreign, context, host=False)
    reader = _READERS.get(chunk.dtype.kind)
    if reader is None or (context.in_dictionary and chunk.dtype.kind == DtypeKind.CATEGORICAL):
        raise context.broken("dtype[0]", chunk.dtype.kind, f"a kind, one of {', '.join(str(int(k)) for k in _READERS)}")
    dtype, buffers, dictionary, flags = reader(chunk)
    type_ = Type(dtype, flags=flags)
    null, lost = _nulls(chunk)
    if null[0] in MASKS:
        buffers["validity"] = as_buffer(chunk.parts["validity"].memory)
    piece = Piece(chunk.size, chunk.offset, buffers, null, lost, 0, type_.width, chunk.offset, dictionary=dictionary)
    if wrong := fault(piece, type_):
        raise context.broken("get_buffers()", wrong, f"buffers for {chunk.window} elements")
    if null[0] in MASKS and lost != UNKNOWN:
        counted = count(piece._replace(null_count=UNKNOWN), type_)
        if counted not in (UNKNOWN, lost):
            raise context.broken("null_count", lost, f"{counted}, the number of elements that the mask marks")
    _check_values(chunk, type_, piece)
    return type_, piece


def _check_values(chunk: Chunk, type: Type, piece: Piece) -> None:  # noqa: A002 - the record's name
    """Check what consumers of the column will not: offsets, times of day, the type of a sentinel."""
    if not piece.size or piece.device[0] not in HOST_READABLE:
        return
    if piece.null[0] == NullKind.USE_SENTINEL:
        stored = STRING_TYPE if type.is_text else elements(piece, type)[:0].dtype if type.width else np.dtype(np.bool_)
        from_values(chunk, np.empty(0, stored if stored.kind not in "Mm" else np.int64))
    if type.is_text:
        checked_offsets(chunk)
    elif type.dtype.format in DAY:
        stored_times = elements(piece, type)
        check_times(chunk, stored_times.view(f"{stored_times.dtype.str[0]}i{type.width}"), present(piece, type))


def _nulls(chunk: Chunk) -> tuple[tuple[NullKind, Any], int]:
    """Return how what is missing is marked, and how much the producer says it is."""
    kind = chunk.null_kind
    if kind == NullKind.NON_NULLABLE or not chunk.size:
        return NO_NULLS, 0
    if kind not in MASKS:
        if kind == NullKind.USE_NAN and chunk.dtype.kind not in (DtypeKind.FLOAT, DtypeKind.DATETIME):
            raise chunk.context.broken("describe_null", "USE_NAN", "a null kind that a column without NaN can have")
        return (kind, chunk.null_value), UNKNOWN
    missing = describe_mask(chunk)
    if missing is None:
        return NO_NULLS, 0
    announced = chunk.null_count()
    return (kind, missing), UNKNOWN if announced is None or announced < 0 else announced


Read = tuple[Dtype, dict[str, Buffer], Column | None, int]


def _number(chunk: Chunk) -> Read:
    kind = chunk.dtype.kind
    if not chunk.size:
        character, order = number_type(chunk, kind, chunk.dtype.bits), "="
    else:
        part = chunk.part("data")
        order = settle_order(chunk, part, kind)
        character = number_type(chunk, kind, settle_width(chunk, part))
    return _dtype(kind, character, order), _data(chunk), None, NULLABLE


def _dtype(kind: int, character: str, order: str) -> Dtype:
    bits = 8 * int(character[1:])
    return Dtype(DtypeKind(kind), bits, NUMBER_FORMATS[kind, bits], "=" if order in NATIVE or bits == 8 else order)


def _bool(chunk: Chunk) -> Read:
    bits = chunk.dtype.bits
    if chunk.size:
        part = chunk.part("data")
        settle_order(chunk, part, DtypeKind.BOOL)
        bits = settle_width(chunk, part)
    if bits not in (1, 8):
        raise chunk.context.broken("dtype", (int(DtypeKind.BOOL), bits), "booleans of 1 or 8 bits")
    return Dtype(DtypeKind.BOOL, bits, "b", "="), _data(chunk), None, NULLABLE


def _time(chunk: Chunk) -> Read:
    bits, _, _ = time_type(chunk)
    order = "="
    if chunk.size:
        part = chunk.part("data")
        if (settled := settle_width(chunk, part, bits)) != bits:
            raise chunk.context.broken("dtype[1]", settled, f"{bits} bits, the width of format {chunk.dtype.format!r}")
        order = settle_order(chunk, part, DtypeKind.DATETIME, DtypeKind.INT)
    text = chunk.dtype.format
    if text.startswith("ts") and ":" not in text:
        text += ":"
    return Dtype(DtypeKind.DATETIME, bits, text, "=" if order in NATIVE else order), _data(chunk), None, NULLABLE


def _text(chunk: Chunk) -> Read:
    buffers, bits = _data(chunk), 32
    if chunk.size:
        part = chunk.part("offsets")
        kind, bits, _, _ = part.dtype
        if kind not in (DtypeKind.INT, DtypeKind.UINT) or bits not in (32, 64):
            raise chunk.context.broken("offsets dtype", tuple(part.dtype), "integers of 32 or 64 bits")
        buffers["offsets"] = _native_offsets(chunk, part)
    return Dtype(DtypeKind.STRING, 8, "u" if bits == 32 else "U", "="), buffers, None, NULLABLE


def _native_offsets(chunk: Chunk, part: Part) -> Buffer:
    if part.dtype.order in NATIVE:
        return as_buffer(part.memory)
    chunk.context.copy("the offsets are not in native byte order")
    width = part.dtype.bits // 8
    whole = to_ndarray(part.memory, f"{part.dtype.order}i{width}", part.memory.bufsize // width)
    return as_buffer(whole.astype(f"i{width}"))


def _category(chunk: Chunk) -> Read:
    foreign, ordered = describe_categories(chunk)
    dictionary = read_column(foreign, chunk.context.within("categories")._replace(in_dictionary=True))
    kind, bits, text, order = chunk.dtype
    if chunk.size:
        part = chunk.part("data")
        kind, _, text, _ = part.dtype
        order = settle_order(chunk, part, DtypeKind.CATEGORICAL, DtypeKind.INT, DtypeKind.UINT)
        bits = settle_width(chunk, part)
    character = index_type(chunk, kind, bits, text)
    dtype = _dtype(DtypeKind.INT if character[0] == "i" else DtypeKind.UINT, character, order)
    flags = NULLABLE | (ORDERED if ordered else 0)
    return dtype._replace(kind=DtypeKind.CATEGORICAL), _data(chunk), dictionary, flags


def _data(chunk: Chunk) -> dict[str, Buffer]:
    return {"data": as_buffer(chunk.part("data").memory)} if chunk.size else {}


_READERS: dict[int, Callable[[Chunk], Read]] = {
    DtypeKind.INT: _number,
    DtypeKind.UINT: _number,
    DtypeKind.FLOAT: _number,
    DtypeKind.BOOL: _bool,
    DtypeKind.STRING: _text,
    DtypeKind.DATETIME: _time,
    DtypeKind.CATEGORICAL: _category,
}
