"""Arrow streams out by callbacks of our own, in every consumer that is installed: values, chunks, release, refusals."""

import contextlib
import ctypes
import gc
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from buflend.shared import arrow_export
from buflend.shared.arrow_c import NULLABLE, Data, Field
from buflend.shared.arrow_export import array_capsule, schema_capsule
from buflend.shared.arrow_stream_export import stream_capsule

from .only import Owner

pytestmark = pytest.mark.peers

X, T = Field("l", "x", NULLABLE), Field("u", "t", NULLABLE)
TABLE = Field("+s", children=(X, T))
CHUNKS = [[(1, "one"), (None, "two"), (3, None)], [(4, "vier")], [(5, ""), (-6, None)]]
ROWS = [row for chunk in CHUNKS for row in chunk]


class Producer:
    """A table of `CHUNKS`, or its first column; whose stream is made anew at each call, or once."""

    def __init__(
        self, *, table: bool = True, once: bool = False, field: Field | None = None, chunks: list[Data] | None = None
    ) -> None:
        self.returned: list[int] = []
        self.lent = 0
        self.table = table
        self.field = field or (TABLE if table else X)
        self.chunks = chunks
        self.capsule = self.make() if once else None

    def lend(self, content: bytes) -> tuple[int, Owner]:
        owner = Owner(self.returned, content)
        self.lent += 1
        return owner.address, owner

    def column(self, values: list[Any]) -> Data:
        missing = values.count(None)
        bits = sum(1 << i for i, value in enumerate(values) if value is not None)
        validity = self.lend(bytes([bits])) if missing else None
        if all(isinstance(value, int | None) for value in values):
            content = struct.pack(f"={len(values)}q", *(value or 0 for value in values))
            return Data(len(values), (validity, self.lend(content)), missing)
        texts = [(value or "").encode() for value in values]
        ends = [sum(map(len, texts[:i])) for i in range(len(texts) + 1)]
        offsets = struct.pack(f"={len(ends)}i", *ends)
        return Data(len(values), (validity, self.lend(offsets), self.lend(b"".join(texts) + b"\0")), missing)

    def make(self) -> object:
        chunks = self.chunks
        if chunks is None:
            columns = [[self.column([row[i] for row in rows]) for i in range(1 + self.table)] for rows in CHUNKS]
            chunks = [
                Data(each[0].length, (None,), children=tuple(each)) if self.table else each[0] for each in columns
            ]
        return stream_capsule(self.field, chunks)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        del requested_schema
        return self.make() if self.capsule is None else self.capsule


@pytest.fixture(autouse=True)
def _all_is_released() -> Iterator[None]:
    arrow_export.flush()
    yield
    gc.collect()
    arrow_export.flush()
    assert not arrow_export._live, "something was not released"


def _duckdb(duckdb: Any, lent: Any) -> Any:
    with contextlib.closing(duckdb.connect()) as connection:
        rows = connection.sql("select * from lent").fetchall()
    del lent
    return rows


def _rows_of_nanoarrow(array: Any) -> list[Any]:
    return [tuple(row.values()) if isinstance(row, dict) else row for row in array.to_pylist()]


class Consumer(NamedTuple):
    """How a library takes a table and what its rows are; the same of a column; whether it keeps what it took."""

    module: str
    take: Callable[[Any, Any], Any]
    rows: Callable[[Any], list[Any]]
    column: Callable[[Any, Any], Any] | None
    values: Callable[[Any], list[Any]] | None
    chunks: Callable[[Any], list[int]] | None = None
    copies: bool = False


CONSUMERS = {
    "pyarrow": Consumer(
        "pyarrow",
        lambda pa, o: pa.table(o),
        lambda t: [tuple(row.values()) for row in t.to_pylist()],
        lambda pa, o: pa.chunked_array(o),
        lambda c: c.to_pylist(),
        lambda t: [chunk.num_rows for chunk in t.to_batches()],
    ),
    "nanoarrow": Consumer(
        "nanoarrow",
        lambda na, o: na.Array(o),
        _rows_of_nanoarrow,
        lambda na, o: na.Array(o),
        _rows_of_nanoarrow,
        lambda a: [chunk.length for chunk in a.iter_chunk_views()],
    ),
    "polars": Consumer(
        "polars",
        lambda pl, o: pl.DataFrame(o),
        lambda d: d.rows(),
        lambda pl, o: pl.Series(o),
        lambda s: s.to_list(),
    ),
    "duckdb": Consumer("duckdb", _duckdb, lambda rows: rows, None, None, copies=True),
    "arro3": Consumer(
        "arro3.core",
        lambda a, o: a.Table(o),
        lambda t: list(zip(*(t.column(i).to_pylist() for i in range(2)), strict=True)),
        lambda a, o: a.ChunkedArray(o),
        lambda c: c.to_pylist(),
        lambda t: [batch.num_rows for batch in t.to_batches()],
    ),
}


