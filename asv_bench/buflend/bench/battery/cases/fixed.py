"""Values of a fixed width: numbers, bools, and times of every kind, at all offsets and in both byte orders.

Specification: dtype tuple and `offset` of the column. Kind and width decide, the format string is a hint; of DATETIME
it says what is counted in which unit, and behind the colon the zone of instants in UTC. `tdD` has 32 bits whatever a
tuple says. Bools have one bit, counted from the buffer's first, or one byte. Expected times are ISO 8601 strings, of
durations and times of day integers of nanoseconds.
"""

from collections.abc import Iterator

import numpy as np

from ...producer import Buf, Col, Dtype, Frame, Kind, Null, dtype
from ._build import Case, bitmask, bools, bytemask, case, liar, moments, numbers, one, same, sentinel

_EXTREMES: dict[str, list[int | float]] = {
    "int8": [-128, 0, 127],
    "int16": [-(2**15), 0, 2**15 - 1],
    "int32": [-(2**31), 0, 2**31 - 1],
    "int64": [-(2**63), 2**60 + 1, 2**63 - 1],
    "uint8": [0, 1, 255],
    "uint16": [0, 1, 2**16 - 1],
    "uint32": [0, 1, 2**32 - 1],
    "uint64": [0, 2**63 + 1, 2**64 - 1],
    "float16": [-1.5, 0.0, 65504.0],
    "float32": [-1.5, 0.0, 2.0**100],
    "float64": [-1.5, 0.1, 2.0**1000],
}

_NUMPY_FORMATS = {"int64": "<i8", "int8": "|i1", "float32": "<f4"}

_ORDERS = [
    ("int16", ">", "big"),
    ("int64", ">", "big"),
    ("uint32", ">", "big"),
    ("float64", ">", "big"),
    ("int64", "<", "little"),
    ("float64", "<", "little"),
]

_LONG = list(range(1000))
_ODD_FLOATS = [1.0, float("nan"), float("inf"), float("-inf"), -0.0]


def _unaligned(values: list[int | float], type_: str) -> Col:
    memory = np.zeros(1 + np.dtype(type_).itemsize * len(values), np.uint8)
    memory[1:] = np.array(values, type_).view(np.uint8)
    return Col(Buf(memory[1:]), dtype(type_), len(values))


def numeric() -> Iterator[Case]:
    """Yield the numeric of this subject."""
    for type_, values in _EXTREMES.items():
        yield same(
            f"extremes-{type_}", f"{type_}, its smallest and largest, at offset 1", numbers, values, type_, lead=1
        )
    for lead in (1, 9, 64):
        yield same(f"plain-offset-{lead}", f"int64 at offset {lead}, four rows", numbers, [3, 4, 5, 6], lead=lead)
    yield same(
        "infinities-and-nan-are-values",
        "float64 that is not nullable: NaN and infinities are values",
        numbers,
        _ODD_FLOATS,
        "float64",
        lead=2,
    )
    for type_, order, word in _ORDERS:
        values = _EXTREMES[type_]
        yield same(
            f"{word}-endian-{type_}",
            f"{type_} stored and announced {word}-endian",
            numbers,
            values,
            type_,
            order=order,
            lead=1,
            may_refuse=True,
        )
    yield same(
        "byte-order-not-applicable",
        "int8 with '|' for the byte order, as NumPy writes it",
        numbers,
        [1, -1],
        "int8",
        announced=dtype("int8", "|"),
    )
    for type_, format_ in _NUMPY_FORMATS.items():
        kind, bits, *_ = dtype(type_)
        yield same(
            f"numpy-format-{type_}",
            f"{type_} under the format string {format_!r}: kind and width decide",
            numbers,
            _EXTREMES[type_],
            type_,
            announced=Dtype(kind, bits, format_),
            lead=1,
        )
    yield same(
        "plain-integers-for-enums",
        "kind, null kind and device as plain integers",
        numbers,
        [1, 2],
        announced=(0, 64, "l", "="),
        null=(0, None),
    )
    for type_ in ("int64", "float64"):
        yield same(f"unaligned-{type_}", f"{type_} at an odd address", _unaligned, _EXTREMES[type_], type_)
    yield same("long-column", "a thousand rows at offset 13", numbers, _LONG, lead=13)
    many = {type_: values for type_, values in _EXTREMES.items() if type_ != "float16"}
    yield case(
        "many-columns",
        "many kinds of number in one frame",
        lambda: Frame({type_: numbers(values, type_, lead=1) for type_, values in many.items()}),
        many,
    )
    yield case(
        "width-decided-by-size",
        "int64 announced, int32 on the buffer, and only 32 bits a row fit: read as 32, or refused",
        lambda: Col(Buf(np.array([1, 2, 3], np.int32)), dtype("int64"), 3, data_dtype=dtype("int32")),
        [1, 2, 3],
        may_refuse=True,
    )
    yield same(
        "text-as-number",
        "kind INT under a format string of floats: the kind decides",
        numbers,
        [1, 2],
        announced=Dtype(Kind.INT, 64, "g"),
        may_refuse=True,
    )


