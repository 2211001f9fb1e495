"""Columns and tables of every library that makes some: read by us, and handed on to pyarrow, values by hand."""

import datetime as dt
import decimal
import math
from typing import Any

import numpy as np
import pytest

from buflend.maximal import as_column, as_table

from .every_type import plain

pytestmark = pytest.mark.peers
pa = pytest.importorskip("pyarrow")

LONG = "a text of more than twelve bytes"
DAY, TIME = dt.date(2020, 3, 1), dt.time(1, 2, 3, 4)
NAIVE = dt.datetime(2020, 3, 1, 1, 2, 3, 4)  # noqa: DTZ001 - one without a zone is meant
MILLI, SPAN = NAIVE.replace(microsecond=5000), dt.timedelta(days=1, milliseconds=5)
AWARE = NAIVE.replace(tzinfo=dt.UTC)
NUMBER = decimal.Decimal("1.25")


def check(obj: Any, values: dict[str, list[Any]]) -> None:
    """Read a table, whole and cut, and each column alone; then hand it to pyarrow."""
    table = as_table(obj)
    assert table.column_names() == list(values)
    taken = pa.table(table)
    taken.validate(full=True)
    size = len(table)
    for name, expected in values.items():
        assert plain(table[name].tolist()) == plain(expected), name
        assert plain(taken[name].to_pylist()) == plain(expected), name
        for start in range(size):
            part = table[start : start + 2][name]
            assert plain(part.tolist()) == plain(expected[start : start + 2]), name
            assert plain(pa.chunked_array(part).to_pylist()) == plain(expected[start : start + 2]), name


def of_pandas(pd: Any) -> tuple[Any, dict[str, list[Any]]]:
    zoned = pd.Series([AWARE, pd.NaT, AWARE]).dt.tz_convert("Europe/Rome")
    arrow = {
        "int64": [1, None, 3],
        "string": ["a", None, LONG],
        "bool": [True, None, False],
        "date32": [DAY, None, DAY],
    }
    frame = pd.DataFrame(
        {
            "int": np.array([1, 2, 3], "i2"),
            "float": [0.5, math.nan, -0.0],
            "bool": [True, False, True],
            "time": pd.Series([NAIVE, pd.NaT, NAIVE]),
            "span": pd.Series([dt.timedelta(1), pd.NaT, dt.timedelta(-1)]),
            "zoned": zoned,
            "object": pd.Series(["a", None, LONG], dtype=object),
            "str": pd.Series(["a", None, "é☃"], dtype="str"),
            "Int64": pd.array([2**60 + 1, None, 3], dtype="Int64"),
            "boolean": pd.array([True, None, False], dtype="boolean"),
            "Float32": pd.array([0.5, None, 1.5], dtype="Float32"),
            "string": pd.array(["a", None, LONG], dtype="string"),
            "category": pd.Categorical(["x", None, "y"], ["y", "unused", "x"]),
            "ordered": pd.Categorical.from_codes([1, 0, -1], [10, 20], ordered=True),
            **{
                f"arrow {name}": pd.Series(values, dtype=pd.ArrowDtype(pa.type_for_alias(name)))
                for name, values in arrow.items()
            },
        }
    )
    return frame, {
        "int": [1, 2, 3],
        "float": [0.5, None, -0.0],
        "bool": [True, False, True],
        "time": [NAIVE, None, NAIVE],
        "span": [dt.timedelta(1), None, dt.timedelta(-1)],
        "zoned": [AWARE, None, AWARE],
        "object": ["a", None, LONG],
        "str": ["a", None, "é☃"],
        "Int64": [2**60 + 1, None, 3],
        "boolean": [True, None, False],
        "Float32": [0.5, None, 1.5],
        "string": ["a", None, LONG],
        "category": ["x", None, "y"],
        "ordered": [20, 10, None],
        **{f"arrow {name}": values for name, values in arrow.items()},
    }


