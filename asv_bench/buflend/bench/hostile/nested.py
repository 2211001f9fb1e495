"""Hostile arrays of Arrow that hold others: children, type ids, dictionaries, run ends, views, and depth.

Lives here: the table. Must not know: any library. Source: Apache Arrow, "Arrow columnar format".
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from . import abi
from .arrays import NUMBERS, VALUES, ints, longs, of
from .lies import Lie, Made

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .inputs import Input

DEPTH = 10_000

_AB = Lie(b"u", 2, (None, ints(0, 1, 2), b"xy"))
_A = NUMBERS.of(name=b"a")
LIST = Lie(b"+l", 2, (None, ints(0, 2, 3)), (NUMBERS.of(name=b"item"),))
FIXED = Lie(b"+w:3", 1, (None,), (NUMBERS.of(name=b"item"),))
STRUCT = Lie(b"+s", 3, (None,), (_A,))
SPARSE = Lie(b"+us:0,1", 3, (b"\0\1\0",), (_A, NUMBERS.of(buffers=(None, longs(7, 8, 9)), name=b"b")))
DENSE = Lie(b"+ud:0,1", 3, (b"\0\1\0", ints(0, 0, 1)), (_A, NUMBERS.of(buffers=(None, longs(7, 8, 9)), name=b"b")))
CODES = Lie(b"c", 3, (None, b"\0\1\0"), dictionary=_AB)
_ENDS = Lie(b"i", 2, (None, ints(1, 4)), name=b"run_ends")
RUNS = Lie(b"+r", 4, (), (_ENDS, NUMBERS.of(length=2, name=b"values")))
LISTVIEW = Lie(b"+vl", 2, (None, ints(0, 2), ints(2, 1)), (NUMBERS.of(name=b"item"),))
_LONG = b"more than twelve bytes"


def _view(size: int = len(_LONG), prefix: bytes = _LONG[:4], index: int = 0, offset: int = 0) -> bytes:
    return struct.pack("<i4sii", size, prefix, index, offset)


def _views(one: bytes, sizes: bytes | None = None) -> Lie:
    told = longs(len(_LONG)) if sizes is None else sizes
    return Lie(b"vu", 2, (None, struct.pack("<i12s", 5, b"short") + one, _LONG, told))


VIEWS = _views(_view())

SOUND: dict[str, tuple[Lie, list[Any]]] = {
    "lists": (LIST, [[1, -2], [3]]),
    "lists of a fixed size": (FIXED, [VALUES]),
    "structs": (STRUCT, [{"a": value} for value in VALUES]),
    "sparse unions": (SPARSE, [1, 8, 3]),
    "dense unions": (DENSE, [1, 7, -2]),
    "dictionaries": (CODES, ["x", "y", "x"]),
    "runs": (RUNS, [1, -2, -2, -2]),
    "views of text": (VIEWS, ["short", _LONG.decode()]),
    "views of lists": (LISTVIEW, [[1, -2], [3]]),
}


def _itself(found: Any) -> int:
    """Return the address of one pointer: to the struct that it stands in."""
    return abi.place(struct.pack("=Q", abi.address(found)))


def _null_child(_: Any) -> int:
    return abi.place(bytes(8))


_SHORT = NUMBERS.of(length=2, name=b"a")
_CYCLE = LIST.of(name=b"item").says(children=Made(_itself)).typed(children=Made(_itself))
_INNER = CODES.typed(dictionary=Made(abi.address)).says(dictionary=Made(abi.address))

LIES: dict[str, Lie] = {
    "children that are NULL": LIST.says(children=None),
    "children of the type that are NULL": LIST.typed(children=None),
    "a child that is NULL": LIST.says(children=Made(_null_child)),
    "a child of the type that is NULL": LIST.typed(children=Made(_null_child)),
    "a child that was released": LIST.of(children=(NUMBERS.says(release=None),)),
    "a child of the type that was released": LIST.of(children=(NUMBERS.typed(release=None),)),
    "a list of no child": LIST.of(children=()),
    "fewer children than the type": STRUCT.of(children=(_A, _A)).says(n_children=1),
    "-1 children of a struct": STRUCT.says(n_children=-1).typed(n_children=-1),
    "a struct longer than its child": STRUCT.of(children=(_SHORT,)),
    "offsets of lists beyond the child": LIST.of(buffers=(None, ints(0, 2, 99))),
    "offsets of lists that fall": LIST.of(buffers=(None, ints(0, 99, 3))),
    "offsets of lists below zero": LIST.of(buffers=(None, ints(-8, 2, 3))),
    "large offsets of lists beyond the child": LIST.of(format=b"+L", buffers=(None, longs(0, 2, 2**40))),
    "lists of 3 longer than their child": FIXED.of(length=2),
    "+w: of size -1": FIXED.of(format=b"+w:-1"),
    "+w: of a size of 11 digits": FIXED.of(format=b"+w:99999999999"),
    "+w: without a size": FIXED.of(format=b"+w:"),
    "2**62 lists of 3": FIXED.says(length=2**62),
    "a type id beyond the children": SPARSE.of(buffers=(b"\0\5\0",)),
    "a type id of -1": SPARSE.of(buffers=(b"\0\xff\0",)),
    "a type id beyond the children, dense": DENSE.of(buffers=(b"\0\5\0", ints(0, 0, 1))),
    "an offset beyond the child, dense": DENSE.of(buffers=(b"\0\1\0", ints(0, 99, 1))),
    "an offset below zero, dense": DENSE.of(buffers=(b"\0\1\0", ints(0, -9, 1))),
    "a type id of 200 in the type": SPARSE.of(format=b"+us:0,200"),
    "a type id of -1 in the type": SPARSE.of(format=b"+us:0,-1"),
    "the same type id twice": SPARSE.of(format=b"+us:0,0"),
    "a union shorter than said": SPARSE.of(children=(_SHORT, _A)),
    "codes beyond the dictionary": CODES.of(buffers=(None, b"\0\7\0")),
    "codes below zero": CODES.of(buffers=(None, b"\0\xff\0")),
    "codes of 64 bits beyond the dictionary": CODES.of(format=b"l", buffers=(None, longs(0, 2**40, 1))),
    "codes into an empty dictionary": CODES.of(dictionary=_AB.of(length=0)),
    "codes that are floats": CODES.of(format=b"f", buffers=(None, bytes(12))),
    "a dictionary that was released": CODES.of(dictionary=_AB.says(release=None)),
    "a dictionary whose offsets fall": CODES.of(dictionary=_AB.of(buffers=(None, ints(0, 9, 2), b"xy"))),
    "run ends that fall": RUNS.of(children=(_ENDS.of(buffers=(None, ints(4, 1))), RUNS.children[1])),
    "run ends below zero": RUNS.of(children=(_ENDS.of(buffers=(None, ints(-4, 4))), RUNS.children[1])),
    "run ends before the end": RUNS.of(length=9),
    "run ends that are floats": RUNS.of(children=(_ENDS.of(format=b"f"), RUNS.children[1])),
    "fewer values than run ends": RUNS.of(children=(_ENDS, NUMBERS.of(length=1))),
    "runs of no children": RUNS.of(children=()),
    "a view of no such buffer": _views(_view(index=5)),
    "a view of buffer -1": _views(_view(index=-1)),
    "a view beyond its buffer": _views(_view(offset=4000)),
    "a view below its buffer": _views(_view(offset=-16)),
    "a view of a negative size": _views(_view(size=-1)),
    "a view of a size beyond its buffer": _views(_view(size=2**31 - 1)),
    "views without the buffer of sizes": VIEWS.of(buffers=VIEWS.buffers[:2]),
    "a view of lists beyond the child": LISTVIEW.of(buffers=(None, ints(0, 99), ints(2, 1))),
    "a view of lists of a negative size": LISTVIEW.of(buffers=(None, ints(0, 2), ints(2, -1))),
    "a view of lists below zero": LISTVIEW.of(buffers=(None, ints(0, -9), ints(2, 1))),
    "a child that is its own child": LIST.of(children=(_CYCLE,)),
    "a dictionary that is its own dictionary": CODES.of(dictionary=_INNER),
}

PASSABLE: dict[str, tuple[Lie, list[Any]]] = {
    "type ids that no child has": (SPARSE.of(format=b"+us:0,1,2"), [1, 8, 3]),
    "more children than the type": (
        STRUCT.of(children=(_A, _A)).typed(n_children=1),
        [{"a": value} for value in VALUES],
    ),
    "a list of two children": (LIST.of(children=(NUMBERS, NUMBERS)), [[1, -2], [3]]),
    "a buffer of views of a negative size": (_views(_view(), longs(-1)), ["short", _LONG.decode()]),
    "sizes of views' buffers that are NULL": (VIEWS.of(buffers=(*VIEWS.buffers[:3], None)), ["short", _LONG.decode()]),
    "a dictionary of a dictionary": (CODES.of(dictionary=CODES.of(length=2)), ["x", "y", "x"]),
    "codes under nulls beyond the dictionary": (
        CODES.of(buffers=(b"\x05", b"\0\x7f\1"), null_count=1),
        ["x", None, "y"],
    ),
    "a view with another prefix": (_views(_view(prefix=b"less")), ["short", _LONG.decode()]),
}


def deep(outer: Lie) -> Lie:
    """Return as many arrays, each the child of the one before it."""
    found = NUMBERS.of(length=1, name=b"item")
    for _ in range(DEPTH):
        found = outer.of(children=(found,), many=True, name=b"item")
    return found


def deep_dictionary() -> Lie:
    """Return as many dictionaries, each of codes into the next."""
    found = _AB
    for _ in range(DEPTH):
        found = Lie(b"c", 1, (None, b"\0"), dictionary=found, many=True)
    return found


def inputs() -> Iterator[Input]:
    """Yield the table."""
    for name, (lie, values) in SOUND.items():
        yield of(f"sound {name}", lie, (values,), sound=True)
    for fault, lie in LIES.items():
        yield of(fault, lie)
    for fault, (lie, values) in PASSABLE.items():
        yield of(fault, lie, (values,))
    yield of("lists 10,000 deep", deep(Lie(b"+l", 1, (None, ints(0, 1)))))
    yield of("structs 10,000 deep", deep(Lie(b"+s", 1, (None,))))
    yield of("dictionaries of dictionaries, 10,000 deep", deep_dictionary())
