"""Columns and tables out by Arrow's capsules: requests, what a schema says beside the type, returns, large ones.

Each way: capsules that pyarrow makes, and those of our own callbacks.
"""

import gc
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from buflend.maximal import (
    Column,
    Table,
    arrow_pyarrow,
    as_buffer,
    as_column,
    as_table,
    dataframe_to_ndarrays,
    live_exports,
)
from buflend.shared import arrow_export
from buflend.shared.arrow_release import flush

from .every_type import SHAPES, TYPES, plain, shaped
from .hand import column, i32

pytestmark = pytest.mark.peers
pa = pytest.importorskip("pyarrow")

WAYS = ["pyarrow", "callbacks"]
METHODS = ["__arrow_c_array__", "__arrow_c_device_array__", "__arrow_c_stream__"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "callbacks":
        monkeypatch.setattr(arrow_pyarrow, "is_loaded", lambda: False)
    return str(request.param)


@pytest.fixture(autouse=True)
def _all_is_returned() -> Iterator[None]:
    gc.collect()
    flush()
    before = len(arrow_export._live)
    yield
    gc.collect()
    flush()
    assert len(arrow_export._live) == before, "a struct was not released"
    assert [one for one in live_exports() if one.kind == "arrow"] == []


def take(method: str, given: Any) -> Any:
    """Import capsules as pyarrow does, without a look at the object."""
    if method == "__arrow_c_stream__":
        return pa.ChunkedArray._import_from_c_capsule(given)
    if method == "__arrow_c_array__":
        return pa.Array._import_from_c_capsule(*given)
    return pa.Array._import_from_c_device_capsule(*given)


@pytest.mark.parametrize("method", METHODS)
class TestRequestedSchema:
    def test_the_same_type(self, method: str, way: str) -> None:
        for name in ("int64", "string", "list", "struct", "dictionary", "runs"):
            array, values = shaped(name, "sliced")
            given = getattr(as_column(array), method)(array.type.__arrow_c_schema__())
            taken = take(method, given)
            assert taken.type == array.type, (name, way)
            assert taken.to_pylist() == values

    def test_another_type_is_cast_by_pyarrow_or_left_aside(self, method: str, way: str) -> None:
        numbers = as_column(np.array([1, -2, 3]))
        for wanted, expected in (
            (pa.int8(), [1, -2, 3]),
            (pa.string(), ["1", "-2", "3"]),
            (pa.float32(), [1.0, -2.0, 3.0]),
        ):
            taken = take(method, getattr(numbers, method)(wanted.__arrow_c_schema__()))
            cast = way == "pyarrow"
            assert taken.type == (wanted if cast else pa.int64())
            assert taken.to_pylist() == (expected if cast else [1, -2, 3])
        views = take(method, getattr(as_column(pa.array(["a"])), method)(pa.string_view().__arrow_c_schema__()))
        assert views.to_pylist() == ["a"]

    @pytest.mark.usefixtures("way")
    def test_another_number_of_fields_is_refused(self, method: str) -> None:
        numbers = as_column(np.array([1]))
        for wanted in (pa.struct([("a", pa.int64())]), pa.list_(pa.int64())):
            with pytest.raises(TypeError, match="requested_schema"):
                getattr(numbers, method)(wanted.__arrow_c_schema__())
        table = as_table({"a": np.array([1]), "b": np.array([2])})
        for wanted in (pa.schema([("a", pa.int64())]), pa.int64()):
            with pytest.raises(TypeError, match="requested_schema"):
                getattr(table, method)(wanted.__arrow_c_schema__())

    def test_of_a_table(self, method: str, way: str) -> None:
        table = as_table({"a": np.array([1, 2]), "b": np.array([0.5, 1.5])})
        wanted = pa.struct([("a", pa.int16()), ("b", pa.float32())])
        taken = take(method, getattr(table, method)(wanted.__arrow_c_schema__()))
        assert taken.to_pylist() == [{"a": 1, "b": 0.5}, {"a": 2, "b": 1.5}]
        assert taken.type == (wanted if way == "pyarrow" else pa.struct([("a", pa.int64()), ("b", pa.float64())]))

    @pytest.mark.usefixtures("way")
    def test_a_value_that_does_not_fit_is_not_cut(self, method: str) -> None:
        numbers = as_column(np.array([1, 300]))
        try:
            taken = take(method, getattr(numbers, method)(pa.int8().__arrow_c_schema__()))
        except ValueError as error:
            assert "300" in str(error)  # noqa: PT017 - either is best effort
        else:
            assert taken.to_pylist() == [1, 300]


class TestRequestsOfPeers:
    def test_the_type_that_pyarrow_is_asked_for(self) -> None:
        class Alone:  # without __arrow_array__, which pyarrow would take
            def __arrow_c_array__(self, requested_schema: object = None) -> object:
                return as_column(np.array([1, 2])).__arrow_c_array__(requested_schema)

        assert pa.array(Alone(), type=pa.int16()).to_pylist() == [1, 2]
        assert pa.array(as_column(np.array([1, 2])), type=pa.int16()).type == pa.int16()

    @pytest.mark.usefixtures("way")
    def test_nanoarrow(self) -> None:
        na: Any = pytest.importorskip("nanoarrow")
        taken = na.c_array(as_column(np.array([1, 2], "i4")), na.int32())
        assert na.Array(taken).to_pylist() == [1, 2]


MADE_UP = {b"ARROW:extension:name": b"made.up", b"ARROW:extension:metadata": b"\xff\0 not text", b"more": "ž".encode()}
SCHEMA = pa.schema(
    [
        pa.field("", pa.int8(), nullable=False),
        pa.field("žluť ☃", pa.string(), metadata={"unit": "m", "empty": ""}),
        pa.field("made up", pa.binary(2), metadata=MADE_UP),
        pa.field("uuid", pa.uuid(), nullable=False),
        pa.field("ordered", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        pa.field("plain", pa.dictionary(pa.int8(), pa.string())),
        pa.field("inner", pa.struct([pa.field("k", pa.int8(), nullable=False, metadata={"deep": "yes"})])),
        pa.field("list", pa.list_(pa.field("element", pa.int8(), nullable=False))),
        pa.field("map", pa.map_(pa.string(), pa.field("value", pa.int8(), nullable=False), keys_sorted=True)),
        pa.field("zone", pa.timestamp("us", "+01:30")),
    ],
    metadata={"whole": "table", b"bytes": b"\xfe"},
)


def one_row() -> Any:
    given: list[Any] = [1, "a", b"ab", uuid.UUID(int=7).bytes, "x", "x", {"k": 1}, [1], [("k", 1)], 0]
    columns = []
    for value, field in zip(given, SCHEMA, strict=True):
        if isinstance(field.type, pa.BaseExtensionType):
            columns.append(pa.ExtensionArray.from_storage(field.type, pa.array([value], field.type.storage_type)))
        elif pa.types.is_dictionary(field.type):
            columns.append(pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), ["x"], ordered=field.type.ordered))
        else:
            columns.append(pa.array([value], field.type))
    return pa.table(columns, schema=SCHEMA)


