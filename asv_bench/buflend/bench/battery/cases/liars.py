"""Producers that lie: column and buffer disagree, too little memory, types that do not exist, methods that raise.

Specification: the bytes needed follow from size and offset and must fit `bufsize`; where announcements differ the
buffer's size decides, and what it cannot decide is refused. A sentinel marks the elements that equal it, not those that
it rounds to. Each buffer that is one byte short has a twin that is just large enough and has nothing behind it.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...producer import Buf, Col, Dtype, Frame, Kind, Null, dtype
from ..pages import guarded
from ._build import (
    OUTSIDE,
    Array,
    Case,
    around,
    bitmap,
    bytemap,
    case,
    codes,
    liar,
    moments,
    nothing,
    numbers,
    one,
    text,
)

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


def _announcements() -> Iterator[Case]:
    for name, (column, buffer, memory) in _TYPES.items():
        yield liar(
            f"disagree-{name}",
            f"the column says {column.kind.name} {column.endianness!r}, its buffer {buffer.kind.name} "
            f"{buffer.endianness!r}, both of 64 bits",
            partial(_announced, memory, column, data_dtype=buffer),
        )
    yield liar(
        "disagree-width-of-codes",
        "codes of 64 bits on the column, of 8 on the buffer, and the memory fits both",
        one(codes, [0, 1], text(["x", "y"]), type_="int64", data_dtype=dtype("int8")),
    )
    yield liar(
        "date64-not-a-day",
        "a date in milliseconds that is no whole day: it is something else",
        one(moments, [0, 140_000_000_000_016], "tdm"),
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
        yield case(
            f"sentinel-{name}",
            f"{type_}: {title}",
            partial(_announced, memory, dtype(type_), null=(Null.USE_SENTINEL, mark), null_count=values.count(None)),
            values,
        )
    for name, values, mark in (
        ("nul-at-the-end", ["NA", None, "b"], "NA\0"),
        ("nul-is-not-empty", ["", None, "b"], "\0"),
        ("without-the-nul", [None, "NA\0", "b"], "NA"),
    ):
        filled = [mark if value is None else value for value in values]
        yield case(
            f"sentinel-string-{name}",
            "strings that differ by a NUL at their end",
            one(text, filled, null=(Null.USE_SENTINEL, mark), null_count=1),
            values,
        )


def _dictionaries() -> Iterator[Case]:
    def chunked(*chunks: Col) -> Frame:
        frames = [Frame({"a": chunk}) for chunk in chunks]
        return Frame({"a": chunks[0]}, chunks=frames)

    yield case(
        "codes-signed-then-unsigned",
        "int64 codes in one chunk and uint64 in the next: no integer type holds both",
        lambda: chunked(
            codes([0, 1], text(["x", "y"]), type_="int64"), codes([1, 0], text(["x", "y"]), type_="uint64")
        ),
        ["x", "y", "y", "x"],
    )
    yield liar(
        "categories-of-categories",
        "categories that are categorical themselves",
        one(codes, [0, 1], codes([0, 1], text(["x", "y"]))),
    )
    yield case(
        "dictionaries-ordered-with-duplicates",
        "ordered dictionaries of two chunks, one of which holds a category twice",
        lambda: chunked(codes([0, 1, 2], text(["x", "y", "x"]), ordered=True), codes([0], text(["x"]), ordered=True)),
        ["x", "y", "x", "x"],
        ordered=True,
        may_refuse=True,
    )


def contradictions() -> Iterator[Case]:
    """Yield the contradictions of this subject."""
    yield from _announcements()
    yield from _sentinels()
    yield from _dictionaries()


_BOOM = RuntimeError("the producer gave up")


def _sized(build: Callable[[Buf], Col], memory: Array, short: int) -> Frame:
    """Return a column over a buffer that announces `short` bytes less than it has, and ends at a guard page then."""
    buf = Buf(guarded(memory)) if not short else Buf(memory, bufsize=memory.nbytes - short)
    return Frame({"a": build(buf)})


_NUMBERS = around([1, 2, 3], "int64", lead=2, tail=0)
_BITS = bitmap([True, False, True], lead=6)
_BYTES = bytemap([True, False, True], lead=6)
_OFFSETS = around([0, 1, 3], "int32", lead=1, tail=0)
_CHARACTERS = np.frombuffer(b"abc", np.uint8)


def _string(characters: Buf, offsets: Buf) -> Col:
    return Col(characters, dtype("string"), 2, offset=1, offsets=(offsets, dtype("int32")), data_dtype=dtype("uint8"))


# Name, what is short, memory that is just enough, the column over it, and its values.
_BOUNDS: dict[str, tuple[str, Array, Callable[[Buf], Col], list[Any]]] = {
    "data": ("three int64 at offset 2", _NUMBERS, lambda buf: Col(buf, dtype("int64"), 3, offset=2), [1, 2, 3]),
    "packed-bool": (
        "three bits at offset 6",
        _BITS,
        lambda buf: Col(buf, dtype("bits"), 3, offset=6),
        [True, False, True],
    ),
    "byte-bool": (
        "three bytes at offset 6",
        _BYTES,
        lambda buf: Col(buf, dtype("bool"), 3, offset=6),
        [True, False, True],
    ),
    "bitmask": (
        "a bit mask of three at offset 6",
        _BITS,
        lambda buf: numbers(
            [1, None, 3], lead=6, null=(Null.USE_BITMASK, 0), validity=(buf, dtype("bits")), null_count=1
        ),
        [1, None, 3],
    ),
    "bytemask": (
        "a byte mask of three",
        bytemap([True, False, True]),
        lambda buf: numbers([1, None, 3], null=(Null.USE_BYTEMASK, 0), validity=(buf, dtype("bool")), null_count=1),
        [1, None, 3],
    ),
    "string-offsets": (
        "three int32 offsets, from the second of the buffer",
        _OFFSETS,
        lambda buf: _string(Buf(_CHARACTERS), buf),
        ["a", "bc"],
    ),
    "characters": ("three characters", _CHARACTERS, lambda buf: _string(buf, Buf(_OFFSETS)), ["a", "bc"]),
    "date32": (
        "three date32 at offset 1",
        around([0, 1, 18262], "int32", lead=1, tail=0),
        lambda buf: Col(buf, Dtype(Kind.DATETIME, 32, "tdD"), 3, offset=1),
        ["1970-01-01", "1970-01-02", "2020-01-01"],
    ),
    "codes": (
        "three int8 codes at offset 2",
        around([1, 0, 1], "int8", lead=2, tail=0),
        lambda buf: Col(
            buf, Dtype(Kind.CATEGORICAL, 8, "c"), 3, offset=2, data_dtype=dtype("int8"), categories=text(["x", "y"])
        ),
        ["y", "x", "y"],
    ),
}


def _single(make: Callable[[], Col]) -> Frame:
    return Frame({"a": make()})


def _typed(type_: tuple[Any, ...]) -> Frame:
    return Frame({"a": Col(Buf(np.ones(64, np.int64)), type_, 3)})


def _named(name: object) -> Frame:
    return Frame([(name, numbers([1]))])


def _raising_buffer(what: str) -> Frame:
    return Frame({"a": Col(Buf(_NUMBERS, raises={what: _BOOM}), dtype("int64"), 2)})


def _bounds() -> Iterator[Case]:
    """Yield each buffer one byte too short, and just large enough before a page that must not be touched."""
    for word, (what, memory, build, values) in _BOUNDS.items():
        yield liar(f"short-{word}", f"{what}, one byte short", partial(_sized, build, memory, 1))
        yield case(
            f"guarded-{word}", f"{what}, nothing behind the last byte needed", partial(_sized, build, memory, 0), values
        )
    plain = partial(Buf, _NUMBERS)
    wrong: dict[str, tuple[str, Callable[[], Col]]] = {
        "size-1000": ("1000 rows in 16 bytes", lambda: Col(Buf(b"\1" * 16), dtype("int64"), 1000)),
        "size-negative": ("size is -1", lambda: Col(plain(), dtype("int64"), -1)),
        "offset-negative": ("offset is -1", lambda: Col(plain(), dtype("int64"), 2, offset=-1)),
        "offset-past-the-end": ("offset 3, three rows, five there", lambda: Col(plain(), dtype("int64"), 3, offset=3)),
        "size-overflows": ("2**61 rows: the bytes wrap to 0", lambda: Col(plain(), dtype("int64"), 2**61)),
        "offset-overflows": ("offset 2**63 - 1", lambda: Col(plain(), dtype("int64"), 3, offset=2**63 - 1)),
        "size-none": ("size is None", lambda: Col(plain(), dtype("int64"), None)),
        "bufsize-negative": ("bufsize is -8", lambda: Col(Buf(_NUMBERS, bufsize=-8), dtype("int64"), 1)),
        "bufsize-zero": ("bufsize is 0, a row is announced", lambda: Col(Buf(_NUMBERS, bufsize=0), dtype("int64"), 1)),
        "pointer-null": (
            "the null pointer under three rows",
            lambda: Col(Buf(b"", ptr=0, bufsize=24), dtype("int64"), 3),
        ),
        "pointer-null-mask": (
            "the null pointer under the mask of three rows",
            lambda: numbers([1, 2, 3], null=(3, 0), validity=(Buf(b"", ptr=0, bufsize=1), dtype("bits"))),
        ),
        "pointer-none": ("ptr is None", lambda: Col(Buf(b"", ptr=None, bufsize=24), dtype("int64"), 3)),
        "data-none": ("the data buffer is None", lambda: Col(None, dtype("int64"), 3)),
        "nothing-for-rows": ("no bytes at the null pointer, three rows", lambda: Col(nothing(), dtype("int64"), 3)),
    }
    for word, (what, make) in wrong.items():
        yield liar(word, what, partial(_single, make))


def _types() -> Iterator[Case]:
    """Yield types that do not exist."""
    wrong: dict[str, tuple[Any, ...]] = {
        "kind-24": (24, 64, "l", "="),
        "kind-none": (None, 64, "l", "="),
        "bits-12": (Kind.INT, 12, "s", "="),
        "bits-128": (Kind.INT, 128, "l", "="),
        "bits-negative": (Kind.INT, -64, "l", "="),
        "float-8": (Kind.FLOAT, 8, "e", "="),
        "byte-order-unknown": (Kind.INT, 64, "l", "?"),
        "three-parts": (Kind.INT, 64, "l"),
        "datetime-no-format": (Kind.DATETIME, 64, "", "="),
        "datetime-unknown-unit": (Kind.DATETIME, 64, "tsx:", "="),
        "datetime-interval": (Kind.DATETIME, 64, "tiD", "="),
        "datetime-16-bits": (Kind.DATETIME, 16, "tss:", "="),
    }
    for word, type_ in wrong.items():
        yield liar(
            f"type-{word}",
            f"dtype is {tuple(int(part) if isinstance(part, Kind) else part for part in type_)}",
            partial(_typed, type_),
        )
    yield liar(
        "type-two-widths-both-fit",
        "int64 on the column, int32 on the buffer, and the memory fits both",
        lambda: Col(Buf(np.arange(3)), dtype("int64"), 3, data_dtype=dtype("int32")),
    )


def _frames() -> Iterator[Case]:
    """Yield frames whose columns do not go together."""
    yield liar(
        "columns-of-other-lengths",
        "three rows beside two",
        lambda: Frame({"a": numbers([1, 2, 3]), "b": numbers([1, 2])}),
    )
    yield liar("names-twice", "two columns of one name", lambda: Frame([("a", numbers([1])), ("a", numbers([2]))]))
    for word, name in {"integer": 1, "none": None, "bytes": b"a"}.items():
        yield liar(f"names-{word}", f"a column whose name is {name!r}", partial(_named, name))


def _raising() -> Iterator[Case]:
    """Yield methods that raise, where it matters and where it does not."""
    for what in ("get_buffers", "dtype", "size", "offset", "describe_null"):
        yield liar(f"raises-{what.replace('_', '-')}", f"{what} raises", one(numbers, [1, 2], raises={what: _BOOM}))
    yield liar("raises-ptr", "ptr of the data raises", partial(_raising_buffer, "ptr"))
    yield case(
        "raises-bufsize",
        "bufsize of the data raises",
        partial(_raising_buffer, "bufsize"),
        [OUTSIDE, OUTSIDE],
        may_refuse=True,
        errors=_LIAR,
    )
    for what in ("__dataframe__", "column_names", "get_chunks"):
        yield liar(
            f"raises-{what.strip('_').replace('_', '-')}",
            f"{what} of the frame raises",
            partial(Frame, {"a": numbers([1, 2])}, raises={what: _BOOM}),
        )
    yield case(
        "metadata-raises",
        "the metadata of frame and column cannot be had, nobody needs it",
        lambda: Frame({"a": numbers([1, 2], raises={"metadata": _BOOM})}, raises={"metadata": _BOOM}),
        [1, 2],
    )
    yield case(
        "metadata-none",
        "the metadata is no mapping, as pyarrow's column has it",
        lambda: Frame({"a": numbers([1, 2])}, metadata=None),
        [1, 2],
    )
    yield case("rows-unknown", "num_rows is None", lambda: Frame({"a": numbers([1, 2])}, rows=lambda: None), [1, 2])


class _Plain(Frame):
    """A frame whose `__dataframe__` knows no `nan_as_null`."""

    def __dataframe__(self, *, allow_copy: bool = True) -> Frame:  # type: ignore[override]
        return super().__dataframe__(allow_copy=allow_copy)


class _Bare:
    """All of a frame but its `__dataframe__`."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getattr__(self, name: str) -> Any:
        if name == "__dataframe__":
            raise AttributeError(name)
        return getattr(self._frame, name)


class _Apart(Frame):
    """A frame whose `__dataframe__` gives an object that has none."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        return _Bare(super().__dataframe__(nan_as_null, allow_copy))


def hostile() -> Iterator[Case]:
    """Yield the hostile of this subject."""
    yield from _bounds()
    yield from _types()
    yield from _frames()
    yield from _raising()
    yield case(
        "nan-as-null-never-passed",
        "a producer that never heard of nan_as_null",
        lambda: _Plain({"a": numbers([1, 2])}),
        [1, 2],
    )
    yield case(
        "exchange-object-apart",
        "__dataframe__ gives an object that has none itself",
        lambda: _Apart({"a": numbers([1, 2])}),
        [1, 2],
    )
