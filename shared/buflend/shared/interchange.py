"""Facts of the dataframe interchange protocol, as tables.

Lives here: numbers and names that the protocol fixes, and kinds beyond it. Must not know: how anything is read. Source:
data-apis/dataframe-api, `protocol/dataframe_protocol.py` (version 0); format strings: Apache Arrow, C data interface,
"Data type description -- format strings".
"""

from enum import IntEnum


class DtypeKind(IntEnum):
    """Kinds of column. Compared by number: every library has an enum of its own.

    Up to 23 they are the protocol's `DtypeKind`. From 100 on they are ours, for what the protocol has no kind for.
    """

    INT = 0
    UINT = 1
    FLOAT = 2
    BOOL = 20
    STRING = 21
    DATETIME = 22
    CATEGORICAL = 23
    NULL = 100
    BINARY = 101
    DECIMAL = 102
    INTERVAL = 103
    COMPLEX = 104
    OPAQUE = 105
    LIST = 110
    STRUCT = 111
    MAP = 112
    UNION = 113
    RUN_END = 114


class NullKind(IntEnum):
    """Ways to mark what is missing (`ColumnNullType` of the protocol)."""

    NON_NULLABLE = 0
    USE_NAN = 1
    USE_SENTINEL = 2
    USE_BITMASK = 3
    USE_BYTEMASK = 4


# (kind, bits) -> NumPy's type character with its size in bytes, to stand behind a byte order.
NUMBERS: dict[tuple[int, int], str] = {
    (DtypeKind.INT, 8): "i1",
    (DtypeKind.INT, 16): "i2",
    (DtypeKind.INT, 32): "i4",
    (DtypeKind.INT, 64): "i8",
    (DtypeKind.UINT, 8): "u1",
    (DtypeKind.UINT, 16): "u2",
    (DtypeKind.UINT, 32): "u4",
    (DtypeKind.UINT, 64): "u8",
    (DtypeKind.FLOAT, 16): "f2",
    (DtypeKind.FLOAT, 32): "f4",
    (DtypeKind.FLOAT, 64): "f8",
}

# Arrow format string, without the zone of a time stamp -> bits of the stored integer, NumPy's type.
# NumPy stores every time in 64 bits: the 32-bit ones must be widened, which is a copy.
TIMES = {
    "tdD": (32, "M8[D]"),
    "tdm": (64, "M8[ms]"),
    "tts": (32, "m8[s]"),
    "ttm": (32, "m8[ms]"),
    "ttu": (64, "m8[us]"),
    "ttn": (64, "m8[ns]"),
    "tss": (64, "M8[s]"),
    "tsm": (64, "M8[ms]"),
    "tsu": (64, "M8[us]"),
    "tsn": (64, "M8[ns]"),
    "tDs": (64, "m8[s]"),
    "tDm": (64, "m8[ms]"),
    "tDu": (64, "m8[us]"),
    "tDn": (64, "m8[ns]"),
}

# Arrow format strings of the indices of a dictionary: whether they are signed, where the kind does not say so.
INDEX_KINDS = {
    "c": DtypeKind.INT,
    "s": DtypeKind.INT,
    "i": DtypeKind.INT,
    "l": DtypeKind.INT,
    "C": DtypeKind.UINT,
    "S": DtypeKind.UINT,
    "I": DtypeKind.UINT,
    "L": DtypeKind.UINT,
}

# Endianness of the protocol -> NumPy's byte order. '|' is for types of one byte, pandas says it of bools.
BYTE_ORDERS = {"=": "=", "|": "=", "<": "<", ">": ">"}

# (null kind, kind and bits that the mask's own tuple announces) -> whether that can be meant. A byte mask announced as
# bits, or bits announced as a byte mask, is a contradiction; unsigned bytes are what cudf announced for either.
MASKS: dict[tuple[int, tuple[int, int]], bool] = {
    (NullKind.USE_BITMASK, (DtypeKind.BOOL, 1)): True,
    (NullKind.USE_BITMASK, (DtypeKind.UINT, 8)): True,
    (NullKind.USE_BITMASK, (DtypeKind.BOOL, 8)): False,
    (NullKind.USE_BYTEMASK, (DtypeKind.BOOL, 8)): True,
    (NullKind.USE_BYTEMASK, (DtypeKind.UINT, 8)): True,
    (NullKind.USE_BYTEMASK, (DtypeKind.BOOL, 1)): False,
}

# What NaT is in storage; also what USE_NAN means on a DATETIME column.
NAT = -(2**63)
