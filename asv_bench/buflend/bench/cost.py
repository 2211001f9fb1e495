"""Time per exchange, side by side.

Rules of this file: alternatives that do the same work are timed in turns in one process (`timing`), against
`buflend.minimal` wherever it takes part. Every alternative is tried once before: what refuses or crashes is said, and
the others are timed without it. Whether a reading is *right* is not judged here (see `values`): time is told of wrong
readings too.

The sections: `pointer` (an address made an array), `column` (one column of each library's frame), `table` (the real
table, without the columns that some consumer refuses), `size` (plain integers of growing number).
"""

from __future__ import annotations

from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import lifetime, peers, processes, readers, tables, timing, values
from .dtypes import dtype
from .producer import Buf, Col, Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tell = Callable[[dict[str, Any]], None]

SECTIONS = ("pointer", "column", "table", "size")
ROWS = 100_000
SECONDS = 0.5
"""Time to spend on each group, about."""

SIZES = (1_000, 10_000, 100_000, 1_000_000)
KINDS = ("int64", "float64", "str", "category")
BASELINE = "minimal"


class Group(NamedTuple):
    """Alternatives that do the same work.

    Parameters
    ----------
    title : str
        What the work is; unique within its section.
    alternatives : dict
        Name and function.
    rows : int
        Rows that each call reads.
    note : str
        What a reader has to know of the work.
    left_out : mapping of str to str
        Columns that are not read, and who refuses them why.
    """

    title: str
    alternatives: dict[str, Callable[[], object]]
    rows: int
    note: str = ""
    left_out: Mapping[str, str] = MappingProxyType({})


def measure(file: str | None, progress: Callable[[str, float], None], seconds: float = SECONDS) -> dict[str, Any]:
    """Time all sections.

    Parameters
    ----------
    file : str or None
        The table of section `table`, as `tables.load` takes it.
    progress : callable
        Called with a text and the fraction done.
    seconds : float
        Time to spend on each group, about.

    Returns
    -------
    dict
        JSON-able: `sections`, each a list of groups with their `alternatives`.
    """
    present = readers.availability()
    sections: dict[str, list[dict[str, Any]]] = {}
    notes: dict[str, str] = {}
    for done, section in enumerate(SECTIONS):
        progress(f"cost: {section}", done / len(SECTIONS))
        payload = {"section": section, "file": file, "seconds": seconds, "consumers": present}

        def told(text: str, share: float = done / len(SECTIONS)) -> None:
            progress(f"cost: {text}", share)

        sections[section], notes[section] = _section(payload, told)
    for groups in sections.values():
        for group in groups:
            for name, found in present.items():
                if not found["available"]:
                    group["alternatives"].setdefault(name, {"outcome": "absent", "detail": found["reason"]})
    return {"part": "cost", "baseline": BASELINE, "consumers": present, "sections": sections, "notes": notes}


def _section(payload: dict[str, Any], told: Callable[[str], None]) -> tuple[list[dict[str, Any]], str]:
    """Run one section in a process of its own, again without whatever ended that process."""
    groups: list[dict[str, Any]] = []
    skip: dict[str, dict[str, str]] = {}
    while True:
        now = {"title": "", "name": ""}
        order = {**payload, "done": [group["title"] for group in groups], "skip": skip}
        end: dict[str, Any] = {}
        for message in processes.run(f"{__name__}:_job", order):
            if "group" in message:
                groups.append(message["group"])
            elif "try" in message:
                if message["try"]["title"] != now["title"]:
                    told(message["try"]["title"])
                now = message["try"]
            else:
                end = message
        if end["end"] == "done":
            return groups, ""
        if end["end"] == "failed" or not now["title"] or now["name"] in skip.get(now["title"], {}):
            return groups, f"{end['end']}: {end['detail']}"
        skip.setdefault(now["title"], {})[now["name"]] = f"{end['end']}: {end['detail']}"


def _job(payload: dict[str, Any], tell: Tell) -> None:
    consumers = [name for name, found in payload["consumers"].items() if found["available"]]
    make: dict[str, Callable[[], Iterator[Group]]] = {
        "pointer": partial(_pointer, consumers),
        "column": partial(_column, consumers),
        "table": partial(_table, consumers, payload["file"]),
    }
    if payload["section"] == "size":
        _sizes(consumers, payload, tell)
        return
    for group in make[payload["section"]]():
        if group.title in payload["done"]:
            continue
        usable, entries = _tried(group, payload["skip"].get(group.title, {}), tell)
        if usable:
            tell({"try": {"title": group.title, "name": "timing"}})
            baseline = next((name for name in usable if name.startswith(BASELINE)), next(iter(usable)))
            for name, found in timing.compare(usable, baseline=baseline, seconds=payload["seconds"]).items():
                entries[name] = {"outcome": "timed", "detail": "", "makes": _makes(usable[name]()), **found.as_json()}
            tell({"group": _as_json(group, baseline, entries)})
        else:
            tell({"group": _as_json(group, "", entries)})


