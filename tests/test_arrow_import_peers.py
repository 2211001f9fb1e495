"""Arrow in, from each peer: values, layouts and lifetimes of what real producers send.

Values are compared with what was put in. Each column is also kept alone, after its table and its neighbours are gone.
"""

import ctypes
import datetime as dt
import decimal
import gc
import struct
from itertools import pairwise
from typing import Any

import pytest

from buflend.shared.arrow_import import Imported, read_array, read_device_array, read_schema, read_stream

pytestmark = pytest.mark.peers

NUMBERS = [1, -2, 3, 4, 5]
TEXTS = ["a", "", "a text of more than twelve bytes", "dé", "e"]

CODES = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d", "e": "e"}


def numbers(array: Imported) -> list[Any]:
    """Return the values of numbers or indices, None where one is missing."""
    code = CODES[array.field.format]
    address, size = array.buffers["data"]
    values = struct.unpack(f"={size // struct.calcsize(code)}{code}", ctypes.string_at(address, size))
    return [value if valid else None for value, valid in zip(values[array.offset :], present(array), strict=True)]


def present(array: Imported) -> list[bool]:
    if "validity" not in array.buffers:
        return [True] * array.length
    bits = int.from_bytes(ctypes.string_at(*array.buffers["validity"]), "little") >> array.offset
    return [bool(bits >> i & 1) for i in range(array.length)]


def texts(array: Imported) -> list[str]:
    if array.field.format == "vu":
        return [view_text(array, i) for i in range(array.offset, array.offset + array.length)]
    code = {"u": "i", "U": "q"}[array.field.format]
    address, size = array.buffers["offsets"]
    ends = struct.unpack(f"={size // struct.calcsize(code)}{code}", ctypes.string_at(address, size))[array.offset :]
    data = ctypes.string_at(*array.buffers["data"])
    return [data[start:end].decode() for start, end in pairwise(ends)]


def view_text(array: Imported, i: int) -> str:
    raw = ctypes.string_at(array.buffers["data"][0] + 16 * i, 16)
    (size,) = struct.unpack_from("=i", raw)
    if size <= 12:
        return raw[4 : 4 + size].decode()
    buffer, offset = struct.unpack_from("=ii", raw, 8)
    address, most = array.variadic[buffer]
    assert offset + size <= most
    return ctypes.string_at(address + offset, size).decode()


def values(array: Imported) -> list[Any]:
    return numbers(array) if array.field.format in CODES else texts(array)


def columns(obj: Any) -> dict[str, list[Imported]]:
    """Return the columns of a table, as lists of chunks."""
    if hasattr(obj, "__arrow_c_stream__"):
        field, chunks = read_stream(obj.__arrow_c_stream__())
    else:
        chunks = [read_array(*obj.__arrow_c_array__())]
        field = chunks[0].field
    assert all(chunk.field == field for chunk in chunks)
    return {child.name: [chunk.children[i] for chunk in chunks] for i, child in enumerate(field.children)}


def of_pyarrow(*, batch: bool = False) -> Any:
    pa = pytest.importorskip("pyarrow")
    data = {"n": pa.array(NUMBERS), "t": pa.array(TEXTS), "v": pa.array(TEXTS, pa.string_view())}
    return pa.record_batch(data) if batch else pa.table(data)


def of_pandas() -> Any:
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pandas").DataFrame({"n": NUMBERS, "t": TEXTS})


def of_nanoarrow() -> Any:
    na = pytest.importorskip("nanoarrow")
    parts = [na.c_array(NUMBERS, na.int64()), na.c_array(TEXTS, na.string())]
    return na.c_array_from_buffers(na.struct({"n": na.int64(), "t": na.string()}), 5, [None], children=parts)


def of_arro3() -> Any:
    core = pytest.importorskip("arro3.core")
    na = pytest.importorskip("nanoarrow")
    parts = {"n": na.c_array(NUMBERS, na.int64()), "t": na.c_array(TEXTS, na.string())}
    return core.RecordBatch.from_pydict({name: core.Array.from_arrow(part) for name, part in parts.items()})


def of_polars() -> Any:
    return pytest.importorskip("polars").DataFrame({"n": NUMBERS, "t": TEXTS})


def of_duckdb() -> Any:
    rows = ", ".join(f"({number}::BIGINT, '{text}')" for number, text in zip(NUMBERS, TEXTS, strict=True))
    return pytest.importorskip("duckdb").sql(f"SELECT * FROM (VALUES {rows}) AS x(n, t)")  # noqa: S608 - constants


SOURCES = {
    "pyarrow": of_pyarrow,
    "pyarrow batch": lambda: of_pyarrow(batch=True),
    "pandas": of_pandas,
    "nanoarrow": of_nanoarrow,
    "arro3": of_arro3,
    "polars": of_polars,
    "duckdb": of_duckdb,
}
EXPECTED: dict[str, list[Any]] = {"n": NUMBERS, "t": TEXTS, "v": TEXTS}


def joined(chunks: list[Imported]) -> list[Any]:
    return [value for chunk in chunks for value in values(chunk)]


