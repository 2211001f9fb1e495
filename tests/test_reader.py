"""The reader of foreign columns: drawn columns with the value worked out one element at a time, and drawn lies."""

import contextlib
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from buflend.bench.producer import Buf, Col, Frame
from buflend.minimal import ColumnArrays, column_to_ndarray, dataframe_to_ndarrays
from buflend.shared import BuflendError, CopyRequiredError, ProducerError

# (kind, bits) of the protocol -> struct's character.
STRUCT = {
    (0, 8): "b",
    (0, 16): "h",
    (0, 32): "i",
    (0, 64): "q",
    (1, 8): "B",
    (1, 16): "H",
    (1, 32): "I",
    (1, 64): "Q",
    (2, 16): "e",
    (2, 32): "f",
    (2, 64): "d",
}
INTEGERS = [key for key in STRUCT if key[0] < 2]
NON_NULLABLE, USE_NAN, USE_SENTINEL, USE_BITMASK, USE_BYTEMASK = range(5)


def found(column: ColumnArrays) -> list[Any]:
    values = column.values.tolist()
    return values if column.valid is None else [v if ok else None for v, ok in zip(values, column.valid, strict=True)]


def mask(kind: int, missing: list[bool], value: int, lead: int, draw: Any) -> bytes:
    """Return a mask over `lead` elements of junk and the given ones."""
    marks = [draw(st.booleans()) for _ in range(lead)] + [gone == bool(value) for gone in missing]
    if kind == USE_BYTEMASK:
        return bytes(draw(st.integers(1, 255)) if mark else 0 for mark in marks)
    marks += [draw(st.booleans()) for _ in range(-len(marks) % 8)]
    return bytes(sum(mark << i for i, mark in enumerate(marks[at : at + 8])) for at in range(0, len(marks), 8))


@st.composite
def numeric(draw: Any) -> tuple[Col, list[Any]]:
    """Draw a column of numbers and what it holds."""
    kind, bits = draw(st.sampled_from(list(STRUCT)))
    order = draw(st.sampled_from("=<>"))
    size, lead, tail = draw(st.integers(0, 20)), draw(st.integers(0, 17)), draw(st.integers(0, 3))
    number = st.floats(width=bits, allow_nan=False) if kind == 2 else st.integers(*bounds(kind, bits))
    values = draw(st.lists(number, min_size=size, max_size=size))
    missing = draw(st.lists(st.booleans(), min_size=size, max_size=size))
    null = draw(st.sampled_from([NON_NULLABLE, USE_SENTINEL, USE_BITMASK, USE_BYTEMASK] + [USE_NAN] * (kind == 2)))
    value: Any = None
    options: dict[str, Any] = {}
    if null == NON_NULLABLE:
        missing = [False] * size
    elif null == USE_NAN:
        values = [float("nan") if gone else v for v, gone in zip(values, missing, strict=True)]
    elif null == USE_SENTINEL:
        value = draw(number)
        values = [value if gone else v for v, gone in zip(values, missing, strict=True)]
        missing = [v == value for v in values]
    else:
        value = draw(st.integers(0, 1))
        announced = (20, 1, "b", "=") if null == USE_BITMASK else (20, 8, "b", "=")
        options["validity"] = (Buf(mask(null, missing, value, lead, draw)), announced)
        options["null_count"] = draw(st.sampled_from([None, sum(missing), np.int64(sum(missing))]))
    character = ("<" if order == "=" and struct.pack("=h", 1) == b"\1\0" else order) + STRUCT[kind, bits]
    junk = draw(st.lists(number, min_size=lead + tail, max_size=lead + tail))
    raw = b"".join(struct.pack(character, v) for v in junk[:lead] + values + junk[lead:])
    column = Col(Buf(raw), (kind, bits, STRUCT[kind, bits], order), size, offset=lead, null=(null, value), **options)
    return column, [None if gone else v for v, gone in zip(values, missing, strict=True)]


def bounds(kind: int, bits: int) -> tuple[int, int]:
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if kind == 0 else (0, 2**bits - 1)


@given(numeric())
def test_numbers(drawn: tuple[Col, list[Any]]) -> None:
    column, expected = drawn
    before = {name: part[0].memory.tobytes() for name, part in column.parts.items() if part}
    read = column_to_ndarray(column)
    assert found(read) == expected
    assert read.valid is None or read.valid.view("uint8").max() <= 1, "a NumPy bool may hold nothing but 0 and 1"
    assert (read.valid is None) == (None not in expected)
    assert before == {name: part[0].memory.tobytes() for name, part in column.parts.items() if part}
    assert column.asked.count("get_buffers") <= 1


@given(numeric())
def test_numbers_without_copies(drawn: tuple[Col, list[Any]]) -> None:
    column, expected = drawn
    try:
        read = column_to_ndarray(column, allow_copy=False)
    except CopyRequiredError:
        # Never for what needs none: native order, and nothing missing or a clean byte mask whose zeros mean missing.
        order, null = column._answers["dtype"][3], column._answers["null"]
        assert None in expected or order not in ("=", "<")
        if order != ">" and null == (USE_BYTEMASK, 0):
            assert max(column.parts["validity"][0].memory.tolist()) > 1
        return
    assert found(read) == expected
    if expected:
        data, offset, bits = column.parts["data"][0], column._answers["offset"], column._answers["dtype"][1]
        assert read.values.ctypes.data == data.address + offset * bits // 8
        assert not read.values.flags.writeable


