"""Elements of nested columns as Python objects: structs, lists, maps, unions, runs, and categories.

Lives here: which elements of the children are read, and what is made of them. Must not know: how values are read.
Sources: Apache Arrow, "Arrow Columnar Format", section "Physical Memory Layout"; which children are cut with their
parent: "The Arrow C data interface", and Arrow C++, which cuts those of sparse unions and not those of dense ones.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..shared.errors import ProducerError
from .elements import elements
from .nulls import present
from .objects import Reader, take
from .rows import Rows

if TYPE_CHECKING:
    from .column import Column


def _fields(rows: Rows) -> list[list[Any]]:
    at = rows.at + rows.piece.offset
    return [take(child, at, f"{rows.whose}, field {child.name!r}") for child in rows.piece.children]


def _structs(rows: Rows) -> list[Any]:
    names = [child.name for child in rows.piece.children]
    if len(set(names)) < len(names):
        raise ProducerError(f"{rows.whose}: names of fields", got=names, expected="different ones, the keys of a dict")
    found = _fields(rows)
    return [dict(zip(names, values, strict=True)) for values in zip(*found, strict=True)] or [{} for _ in rows.at]


def _pairs(rows: Rows) -> list[Any]:
    return list(zip(*_fields(rows), strict=True))


def _maps(rows: Rows) -> list[Any]:
    (entries,) = rows.piece.children
    fields = [child.name for child in entries._piece.children]
    if entries.dtype.format != "+s" or len(fields) != 2:
        got = entries.dtype.format, fields
        raise ProducerError(f"{rows.whose}: entries", got=got, expected="structs, '+s', of key and value")
    return _cut(rows, *rows.spans(entries.size()), _pairs)


def _lists(rows: Rows) -> list[Any]:
    (items,) = rows.piece.children
    return _cut(rows, *rows.spans(items.size()))


def _fixed_lists(rows: Rows) -> list[Any]:
    (items,) = rows.piece.children
    layout = rows.type.layout
    number = layout.parameter if layout else 0
    needed = (rows.piece.offset + rows.piece.size) * number
    if needed > items.size():
        raise ProducerError(f"{rows.whose}: items", got=items.size(), expected=f"{needed}, {number} for each element")
    starts = (rows.at + rows.piece.offset) * number
    return _cut(rows, starts, starts + number)


def _cut(rows: Rows, starts: NDArray[np.int64], ends: NDArray[np.int64], reader: Reader | None = None) -> list[Any]:
    """Return lists of the items from `starts` to `ends`."""
    lengths = ends - starts
    stops = np.cumsum(lengths)
    at = np.repeat(starts - (stops - lengths), lengths) + np.arange(stops[-1])
    found = take(rows.piece.children[0], at, f"{rows.whose}, items", reader)
    return [found[start:stop] for start, stop in zip((stops - lengths).tolist(), stops.tolist(), strict=True)]


def _unions(rows: Rows) -> list[Any]:
    numbers = [int(number) for number in rows.type.dtype.format.partition(":")[2].split(",") if number]
    dense = rows.type.dtype.format.startswith("+ud")
    ids = rows.numbers("type_ids", 8)[rows.at]
    rows.refuse(~np.isin(ids, numbers), "type id", (ids,), f"one of {numbers}")
    at = rows.numbers("offsets", 32)[rows.at].astype(np.int64) if dense else rows.at + rows.piece.offset
    if dense:
        rows.refuse(at < 0, "offset", (at,), "0 or more")
    found: list[Any] = [None] * len(ids)
    for number, child in zip(numbers, rows.piece.children, strict=True):
        ours = np.flatnonzero(ids == number)
        values = take(child, at[ours], f"{rows.whose}, member {number}")
        for index, value in zip(ours.tolist(), values, strict=True):
            found[index] = value
    return found


def _runs(rows: Rows) -> list[Any]:
    ends, values = rows.piece.children
    field = f"{rows.whose}: run ends"
    if ends.dtype.format not in ("s", "i", "l") or any(
        present(piece, ends._type) is not None for piece in ends._pieces
    ):
        raise ProducerError(field, got=ends.dtype.format, expected="integers of 16 to 64 bits, none of them missing")
    stops = elements(ends._piece, ends._type).astype(np.int64)
    end = rows.piece.offset + rows.piece.size
    if not len(stops) or stops[0] < 1 or (stops[1:] <= stops[:-1]).any() or stops[-1] < end:
        shown = stops.tolist() if len(stops) <= _SHOWN else f"{len(stops)} of them, up to {stops[-1]}"
        raise ProducerError(field, got=shown, expected=f"growing numbers from 1 on, the last one {end} or more")
    return _shared(values, np.searchsorted(stops, rows.at + rows.piece.offset, "right"), f"{rows.whose}, values")


_SHOWN = 20


def _categories(rows: Rows) -> list[Any]:
    assert rows.piece.dictionary is not None  # noqa: S101 - the reader was chosen for it
    codes, known = rows.items(), rows.piece.dictionary.size()
    rows.refuse((codes < 0) | (codes >= known), "code", (codes,), f"one of {known} categories")
    return _shared(rows.piece.dictionary, codes.astype(np.int64), f"{rows.whose}, categories")


def _shared(column: "Column", at: NDArray[np.int64], whose: str) -> list[Any]:
    """Return elements of which many are the same: each is read once, unless what it becomes can be changed."""
    if column.dtype.format.startswith("+"):
        return take(column, at, whose)
    used, back = np.unique(at, return_inverse=True)
    values = take(column, used, whose)
    return [values[index] for index in back.tolist()]


READERS: dict[str, Reader] = {
    "dictionary": _categories,
    "+s": _structs,
    "+m": _maps,
    "+w": _fixed_lists,
    "+r": _runs,
    **dict.fromkeys(("+l", "+L", "+vl", "+vL"), _lists),
    **dict.fromkeys(("+us", "+ud"), _unions),
}
