"""The dataframe interchange protocol: frames, chunks, columns, and the buffers of each kind and null kind.

Lives here: the producers, as the protocol has them, and who reads them. Source: data-apis/dataframe-api,
`protocol/dataframe_protocol.py` (version 0).
"""

import struct
from typing import Any

import numpy as np

from buflend import maximal, minimal

from .case import UNTOLD, Base, Protocol
from .pointers import described
from .tree import Fixed, Lookup, Method, Thing, text

ORDER = text("order", "=")


def dtype(kind: int, bits: int, name: str) -> tuple[Any, ...]:
    """Return a type of the protocol."""
    return kind, bits, text("format", name), ORDER


def packed(code: str, *values: Any) -> bytes:
    """Return numbers as they lie in memory."""
    return struct.pack(f"={len(values)}{code}", *values)


INT64, UINT8, FLOAT = dtype(0, 64, "l"), dtype(1, 8, "C"), dtype(2, 64, "g")
BITS, BYTES, OFFSETS = dtype(20, 1, "b"), dtype(20, 8, "b"), dtype(0, 32, "i")
TEXT, STAMP, DAY = dtype(21, 8, "u"), dtype(22, 64, "tsu:UTC"), dtype(22, 32, "tts")


def part(content: bytes, type_: tuple[Any, ...], **more: Any) -> tuple[Any, ...]:
    """Return a buffer and its type."""
    return described(content, **more), type_


def column(
    type_: tuple[Any, ...],
    size: int,
    data: bytes,
    null: Any = (0, None),
    *,
    offset: int = 0,
    null_count: Any = 0,
    data_type: Any = None,
    mask: Any = None,
    offsets: Any = None,
    **more: Any,
) -> Thing:
    """Return a column in one chunk."""
    buffers = {"data": part(data, data_type or type_), "validity": mask, "offsets": offsets}
    return Thing(
        {
            "size": Method(size),
            "offset": offset,
            "dtype": type_,
            "describe_null": null,
            "null_count": null_count,
            "num_chunks": Method(1),
            "get_chunks": Method(Fixed(())),
            "get_buffers": Method(buffers),
            **more,
        }
    )


def _times(*values: int) -> list[Any]:
    return [np.datetime64(value, "us") for value in values]


LETTERS = column(TEXT, 2, b"abc", offsets=part(packed("i", 0, 1, 3), OFFSETS))
CODES = dtype(23, 8, "c")


def categorical(categories: Thing = LETTERS, **more: Any) -> Thing:
    """Return a column of the codes 1, 0, 1."""
    described_ = {"is_ordered": False, "is_dictionary": True, "categories": categories}
    return column(CODES, 3, b"\1\0\1", data_type=dtype(0, 8, "c"), describe_categorical=described_, **more)


# Name -> a column, and its values.
COLUMNS: dict[str, tuple[Thing, list[Any]]] = {
    "numbers": (column(INT64, 3, packed("q", 1, -2, 3)), [1, -2, 3]),
    "behind an offset": (column(UINT8, 2, b"\x09\x01\x02", offset=1), [1, 2]),
    "bits": (column(BITS, 9, b"\x05\x01"), [True, False, True, *[False] * 5, True]),
    "booleans": (column(BYTES, 2, b"\1\0"), [True, False]),
    "floats with NaN": (column(FLOAT, 2, packed("d", float("nan"), 2.0), (1, None), null_count=1), [None, 2.0]),
    "a sentinel": (column(INT64, 2, packed("q", -1, 5), (2, -1), null_count=1), [None, 5]),
    "a mask of bits": (
        column(UINT8, 3, b"\1\2\3", (3, 0), mask=part(b"\x05", BITS), null_count=1),
        [1, None, 3],
    ),
    "a mask of bits behind 7": (
        column(UINT8, 2, bytes(9), (3, 0), offset=7, mask=part(b"\x80\x00", BITS), null_count=1),
        [0, None],
    ),
    "a mask of bytes": (
        column(UINT8, 3, b"\1\2\3", (4, 1), mask=part(b"\0\1\0", BYTES), null_count=1),
        [1, None, 3],
    ),
    "text": (LETTERS, ["a", "bc"]),
    "text with a mask": (
        column(
            TEXT,
            2,
            b"\xffbc",
            (3, 0),
            mask=part(b"\2", BITS),
            null_count=1,
            offsets=part(packed("i", 0, 1, 3), OFFSETS),
        ),
        [None, "bc"],
    ),
    "large text": (
        column(dtype(21, 8, "U"), 2, "é".encode(), offsets=part(packed("q", 0, 2, 2), INT64)),
        ["é", ""],
    ),
    "text with a sentinel": (
        column(TEXT, 2, b"NAx", (2, "NA"), null_count=1, offsets=part(packed("i", 0, 2, 3), OFFSETS)),
        [None, "x"],
    ),
    "times": (column(STAMP, 2, packed("q", 5, 6)), _times(5, 6)),
    "times of day": (
        column(DAY, 2, packed("i", 5, 6)),
        [np.timedelta64(5, "s"), np.timedelta64(6, "s")],
    ),
    "categories": (categorical(), ["bc", "a", "bc"]),
    "categories of numbers": (categorical(column(INT64, 2, packed("q", 4, 5))), [5, 4, 5]),
    "nothing": (column(INT64, 0, b""), []),
    "on a device": (
        column(INT64, 3, b"")._replace(
            members={
                **column(INT64, 3, b"").members,
                "get_buffers": Method(
                    {
                        "data": part(
                            b"", INT64, ptr=Fixed(1 << 40), bufsize=Fixed(64), __dlpack_device__=Method((2, 0))
                        ),
                        "validity": None,
                        "offsets": None,
                    }
                ),
            }
        ),
        UNTOLD,
    ),
}


