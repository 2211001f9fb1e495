"""A foreign column, read into NumPy arrays.

Lives here: the reading of one chunk by its kind, and the joining of chunks. Must not know: frames.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .categories import check_codes, describe_categories, index_type, read_codes, unite, without_missing
from .chunk import Chunk, describe
from .context import Context
from .interchange import DtypeKind
from .memory import offers
from .numbers import check_times, number_type, read_bools, read_numbers, read_times, time_type
from .result import ColumnArrays
from .text import STRING_TYPE, read_strings
from .validity import from_mask, from_values


def read_column(column: Any, *, allow_copy: bool = True, whose: str = "column") -> ColumnArrays:
    """Read a foreign column, its chunks joined; see `buflend.minimal.column_to_ndarray`."""
    if not offers(column, "get_buffers", "describe_null", "dtype"):
        raise TypeError(
            f"cannot read a {type(column).__module__}.{type(column).__qualname__} as a column: looked for get_buffers, "
            "describe_null and dtype; a column of a frame is df.__dataframe__().get_column_by_name(name)"
        )
    context = Context(whose, allow_copy)
    return join(read_pieces(column, context), context)


def read_pieces(column: Any, context: Context) -> list[ColumnArrays]:
    """Return what each chunk of a column was read into; a column without chunks is its own."""
    count = context.integer(context.call(column, "num_chunks"), "num_chunks()")
    chunks = context.items(column, "get_chunks") if count > 1 else []
    if not chunks:
        return [_read(column, context)]
    pieces = [_read(chunk, context.within(f"chunk {i}")) for i, chunk in enumerate(chunks)]
    size = context.get(column, "size")
    size = context.integer(context.call(column, "size") if callable(size) else size, "size()")
    if sum(len(piece.values) for piece in pieces) != size:
        raise context.broken(
            "size()", size, f"{sum(len(p.values) for p in pieces)}, the elements of its {len(pieces)} chunks"
        )
    return pieces


def _read(column: Any, context: Context) -> ColumnArrays:
    chunk = describe(column, context)
    kind = chunk.dtype.kind
    if kind not in _READERS:
        raise context.broken("dtype[0]", kind, f"a kind, one of {', '.join(str(int(k)) for k in _READERS)}")
    if context.in_dictionary and kind == DtypeKind.CATEGORICAL:
        raise context.broken("dtype[0]", kind, "values: categories of categories are not defined")
    return _READERS[kind](chunk)


def _read_number(chunk: Chunk) -> ColumnArrays:
    if not chunk.size:
        return ColumnArrays(np.empty(0, number_type(chunk, chunk.dtype.kind, chunk.dtype.bits)))
    present = from_mask(chunk)
    values = read_numbers(chunk)
    return ColumnArrays(values, present if present is not None else from_values(chunk, values))


def _read_bool(chunk: Chunk) -> ColumnArrays:
    if not chunk.size:
        return ColumnArrays(np.empty(0, np.bool_))
    present = from_mask(chunk)
    values, stored = read_bools(chunk)
    return ColumnArrays(values, present if present is not None else from_values(chunk, stored))


def _read_time(chunk: Chunk) -> ColumnArrays:
    _, character, zone = time_type(chunk)
    if not chunk.size:
        return ColumnArrays(np.empty(0, character), timezone=zone)
    present = from_mask(chunk)
    values, stored = read_times(chunk)
    if present is None:
        present = from_values(chunk, stored)
    check_times(chunk, stored, present)
    return ColumnArrays(values, present, timezone=zone)


def _read_string(chunk: Chunk) -> ColumnArrays:
    if not chunk.size:
        return ColumnArrays(np.empty(0, STRING_TYPE))
    present = from_mask(chunk)
    values = read_strings(chunk, present)
    return ColumnArrays(values, present if present is not None else from_values(chunk, values))


def _read_category(chunk: Chunk) -> ColumnArrays:
    column, ordered = describe_categories(chunk)
    inner = chunk.context.within("categories")._replace(in_dictionary=True)
    read = join(read_pieces(column, inner), inner)
    categories = read.values
    if not chunk.size:
        codes, present = np.empty(0, index_type(chunk, *chunk.dtype[:3])), None
    else:
        present = from_mask(chunk)
        codes = read_codes(chunk)
        if present is None:
            present = from_values(chunk, codes)
        present = check_codes(chunk, codes, present, len(categories), read.valid)
    if read.valid is not None and chunk.context.allow_copy:
        codes, categories = without_missing(codes, present, categories, read.valid)
    return ColumnArrays(codes, present, categories, ordered, read.timezone)


_READERS: dict[int, Callable[[Chunk], ColumnArrays]] = {
    DtypeKind.INT: _read_number,
    DtypeKind.UINT: _read_number,
    DtypeKind.FLOAT: _read_number,
    DtypeKind.BOOL: _read_bool,
    DtypeKind.STRING: _read_string,
    DtypeKind.DATETIME: _read_time,
    DtypeKind.CATEGORICAL: _read_category,
}


def join(pieces: list[ColumnArrays], context: Context) -> ColumnArrays:
    """Join what the chunks of one column were read into.

    One chunk that is not empty is given as it is; several are copied into one.

    Raises
    ------
    ProducerError
        When the chunks are not of one type.
    CopyRequiredError
        When there are several and copies are not allowed.
    """
    filled = [piece for piece in pieces if len(piece.values)]
    if len(filled) <= 1:
        return filled[0] if filled else pieces[0]
    context.copy(f"the column has {len(filled)} chunks")
    kinds = {_kind(piece) for piece in filled}
    if len(kinds) > 1:
        raise context.broken("dtype", sorted(map(str, kinds)), "one type in all chunks")
    first = filled[0]
    codes = [piece.values for piece in filled]
    categories = first.categories
    if categories is not None and not all(_same(categories, piece.categories) for piece in filled):
        dictionaries = [piece.categories for piece in filled if piece.categories is not None]
        categories, maps = unite(dictionaries, context, ordered=bool(first.ordered))
        codes = [_recode(piece, new) for piece, new in zip(filled, maps, strict=True)]
    elif categories is not None and len({array.dtype for array in codes}) > 1:
        codes = [array.astype(np.int64) for array in codes]  # together, some types of integer would become floats
    valid = None
    if any(piece.valid is not None for piece in filled):
        valid = np.concatenate([np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in filled])
    return ColumnArrays(np.concatenate(codes), valid, categories, first.ordered, first.timezone)


def _kind(piece: ColumnArrays) -> tuple[object, ...]:
    """Return what must be equal in all chunks: codes may be of different widths, the values they stand for may not."""
    values = piece.values if piece.categories is None else piece.categories
    return values.dtype, piece.categories is not None, piece.ordered, piece.timezone


def _same(one: NDArray[Any], other: NDArray[Any] | None) -> bool:
    return other is not None and one.shape == other.shape and bool(np.all(one == other))


def _recode(piece: ColumnArrays, new: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the codes of a united dictionary; what is missing becomes -1."""
    codes = np.full(len(piece.values), -1, np.int64)
    there = slice(None) if piece.valid is None else piece.valid
    codes[there] = new[piece.values[there]]
    return codes