@pytest.mark.usefixtures("way")
class TestWhatASchemaSays:
    def test_of_a_table(self) -> None:
        source = one_row()
        table = as_table(source)
        for made in (table, table[:0], table.select_columns(range(10))):
            taken = pa.table(made)
            assert taken.schema.equals(SCHEMA, check_metadata=True)
            assert pa.schema(made).equals(SCHEMA, check_metadata=True)
        assert pa.table(table).equals(source, check_metadata=True)

    def test_of_its_columns(self) -> None:
        table = as_table(one_row())
        for one, field in zip(table.columns, SCHEMA, strict=True):
            taken = pa.field(one)
            assert taken.equals(field, check_metadata=True), field.name
            schema, _ = one.__arrow_c_array__()
            assert pa.Field._import_from_c_capsule(schema).equals(field, check_metadata=True), field.name
            assert (one.name, one.nullable, one.ordered) == (field.name, field.nullable, field.name == "ordered")

    def test_said_by_us(self) -> None:
        table = as_table(one_row())
        assert table["žluť ☃"].metadata == {"unit": "m", "empty": ""}
        assert table["made up"].metadata["ARROW:extension:name"] == "made.up"
        assert table["uuid"].metadata["ARROW:extension:name"] == "arrow.uuid"
        assert table["inner"].children[0].metadata == {"deep": "yes"}
        assert table["uuid"].tolist() == [uuid.UUID(int=7).bytes]

    def test_of_a_column_made_by_hand(self) -> None:
        made = column("w:2", 1, data=b"ab", name="n", metadata={"ARROW:extension:name": "made.up", "a": "b"})
        field = pa.field(made)
        assert (field.name, field.type, field.nullable) == ("n", pa.binary(2), True)
        assert field.metadata == {b"ARROW:extension:name": b"made.up", b"a": b"b"}

    def test_other_peers_keep_what_they_can(self) -> None:
        table = as_table(one_row())
        na: Any = pytest.importorskip("nanoarrow")
        found = na.Schema(table)
        assert [field.name for field in found.fields] == SCHEMA.names
        assert [field.nullable for field in found.fields] == [field.nullable for field in SCHEMA]
        core: Any = pytest.importorskip("arro3.core")
        # It refuses metadata that are no text, and drops the order of categories.
        kept = [field for field in SCHEMA if field.name != "made up"]
        part = as_table(pa.table(table).select([field.name for field in kept]).replace_schema_metadata(None))
        seen = list(pa.schema(core.Schema.from_arrow(part)))
        says = [[(field.name, field.nullable, field.metadata or None) for field in fields] for fields in (seen, kept)]
        assert says[0] == says[1]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.usefixtures("way")
