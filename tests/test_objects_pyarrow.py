"""Columns as Python objects are what pyarrow says: a table of every type, whole, cut, empty, all missing, in chunks."""

import decimal
import math
from typing import Any

import numpy as np
import pytest

from buflend.maximal import arrow_pyarrow, as_column

pytestmark = pytest.mark.peers
pa = pytest.importorskip("pyarrow")

POINT = pa.struct([("x", pa.int32()), ("y", pa.string())])
POINTS = [{"x": 1, "y": "a"}, None, {"x": None, "y": None}, {"x": 4, "y": "é"}, None]
LISTS = [[1, None], None, [], [3], [4, 5, 6]]
DECIMALS = [decimal.Decimal("1.25"), None, decimal.Decimal("-0.01"), decimal.Decimal("99.99"), None]
TEXT = ["a", None, "", "é☃", "more than twelve"]
BYTES = [b"\xff", None, b"", b"ab", b"more than twelve"]
UNIONS = [pa.array([0, 1, 1, 0, 1], pa.int8()), [pa.array([1, 2, 3, None, 5]), pa.array(["a", "b", None, "d", "e"])]]
DENSE = pa.array([0, 1, 0, 2, 1], pa.int32())

ARRAYS: dict[str, Any] = {
    "null": pa.nulls(5),
    "bool": pa.array([True, None, False, True, None]),
    **{
        str(kind): pa.array([1, None, 0, 127, 5], kind)
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
    },
    "half": pa.array(
        np.array([1.5, -0.0, 65504, math.inf, 0.1], "f2"), mask=np.array([False, True, False, False, False])
    ),
    "float": pa.array([1.5, None, 0.1, math.inf, -0.0], pa.float32()),
    "double": pa.array([1.5, None, 0.1, math.inf, -0.0]),
    **{
        f"decimal{bits}": pa.array(DECIMALS, kind)
        for bits, kind in {
            32: pa.decimal32(5, 2),
            64: pa.decimal64(9, 3),
            128: pa.decimal128(20, 4),
            256: pa.decimal256(50, 2),
        }.items()
    },
    "date32": pa.array([0, None, -1, 19782, 5], pa.int32()).cast(pa.date32()),
    "date64": pa.array([0, None, -86_400_000, 86_400_000, 0], pa.int64()).view(pa.date64()),
    "time32[s]": pa.array([0, None, 1, 86_399, 5], pa.int32()).view(pa.time32("s")),
    "time32[ms]": pa.array([0, None, 1, 86_399_999, 5], pa.int32()).view(pa.time32("ms")),
    "time64[us]": pa.array([0, None, 1, 2, 5], pa.int64()).view(pa.time64("us")),
    "time64[ns]": pa.array([0, None, 1, 2, 5], pa.int64()).view(pa.time64("ns")),
    **{
        str(kind): pa.array([0, None, -1, 10**9, 5], pa.int64()).view(kind)
        for unit in ("s", "ms", "us", "ns")
        for kind in (pa.timestamp(unit), pa.timestamp(unit, "Europe/Rome"), pa.duration(unit))
    },
    "month_day_nano": pa.array([(1, 2, 3), None, (0, 0, 0), (-1, -2, -3), (0, 1, 0)], pa.month_day_nano_interval()),
    **{str(kind): pa.array(TEXT, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    **{str(kind): pa.array(BYTES, kind) for kind in (pa.binary(), pa.large_binary(), pa.binary_view())},
    "fixed": pa.array([b"ab", None, b"\0\0", b"cd", b"ef"], pa.binary(2)),
    **{
        str(kind): pa.array(LISTS, kind)
        for kind in (
            pa.list_(pa.int64()),
            pa.large_list(pa.int16()),
            pa.list_view(pa.int32()),
            pa.large_list_view(pa.int64()),
        )
    },
    "list of text": pa.array([["a", None], None, [], [""], ["é"]], pa.list_(pa.string_view())),
    "fixed list": pa.array([[1, 2], None, [3, None], [5, 6], None], pa.list_(pa.int8(), 2)),
    "struct": pa.array(POINTS, POINT),
    "list of structs": pa.array([POINTS[:2], None, [], POINTS[2:], []], pa.list_(POINT)),
    "struct of lists": pa.array([{"a": one, "b": two} for one, two in zip(LISTS, TEXT, strict=True)]),
    "map": pa.array([[("a", 1), ("b", None)], None, [], [("c", 3)], [("d", 4)]], pa.map_(pa.string(), pa.int32())),
    "sparse union": pa.UnionArray.from_sparse(*UNIONS),
    "dense union": pa.UnionArray.from_dense(UNIONS[0], DENSE, UNIONS[1]),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 3, 5], pa.int32()), pa.array(["a", None, "b"])),
    "dictionary": pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1, 2], pa.int8()), pa.array(["x", "y", None])),
    "dictionary of structs": pa.DictionaryArray.from_arrays(pa.array([0, None, 1, 1, 0]), pa.array(POINTS[:2], POINT)),
    "uuid": pa.array([bytes(range(16)), None, bytes(16), bytes(16), None], pa.uuid()),
}


