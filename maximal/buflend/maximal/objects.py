"""Elements of a column as Python objects.

Lives here: what is missing, the choice of a reader, and the readers of numbers, times and text. Must not know: how the
column came here. Null slots are never looked into, and all that a buffer says of another is checked before it is read.
Sources: Apache Arrow, "Arrow Columnar Format", section "Physical Memory Layout"; `Schema.fbs` for intervals.
"""

import sys
from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..shared.arrays import whole_ndarray
from ..shared.device import require_host
from ..shared.errors import ProducerError
from ..shared.interchange import TIMES, DtypeKind
from ..shared.memory import to_memoryview
from .nulls import present
from .piece import Piece, Type
from .rows import Rows
from .text_views import gather

if TYPE_CHECKING:
    from .column import Column

Reader = Callable[[Rows], list[Any]]


def to_objects(column: "Column") -> list[Any]:
    """Return the elements as Python objects, None where one is missing; see `Column.tolist`.

    Raises
    ------
    DeviceError
        When a buffer lies where the host cannot read.
    ProducerError
        When offsets, codes or views lead out of their buffers, or text is not UTF-8.
    """
    whose = f"column {column.name!r}"
    _require_host(column, whose)
    found: list[Any] = []
    for piece in column._pieces:
        found += _read(piece, column._type, np.arange(piece.size), whose, len(found))
    return found


def _require_host(column: "Column", whose: str) -> None:
    for piece in column._pieces:
        for buffer in (*piece.buffers.values(), *piece.variadic):
            require_host(buffer.device, whose)
        for part in (*piece.children, *(() if piece.dictionary is None else (piece.dictionary,))):
            _require_host(part, whose)


def take(column: "Column", at: NDArray[np.int64], whose: str, reader: Reader | None = None) -> list[Any]:
    """Return the elements of a child or dictionary that have these numbers."""
    size = column.size()
    if len(at) and not 0 <= int(at.min()) <= int(at.max()) < size:
        raise ProducerError(f"{whose}: elements", got=size, expected=f"those from {at.min()} to {at.max()}")
    return _read(column._piece, column._type, at, whose, 0, reader=reader)


def _read(
    piece: Piece,
    type: Type,  # noqa: A002 - the record's name
    at: NDArray[np.int64],
    whose: str,
    first: int,
    *,
    reader: Reader | None = None,
) -> list[Any]:
    """Return the elements `at` of a piece, whose first one has the number `first`."""
    if not len(at):
        return []
    if type.dtype.kind == DtypeKind.NULL:
        return [None] * len(at)
    low = int(at.min())
    piece = piece.cut(low, int(at.max()) + 1)
    at = at - low
    there = present(piece, type)
    here = None if there is None else there[at]
    rows = Rows(piece, type, at if here is None else at[here], whose, first + low)
    values = (reader or _reader(piece, type))(rows) if len(rows.at) else []
    if here is None:
        return values
    following = iter(values)
    return [next(following) if one else None for one in here.tolist()]


def _reader(piece: Piece, type: Type) -> Reader:  # noqa: A002
    name = type.dtype.format.partition(":")[0]
    if piece.dictionary is None and not name.startswith("+"):
        return _READERS.get(name, _numbers)
    from .objects_nested import READERS

    return READERS["dictionary" if piece.dictionary is not None else name]


def _numbers(rows: Rows) -> list[Any]:
    """Read what NumPy has a type for; times as NumPy's, which have units that Python's lack."""
    found = rows.items()
    unit = TIMES.get(rows.type.dtype.format.partition(":")[0])
    if unit and found.dtype.kind == "i":
        found = found.astype(np.int64).view(unit[1])
    return list(found) if found.dtype.kind in "Mm" else found.tolist()


def _bools(rows: Rows) -> list[Any]:
    if rows.type.width:
        return (rows.items().view(np.uint8) != 0).tolist()  # type: ignore[no-any-return]
    at = rows.at + rows.piece.offset
    bits = whole_ndarray(rows.piece.buffers["data"], "uint8")[at >> 3] >> (at & 7)
    return (bits & 1).astype(np.bool_).tolist()  # type: ignore[no-any-return]


def _bytes(rows: Rows) -> list[Any]:
    width = rows.type.width
    if not width:
        return [b""] * len(rows.at)
    raw = rows.items().tobytes()
    return [raw[start : start + width] for start in range(0, len(raw), width)]


def _decimals(rows: Rows) -> list[Any]:
    scale = int(rows.type.dtype.format.split(",")[1])
    order = {"<": "little", ">": "big"}.get(rows.type.dtype.order, sys.byteorder)
    # Made of text: arithmetic would round to the precision of the caller's context.
    return [Decimal(f"{int.from_bytes(one, order, signed=True)}E{-scale}") for one in _bytes(rows)]  # type: ignore[arg-type]


def _intervals(rows: Rows) -> list[Any]:
    fields = _INTERVALS[rows.type.dtype.format]
    order = rows.type.dtype.order
    return rows.items().view([(name, order + kind) for name, kind in fields]).tolist()  # type: ignore[no-any-return]


_INTERVALS = {
    "tiD": (("days", "i4"), ("milliseconds", "i4")),
    "tin": (("months", "i4"), ("days", "i4"), ("nanoseconds", "i8")),
}


def _months(rows: Rows) -> list[Any]:
    return rows.items().view(f"{rows.type.dtype.order}i4").tolist()  # type: ignore[no-any-return]


def _text(rows: Rows) -> list[Any]:
    data = rows.piece.buffers.get("data")
    starts, ends = rows.spans(data.bufsize if data else 0)
    return _strings(rows, to_memoryview(data) if data else memoryview(b""), starts, ends)


def _views(rows: Rows) -> list[Any]:
    lengths, characters = gather(rows)
    ends = np.cumsum(lengths)
    return _strings(rows, characters.data, ends - lengths, ends)


def _strings(rows: Rows, view: memoryview, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> list[Any]:
    low, high = int(starts.min()), int(ends.max())
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    if rows.type.dtype.format[-1] in "zZ":
        return [view[start:end].tobytes() for start, end in spans]
    if high - low <= 2 * int((ends - starts).sum()):  # else much lies between that may not be asked for
        try:
            joined = str(view[low:high], "ascii")
        except UnicodeDecodeError:
            pass
        else:
            return [joined[start - low : end - low] for start, end in spans]
    found: list[Any] = []
    for start, end in spans:
        try:
            found.append(str(view[start:end], "utf-8"))
        except UnicodeDecodeError:
            raise rows.broken("text", len(found), view[start:end].tobytes(), "UTF-8") from None
    return found


# Arrow format, up to a colon -> reader of what `_numbers` cannot read.
_READERS: dict[str, Reader] = {
    "b": _bools,
    "w": _bytes,
    "d": _decimals,
    "tiM": _months,
    **dict.fromkeys(_INTERVALS, _intervals),
    **dict.fromkeys(("u", "U", "z", "Z"), _text),
    **dict.fromkeys(("vu", "vz"), _views),
}