@pytest.fixture(params=CONSUMERS)
def consumer(request: pytest.FixtureRequest) -> tuple[Any, Consumer]:
    how = CONSUMERS[request.param]
    if how.module == "duckdb":
        pytest.importorskip("pyarrow")
    return pytest.importorskip(how.module), how


def plain(values: list[Any]) -> list[Any]:
    """Return Python's values: arro3 gives scalars of its own."""
    return [tuple(map(_plain, value)) if isinstance(value, tuple) else _plain(value) for value in values]


def _plain(value: Any) -> Any:
    return value.as_py() if hasattr(value, "as_py") else value


def test_rows_chunks_and_release(consumer: tuple[Any, Consumer]) -> None:
    library, how = consumer
    producer = Producer()
    taken = how.take(library, producer)
    assert plain(how.rows(taken)) == ROWS
    if how.chunks:
        assert how.chunks(taken) == [3, 1, 2]
    arrow_export.flush()
    if not how.copies:
        assert producer.returned == [] or how.module == "polars", "what was made of the stream outlives it"
    assert plain(how.rows(taken)) == ROWS, "what was returned is poisoned"
    del taken
    gc.collect()
    arrow_export.flush()
    assert producer.returned == [1] * producer.lent


def test_a_column(consumer: tuple[Any, Consumer]) -> None:
    library, how = consumer
    if how.column is None or how.values is None:
        pytest.skip("duckdb reads tables only")
    producer = Producer(table=False)
    taken = how.column(library, producer)
    assert plain(how.values(taken)) == [x for x, _ in ROWS]
    del taken
    gc.collect()
    arrow_export.flush()
    assert producer.returned == [1] * producer.lent


def test_an_object_is_read_again(consumer: tuple[Any, Consumer]) -> None:
    library, how = consumer
    producer = Producer()
    for _ in range(2):
        assert plain(how.rows(how.take(library, producer))) == ROWS


def test_a_capsule_is_used_once(consumer: tuple[Any, Consumer]) -> None:
    library, how = consumer
    producer = Producer(once=True)
    if how.module != "duckdb":  # which asks twice in each query
        assert plain(how.rows(how.take(library, producer))) == ROWS
    else:
        library.connect().sql("select * from producer").fetchall()
    with pytest.raises(Exception, match=r"(?i)released|consumed") as refused:
        how.take(library, producer)
    assert not isinstance(refused.value, SystemError)
    del refused
    gc.collect()
    producer.capsule = None
    arrow_export.flush()
    assert producer.returned == [1] * producer.lent