_BITS = [True, False, True, True, False, True, True, False, False, True, False]
_HOLED = [True, None, False, True, None, False, False, True, None, True, False]


def booleans() -> Iterator[Case]:
    """Yield the booleans of this subject."""
    for lead in (0, 1, 7, 8, 9):
        yield same(
            f"packed-bool-offset-{lead}", f"bools of one bit at offset {lead}", bools, _BITS, packed=True, lead=lead
        )
    for lead in (0, 9):
        yield same(
            f"byte-bool-offset-{lead}", f"bools of one byte at offset {lead}", bools, _BITS, packed=False, lead=lead
        )
    for packed, word in ((True, "packed"), (False, "byte")):
        for lead in (0, 9):
            yield same(
                f"{word}-bool-bitmask-offset-{lead}",
                f"{word} bools and a bit mask at offset {lead}",
                bools,
                _HOLED,
                packed=packed,
                lead=lead,
                nulls=bitmask(),
            )
            yield same(
                f"{word}-bool-bytemask-offset-{lead}",
                f"{word} bools and a byte mask at offset {lead}",
                bools,
                _HOLED,
                packed=packed,
                lead=lead,
                nulls=bytemask(),
            )
    for value in (True, False):
        yield same(
            f"packed-bool-one-value-at-bit-9-{str(value).lower()}",
            "one packed bool at bit 9, in the second byte",
            bools,
            [value],
            packed=True,
            lead=9,
        )
    for size in (8, 65):
        bits = [i % 3 == 0 for i in range(size)]
        yield same(f"packed-bool-{size}-rows", f"{size} packed bools at offset 5", bools, bits, packed=True, lead=5)
    yield case(
        "packed-bool-byte-order-not-applicable",
        "packed bools with '|' for the byte order, as pandas writes them",
        lambda: Col(Buf(np.array([0b101], np.uint8)), Dtype(Kind.BOOL, 1, "b", "|"), 3),
        [True, False, True],
    )
    yield liar(
        "bool-of-16-bits",
        "a bool of 16 bits: no such type",
        lambda: Col(Buf(np.array([1, 0], np.uint16)), Dtype(Kind.BOOL, 16, "b"), 2),
    )
    yield case(
        "bool-of-sentinel-2",
        "bools of one byte with 2 for missing",
        lambda: Col(Buf(bytes([1, 2, 0])), Dtype(Kind.BOOL, 8, "b"), 3, null=(Null.USE_SENTINEL, 2), null_count=1),
        [True, None, False],
        may_refuse=True,
    )


_NAT = -(2**63)

