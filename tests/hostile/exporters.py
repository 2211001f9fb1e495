"""Exporters of the buffer protocol: what the interpreter lends, whole, cut, strided, typed, closed and half-broken.

Lives here: the producers. A class of Python's own can export since 3.12; before, it is passed over.
"""

import array
import ctypes
import io
import mmap
import struct
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from .case import UNTOLD, Base, Protocol
from .ledger import Life, array_at
from .pointers import CONTENT, READERS
from .tree import Fixed, Made, Method, Thing, text

NUMBERS = [1, -2, 3]
WIDE = np.array(NUMBERS, "<i8").tobytes()


def _block(content: bytes = CONTENT) -> Callable[[dict[str, Any], Life], Any]:
    return lambda _, life: array_at(Life(life.ledger), content)


def over(make: Callable[[Any], Any], content: bytes = CONTENT) -> Made:
    """Return what a function makes of an array of bytes over a block."""
    return Made({}, lambda _, life: make(array_at(Life(life.ledger), content)))


def _released(block: Any) -> memoryview:
    view = memoryview(block)
    view.release()
    return view


def _closed(_: Any) -> mmap.mmap:
    found = mmap.mmap(-1, 16)
    found.close()
    return found


def _records(block: Any) -> Any:
    return block.view([("a", "u1"), ("b", "<u2")])


class _Point(ctypes.Structure):
    _fields_ = (("x", ctypes.c_int8), ("y", ctypes.c_int32))


def _part(fields: dict[str, Any], life: Life) -> Any:
    """Return a part of a block, cut and cast as the fields say, where the interpreter can."""
    block = array_at(Life(life.ledger), CONTENT)
    cut = slice(*(None if one is None else min(max(one, -(2**63)), 2**63 - 1) for one in fields["cut"]))
    try:
        found = memoryview(block)[cut]
    except ValueError:  # a step of 0
        found = memoryview(block)
    try:
        if fields["cast"]:
            return found.cast(fields["cast"], *([list(fields["shape"])] if fields["shape"] else []))
        return memoryview(np.asarray(found).view(fields["dtype"]))
    except (TypeError, ValueError, OverflowError, MemoryError):  # of another size, or no type
        return found


def part(**more: Any) -> Base:
    """Return a part of a block, of which nothing is known but that it must not be left."""
    fields = {"cut": (0, 24, 1), "cast": text("cast", ""), "shape": (), "dtype": text("typestr", "|u1"), **more}
    return Base(Made(fields, _part), UNTOLD, UNTOLD)


EXPORTERS = Protocol(
    {
        "a part that is cast": part(cast=text("cast", "B")),
        "a part of numbers": part(cut=(8, 24, None), dtype=text("typestr", "<i4")),
        "a part of two dimensions": part(cast=text("cast", "h"), shape=(3, 4)),
        "a view": Base(over(memoryview), CONTENT, list(CONTENT)),
        "numbers": Base(over(lambda block: memoryview(block).cast("q"), WIDE), WIDE, NUMBERS),
        "numbers of two dimensions": Base(over(lambda block: memoryview(block).cast("i", [2, 3])), CONTENT),
        "Fortran's": Base(over(lambda block: memoryview(block.reshape(4, 6).T)), CONTENT),
        "nothing": Base(over(memoryview, b""), b"", []),
        "a part": Base(over(lambda block: memoryview(block)[2:5]), CONTENT[2:5], list(CONTENT[2:5])),
        "strided": Base(over(lambda block: memoryview(block)[::2]), None, list(CONTENT[::2])),
        "backwards": Base(over(lambda block: memoryview(block)[::-1]), None, list(CONTENT[::-1])),
        "repeated": Base(
            over(lambda block: memoryview(np.lib.stride_tricks.as_strided(block, (8,), (0,)))), None, [CONTENT[0]] * 8
        ),
        "no dimension": Base(over(lambda block: memoryview(block[:1].reshape(()))), CONTENT[:1]),
        "characters": Base(over(lambda block: memoryview(block).cast("c")), CONTENT, UNTOLD),
        "characters that are none": Base(over(lambda block: memoryview(block.view("<U2"))), CONTENT),
        "booleans": Base(over(lambda block: memoryview(block).cast("?"), b"\1\0\1"), b"\1\0\1", [True, False, True]),
        "complex": Base(over(lambda block: memoryview(block.view("c8"))), CONTENT, UNTOLD),
        "fields": Base(over(lambda block: memoryview(_records(block)), CONTENT), CONTENT, UNTOLD),
        "fields named O": Base(
            over(lambda block: memoryview(block.view([("O", "<u4"), ("x", "<f4")]))), CONTENT, UNTOLD
        ),
        "objects": Base(Made({}, lambda *_: np.array([1, "a"], object).data)),
        "a structure": Base(Made({}, lambda *_: memoryview(_Point(1, 2))), UNTOLD, UNTOLD),
        "pointers": Base(Made({}, lambda *_: (ctypes.py_object * 2)(1, 2)), UNTOLD, UNTOLD),
        "functions": Base(Made({}, lambda *_: (ctypes.CFUNCTYPE(None) * 2)()), UNTOLD, UNTOLD),
        "a released view": Base(over(_released)),
        "a closed map": Base(over(_closed)),
        "an array": Base(Made({}, lambda *_: array.array("d", [0.5])), UNTOLD, UNTOLD),
        "wide characters": Base(Made({}, lambda *_: array.array("u", "ab")), UNTOLD, UNTOLD),
        "bytes": Base(Made({}, lambda *_: b"lent"), UNTOLD, UNTOLD),
        "a growing array": Base(Made({}, lambda *_: bytearray(b"lent")), UNTOLD, UNTOLD),
        "a file's": Base(Made({}, lambda *_: io.BytesIO(b"lent").getbuffer()), UNTOLD, UNTOLD),
        "many dimensions": Base(over(lambda block: block[:1].reshape((1,) * 32)), CONTENT[:1]),
        "half floats": Base(over(lambda block: memoryview(block.view("<f2"))), CONTENT, UNTOLD),
        "foreign order": Base(over(lambda block: memoryview(block.view(">i2"))), CONTENT, UNTOLD),
        "long doubles": Base(
            over(lambda block: memoryview(block.view("g")), bytes(np.dtype("g").itemsize)), UNTOLD, UNTOLD
        ),
        **(
            {
                "a class": Base(
                    Thing({"__buffer__": Method(Made({}, lambda _, life: memoryview(_block()(_, life))))}),
                    CONTENT,
                    list(CONTENT),
                )
            }
            if sys.version_info >= (3, 12)
            else {}
        ),
        "a class that is no exporter": Base(Thing({"__buffer__": Fixed(None), "ptr": 3, "__len__": Method(3)})),
        "packed": Base(Made({}, lambda *_: memoryview(struct.pack("<3i", 1, 2, 3)).cast("i")), UNTOLD, UNTOLD),
    },
    READERS,
)
