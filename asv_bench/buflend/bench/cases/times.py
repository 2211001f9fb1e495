"""Dates, time stamps, durations and times of day.

Specification: kind DATETIME, the Arrow format string says which and in what unit; the integers are signed. `tdD` has
32 bits whatever a tuple says. The text behind the colon is the zone, in UTC then. Expected values are ISO 8601 strings,
of durations and times of day integers of nanoseconds.
"""

from collections.abc import Iterator

from ..dtypes import Dtype, Kind, Null, dtype
from ._build import bitmask, bytemask, moments, one, sentinel
from ._case import Case

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
        yield Case(
            f"date32-offset-{lead}",
            f"date32 with a bit mask at offset {lead}",
            one(moments, _DAYS, "tdD", type_="int32", lead=lead, nulls=bitmask()),
            {"a": _DATES},
        )
    yield Case(
        "date32-bytemask",
        "date32 with a byte mask",
        one(moments, _DAYS, "tdD", type_="int32", nulls=bytemask()),
        {"a": _DATES},
    )
    yield Case(
        "date32-sentinel",
        "date32 with the sentinel -2**31",
        one(moments, _DAYS, "tdD", type_="int32", lead=1, nulls=sentinel(-(2**31))),
        {"a": _DATES},
    )
    for word, bits, data in (("both", 64, "int64"), ("column", 64, "int32"), ("data", 32, "int64")):
        yield Case(
            f"date32-announced-64-by-{word}",
            "date32 announced with 64 bits, 4 bytes a row: read as 32 bits, or refused",
            one(moments, [0, -1, 18262], "tdD", type_="int32", bits=bits, data_dtype=dtype(data), tail=0),
            {"a": ["1970-01-01", "1969-12-31", "2020-01-01"]},
            may_refuse=True,
        )
        yield Case(
            f"date32-announced-64-by-{word}-8-bytes",
            "date32 announced with 64 bits, 8 bytes a row: these may be addresses of objects",
            one(moments, [0, -1, 18262], "tdD", type_="int64", bits=bits, data_dtype=dtype(data), tail=0),
            None,
            errors=("ProducerError",),
        )
    yield Case(
        "date32-roomy",
        "date32 of 32 bits in a buffer three times as large",
        one(moments, [0, -1, 18262], "tdD", type_="int32", tail=6),
        {"a": ["1970-01-01", "1969-12-31", "2020-01-01"]},
    )
    values = [None if day is None else day * _MS for day in _DAYS]
    yield Case(
        "date64",
        "date64: milliseconds of whole days",
        one(moments, values, "tdm", lead=1, nulls=bitmask()),
        {"a": _DATES},
    )


def _stamps() -> Iterator[Case]:
    """Yield time stamps of all units, with and without zones."""
    for unit, (_, expected) in _UNITS.items():
        yield Case(
            f"timestamp-{unit}",
            f"time stamps, ts{unit}:, with a bit mask at offset 1",
            one(moments, _STAMPS, f"ts{unit}:", lead=1, nulls=bitmask()),
            {"a": expected},
        )
        zone = _ZONES[unit]
        yield Case(
            f"timestamp-{unit}-zone",
            f"time stamps in UTC with the zone {zone}",
            one(moments, _STAMPS, f"ts{unit}:{zone}", lead=1, nulls=bitmask()),
            {"a": expected},
            timezone={"a": zone},
        )
        yield Case(
            f"timestamp-{unit}-nat",
            "time stamps with NaT for missing",
            one(moments, _STAMPS, f"ts{unit}:", nulls=sentinel(_NAT)),
            {"a": expected},
        )
    yield Case(
        "timestamp-nat-offset-1",
        "time stamps with NaT for missing at offset 1",
        one(moments, _STAMPS, "tsn:", lead=1, nulls=sentinel(_NAT)),
        {"a": _UNITS["n"][1]},
    )
    for lead in (0, 9):
        yield Case(
            f"timestamp-sentinel-7-offset-{lead}",
            f"time stamps with the sentinel 7 at offset {lead}",
            one(moments, _STAMPS, "tsm:", lead=lead, nulls=sentinel(7)),
            {"a": _UNITS["m"][1]},
        )
    for order, word in ((">", "big"), ("<", "little")):
        yield Case(
            f"timestamp-{word}-endian",
            f"time stamps stored and announced {word}-endian",
            one(moments, _STAMPS, "tsm:", order=order, nulls=bitmask()),
            {"a": _UNITS["m"][1]},
            may_refuse=True,
        )
    yield Case(
        "timestamp-data-announced-as-datetime",
        "the data buffer announced with the column's own type",
        one(moments, _STAMPS, "tsu:", nulls=bitmask(), data_dtype=Dtype(Kind.DATETIME, 64, "tsu:")),
        {"a": _UNITS["u"][1]},
    )
    yield Case(
        "timestamp-overflow-under-null",
        "a number under a missing slot that no calendar holds",
        one(moments, _STAMPS, "tsm:", hidden=2**62, nulls=bitmask()),
        {"a": _UNITS["m"][1]},
    )
    yield Case(
        "timestamp-use-nan",
        "USE_NAN on time stamps: the smallest integer is NaT",
        one(moments, _STAMPS, "tsn:", hidden=_NAT, null=(Null.USE_NAN, None), null_count=1),
        {"a": _UNITS["n"][1]},
    )
    yield Case(
        "timestamp-numpy-format",
        "a format string that is not Arrow's says no unit",
        one(moments, [0, 1], "<M8[ns]"),
        None,
        errors=("ProducerError",),
    )


def _spans() -> Iterator[Case]:
    """Yield durations and times of day."""
    for unit, (nanoseconds, _) in _UNITS.items():
        expected = [None if value is None else value * nanoseconds for value in _STAMPS]
        yield Case(
            f"duration-{unit}",
            f"durations, tD{unit}, with a bit mask at offset 1",
            one(moments, _STAMPS, f"tD{unit}", lead=1, nulls=bitmask()),
            {"a": expected},
        )
        if unit == "n":
            yield Case(
                "duration-nat",
                "durations with NaT for missing",
                one(moments, _STAMPS, "tDn", lead=1, nulls=sentinel(_NAT)),
                {"a": expected},
            )
        width = 32 if unit in "sm" else 64
        noon: list[int | None] = [0, None, 12 * 3600 * 10**9 // nanoseconds + 1]
        yield Case(
            f"time-{unit}",
            f"times of day, tt{unit}, of {width} bits",
            one(moments, noon, f"tt{unit}", type_=f"int{width}", lead=1, nulls=bitmask()),
            {"a": [None if value is None else value * nanoseconds for value in noon]},
        )
        day = 24 * 3600 * 10**9 // nanoseconds
        for name, title, wild in (
            ("time-past-the-day", "a time of day of 24 hours: its unit cannot be the announced one", [0, day]),
            ("time-negative", "a time of day before midnight", [-1, 0]),
        ):
            yield Case(
                f"{name}-{unit}",
                f"{title}, tt{unit}",
                one(moments, wild, f"tt{unit}", type_=f"int{width}"),
                None,
                errors=("ProducerError",),
            )
        yield Case(
            f"time-past-the-day-missing-{unit}",
            f"more than a day under a missing slot, tt{unit}",
            one(moments, [None, day - 1], f"tt{unit}", type_=f"int{width}", hidden=day, nulls=bitmask()),
            {"a": [None, (day - 1) * nanoseconds]},
        )


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    yield from _dates()
    yield from _stamps()
    yield from _spans()
