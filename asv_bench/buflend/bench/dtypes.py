"""The types of the dataframe interchange protocol, as a producer writes them.

Source: data-apis/dataframe-api, `protocol/dataframe_protocol.py`, and the format strings of the Arrow C data interface.
"""

from enum import IntEnum
from typing import Any, NamedTuple


class Kind(IntEnum):
    """Kinds of column, dataframe interchange protocol, `DtypeKind`."""

    INT = 0
    UINT = 1
    FLOAT = 2
    BOOL = 20
    STRING = 21
    DATETIME = 22
    CATEGORICAL = 23


class Null(IntEnum):
    """Ways to mark what is missing, dataframe interchange protocol, `ColumnNullType`."""

    NON_NULLABLE = 0
    USE_NAN = 1
    USE_SENTINEL = 2
    USE_BITMASK = 3
    USE_BYTEMASK = 4


class Dtype(NamedTuple):
    """The protocol's type: kind, width in bits, Arrow format string, byte order."""

    kind: Any
    bits: Any
    format: Any
    endianness: Any = "="


_EXPORTS: dict[str, tuple[Kind, int, str]] = {
    "int8": (Kind.INT, 8, "c"),
    "int16": (Kind.INT, 16, "s"),
    "int32": (Kind.INT, 32, "i"),
    "int64": (Kind.INT, 64, "l"),
    "uint8": (Kind.UINT, 8, "C"),
    "uint16": (Kind.UINT, 16, "S"),
    "uint32": (Kind.UINT, 32, "I"),
    "uint64": (Kind.UINT, 64, "L"),
    "float16": (Kind.FLOAT, 16, "e"),
    "float32": (Kind.FLOAT, 32, "f"),
    "float64": (Kind.FLOAT, 64, "g"),
    "bool": (Kind.BOOL, 8, "b"),
    "bits": (Kind.BOOL, 1, "b"),
    "string": (Kind.STRING, 8, "u"),
    "large_string": (Kind.STRING, 8, "U"),
}


def dtype(name: str, endianness: str = "=") -> Dtype:
    """Give the protocol's type for a short name, `"int64"`, `"bits"` or `"large_string"` say."""
    return Dtype(*_EXPORTS[name], endianness)
