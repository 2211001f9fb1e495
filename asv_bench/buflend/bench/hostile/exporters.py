"""Hostile exporters of the buffer protocol, where it can lie: what ctypes and a class of Python's own export.

Lives here: the table. Must not know: any library. Sources: PEP 3118; PEP 688, for which Python 3.12 is needed.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

from . import abi
from .inputs import BUFFER, Input, PanicError, always, methods, raises

if TYPE_CHECKING:
    from collections.abc import Iterator

NUMBERS = [1, -2, 3]
CONTENT = struct.pack("<3q", *NUMBERS)


def exporter(content: bytes = CONTENT, kind: Any = ctypes.c_ubyte) -> Any:
    """Return an exporter of the buffer protocol over bytes that end at an unreadable page."""
    return (kind * (len(content) // ctypes.sizeof(kind))).from_address(abi.place(content))


def _nowhere() -> Any:
    return (ctypes.c_ubyte * len(CONTENT)).from_address(0)


def _nothing() -> Any:
    return (ctypes.c_ubyte * 0).from_address(0)


def _released() -> memoryview:
    view = memoryview(exporter())
    view.release()
    return view


class _Bits(ctypes.Structure):
    """Two numbers in one: what ctypes exports of it says that there are two whole ones."""

    _fields_ = (("a", ctypes.c_uint32, 4), ("b", ctypes.c_uint32, 4))


def _big_endian() -> Any:
    return (ctypes.c_int64.__ctype_be__ * 3).from_address(abi.place(struct.pack(">3q", *NUMBERS)))


def buffers() -> Iterator[Input]:
    """Yield the table of the buffer protocol."""
    yield Input(BUFFER, "sound", partial(exporter, kind=ctypes.c_int64), (NUMBERS,), sound=True, raw=CONTENT)
    yield Input(BUFFER, "no memory, 24 bytes", _nowhere)
    yield Input(BUFFER, "no memory, no bytes", _nothing, ([],), raw=b"")
    yield Input(BUFFER, "a view that was released", _released)
    big = struct.pack(">3q", *NUMBERS)
    yield Input(BUFFER, "the other byte order", _big_endian, (NUMBERS,), raw=big)
    yield Input(BUFFER, "an odd address", _odd, (NUMBERS,), raw=CONTENT)
    yield Input(BUFFER, "bit fields", lambda: (_Bits * 1)(_Bits(1, 2)), ([[1, 2]],), raw=b"\x21\0\0\0")
    if sys.version_info >= (3, 12):
        for fault, answer in {**NO_VIEW, "gives a released view": _released}.items():
            yield Input(BUFFER, f"it {fault}", partial(methods, __buffer__=answer))


NO_VIEW = {
    "returns None": always(None),
    "returns bytes": always(b"24"),
    "raises RuntimeError": raises(RuntimeError),
    "raises a BaseException": raises(PanicError),
}


def _odd() -> Any:
    return (ctypes.c_int64 * 3).from_address(abi.place(CONTENT + b"\0"))
