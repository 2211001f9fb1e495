"""Columns as Python objects: every type, laid out by hand, whole and cut at every place."""

import gc
import weakref
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, as_column
from buflend.shared import DeviceError

from .hand import column, i8, i32, i64, inline, packed, pointing
from .only import lend

M8, m8 = np.datetime64, np.timedelta64

INTS = column("i", 6, data=i32(0, 1, 2, 3, 4, 5))
WORDS = column("u", 4, offsets=i32(0, 1, 1, 3, 6), data="aé☃".encode())
NAMED = {
    "number": column("i", 4, data=i32(1, 2, 3, 4), name="number"),
    "word": column("u", 4, validity=b"\x0e", offsets=i32(0, 1, 2, 3, 4), data=b"\xffbcd", name="word"),
}
ENTRIES = column(
    "+s",
    3,
    children=[
        column("u", 3, offsets=i32(0, 1, 2, 3), data=b"xyz", name="key"),
        column("i", 3, validity=b"\x05", data=i32(7, 8, 9), name="value"),
    ],
    name="entries",
)

# What it is -> a column, and what its elements are. Where a mask is given, 0x0b: element 2 is missing.
CASES: dict[str, tuple[Column, list[Any]]] = {
    "null": (column("n", 4), [None] * 4),
    "bool": (column("b", 4, validity=b"\x0b", data=b"\xf9"), [True, False, None, True]),
    "bool, bit 8": (column("b", 2, data=b"\x00\x02", offset=8), [False, True]),
    "bool of bytes": (column((20, 8, "b", "="), 4, data=b"\0\1\2\xff"), [False, True, True, True]),
    "int8": (column("c", 4, validity=b"\x0b", data=i8(1, -128, 5, 127)), [1, -128, None, 127]),
    "uint8": (column("C", 2, data=b"\x00\xff"), [0, 255]),
    "int16": (column("s", 2, data=packed("h", -2, 2**15 - 1)), [-2, 2**15 - 1]),
    "uint16": (column("S", 2, data=packed("H", 2, 2**16 - 1)), [2, 2**16 - 1]),
    "int32": (column("i", 4, validity=b"\x0b", data=i32(1, -2, 99, 4)), [1, -2, None, 4]),
    "uint32": (column("I", 1, data=packed("I", 2**32 - 1)), [2**32 - 1]),
    "int64": (column("l", 2, data=i64(2**60 + 1, -(2**63))), [2**60 + 1, -(2**63)]),
    "uint64": (column("L", 1, data=packed("Q", 2**64 - 1)), [2**64 - 1]),
    "half": (column("e", 2, data=packed("e", 1.5, -0.25)), [1.5, -0.25]),
    "float": (
        column("f", 4, validity=b"\x0b", data=packed("f", 1.5, -0.25, 9, float("inf"))),
        [1.5, -0.25, None, float("inf")],
    ),
    "double": (column("g", 2, data=packed("d", 0.1, -0.0)), [0.1, -0.0]),
    "complex": (column((104, 128, "", "="), 2, data=packed("d", 1, 2, 3, 0)), [1 + 2j, 3 + 0j]),
    "big-endian": (column((0, 32, "i", ">"), 2, data=bytes([0, 0, 1, 0, 255, 255, 255, 255])), [256, -1]),
    "strided": (column("i", 3, data=i32(0, 1, 2, 3, 4, 5), strides=(8,)), [0, 2, 4]),
    "backwards": (column("i", 3, data=i32(0, 1, 2), byte_offset=8, strides=(-4,)), [2, 1, 0]),
    "sentinel": (column("i", 3, data=i32(7, -1, 9), null=(2, -1)), [7, None, 9]),
    "NaN is missing": (column("g", 2, data=packed("d", float("nan"), 1), null=(1, None)), [None, 1.0]),
    "bytes, 1 = missing": (column("i", 3, data=i32(7, 8, 9), validity=b"\0\1\0", null=(4, 1)), [7, None, 9]),
    "every second byte": (
        column("i", 2, data=i32(7, 8), validity=b"??\1?\0", null=(4, 0), validity_offset=2)._make(
            column("i", 2, data=i32(7, 8))._type,
            (
                column("i", 2, data=i32(7, 8), validity=b"??\1?\0", null=(4, 0), validity_offset=2)._piece._replace(
                    validity_stride=2
                ),
            ),
        ),
        [7, None],
    ),
    "decimal32": (column("d:5,2,32", 2, data=i32(12345, -1)), [Decimal("123.45"), Decimal("-0.01")]),
    "decimal64": (column("d:18,0,64", 1, data=i64(10**18 - 1)), [Decimal(10**18 - 1)]),
    "decimal128": (
        column(
            "d:38,3",
            3,
            validity=b"\x05",
            data=b"".join(n.to_bytes(16, "little", signed=True) for n in (10**38 - 1, 1, -5)),
        ),
        [Decimal("99999999999999999999999999999999999.999"), None, Decimal("-0.005")],
    ),
    "decimal256": (
        column("d:76,-2,256", 1, data=(-(10**75)).to_bytes(32, "little", signed=True)),
        [Decimal(f"-1{75 * '0'}E2")],
    ),
    "date32": (
        column("tdD", 4, validity=b"\x0b", data=i32(0, -1, 5, 19782)),
        [M8("1970-01-01"), M8("1969-12-31"), None, M8("2024-02-29")],
    ),
    "date of 64 bits": (column((22, 64, "tdD", "="), 2, data=i64(-1, 19782)), [M8("1969-12-31"), M8("2024-02-29")]),
    "date64": (column("tdm", 1, data=i64(86_400_000)), [M8("1970-01-02", "ms")]),
    "time32 s": (column("tts", 2, data=i32(0, 86_399)), [m8(0, "s"), m8(86_399, "s")]),
    "time32 ms": (column("ttm", 1, data=i32(86_399_999)), [m8(86_399_999, "ms")]),
    "time64 us": (column("ttu", 1, data=i64(1)), [m8(1, "us")]),
    "time64 ns": (column("ttn", 2, validity=b"\x02", data=i64(3, 1)), [None, m8(1, "ns")]),
    "timestamp s": (column("tss:", 1, data=i64(-1)), [M8("1969-12-31T23:59:59")]),
    "timestamp ms": (column("tsm:", 1, data=i64(1)), [M8("1970-01-01T00:00:00.001")]),
    "timestamp us, zone": (column("tsu:Europe/Rome", 1, data=i64(1)), [M8("1970-01-01T00:00:00.000001")]),
    "timestamp ns": (column("tsn:", 2, validity=b"\x01", data=i64(1, 2)), [M8("1970-01-01T00:00:00.000000001"), None]),
    "NaT": (column("tsn:", 2, data=i64(-(2**63), 0), null=(1, None)), [None, M8(0, "ns")]),
    "duration": (column("tDs", 2, data=i64(-3, 4)), [m8(-3, "s"), m8(4, "s")]),
    "duration ns": (column("tDn", 1, data=i64(5)), [m8(5, "ns")]),
    "months": (column("tiM", 3, validity=b"\x05", data=i32(1, 7, -13)), [1, None, -13]),
    "days and ms": (column("tiD", 2, data=i32(1, -2, 3, 4)), [(1, -2), (3, 4)]),
    "month, day, ns": (
        column("tin", 2, data=i32(1, -2) + i64(2**40) + i32(0, 0) + i64(-1)),
        [(1, -2, 2**40), (0, 0, -1)],
    ),
    "utf8": (WORDS, ["a", "", "é", "☃"]),
    "utf8, missing": (
        column("u", 4, validity=b"\x0b", offsets=i32(0, 1, 1, 2, 3), data=b"a\xffb"),
        ["a", "", None, "b"],
    ),
    "utf8 far apart": (
        column("u", 2, validity=b"\x05", offsets=i32(0, 1, 99), data=b"a" + 98 * b"\xff", null_count=1),
        ["a", None],
    ),
    "large utf8": (column("U", 2, offsets=i64(2, 3, 5), data="**aé".encode()), ["a", "é"]),
    "utf8 without data": (column("u", 2, offsets=i32(0, 0, 0)), ["", ""]),
    "binary": (column("z", 3, validity=b"\x03", offsets=i32(0, 2, 2, 3), data=b"\xff\0!"), [b"\xff\0", b"", None]),
    "large binary": (column("Z", 1, offsets=i64(0, 1), data=b"\xff"), [b"\xff"]),
    "fixed binary": (column("w:3", 3, validity=b"\x05", data=b"abc???\0\0\0"), [b"abc", None, b"\0\0\0"]),
    "fixed binary of nothing": (column("w:0", 2, data=b""), [b"", b""]),
    "utf8 view": (
        column(
            "vu",
            6,
            validity=b"\x3b",
            data=inline(b"a")
            + inline("twelve byté ".encode()[:12])
            + pointing(-1, -1, -1)
            + pointing(14, 1, 2)
            + inline(b"")
            + pointing(13, 0, 0),
            variadic=[b"thirteen byte", "__fourteen byté".encode()],
        ),
        ["a", "twelve byté", None, "fourteen byté"[:13], "", "thirteen byte"],
    ),
    "binary view": (
        column("vz", 2, data=inline(b"\xff\0") + pointing(13, 0, 1), variadic=[bytes(range(14))]),
        [b"\xff\0", bytes(range(1, 14))],
    ),
    "list": (column("+l", 4, validity=b"\x0b", offsets=i32(0, 2, 2, 5, 6), children=[INTS]), [[0, 1], [], None, [5]]),
    "large list": (column("+L", 2, offsets=i64(1, 1, 3), children=[INTS]), [[], [1, 2]]),
    "list view": (
        column("+vl", 4, validity=b"\x0b", offsets=i32(4, 0, -9, 1), sizes=i32(2, 0, 99, 2), children=[INTS]),
        [[4, 5], [], None, [1, 2]],
    ),
    "large list view": (column("+vL", 2, offsets=i64(3, 2), sizes=i64(2, 2), children=[INTS]), [[3, 4], [2, 3]]),
    "fixed-size list": (column("+w:2", 3, validity=b"\x05", children=[INTS]), [[0, 1], None, [4, 5]]),
    "fixed-size list of nothing": (column("+w:0", 2, children=[INTS]), [[], []]),
    "list of lists": (
        column("+l", 2, offsets=i32(0, 1, 3), children=[column("+l", 3, offsets=i32(0, 2, 2, 6), children=[INTS])]),
        [[[0, 1]], [[], [2, 3, 4, 5]]],
    ),
    "list of hidden text": (
        column(
            "+l",
            2,
            validity=b"\x02",
            offsets=i32(0, 1, 3),
            children=[column("u", 3, offsets=i32(0, 1, 2, 3), data=b"\xffab")],
        ),
        [None, ["a", "b"]],
    ),
    "struct": (
        column("+s", 4, validity=b"\x0d", children=list(NAMED.values())),
        [{"number": 1, "word": None}, None, {"number": 3, "word": "c"}, {"number": 4, "word": "d"}],
    ),
    "struct, cut twice": (
        column("+s", 2, offset=1, children=[NAMED["number"][1:], NAMED["word"]]),
        [{"number": 3, "word": "b"}, {"number": 4, "word": "c"}],
    ),
    "struct without fields": (column("+s", 2, validity=b"\x01"), [{}, None]),
    "map": (
        column("+m", 3, validity=b"\x05", offsets=i32(0, 2, 2, 3), children=[ENTRIES]),
        [[("x", 7), ("y", None)], None, [("z", 9)]],
    ),
    "sparse union": (
        column("+us:5,7", 4, type_ids=i8(5, 7, 7, 5), children=[NAMED["number"], NAMED["word"]]),
        [1, "b", "c", 4],
    ),
    "sparse union, cut": (
        column("+us:5,7", 2, offset=1, type_ids=i8(9, 7, 5), children=[NAMED["number"][1:], NAMED["word"]]),
        ["b", 4],
    ),
    "dense union": (
        column(
            "+ud:0,1", 4, type_ids=i8(0, 1, 1, 0), offsets=i32(0, 0, 3, 2), children=[NAMED["number"], NAMED["word"]]
        ),
        [1, None, "d", 3],
    ),
    "runs": (
        column(
            "+r",
            5,
            children=[
                column("s", 3, data=packed("h", 2, 3, 9)),
                column("u", 3, validity=b"\x05", offsets=i32(0, 1, 2, 3), data=b"a?c"),
            ],
        ),
        ["a", "a", None, "c", "c"],
    ),
    "runs, cut": (
        column("+r", 3, offset=1, children=[column("l", 3, data=i64(2, 3, 9)), column("i", 3, data=i32(7, 8, 9))]),
        [7, 8, 9],
    ),
    "dictionary": (
        column(
            "c", 4, validity=b"\x0b", data=i8(1, 0, 99, 1), dictionary=column("u", 2, offsets=i32(0, 1, 2), data=b"xy")
        ),
        ["y", "x", None, "y"],
    ),
    "dictionary with nulls": (
        column("L", 3, data=packed("Q", 1, 0, 1), dictionary=column("i", 2, validity=b"\x01", data=i32(5, 6))),
        [None, 5, None],
    ),
    "categories of pandas": (
        column("c", 3, data=i8(0, -1, 0), null=(2, -1), dictionary=column("u", 2, offsets=i32(0, 1, 2), data=b"x\xff")),
        ["x", None, "x"],
    ),
    "extension": (
        column("w:2", 1, data=b"ab", metadata={"ARROW:extension:name": "of.ours"}),
        [b"ab"],
    ),
}


