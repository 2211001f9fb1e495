"""Columns of every layout, a few elements of each: the bytes of every part, and the values that they are.

Lives here: the table, what each protocol can say of a layout, and a column over parts that a test has placed. Imported
by tests, as `from .kinds import KINDS, made`.

All by hand, from Apache Arrow, "Arrow Columnar Format", and from the dataframe interchange protocol. No part is longer
than its elements need: who reads a byte more reads what is not the column's.
"""

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np

from buflend.maximal import Column
from buflend.shared.interchange import NAT

from .hand import i8, i32, i64, inline, packed, pointing

NAN, SENTINEL, BYTEMASK = 1, 2, 4  # null kinds of the interchange protocol
LONG = b"more than twelve bytes"


class Kind(NamedTuple):
    """A column's type, its elements, and the bytes of its parts.

    Attributes
    ----------
    says : str
        The protocols that can say it as it lies: "arrow", "dlpack", "cuda" (its array interface), "interchange".
    copies : str
        Those that need a copy of some part. What stands in neither has no such type.
    """

    dtype: Any
    values: list[Any]
    parts: dict[str, bytes]
    says: str = "arrow"
    copies: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012 - of a named tuple, never changed
    variadic: tuple[bytes, ...] = ()
    children: "tuple[Kind, ...]" = ()
    dictionary: "Kind | None" = None


ALL = "arrow dlpack cuda interchange"
MASKED = "arrow interchange"
NUMBER = Kind("l", [3, -1, 7], {"data": i64(3, -1, 7)}, ALL)
WORDS = Kind("u", ["", "ab", "c"], {"offsets": i32(0, 0, 2, 3), "data": b"abc"}, "arrow interchange")
TIME = np.datetime64("2024-02-29T12:00:00.000001", "us")

