"""Hostile arrays of Arrow: the tables of formats, counts, buffers, and the capsules that bring them.

Lives here: the inputs. Must not know: any library; what is nested is in `nested`. Source: Apache Arrow, "The Arrow C
data interface".

No buffer's size is told: only lies that a count, another buffer or the size of all memory contradicts are here.
"""

from __future__ import annotations

import struct
from functools import partial
from typing import TYPE_CHECKING, Any

from . import abi, lies
from .inputs import ARRAY, NO_CAPSULE, Input, always, methods, then
from .lies import Lie, Made, Told

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST = 2**63 - 1


def longs(*values: int) -> bytes:
    """Return integers of 64 bits."""
    return struct.pack(f"<{len(values)}q", *values)


def ints(*values: int) -> bytes:
    """Return integers of 32 bits."""
    return struct.pack(f"<{len(values)}i", *values)


VALUES = [1, -2, 3]
NUMBERS = Lie(b"l", 3, (None, longs(*VALUES)))
WORDS = ["\N{LATIN SMALL LETTER E WITH ACUTE}", None, "b"]
TEXT = Lie(b"u", 3, (b"\x05", ints(0, 2, 2, 3), "\N{LATIN SMALL LETTER E WITH ACUTE}b".encode()), null_count=1)
_FLOATS = Lie(b"g", 1, (None, longs(0)))


def _offsets(*values: int) -> Lie:
    return TEXT.of(buffers=(None, ints(*values), b"abcde"), null_count=0)


SOUND: dict[str, tuple[Lie, list[Any]]] = {"numbers": (NUMBERS, VALUES), "text": (TEXT, WORDS)}

FORMATS = {
    "no format": None,
    "an empty format": b"",
    "an unknown format": b"x",
    "a format that goes on": b"l ",
    "a format that is no UTF-8": b"\xff\xfe",
    "w: without a width": b"w:",
    "w: of width -1": b"w:-1",
    "w: of a width of 14 digits": b"w:99999999999999",
    "w: of a width of 30 digits": b"w:" + b"9" * 30,
    "w: of a width that is text": b"w:abc",
    "d: without a precision": b"d:",
    "d: of 12 bits": b"d:10,2,12",
    "d: of a precision of 30 digits": b"d:" + b"9" * 30 + b",2",
    "ts without a colon": b"tss",
    "an unknown unit": b"tsx:",
    "+": b"+",
}
"""Types of three times eight bytes; fault -> format."""

LIES: dict[str, Lie] = {
    "a type that was released": NUMBERS.typed(release=None),
    "an array that was released": NUMBERS.says(release=None),
    "a length of -1": NUMBERS.says(length=-1),
    "a length of -2**63": NUMBERS.says(length=-(2**63)),
    "a length of 2**62": NUMBERS.says(length=2**62),
    "text of a length of 2**63 - 1": TEXT.says(length=MOST),
    "an offset of -1": NUMBERS.says(offset=-1),
    "an offset of 2**62": NUMBERS.says(offset=2**62),
    "length and offset beyond 64 bits": NUMBERS.says(offset=MOST),
    "no buffers": NUMBERS.says(n_buffers=0),
    "one buffer too few": NUMBERS.says(n_buffers=1),
    "-1 buffers": NUMBERS.says(n_buffers=-1),
    "buffers that are NULL": NUMBERS.says(buffers=None),
    "values that are NULL": NUMBERS.of(buffers=(None, None)),
    "offsets that are NULL": TEXT.of(buffers=(None, None, b"ab")),
    "characters that are NULL": TEXT.of(buffers=(None, ints(0, 2, 2, 3), None)),
    "offsets that fall": _offsets(0, 4, 2, 5),
    "offsets below zero": _offsets(-4, 2, 3, 5),
    "offsets that are all below zero": _offsets(-9, -7, -5, -4),
    "offsets beyond the last": _offsets(0, 2**30, 3, 5),
    "large offsets beyond the last": TEXT.of(
        format=b"U", buffers=(None, longs(0, 2**40, 3, 5), b"abcde"), null_count=0
    ),
    "large offsets below zero": TEXT.of(format=b"U", buffers=(None, longs(-(2**40), 2, 3, 5), b"abcde"), null_count=0),
    "text that is no UTF-8": TEXT.of(buffers=(None, ints(0, 1, 2, 3), b"\xff\xfe\xfd"), null_count=0),
    "a dictionary in the type only": NUMBERS.of(dictionary=_FLOATS).says(dictionary=None),
}

