"""What was copied on the way from one object to another, told by addresses.

Lives here: the comparison of what two objects lie in. Must not know: how either came about.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from .column import Column
from .sources import as_column, as_table
from .table import Table


class Copied(NamedTuple):
    """A buffer of a result, and how much of it lies in its source's memory.

    Attributes
    ----------
    part : str
        Column and buffer, such as "city.offsets".
    bufsize : int
        Bytes.
    shared : int
        Bytes of these that are the source's own; the others were copied, or made anew.
    """

    part: str
    bufsize: int
    shared: int

    def __str__(self) -> str:
        """Say it in a line."""
        copied = self.bufsize - self.shared
        word = "shared" if not copied else "copied" if not self.shared else f"{copied} of them copied"
        return f"{self.part}: {self.bufsize} bytes, {word}"


def copied(source: object, result: object) -> list[Copied]:
    """Tell what of a result lies in the memory of its source, buffer by buffer.

    Parameters
    ----------
    source, result : object
        What `as_table` or `as_column` reads without a copy. A source that makes its memory when it is asked (a query)
        has none to compare with: pass what it was read into.

    Returns
    -------
    list of Copied
        An item for each buffer of the result.

    Examples
    --------
    >>> import numpy as np
    >>> array = np.arange(3)
    >>> print(*copied(array, np.asarray(as_column(array))), *copied(array, array + 1), sep=", ")
    data: 24 bytes, shared, data: 24 bytes, copied
    """
    lender, taker = _columns(source), _columns(result)  # held together: what one copied would lie where the other did
    lent = sorted({(start, start + size) for _, start, size in _regions(lender)})
    return [Copied(part, size, _within(start, start + size, lent)) for part, start, size in _regions(taker) if size]


def _within(start: int, end: int, regions: list[tuple[int, int]]) -> int:
    """Return how many bytes of a range lie in any of the sorted regions."""
    found = 0
    for first, last in regions:
        low, high = max(first, start), min(last, end)
        if low < high:
            found += high - low
            start = high
    return found


def _columns(obj: Any) -> list[tuple[str, Column]]:
    """Return the columns of an object, each with what stands before the names of its buffers."""
    try:
        column = None if issubclass(type(obj), Table) else as_column(obj)
    except TypeError:
        column = None
    if column is not None and column.dtype.format != "+s":
        return [("", column)]
    table = as_table(obj)
    return [(f"{name}.", one) for name, one in zip(table.column_names(), table.columns, strict=True)]


def _regions(columns: list[tuple[str, Column]]) -> Iterator[tuple[str, int, int]]:
    """Yield name, address and bytes of all buffers."""
    for prefix, column in columns:
        yield from _of_column(column, prefix)


def _of_column(column: Column, prefix: str) -> Iterator[tuple[str, int, int]]:
    pieces = column._pieces
    for i, piece in enumerate(pieces):
        chunk = f"{prefix}{i}." if len(pieces) > 1 else prefix
        for name, buffer in piece.buffers.items():
            yield chunk + name, buffer.ptr, buffer.bufsize
        for number, buffer in enumerate(piece.variadic):
            yield f"{chunk}characters {number}", buffer.ptr, buffer.bufsize
        for child in piece.children:
            yield from _of_column(child, f"{chunk}{child.name}.")
        if piece.dictionary is not None:
            yield from _of_column(piece.dictionary, f"{chunk}dictionary.")