def same(found: Any, expected: Any) -> bool:
    """Compare values and their types: True is not 1, a second not a thousand milliseconds, 1.10 not 1.1."""
    if type(found) is not type(expected):
        return False
    if isinstance(found, list | tuple):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(found, dict):
        return list(found) == list(expected) and same(list(found.values()), list(expected.values()))
    if isinstance(found, np.generic):
        return found.dtype == expected.dtype and bool(found == expected)
    return bool(found == expected) and str(found) == str(expected)


@pytest.mark.parametrize("name", CASES)
def test_elements_whole_and_cut(name: str) -> None:
    made, expected = CASES[name]
    assert same(made.tolist(), expected), made.tolist()
    for start in range(len(expected) + 1):
        for stop in range(start, len(expected) + 1):
            found = made[start:stop].tolist()
            assert same(found, expected[start:stop]), (start, stop, found)


@pytest.mark.parametrize("name", CASES)
def test_chunks_follow_one_another(name: str) -> None:
    made, expected = CASES[name]
    bounds = [0, 1, 1, len(expected)]
    pieces = tuple(made[start:stop]._piece for start, stop in pairwise(bounds))
    chunked = Column._make(made._type, pieces)
    assert chunked.num_chunks() == 3
    assert same(chunked.tolist(), expected)


