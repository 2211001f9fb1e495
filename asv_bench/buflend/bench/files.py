"""Files that hold a table, and the libraries that read them.

Rules of this file: what a file holds is told by its first bytes, and by its name where it is text. Nothing is opened
that is no file. What cannot be read is a `TableError` with a sentence for the person who named it.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

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
    """Read a file into a library's frame, which has columns and names each once.

    Raises
    ------
    TableError
        When the library cannot read it.
    """
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
