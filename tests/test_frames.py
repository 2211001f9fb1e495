"""Frames of real libraries: what is read equals what the library itself says it holds."""

import datetime as dt
import gc
import math
from typing import Any

import numpy as np
import pytest

from buflend.minimal import ColumnArrays, column_to_ndarray, dataframe_to_ndarrays
from buflend.shared import CopyRequiredError, ProducerError

pytestmark = pytest.mark.peers
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - times of a zone are compared as UTC without one

TABLE = pa.table(
    {
        "int8": pa.array([1, None, -128], pa.int8()),
        "uint64": pa.array([2**64 - 1, None, 0], pa.uint64()),
        "int64": pa.array([2**60 + 1, None, -(2**63)], pa.int64()),
        "whole": pa.array([1, 2, 3], pa.int32()),
        "float32": pa.array([1.5, None, math.nan], pa.float32()),
        "float64": pa.array([0.1, math.inf, None]),
        "bool": pa.array([True, None, False]),
        "string": pa.array(["é", None, ""]),
        "large": pa.array(["a\0b", "漢字", None], pa.large_string()),
        "seconds": pa.array([0, None, -1], pa.timestamp("s")),
        "zoned": pa.array([10**18, 0, None], pa.timestamp("ns", "Europe/Berlin")),
        "category": pa.array(["x", None, "y"]).dictionary_encode(),
    }
)


def items(column: ColumnArrays) -> list[Any]:
    """Return what a column holds as Python values, None where missing."""
    values, valid = column.values, column.valid
    if values.dtype.kind in "Mm":
        found = [(values.dtype.str.removeprefix("<"), stored) for stored in values.astype("int64").tolist()]
    elif column.categories is None:
        found = values.tolist()
    else:
        meaning = dict(enumerate(column.categories.tolist()))
        found = [meaning.get(code, "no category") for code in values.tolist()]
    return found if valid is None else [item if there else None for item, there in zip(found, valid, strict=True)]


