"""Every type in every shape, through every library and back: the values that were put in.

A table or column of ours is made of pyarrow's and handed over, with capsules that pyarrow makes and with those of our
own callbacks. Then two are asked, the library for its own Python values and we by `tolist` of what it gives back, and
both are held against what stands by hand in `every_type`.

What a library does not take, or takes wrongly, stands in `FAULTS`, `CRASHES` and `SAYS`. An entry of `FAULTS` is tested
as well: the library must still fail so, and fail in the same way when pyarrow is the producer. Peers: pyarrow 26,
polars 1.44, nanoarrow 0.9, duckdb 2.0, arro3-core 0.9, pandas 3.1.
"""

import contextlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from buflend.maximal import arrow_pyarrow, as_column, as_table

from .every_type import SHAPES, TYPES, loose, micro, plain, shaped

pytestmark = [
    pytest.mark.peers,
    # nanoarrow says so where Python's times cannot hold what there is, and where it reads an extension as its storage.
    pytest.mark.filterwarnings("ignore:.*(nanoseconds discarded|unregistered extension)"),
]
pa = pytest.importorskip("pyarrow")

ALL = SHAPES
FILLED = ("whole", "sliced", "chunked", "cut")
OFFSET = ("sliced", "chunked", "cut")
SOME = (*FILLED, "missing")


class Fault(NamedTuple):
    """In which shapes a library fails, where (taking it, its own values, back with us), with which words, and why."""

    shapes: tuple[str, ...]
    where: str
    said: str
    reason: str


NO_TYPE = "the library has no such type"
MASKED_OFFSET = "ignores the array's offset for this type (arrow2 PR #1026 is the same fault elsewhere)"
FAULTS: dict[tuple[str, str], Fault] = {
    ("polars", "interval"): Fault(ALL, "take", "", NO_TYPE),
    ("polars", "list_view"): Fault(ALL, "take", "+vl", NO_TYPE),
    ("polars", "large_list_view"): Fault(ALL, "take", "+vL", NO_TYPE),
    ("polars", "runs"): Fault(ALL, "take", "+r", NO_TYPE),
    ("polars", "sparse union"): Fault(ALL, "take", "Union", NO_TYPE),
    ("polars", "dense union"): Fault(ALL, "take", "Union", NO_TYPE),
    ("polars", "decimal256"): Fault(SOME, "take", "", NO_TYPE),
    ("polars", "fixed list"): Fault(OFFSET, "take", "validity mask length", "applies the offset to the items only"),
    ("nanoarrow", "decimal32"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "decimal64"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "decimal128"): Fault(FILLED, "own", "34028236692093846346337460743176", "negative ones are unsigned"),
    ("nanoarrow", "decimal256"): Fault(FILLED, "own", "1157920892373161954235709850086", "negative ones are unsigned"),
    ("nanoarrow", "list_view"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "large_list_view"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "map"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "runs"): Fault(SOME, "own", "resolve iterator", NO_TYPE),
    ("nanoarrow", "half"): Fault(OFFSET, "own", "", MASKED_OFFSET),
    ("nanoarrow", "interval"): Fault(OFFSET, "own", "", MASKED_OFFSET),
    ("nanoarrow", "fixed binary"): Fault(OFFSET, "own", "", MASKED_OFFSET),
    ("nanoarrow", "uuid"): Fault(OFFSET, "own", "", MASKED_OFFSET),
    ("nanoarrow", "bool8"): Fault(OFFSET, "own", "", MASKED_OFFSET),
    ("duckdb", "half"): Fault(ALL, "take", "Unsupported", NO_TYPE),
    ("duckdb", "decimal256"): Fault(ALL, "take", "Unsupported", NO_TYPE),
    ("duckdb", "dense union"): Fault(ALL, "take", "Unsupported", NO_TYPE),
    ("duckdb", "sparse union"): Fault(SOME, "take", "tag out of range", "takes type ids for numbers of members"),
    ("arro3", "interval"): Fault(FILLED, "own", "not yet implemented", NO_TYPE),
    ("arro3", "list_view"): Fault(FILLED, "own", "not yet implemented", NO_TYPE),
    ("arro3", "large_list_view"): Fault(FILLED, "own", "not yet implemented", NO_TYPE),
    ("arro3", "runs"): Fault(SOME, "own", "not yet implemented", NO_TYPE),
    ("pandas", "time64[ns]"): Fault(FILLED, "take", "non-zero nanoseconds", "its times are Python's"),
    ("pandas", "interval"): Fault(FILLED, "own", "DateOffset", "becomes an offset of its own"),
    ("pandas", "map"): Fault(FILLED, "back", "Non-string", "becomes objects that no column holds"),
    ("pandas", "sparse union"): Fault(ALL, "take", "No known equivalent", NO_TYPE),
    ("pandas", "dense union"): Fault(ALL, "take", "No known equivalent", NO_TYPE),
    ("pandas", "list_view"): Fault(OFFSET, "own back", "None, None", "pyarrow's to_pandas loses them"),
    ("pandas", "large_list_view"): Fault(OFFSET, "own back", "None, None", "pyarrow's to_pandas loses them"),
    ("pandas", "list of views"): Fault(ALL, "take", "string_view", NO_TYPE),
}