def of_polars(pl: Any) -> tuple[Any, dict[str, list[Any]]]:
    values: dict[str, tuple[Any, list[Any]]] = {
        "bool": (pl.Boolean, [True, None, False]),
        **{
            f"{kind}": (kind, [low, None, high])
            for kind, low, high in (
                (pl.Int8, -128, 127),
                (pl.Int16, -(2**15), 2**15 - 1),
                (pl.Int32, -(2**31), 2**31 - 1),
                (pl.Int64, -(2**63), 2**63 - 1),
                (pl.UInt8, 0, 255),
                (pl.UInt16, 0, 2**16 - 1),
                (pl.UInt32, 0, 2**32 - 1),
                (pl.UInt64, 0, 2**64 - 1),
            )
        },
        "f4": (pl.Float32, [0.5, None, math.nan]),
        "f8": (pl.Float64, [0.1, None, -0.0]),
        "decimal": (pl.Decimal(10, 2), [NUMBER, None, -NUMBER]),
        "string": (pl.String, ["a", None, LONG]),
        "binary": (pl.Binary, [b"\xff", None, LONG.encode()]),
        "date": (pl.Date, [DAY, None, dt.date(1969, 12, 31)]),
        "time": (pl.Time, [TIME, None, dt.time(0)]),
        **{f"datetime {unit}": (pl.Datetime(unit), [MILLI, None, MILLI]) for unit in ("ms", "us", "ns")},
        "zoned": (pl.Datetime("us", "Europe/Rome"), [AWARE, None, AWARE]),
        **{f"span {unit}": (pl.Duration(unit), [SPAN, None, -SPAN]) for unit in ("ms", "us", "ns")},
        "categorical": (pl.Categorical, ["x", None, "y"]),
        "enum": (pl.Enum(["y", "unused", "x"]), ["x", None, "y"]),
        "list": (pl.List(pl.String), [["a", None], None, []]),
        "array": (pl.Array(pl.Int16, 2), [[1, 2], None, [3, None]]),
        "struct": (pl.Struct({"a": pl.Int64, "b": pl.String}), [{"a": 1, "b": "x"}, None, {"a": None, "b": LONG}]),
        "null": (pl.Null, [None, None, None]),
    }
    frame = pl.DataFrame({name: pl.Series(given, dtype=kind, strict=False) for name, (kind, given) in values.items()})
    return frame, {name: given for name, (_, given) in values.items()}


def of_nanoarrow(na: Any) -> tuple[Any, dict[str, list[Any]]]:
    values = {"n": [1, None, -3], "t": ["a", None, LONG], "b": [True, None, False], "f": [0.5, None, -0.0]}
    kinds = {"n": na.int32(), "t": na.large_string(), "b": na.bool_(), "f": na.float64()}
    children = [na.c_array(given, kinds[name]) for name, given in values.items()]
    return na.Array(na.c_array_from_buffers(na.struct(kinds), 3, [None], children=children)), values


def of_duckdb(duckdb: Any) -> tuple[Any, dict[str, list[Any]]]:
    query = """SELECT * FROM (VALUES
      (1::TINYINT, 2.5::DOUBLE, 'a', DATE '2020-03-01', TIMESTAMP '2020-03-01 01:02:03.000004', 1.25::DECIMAL(9, 2),
       [1, NULL], {'k': 7}, true, 'x'::ENUM('y', 'x'), '\\xFF'::BLOB, MAP {'m': 5}),
      (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
      (-1, -0.5, 'a text of more than twelve bytes', DATE '1969-12-31', TIMESTAMP '1970-01-01', -1.25,
       [], {'k': NULL}, false, 'y', ''::BLOB, MAP {})
    ) AS t(i, f, t, d, ts, n, l, s, b, e, z, m)"""
    return duckdb.sql(query), {
        "i": [1, None, -1],
        "f": [2.5, None, -0.5],
        "t": ["a", None, LONG],
        "d": [DAY, None, dt.date(1969, 12, 31)],
        "ts": [NAIVE, None, dt.datetime(1970, 1, 1)],  # noqa: DTZ001
        "n": [NUMBER, None, -NUMBER],
        "l": [[1, None], None, []],
        "s": [{"k": 7}, None, {"k": None}],
        "b": [True, None, False],
        "e": ["x", None, "y"],
        "z": [b"\xff", None, b""],
        "m": [[("m", 5)], None, []],
    }


