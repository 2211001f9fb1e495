"""The table: columns of one length by name, and the frame of the interchange protocol that it is."""

from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, Table, as_column, as_table, dataframe_to_ndarrays
from buflend.minimal import dataframe_to_ndarrays as minimal_reader
from buflend.shared import CopyRequiredError


def joined(*parts: Any) -> Column:
    columns = [as_column(np.asarray(part)) for part in parts]
    return Column._make(columns[0]._type, tuple(column._piece for column in columns))


TABLE = as_table({"n": np.arange(4), "x": np.array([0.5, np.nan, 2.5, 3.5])[::-1], "b": np.array([True, False] * 2)})


def test_columns_by_name() -> None:
    assert TABLE.column_names() == ["n", "x", "b"]
    assert [column.name for column in TABLE.columns] == ["n", "x", "b"]
    assert (len(TABLE), TABLE.num_rows(), TABLE.num_columns(), TABLE.num_chunks()) == (4, 4, 3, 1)
    assert TABLE["b"].tolist() == [True, False, True, False]
    assert TABLE[1:3]["n"].tolist() == [1, 2]
    assert TABLE.tolist()[0] == {"n": 0, "x": 3.5, "b": True}
    with pytest.raises(KeyError, match="'y'"):
        TABLE["y"]


def test_what_is_no_table_of_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="lengths"):
        as_table({"a": np.arange(2), "b": np.arange(3)})
    with pytest.raises(TypeError, match="ndarray"):
        Table({"a": np.arange(2)})  # type: ignore[dict-item]
    with pytest.raises(TypeError, match="column names: got 1, expected text"):
        as_table({1: np.arange(2)})
    with pytest.raises(TypeError, match="__dataframe__"):
        as_table(object())
    with pytest.raises(TypeError, match="3 dimensions"):
        as_table(np.zeros((1, 2, 3)))


def test_no_columns() -> None:
    table = as_table({})
    assert (len(table), table.num_chunks(), table.tolist()) == (0, 1, [])
    assert [len(chunk) for chunk in table.get_chunks()] == [0]
    assert minimal_reader(table) == {}


def test_arrays_of_rows_are_tables() -> None:
    rows = np.array([(1, 0.5), (2, 1.5)], [("a", "i2"), ("b", ">f8")])
    table = as_table(rows)
    assert [column.strides for column in table.columns] == [(10,), (10,)]
    assert table.tolist() == [{"a": 1, "b": 0.5}, {"a": 2, "b": 1.5}]
    assert as_table(np.arange(6).reshape(3, 2)).tolist() == [{"0": 0, "1": 1}, {"0": 2, "1": 3}, {"0": 4, "1": 5}]


def test_the_frame_of_the_protocol() -> None:
    frame = TABLE.__dataframe__()
    assert (frame.version, frame.metadata, frame.num_columns(), frame.num_rows()) == (0, {}, 3, 4)
    assert frame.select_columns([2, 0]).column_names() == ["b", "n"]
    assert frame.select_columns_by_name(["x"]).column_names() == ["x"]
    assert [column.size() for column in frame.get_columns()] == [4, 4, 4]
    assert frame.get_column(0).dtype == (0, 64, "l", "=")
    assert frame.get_column_by_name("b").dtype == (20, 8, "b", "=")
    with pytest.raises(KeyError):
        frame.get_column_by_name("y")


@pytest.mark.parametrize("n_chunks", [None, 1, 3, 5])
def test_as_many_chunks_as_are_asked_for(n_chunks: int | None) -> None:
    chunks = list(TABLE.__dataframe__().get_chunks(n_chunks))
    assert len(chunks) == (n_chunks or 1)
    assert [row for chunk in chunks for row in chunk["n"].tolist()] == [0, 1, 2, 3]
    assert [chunk.num_chunks() for chunk in chunks] == [1] * len(chunks)


def test_chunks_of_nothing() -> None:
    assert [len(chunk) for chunk in as_table({"a": np.arange(0)}).get_chunks(3)] == [0, 0, 0]


def test_chunks_that_differ_are_cut_alike() -> None:
    table = Table({"a": joined([1, 2], [3]), "b": joined(["x"], ["y", "z"])})
    assert table.num_chunks() == 3
    assert [chunk.tolist() for chunk in table.get_chunks()] == [
        [{"a": 1, "b": "x"}],
        [{"a": 2, "b": "y"}],
        [{"a": 3, "b": "z"}],
    ]
    read = minimal_reader(table)
    assert {name: column.tolist() for name, column in read.items()} == {"a": [1, 2, 3], "b": ["x", "y", "z"]}


