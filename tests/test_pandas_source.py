"""Columns of pandas: its own memory by address, its nulls, its values, and an owner that outlives the frame."""

import datetime as dt
import gc
import weakref
from typing import Any

import numpy as np
import pytest

from buflend.maximal import Column, as_column
from buflend.maximal.pandas_source import from_frame, from_series
from buflend.shared import CopyRequiredError, ProducerError
from buflend.shared.interchange import DtypeKind, NullKind

pytestmark = pytest.mark.peers
pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")

M8, m8 = np.datetime64, np.timedelta64
NAN, BYTES = (NullKind.USE_NAN, None), (NullKind.USE_BYTEMASK, 1)
NONE = (NullKind.NON_NULLABLE, None)
SECOND = 10**9


def read(series: Any, *, allow_copy: bool = False) -> Column:
    found = from_series(series, allow_copy)
    assert found is not None
    return found


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def first(column: Column) -> int:
    """Return the address of the first element."""
    piece = column._piece
    return piece.buffers["data"].ptr + piece.byte_offset + piece.offset * piece.stride


def times(unit: str, zone: Any = None) -> Any:
    return pd.Series(
        pd.DatetimeIndex(np.array([0, "NaT", 5 * SECOND], "M8[ns]")).as_unit(unit).tz_localize("UTC").tz_convert(zone)
    )


