"""A foreign frame, read column by column.

Lives here: names, chunks and lengths of a frame of the interchange protocol. Must not know: types.
"""

from typing import Any

from .column import join, read_pieces
from .context import Context
from .errors import BuflendError
from .memory import offers
from .result import ColumnArrays


def read_frame(df: Any, *, allow_copy: bool = True) -> dict[str, ColumnArrays]:
    """Read a frame of any library; see `buflend.minimal.dataframe_to_ndarrays`."""
    context = Context("frame", allow_copy)
    if not offers(df, "__dataframe__"):
        raise TypeError(
            f"cannot read a {type(df).__module__}.{type(df).__qualname__}: looked for __dataframe__, "
            "the dataframe interchange protocol"
        )
    frame = context.call(df, "__dataframe__", allow_copy=allow_copy)
    names = _names(frame, context)
    pieces: dict[str, list[ColumnArrays]] = {name: [] for name in names}
    # No chunk at all is legal, and then the types come from the frame's own columns.
    chunks = context.items(frame, "get_chunks") or [frame]
    for i, chunk in enumerate(chunks):
        length = None
        for name in names:
            inner = Context(f"column {name!r}" + (f", chunk {i}" if len(chunks) > 1 else ""), allow_copy)
            found = _read(chunk, name, inner)
            size = sum(len(piece.values) for piece in found)
            if length is not None and size != length:
                raise inner.broken("size()", size, f"{length}, as many elements as the columns before it have")
            length = size
            pieces[name] += found
    _check_rows(frame, pieces, context)
    return {name: join(found, Context(f"column {name!r}", allow_copy)) for name, found in pieces.items()}


def _read(chunk: Any, name: str, context: Context) -> list[ColumnArrays]:
    try:
        return read_pieces(context.call(chunk, "get_column_by_name", name), context)
    except BuflendError as error:
        error.add_note(
            f"To read the frame without column {name!r}: select the others before, or pass "
            "df.__dataframe__().select_columns_by_name([...])"
        )
        raise


def _names(frame: Any, context: Context) -> list[str]:
    names = [
        context.text(name, "column_names()", "names that are strings; rename the column")
        for name in context.items(frame, "column_names")
    ]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise context.broken("column_names()", twice, "names that are unique", "rename the columns")
    return names


def _check_rows(frame: Any, pieces: dict[str, list[ColumnArrays]], context: Context) -> None:
    rows = context.call(frame, "num_rows")
    if rows is None or not pieces:
        return
    rows = context.integer(rows, "num_rows()")
    read = sum(len(piece.values) for piece in next(iter(pieces.values())))
    if rows != read:
        raise context.broken("num_rows()", rows, f"{read}, the elements of its columns")
