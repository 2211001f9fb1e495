"""Tables: the flights are whole, files of every kind are read, and frames hold what their source does."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from buflend.bench import peers, tables, values
from buflend.bench.cells import Cells, cells_of, difference

pytestmark = pytest.mark.peers


def small() -> Any:
    import pyarrow as pa

    return pa.table(
        {
            "number": pa.array([1, None, 2**60 + 1], pa.int64()),
            "real": pa.array([0.5, float("nan"), None], pa.float64()),
            "flag": pa.array([True, None, False]),
            "text": pa.array(["a", None, "\N{SNOWMAN}"]),
            "kind": pa.array(["x", "y", None]).dictionary_encode(),
            "when": pa.array([0, None, 86_400_000_001], pa.timestamp("us", "Europe/Rome")),
            "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1969, 12, 31)]),
        }
    )


def write(folder: Path, kind: str) -> Path:
    import pyarrow as pa
    from pyarrow import csv, feather, parquet

    path = folder / f"table.{kind}"
    table = small()
    if kind == "parquet":
        parquet.write_table(table, path)
    elif kind == "feather":
        feather.write_feather(table, path)
    elif kind in ("arrow", "stream"):
        new = pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream
        with pa.OSFile(str(path), "wb") as out, new(out, table.schema) as writer:
            writer.write_table(table)
    else:
        csv.write_csv(
            table.select(["number", "text"]), path, csv.WriteOptions(delimiter="," if kind == "csv" else "\t")
        )
    return path


def test_the_flights_are_whole() -> None:
    described = tables.describe(tables.load())
    types = {column["name"]: column["type"] for column in described["columns"]}
    missing = {column["name"]: column["missing"] for column in described["columns"] if column["missing"]}
    assert described["rows"] == 336_776
    assert len(types) == 19
    assert missing == {
        "dep_time": 8255,
        "dep_delay": 8255,
        "arr_time": 8713,
        "arr_delay": 9430,
        "tailnum": 2512,
        "air_time": 9430,
    }
    assert sum(missing.values()) == 46_595
    assert types["dep_time"] == "int64"
    assert types["tailnum"] == "string"
    assert types["time_hour"] == "timestamp[s, tz=UTC]"
    assert all(types[name].startswith("dictionary<values=string") for name in ("carrier", "origin", "dest"))


def test_every_frame_of_the_flights_holds_what_the_source_does() -> None:
    source = tables.load()
    truth = cells_of(source.table)
    made = tables.producers(source)
    assert list(made) == ["pandas", "pyarrow", "polars"]
    for producer in made.values():
        assert producer.left_out == {}
        own = cells_of(producer.frame)
        assert list(own) == list(truth)
        assert {name: unlike for name in truth if (unlike := difference(truth[name], own[name]))} == {}
    frame = made["pandas"].frame
    kinds = {name: str(frame[name].dtype) for name in ("year", "dep_time", "carrier", "time_hour")}
    assert kinds == {"year": "int64", "dep_time": "Int64", "carrier": "category", "time_hour": "datetime64[s, UTC]"}
    # The first flight, as it stands in the file.
    first = {name: cells.values[0] for name, cells in truth.items()}
    assert (first["dep_time"], first["carrier"], first["tailnum"], first["dest"]) == (517, "UA", "N14228", "IAH")
    assert truth["time_hour"].values[0] == dt.datetime(2013, 1, 1, 10, tzinfo=dt.UTC).timestamp()


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream", "feather", "csv", "tsv"])
def test_files_of_every_kind(tmp_path: Path, kind: str) -> None:
    source = tables.load(str(write(tmp_path, kind)))
    assert source.name == f"table.{kind}"
    truth = cells_of(small())
    found = cells_of(source.table)
    assert list(found) == (["number", "text"] if kind in ("csv", "tsv") else list(truth))
    for name, cells in found.items():
        assert difference(truth[name], cells) is None


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("hidden", [("pyarrow",), ("pyarrow", "polars")])
def test_a_file_without_pyarrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, hidden: tuple[str, ...]
) -> None:
    path = write(tmp_path, kind)
    found = peers.peer
    gone = peers.Peer("", available=False, reason="hidden", version="")
    monkeypatch.setattr(peers, "peer", lambda name: gone if name in hidden else found(name))
    source = tables.load(str(path))
    assert source.library == ("pandas" if "polars" in hidden else "polars")
    made = tables.producers(source)
    for name in hidden:
        assert made[name].frame is None
        assert made[name].reason == "hidden"
    for name in {"pandas", "polars"} - set(hidden):
        number = cells_of(made[name].frame)["number"]
        assert number.missing.tolist() == [False, True, False]
        if kind == "csv" or name == "polars":  # pandas makes floats of what Parquet and Arrow call integers with nulls
            assert number.values[2] == 2**60 + 1


def test_a_column_that_a_library_cannot_take_over_is_named() -> None:
    import pyarrow as pa

    table = pa.table(
        {
            "fine": [1],
            "wide": pa.array([[1]], pa.list_(pa.int64())),
            "month": pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
        }
    )
    source = tables.Source("test", "pyarrow", table, Path("test"), "")
    made = tables.producers(source)
    assert "month" in made["polars"].left_out
    assert "fine" in made["polars"].frame.columns


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("gone.parquet", None, "No such file"),
        ("empty.csv", b"", "the file is empty"),
        ("text.parquet", b"hello, this is no table", "neither Parquet, Arrow, Feather nor CSV"),
        ("broken.parquet", b"PAR1 and nothing more", "cannot read it as parquet"),
        ("broken.arrow", b"ARROW1 and nothing more", "cannot read it as arrow"),
        ("twice.csv", b"a,a\n1,2\n", "columns named twice: a"),
        ("latin.csv", b"caf\xe9,b\n1,2\n", "cannot read it as csv: UnicodeDecodeError"),
        ("binary.csv", bytes(range(256)), "cannot read it as csv"),
    ],
)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(tables.TableError, match=said) as caught:
        tables.load(str(path))
    assert str(path) in str(caught.value)


def test_a_folder_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(tables.TableError, match="directory"):
        tables.load(str(tmp_path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "table.csv")
    with pytest.raises(tables.TableError, match="this is a pipe, expected a file"):
        tables.load(str(tmp_path / "table.csv"))
    with pytest.raises(tables.TableError, match="this is a device, expected a file"):
        tables.load(os.devnull)


def of_every_type() -> Any:
    """Return a table of every type that pyarrow can write, of two chunks."""
    import pyarrow as pa

    both = pa.array([0, 1, 0], pa.int8())
    words = pa.array(["a", None, "long enough to lie outside of the view"])
    arrays = {
        "binary": words.cast(pa.binary()),
        "fixed": pa.array([b"ab", None, b"cd"], pa.binary(2)),
        "list": pa.array([[1], None, [2, 3]]),
        "struct": pa.array([{"a": 1}, None, {"a": 2}]),
        "map": pa.array([[("a", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "decimal": pa.array([1, None, 2], pa.decimal128(5, 2)),
        "decimal256": pa.array([1, None, 2], pa.decimal256(50, 2)),
        "null": pa.nulls(3),
        "dense": pa.UnionArray.from_dense(both, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), words]),
        "sparse": pa.UnionArray.from_sparse(both, [pa.array([1, 2, 3]), words]),
        "month": pa.array([(1, 2, 3), None, (0, 0, 1)], pa.month_day_nano_interval()),
        "runs": pa.RunEndEncodedArray.from_arrays([2, 3], ["x", "y"]),
        "null in dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1], pa.int8()), pa.array(["x", None])),
        "numbers in dictionary": pa.array([5, None, 6]).dictionary_encode(),
    }
    if hasattr(pa, "string_view"):
        arrays |= {"view": words.cast(pa.string_view()), "binary view": words.cast(pa.binary_view())}
    if hasattr(pa, "list_view"):
        arrays["list view"] = pa.array([[1], None, [2, 3]], pa.list_view(pa.int64()))
    return pa.table({name: pa.chunked_array([array, array]) for name, array in arrays.items()})


def test_a_column_of_any_type_has_cells() -> None:
    table = of_every_type()
    found = cells_of(table)
    assert list(found) == table.column_names
    assert {len(cells.values) for cells in found.values()} == {6}
    assert all(cells.type for cells in found.values())
    for name, wanted in (
        ("view", ["a", None, "long enough to lie outside of the view"]),
        ("runs", ["x", "x", "y"]),
        ("null in dictionary", ["x", None, None]),
        ("numbers in dictionary", [5, None, 6]),
    ):
        cells = found[name]
        assert [None if gone else value for value, gone in zip(cells.values, cells.missing, strict=True)] == wanted * 2
    for name in ("binary", "list", "struct", "decimal", "null", "dense", "month", "list view"):
        assert found[name].kind == "other"


@pytest.mark.parametrize("rows", [6, 0])
def test_a_file_of_any_type_is_compared(tmp_path: Path, rows: int) -> None:
    import pyarrow as pa

    table = of_every_type().slice(0, rows)
    path = str(tmp_path / "every.arrow")
    with pa.OSFile(path, "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    part = values.measure(path, lambda _text, _fraction: None)
    assert part["available"], part["reason"]
    assert part["table"]["rows"] == rows
    assert len(part["table"]["columns"]) == table.num_columns
    for name, made in part["producers"].items():
        assert made["available"], made["reason"]
        assert "dense" in made["not_offered"], name
    for pair in part["pairs"]:
        assert pair["whole"] == "read" or pair["whole"].startswith("refused: "), pair["whole"]
    joined = tables.one_chunk(table)
    assert joined.column_names == table.column_names
    assert joined.column("numbers in dictionary").num_chunks <= 1


def test_the_flights_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "FLIGHTS", "no_such_package")
    with pytest.raises(tables.TableError, match="pip install no_such_package"):
        tables.load()


# What counts as the same value.


def column(values: Any, kind: str = "number", missing: Any = None, unit: str = "", zone: str = "") -> Cells:
    array = np.asarray(values)
    gone = np.zeros(len(array), bool) if missing is None else np.asarray(missing)
    return Cells(kind, array, gone, "test", unit, zone)


def test_numbers_are_compared_exactly() -> None:
    whole = column([5, 2**60 + 1])
    assert difference(whole, column(np.array([5, 2**60 + 1], np.uint64))) is None
    unlike = difference(whole, column([5.0, float(2**60 + 1)]))
    assert unlike is not None
    assert (unlike.row, unlike.expected, unlike.rows) == (1, str(2**60 + 1), 1)
    assert difference(column([5.0, -1.0]), column([5, -1])) is None
    assert difference(column([5.5]), column([5])) is not None
    assert difference(column([2**63 - 1]), column([float(2**63)])) is not None
    assert difference(column(np.array([2**64 - 1], np.uint64)), column([-1])) is not None
    assert difference(column([1]), column([float("nan")])) is not None


def test_nan_is_not_missing_unless_it_is_said() -> None:
    nan = column([1.0, float("nan")])
    gone = column([1.0, 7.0], missing=[False, True])
    assert difference(nan, nan) is None
    unlike = difference(gone, nan)
    assert unlike is not None
    assert (unlike.row, unlike.expected, unlike.got) == (1, "missing", "nan")
    assert difference(gone, nan, nan_is_missing=True) is None
    assert difference(column([1.0, 2.0]), nan, nan_is_missing=True) is not None


def test_missing_rows_may_hold_anything() -> None:
    mask = [False, True]
    assert difference(column([1, 2], missing=mask), column([1, 3], missing=mask)) is None
    assert difference(column([1, 2], missing=mask), column([1, 2])) is not None


def test_instants_are_compared_whatever_their_unit() -> None:
    # The second is the year 9999, which nanoseconds of 64 bits cannot hold.
    seconds = column([1, 253_402_300_799], "time", unit="s")
    assert difference(seconds, column([1_000, 253_402_300_799_000], "time", unit="ms")) is None
    assert difference(column([1_000_000_000], "time", unit="ns"), column([1], "time", unit="s")) is None
    assert difference(column([1_000_000_001], "time", unit="ns"), column([1], "time", unit="s")) is not None
    assert difference(column([1], "time", unit="D"), column([86_400], "time", unit="s")) is None
    unlike = difference(column([0], "time", unit="s", zone="UTC"), column([0], "time", unit="s"))
    assert unlike is not None
    assert (unlike.row, unlike.expected, unlike.got) == (None, "zone UTC", "zone none")


def test_kinds_and_lengths_differ_as_a_whole() -> None:
    for other in (column([1]), column([True, False], "bool")):
        unlike = difference(column([1, 0]), other)
        assert unlike is not None
        assert unlike.row is None
