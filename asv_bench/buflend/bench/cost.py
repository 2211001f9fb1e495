"""Time per exchange, side by side, against `buflend.minimal` wherever it takes part.

Whether a reading is *right* is not judged here (see `values`): time is told of wrong readings too.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from . import consumers, lifetime, peers, tables, timing, values
from .consumers import OURS
from .producer import Buf, Col, Frame, dtype
from .tables import sentence
from .timing import Group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tell = Callable[[dict[str, Any]], None]

TITLES = {
    "pointer": "From an address to an array",
    "column": "One column out of each library's frame",
    "table": "The whole table",
    "size": "Growth with the number of plain integers in a column",
}
"""Sections in the order of display, each with what it shows."""

SECONDS = 0.5
"""Time to spend on each group, about."""

BASELINE = "minimal"


def measure(file: str | None, progress: Callable[[str, float], None], seconds: float | None = None) -> dict[str, Any]:
    """Time all sections, about so many seconds for each group; see `sections` in what is returned, JSON-able."""
    present = consumers.availability()
    payload = {"file": file, "seconds": seconds or SECONDS, "consumers": present}
    part = timing.in_sections("cost", TITLES, payload, progress)
    for groups in part["sections"].values():
        for group in groups:
            for name, found in present.items():
                if not found["available"]:
                    group["alternatives"].setdefault(name, {"outcome": "absent", "detail": found["reason"]})
    return part | {"baseline": BASELINE, "consumers": present}


def _job(payload: dict[str, Any], tell: Tell) -> None:
    consumers = [name for name, found in payload["consumers"].items() if found["available"]]
    make: dict[str, Callable[[], Iterator[timing.Group]]] = {
        "pointer": partial(pointer, consumers),
        "column": partial(column, consumers),
        "table": partial(table, consumers, payload["file"]),
    }
    if payload["section"] == "size":
        _sizes(consumers, payload, tell)
        return
    timing.time_all(make[payload["section"]](), payload, tell, BASELINE, _makes)


def _makes(result: Any) -> str:
    """Tell what type a reading of one column has, as the consumer's library calls it; empty for anything else."""
    from .cells import cells_of

    if hasattr(result, "_fields"):  # our column arrays
        result = {"": result}
    if not isinstance(result, dict) and not hasattr(result, "columns"):
        return ""
    types = [cells.type for cells in cells_of(result).values()]
    return types[0] if len(types) == 1 else ""


def _sizes(consumers: list[str], payload: dict[str, Any], tell: Tell) -> None:
    """Time all sizes and consumers in one run, so that growth is paired too."""
    usable: dict[tuple[str, int], Callable[[], object]] = {}
    entries: dict[int, dict[str, dict[str, Any]]] = {}
    by_size = {group.rows: group for group in growing(consumers)}
    for size, group in by_size.items():
        fine, entries[size] = timing.tried(group, payload["skip"].get(group.title, {}), tell)
        usable |= {(name, size): function for name, function in fine.items()}
    if usable:
        tell({"try": {"title": by_size[SIZES[0]].title, "name": "timing"}})
        done = timing.run(usable, seconds=payload["seconds"] * len(SIZES))
        for name, size in usable:
            base = (BASELINE, size) if (BASELINE, size) in usable else next(one for one in usable if one[1] == size)
            found = done.timing((name, size), base).as_json()
            if (name, SIZES[0]) in usable:
                found["growth"] = list(done.timing((name, size), (name, SIZES[0])).ratio)
            entries[size][name] = {"outcome": "timed", "detail": "", **found}
    for size, group in by_size.items():
        baseline = BASELINE if entries[size].get(BASELINE, {}).get("outcome") == "timed" else ""
        tell({"group": timing.as_json(group, baseline, entries[size])})


ROWS = 100_000
SIZES = (1_000, 10_000, 100_000, 1_000_000)
KINDS = ("int64", "float64", "str", "category")


