"""Numbers without nulls: widths, offsets, byte order, format strings, addresses.

Specification: dtype tuple and `offset` of the column. The kind and the width decide, the format string is a hint.
"""

from collections.abc import Iterator

import numpy as np

from ..dtypes import Dtype, Kind, dtype
from ..producer import Buf, Col, Frame
from ._build import numbers, one
from ._case import Case

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


def cases() -> Iterator[Case]:
    """Yield the cases of this subject."""
    for type_, values in _EXTREMES.items():
        yield Case(
            f"extremes-{type_}",
            f"{type_}, its smallest and largest, at offset 1",
            one(numbers, values, type_, lead=1),
            {"a": values},
        )
    for lead in (1, 9, 64):
        yield Case(
            f"plain-offset-{lead}",
            f"int64 at offset {lead}, four rows",
            one(numbers, [3, 4, 5, 6], lead=lead),
            {"a": [3, 4, 5, 6]},
        )
    yield Case(
        "infinities-and-nan-are-values",
        "float64 that is not nullable: NaN and infinities are values",
        one(numbers, _ODD_FLOATS, "float64", lead=2),
        {"a": _ODD_FLOATS},
    )
    for type_, order, word in _ORDERS:
        values = _EXTREMES[type_]
        yield Case(
            f"{word}-endian-{type_}",
            f"{type_} stored and announced {word}-endian",
            one(numbers, values, type_, order=order, lead=1),
            {"a": values},
            may_refuse=True,
        )
    yield Case(
        "byte-order-not-applicable",
        "int8 with '|' for the byte order, as NumPy writes it",
        one(numbers, [1, -1], "int8", announced=dtype("int8", "|")),
        {"a": [1, -1]},
    )
    for type_, format_ in _NUMPY_FORMATS.items():
        kind, bits, *_ = dtype(type_)
        yield Case(
            f"numpy-format-{type_}",
            f"{type_} under the format string {format_!r}: kind and width decide",
            one(numbers, _EXTREMES[type_], type_, announced=Dtype(kind, bits, format_), lead=1),
            {"a": _EXTREMES[type_]},
        )
    yield Case(
        "plain-integers-for-enums",
        "kind, null kind and device as plain integers",
        one(numbers, [1, 2], announced=(0, 64, "l", "="), null=(0, None)),
        {"a": [1, 2]},
    )
    for type_ in ("int64", "float64"):
        yield Case(
            f"unaligned-{type_}",
            f"{type_} at an odd address",
            one(_unaligned, _EXTREMES[type_], type_),
            {"a": _EXTREMES[type_]},
        )
    yield Case(
        "long-column",
        "a thousand rows at offset 13",
        one(numbers, _LONG, lead=13),
        {"a": _LONG},
    )
    many = {type_: values for type_, values in _EXTREMES.items() if type_ != "float16"}
    yield Case(
        "many-columns",
        "many kinds of number in one frame",
        lambda: Frame({type_: numbers(values, type_, lead=1) for type_, values in many.items()}),
        many,
    )
    yield Case(
        "width-decided-by-size",
        "int64 announced, int32 on the buffer, and only 32 bits a row fit: read as 32, or refused",
        lambda: Frame({"a": Col(Buf(np.array([1, 2, 3], np.int32)), dtype("int64"), 3, data_dtype=dtype("int32"))}),
        {"a": [1, 2, 3]},
        may_refuse=True,
    )
    yield Case(
        "text-as-number",
        "kind INT under a format string of floats: the kind decides",
        one(numbers, [1, 2], announced=Dtype(Kind.INT, 64, "g")),
        {"a": [1, 2]},
        may_refuse=True,
    )