@pytest.mark.parametrize("source", SOURCES)
def test_values(source: str) -> None:
    found = columns(SOURCES[source]())
    assert {name: joined(chunks) for name, chunks in found.items()} == {name: EXPECTED[name] for name in found}
    assert set(found) >= {"n", "t"}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("kept", ["n", "t"])
def test_a_column_lives_without_its_table(source: str, kept: str) -> None:
    for _ in range(5):
        found = columns(SOURCES[source]())
        chunks = found.pop(kept)
        owners = {id(chunk.owner) for rest in found.values() for chunk in rest}
        assert not owners & {id(chunk.owner) for chunk in chunks}
        del found
        gc.collect()
        rubbish = [bytearray(b"\xee" * size) for size in range(1, 600)]
        assert joined(chunks) == EXPECTED[kept]
        del rubbish


def test_each_column_of_pyarrow_returns_its_memory_alone() -> None:
    pa = pytest.importorskip("pyarrow")
    size = 2**20
    before = pa.total_allocated_bytes()
    table = pa.table({name: pa.array(range(size)) for name in "abc"})
    each = (pa.total_allocated_bytes() - before) // 3
    found = columns(table)
    del table
    assert (pa.total_allocated_bytes() - before) // each == 3
    for left in (2, 1, 0):
        found.popitem()
        assert (pa.total_allocated_bytes() - before) // each == left


def test_slices() -> None:
    pa = pytest.importorskip("pyarrow")
    for obj in (of_pyarrow().slice(1, 3), of_pyarrow(batch=True).slice(1, 3)):
        assert {name: joined(chunks) for name, chunks in columns(obj).items()} == {
            name: each[1:4] for name, each in EXPECTED.items()
        }
    whole = pa.StructArray.from_arrays([pa.array([1, None, 3, 4]), pa.array(["a", "b", "c", "d"])], ["x", "y"])
    sliced = read_array(*whole.slice(1, 2).__arrow_c_array__())
    assert [values(child) for child in sliced.children] == [[None, 3], ["b", "c"]]
    assert sliced.children[0].null_count == -1
    with_nulls = pa.StructArray.from_arrays(
        [pa.array([1, 2, 3, 4]), pa.array(["a", "b", "c", "d"])], ["x", "y"], mask=pa.array([False, True, False, False])
    )
    array = read_array(*with_nulls.slice(1, 2).__arrow_c_array__())
    assert present(array) == [False, True]
    assert {id(child.owner) for child in array.children} == {id(array.owner)}
    # Without its null the slice is plain, and its children are cut.
    array = read_array(*with_nulls.slice(2, 2).__arrow_c_array__())
    assert [values(child)[-2:] for child in array.children] == [[3, 4], ["c", "d"]]


def types_of_pyarrow(pa: Any) -> list[tuple[Any, str, list[Any]]]:
    day = dt.date(2020, 1, 2)
    time = dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    naive = time.replace(tzinfo=None)
    number = decimal.Decimal("1.25")
    return [
        (pa.null(), "n", [None, None]),
        (pa.bool_(), "b", [True, None]),
        (pa.int8(), "c", [1, None]),
        (pa.uint8(), "C", [1, None]),
        (pa.int16(), "s", [1, None]),
        (pa.uint16(), "S", [1, None]),
        (pa.int32(), "i", [1, None]),
        (pa.uint32(), "I", [1, None]),
        (pa.int64(), "l", [1, None]),
        (pa.uint64(), "L", [1, None]),
        (pa.float16(), "e", [1.5, None]),
        (pa.float32(), "f", [1.5, None]),
        (pa.float64(), "g", [1.5, None]),
        (pa.decimal32(5, 2), "d:5,2,32", [number, None]),
        (pa.decimal64(5, 2), "d:5,2,64", [number, None]),
        (pa.decimal128(5, 2), "d:5,2", [number, None]),
        (pa.decimal256(5, 2), "d:5,2,256", [number, None]),
        (pa.date32(), "tdD", [day, None]),
        (pa.date64(), "tdm", [day, None]),
        (pa.time32("s"), "tts", [time.time(), None]),
        (pa.time32("ms"), "ttm", [time.time(), None]),
        (pa.time64("us"), "ttu", [time.time(), None]),
        (pa.time64("ns"), "ttn", [time.time(), None]),
        (pa.timestamp("s"), "tss:", [naive, None]),
        (pa.timestamp("ns", "Europe/Paris"), "tsn:Europe/Paris", [time, None]),
        (pa.duration("ms"), "tDm", [dt.timedelta(1), None]),
        (pa.month_day_nano_interval(), "tin", [pa.MonthDayNano([1, 2, 3]), None]),
        (pa.string(), "u", ["ab", None]),
        (pa.large_string(), "U", ["ab", None]),
        (pa.binary(), "z", [b"ab", None]),
        (pa.large_binary(), "Z", [b"ab", None]),
        (pa.string_view(), "vu", ["a text of more than 12 bytes", None]),
        (pa.binary_view(), "vz", [b"a text of more than 12 bytes", None]),
        (pa.binary(3), "w:3", [b"abc", None]),
        (pa.list_(pa.int8()), "+l", [[1, 2], None]),
        (pa.large_list(pa.int8()), "+L", [[1, 2], None]),
        (pa.list_view(pa.int8()), "+vl", [[1, 2], None]),
        (pa.large_list_view(pa.int8()), "+vL", [[1, 2], None]),
        (pa.list_(pa.int8(), 2), "+w:2", [[1, 2], None]),
        (pa.struct({"a": pa.int8(), "b": pa.string()}), "+s", [{"a": 1, "b": "x"}, None]),
        (pa.map_(pa.string(), pa.int8()), "+m", [[("a", 1)], None]),
        (pa.dictionary(pa.int8(), pa.string()), "c", ["a", None]),
    ]