READERS: dict[str, tuple[str, Callable[[Any, Any], Any], Callable[[Any], Any]]] = {
    "pyarrow": ("pyarrow", lambda pa, o: pa.RecordBatchReader.from_stream(o), lambda r: r.read_next_batch()),
    "nanoarrow": ("nanoarrow", lambda na, o: na.c_array_stream(o), lambda r: r.get_next()),
    "arro3": ("arro3.core", lambda a, o: a.RecordBatchReader.from_arrow(o), lambda r: r.read_next_batch()),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_reader_that_is_dropped_half_way(name: str, count: int) -> None:
    module, make, step = READERS[name]
    library = pytest.importorskip(module)
    producer = Producer()
    reader = make(library, producer)
    batches = [step(reader) for _ in range(count)]
    assert producer.returned == []
    assert [len(batch) if name == "nanoarrow" else batch.num_rows for batch in batches] == [3, 1, 2][:count]
    del reader
    arrow_export.flush()
    assert len(producer.returned) == producer.lent - sum([5, 3, 4][:count]), "chunks that were not taken"
    batches.clear()
    gc.collect()
    assert producer.returned == [1] * producer.lent


REFUSALS: dict[str, tuple[Field, str]] = {
    "format": (Field("+s", children=(Field("no format", "x"),)), r"(?i)no format"),
    "number of children": (TABLE, r"(?i)children|child|fields"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_refusal_keeps_its_words(consumer: tuple[Any, Consumer], what: str) -> None:
    library, how = consumer
    field, message = REFUSALS[what]
    if (how.module, what) == ("duckdb", "number of children"):
        pytest.skip("duckdb believes the number of children")
    producer = Producer(field=field, chunks=[])
    x = struct.pack("=3q", 1, 2, 3)
    producer.chunks = [Data(3, (None,), children=(Data(3, (None, producer.lend(x))),))]

    def take() -> None:
        if how.module == "pyarrow":  # `pa.table` drops its reader with the error set, which no callback survives
            kept.append(library.RecordBatchReader.from_stream(producer))
            kept[0].read_all()
        else:
            how.rows(how.take(library, producer))

    kept: list[Any] = []
    with pytest.raises(BaseException, match=message) as refused:  # a panic is no Exception
        take()
    assert not isinstance(refused.value, SystemError)
    producer.chunks = None
    kept.clear()
    del refused
    gc.collect()
    arrow_export.flush()
    assert producer.returned == [1]


def test_pyarrow_refuses_a_stream_of_arrays_as_a_table() -> None:
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(pa.ArrowInvalid, match="non-struct type"):
        pa.table(Producer(table=False))


def test_a_failing_table_neither_aborts_nor_leaks() -> None:
    pa = pytest.importorskip("pyarrow")
    for _ in range(5):
        with pytest.raises((pa.ArrowInvalid, OSError, SystemError)):
            pa.table(Producer(field=TABLE, chunks=[Data(0, (None,))]))


def metadata(**pairs: str) -> bytes:
    """Return the bytes of `ArrowSchema.metadata`, by the specification."""
    raw = struct.pack("=i", len(pairs))
    for text in (each for pair in pairs.items() for each in pair):
        raw += struct.pack("=i", len(text.encode())) + text.encode()
    return raw


def test_metadata_arrives_in_pyarrow() -> None:
    pa = pytest.importorskip("pyarrow")
    extension = metadata(**{"ARROW:extension:name": "test.ours", "ARROW:extension:metadata": "né\0x", "other": ""})
    inner = Field("l", "x", NULLABLE, metadata=extension)
    expected = {
        b"ARROW:extension:name": b"test.ours", b"ARROW:extension:metadata": "né\0x".encode(), b"other": b""
    }  # fmt: skip

    class Schema:
        def __init__(self, field: Field) -> None:
            self.field = field

        def __arrow_c_schema__(self) -> object:
            return schema_capsule(self.field)

    assert pa.field(Schema(inner)).metadata == expected
    table = Producer(field=Field("+s", children=(inner,), metadata=metadata(pandas="{}")), chunks=[])
    schema = pa.RecordBatchReader.from_stream(table).schema
    assert schema.metadata == {b"pandas": b"{}"}
    assert schema.field("x").metadata == expected
    assert pa.field(Schema(Field("l", "x"))).metadata is None
    uuid = Field("w:16", "u", metadata=metadata(**{"ARROW:extension:name": "arrow.uuid"}))
    assert pa.field(Schema(uuid)).type == pa.uuid()


def test_duckdb_releases_on_threads_of_its_own() -> None:
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    producer = Producer(field=Field("+s", children=(X,)))
    content = struct.pack("=2000q", *range(2000))
    producer.chunks = [Data(2000, (None,), children=(Data(2000, (None, producer.lend(content))),)) for _ in range(300)]
    with contextlib.closing(duckdb.connect(config={"threads": 4})) as connection:
        assert connection.sql("select count(*), sum(x) from producer").fetchall() == [(600_000, 300 * 1999 * 1000)]
    producer.chunks = None
    gc.collect()
    arrow_export.flush()
    assert producer.returned == [1] * 300


def test_pyarrow_takes_on_many_threads() -> None:
    pa = pytest.importorskip("pyarrow")
    producer = Producer()
    seen: set[tuple[int, ...]] = set()

    class Array:
        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            del requested_schema
            content = ctypes.create_string_buffer(struct.pack("=2q", 7, 8))
            return schema_capsule(X), array_capsule(Data(2, (None, (ctypes.addressof(content), content))))

    def work() -> None:
        for _ in range(100):
            seen.add((pa.table(producer).num_rows, *pa.array(Array()).to_pylist()))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {(len(ROWS), 7, 8)}
    gc.collect()
    arrow_export.flush()
    assert len(producer.returned) == producer.lent


@pytest.mark.parametrize("take", [lambda na, o: na.c_array(o), lambda na, o: na.Array(o)], ids=["c_array", "Array"])
def test_nanoarrow_keeps_its_capsule_while_others_are_used_again(take: Callable[[Any, Any], Any]) -> None:
    na = pytest.importorskip("nanoarrow")
    returned: list[int] = []

    class Array:
        def __init__(self, value: int) -> None:
            self.value = value

        def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]:
            del requested_schema
            owner = Owner(returned, struct.pack("=q", self.value))
            return schema_capsule(X), array_capsule(Data(1, (None, (owner.address, owner))))

    held = [take(na, Array(i)) for i in range(50)]
    assert returned == []
    assert [na.Array(each).to_pylist() for each in held] == [[i] for i in range(50)]
    del held
    gc.collect()
    arrow_export.flush()
    assert returned == [1] * 50