# What ends the process, whoever produces it. Polars takes small decimals for ones of 128 bits, and reads on past them.
CRASHES: dict[tuple[str, str], tuple[str, ...]] = {
    ("nanoarrow", "string_view"): FILLED,
    ("nanoarrow", "binary_view"): FILLED,
    ("nanoarrow", "list of views"): FILLED,
    ("pandas", "list_view"): ("empty",),
    ("pandas", "large_list_view"): ("empty",),
    ("polars", "decimal256"): ("empty",),  # panics as it is taken, or as it is given back
    ("polars", "decimal32"): ALL,
    ("polars", "decimal64"): ALL,
}


def _intervals(values: list[Any]) -> list[Any]:
    """Return spans as months, days and nanoseconds, of which only whole microseconds remain."""
    spans = [plain(value) for value in values]
    return [None if span is None else (0, 0, span[1] // 1000 * 1000) for span in spans]


def _coarse(values: list[Any]) -> list[Any]:
    return [None if one is None else (one[0], one[1], int(one[2] / 1000) * 1000) for one in values]


def _hex(values: list[Any]) -> list[Any]:
    cuts = (slice(0, 8), slice(8, 12), slice(12, 16), slice(16, 20), slice(20, 32))
    return [None if one is None else "-".join(one.hex()[cut] for cut in cuts) for one in values]


def _entries(values: list[Any]) -> list[Any]:
    return [one if one is None else [{"key": key, "value": value} for key, value in one] for one in values]


# What a library says in another form.
SAYS: dict[tuple[str, str], Callable[[list[Any]], list[Any]]] = {
    **{("duckdb", f"duration[{unit}]"): _intervals for unit in ("s", "ms", "us", "ns")},
    ("duckdb", "interval"): _coarse,
    ("duckdb", "uuid"): _hex,
    ("polars", "map"): _entries,
}


class Route(NamedTuple):
    """How a library takes a table of one column `x`, or a column; its own values of it."""

    peer: str
    module: str
    take: Callable[[Any, Any], Any]
    own: Callable[[Any], list[Any]]
    of_table: bool = True


def _duckdb(duckdb: Any, lent: Any) -> Any:
    with contextlib.closing(duckdb.connect()) as connection:
        found = connection.sql("SELECT * FROM lent").to_arrow_table()
    del lent
    return found


def _validated(taken: Any) -> Any:
    taken.validate(full=True)
    return taken


def _listed(taken: Any) -> list[Any]:
    return list(taken.to_pylist())


def _column(taken: Any) -> list[Any]:
    return _listed(taken["x"])


ROUTES = {
    "pyarrow.table": Route("pyarrow", "pyarrow", lambda m, o: _validated(m.table(o)), _column),
    "pyarrow.array": Route("pyarrow", "pyarrow", lambda m, o: _validated(m.array(o)), _listed, of_table=False),
    "pyarrow.chunked_array": Route(
        "pyarrow", "pyarrow", lambda m, o: _validated(m.chunked_array(o)), _listed, of_table=False
    ),
    "polars.DataFrame": Route("polars", "polars", lambda m, o: m.DataFrame(o), lambda d: d["x"].to_list()),
    "polars.Series": Route("polars", "polars", lambda m, o: m.Series(o), lambda s: s.to_list(), of_table=False),
    "nanoarrow.ArrayStream": Route(
        "nanoarrow",
        "nanoarrow",
        lambda m, o: m.ArrayStream(o).read_all(),
        lambda a: [row["x"] for row in a.to_pylist()],
    ),
    "nanoarrow.Array": Route("nanoarrow", "nanoarrow", lambda m, o: m.Array(o), _listed, of_table=False),
    "duckdb": Route("duckdb", "duckdb", _duckdb, _column),
    "arro3.Table": Route("arro3", "arro3.core", lambda m, o: m.Table(o), _column),
    "arro3.ChunkedArray": Route("arro3", "arro3.core", lambda m, o: m.ChunkedArray(o), _listed, of_table=False),
    "pandas.DataFrame.from_arrow": Route(
        "pandas", "pandas", lambda m, o: m.DataFrame.from_arrow(o), lambda d: d["x"].tolist()
    ),
    "pandas.api.interchange": Route(
        "pandas", "pandas", lambda m, o: m.api.interchange.from_dataframe(o), lambda d: d["x"].tolist()
    ),
}


class Capsules:
    """Something of pyarrow's that shows nothing but its stream, so that it is taken as ours is."""

    def __init__(self, lent: Any) -> None:
        self.lent = lent

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.lent.__arrow_c_stream__(requested_schema)


class Taken:
    """The capsules of one array, made where `is_loaded` said something else."""

    def __init__(self, lent: Any, method: str) -> None:
        pair = getattr(lent, method)()
        setattr(self, method, lambda *_, **__: pair)


def outcome(module: Any, route: Route, obj: Any, expected: list[Any]) -> tuple[str, str]:
    """Return where it went wrong, nowhere if all is right, and what was said."""
    try:
        taken = route.take(module, obj)
    except BaseException as error:  # noqa: BLE001 - panics of Rust are no Exceptions
        return "take", str(error)
    form = loose if route.peer == "pandas" else plain
    values = form(expected)
    found: list[tuple[str, str]] = []
    reads = {"own": lambda: route.own(taken), "back": lambda: _back(taken, of_table=route.of_table)}
    for where, read in reads.items():
        step = micro if where == "own" else list
        try:
            got = form(read())
        except BaseException as error:  # noqa: BLE001
            found.append((where, str(error)))
            continue
        if step(got) != step(values):
            found.append((where, str(got)))
    return " ".join(where for where, _ in found), " ".join(text for _, text in found)


def _back(taken: Any, *, of_table: bool) -> list[Any]:
    return (as_table(taken)["x"] if of_table else as_column(taken)).tolist()


def check(name: str, shape: str, route: Route, way: str) -> None:
    module = pytest.importorskip(route.module)
    array, values = shaped(name, shape)
    key = (route.peer, name)
    if shape in CRASHES.get(key, ()):
        return
    expected = SAYS.get(key, list)(values)
    lent = pa.table({"x": array}) if route.of_table else array
    ours = as_table(lent) if route.of_table else as_column(array)
    where, said = outcome(module, route, ours, expected)
    fault = FAULTS.get(key)
    if fault is None or shape not in fault.shapes:
        assert not where, f"{name} {shape} {way}: {where}: {said}"
        return
    assert where in fault.where.split("|"), (
        f"{name} {shape}: {fault.reason}: where it works now, remove it: {where}: {said}"
    )
    assert fault.said in said
    reference = Capsules(lent if route.of_table or hasattr(lent, "__arrow_c_stream__") else pa.chunked_array([lent]))
    assert outcome(module, route, reference, expected)[0] == where, "the fault is ours alone"


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("way", ["pyarrow", "callbacks"])
@pytest.mark.parametrize("route", ROUTES)
def test_there_and_back(route: str, way: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if way == "callbacks":
        monkeypatch.setattr(arrow_pyarrow, "is_loaded", lambda: False)
    for shape in SHAPES:
        check(name, shape, ROUTES[route], way)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("method", ["__arrow_c_array__", "__arrow_c_device_array__"])
def test_one_array_by_callbacks(method: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for shape in SHAPES:
        array, values = shaped(name, shape)
        column = as_column(array)
        if column.num_chunks() > 1:
            continue
        with monkeypatch.context() as patched:
            patched.setattr(arrow_pyarrow, "is_loaded", lambda: False)
            lent = Taken(column, method)
        taken = pa.array(lent)
        taken.validate(full=True)
        assert taken.type == array.type
        assert micro(plain(taken.to_pylist())) == micro(plain(values))
        assert plain(as_column(taken).tolist()) == plain(values)


@pytest.mark.parametrize("shape", SHAPES)
def test_back_with_us_and_in_pyarrow_the_type_and_every_bit_are_the_same(shape: str) -> None:
    for name, kind in TYPES.items():
        array, values = shaped(name, shape)
        column = as_column(array)
        assert repr(column.tolist()) == repr(values), name
        assert column.dtype.format == kind.format
        taken = pa.chunked_array(column)
        assert taken.type == array.type
        if "dictionary" not in str(array.type) and name not in {"half", "float", "double"}:  # NaN equals nothing
            whole = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
            assert taken.equals(whole), name


TABLES = [name for name, route in ROUTES.items() if route.of_table]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("route", TABLES)
def test_a_table_of_every_type_that_the_library_takes(route: str, shape: str) -> None:
    how = ROUTES[route]
    module = pytest.importorskip(how.module)
    keys = {name: (how.peer, name) for name in TYPES}
    bad = {name for name, key in keys.items() if (key in FAULTS and "take" in FAULTS[key].where) or key in CRASHES}
    bad |= {"map"} if how.peer == "pandas" else set()
    bad |= {"interval"} if how.peer == "pandas" else set()
    made = {name: shaped(name, shape) for name in TYPES if name not in bad}
    table = as_table(pa.table({name: array for name, (array, _) in made.items()}))
    back = as_table(how.take(module, table))
    assert back.column_names() == list(made)
    form = loose if how.peer == "pandas" else plain
    for name, (_, values) in made.items():
        expected = SAYS.get(keys[name], list)(values)
        assert form(back[name].tolist()) == form(expected), name


@pytest.mark.parametrize("name", ["string_view", "binary_view", "list of views"])
def test_views_pass_through_nanoarrow_that_it_cannot_read(name: str) -> None:
    na: Any = pytest.importorskip("nanoarrow")
    for shape in SHAPES:
        array, values = shaped(name, shape)
        stream = na.ArrayStream(as_table(pa.table({"x": array})))
        assert as_table(stream)["x"].tolist() == values


TABLE_OF = """import pyarrow as pa
class C:
  def __arrow_c_stream__(self, requested_schema=None): return t.__arrow_c_stream__()
"""
NUMBER = "import decimal, polars\nt = pa.table({{'x': pa.array([decimal.Decimal('1.25')], pa.decimal{}(5, 2))}})\n"
DEATHS = {
    "nanoarrow": "import nanoarrow\nt = pa.table({'x': pa.array(['more than twelve bytes'] * 40, pa.string_view())})\n"
    "nanoarrow.Array(C()).to_pylist()",
    "pandas": "import pandas\nt = pa.table({'x': pa.array([], pa.list_view(pa.int32()))})\n"
    "pandas.DataFrame.from_arrow(C())",
    "polars": NUMBER.format(32) + "pa.table(polars.DataFrame(C()))",
}


@pytest.mark.parametrize("peer", DEATHS)
def test_what_crashes_does_so_with_any_producer(peer: str) -> None:
    pytest.importorskip(peer)
    done = subprocess.run(
        [sys.executable, "-c", TABLE_OF + DEATHS[peer]], capture_output=True, check=False, timeout=120
    )
    assert done.returncode < 0, "it works now: remove it from CRASHES"