KINDS: dict[str, Kind] = {
    "int64": NUMBER,
    "int8 behind others": Kind("c", [3, 4, 5], {"data": i8(1, 2, 3, 4, 5)}, ALL, options={"offset": 2}),
    "every other int64": Kind(
        "l", [3, -1, 7], {"data": i64(3, 0, -1, 0, 7)}, "dlpack cuda", "arrow interchange", {"strides": (16,)}
    ),
    "int64 backwards": Kind(
        "l",
        [7, -1, 3],
        {"data": i64(3, -1, 7)},
        "dlpack cuda",
        "arrow interchange",
        {"strides": (-8,), "byte_offset": 16},
    ),
    "unaligned int32": Kind(
        "i", [3, -1], {"data": b"?" + i32(3, -1)}, "arrow dlpack cuda interchange", options={"byte_offset": 1}
    ),
    "int32 in foreign order": Kind(
        (0, 32, "i", ">"), [3, -1], {"data": struct.pack(">2i", 3, -1)}, "cuda", "arrow dlpack interchange"
    ),
    "float64 with NaN": Kind(
        "g",
        [0.5, None, 2.5],
        {"data": packed("d", 0.5, float("nan"), 2.5)},
        "dlpack cuda interchange",
        "arrow",
        {"null": (NAN, None)},
    ),
    "int16 with a sentinel": Kind(
        "s", [1, None, 3], {"data": packed("h", 1, -1, 3)}, "interchange", "arrow", {"null": (SENTINEL, -1)}
    ),
    "uint8 with a mask of bits": Kind("C", [1, None, 3], {"data": b"\1\2\3", "validity": b"\5"}, MASKED),
    "a mask of 9 bits behind 7": Kind(
        "C",
        [8, None, 10, 11, 12, 13, 14, 15, 16],
        {"data": bytes(range(1, 17)), "validity": bytes([0x80, 0xFE])},
        MASKED,
        options={"offset": 7},
    ),
    "uint8 with a mask of bytes": Kind(
        "C",
        [1, None, 3],
        {"data": b"\1\2\3", "validity": b"\1\0\1"},
        "cuda interchange",
        "arrow",
        {"null": (BYTEMASK, 0)},
    ),
    "uint8 with what is missing": Kind(
        "C", [1, None, 3], {"data": b"\1\2\3", "validity": b"\0\1\0"}, "interchange", "arrow", {"null": (BYTEMASK, 1)}
    ),
    "bits": Kind("b", [True, False, True], {"data": b"\5"}, "arrow interchange", "dlpack"),
    "9 bits behind 7": Kind(
        "b", [True, *[False] * 7, True], {"data": b"\x80\x80"}, "arrow interchange", "dlpack", {"offset": 7}
    ),
    "bools": Kind((20, 8, "b", "="), [True, False], {"data": b"\1\0"}, "dlpack cuda interchange", "arrow"),
    "complex128": Kind((104, 128, "", "="), [1 + 2j], {"data": packed("d", 1, 2)}, "dlpack cuda"),
    "text": WORDS,
    "large text": Kind("U", ["ab", "c"], {"offsets": i64(0, 2, 3), "data": b"abc"}, "arrow interchange"),
    "text with a mask": Kind(
        "u", ["ab", None], {"offsets": i32(0, 2, 2), "data": b"ab", "validity": b"\1"}, "arrow interchange"
    ),
    "binary": Kind("z", [b"\xff", b""], {"offsets": i32(0, 1, 1), "data": b"\xff"}),
    "views": Kind(
        "vu",
        ["short", LONG.decode()],
        {"data": inline(b"short") + pointing(len(LONG), 0, 0)},
        copies="interchange",
        variadic=(LONG,),
    ),
    "categories": Kind("c", ["ab", "c", ""], {"data": i8(1, 2, 0)}, "arrow interchange", dictionary=WORDS),
    "list": Kind("+l", [[3], [-1, 7]], {"offsets": i32(0, 1, 3)}, children=(NUMBER,)),
    "view of a list": Kind("+vl", [[7], [3, -1]], {"offsets": i32(2, 0), "sizes": i32(1, 2)}, children=(NUMBER,)),
    "list of two": Kind(
        "+w:2", [[1, 2], [3, 4]], {}, children=(Kind("l", [1, 2, 3, 4], {"data": i64(1, 2, 3, 4)}, ALL),)
    ),
    "struct": Kind(
        "+s",
        [{"n": 3, "s": ""}, None, {"n": 7, "s": "c"}],
        {"validity": b"\5"},
        children=(NUMBER._replace(options={"name": "n"}), WORDS._replace(options={"name": "s"})),
    ),
    "sparse union": Kind("+us:0,1", [3, "ab"], {"type_ids": b"\0\1"}, children=(NUMBER, WORDS)),
    "dense union": Kind(
        "+ud:0,1", ["c", 3], {"type_ids": b"\1\0", "offsets": i32(2, 0)}, children=(NUMBER, WORDS)
    ),
    "runs": Kind(
        "+r", [3, 3, -1, 7, 7], {}, children=(Kind("i", [2, 3, 5], {"data": i32(2, 3, 5)}, ALL), NUMBER)
    ),
    "times": Kind("tsu:", [TIME], {"data": i64(int(TIME.astype(np.int64)))}, "arrow interchange"),
    "times with NaT": Kind(
        "tsu:",
        [None, TIME],
        {"data": i64(NAT, int(TIME.astype(np.int64)))},
        "interchange",
        "arrow",
        {"null": (NAN, None)},
    ),
    "days": Kind("tdD", [np.datetime64("1970-01-03")], {"data": i32(2)}, "arrow interchange"),
    "days of 64 bits": Kind(
        (22, 64, "tdD", "="), [np.datetime64("1970-01-03")], {"data": i64(2)}, "", "arrow interchange"
    ),
    "decimals": Kind("d:5,2", [Decimal("1.25")], {"data": (125).to_bytes(16, "little")}),
    "three bytes each": Kind("w:3", [b"abc", b"def"], {"data": b"abcdef"}),
    "intervals": Kind("tiD", [(1, 2)], {"data": i32(1, 2)}),
}  # fmt: skip
"""Name -> what it is. The bytes are this machine's, but where they are said to be foreign: little-endian."""

Place = Callable[[bytes], Any]


def made(kind: Kind, place: Place) -> Column:
    """Return the column of a kind over parts that `place` makes buffers of."""
    options: dict[str, Any] = {name: place(content) for name, content in kind.parts.items()}
    if kind.dictionary is not None:
        options["dictionary"] = made(kind.dictionary, place)
    children = [made(child, place) for child in kind.children]
    variadic = [place(content) for content in kind.variadic]
    return Column(kind.dtype, len(kind.values), children=children, variadic=variadic, **options, **kind.options)


def alike(values: list[Any]) -> list[Any]:
    """Return values with times as NumPy's, whoever made them, so that they can be compared."""
    return [np.datetime64(value) if isinstance(value, dt.date) else value for value in values]
