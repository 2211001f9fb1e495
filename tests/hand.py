"""Columns laid out by hand, as the specification says: bytes and numbers, no array library.

Lives here: the packing. Imported by tests, as `from .hand import column, i32`.
"""

import struct
from typing import Any

from buflend.maximal import Column, as_buffer

ARROW = (3, 0)  # a bit mask in which 0 is missing


def packed(code: str, *numbers: float) -> bytes:
    """Return numbers as they lie in memory, one after another, in this machine's byte order."""
    return struct.pack(f"={len(numbers)}{code}", *numbers)


def i8(*numbers: int) -> bytes:
    return packed("b", *numbers)


def i32(*numbers: int) -> bytes:
    return packed("i", *numbers)


def i64(*numbers: int) -> bytes:
    return packed("q", *numbers)


def inline(content: bytes) -> bytes:
    """Return a view of at most 12 bytes, which holds them."""
    return i32(len(content)) + content.ljust(12, b"\0")


def pointing(length: int, number: int, offset: int) -> bytes:
    """Return a view of characters in a buffer; their first four are not looked at."""
    return i32(length) + b"????" + i32(number, offset)


def column(dtype: Any, size: int, **parts: Any) -> Column:
    """Return a column whose buffers are given as bytes; a mask is Arrow's unless `null` says something else."""
    if "validity" in parts:
        parts.setdefault("null", ARROW)
    buffers = {name: as_buffer(value) if isinstance(value, bytes) else value for name, value in parts.items()}
    buffers["variadic"] = [as_buffer(value) for value in parts.get("variadic", ())]
    return Column(dtype, size, **buffers)


def unchecked(dtype: Any, size: int, **parts: Any) -> Column:
    """Return such a column without what a constructor sees: that its parts are large enough for the elements."""
    made = column(dtype, 0, **parts)
    return Column._make(made._type, (made._piece._replace(size=size),))