def _as_json(group: Group, baseline: str, entries: dict[str, Any]) -> dict[str, Any]:
    return {
        "title": group.title,
        "rows": group.rows,
        "note": group.note,
        "left_out": dict(group.left_out),
        "baseline": baseline,
        "alternatives": {name: entries[name] for name in group.alternatives if name in entries},
    }


def _tried(
    group: Group, skip: dict[str, str], tell: Tell
) -> tuple[dict[str, Callable[[], object]], dict[str, dict[str, Any]]]:
    """Call each alternative once; return those that work, and an entry for each that does not."""
    usable, entries = {}, {}
    for name, function in group.alternatives.items():
        reason = skip.get(name) or skip.get("timing")
        if reason is not None:
            entries[name] = {"outcome": "crashed", "detail": reason}
            continue
        tell({"try": {"title": group.title, "name": name}})
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            entries[name] = {"outcome": "refused", "detail": _sentence(error)}
        else:
            usable[name] = function
    return usable, entries


def _makes(result: Any) -> str:
    """Tell what type a reading of one column has, as the consumer's library calls it; empty for anything else."""
    from .cells import cells_of

    if hasattr(result, "_fields"):  # our column arrays
        result = {"": result}
    if not isinstance(result, dict) and not hasattr(result, "columns"):
        return ""
    types = [cells.type for cells in cells_of(result).values()]
    return types[0] if len(types) == 1 else ""


def _pointer(consumers: list[str]) -> Iterator[Group]:
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
    for name in ("minimal", "maximal"):
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


def _column(consumers: list[str]) -> Iterator[Group]:
    """Yield one column of each kind out of each library's frame."""
    for kind in KINDS:
        for library, frame in _one_column_frames(kind).items():
            alternatives = {name: _read_column(name, frame) for name in consumers}
            yield Group(f"{kind} from {library}", alternatives, ROWS, "a tenth missing" if kind != "int64" else "")


def _read_column(name: str, frame: Any) -> Callable[[], object]:
    if name not in ("minimal", "maximal"):
        return partial(readers.find(readers.readers()[name]), readers.Exchange(frame))
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


def _table(consumers: list[str], file: str | None) -> Iterator[Group]:
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
    read = readers.find(readers.readers()[consumer])
    try:
        read(readers.Exchange(exchange.select_columns_by_name(names)))
    except BaseException:  # noqa: BLE001 - polars' panics are no Exception
        reasons = {}
        for name in names:
            try:
                read(readers.Exchange(exchange.select_columns_by_name([name])))
            except BaseException as error:  # noqa: BLE001
                reasons[name] = _sentence(error)
        return reasons
    return {}


def _read_columns(consumer: str, frame: Any, names: list[str]) -> Callable[[], object]:
    read = readers.find(readers.readers()[consumer])
    return lambda: read(readers.Exchange(frame.__dataframe__().select_columns_by_name(names)))


def _sizes(consumers: list[str], payload: dict[str, Any], tell: Tell) -> None:
    """Time plain integers of our own producer, all sizes and consumers in one run, so that growth is paired too."""
    import numpy as np

    usable: dict[tuple[str, int], Callable[[], object]] = {}
    entries: dict[int, dict[str, dict[str, Any]]] = {}
    groups = {}
    for size in SIZES:
        frame = Frame({"a": Col(Buf(np.arange(size, dtype=np.int64)), dtype("int64"), size)})
        alternatives = {name: _read_column(name, frame) for name in consumers}
        groups[size] = Group(f"{size:,} integers", alternatives, size, "from our own producer")
        fine, entries[size] = _tried(groups[size], payload["skip"].get(groups[size].title, {}), tell)
        usable |= {(name, size): function for name, function in fine.items()}
    if usable:
        tell({"try": {"title": groups[SIZES[0]].title, "name": "timing"}})
        done = timing.run(usable, seconds=payload["seconds"] * len(SIZES))
        for name, size in usable:
            base = (BASELINE, size) if (BASELINE, size) in usable else next(one for one in usable if one[1] == size)
            found = done.timing((name, size), base).as_json()
            if (name, SIZES[0]) in usable:
                found["growth"] = list(done.timing((name, size), (name, SIZES[0])).ratio)
            entries[size][name] = {"outcome": "timed", "detail": "", **found}
    for size, group in groups.items():
        baseline = BASELINE if entries[size].get(BASELINE, {}).get("outcome") == "timed" else ""
        tell({"group": _as_json(group, baseline, entries[size])})


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}"
