"""Reading of what came out, to its last byte.

Lives here: what a result is made of, whether its memory is known, and its values. Must not know: how it was made.

Where a protocol does not tell the size of memory, or a producer says of another device that this is where it lies, its
word is all there is: that is believed, and not read.
"""

import contextlib
from typing import Any

import numpy as np

from buflend.maximal import Column, Table, as_column
from buflend.maximal import as_memoryview as maximal_view
from buflend.shared import BuflendError
from buflend.shared.memory import Memory
from buflend.shared.result import ColumnArrays

from .ledger import Ledger

MOST = 2**16  # elements that are looked at one by one


class Believed:
    """The values of memory that nobody can check."""


def read(found: Any, ledger: Ledger) -> Any:
    """Return the values of a result: bytes, a list, a dict of lists; `Believed` where they cannot be read."""
    if isinstance(found, Memory):
        known = found.device[0] == 1 and ledger.holds(found.ptr, found.bufsize)
        return _same_bytes(found.ptr, bytes(maximal_view(found)), ledger) if known else Believed()
    if isinstance(found, memoryview):
        return read(np.frombuffer(found, "u1"), ledger) if found.nbytes else b""
    if isinstance(found, np.ndarray):
        return found.tobytes() if ledger.holds(*_span(found)) else Believed()
    if isinstance(found, Column):
        return _column(found) if _is_known(found, ledger) else Believed()
    if isinstance(found, Table):
        found = {name: found[name] for name in found.column_names()}
    if isinstance(found, dict):
        values = {name: read(each, ledger) for name, each in found.items()}
        return Believed() if any(isinstance(each, Believed) for each in values.values()) else values
    assert isinstance(found, ColumnArrays), f"got {found!r}, no result of ours"
    return found.tolist()


def _span(array: Any) -> tuple[int, int]:
    """Return the address of the lowest byte of an array, and how many there are up to the highest."""
    if not array.size:
        return 0, 0
    reaches = [(extent - 1) * step for extent, step in zip(array.shape, array.strides, strict=True)]
    low = array.ctypes.data + sum(reach for reach in reaches if reach < 0)
    return low, sum(map(abs, reaches)) + array.itemsize


def _same_bytes(ptr: int, content: bytes, ledger: Ledger) -> bytes:
    expected = ledger.content(ptr, len(content))
    assert content == expected, f"read {content!r}, where {expected!r} was put"
    return content


def _is_known(column: Column, ledger: Ledger) -> bool:
    if column.size() > MOST:
        return False
    for piece in column._pieces:
        for buffer in (*piece.buffers.values(), *piece.variadic):
            if buffer.device[0] != 1 or not ledger.holds(buffer.ptr, buffer.bufsize):
                return _is_ours(buffer)
        inner = (*piece.children, *(() if piece.dictionary is None else (piece.dictionary,)))
        if not all(_is_known(each, ledger) for each in inner):
            return False
    return True


def _is_ours(buffer: Any) -> bool:
    """Tell whether a buffer is a copy: an ndarray that owns its memory."""
    owner = buffer.owner
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return isinstance(owner, np.ndarray)


def _column(column: Column) -> list[Any]:
    """Return the values, after every protocol was spoken: who exports reads, too."""
    values = column.tolist()
    with contextlib.suppress(BuflendError, BufferError, TypeError, OverflowError):
        again = as_column(_Only(column, "__arrow_c_stream__")).tolist()
        assert repr(again) == repr(values), f"by Arrow it is {again!r}, not {values!r}"
    for name in ("__array__", "__dlpack__", *(("get_buffers",) if column.num_chunks() == 1 else ())):
        with contextlib.suppress(BuflendError, BufferError, TypeError, OverflowError):
            getattr(column, name)()
    return values


class _Only:
    """An object that speaks one protocol of another."""

    def __init__(self, column: Column, name: str) -> None:
        setattr(self, name, getattr(column, name))