def truth(array: Any) -> list[Any]:
    """Return what pyarrow says, but times as NumPy's and extension types as what they are stored as."""
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return truth(array.storage)
    if pa.types.is_interval(kind):
        return [None if value is None else tuple(value) for value in array.to_pylist()]
    if not pa.types.is_temporal(kind):
        return list(array.to_pylist())
    unit = getattr(kind, "unit", "D" if kind == pa.date32() else "ms")
    time = np.timedelta64 if pa.types.is_time(kind) or pa.types.is_duration(kind) else np.datetime64
    stored = array.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
    return [None if value is None else time(value, unit) for value in stored]


def check(array: Any) -> None:
    found, expected = as_column(array).tolist(), truth(array)
    assert found == expected
    assert [type(value) for value in found] == [type(value) for value in expected]
    assert [str(value) for value in found] == [str(value) for value in expected]


@pytest.mark.parametrize("name", ARRAYS)
def test_whole_and_cut(name: str) -> None:
    array = ARRAYS[name]
    for start in range(len(array) + 1):
        for stop in range(start, len(array) + 1):
            check(array[start:stop])


@pytest.mark.parametrize("name", ARRAYS)
def test_all_missing_and_long(name: str) -> None:
    array = ARRAYS[name]
    repeated = pa.concat_arrays([array, array, array, array])  # masks beyond one byte
    check(repeated)
    check(repeated[7:19])
    check(pa.concat_arrays([array[1:2]] * 9))
    if not pa.types.is_union(array.type) and not pa.types.is_run_end_encoded(array.type):
        check(pa.nulls(9, array.type))


@pytest.mark.parametrize("name", ARRAYS)
def test_in_chunks(name: str) -> None:
    array = ARRAYS[name]
    chunked = pa.chunked_array([array[3:], array[:0], array[1:2], array])
    expected = [value for chunk in chunked.chunks for value in truth(chunk)]
    found = as_column(chunked).tolist()
    assert found == expected
    assert as_column(chunked)[1:5].tolist() == expected[1:5]


# Within lists pyarrow gives times and extension types as Python's own; alone they are compared above.
MEMBERS = [
    name
    for name, array in ARRAYS.items()
    if not pa.types.is_temporal(array.type) and not isinstance(array.type, pa.BaseExtensionType)
]


@pytest.mark.parametrize("name", MEMBERS)
def test_as_members(name: str) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 2, 2, 5], pa.int32()), ARRAYS[name])
    structs = pa.StructArray.from_arrays([ARRAYS[name][1:4], lists], ["one", "two"])
    for made in (lists, structs):
        for start in range(4):
            check(made[start:])


@pytest.mark.parametrize("name", ["null", "int32", "bool", "string_view"])
def test_no_type_is_asked_for_again_with_each_chunk(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    to_field = arrow_pyarrow.to_field
    monkeypatch.setattr(arrow_pyarrow, "to_field", lambda field: asked.append(field) or to_field(field))
    counts = []
    for chunks in (2, 20):
        array = pa.chunked_array([ARRAYS[name]] * chunks)
        assert pa.chunked_array(as_column(array)).equals(array)
        counts.append(len(asked))
        asked.clear()
    assert counts[0] == counts[1] > 0