def truth(column: Any) -> list[Any]:
    """Return what pyarrow says a column of its own holds, in the same form."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        stored = column.cast(pa.int64()).to_pylist()
        return [None if value is None else (f"M8[{kind.unit}]", value) for value in stored]
    return list(column.to_pylist())


def equal(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        a == b or (isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b))
        for a, b in zip(one, other, strict=True)
    )


class TestPyarrow:
    @pytest.mark.parametrize("name", TABLE.column_names)
    @pytest.mark.parametrize("window", [(0, 3), (1, 3), (1, 2), (3, 3)], ids=str)
    def test_values(self, name: str, window: tuple[int, int]) -> None:
        part = TABLE.slice(window[0], window[1] - window[0])
        read = dataframe_to_ndarrays(part)[name]
        assert equal(items(read), truth(part[name])), (items(read), truth(part[name]))

    def test_zone_and_order(self) -> None:
        read = dataframe_to_ndarrays(TABLE)
        assert read["zoned"].timezone == "Europe/Berlin"
        assert read["seconds"].timezone is None
        assert read["category"].ordered is False
        assert read["int8"].ordered is None

    @pytest.mark.parametrize("name", TABLE.column_names)
    def test_chunks_are_joined(self, name: str) -> None:
        chunked = pa.concat_tables([TABLE, TABLE.slice(0, 0), TABLE.slice(2, 1), TABLE.slice(1)])
        assert equal(items(dataframe_to_ndarrays(chunked)[name]), truth(chunked[name]))

    def test_dictionaries_that_differ(self) -> None:
        chunks = [pa.array(c).dictionary_encode() for c in (["x", "y"], ["z", None, "x"], ["y"])]
        read = dataframe_to_ndarrays(pa.table({"c": pa.chunked_array(chunks)}))["c"]
        assert items(read) == ["x", "y", "z", None, "x", "y"]
        assert read.categories is not None
        assert sorted(read.categories.tolist()) == ["x", "y", "z"]

    def test_record_batch(self) -> None:
        (batch,) = TABLE.to_batches()
        assert items(dataframe_to_ndarrays(batch)["whole"]) == [1, 2, 3]

    def test_no_columns_and_no_rows(self) -> None:
        assert dataframe_to_ndarrays(pa.table({})) == {}
        empty = dataframe_to_ndarrays(TABLE.schema.empty_table())
        assert [len(column.values) for column in empty.values()] == [0] * TABLE.num_columns
        assert empty["int8"].values.dtype == np.int8
        assert empty["zoned"].timezone == "Europe/Berlin"

    def test_not_representable_names_the_column(self) -> None:
        with pytest.raises(ProducerError, match="column 'n'"):
            dataframe_to_ndarrays(pa.table({"a": [1], "n": pa.nulls(1)}))


class TestZeroCopy:
    def test_the_producers_own_address_or_an_error(self) -> None:
        plain = pa.table({name: TABLE[name] for name in ("whole",)})
        read = dataframe_to_ndarrays(plain, allow_copy=False)["whole"]
        assert read.values.ctypes.data == plain["whole"].chunk(0).buffers()[1].address
        assert not read.values.flags.writeable

    @pytest.mark.parametrize("name", [n for n in TABLE.column_names if n != "whole"])
    def test_what_must_be_copied_is_refused(self, name: str) -> None:
        with pytest.raises(CopyRequiredError, match=name):
            dataframe_to_ndarrays(TABLE.select([name]), allow_copy=False)

    def test_several_chunks(self) -> None:
        table = pa.table({"a": pa.chunked_array([[1], [2]])})
        with pytest.raises(CopyRequiredError, match="2 chunks"):
            dataframe_to_ndarrays(table, allow_copy=False)

    def test_arrays_outlive_everything(self) -> None:
        table = pa.table({"a": np.arange(10**5), "t": pa.array(np.arange(10**5), pa.timestamp("us"))})
        before = pa.total_allocated_bytes()
        read = dataframe_to_ndarrays(table)
        del table
        gc.collect()
        values = read.pop("a").values[7:]
        read.clear()
        gc.collect()
        assert values[0] == 7
        assert int(values.sum()) == sum(range(7, 10**5))
        del values
        gc.collect()
        assert pa.total_allocated_bytes() <= before


class TestPandas:
    FRAME = pd.DataFrame(
        {
            "int": [1, 2, 3],
            "nullable": pd.array([1, None, 2**60 + 1], dtype="Int64"),
            "flag": pd.array([True, None, False], dtype="boolean"),
            "float": [1.5, math.nan, -0.0],
            "text": ["a", None, "é"],
            "when": pd.to_datetime(["2020-01-01 00:00:00", None, "1969-12-31 23:59:59"]),
            "zoned": pd.to_datetime(["2020-01-01", None, "2021-06-01"]).tz_localize("UTC").tz_convert("Asia/Tokyo"),
            "category": pd.Categorical(["x", None, "x"], categories=["y", "x"], ordered=True),
        }
    )

    def test_values(self) -> None:
        read = dataframe_to_ndarrays(self.FRAME)
        assert items(read["int"]) == [1, 2, 3]
        assert items(read["nullable"]) == [1, None, 2**60 + 1]
        assert items(read["flag"]) == [True, None, False]
        assert items(read["float"]) == [1.5, None, 0.0]
        assert items(read["text"]) == ["a", None, "é"]
        assert items(read["category"]) == ["x", None, "x"]
        assert read["category"].ordered is True
        assert read["category"].categories is not None
        assert read["category"].categories.tolist() == ["y", "x"]
        assert read["zoned"].timezone == "Asia/Tokyo"

    @pytest.mark.parametrize("name", ["when", "zoned"])
    def test_times(self, name: str) -> None:
        read = dataframe_to_ndarrays(self.FRAME)[name]
        assert read.valid is not None
        assert read.valid.tolist() == [True, False, True]
        source = self.FRAME[name]
        utc = source.dt.tz_convert(None) if source.dt.tz is not None else source
        expected = [(stamp.to_pydatetime() - EPOCH) // dt.timedelta(microseconds=1) for stamp in utc.dropna()]
        assert read.values[read.valid].astype("M8[us]").astype("int64").tolist() == expected

    def test_zero_copy(self) -> None:
        column = pd.DataFrame({"a": np.arange(5.0)}).__dataframe__(allow_copy=False).get_column_by_name("a")
        read = column_to_ndarray(column, allow_copy=False)
        assert read.values.ctypes.data == column.get_buffers()["data"][0].ptr

    def test_memory_is_not_written_through(self) -> None:
        read = dataframe_to_ndarrays(pd.DataFrame({"a": np.arange(5)}))["a"]
        with pytest.raises(ValueError, match="read-only"):
            read.values[0] = 1

    def test_arrow_dates_that_are_addresses_are_refused(self) -> None:
        dates = pd.DataFrame({"d": pd.array([dt.date(2020, 1, 1)] * 3, dtype="date32[pyarrow]")})
        with pytest.raises(ProducerError, match=r"column 'd'"):
            dataframe_to_ndarrays(dates)

    def test_names_that_are_not_strings(self) -> None:
        assert list(dataframe_to_ndarrays(pd.DataFrame({0: [1], 1: [2]}))) == ["0", "1"]  # pandas converts them


class TestPolars:
    FRAME = pl.DataFrame(
        {
            "int": pl.Series([1, None, 2**60 + 1], dtype=pl.Int64),
            "flag": [True, None, False],
            "float": [1.5, None, math.nan],
            "text": ["a", None, "é"],
            "date": [dt.date(2020, 1, 1), None, dt.date(1969, 12, 31)],
            "span": [dt.timedelta(days=1), None, dt.timedelta(microseconds=-1)],
            "category": pl.Series(["x", None, "y"], dtype=pl.Categorical),
        }
    )

    def test_values(self) -> None:
        read = dataframe_to_ndarrays(self.FRAME)
        assert items(read["int"]) == [1, None, 2**60 + 1]
        assert items(read["flag"]) == [True, None, False]
        assert equal(items(read["float"]), [1.5, None, math.nan])
        assert items(read["text"]) == ["a", None, "é"]
        assert items(read["date"]) == [("M8[D]", 18262), None, ("M8[D]", -1)]
        assert items(read["span"]) == [("m8[us]", 86400 * 10**6), None, ("m8[us]", -1)]
        assert items(read["category"]) == ["x", None, "y"]

    def test_chunks_are_joined(self) -> None:
        chunked = pl.concat([self.FRAME, self.FRAME], rechunk=False)
        assert items(dataframe_to_ndarrays(chunked)["text"]) == ["a", None, "é"] * 2


@pytest.mark.parametrize("obj", [None, 1, {"a": [1]}, [1], np.arange(3)], ids=lambda obj: type(obj).__name__)
def test_no_frame(obj: Any) -> None:
    with pytest.raises(TypeError, match="looked for __dataframe__"):
        dataframe_to_ndarrays(obj)
