"""What a person passes to `Column` and `Table`: what is meant where nothing is said; errors name the argument."""

from itertools import repeat
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, NullKind, Table, as_buffer, as_column, as_table, column_to_ndarray
from buflend.shared import CopyRequiredError

FOUR = as_buffer(np.arange(4))
BITS = as_buffer(bytes([0b0101]))
ENDS = as_buffer(np.array([0, 1, 3], "i4"))
TEXT = {"data": as_buffer(b"abc"), "offsets": ENDS}
CODES = as_column(np.array([1.5, 2.5]))
CHUNKED = Column._make(CODES._type, (CODES._piece, CODES._piece))


class Pretender:
    """Says that it is an integer."""

    __class__ = int  # type: ignore[assignment]


class Sequence:
    """Says that it is a tuple."""

    __class__ = tuple  # type: ignore[assignment]


def test_a_mask_is_a_bit_mask_where_nothing_else_is_said() -> None:
    column = Column("l", 4, data=FOUR, validity=BITS)
    assert column.describe_null == (NullKind.USE_BITMASK, 0)
    assert column.tolist() == [0, None, 2, None]
    assert Column("l", 4, data=FOUR, validity=BITS, null=(0, None)).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("kind", "arguments", "named"),
    [
        (TypeError, {"size": 4.0}, "size: got 4.0, expected an integer"),
        (TypeError, {"size": True}, "size"),
        (TypeError, {"size": "4"}, "size"),
        (ValueError, {"size": -1}, "size"),
        (ValueError, {"size": 2**70}, "size"),
        (ValueError, {"offset": -1}, "offset"),
        (ValueError, {"offset": 2**63}, "offset"),
        (TypeError, {"data": b"abcd"}, "data: got bytes, expected a Buffer; as_buffer"),
        (TypeError, {"data": np.arange(4)}, "data: got ndarray"),
        (ValueError, {"data": None}, "data: missing, 32 bytes"),
        (ValueError, {"offsets": ENDS}, "offsets: a column of type 'l' has no such buffer"),
        (TypeError, {"null": 3}, "null: got 3, expected a pair"),
        (TypeError, {"null": ()}, "null"),
        (ValueError, {"null": (9, 0)}, "9"),
        (ValueError, {"null": (3, None), "validity": BITS}, "null"),
        (ValueError, {"null": (4, 2), "validity": BITS}, "null"),
        (ValueError, {"null": (1, None)}, "floats or times"),
        (ValueError, {"null": (2, "x")}, "a value of the column's type"),
        (ValueError, {"null": (3, 0)}, "validity: missing"),
        (ValueError, {"null_count": 9, "validity": BITS}, "null_count: got 9, expected 0 to 4"),
        (ValueError, {"null_count": -7, "validity": BITS}, "null_count"),
        (TypeError, {"strides": 8}, "strides"),
        (TypeError, {"strides": ()}, "strides"),
        (TypeError, {"strides": (8, 8)}, "strides"),
        (TypeError, {"dtype": "b", "data": BITS, "strides": (1,)}, "strides"),
        (TypeError, {"name": 3}, "name: got 3, expected text"),
        (TypeError, {"name": None}, "name"),
        (TypeError, {"metadata": {"a": 1}}, "metadata"),
        (TypeError, {"metadata": ["a"]}, "metadata"),
        (TypeError, {"metadata": 0}, "metadata"),
        (TypeError, {"children": [np.arange(2)]}, "children"),
        (TypeError, {"children": 3}, "children"),
        (TypeError, {"dictionary": ["a"]}, "dictionary"),
        (TypeError, {"variadic": [b"abc"]}, "variadic"),
        (ValueError, {"dtype": "int64"}, "such as 'l' for int64"),
        (TypeError, {"dtype": 5}, "dtype"),
        (TypeError, {"dtype": np.dtype("i8")}, "dtype"),
        (ValueError, {"dtype": (2, 64, "l", "=")}, "expected kind 0 and 64 bits"),
        (ValueError, {"dtype": (0, 32, "l", "=")}, "64 bits"),
        (ValueError, {"dtype": (0, 64, "l", "!")}, "dtype\\[3\\]"),
        (ValueError, {"dtype": (999, 64, "l", "=")}, "999"),
        (ValueError, {"dtype": (0, -8, "l", "=")}, "dtype\\[1\\]"),
        (ValueError, {"dtype": (0, 64, "", "=")}, "expected a format"),
        (ValueError, {"dtype": "g", "dictionary": CODES}, "dictionary|codes"),
        (ValueError, {"dtype": "u", "size": 2, **TEXT, "dictionary": CODES}, "dictionary|codes"),
        (ValueError, {"dtype": "vu", "size": 2, "null": (2, "b")}, "null"),
        (ValueError, {"dtype": "u", "size": 2, "data": as_buffer(b"ab"), "offsets": ENDS}, "offsets: the last is 3"),
        (ValueError, {"dtype": "+l", "data": None, "size": 2, "offsets": ENDS, "children": [CODES]}, "the last is 3"),
        (
            ValueError,
            {"dtype": "+w:5", "data": None, "size": 1, "children": [CODES]},
            "children: got 2 items, expected 5",
        ),
        (
            ValueError,
            {"dtype": "+r", "data": None, "size": 3, "children": [as_column(np.array([1, 2], "i4")), CODES]},
            "runs end",
        ),
        (
            ValueError,
            {"dtype": "+us:0", "data": None, "size": 2, "type_ids": BITS, "children": [CODES], "validity": BITS},
            "null",
        ),
        (ValueError, {"dtype": "+s", "data": None, "size": 1, "offset": 2, "children": [CODES]}, "expected 3 or more"),
        (
            ValueError,
            {"dtype": "+us:0", "data": None, "size": 1, "offset": 2, "type_ids": FOUR, "children": [CODES]},
            "expected 3 or more",
        ),
        (
            ValueError,
            {"dtype": "+l", "data": None, "size": 2, "offsets": ENDS, "children": [CHUNKED]},
            "expected columns in one piece",
        ),
        (ValueError, {"offset": 2**63 - 4}, f"offset: got {2**63 - 4}, expected 0 to {2**63 - 5}"),
        (ValueError, {"null": (2, Pretender())}, "a value of the column's type"),
        (ValueError, {"children": repeat(CODES, 2**20 + 1)}, "children: got more, expected at most 1048576 Columns"),
        (ValueError, {"variadic": repeat(FOUR)}, "variadic: got more, expected at most 1048576 Buffers"),
        (TypeError, {"children": Sequence()}, "children: got"),
        (TypeError, {"strides": Sequence()}, "strides: got"),
        (TypeError, {"strides": (8, 8)}, "strides: got"),
        (TypeError, {"strides": repeat(8)}, "strides: got"),
    ],
)
def test_arguments_that_cannot_be_meant_are_named(kind: type[Exception], arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(kind, match=named):
        Column(**{"dtype": "l", "size": 4, "data": FOUR, **arguments})


@pytest.mark.parametrize("place", [(2, 1), (13, 0), (1, 0)])
def test_parts_that_lie_apart_are_refused(place: tuple[int, int]) -> None:
    data = Buffer(0x1000, 32, owner=object(), device=(2, 0))
    with pytest.raises(ValueError, match="the parts lie apart"):
        Column("l", 4, data=data, validity=Buffer(0x2000, 1, owner=object(), device=place))
    beside = Buffer(0x2000, 1, owner=object(), device=(2, 0))
    assert Column("l", 4, data=data, validity=beside).device == (2, 0)


def test_integers_of_any_library_are_taken() -> None:
    column = Column("l", np.int64(2), data=FOUR, offset=np.uint8(1), strides=[np.int16(8)])  # type: ignore[arg-type]
    assert column.tolist() == [1, 2]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("sentinel", [0, 1, 255])
def test_sentinels_of_booleans(sentinel: int, *, packed: bool) -> None:
    dtype, data = ((20, 1, "b", "="), b"\x05") if packed else ((20, 8, "b", "="), bytes([1, 0, 255]))
    stored = [1, 0, 1] if packed else [1, 0, 255]
    column = Column(dtype, 3, data=as_buffer(data), null=(2, sentinel))
    wanted = [None if value == sentinel else bool(value) for value in stored]
    assert column.tolist() == wanted
    assert column.null_count == wanted.count(None)
    assert column_to_ndarray(column).tolist() == wanted


def test_what_is_iterated_over() -> None:
    table = as_table({"a": np.arange(2), "b": np.array(["x", "y"])})
    assert list(table) == table.keys() == ["a", "b"]
    assert "a" in table
    assert 0 not in table
    assert dict(table)["b"].tolist() == list(table["b"]) == ["x", "y"]  # type: ignore[call-overload]


@pytest.mark.parametrize("wrong", [[("a", 1)], None, "ab", np.arange(3)])
def test_a_table_is_made_of_a_mapping(wrong: Any) -> None:
    with pytest.raises(TypeError, match="expected a mapping of names to Columns"):
        Table(wrong)


def test_errors_of_a_mapping_name_the_column() -> None:
    with pytest.raises(TypeError, match=r"column 'a': cannot read a builtins\.list"):
        as_table({"a": [1, 2]})
    with pytest.raises(TypeError, match="column 'm': a column has one dimension"):
        as_table(np.zeros(2, [("ok", "i4"), ("m", "f4", (2,))]))
    with pytest.raises(CopyRequiredError, match="column 'x'"):
        as_table({"x": np.array(["a"])}, allow_copy=False)


def test_a_struct_of_ours_is_a_table_as_it_lies() -> None:
    rows = np.zeros(2, [("a", ">i4"), ("z", "c16")])
    table = as_table(as_column(rows))
    assert table.column_names() == ["a", "z"]
    assert table["a"].dtype.order == ">"
    assert np.shares_memory(np.asarray(table["z"]), rows)


def test_zones() -> None:
    zoned = Column("tsu:Europe/Prague", 4, data=FOUR)
    assert (zoned.timezone, Column("tsu:", 4, data=FOUR).timezone, Column("l", 4, data=FOUR).timezone) == (
        "Europe/Prague",
        None,
        None,
    )
