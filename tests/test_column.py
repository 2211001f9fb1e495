"""The column as a record: what it is made of, what is refused, and how it is cut."""

import array
import gc
import weakref

import numpy as np
import pytest

from buflend.maximal import Buffer, Column, as_buffer, as_column
from buflend.maximal.piece import align

INTS = as_buffer(array.array("i", [10, 20, 30, 40, 50]))
BITS = as_buffer(bytes([0b10110101]))  # elements 0, 2, 4, 5, 7 are there
MASK = (3, 0)
NINETEEN = as_buffer(bytes(19))


def test_a_column_says_what_it_was_made_of() -> None:
    column = Column("i", 3, data=INTS, validity=BITS, null=MASK, offset=1, name="n", metadata={"unit": "m"})
    assert column.dtype == (0, 32, "i", "=")
    assert (column.size(), len(column), column.offset, column.strides) == (3, 3, 1, (4,))
    assert column.describe_null == (3, 0)
    assert (column.null_count, column.validity_offset) == (2, 1)
    assert column.buffers == {"data": INTS, "validity": BITS}
    assert (column.data, column.validity) == (INTS, BITS)
    assert (column.offsets, column.sizes, column.type_ids) == (None, None, None)
    assert (column.name, column.metadata, column.nullable, column.ordered) == ("n", {"unit": "m"}, True, False)
    assert (column.num_chunks(), column.chunks, column.children, column.dictionary) == (1, (column,), (), None)
    assert column.device == (1, 0)
    assert column.__dlpack_device__() == (1, 0)
    assert column.tolist() == [None, 30, None]