def _chunked(*chunks: Thing, size: int) -> Thing:
    members = {
        **chunks[0].members,
        "size": Method(size),
        "num_chunks": Method(len(chunks)),
        "get_chunks": Method(chunks),
    }
    return Thing({**members, "get_buffers": Method(None)})


CHUNKS = {
    "chunks of numbers": (_chunked(COLUMNS["numbers"][0], COLUMNS["numbers"][0], size=6), [1, -2, 3] * 2),
    "chunks of text": (_chunked(LETTERS, COLUMNS["text with a mask"][0], size=4), ["a", "bc", None, "bc"]),
    "chunks of categories": (
        _chunked(categorical(), categorical(COLUMNS["text with a mask"][0]), size=6),
        ["bc", "a", "bc", "bc", None, "bc"],
    ),
}


def _column_base(tree: Thing, values: Any) -> Base:
    return Base(tree, column=values)


NESTED: dict[str, tuple[Thing, Any]] = {
    "categories of categories": (categorical(categorical()), None),
    "chunks of chunks": (_chunked(CHUNKS["chunks of numbers"][0], COLUMNS["numbers"][0], size=9), None),
    "categories in chunks": (categorical(CHUNKS["chunks of text"][0]), UNTOLD),
}

COLUMN = Protocol(
    {name: _column_base(*one) for name, one in {**COLUMNS, **CHUNKS, **NESTED}.items()},
    {
        "minimal.column_to_ndarray": (minimal.column_to_ndarray, "column"),
        "minimal.column_to_ndarray, no copy": (lambda one: minimal.column_to_ndarray(one, allow_copy=False), "strict"),
        "maximal.as_column": (maximal.as_column, "column"),
        "maximal.column_to_ndarray": (maximal.column_to_ndarray, "column"),
    },
)


def frame(columns: dict[str, Thing], rows: int, **more: Any) -> Thing:
    """Return an object that offers a frame of columns."""
    inner = {
        "num_rows": Method(rows),
        "column_names": Method([text("name", name) for name in columns]),
        "get_column_by_name": Lookup(dict(columns)),
        "get_chunks": Method([]),
        **more,
    }
    return Thing({"__dataframe__": Method(Thing(inner))})


def _frame_of_chunks(columns: dict[str, Thing], rows: int, count: int) -> Thing:
    chunk = frame(columns, rows).members["__dataframe__"].answer
    return frame(columns, rows * count, get_chunks=Method([chunk] * count))


_TWO = {"n": COLUMNS["numbers"][0], "s": column(TEXT, 3, b"abc", offsets=part(packed("i", 0, 1, 1, 3), OFFSETS))}

FRAME = Protocol(
    {
        "two columns": Base(frame(_TWO, 3), table={"n": [1, -2, 3], "s": ["a", "", "bc"]}),
        "two chunks": Base(_frame_of_chunks(_TWO, 3, 2), table={"n": [1, -2, 3] * 2, "s": ["a", "", "bc"] * 2}),
        "no columns": Base(frame({}, 0), table={}),
        "a column in chunks": Base(frame({"n": CHUNKS["chunks of numbers"][0]}, 6), table={"n": [1, -2, 3] * 2}),
        "categories": Base(frame({"c": categorical()}, 3), table={"c": ["bc", "a", "bc"]}),
        "rows unknown": Base(frame({"n": _TWO["n"]}, 3, num_rows=Method(None)), table={"n": [1, -2, 3]}),
        "no frame": Base(Thing({"num_rows": Method(1)})),
    },
    {
        "minimal.dataframe_to_ndarrays": (minimal.dataframe_to_ndarrays, "table"),
        "minimal.dataframe_to_ndarrays, no copy": (
            lambda df: minimal.dataframe_to_ndarrays(df, allow_copy=False),
            "strict",
        ),
        "maximal.as_table": (maximal.as_table, "table"),
        "maximal.dataframe_to_ndarrays": (maximal.dataframe_to_ndarrays, "table"),
    },
)