PASSABLE: dict[str, tuple[Lie, list[Any]]] = {
    "a dictionary in the array only": (NUMBERS.of(dictionary=_FLOATS).typed(dictionary=None), VALUES),
    "2**62 buffers": (NUMBERS.says(n_buffers=2**62), VALUES),
    "-1 children of a number": (NUMBERS.says(n_children=-1).typed(n_children=-1), VALUES),
    "2**62 children of a number": (NUMBERS.says(n_children=2**62).typed(n_children=2**62), VALUES),
    "more nulls than elements": (NUMBERS.says(null_count=9), VALUES),
    "-2 nulls": (NUMBERS.says(null_count=-2), VALUES),
    "a null without a bitmap": (NUMBERS.says(null_count=1), VALUES),
    "one buffer too many": (NUMBERS.of(buffers=(None, longs(*VALUES), None)), VALUES),
    "a child of a number": (NUMBERS.of(children=(NUMBERS,)), VALUES),
    "a name that is no UTF-8": (NUMBERS.of(name=b"\xff\xfe"), VALUES),
    "metadata of -1 pairs": (NUMBERS.typed(metadata=Made(lambda _: abi.place(ints(-1)))), VALUES),
    "metadata of a key of -5 bytes": (NUMBERS.typed(metadata=Made(lambda _: abi.place(ints(1, -5, 0)))), VALUES),
    "flags of all bits": (NUMBERS.typed(flags=-1), VALUES),
    "an odd address": (NUMBERS.says(buffers=Made(lambda _: _odd())), VALUES),
    "no elements, no buffers' memory": (TEXT.of(length=0, buffers=(None, None, None), null_count=0), []),
}
"""What is wrong need not be looked at, or changes nothing; with what is read then."""


def _odd() -> int:
    """Return the address of the pointers to values that stand at an odd address."""
    return abi.place(struct.pack("=2Q", 0, abi.place(longs(*VALUES) + b"\0")))


def pair(lie: Lie) -> tuple[object, object]:
    """Return the capsules of a type and an array."""
    return lies.schema(lie), lies.array(lie)


def given(lie: Lie) -> Any:
    """Return an object that gives an array."""
    return methods(__arrow_c_array__=lambda: pair(lie))


def in_rows(lie: Lie) -> Any:
    """Return an object that gives the array as the one column of a stream."""
    return methods(__arrow_c_stream__=lambda: lies.stream(Told(lie, (lie,)).rows()))


def of(fault: str, lie: Lie, right: tuple[list[Any], ...] = (), *, sound: bool = False) -> Input:
    """Return an input that gives an array."""
    return Input(ARRAY, fault, partial(given, lie), right, sound, rows=partial(in_rows, lie))


CAPSULES = {
    "the capsules are swapped": lambda: pair(NUMBERS)[::-1],
    "the type's capsule twice": lambda: (lies.schema(NUMBERS),) * 2,
    "the array's capsule alone": lambda: lies.array(NUMBERS),
    "one capsule and None": lambda: (lies.schema(NUMBERS), None),
    "None and one capsule": lambda: (None, lies.array(NUMBERS)),
    "a wrong name of the type": lambda: (lies.schema(NUMBERS, b"schema"), lies.array(NUMBERS)),
    "a wrong name of the array": lambda: (lies.schema(NUMBERS), lies.array(NUMBERS, b"array")),
    "no name of the array": lambda: (lies.schema(NUMBERS), lies.array(NUMBERS, None)),
}


def _three() -> tuple[object, ...]:
    return (*pair(NUMBERS), lies.array(NUMBERS))


def _twice() -> Any:
    return methods(__arrow_c_array__=always(pair(NUMBERS)))


def _changing() -> Any:
    return methods(__arrow_c_array__=then(lambda: pair(NUMBERS), lambda: pair(TEXT)))


def inputs() -> Iterator[Input]:
    """Yield the table."""
    for name, (lie, values) in SOUND.items():
        yield of(f"sound {name}", lie, (values,), sound=True)
    for fault, form in FORMATS.items():
        yield of(fault, NUMBERS.of(format=form))
    for fault, lie in LIES.items():
        yield of(fault, lie)
    for fault, (lie, values) in PASSABLE.items():
        yield of(fault, lie, (values,))
    for fault, capsules in CAPSULES.items():
        yield Input(ARRAY, fault, partial(methods, __arrow_c_array__=capsules))
    for fault, answer in NO_CAPSULE.items():
        yield Input(ARRAY, f"it {fault}", partial(methods, __arrow_c_array__=answer))
    yield of("no nulls, and a bitmap of one", NUMBERS.of(buffers=(b"\x05", longs(*VALUES))), (VALUES, [1, None, 3]))
    yield Input(ARRAY, "three capsules", partial(methods, __arrow_c_array__=_three), (VALUES,))
    yield Input(ARRAY, "the same capsules twice", _twice, (VALUES,), twice=True)
    yield Input(ARRAY, "another array when it is asked again", _changing, (VALUES, WORDS))