# What it is -> a series, its format, how nulls are marked, its elements.
NATIVE: dict[str, tuple[Any, str, Any, list[Any]]] = {
    **{
        kind: (pd.Series([1, 0, 5], dtype=kind), text, NONE, [1, 0, 5])
        for kind, text in zip(
            ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"), "csilCSIL", strict=True
        )
    },
    "float32": (pd.Series([1.5, np.nan, 3], dtype="float32"), "f", NAN, [1.5, None, 3.0]),
    "float64": (pd.Series([1.5, None, 3]), "g", NAN, [1.5, None, 3.0]),
    "bool": (pd.Series([True, False, True]), "b", NONE, [True, False, True]),
    "complex": (pd.Series([1j, 2, 3]), "", NONE, [1j, 2 + 0j, 3 + 0j]),
    "big-endian": (pd.Series(np.array([1, 2, 256], ">i4")), "i", NONE, [1, 2, 256]),
    "times": (pd.Series(np.array([0, "NaT", 5], "M8[ns]")), "tsn:", NAN, [M8(0, "ns"), None, M8(5, "ns")]),
    "times of seconds": (pd.Series(np.array([0, "NaT", 5], "M8[s]")), "tss:", NAN, [M8(0, "s"), None, M8(5, "s")]),
    "spans": (pd.Series(np.array([0, "NaT", -5], "m8[us]")), "tDu", NAN, [m8(0, "us"), None, m8(-5, "us")]),
    "zone": (times("ns", "Europe/Rome"), "tsn:Europe/Rome", NAN, [M8(0, "ns"), None, M8(5 * SECOND, "ns")]),
    "zone, seconds": (times("s", "Asia/Tokyo"), "tss:Asia/Tokyo", NAN, [M8(0, "s"), None, M8(5, "s")]),
    "UTC": (times("ms", "UTC"), "tsm:UTC", NAN, [M8(0, "ms"), None, M8(5000, "ms")]),
    "offset": (
        times("us", dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
        "tsu:-03:30",
        NAN,
        [M8(0, "us"), None, M8(5_000_000, "us")],
    ),
    "Int64": (pd.Series([1, None, 5], dtype="Int64"), "l", BYTES, [1, None, 5]),
    "UInt8": (pd.Series([1, None, 5], dtype="UInt8"), "C", BYTES, [1, None, 5]),
    "Float64": (pd.Series([1.5, None, 5], dtype="Float64"), "g", BYTES, [1.5, None, 5.0]),
    "boolean": (pd.Series([True, None, False], dtype="boolean"), "b", BYTES, [True, None, False]),
    "category": (
        pd.Series(pd.Categorical(["b", None, "a"], ["b", "a"], ordered=True).set_categories([7, 8], rename=True)),
        "c",
        (NullKind.USE_SENTINEL, -1),
        [7, None, 8],
    ),
}

CUTS = {
    "whole": slice(None),
    "cut": slice(1, None),
    "strided": slice(None, None, 2),
    "backwards": slice(None, None, -1),
}


def own(series: Any) -> Any:
    """Return the array that pandas keeps the elements, or codes, in."""
    array = series.array
    for name in ("_data", "_codes", "asi8"):
        if isinstance(found := getattr(array, name, None), np.ndarray):
            return found
    return array.to_numpy()


def root(array: Any) -> Any:
    """Return the array that owns the memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", NATIVE)
def test_the_memory_and_the_nulls_are_those_of_pandas(name: str, cut: str) -> None:
    series, text, null, expected = NATIVE[name]
    cut_series = series.iloc[CUTS[cut]]
    column = read(cut_series)
    assert (column.dtype.format, column.describe_null) == (text, null)
    assert column.tolist() == expected[CUTS[cut]]
    data = own(cut_series)
    assert first(column) == address(data)
    assert column.strides == data.strides
    if null == BYTES:
        mask = cut_series.array._mask
        piece = column._piece
        assert piece.buffers["validity"].ptr + piece.validity_offset == address(mask)
        assert column.validity_strides == mask.strides
        assert piece.buffers["validity"].readonly


@pytest.mark.parametrize("name", NATIVE)
def test_owners_outlive_the_series(name: str) -> None:
    series, _, _, expected = NATIVE[name]
    copied = series.copy()
    column = read(copied)
    kept = weakref.ref(root(own(copied)))
    del copied
    gc.collect()
    assert kept() is not None
    assert column.tolist() == expected
    del column
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("name", NATIVE)
def test_empty_and_as_an_index(name: str) -> None:
    series, text, _, expected = NATIVE[name]
    empty = read(series.iloc[:0])
    assert (empty.tolist(), empty.dtype.format) == ([], text)
    index = pd.Index(series, name="named")
    column = read(index)
    assert (column.tolist(), column.name) == (expected, "named")


def test_nothing_is_looked_at() -> None:
    frame = pd.DataFrame({name: series for name, (series, *_) in NATIVE.items()})
    found = from_frame(frame, allow_copy=False)
    assert found is not None
    # Where something may be missing, nobody has counted yet.
    assert {column._piece.null_count for _, column in found} == {0, -1}
    assert [column.null_count for _, column in found] == [frame[name].isna().sum() for name in frame]


def test_write_access_is_what_pandas_gives() -> None:
    series = pd.Series([1, 2, 3])
    assert read(series)._piece.buffers["data"].readonly == (not series.to_numpy().flags.writeable)
    for name in ("Int64", "zone", "category"):
        assert all(buffer.readonly for buffer in read(NATIVE[name][0])._piece.buffers.values())


def test_a_frame_of_one_block() -> None:
    block = np.arange(12.0).reshape(4, 3)
    frame = pd.DataFrame(block, columns=["a", 1, ("b", 2)], copy=False)
    found = from_frame(frame, allow_copy=False)
    assert found is not None
    assert [name for name, _ in found] == ["a", "1", "('b', 2)"]
    assert [column.name for _, column in found] == ["a", "1", "('b', 2)"]
    for i, (_, column) in enumerate(found):
        assert column.tolist() == block[:, i].tolist()
        assert column.strides == (24,)
        assert first(column) == address(block) + 8 * i


def test_names_that_are_one() -> None:
    for labels in (["a", "a"], [1, "1"]):
        with pytest.raises(ProducerError, match="rename the columns"):
            from_frame(pd.DataFrame([[1, 2]], columns=labels), allow_copy=True)


def test_frames_without_columns_or_rows() -> None:
    assert from_frame(pd.DataFrame(), allow_copy=False) == []
    found = from_frame(pd.DataFrame({"a": pd.Series([], dtype="int8")}), allow_copy=False)
    assert found is not None
    assert [(name, column.tolist()) for name, column in found] == [("a", [])]


@pytest.mark.parametrize("storage", ["pyarrow", "large"])
def test_arrow_columns_are_those_of_pyarrow(storage: str) -> None:
    kind = "string[pyarrow]" if storage == "pyarrow" else pd.ArrowDtype(pa.large_string())
    series = pd.Series(["a", None, "é", "d"], dtype=kind, name="text")
    column = read(series)
    assert (column.tolist(), column.name) == (["a", None, "é", "d"], "text")
    chunk = series.array.__arrow_array__().chunk(0)
    assert column._piece.buffers["data"].ptr == chunk.buffers()[2].address
    assert read(series.iloc[1:3]).tolist() == [None, "é"]
    chunked = pd.concat([series, series.iloc[2:]])
    assert read(chunked).tolist() == ["a", None, "é", "d", "é", "d"]


def test_other_arrow_types() -> None:
    for array in (pa.array([1, None]), pa.array([[1], None]), pa.array([None, 1.5]), pa.array([0, None], pa.date32())):
        series = pd.Series(pd.arrays.ArrowExtensionArray(array))
        expected = [M8("1970-01-01"), None] if array.type == pa.date32() else array.to_pylist()
        assert read(series).tolist() == expected


STRINGS = {
    "objects": pd.Series(["a", None, "é", np.nan], dtype=object),
    "NA among objects": pd.Series(["a", pd.NA, "é", None], dtype=object),
    "python": pd.Series(["a", None, "é", None], dtype="string[python]"),
}


@pytest.mark.parametrize("name", STRINGS)
def test_strings_that_are_objects_are_copied(name: str) -> None:
    column = read(STRINGS[name], allow_copy=True)
    assert (column.tolist(), column.dtype.kind) == (["a", None, "é", None], DtypeKind.STRING)
    with pytest.raises(CopyRequiredError, match="copy"):
        from_series(STRINGS[name], allow_copy=False)
    with pytest.raises(CopyRequiredError, match="copy"):
        as_column(STRINGS[name], allow_copy=False)
    empty = from_series(STRINGS["python"].iloc[1:2], allow_copy=True)
    assert empty is not None
    assert empty.tolist() == [None]


def test_strings_by_default() -> None:
    series = pd.Series(["a", None, "é"], name="s")
    assert read(series, allow_copy=True).tolist() == ["a", None, "é"]


def test_categories_of_text() -> None:
    series = pd.Series(["x", None, "y", "x"], dtype="category", name="c")
    column = read(series, allow_copy=True)
    assert (column.tolist(), column.ordered, column.name) == (["x", None, "y", "x"], False, "c")
    assert column.dictionary is not None
    assert column.dictionary.tolist() == ["x", "y"]
    assert read(NATIVE["category"][0]).ordered
    wide = pd.Series(pd.Categorical.from_codes([299, -1, 0], range(300)))
    assert read(wide).tolist() == [299, None, 0]
    assert read(wide).dtype.bits == 16


UNKNOWN = {
    "objects": pd.Series([1, "a", None], dtype=object),
    "no objects": pd.Series([None, None], dtype=object),
    "lists": pd.Series([[1], [2]]),
    "periods": pd.Series(pd.period_range("2020", periods=2, freq="D")),
    "intervals": pd.Series(pd.interval_range(0, 2)),
    "sparse": pd.Series(pd.arrays.SparseArray([0, 1])),
    "categories of intervals": pd.Series(pd.Categorical(pd.interval_range(0, 2))),
    "a zone without a name": times("ns", dt.timezone(dt.timedelta(seconds=90))),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_what_only_a_capsule_can_tell(name: str) -> None:
    assert from_series(UNKNOWN[name], allow_copy=True) is None
    assert from_frame(pd.DataFrame({"a": [1] * len(UNKNOWN[name]), "b": UNKNOWN[name]}), allow_copy=True) is None


@pytest.mark.parametrize("other", [[1], np.arange(3), pa.array([1]), "text", None])
def test_other_objects(other: Any) -> None:
    assert from_series(other, allow_copy=True) is None
    assert from_frame(other, allow_copy=True) is None


def test_another_pandas_may_keep_masks_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    series = pd.Series([1, None], dtype="Int64")
    monkeypatch.setattr(series.array, "_mask", None)
    assert from_series(series, allow_copy=True) is None


def test_what_raises_is_named() -> None:
    class Broken(pd.Series):  # type: ignore[misc]
        @property
        def array(self) -> Any:
            raise LookupError("lost")

    with pytest.raises(ProducerError, match="Broken: its array: the producer raised LookupError: lost"):
        from_series(Broken([1], dtype="Int64"), allow_copy=True)
