"""Bools, one bit or one byte each.

Specification: both `(BOOL, 1)` and `(BOOL, 8)` are legal. Bits are counted from the buffer's first, least significant
first, so one value at bit 9 lies in the second byte.
"""

from collections.abc import Iterator

import numpy as np

from ..dtypes import Dtype, Kind, Null
from ..producer import Buf, Col, Frame
from ._build import bitmask, bools, bytemask, one
from ._case import Case

_BITS = [True, False, True, True, False, True, True, False, False, True, False]
_NULLS = [True, None, False, True, None, False, False, True, None, True, False]


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    for lead in (0, 1, 7, 8, 9):
        yield Case(
            f"packed-bool-offset-{lead}",
            f"bools of one bit at offset {lead}",
            one(bools, _BITS, packed=True, lead=lead),
            {"a": _BITS},
        )
    for lead in (0, 9):
        yield Case(
            f"byte-bool-offset-{lead}",
            f"bools of one byte at offset {lead}",
            one(bools, _BITS, packed=False, lead=lead),
            {"a": _BITS},
        )
    for packed, word in ((True, "packed"), (False, "byte")):
        for lead in (0, 9):
            yield Case(
                f"{word}-bool-bitmask-offset-{lead}",
                f"{word} bools and a bit mask at offset {lead}",
                one(bools, _NULLS, packed=packed, lead=lead, nulls=bitmask()),
                {"a": _NULLS},
            )
            yield Case(
                f"{word}-bool-bytemask-offset-{lead}",
                f"{word} bools and a byte mask at offset {lead}",
                one(bools, _NULLS, packed=packed, lead=lead, nulls=bytemask()),
                {"a": _NULLS},
            )
    for value in (True, False):
        yield Case(
            f"packed-bool-one-value-at-bit-9-{str(value).lower()}",
            "one packed bool at bit 9, in the second byte",
            one(bools, [value], packed=True, lead=9),
            {"a": [value]},
        )
    for size in (8, 65):
        bits = [i % 3 == 0 for i in range(size)]
        yield Case(
            f"packed-bool-{size}-rows",
            f"{size} packed bools at offset 5",
            one(bools, bits, packed=True, lead=5),
            {"a": bits},
        )
    yield Case(
        "packed-bool-byte-order-not-applicable",
        "packed bools with '|' for the byte order, as pandas writes them",
        lambda: Frame({"a": Col(Buf(np.array([0b101], np.uint8)), Dtype(Kind.BOOL, 1, "b", "|"), 3)}),
        {"a": [True, False, True]},
    )
    yield Case(
        "bool-of-16-bits",
        "a bool of 16 bits: no such type",
        lambda: Frame({"a": Col(Buf(np.array([1, 0], np.uint16)), Dtype(Kind.BOOL, 16, "b"), 2)}),
        None,
        errors=("ProducerError",),
    )
    yield Case(
        "bool-of-sentinel-2",
        "bools of one byte with 2 for missing",
        lambda: Frame(
            {"a": Col(Buf(bytes([1, 2, 0])), Dtype(Kind.BOOL, 8, "b"), 3, null=(Null.USE_SENTINEL, 2), null_count=1)}
        ),
        {"a": [True, None, False]},
        may_refuse=True,
    )