def test_every_capsule_is_returned_used_or_not(name: str) -> None:
    for shape in SHAPES:
        array, _ = shaped(name, shape)
        made = as_column(array)
        table = as_table(pa.table({"x": array}))
        for obj in (made, table):
            for method in ("__arrow_c_schema__", *METHODS):
                if not hasattr(obj, method):
                    continue
                getattr(obj, method)()  # nobody takes it
                given = getattr(obj, method)()
                if method != "__arrow_c_schema__":
                    taken = take(method, given)
                    assert taken.nbytes >= 0
                    del taken
                del given
        del made, table, obj
    # The fixture sees that nothing is left.


def test_memory_is_returned_when_the_last_export_goes() -> None:
    before = pa.total_allocated_bytes()
    for way in WAYS:
        table = as_table(pa.table({"n": pa.array(range(10_000)), "t": pa.array(["text"] * 10_000)}))
        with pytest.MonkeyPatch.context() as patched:
            if way == "callbacks":
                patched.setattr(arrow_pyarrow, "is_loaded", lambda: False)
            taken = pa.table(table)
        del table
        assert pa.total_allocated_bytes() - before > 120_000
        del taken
        gc.collect()
        flush()
        assert pa.total_allocated_bytes() == before, way


# Large ones: calls and time grow as the number of columns and of chunks does.


def wide(count: int) -> Any:
    return pa.table({f"c{i}": pa.array([i, None, -i]) for i in range(count)})


def long(count: int) -> Any:
    numbers = pa.chunked_array([[i, i + 1] for i in range(0, 2 * count, 2)])
    texts = pa.chunked_array([[str(i)] if i % 2 else [str(i), str(i), str(i)] for i in range(count)])
    return pa.table({"n": numbers, "t": texts.slice(0, 2 * count)})


def hand_over(source: Any) -> Table:
    table = as_table(source)
    taken = pa.table(table)
    assert taken.num_rows == len(table)
    assert len(list(table.get_chunks())) == table.num_chunks()
    assert [table[name] for name in table.column_names()] == list(table.columns)
    assert len(table[1:-1]) == len(table) - 2
    return table


def read(source: Any) -> None:
    table = hand_over(source)
    assert len(dataframe_to_ndarrays(table)) == table.num_columns()
    assert len(table.tolist()) == len(table)


def calls(source: Any) -> int:
    counted = 0

    def count(_: object, event: str, __: object) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    gc.disable()
    sys.setprofile(count)
    try:
        read(source)
    finally:
        sys.setprofile(None)
        gc.enable()
    return counted


def seconds(source: Any) -> float:
    start = time.perf_counter()
    hand_over(source)
    return time.perf_counter() - start


LARGE = pytest.mark.parametrize("make", [wide, long], ids=["columns", "chunks"])


@LARGE
@pytest.mark.usefixtures("way")
def test_twice_as_many_take_twice_as_many_calls(make: Callable[[int], Any]) -> None:
    read(make(5))  # what is imported and remembered once
    assert calls(make(400)) < 2.2 * calls(make(200))


@LARGE
def test_twice_as_many_take_twice_as_long(make: Callable[[int], Any]) -> None:
    count = 500 if make is wide else 2000
    small = min(seconds(make(count)) for _ in range(2))
    assert min(seconds(make(2 * count)) for _ in range(2)) < 3.5 * small + 0.1


def test_values_of_a_thousand_columns_and_of_ten_thousand_chunks() -> None:
    back = as_table(pa.table(as_table(wide(1000))))
    assert [one.tolist() for one in back.columns] == [[i, None, -i] for i in range(1000)]
    source = long(10_000)
    table = as_table(source)
    back = as_table(pa.table(table))
    expected = [str(i) for i in range(10_000) for _ in range(1 if i % 2 else 3)]
    for one in (table, back):
        assert one["n"].tolist() == list(range(20_000))
        assert one["t"].tolist() == expected
    middle = table[9_999:10_002]
    assert middle.tolist() == [{"n": n, "t": expected[n]} for n in range(9_999, 10_002)]


def test_columns_whose_type_pyarrow_lacks_go_out_by_our_own_capsules() -> None:
    months = column("tiM", 2, data=i32(1, -2))
    na: Any = pytest.importorskip("nanoarrow")
    assert na.c_schema(months).format == "tiM"
    schema, array = months.__arrow_c_array__()
    assert schema is not None
    assert as_column(na.c_array(months)).tolist() == [1, -2]
    assert as_table(Table({"m": months}))["m"].tolist() == [1, -2]
    stream = na.c_array_stream(Table({"m": months}))
    assert as_table(stream)["m"].tolist() == [1, -2]
    del array


def test_half_filled_pieces_are_plain_in_pyarrow() -> None:
    """No column of ours crashes pyarrow: buffers that nobody needs are never NULL."""
    for kind in ("u", "U", "z", "vu", "vz"):
        for size in (0, 3):
            parts: dict[str, Any] = {"data": as_buffer(bytes(16 * size))} if kind[0] == "v" and size else {}
            if size and kind[0] != "v":
                parts["offsets"] = as_buffer(bytes(8 * (size + 1)))
            made = Column(kind, size, **parts)
            taken = pa.array(made)
            taken.validate(full=True)
            assert plain(taken.to_pylist()) == plain([b"" if "z" in kind else ""] * size)