@pytest.mark.parametrize("reader", [dataframe_to_ndarrays, minimal_reader], ids=["maximal", "minimal"])
def test_both_readers_take_it(reader: Any) -> None:
    masked = np.ma.MaskedArray([1, 2, 3, 4, 5, 6], mask=[0, 1, 0, 0, 1, 1])
    table = as_table(
        {
            "strided": np.arange(12, dtype="i4")[10::-4],
            "swapped": np.array([1, 2, 3], ">i8"),
            "masked": masked[::2],
            "times": np.array(["2020-01-01", "NaT", "1969-12-31"], "M8[us]"),
            "days": np.array(["2020-01-01", "NaT", "1969-12-31"], "M8[D]"),
            "text": np.array(["a", "", "žluť"]),
            "object": np.array(["a", None, "b"], object),
        }
    )
    read = {name: column.tolist() for name, column in reader(table).items()}
    assert read["strided"] == [10, 6, 2]
    assert read["swapped"] == [1, 2, 3]
    assert read["masked"] == [1, 3, None]
    assert read["text"] == ["a", "", "žluť"]
    assert read["object"] == ["a", None, "b"]
    day = np.datetime64("2020-01-01", "us")
    assert read["times"] == [day, None, np.datetime64("1969-12-31", "us")]
    assert read["days"] == [np.datetime64("2020-01-01", "D"), None, np.datetime64("1969-12-31", "D")]


def test_without_leave_to_copy_memory_is_the_same_or_an_error_is_raised() -> None:
    array = np.arange(6)
    table = as_table({"plain": array, "strided": array[::-1], "text": np.array(["a"] * 6)})
    frame = table.__dataframe__(allow_copy=False)
    buffer, _ = frame.get_column_by_name("plain").get_buffers()["data"]
    assert buffer.ptr == array.ctypes.data
    with pytest.raises(CopyRequiredError, match="strided"):
        frame.get_column_by_name("strided")
    assert frame.get_column_by_name("text").dtype[2] == "U"
    read = minimal_reader(frame.select_columns([0]), allow_copy=False)
    assert np.shares_memory(read["plain"].values, array)


def test_types_that_the_protocol_lacks_are_refused_when_they_are_touched() -> None:
    frame = as_table({"z": np.array([1j]), "n": np.array([1])}).__dataframe__()
    assert frame.column_names() == ["z", "n"]
    assert frame.get_column(1).size() == 1
    with pytest.raises(TypeError, match="interchange protocol has no type"):
        frame.get_column(0)


def test_a_column_that_lies_otherwise_says_what_to_do() -> None:
    column = as_column(np.arange(6)[::2])
    with pytest.raises(TypeError, match="for_interchange"):
        column.get_buffers()
    assert column.for_interchange().get_buffers()["data"][0].bufsize == 24  # type: ignore[index]
    assert column.for_interchange() is not column
    plain = as_column(np.arange(6))
    assert plain.for_interchange().get_buffers()["data"] == (plain.data, (0, 64, "l", "="))


@pytest.mark.peers
def test_capsules_are_read_where_nothing_may_be_copied_too() -> None:
    """By `__dataframe__` polars says of this slice [0, None], pandas of its own [1, 2] (no reports found)."""
    pl, pd = pytest.importorskip("polars"), pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    some = pl.DataFrame({"a": [1, None, 3, None]}).slice(1, 2)
    rows = pd.DataFrame({"a": pd.array([1, 2, 3, 4], "int64[pyarrow]")}).iloc[2:]
    for allow_copy in (True, False):
        assert as_table(some, allow_copy=allow_copy)["a"].tolist() == [None, 3]
        assert as_table(rows, allow_copy=allow_copy)["a"].tolist() == [3, 4]
        assert dataframe_to_ndarrays(rows, allow_copy=allow_copy)["a"].tolist() == [3, 4]


def test_masks_of_any_kind_go_out_as_they_are() -> None:
    masked = as_column(np.ma.MaskedArray([1, 2, 3], mask=[0, 1, 0])).for_interchange()
    assert masked.describe_null == (4, 1)
    validity, dtype = masked.get_buffers()["validity"]  # type: ignore[misc]
    assert (dtype, np.asarray(validity).tolist()) == ((20, 8, "b", "="), [0, 1, 0])
    times = as_column(np.array(["NaT", "2020-01-01"], "M8[s]")).for_interchange()
    assert times.describe_null == (2, -(2**63))
    assert times.null_count == 1