@pytest.mark.parametrize("name", CASES)
def test_as_a_child_and_as_categories(name: str) -> None:
    made, expected = CASES[name]
    last = len(expected) - 1
    parent = column("+vl", 2, offsets=i32(1, 0), sizes=i32(last, last + 1), children=[made])
    assert same(parent.tolist(), [expected[1:], expected])
    parent = column("c", 3, data=i8(last, 0, last), dictionary=made)
    assert same(parent.tolist(), [expected[last], expected[0], expected[last]])


def test_nothing_is_shared_that_can_be_changed() -> None:
    lists = column("+l", 2, offsets=i32(0, 1, 2), children=[INTS])
    for made in (
        column("+r", 2, children=[column("i", 1, data=i32(2)), lists]),
        column("c", 2, data=i8(1, 1), dictionary=lists),
        column("+w:0", 2, children=[INTS]),
        column("+s", 2),
    ):
        one, two = made.tolist()
        assert one == two
        assert one is not two


def test_more_digits_than_the_context_has() -> None:
    import decimal

    with decimal.localcontext(prec=3):
        made, expected = CASES["decimal128"]
        assert made.tolist() == expected


def test_what_is_made_keeps_nothing_alive() -> None:
    content = np.arange(3)
    seen = weakref.ref(content)
    made = as_column(content)
    found = made.tolist()
    del made, content
    gc.collect()
    assert found == [0, 1, 2]
    assert seen() is None


