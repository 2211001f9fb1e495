"""A column in the form that Arrow has: schema, and arrays with the keepers of their buffers.

Lives here: what of a column Arrow can say as it is, and what must be copied for it. Must not know: structs, capsules.
"""

from array import array as array_of
from typing import TYPE_CHECKING, Any

from ..shared.access import settle
from ..shared.arrow_c import Data, Field
from ..shared.arrow_format import parse_format
from ..shared.device import CPU, HOST_READABLE
from ..shared.interchange import DtypeKind
from ..shared.loan import Lent
from .buffer import Buffer, as_buffer
from .nulls import Copy, count, with_bitmap
from .piece import ARROW_NULLS, NO_NULLS, Piece, Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from .column import Column
    from .table import Table

_ZEROS = as_buffer(bytes(64))  # the one offset of an array without elements, and what no characters lie in


class Form:
    """A column or table as Arrow has it: its type, and its chunks."""

    __slots__ = ("chunks", "export", "field", "is_table", "pyarrow")

    def __init__(self, field: Field, chunks: list[Data], *, is_table: bool = False) -> None:
        self.field = field
        self.chunks = chunks
        self.is_table = is_table
        self.export: Callable[[], tuple[object, object]] | None = None  # makes the capsules of one chunk
        self.pyarrow: Callable[[], Any] | None = None  # makes pyarrow's array of one chunk


def form_of(column: "Column") -> Form:
    """Return a column as Arrow has it; only what Arrow cannot say is copied.

    The column keeps it where nothing was copied: then it holds nothing that the column does not.
    """
    copies: list[str] = []
    chunks = [_data(piece, column._type, copies.append) for piece in column._pieces]
    form = Form(field_of(column), chunks)
    if not copies:
        column._form = form
    return form


def form_of_table(table: "Table") -> Form:
    """Return a table as Arrow's structs, a chunk for each of its chunks; kept as that of a column."""
    copies: list[str] = []
    fields = tuple([field_of(column) for column in table.columns])
    types = [column._type for column in table.columns]
    chunks = []
    for pieces in table._aligned:
        children = [_data(piece, type_, copies.append) for piece, type_ in zip(pieces, types, strict=True)]
        chunks.append(Data(pieces[0].size, (None,), children=tuple(children)))
    field = Field("+s", "", 0, fields, None, table._metadata)
    form = Form(field, chunks or [Data(0, (None,))], is_table=True)
    if not copies:
        table._form = form
    return form


def field_of(column: "Column") -> Field:
    """Return the schema of a column."""
    type_, piece = column._type, column._pieces[0]
    children = tuple([field_of(child) for child in piece.children])
    dictionary = None if piece.dictionary is None else field_of(piece.dictionary)
    return Field(type_.dtype.format, type_.name, type_.flags, children, dictionary, type_.metadata)


def _data(piece: Piece, type: Type, copy: Copy) -> Data:  # noqa: A002 - the record's name
    """Return one piece as Arrow has it."""
    piece, type = _conform(piece, type, copy)  # noqa: A001
    layout = parse_format(type.dtype.format)
    buffers: list[tuple[int, object] | None] = []
    moved, offset = 0, piece.offset if piece.size else 0
    if "validity" not in piece.buffers and (type.width or layout.kind in (DtypeKind.STRUCT, DtypeKind.UNION)):
        moved, offset = offset, 0  # some readers mistake offsets; here none is needed
    starts = {"data": piece.byte_offset + moved * type.width, "type_ids": moved, "offsets": moved * 4}
    for name in layout.buffers:
        buffer, start = piece.buffers.get(name), starts.get(name, 0)
        if buffer is None and name != "validity" and (not piece.size or layout.offset_bits):
            # No elements need one offset, no text its characters: pyarrow crashes where they are NULL. Off the host
            # there are no zeros to point at, and nothing is read of NULL.
            buffer, start = (_ZEROS, 0) if piece.device[0] in HOST_READABLE else (None, 0)
        buffers.append(None if buffer is None else _lent(buffer, start))
    if layout.variadic:
        sizes = array_of("q", [buffer._bufsize for buffer in piece.variadic])
        buffers += [_lent(buffer, 0) for buffer in piece.variadic]
        buffers.append(_lent(as_buffer(sizes), 0) if sizes else None)
    cut = slice(moved, moved + piece.size)  # fields of a struct, members of a sparse union
    children = [child[cut] if moved and not layout.offset_bits else child for child in piece.children]
    parts = tuple([_data(child._piece, child._type, copy) for child in children])
    inner = piece.dictionary
    dictionary = None if inner is None else _data(inner._piece, inner._type, copy)
    missing = count(piece, type) if layout.kind not in _WITHOUT_NULLS else 0
    return Data(piece.size, tuple(buffers), missing, offset, parts, dictionary)


_WITHOUT_NULLS = (DtypeKind.UNION, DtypeKind.RUN_END)


def _lent(buffer: Buffer, start: int) -> tuple[int, object] | None:
    """Return address and keeper of a buffer from byte `start` on; the memory is ready from then on."""
    if buffer._device is not CPU:
        settle(buffer)
    ptr, size = buffer._ptr + start, buffer._bufsize - start
    return (ptr, Lent(buffer._owner, "arrow", ptr, size, buffer._device)) if ptr else None


def _conform(piece: Piece, type: Type, copy: Copy) -> tuple[Piece, Type]:  # noqa: A002
    """Return a piece that Arrow can say: contiguous, of its widths, nulls in a bit mask."""
    kind, bits, text, order = type.dtype
    asis = bits == parse_format(text).bits
    if asis and piece.null == NO_NULLS and piece.stride == type.width and order == "=":
        return piece, type
    if piece.null not in (NO_NULLS, ARROW_NULLS):
        copy("what is missing")  # none may be now, and some when the column goes out again
    piece = with_bitmap(piece, type, copy)
    if type.width:
        from .convert import contiguous, narrow_days, pack_bools

        if kind == DtypeKind.BOOL:
            piece, type = pack_bools(piece, type, copy)  # noqa: A001
        elif not asis:
            piece, type = narrow_days(piece, type, copy)  # noqa: A001
        else:
            piece, type = contiguous(piece, type, copy)  # noqa: A001
    return with_bitmap(piece, type, copy), type