def of_arro3(core: Any) -> tuple[Any, dict[str, list[Any]]]:
    values = {"n": [1, None, -3], "t": ["a", None, LONG], "d": [NUMBER, None, -NUMBER], "l": [[1, None], None, []]}
    kinds = {"n": pa.int16(), "t": pa.string_view(), "d": pa.decimal128(5, 2), "l": pa.list_(pa.int64())}
    columns = {name: core.Array(pa.array(given, kinds[name])) for name, given in values.items()}
    return core.Table.from_pydict(columns), values


MODULES = {
    "pandas": ("pandas", of_pandas),
    "polars": ("polars", of_polars),
    "nanoarrow": ("nanoarrow", of_nanoarrow),
    "duckdb": ("duckdb", of_duckdb),
    "arro3": ("arro3.core", of_arro3),
}


@pytest.mark.parametrize("producer", MODULES)
def test_a_table_of_everything_that_the_library_makes(producer: str) -> None:
    module, make = MODULES[producer]
    frame, values = make(pytest.importorskip(module))
    check(frame, values)


@pytest.mark.parametrize("producer", ["pandas", "polars", "arro3"])
def test_its_columns_alone(producer: str) -> None:
    module, make = MODULES[producer]
    frame, values = make(pytest.importorskip(module))
    for name, expected in values.items():
        column = as_column(frame[name])
        assert plain(column.tolist()) == plain(expected), name
        assert plain(pa.chunked_array(column).to_pylist()) == plain(expected), name


def test_zones_order_and_categories_are_kept() -> None:
    pd: Any = pytest.importorskip("pandas")
    frame, _ = of_pandas(pd)
    taken = pa.table(as_table(frame))
    assert taken.schema.field("zoned").type.tz == "Europe/Rome"
    assert taken["ordered"].type.ordered
    assert not taken["category"].type.ordered
    assert taken["category"].chunk(0).dictionary.to_pylist() == ["y", "unused", "x"]
    pl: Any = pytest.importorskip("polars")
    frame, _ = of_polars(pl)
    table = as_table(frame)
    assert pa.table(table).schema.field("zoned").type.tz == "Europe/Rome"
    assert table["enum"].dictionary is not None
    assert table["enum"].dictionary.tolist() == ["y", "unused", "x"]


def test_slices_and_chunks_of_polars() -> None:
    pl: Any = pytest.importorskip("polars")
    frame, values = of_polars(pl)
    many = pl.concat([frame, frame[1:], frame[:0], frame], rechunk=False)
    joined = {name: given + given[1:] + given for name, given in values.items()}
    check(many, joined)
    check(many[2:7], {name: given[2:7] for name, given in joined.items()})


def test_slices_and_gaps_of_pandas() -> None:
    pd: Any = pytest.importorskip("pandas")
    frame, values = of_pandas(pd)
    many = pd.concat([frame] * 4, ignore_index=True)
    long = {name: given * 4 for name, given in values.items()}
    for part in (slice(3, 10), slice(1, None, 3), slice(None, None, -2), slice(0, 0)):
        check(many.iloc[part], {name: given[part] for name, given in long.items()})


def test_large_results_of_duckdb() -> None:
    duckdb: Any = pytest.importorskip("duckdb")
    query = "SELECT CASE WHEN i % 7 THEN i END AS n, 'text ' || i AS t FROM range(300000) r(i)"
    table = as_table(duckdb.sql(query))
    assert table["n"].tolist() == [i if i % 7 else None for i in range(300_000)]
    assert table["t"].tolist() == [f"text {i}" for i in range(300_000)]
    assert table[299_990:]["n"].null_count == sum(not i % 7 for i in range(299_990, 300_000))