@st.composite
def textual(draw: Any) -> tuple[Col, list[Any]]:
    """Draw a column of strings and what it holds."""
    texts = draw(st.lists(st.text(max_size=5), max_size=10))
    missing = [draw(st.booleans()) for _ in texts]
    lead, wide, first = draw(st.integers(0, 9)), draw(st.booleans()), draw(st.integers(0, 3))
    junk = [draw(st.binary(max_size=3)) for _ in range(lead)]
    items = junk + [draw(st.binary(max_size=3)) if gone else t.encode() for t, gone in zip(texts, missing, strict=True)]
    ends, at = [first], first
    for item in items:
        at += len(item)
        ends.append(at)
    null, value = draw(st.sampled_from([USE_BITMASK, USE_BYTEMASK])), draw(st.integers(0, 1))
    character = "q" if wide else "i"
    column = Col(
        Buf(draw(st.binary(min_size=first, max_size=first)) + b"".join(items) + draw(st.binary(max_size=3))),
        (21, 8, draw(st.sampled_from("uU")), "="),
        len(texts),
        offset=lead,
        null=(null, value),
        validity=(Buf(mask(null, missing, value, lead, draw)), (1, 8, "C", "=")),
        offsets=(Buf(struct.pack(f"={len(ends)}{character}", *ends)), (0, 64 if wide else 32, character, "=")),
        data_dtype=draw(st.sampled_from([(1, 8, "C", "="), (21, 8, "u", "=")])),
        null_count=None,
    )
    return column, [None if gone else t for t, gone in zip(texts, missing, strict=True)]


@given(textual())
def test_strings(drawn: tuple[Col, list[Any]]) -> None:
    column, expected = drawn
    assert found(column_to_ndarray(column)) == expected


@given(st.data())
def test_chunks_of_a_frame_are_joined(data: st.DataObject) -> None:
    kind, bits = data.draw(st.sampled_from(INTEGERS))
    chunks, expected = [], []
    for values in data.draw(st.lists(st.lists(st.integers(*bounds(kind, bits)), max_size=5), max_size=5)):
        raw = struct.pack(f"={len(values)}{STRUCT[kind, bits]}", *values)
        chunks.append(Frame({"a": Col(Buf(raw), (kind, bits, "", "="), len(values))}))
        expected += values
    empty = Col(Buf(b""), (kind, bits, "", "="), 0)
    read = dataframe_to_ndarrays(Frame({"a": empty}, chunks=chunks))["a"]
    assert read.values.tolist() == expected
    assert read.values.dtype == np.dtype(STRUCT[kind, bits])


LIES = [None, -1, 0, 1, 2**31, 2**63, 2**64, -(2**63), 0.5, "x", b"x", (), (1,), (1, 2, 3, 4), {}, [], object(), np.nan]


@st.composite
def lying(draw: Any) -> Col:
    """Draw a column of which one to three answers are replaced by nonsense, or raise."""
    column, _ = draw(st.one_of(numeric(), textual()))
    for _ in range(draw(st.integers(1, 3))):
        lie = draw(st.sampled_from(LIES))
        what = draw(
            st.sampled_from(["dtype", "size", "offset", "null", "null_count", "part", "dtypes", "ptr", "raise"])
        )
        name = draw(st.sampled_from(["data", "validity", "offsets"]))
        part = column.parts[name]
        if what == "part":
            column.parts[name] = lie
        elif what == "raise":
            place = draw(st.sampled_from(["size", "offset", "dtype", "describe_null", "null_count", "get_buffers"]))
            column._raises[place] = draw(st.sampled_from([ValueError("no"), RuntimeError("no"), KeyError("no")]))
        elif what == "dtypes" and isinstance(part, tuple) and len(part) == 2:
            announced = list(part[1]) if isinstance(part[1], tuple) else [0, 0, "", "="]
            announced[draw(st.integers(0, len(announced) - 1)) if announced else 0 :] = [lie]
            column.parts[name] = (part[0], tuple(announced))
        elif what == "ptr" and isinstance(part, tuple) and part and isinstance(part[0], Buf):
            # Only lies that can be seen through: that a plausible pointer is true cannot be checked.
            setattr(part[0], *draw(st.sampled_from([("_ptr", -1), ("_ptr", None), ("_bufsize", 0), ("_bufsize", -1)])))
        elif what in ("dtype", "null"):
            answer = list(column._answers[what]) if isinstance(column._answers[what], tuple) else [0]
            answer[draw(st.integers(0, len(answer) - 1))] = lie
            column._answers[what] = tuple(answer)
        elif what in column._answers:
            column._answers[what] = lie
    return column


@settings(max_examples=500)
@given(lying(), st.booleans())
def test_lies_get_a_documented_error_or_are_harmless(column: Col, allow_copy: bool) -> None:
    read = None
    with contextlib.suppress(BuflendError):
        read = column_to_ndarray(column, allow_copy=allow_copy)
    assert read is None or isinstance(read.values, np.ndarray)


def test_the_buffers_of_a_refused_column_are_let_go() -> None:
    import weakref

    buf = Buf(np.arange(2))
    column = Col(buf, (0, 64, "l", "="), 1000)
    with pytest.raises(ProducerError, match=r"data buffer: bufsize: got 16, expected at least 8000 bytes"):
        column_to_ndarray(column)
    died = weakref.ref(buf)
    del buf, column
    assert died() is None
