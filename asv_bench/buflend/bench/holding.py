"""How much of a table stays alive for one column of it, and for one buffer of that.

Rules of this file: the producer is our own table of text columns, each buffer of which has an owner that is watched by
a weak reference; it is handed over by Arrow's capsules, of which one release returns a whole array. Each consumer is
measured in a process of its own. The numbers are those of the buffers alone, in bytes. Libraries that copy or release
early hold nothing of the producer's.
"""

from __future__ import annotations

import gc
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import peers, processes
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable

COLUMNS, ROWS = 20, 100_000

STEPS = ("the table", "one column", "its offsets")
"""What is still held, after all else was dropped."""

DIRECT = "maximal, both ends"
"""Our table handed to ourselves as the object that it is, without capsules."""

NEEDS = {DIRECT: "buflend.maximal", "maximal": "buflend.maximal"}
"""Consumer -> what it imports, where that is not its name."""


class Capsules:
    """What offers one of Arrow's methods of a table, and nothing else."""

    def __init__(self, table: Any) -> None:
        self.__arrow_c_array__ = table.__arrow_c_array__


class Stream:
    """The same by a stream, for a library that reads nothing else."""

    def __init__(self, table: Any) -> None:
        self.__arrow_c_stream__ = table.__arrow_c_stream__


def _nanoarrow(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    import nanoarrow

    return nanoarrow.c_array(Capsules(table)), lambda held: held.child(0), lambda held: held.view().buffer(1)


def _pyarrow(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    import pyarrow as pa

    return pa.record_batch(Capsules(table)), lambda held: held.column(0), lambda held: held.buffers()[1]


def _polars(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    import polars as pl

    return pl.DataFrame(Stream(table)), lambda held: held["0"], None


def _arro3(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    from arro3.core import RecordBatch

    return RecordBatch.from_arrow(Capsules(table)), lambda held: held.column(0), None


def _maximal(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    from buflend.maximal import as_table

    return as_table(Capsules(table)), lambda held: held["0"], lambda held: held.offsets


def _direct(table: Any) -> tuple[Any, Callable[[Any], Any], Callable[[Any], Any] | None]:
    from buflend.maximal import as_table

    return as_table(table), lambda held: held["0"], lambda held: held.offsets


READERS = {
    DIRECT: _direct,
    "maximal": _maximal,
    "pyarrow": _pyarrow,
    "nanoarrow": _nanoarrow,
    "arro3.core": _arro3,
    "polars": _polars,
}


def measure(progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Return, JSON-able, the bytes of the table, and those that each consumer holds at each step."""
    total: dict[str, weakref.ref[Any]] = {}
    sizes = {name: buffer.bufsize for name, buffer in _buffers(_table(total)).items()}
    consumers: dict[str, dict[str, Any]] = {}
    for done, name in enumerate(READERS):
        progress(f"lifetime: a table handed to {name}", done / len(READERS))
        found = peers.peer(NEEDS.get(name, name))
        if not found.available:
            consumers[name] = {"outcome": "absent", "detail": found.reason}
            continue
        told, end = processes.answer(f"{__name__}:_job", {"name": name})
        consumers[name] = {"outcome": end["end"], "detail": end["detail"]} if end else told
    column = sum(size for name, size in sizes.items() if name.startswith("0."))
    return {
        "columns": COLUMNS,
        "rows": ROWS,
        "least": [sum(sizes.values()), column, sizes["0.offsets"]],
        "consumers": consumers,
    }


def _job(payload: dict[str, Any], tell: Callable[[dict[str, Any]], None]) -> None:
    name = payload["name"]
    import_module(NEEDS.get(name, name))
    from buflend.shared import arrow_export

    owners: dict[str, weakref.ref[Any]] = {}
    table = _table(owners)
    sizes = {part: buffer.bufsize for part, buffer in _buffers(table).items()}

    def held_bytes() -> int:
        arrow_export.flush()
        gc.collect()
        return sum(size for part, size in sizes.items() if owners[part]() is not None)

    try:
        held, column, part = READERS[name](table)
    except Exception as error:  # noqa: BLE001 - a consumer may refuse in its own way
        tell({"outcome": "refused", "detail": sentence(error)})
        return
    del table
    found: list[int | None] = [held_bytes()]
    held = column(held)
    found.append(held_bytes())
    if part is None:
        found.append(None)
    else:
        held = part(held)
        found.append(held_bytes())
    del held
    tell({"outcome": "measured", "detail": "", "held": found, "leaked": held_bytes()})


def _table(owners: dict[str, weakref.ref[Any]]) -> Any:
    """Return a table of text, each buffer over an array of its own; `owners` gets a reference to each."""
    import numpy as np

    from buflend.maximal import Column, Table, as_buffer

    words = [b"%d words" % row for row in range(ROWS)]
    ends = np.cumsum([0, *map(len, words)], dtype=np.int32)
    characters = np.frombuffer(b"".join(words), np.uint8)
    bits = np.packbits(np.arange(ROWS) % 7 != 0, bitorder="little")
    columns = {}
    for number in range(COLUMNS):
        buffers: dict[str, Any] = {}
        for part, original in (("data", characters), ("offsets", ends), ("validity", bits)):
            memory = original.copy()
            owners[f"{number}.{part}"] = weakref.ref(memory)
            buffers[part] = as_buffer(memory)
        columns[str(number)] = Column("u", ROWS, **buffers, null=(3, 0), null_count=len(range(0, ROWS, 7)))
    return Table(columns)


def _buffers(table: Any) -> dict[str, Any]:
    pairs = zip(table.column_names(), table.columns, strict=True)
    return {f"{name}.{part}": buffer for name, column in pairs for part, buffer in column.buffers.items()}
