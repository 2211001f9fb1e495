"""Column and buffer that say different things, and marks of missing that only seem to match.

Specification: where announcements differ the buffer's size decides, and what it cannot decide is refused. A sentinel
marks the elements that equal it; rounding it to the column's type, or cutting it, makes it another.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..dtypes import Dtype, Null, dtype
from ..producer import Buf, Col, Frame
from ._build import Array, codes, moments, one, text
from ._case import Case

_LIAR = ("ProducerError",)

# Name, what is announced for the column, for the buffer, and what lies there.
_TYPES: dict[str, tuple[Dtype, Dtype, Any]] = {
    "int-over-float": (dtype("int64"), dtype("float64"), np.array([1.0, 2.0])),
    "float-over-int": (dtype("float64"), dtype("int64"), np.array([1, 2])),
    "signed-over-unsigned": (dtype("int64"), dtype("uint64"), np.array([2**64 - 1, 1], np.uint64)),
    "native-over-big-endian": (dtype("int64"), dtype("int64", ">"), np.array([1, 2], ">i8")),
    "big-endian-over-native": (dtype("int64", ">"), dtype("int64"), np.array([1, 2])),
}


def _announced(memory: Array, column: Dtype, **options: Any) -> Frame:
    return Frame({"a": Col(Buf(memory), column, len(memory), **options)})


def _types() -> Iterator[Case]:
    for name, (column, buffer, memory) in _TYPES.items():
        yield Case(
            f"disagree-{name}",
            f"the column says {column.kind.name} {column.endianness!r}, its buffer {buffer.kind.name} "
            f"{buffer.endianness!r}, both of 64 bits",
            partial(_announced, memory, column, data_dtype=buffer),
            None,
            errors=_LIAR,
        )
    yield Case(
        "disagree-width-of-codes",
        "codes of 64 bits on the column, of 8 on the buffer, and the memory fits both",
        one(codes, [0, 1], text(["x", "y"]), type_="int64", data_dtype=dtype("int8")),
        None,
        errors=_LIAR,
    )
    yield Case(
        "date64-not-a-day",
        "a date in milliseconds that is no whole day: it is something else",
        one(moments, [0, 140_000_000_000_016], "tdm"),
        None,
        errors=_LIAR,
    )


# Name, what is special, type, values with None where the sentinel stands, sentinel.
_SENTINELS: dict[str, tuple[str, str, list[Any], Any]] = {
    "float32-infinity-is-not-1e300": ("float32", "infinity beside a sentinel too large", [float("inf"), 1.0], 1e300),
    "float16-2048-is-not-2049": ("float16", "a sentinel that rounds to a value", [2048.0, 1.0], 2049.0),
    "float64-2-to-53-is-not-one-more": ("float64", "an integer that no float64 equals", [2.0**53, 1.0], 2**53 + 1),
    "int64-2-to-53-plus-1": ("int64", "integers that are one float64", [2**53, None], 2**53 + 1),
}


def _sentinels() -> Iterator[Case]:
    for name, (type_, title, values, mark) in _SENTINELS.items():
        memory = np.array([mark if value is None else value for value in values], type_)
        yield Case(
            f"sentinel-{name}",
            f"{type_}: {title}",
            partial(_announced, memory, dtype(type_), null=(Null.USE_SENTINEL, mark), null_count=values.count(None)),
            {"a": values},
        )
    for name, values, mark in (
        ("nul-at-the-end", ["NA", None, "b"], "NA\0"),
        ("nul-is-not-empty", ["", None, "b"], "\0"),
        ("without-the-nul", [None, "NA\0", "b"], "NA"),
    ):
        filled = [mark if value is None else value for value in values]
        yield Case(
            f"sentinel-string-{name}",
            "strings that differ by a NUL at their end",
            one(text, filled, null=(Null.USE_SENTINEL, mark), null_count=1),
            {"a": values},
        )


def _dictionaries() -> Iterator[Case]:
    def chunked(*chunks: Col) -> Frame:
        frames = [Frame({"a": chunk}) for chunk in chunks]
        return Frame({"a": chunks[0]}, chunks=frames)

    yield Case(
        "codes-signed-then-unsigned",
        "int64 codes in one chunk and uint64 in the next: no integer type holds both",
        lambda: chunked(
            codes([0, 1], text(["x", "y"]), type_="int64"), codes([1, 0], text(["x", "y"]), type_="uint64")
        ),
        {"a": ["x", "y", "y", "x"]},
    )
    yield Case(
        "categories-of-categories",
        "categories that are categorical themselves",
        one(codes, [0, 1], codes([0, 1], text(["x", "y"]))),
        None,
        errors=_LIAR,
    )
    yield Case(
        "dictionaries-ordered-with-duplicates",
        "ordered dictionaries of two chunks, one of which holds a category twice",
        lambda: chunked(codes([0, 1, 2], text(["x", "y", "x"]), ordered=True), codes([0], text(["x"]), ordered=True)),
        {"a": ["x", "y", "x", "x"]},
        ordered={"a": True},
        may_refuse=True,
    )


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _types()
    yield from _sentinels()
    yield from _dictionaries()