@pytest.mark.parametrize("part", ["data", "validity", "child", "dictionary", "variadic"])
def test_memory_elsewhere_is_refused_before_anything_is_read(part: str) -> None:
    away, _ = lend(bytes(64), device=(2, 0))
    inner = column("i", 1, data=away)
    made = {
        "data": lambda: column("i", 1, data=away),
        "validity": lambda: column("i", 1, data=away, validity=away),
        "child": lambda: column("+l", 1, offsets=away, children=[inner]),
        "dictionary": lambda: column("c", 1, data=away, dictionary=inner),
        "variadic": lambda: Column("vu", 1, data=away, variadic=[away]),
    }[part]()
    with pytest.raises(DeviceError, match="column '' lies on CUDA device 0"):
        made.tolist()


def test_many_texts_and_views_of_every_length() -> None:
    # More than is gathered at once, and one element longer than that.
    texts = [bytes([65 + i % 26]) * (i % 40) for i in range(5000)]
    texts[7] = b"z" * 200_000
    content, views, at = b"".join(texts), b"", 0
    for text in texts:
        views += inline(text) if len(text) <= 12 else pointing(len(text), len(text) % 2, at)
        at += len(text)
    made = column("vz", len(texts), data=views, variadic=[content, content])
    assert made.tolist() == texts
    assert made[8:].tolist() == texts[8:]