# The same three integers in each unit, none under a null.
_STAMPS = [0, -1, None, 1_000_000_007]
_UNITS: dict[str, tuple[int, list[str | None]]] = {
    "s": (10**9, ["1970-01-01T00:00:00", "1969-12-31T23:59:59", None, "2001-09-09T01:46:47"]),
    "m": (10**6, ["1970-01-01T00:00:00", "1969-12-31T23:59:59.999", None, "1970-01-12T13:46:40.007"]),
    "u": (10**3, ["1970-01-01T00:00:00", "1969-12-31T23:59:59.999999", None, "1970-01-01T00:16:40.000007"]),
    "n": (1, ["1970-01-01T00:00:00", "1969-12-31T23:59:59.999999999", None, "1970-01-01T00:00:01.000000007"]),
}

_DAYS = [0, -1, None, 18262]
_DATES = ["1970-01-01", "1969-12-31", None, "2020-01-01"]
_MS = 86_400_000

_ZONES = {"s": "Europe/Berlin", "m": "UTC", "u": "+02:00", "n": "America/New_York"}


def _dates() -> Iterator[Case]:
    """Yield days of 32 bits, and what happens when a tuple says 64."""
    for lead in (0, 9):
        yield case(
            f"date32-offset-{lead}",
            f"date32 with a bit mask at offset {lead}",
            one(moments, _DAYS, "tdD", type_="int32", lead=lead, nulls=bitmask()),
            _DATES,
        )
    yield case(
        "date32-bytemask",
        "date32 with a byte mask",
        one(moments, _DAYS, "tdD", type_="int32", nulls=bytemask()),
        _DATES,
    )
    yield case(
        "date32-sentinel",
        "date32 with the sentinel -2**31",
        one(moments, _DAYS, "tdD", type_="int32", lead=1, nulls=sentinel(-(2**31))),
        _DATES,
    )
    for word, bits, data in (("both", 64, "int64"), ("column", 64, "int32"), ("data", 32, "int64")):
        yield case(
            f"date32-announced-64-by-{word}",
            "date32 announced with 64 bits, 4 bytes a row: read as 32 bits, or refused",
            one(moments, [0, -1, 18262], "tdD", type_="int32", bits=bits, data_dtype=dtype(data), tail=0),
            ["1970-01-01", "1969-12-31", "2020-01-01"],
            may_refuse=True,
        )
        yield liar(
            f"date32-announced-64-by-{word}-8-bytes",
            "date32 announced with 64 bits, 8 bytes a row: these may be addresses of objects",
            one(moments, [0, -1, 18262], "tdD", type_="int64", bits=bits, data_dtype=dtype(data), tail=0),
        )
    yield case(
        "date32-roomy",
        "date32 of 32 bits in a buffer three times as large",
        one(moments, [0, -1, 18262], "tdD", type_="int32", tail=6),
        ["1970-01-01", "1969-12-31", "2020-01-01"],
    )
    values = [None if day is None else day * _MS for day in _DAYS]
    yield case(
        "date64", "date64: milliseconds of whole days", one(moments, values, "tdm", lead=1, nulls=bitmask()), _DATES
    )