def test_every_type_of_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow")
    for kind, text, given in types_of_pyarrow(pa):
        for array in [pa.array(given, kind), pa.array(given[:1], kind), pa.array([], kind), pa.array(given, kind)[1:]]:
            found = read_array(*array.__arrow_c_array__())
            assert (found.field.format, found.length) == (text, len(array)), kind
            assert found.null_count in {-1, array.null_count}
            assert len(found.children) == kind.num_fields
            device = read_device_array(*array.__arrow_c_device_array__())
            assert device.device == (1, 0)
            assert (device.length, device.buffers.keys()) == (found.length, found.buffers.keys())
            if len(array) and kind.num_fields == 0 and not pa.types.is_dictionary(kind):
                expected = [each.address if each else None for each in array.buffers()]
                addresses = [address for address, _ in [*found.buffers.values(), *found.variadic]]
                assert addresses == [address for address in expected if address]
                sizes = [size for _, size in [*found.buffers.values(), *found.variadic]]
                for size, buffer in zip(sizes, [each for each in array.buffers() if each], strict=True):
                    assert size <= buffer.size


def test_unions_and_runs_of_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow")
    ids = pa.array([0, 1, 0], pa.int8())
    parts = [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    sparse = pa.UnionArray.from_sparse(ids, parts)
    dense = pa.UnionArray.from_dense(ids, pa.array([0, 0, 1], pa.int32()), parts)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["a", "b"]))
    for array, text in [(sparse, "+us:0,1"), (dense, "+ud:0,1"), (runs, "+r")]:
        for each in (array, array[1:], array[:0], array[1:2]):
            found = read_array(*each.__arrow_c_array__())
            assert (found.field.format, found.length, found.null_count) == (text, len(each), 0)


def test_metadata_and_extensions_of_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow")
    schema = pa.schema([pa.field("a", pa.uuid(), metadata={"k": "v"})], metadata={"whole": "table"})
    field = read_schema(schema.__arrow_c_schema__())
    assert field.metadata == struct.pack("=ii5si5s", 1, 5, b"whole", 5, b"table")
    (child,) = field.children
    assert (child.format, child.name) == ("w:16", "a")
    assert child.metadata is not None
    for part in (b"k", b"v", b"ARROW:extension:name", b"arrow.uuid"):
        assert struct.pack("=i", len(part)) + part in child.metadata


def test_dictionaries_of_peers() -> None:
    pa = pytest.importorskip("pyarrow")
    array = pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1], pa.int8()), ["a", "b"], ordered=True)
    found = read_array(*array.slice(1).__arrow_c_array__())
    assert found.field.flags & 1
    assert numbers(found) == [0, None, 1]
    assert found.dictionary is not None
    assert texts(found.dictionary) == ["a", "b"]
    pl = pytest.importorskip("polars")
    series = pl.Series("x", ["a", "b", "a"], dtype=pl.Categorical)
    field, (chunk,) = read_stream(series.__arrow_c_stream__())
    assert field.dictionary is not None
    assert chunk.dictionary is not None
    names = texts(chunk.dictionary)
    assert [names[index] for index in numbers(chunk)] == ["a", "b", "a"]


def test_views_of_polars_and_duckdb_batches() -> None:
    pl = pytest.importorskip("polars")
    series = pl.Series("x", TEXTS * 100)
    assert [value for chunk in read_stream(series[7:].__arrow_c_stream__())[1] for value in texts(chunk)] == (
        TEXTS * 100
    )[7:]
    duckdb = pytest.importorskip("duckdb")
    found = columns(duckdb.sql("SELECT range AS n, range::VARCHAR AS t FROM range(300000)"))
    chunks = found.pop("t")
    del found
    gc.collect()
    assert joined(chunks) == [str(i) for i in range(300000)]


def test_imports_leave_nothing() -> None:
    pa = pytest.importorskip("pyarrow")
    table, batch = of_pyarrow(), of_pyarrow(batch=True)
    before = pa.total_allocated_bytes()
    for _ in range(2000):
        read_stream(table.__arrow_c_stream__())
        read_array(*batch.__arrow_c_array__())
    gc.collect()
    assert pa.total_allocated_bytes() == before
