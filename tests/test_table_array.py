"""A table as one array: a view where its columns lie evenly, a copy where they do not, an error where it would lie."""

import weakref
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, Table, as_column, as_table
from buflend.shared import DeviceError

BLOCK = np.arange(12, dtype="f8").reshape(3, 4)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("names", [["0", "1", "2", "3"], ["1", "3"], ["3", "2", "1"], ["2"]], ids=len)
def test_even_columns_are_one_array_as_they_lie(order: Any, names: list[str]) -> None:
    block = np.asarray(BLOCK, order=order).copy(order)
    table = as_table(block).select_columns_by_name(names)
    wanted = block[:, [int(name) for name in names]]
    for made in (np.asarray(table), np.from_dlpack(table), table.__array__(copy=False)):
        np.testing.assert_array_equal(made, wanted)
        assert np.shares_memory(made, block)
    assert table.__array_interface__["shape"] == (3, len(names))
    copied = np.array(table, copy=True)
    assert not np.shares_memory(copied, block)
    np.testing.assert_array_equal(copied, wanted)


def test_rows_that_were_cut_and_a_copy() -> None:
    block = BLOCK.copy()
    rows = as_table(block)[1:]
    for made in (np.asarray(rows), np.from_dlpack(rows)):
        np.testing.assert_array_equal(made, block[1:])
        assert np.shares_memory(made, block)
    assert rows.__array_interface__["data"][0] == block[1:].ctypes.data
    assert not np.shares_memory(rows.__array__(copy=True), block)


def test_where_elements_are_missing_columns_are_no_array_as_they_lie() -> None:
    block = np.arange(6).reshape(3, 2)
    lost = as_column(np.ma.MaskedArray(block[:, 0], [0, 1, 0]))
    table = Table({"a": lost, "b": as_column(block[:, 1])})
    assert not hasattr(table, "__array_interface__")
    assert np.asarray(table).tolist() == [[0, 1], [None, 3], [4, 5]]


@pytest.mark.parametrize(
    "make", [np.asarray, np.from_dlpack, lambda table: table.__array__()], ids=["asarray", "from_dlpack", "__array__"]
)
def test_the_array_alone_holds_the_owner_of_every_column(make: Any) -> None:
    class Memory(np.ndarray[Any, Any]):
        pass

    block = BLOCK.copy().view(Memory)
    alive = weakref.ref(block)
    made = make(as_table(block))
    del block
    assert alive() is not None
    np.testing.assert_array_equal(made, BLOCK)
    del made
    assert alive() is None


def test_writing_goes_through_only_where_every_column_may_be_written() -> None:
    block = BLOCK.copy()
    np.asarray(as_table(block))[0, 0] = 99
    assert block[0, 0] == 99
    one = block[:, 1].view()
    one.setflags(write=False)
    table = as_table({"a": block[:, 0], "b": one})
    assert not np.asarray(table).flags.writeable


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"a": np.arange(3), "b": np.array([0.5, 1, 2])}, "f8"),
        ({"a": np.arange(3, dtype="i2"), "b": np.arange(3, dtype="u1")}, "i2"),
        ({"a": np.array([True, False, True]), "b": np.arange(3)}, "O"),
        ({"a": np.array(["x", "y", "z"]), "b": np.arange(3)}, "O"),
        ({"a": np.array(["2020"] * 3, "M8[s]"), "b": np.array(["2021"] * 3, "M8[s]")}, "M8[s]"),
        ({"a": np.ma.MaskedArray([1, 2, 3], [0, 1, 0]), "b": np.arange(3)}, "O"),
    ],
)
def test_others_become_one_in_a_copy(columns: dict[str, Any], dtype: str) -> None:
    table = as_table(columns)
    made = np.asarray(table)
    assert made.dtype == np.dtype(dtype)
    assert made.tolist() == [list(row.values()) for row in table.tolist()]
    with pytest.raises(ValueError, match="copy=False"):
        table.__array__(copy=False)


def test_a_dtype_is_given() -> None:
    table = as_table({"a": np.ma.MaskedArray([1, 2], [0, 1]), "b": np.arange(2)})
    np.testing.assert_array_equal(np.asarray(table, "f4"), np.array([[1, 0], [np.nan, 1]], "f4"))


def test_tensors_of_columns_that_lie_apart_are_copied() -> None:
    table = as_table({"a": np.arange(3, dtype=">i4"), "b": np.arange(3, dtype=">i4") * 10})
    assert np.from_dlpack(table).tolist() == [[0, 0], [1, 10], [2, 20]]
    with pytest.raises(BufferError, match="copy=False"):
        table.__dlpack__(copy=False)
    chunked = Column._make(table["a"]._type, (table["a"]._piece,) * 2)
    assert np.from_dlpack(Table({"a": chunked})).tolist() == [[0], [1], [2], [0], [1], [2]]


@pytest.mark.parametrize(
    ("columns", "match"),
    [
        ({}, "without columns"),
        ({"a": np.arange(3), "b": np.zeros(3)}, "one type"),
        ({"a": np.ma.MaskedArray([1, 2], [0, 1])}, "missing"),
        ({"a": np.array(["2020"], "M8[s]")}, "no type"),
        ({"a": np.array(["x"])}, "no type"),
    ],
)
def test_what_a_tensor_cannot_say_is_an_error(columns: dict[str, Any], match: str) -> None:
    with pytest.raises(BufferError, match=match):
        as_table(columns).__dlpack__()


def test_uneven_columns_have_no_interface() -> None:
    block = BLOCK.copy()
    uneven = as_table({"a": block[:, 0], "b": block[:, 1], "c": block[:, 3]})
    for table in (uneven, as_table({"a": np.arange(2)[::-1], "b": np.arange(2)}), as_table({})):
        assert not hasattr(table, "__array_interface__")
    assert not hasattr(as_table(block), "__cuda_array_interface__")


def test_memory_of_a_device_is_described_and_never_read() -> None:
    from buflend.maximal import Buffer

    owner = object()
    card = [Buffer(0xDEAD0000 + 800 * i, 800, owner=owner, device=(2, 1)) for i in range(3)]
    table = Table({str(i): Column("g", 100, data=buffer) for i, buffer in enumerate(card)})
    found = table.__cuda_array_interface__
    assert (found["data"], found["shape"], found["strides"]) == ((0xDEAD0000, False), (100, 3), (8, 800))
    assert table.__dlpack_device__() == (2, 1)
    with pytest.raises(DeviceError):
        np.asarray(table)
    assert table.__dlpack__(max_version=(1, 0)) is not None


def test_one_row_and_no_rows() -> None:
    for count in (0, 1):
        table = as_table({"a": np.arange(count), "b": np.arange(count)})
        assert np.asarray(table).shape == np.from_dlpack(table).shape == (count, 2)
    assert as_column(np.arange(0)).size() == 0
