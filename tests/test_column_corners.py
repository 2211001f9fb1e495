"""What went wrong once between two parts that were each right: masks that nobody reads, copies, changes under a column.

Values are by hand.
"""

import copy
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import (
    Column,
    Table,
    as_buffer,
    as_column,
    as_table,
    column_to_ndarray,
    copied,
    dataframe_to_ndarrays,
)
from buflend.shared import ProducerError

from .hand import i32

COPIES: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))]  # noqa: S301


def by_arrow(column: Any) -> list[Any]:
    return as_column(only_array(column)).tolist()


def only_array(lent: Any) -> Any:
    class Lender:
        def __arrow_c_array__(self, requested_schema: object = None) -> Any:
            return lent.__arrow_c_array__()

    return Lender()


def test_a_bitmap_that_nothing_asks_for_is_not_cut() -> None:
    """No elements are missing, so that nothing says how the bitmap lies; Arrow's slices are like this."""
    numbers = as_buffer(np.arange(16))
    column = Column("l", 2, data=numbers, validity=as_buffer(bytes([255, 255])), null=(0, None), offset=9)
    assert column_to_ndarray(column).values.tolist() == [9, 10]
    assert Table({"x": column}).get_column(0).get_buffers()["validity"] is None


@pytest.mark.peers
@pytest.mark.parametrize("start", [0, 1, 2, 9, 12])
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("text", [False, True])
def test_arrow_slices_whose_counted_nulls_are_none(start: int, size: int, *, text: bool) -> None:
    pa = pytest.importorskip("pyarrow")
    values: list[Any] = [str(i) if text else i for i in range(13)]
    cut = pa.array([*values[:12], values[12], None])[start : start + size]
    assert cut.null_count == 0
    assert column_to_ndarray(cut).values.tolist() == values[start : start + size]
    assert np.asarray(as_column(cut)).tolist() == values[start : start + size]


def test_nothing_from_the_end_of_too_small_a_buffer() -> None:
    column = Column("i", 0, data=as_buffer(i32(1)), offset=100)
    data = Table({"x": column}).get_column(0).get_buffers()["data"]
    assert data is not None
    assert data[0].bufsize == 0


@pytest.mark.parametrize("again", COPIES, ids=["copy", "deepcopy", "pickle"])
@pytest.mark.parametrize("kind", [as_column, lambda array: as_table({"x": array})], ids=["column", "table"])
def test_a_copy_lends_its_own_memory(again: Callable[[Any], Any], kind: Callable[[Any], Any]) -> None:
    """After an export something with addresses is kept: of the original's buffers, which may be gone."""
    lent = kind(np.arange(3))
    lent.__arrow_c_array__()
    made = again(lent)
    column, out = (made, as_column) if isinstance(made, Column) else (made["x"], lambda one: as_table(one)["x"])
    assert column.data.ptr == out(only_array(made)).data.ptr


def changed_times() -> Iterator[Any]:
    times = np.array(["2020-01-01", "2021-01-01"], "M8[s]")
    yield as_column(times)
    times[0] = "NaT"


def changed_mask() -> Iterator[Any]:
    masked = np.ma.MaskedArray([1, 2], mask=[False, False])
    yield as_column(masked)
    masked[0] = np.ma.masked


@pytest.mark.parametrize("change", [changed_times, changed_mask])
def test_what_goes_missing_after_an_export_is_missing_in_the_next(change: Callable[[], Iterator[Any]]) -> None:
    steps = change()
    column = next(steps)
    table = as_table({"x": column})
    assert None not in by_arrow(column)
    assert None not in as_table(only_array(table))["x"].tolist()
    next(steps, None)
    assert by_arrow(column)[0] is None
    assert as_table(only_array(table))["x"].tolist()[0] is None


class Chunked:
    """A column of the interchange protocol in chunks, and the frame around it."""

    def __init__(self, *chunks: Column) -> None:
        self.chunks = [as_table({"x": chunk}).get_column(0) for chunk in chunks]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.chunks[0], name)

    def size(self) -> int:
        return sum(chunk.size() for chunk in self.chunks)

    def num_chunks(self) -> int:
        return len(self.chunks)

    def get_chunks(self, n_chunks: int | None = None) -> Any:  # noqa: ARG002 - the protocol's
        return iter(self.chunks)


def text(format_: str, *values: str) -> Column:
    ends = np.cumsum([0, *map(len, values)], dtype="i4" if format_ == "u" else "i8")
    return Column(format_, len(values), offsets=as_buffer(ends), data=as_buffer("".join(values).encode()))


def codes(dictionary: Column, *numbers: int) -> Column:
    data = as_buffer(np.array(numbers, "i1"))
    return Column("c", len(numbers), data=data, dictionary=dictionary, null=(2, -1))


def test_chunks_whose_categories_are_of_two_types_are_refused() -> None:
    """Arrow says the type of categories once for all chunks."""
    two = Chunked(codes(text("u", "a", "b"), 0, 1), codes(text("U", "c", "d"), 0, 1))
    with pytest.raises(ProducerError, match=r"categories: dtype: .*'U'.*'u'.* expected one type in all chunks"):
        as_column(two)


def test_chunks_without_categories_have_those_of_others() -> None:
    """Of no text it is not known how wide its offsets are."""
    column = as_column(Chunked(codes(text("u"), -1), codes(text("U", "c", "d"), 1, 0)))
    assert column.tolist() == [None, "d", "c"]
    assert {chunk.dictionary.dtype.format for chunk in column.chunks} == {"U"}


def test_categories_that_arrow_lacks_are_not_offered_by_arrow() -> None:
    column = codes(as_column(np.array([1j, 2j])), 1, 0)
    assert column.tolist() == [2j, 1j]
    assert not hasattr(column, "__arrow_c_array__")


def test_two_copies_share_nothing_although_the_first_one_is_over() -> None:
    first, second = np.array(["a", "b"]), np.array(["x", "y"])  # text is copied when it is read
    assert [one.shared for one in copied(first, second)] == [0, 0]


@pytest.mark.parametrize("name", ["a\0b", "\0"])
def test_a_name_that_arrow_would_cut_is_refused(name: str) -> None:
    table = as_table({name: np.arange(2)})
    with pytest.raises(ValueError, match="Arrow's texts end before the first NUL"):
        table.__arrow_c_stream__()
    assert list(dataframe_to_ndarrays(table)) == [name]


def test_times_beside_text_stay_times() -> None:
    table = as_table({"t": np.array([1, 2], "M8[ns]"), "s": np.array(["x", "y"])})
    assert np.asarray(table).tolist() == [[np.datetime64(1, "ns"), "x"], [np.datetime64(2, "ns"), "y"]]
