"""Tables by `__dataframe__` alone, values by hand: ours read by pandas, pyarrow, polars and `minimal`, theirs by us.

What a reader takes wrongly stands in `FAULTS`, after sections 6 and 7 of what was observed of the three; each entry is
tested, so that it goes when the fault goes.
"""

import datetime as dt
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Column, Table, as_column, as_table, dataframe_to_ndarrays

from .every_type import loose, micro, plain, shaped
from .hand import i32

# pandas asks for what pandas deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:The copy keyword")

LONG = "a text of more than twelve bytes"
TIMES = [np.datetime64("2020-03-01T01:02:03.000004"), None, np.datetime64("1969-12-31T23:59:59.999999")]
DAYS = [np.datetime64("2020-03-01"), None, np.datetime64("1969-12-31")]
OLD_NUMPY = not hasattr(np, "dtypes") or not hasattr(np.dtypes, "StringDType")


class Only:
    """A frame that shows nothing but `__dataframe__`."""

    def __init__(self, lent: Any) -> None:
        self.lent = lent

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT002
        return self.lent.__dataframe__(nan_as_null, allow_copy)


def strided(values: list[Any], kind: str) -> Any:
    """Return an array of every second element of a block that has something else between."""
    block = np.zeros(2 * len(values), kind)
    block[1::2] = values[::-1]
    return block[::-2]


def records(values: list[Any], kind: str) -> Any:
    rows = np.zeros(len(values), [("before", "i1"), ("x", kind), ("after", "i2")])
    rows["x"] = values
    return rows["x"]


def masked(values: Any, mask: list[int]) -> Any:
    return np.ma.MaskedArray(values, mask=np.array(mask, bool))


def of_arrow(name: str) -> tuple[Column, list[Any]]:
    pytest.importorskip("pyarrow")
    array, values = shaped(name, "sliced")
    return as_column(array)[2:], values[2:]


def sentinels() -> Column:
    """Return codes by hand: -1 is missing."""
    words = as_column(np.array(["x", "y"]))
    return Column((23, 8, "c", "="), 3, data=minimal_buffer(b"\0\xff\1"), dictionary=words, null=(2, -1))


def minimal_buffer(content: bytes) -> Any:
    from buflend.maximal import as_buffer

    return as_buffer(content)


def made(make: Callable[[], Any], values: list[Any]) -> Callable[[], tuple[Column, list[Any]]]:
    return lambda: (as_column(make()), values)


# Name -> a maker of a column and of its values.
COLUMNS: dict[str, Callable[[], tuple[Column, list[Any]]]] = {
    "strided": made(lambda: strided([1, -2, 3], "i4"), [1, -2, 3]),
    "swapped": made(lambda: np.array([1, -2, 2**60 + 1], ">i8"), [1, -2, 2**60 + 1]),
    "swapped floats": made(lambda: np.array([0.5, -0.0, math.inf], ">f4"), [0.5, -0.0, math.inf]),
    "records": made(lambda: records([1.5, 2.5, -3.5], "f8"), [1.5, 2.5, -3.5]),
    "byte mask": made(lambda: masked([1, 2, 3], [0, 1, 0]), [1, None, 3]),
    "strided mask": made(lambda: masked(np.arange(6), [0, 1, 1, 0, 0, 1])[::2], [0, None, 4]),
    "inverted bytes": lambda: (
        Column("i", 3, data=minimal_buffer(i32(1, 2, 3)), validity=minimal_buffer(b"\1\0\1"), null=(4, 0)),
        [1, None, 3],
    ),
    "inverted bits": lambda: (
        Column("i", 3, data=minimal_buffer(i32(1, 2, 3)), validity=minimal_buffer(b"\2"), null=(3, 1)),
        [1, None, 3],
    ),
    "sentinel": lambda: (Column("i", 3, data=minimal_buffer(i32(1, -9, 3)), null=(2, -9)), [1, None, 3]),
    "large and missing": made(lambda: masked([2**60 + 1, 0, -(2**63)], [0, 1, 0]), [2**60 + 1, None, -(2**63)]),
    "nan": lambda: (
        Column("g", 3, data=minimal_buffer(np.array([0.5, math.nan, 2.5]).tobytes()), null=(1, None)),
        [0.5, None, 2.5],
    ),
    "nan that is there": made(lambda: np.array([0.5, math.nan, 2.5]), [0.5, math.nan, 2.5]),
    "half": made(lambda: np.array([0.5, -0.0, 65504], "f2"), [0.5, -0.0, 65504.0]),
    "times": made(lambda: np.array(TIMES, "M8[us]"), TIMES),
    "swapped times": made(lambda: np.array(TIMES, ">M8[us]"), TIMES),
    "days": made(lambda: np.array(DAYS, "M8[D]"), DAYS),
    "bools": made(lambda: np.array([True, False, True]), [True, False, True]),
    "bools and a mask": made(lambda: masked([True, False, True], [0, 1, 0]), [True, None, True]),
    "text": made(lambda: np.array(["é☃", "", LONG]), ["é☃", "", LONG]),
    "objects": made(lambda: np.array(["a", None, LONG], object), ["a", None, LONG]),
    "codes": lambda: (sentinels(), ["x", None, "y"]),
    "bits": lambda: of_arrow("bool"),
    "views": lambda: of_arrow("string_view"),
    "utf8": lambda: of_arrow("string"),
    "numbers and bits": lambda: of_arrow("int16"),
    "dictionary": lambda: of_arrow("dictionary"),
    "ordered": lambda: of_arrow("ordered"),
    "arrow times": lambda: of_arrow("timestamp[ms]"),
    "zoned": lambda: of_arrow("timestamp[us, Rome]"),
    "arrow days": lambda: of_arrow("date32"),
}


