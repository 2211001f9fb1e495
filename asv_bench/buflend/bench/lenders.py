"""Who lends the same bytes: buflend's buffers, the buffers of `__dataframe__`, and what libraries lend natively.

Lives here: one function per lender, which makes its object anew and says where its bytes lie. Must not know: who takes
them. Addresses come from the lender, never from a consumer.

The bytes are aligned to 64, as Arrow asks for, so that nobody has to copy for the sake of alignment; those of `bytes`
lie where Python puts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from . import peers, readers

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 4096
"""Bytes that are lent."""

ALIGNMENT = 64

Lent = tuple[Any, int]


class Lender(NamedTuple):
    """One kind of object that holds the bytes.

    Parameters
    ----------
    name
        For display.
    package
        What is imported to make it; empty for what is always there.
    group
        Whose table it belongs to.
    make
        Returns the object and the address of its first byte.
    """

    name: str
    package: str
    group: str
    make: Callable[[], Lent]


def content() -> list[int]:
    """Return the bytes that are lent, as numbers."""
    return [place % 251 for place in range(SIZE)]


def aligned() -> Any:
    """Return an ndarray of the bytes in memory of its own."""
    import numpy as np

    memory = np.empty(SIZE + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    array = memory[start : start + SIZE]
    array[:] = content()
    return array


def minimal() -> Lent:
    """Lend a `buflend.minimal.Buffer`."""
    from buflend.minimal import Buffer

    array = aligned()
    return Buffer(array.ctypes.data, array.nbytes, owner=array), array.ctypes.data


def maximal() -> Lent:
    """Lend a `buflend.maximal.Buffer`."""
    from buflend.maximal import Buffer

    array = aligned()
    return Buffer(array.ctypes.data, array.nbytes, owner=array), array.ctypes.data


def ndarray() -> Lent:
    """Lend a NumPy array."""
    array = aligned()
    return array, array.ctypes.data


def plain_bytes() -> Lent:
    """Lend `bytes`."""
    import numpy as np

    plain = bytes(content())
    return plain, np.frombuffer(plain, np.uint8).ctypes.data


def pyarrow_buffer() -> Lent:
    """Lend a `pyarrow.Buffer` over an ndarray."""
    import pyarrow as pa

    buffer = pa.py_buffer(aligned())
    return buffer, buffer.address


def pyarrow_array() -> Lent:
    """Lend a `pyarrow.Array` of uint8 over an ndarray."""
    import pyarrow as pa

    array = pa.array(aligned())
    return array, array.buffers()[1].address


def _interchange(frame: Any) -> Lent:
    buffer = frame.__dataframe__().get_column(0).get_buffers()["data"][0]
    return buffer, buffer.ptr


def pandas_interchange() -> Lent:
    """Lend the data buffer of a column of pandas' `__dataframe__`."""
    import pandas as pd

    return _interchange(pd.DataFrame({"a": aligned()}))


def pyarrow_interchange() -> Lent:
    """Lend the data buffer of a column of pyarrow's `__dataframe__`."""
    import pyarrow as pa

    return _interchange(pa.table({"a": pa.array(aligned())}))


def polars_interchange() -> Lent:
    """Lend the data buffer of a column of polars' `__dataframe__`."""
    import polars as pl

    return _interchange(pl.DataFrame({"a": aligned()}))


INTERCHANGE = "Buffers that interchange frames hand out, and ours"
NATIVE = "For comparison: what libraries hold their bytes in"

LENDERS = (
    Lender("minimal", "", INTERCHANGE, minimal),
    Lender("maximal", "", INTERCHANGE, maximal),
    Lender("pandas", "pandas", INTERCHANGE, pandas_interchange),
    Lender("pyarrow", "pyarrow", INTERCHANGE, pyarrow_interchange),
    Lender("polars", "polars", INTERCHANGE, polars_interchange),
    Lender("ndarray", "", NATIVE, ndarray),
    Lender("bytes", "", NATIVE, plain_bytes),
    Lender("pyarrow.Buffer", "pyarrow", NATIVE, pyarrow_buffer),
    Lender("pyarrow.Array", "pyarrow", NATIVE, pyarrow_array),
)
"""All lenders in the order of display."""


def availability() -> dict[str, dict[str, Any]]:
    """Return for every lender whether it can be made here, else why not; JSON-able."""
    found: dict[str, dict[str, Any]] = {}
    frames = readers.availability()
    for one in LENDERS:
        reason = peers.peer(one.package).reason if one.package else ""
        if one.group == INTERCHANGE and one.package:
            reason = frames[one.package]["reason"]
        found[one.name] = {"available": not reason, "reason": reason, "group": one.group}
    return found