def _stamps() -> Iterator[Case]:
    """Yield time stamps of all units, with and without zones."""
    for unit, (_, expected) in _UNITS.items():
        yield case(
            f"timestamp-{unit}",
            f"time stamps, ts{unit}:, with a bit mask at offset 1",
            one(moments, _STAMPS, f"ts{unit}:", lead=1, nulls=bitmask()),
            expected,
        )
        zone = _ZONES[unit]
        yield case(
            f"timestamp-{unit}-zone",
            f"time stamps in UTC with the zone {zone}",
            one(moments, _STAMPS, f"ts{unit}:{zone}", lead=1, nulls=bitmask()),
            expected,
            timezone=zone,
        )
        yield case(
            f"timestamp-{unit}-nat",
            "time stamps with NaT for missing",
            one(moments, _STAMPS, f"ts{unit}:", nulls=sentinel(_NAT)),
            expected,
        )
    yield case(
        "timestamp-nat-offset-1",
        "time stamps with NaT for missing at offset 1",
        one(moments, _STAMPS, "tsn:", lead=1, nulls=sentinel(_NAT)),
        _UNITS["n"][1],
    )
    for lead in (0, 9):
        yield case(
            f"timestamp-sentinel-7-offset-{lead}",
            f"time stamps with the sentinel 7 at offset {lead}",
            one(moments, _STAMPS, "tsm:", lead=lead, nulls=sentinel(7)),
            _UNITS["m"][1],
        )
    for order, word in ((">", "big"), ("<", "little")):
        yield case(
            f"timestamp-{word}-endian",
            f"time stamps stored and announced {word}-endian",
            one(moments, _STAMPS, "tsm:", order=order, nulls=bitmask()),
            _UNITS["m"][1],
            may_refuse=True,
        )
    yield case(
        "timestamp-data-announced-as-datetime",
        "the data buffer announced with the column's own type",
        one(moments, _STAMPS, "tsu:", nulls=bitmask(), data_dtype=Dtype(Kind.DATETIME, 64, "tsu:")),
        _UNITS["u"][1],
    )
    yield case(
        "timestamp-overflow-under-null",
        "a number under a missing slot that no calendar holds",
        one(moments, _STAMPS, "tsm:", hidden=2**62, nulls=bitmask()),
        _UNITS["m"][1],
    )
    yield case(
        "timestamp-use-nan",
        "USE_NAN on time stamps: the smallest integer is NaT",
        one(moments, _STAMPS, "tsn:", hidden=_NAT, null=(Null.USE_NAN, None), null_count=1),
        _UNITS["n"][1],
    )
    yield liar(
        "timestamp-numpy-format", "a format string that is not Arrow's says no unit", one(moments, [0, 1], "<M8[ns]")
    )


def _spans() -> Iterator[Case]:
    """Yield durations and times of day."""
    for unit, (nanoseconds, _) in _UNITS.items():
        expected = [None if value is None else value * nanoseconds for value in _STAMPS]
        yield case(
            f"duration-{unit}",
            f"durations, tD{unit}, with a bit mask at offset 1",
            one(moments, _STAMPS, f"tD{unit}", lead=1, nulls=bitmask()),
            expected,
        )
        if unit == "n":
            yield case(
                "duration-nat",
                "durations with NaT for missing",
                one(moments, _STAMPS, "tDn", lead=1, nulls=sentinel(_NAT)),
                expected,
            )
        width = 32 if unit in "sm" else 64
        noon: list[int | None] = [0, None, 12 * 3600 * 10**9 // nanoseconds + 1]
        yield case(
            f"time-{unit}",
            f"times of day, tt{unit}, of {width} bits",
            one(moments, noon, f"tt{unit}", type_=f"int{width}", lead=1, nulls=bitmask()),
            [None if value is None else value * nanoseconds for value in noon],
        )
        day = 24 * 3600 * 10**9 // nanoseconds
        for name, title, wild in (
            ("time-past-the-day", "a time of day of 24 hours: its unit cannot be the announced one", [0, day]),
            ("time-negative", "a time of day before midnight", [-1, 0]),
        ):
            yield liar(f"{name}-{unit}", f"{title}, tt{unit}", one(moments, wild, f"tt{unit}", type_=f"int{width}"))
        yield case(
            f"time-past-the-day-missing-{unit}",
            f"more than a day under a missing slot, tt{unit}",
            one(moments, [None, day - 1], f"tt{unit}", type_=f"int{width}", hidden=day, nulls=bitmask()),
            [None, (day - 1) * nanoseconds],
        )


def times() -> Iterator[Case]:
    """Yield the times of this subject."""
    yield from _dates()
    yield from _stamps()
    yield from _spans()
