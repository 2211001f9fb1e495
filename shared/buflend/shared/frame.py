"""A foreign frame, walked chunk by chunk and column by column.

Lives here: names, chunks and lengths of a frame of the interchange protocol. Must not know: types.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from .column import join, read_pieces
from .context import Context
from .errors import BuflendError
from .memory import offers
from .result import ColumnArrays

Read = TypeVar("Read")


def read_frame(df: Any, *, allow_copy: bool = True) -> dict[str, ColumnArrays]:
    """Read a frame of any library; see `buflend.minimal.dataframe_to_ndarrays`."""
    pieces = gather(df, read_pieces, lambda piece: len(piece.values), allow_copy=allow_copy)
    return {name: join(found, Context(f"column {name!r}", allow_copy)) for name, found in pieces.items()}


def gather(
    df: Any, read: Callable[[Any, Context], list[Read]], length: Callable[[Read], int], *, allow_copy: bool
) -> dict[str, list[Read]]:
    """Return, by name, what each chunk of each column was read into.

    Parameters
    ----------
    df : object
        A frame that offers `__dataframe__`.
    read : callable
        Reads a foreign column into a list, an item for each chunk.
    length : callable
        Tells the elements of such an item.
    allow_copy : bool
        What the producer is told.

    Raises
    ------
    TypeError
        When the frame does not offer `__dataframe__`.
    ProducerError
        When names, lengths or rows contradict one another.
    """
    context = Context("frame", allow_copy)
    if not offers(df, "__dataframe__"):
        raise TypeError(
            f"cannot read a {type(df).__module__}.{type(df).__qualname__}: looked for __dataframe__, "
            "the dataframe interchange protocol"
        )
    frame = context.call(df, "__dataframe__", allow_copy=allow_copy)
    names = _names(frame, context)
    pieces: dict[str, list[Read]] = {name: [] for name in names}
    # No chunk at all is legal, and then the types come from the frame's own columns.
    chunks = context.items(frame, "get_chunks") or [frame]
    for i, chunk in enumerate(chunks):
        rows = None
        for name in names:
            inner = Context(f"column {name!r}" + (f", chunk {i}" if len(chunks) > 1 else ""), allow_copy)
            found = _read(chunk, name, inner, read)
            size = sum(map(length, found))
            if rows is not None and size != rows:
                raise inner.broken("size()", size, f"{rows}, as many elements as the columns before it have")
            rows = size
            pieces[name] += found
    _check_rows(frame, [sum(map(length, found)) for found in pieces.values()], context)
    return pieces


def _read(chunk: Any, name: str, context: Context, read: Callable[[Any, Context], list[Read]]) -> list[Read]:
    try:
        return read(context.call(chunk, "get_column_by_name", name), context)
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


def _check_rows(frame: Any, lengths: list[int], context: Context) -> None:
    rows = context.call(frame, "num_rows")
    if rows is None or not lengths:
        return
    rows = context.integer(rows, "num_rows()")
    if rows != lengths[0]:
        raise context.broken("num_rows()", rows, f"{lengths[0]}, the elements of its columns")
