"""Views of characters: 16 bytes each, which hold the characters themselves or say where they are.

Lives here: the gathering of their characters. Must not know: what the characters mean. Source: Apache Arrow, "Arrow
Columnar Format", section "Variable-size Binary View Layout": a length; up to 12 bytes follow it, of longer elements the
first 4, the number of a buffer and an offset in it.
"""

import numpy as np
from numpy.typing import NDArray

from .buffer import as_buffer, as_ndarray
from .convert import allocate, lead_of
from .nulls import present
from .piece import Piece, Type
from .rows import Rows

_INLINE = 12  # bytes that a view has room for
_AT_ONCE = 1 << 16  # bytes gathered in one step: their indices take eight times as much


def to_large_text(piece: Piece, type: Type) -> Piece:  # noqa: A002 - the record's name
    """Return a copy with 64-bit offsets in place of views, a piece of type `U` or `Z`; what is missing becomes empty.

    Raises
    ------
    ProducerError
        When a view of an element that is present leaves its buffer.
    """
    there = present(piece, type)
    at = np.arange(piece.size) if there is None else np.flatnonzero(there)
    lengths, characters = gather(Rows(piece, type, at, f"column {type.name!r}"))
    before = lead_of(piece)
    offsets = allocate((before + piece.size + 1) * 8).view(np.int64)
    offsets[before + 1 :][at] = lengths
    np.cumsum(offsets, out=offsets)
    buffers = piece.buffers | {"offsets": as_buffer(offsets), "data": as_buffer(characters)}
    return piece._replace(buffers=buffers, offset=before, byte_offset=0, stride=0, variadic=())


def gather(rows: Rows) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the lengths of elements and their characters, one after another in memory of our own."""
    views = rows.items()
    fields = views.view(np.int32).reshape(-1, 4)
    lengths, numbers, starts = (fields[:, column].astype(np.int64) for column in (0, 2, 3))
    rows.refuse(lengths < 0, "length", (lengths,), "a length of 0 or more")
    inline = lengths <= _INLINE
    variadic = rows.piece.variadic
    wild = ~inline & ((numbers < 0) | (numbers >= len(variadic)))
    rows.refuse(wild, "buffer", (numbers,), f"the number of one of {len(variadic)} buffers")
    numbers[inline] = len(variadic)  # the views themselves
    starts[inline] = np.flatnonzero(inline) * views.itemsize + fields.itemsize
    held = np.array([*(buffer.bufsize for buffer in variadic), views.nbytes], np.int64)
    wrong = (starts < 0) | (starts + lengths > held[numbers])
    rows.refuse(wrong, "offset and length", (starts, lengths), "a part of its buffer")
    ends = np.cumsum(lengths)
    characters = allocate(int(ends[-1]) if len(ends) else 0)
    own = views.view(np.uint8)
    first = 0
    while first < len(ends):
        done = int(ends[first] - lengths[first])
        last = max(int(np.searchsorted(ends, done + _AT_ONCE, "right")), first + 1)
        step = slice(first, last)
        part = characters[done : int(ends[last - 1])]
        for number in np.unique(numbers[step]).tolist():
            source = own if number == len(variadic) else as_ndarray(variadic[number])
            if last == first + 1:
                part[:] = source[starts[first] : starts[first] + lengths[first]]
                continue
            ours = np.repeat(numbers[step] == number, lengths[step])
            before = starts[step] - (ends[step] - lengths[step] - done)
            part[ours] = source[(np.repeat(before, lengths[step]) + np.arange(len(part)))[ours]]
        first = last
    return lengths, characters