def shaped_as(column: Column, values: list[Any], shape: str) -> tuple[Column, list[Any]]:
    """Return the column whole, cut, in chunks of which one is empty, or empty."""
    if shape == "cut":
        return column[1:], values[1:]
    if shape == "empty":
        return column[:0], []
    if shape == "chunks":
        pieces = (column[:2]._piece, column[2:2]._piece, column[1:]._piece)
        return Column._make(column._type, pieces), values[:2] + values[1:]
    return column, values


class Fault(NamedTuple):
    """In which shapes a reader fails, what it says (nothing where it reads something else), and why."""

    shapes: tuple[str, ...]
    said: str
    reason: str


SHAPES = ("whole", "cut", "chunks", "empty")
FILLED = ("whole", "cut", "chunks")
PRIVATE = Fault(SHAPES, "col._col", "refuses categories of any frame but its own")
DATES = Fault(SHAPES, "tdD", "has no such dates in this protocol")
FAULTS: dict[tuple[str, str], Fault] = {
    ("pandas", "sentinel"): Fault(FILLED, "", "ignores the sentinels of numbers (dataframe-api #352)"),
    ("pandas", "bools and a mask"): Fault(FILLED, "", "makes False of a missing one (pandas #57643)"),
    ("pandas", "bits"): Fault(FILLED, "", "makes False of a missing one (pandas #57643)"),
    ("pandas", "half"): Fault(SHAPES, "not yet supported", "has no such numbers in this protocol"),
    ("pandas", "codes"): PRIVATE,
    ("pandas", "dictionary"): PRIVATE,
    ("pandas", "ordered"): PRIVATE,
    ("pyarrow", "inverted bits"): Fault(("cut", "chunks"), "", "takes the offset of an inverted mask twice"),
    ("pyarrow", "days"): DATES,
    ("pyarrow", "arrow days"): DATES,
}


def of_pandas(frame: Any) -> list[Any]:
    pd: Any = pytest.importorskip("pandas")
    return list(pd.api.interchange.from_dataframe(frame)["x"])


def of_pyarrow(frame: Any) -> list[Any]:
    interchange: Any = pytest.importorskip("pyarrow.interchange")
    taken = interchange.from_dataframe(frame)
    taken.validate(full=True)
    return list(taken["x"].to_pylist())


def of_polars(frame: Any) -> list[Any]:
    pl: Any = pytest.importorskip("polars")
    return list(pl.from_dataframe(frame)["x"].to_list())