def pointer(consumers: list[str]) -> Iterator[Group]:
    """Yield the ways from an address to an array."""
    import ctypes
    from importlib import import_module

    import numpy as np

    owner = np.arange(ROWS, dtype=np.int64)
    address, size = owner.ctypes.data, owner.nbytes

    class Holder:
        def __init__(self) -> None:
            self.owner = owner
            self.__array_interface__ = {"version": 3, "shape": (ROWS,), "typestr": "<i8", "data": (address, True)}

    def recipe() -> object:
        kind = np.ctypeslib.as_ctypes_type(np.int64)
        return np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), shape=(size // 8,))

    holder = Holder()
    alternatives: dict[str, Callable[[], object]] = {}
    for name in OURS:
        if name in consumers:
            part = import_module(f"buflend.{name}")
            buffer = part.Buffer(address, size, owner=owner)
            alternatives[f"{name}.as_ndarray"] = partial(part.as_ndarray, buffer, "int64")
    alternatives |= {
        f"{lifetime.RECIPE} (no owner)": recipe,
        "numpy.frombuffer(owner)": partial(np.frombuffer, owner, "int64"),
        "numpy.asarray(holder)": partial(np.asarray, holder),
    }
    yield Group(
        "address to int64 array", alternatives, ROWS, "holder: an object with __array_interface__ and the owner"
    )


def column(consumers: list[str]) -> Iterator[Group]:
    """Yield one column of each kind out of each library's frame."""
    for kind in KINDS:
        for library, frame in _one_column_frames(kind).items():
            alternatives = {name: _read_column(name, frame) for name in consumers}
            yield Group(f"{kind} from {library}", alternatives, ROWS, "a tenth missing" if kind != "int64" else "")


def _read_column(name: str, frame: Any) -> Callable[[], object]:
    if name not in OURS:
        return partial(consumers.find(consumers.READERS[name]), consumers.Exchange(frame))
    from importlib import import_module

    read = import_module(f"buflend.{name}").column_to_ndarray
    return lambda: read(frame.__dataframe__().get_column(0))


def _one_column_frames(kind: str) -> dict[str, Any]:
    """Make a frame of one column in every library that is here; all kinds but int64 miss every tenth value."""
    import numpy as np

    missing = np.arange(ROWS) % 10 == 3
    number = np.arange(ROWS)
    values: list[Any] = {
        "int64": number.tolist(),
        "float64": _with_gaps(number / 4, missing),
        "str": _with_gaps(np.char.add("word ", number.astype(str)), missing),
        "category": _with_gaps(np.char.add("word ", (number % 20).astype(str)), missing),
    }[kind]
    frames: dict[str, Any] = {}
    for library in tables.LIBRARIES:
        if not peers.peer(library).available:
            continue
        frame = _frame(library, kind, values)
        if hasattr(frame, "__dataframe__"):
            frames[library] = frame
    return frames


def _with_gaps(values: Any, missing: Any) -> list[Any]:
    return [None if gone else value for value, gone in zip(values.tolist(), missing.tolist(), strict=True)]


def _frame(library: str, kind: str, values: list[Any]) -> Any:
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame({"a": pd.Series(values, dtype=kind)})
    if library == "polars":
        import polars as pl

        kinds = {"int64": pl.Int64, "float64": pl.Float64, "str": pl.String, "category": pl.Categorical}
        return pl.DataFrame({"a": pl.Series(values, dtype=kinds[kind])})
    import pyarrow as pa

    types = {"int64": pa.int64(), "float64": pa.float64()}
    array = pa.array(values, types.get(kind, pa.string()))
    return pa.table({"a": array.dictionary_encode() if kind == "category" else array})


def table(consumers: list[str], file: str | None) -> Iterator[Group]:
    """Yield the real table as each library's frame, without the columns that a consumer refuses."""
    try:
        source = tables.load(file)
    except tables.TableError as error:
        yield Group("the table", {}, 0, str(error))
        return
    rows = len(source.table)
    frames: dict[str, Any] = {name: one.frame for name, one in tables.producers(source).items()}
    if source.library == "pyarrow" and (chunks := max(column.num_chunks for column in source.table.columns)) > 1:
        frames[f"pyarrow, {chunks} chunks"] = frames.pop("pyarrow")
        frames["pyarrow, 1 chunk"] = tables.one_chunk(source.table)
    for name, frame in frames.items():
        if not hasattr(frame, "__dataframe__"):
            continue
        exchange = frame.__dataframe__()
        names = [str(one) for one in exchange.column_names()]
        left_out = {one: f"not offered by {name}: {reason}" for one, reason in values.not_offered(frame).items()}
        for consumer in consumers:
            for column, reason in _refused(consumer, exchange, [one for one in names if one not in left_out]).items():
                left_out[column] = f"refused by {consumer}: {reason}"
        kept = [one for one in names if one not in left_out]
        alternatives = {one: _read_columns(one, frame, kept) for one in consumers} if kept else {}
        note = f"{len(kept)} of {len(names)} columns" if kept else "no column is left to read"
        yield Group(f"{source.name} from {name}", alternatives, rows, note, left_out)


def _refused(consumer: str, exchange: Any, names: list[str]) -> dict[str, str]:
    """Return which of some columns a consumer refuses, and why."""
    read = consumers.find(consumers.READERS[consumer])
    try:
        read(consumers.Exchange(exchange.select_columns_by_name(names)))
    except BaseException:  # noqa: BLE001 - polars' panics are no Exception
        reasons = {}
        for name in names:
            try:
                read(consumers.Exchange(exchange.select_columns_by_name([name])))
            except BaseException as error:  # noqa: BLE001
                reasons[name] = sentence(error)
        return reasons
    return {}


def _read_columns(consumer: str, frame: Any, names: list[str]) -> Callable[[], object]:
    read = consumers.find(consumers.READERS[consumer])
    return lambda: read(consumers.Exchange(frame.__dataframe__().select_columns_by_name(names)))


def growing(consumers: list[str]) -> Iterator[Group]:
    """Yield plain integers of our own producer, of growing number."""
    import numpy as np

    for size in SIZES:
        frame = Frame({"a": Col(Buf(np.arange(size, dtype=np.int64)), dtype("int64"), size)})
        alternatives = {name: _read_column(name, frame) for name in consumers}
        yield Group(f"{size:,} integers", alternatives, size, "from our own producer")