def test_strides_and_byte_order() -> None:
    memory = np.arange(6, dtype=">i2")
    column = Column((0, 16, "s", ">"), 3, data=as_buffer(memory), byte_offset=10, strides=(-4,))
    assert (column.tolist(), column.strides, column.byte_offset) == ([5, 3, 1], (-4,), 10)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"dtype": "i", "size": 6, "data": INTS}, "data"),
        ({"dtype": "i", "size": 5, "data": INTS, "offset": 1}, "data"),
        ({"dtype": "i", "size": 5}, "data"),
        ({"dtype": "i", "size": 5, "data": INTS, "strides": (-4,)}, "data"),
        ({"dtype": "i", "size": 5, "data": INTS, "byte_offset": 1}, "data"),
        ({"dtype": "i", "size": -1, "data": INTS}, "size"),
        ({"dtype": "i", "size": 1, "data": INTS, "offset": -1}, "offset"),
        ({"dtype": "i", "size": 3, "data": INTS, "null": MASK}, "validity"),
        ({"dtype": "i", "size": 3, "data": INTS, "validity": BITS, "null": MASK, "validity_offset": 6}, "validity"),
        ({"dtype": "i", "size": 3, "data": INTS, "validity": BITS, "null": (4, 0)}, "validity"),
        ({"dtype": "b", "size": 9, "data": BITS}, "data"),
        ({"dtype": "u", "size": 5, "data": BITS, "offsets": INTS}, "offsets"),
        ({"dtype": "+vl", "size": 5, "offsets": INTS, "sizes": BITS, "children": [as_column(np.arange(3))]}, "sizes"),
        ({"dtype": "+us:0", "size": 2, "children": [as_column(np.arange(3))]}, "type_ids"),
        ({"dtype": "w:3", "size": 7, "data": INTS}, "data"),
        ({"dtype": "+l", "size": 1, "offsets": INTS}, "children"),
        ({"dtype": "tsu", "size": 0}, "format"),
        (
            {"dtype": "+vl", "size": 5, "offsets": INTS, "sizes": NINETEEN, "children": [as_column(np.arange(3))]},
            "sizes",
        ),
    ],
)
def test_buffers_that_cannot_hold_the_elements_are_refused(arguments: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Column(**arguments)


def test_nothing_needs_no_buffers() -> None:
    for text in ("i", "u", "b", "w:3", "vu", "n"):
        assert Column(text, 0).tolist() == []


def test_each_buffer_has_its_own_owner() -> None:
    class Memory(array.array):
        pass

    data, offsets = Memory("B", b"abc"), Memory("i", [0, 1, 3])
    column = Column("u", 2, data=as_buffer(data), offsets=as_buffer(offsets))
    assert column.tolist() == ["a", "bc"]
    watched = weakref.ref(data), weakref.ref(offsets)
    del data, offsets
    kept = column.offsets
    del column
    gc.collect()
    assert watched[0]() is None
    assert watched[1]() is not None
    del kept
    gc.collect()
    assert watched[1]() is None


def test_cutting_copies_nothing_and_counts_anew() -> None:
    column = Column("i", 5, data=INTS, validity=BITS, null=MASK)
    cut = column[1:4][1:]
    assert (cut.offset, cut.validity_offset, cut.null_count, cut.tolist()) == (2, 2, 1, [30, None])
    assert cut.data is INTS
    assert column[5:].tolist() == column[3:3].tolist() == []
    assert column[-2:].tolist() == [None, 50]


def test_the_fields_of_what_was_cut_are_cut() -> None:
    rows = Column("+s", 3, children=[as_column(np.arange(10, 15))], offset=1)
    assert [child.tolist() for child in rows.children] == [[11, 12, 13]]
    assert [child.tolist() for child in rows[1:].children] == [[12, 13]]


@pytest.mark.parametrize("value", [0, 1])
def test_a_byte_of_a_mask_is_true_where_it_is_not_0(value: int) -> None:
    column = Column("i", 3, data=INTS, validity=as_buffer(bytes([0, 1, 2])), null=(4, value))
    assert column.tolist() == ([None, 20, 30] if value == 0 else [10, None, None])
    assert column.null_count == 1 + value


@pytest.mark.parametrize("key", [0, slice(None, None, 2), slice(None, None, -1), "a"])
def test_only_plain_slices_cut(key: object) -> None:
    with pytest.raises(TypeError, match="slice"):
        as_column(np.arange(3))[key]  # type: ignore[index]


def chunked(*parts: list[int]) -> Column:
    columns = [as_column(np.array(part, "i4")) for part in parts]
    return Column._make(columns[0]._type, tuple(column._piece for column in columns))


def test_chunks() -> None:
    column = chunked([1, 2], [], [3], [4, 5, 6])
    assert (column.num_chunks(), column.size(), column.tolist()) == (4, 6, [1, 2, 3, 4, 5, 6])
    assert [chunk.tolist() for chunk in column.chunks] == [[1, 2], [], [3], [4, 5, 6]]
    assert column[1:4].tolist() == [2, 3, 4]
    assert column[1:4].num_chunks() == 3
    with pytest.raises(ValueError, match="4 chunks"):
        column.data  # noqa: B018
    assert [hasattr(column, name) for name in ("__array_interface__", "__arrow_c_array__", "__arrow_c_stream__")] == [
        False,
        False,
        True,
    ]


def test_chunks_asked_for() -> None:
    column = chunked([1, 2], [3])
    assert [chunk.tolist() for chunk in column.get_chunks()] == [[1, 2], [3]]
    assert [chunk.tolist() for chunk in column.get_chunks(6)] == [[1], [2], [], [3], [], []]
    assert [chunk.tolist() for chunk in as_column(np.arange(0)).get_chunks(3)] == [[], [], []]
    for wrong in (1, 3, 0, -2):
        with pytest.raises(ValueError, match="multiple"):
            list(column.get_chunks(wrong))


@pytest.mark.parametrize(
    ("first", "second", "sizes"),
    [
        ([[1, 2, 3]], [[4], [5, 6]], [1, 2]),
        ([[1], [], [2, 3]], [[4, 5], [6]], [1, 1, 1]),
        ([[]], [[], []], [0]),
        ([[1, 2]], [[3, 4]], [2]),
        ([[], [1]], [[2], []], [1]),
    ],
)
def test_columns_cut_alike(first: list[list[int]], second: list[list[int]], sizes: list[int]) -> None:
    columns = chunked(*first), chunked(*second)
    chunks = align([column._pieces for column in columns])
    assert [tuple(piece.size for piece in chunk) for chunk in chunks] == [(size, size) for size in sizes]
    for i, column in enumerate(columns):
        joined = Column._make(column._type, tuple(chunk[i] for chunk in chunks))
        assert joined.tolist() == column.tolist()


def test_a_device_is_told_without_looking_at_memory() -> None:
    buffer = Buffer(0xDEAD0000, 4000, owner=object(), device=(2, 1))
    column = Column("i", 1000, data=buffer)
    assert (column.device, column.__dlpack_device__(), column.null_count) == ((2, 1), (2, 1), 0)
    names = ("__array__", "__array_interface__", "__arrow_c_array__", "__arrow_c_stream__", "__arrow_array__")
    assert not any(hasattr(column, name) for name in names)
    assert hasattr(column, "__cuda_array_interface__")
    assert hasattr(column, "__arrow_c_device_array__")
    masked = Column("i", 8, data=buffer, validity=buffer, null=MASK)
    assert masked.null_count is None
    assert "CUDA device 1" in repr(masked)