READERS: dict[str, Callable[[Any], list[Any]]] = {
    "pandas": of_pandas,
    "pyarrow": of_pyarrow,
    "polars": of_polars,
    "minimal": lambda frame: minimal.dataframe_to_ndarrays(frame)["x"].tolist(),
    "maximal": lambda frame: dataframe_to_ndarrays(frame)["x"].tolist(),
    "as_table": lambda frame: as_table(frame)["x"].tolist(),
}
PEERS = ("pandas", "pyarrow", "polars")


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.peers if name in PEERS else ()) for name in READERS])
def reader(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_reader_has_the_values(reader: str, name: str) -> None:
    form = loose if reader == "pandas" or (reader == "pyarrow" and "nan" in name) else plain
    for shape in SHAPES:
        column, values = shaped_as(*COLUMNS[name](), shape)
        frame = Only(Table({"x": column}))
        fault = FAULTS.get((reader, name))
        if fault is None or shape not in fault.shapes:
            assert micro(form(READERS[reader](frame))) == micro(form(values)), shape
            continue
        found, said = outcome(READERS[reader], frame)
        right = found is not None and micro(form(found)) == micro(form(values))
        assert not right, f"{fault.reason}: it works now, remove it"
        assert fault.said in said if fault.said else not said, said


def outcome(read: Callable[[Any], list[Any]], frame: Any) -> tuple[list[Any] | None, str]:
    """Return what a reader read, or None and what it raised."""
    try:
        return read(frame), ""
    except Exception as error:  # noqa: BLE001 - whatever the reader raises
        return None, str(error)


@pytest.mark.parametrize("name", COLUMNS)
def test_foreign_memory_is_not_written_to(reader: str, name: str) -> None:
    if (reader, name) in FAULTS:
        return
    column, values = COLUMNS[name]()
    READERS[reader](Only(Table({"x": column})))
    assert plain(column.tolist()) == plain(values)


def test_nothing_but_pointers_moves_where_the_protocol_can_say_a_column() -> None:
    array = np.arange(100, dtype="i4")
    mask = np.arange(100) % 3 == 0
    table = as_table({"x": np.ma.MaskedArray(array, mask=mask)})[37:50]
    column = table.__dataframe__(allow_copy=False).get_column(0)
    data, validity = (column.get_buffers()[part][0] for part in ("data", "validity"))  # type: ignore[index]
    assert (data.ptr, data.bufsize) == (array.ctypes.data + 37 * 4, 13 * 4)
    assert (validity.ptr - as_column(np.ma.MaskedArray(array, mask=mask)).validity.ptr, validity.bufsize) == (37, 13)  # type: ignore[union-attr]
    assert (column.size(), column.offset) == (13, 0)
    bits = Column(
        "i", 13, data=minimal_buffer(i32(*range(24))), validity=minimal_buffer(b"\0\x0f\0"), null=(3, 0), offset=11
    )
    part = bits.for_interchange(allow_copy=False)
    assert part.offset == 3, "bits are had by whole bytes"
    assert part.tolist() == bits.tolist() == [11, *[None] * 12]


def frame_of_pandas() -> Any:
    pd: Any = pytest.importorskip("pandas")
    return pd.DataFrame(
        {
            "i": np.array([1, 2, 3], "i2"),
            "f": [0.5, math.nan, 2.5],
            "b": [True, False, True],
            "t": pd.Series(["a", None, LONG], dtype="str"),
            "m": pd.array([1, None, 3], dtype="Int64"),
            "c": pd.Categorical(["x", None, "y"]),
            "d": pd.Series([dt.datetime(2020, 3, 1), pd.NaT, dt.datetime(1969, 12, 31)]),  # noqa: DTZ001
        }
    )


def frame_of_pyarrow() -> Any:
    pa: Any = pytest.importorskip("pyarrow")
    table = pa.table(
        {
            "i": pa.array([1, None, 3], pa.int16()),
            "t": pa.array(["a", None, LONG]),
            "b": pa.array([True, None, False]),
            "c": pa.array(["x", None, "y"]).dictionary_encode(),
            "d": pa.array([0, None, -1], pa.timestamp("s", "Europe/Rome")),
        }
    )
    return pa.concat_tables([table, table[:0], table[1:]])


def frame_of_polars() -> Any:
    pl: Any = pytest.importorskip("polars")
    return pl.DataFrame(
        {
            "i": pl.Series([1, None, 3], dtype=pl.Int16),
            "t": ["a", None, LONG],
            "b": [True, None, False],
            "c": pl.Series(["x", None, "y"], dtype=pl.Categorical),
            "d": [dt.datetime(2020, 3, 1), None, dt.datetime(1969, 12, 31)],  # noqa: DTZ001
            "e": [dt.date(2020, 3, 1), None, dt.date(1969, 12, 31)],
        }
    )


@pytest.mark.peers
@pytest.mark.parametrize("make", [frame_of_pandas, frame_of_pyarrow, frame_of_polars], ids=lambda f: f.__name__)
def test_foreign_frames_are_what_the_reader_of_arrays_says_they_are(make: Callable[[], Any]) -> None:
    frame = make()
    table, read = as_table(Only(frame)), dataframe_to_ndarrays(Only(frame))
    assert table.column_names() == list(read)
    for name, column in read.items():
        assert plain(table[name].tolist()) == plain(column.tolist()), name
    again = minimal.dataframe_to_ndarrays(Only(table))
    assert {name: plain(one.tolist()) for name, one in again.items()} == {
        name: plain(one.tolist()) for name, one in read.items()
    }
    assert plain(table["t"].tolist())[:3] == ["a", None, LONG]
    assert plain(table["c"].tolist())[:3] == ["x", None, "y"]
