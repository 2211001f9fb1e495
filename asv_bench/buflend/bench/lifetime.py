"""What stays alive of the producer's memory while a person drops one thing after another.

The producer is our own, and the owner of each buffer's memory is watched by a weak reference. The least possible is
measured too: a buffer that something still held lies in, by its addresses, must be alive, any other need not be. Alive
without need is *excess* (after everything was dropped: a *leak*); needed but dead is *dangling*: a living array over
freed memory. The numbers are those of the buffers alone, in bytes.
"""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

from . import consumers, holding, processes
from .producer import Buf, Col, Dtype, Frame, Kind, Null, dtype
from .tables import sentence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Tell = Callable[[dict[str, Any]], None]

ROWS = 100_000
KEPT = "float"
"""The column that is kept while the others are dropped."""

STEPS = (
    "everything held",
    "producer's frame dropped",
    "all but one column dropped",
    "all but one part of it dropped",
    "everything dropped",
)

RECIPE = "2021 recipe"
"""`as_ctypes_type` + `cast` + `as_array`, which keeps no owner; it reads numbers only."""

PARTS = {
    "minimal": "the values array",
    "maximal": "the values array",
    "pandas": "to_numpy() of it",
    "pyarrow": "its data buffer",
    "polars": "one row of it",
    RECIPE: "the array",
}


class Watch(NamedTuple):
    """A buffer's memory: whether it lives, and where it lies."""

    owner: weakref.ref[Any]
    address: int
    size: int


def measure(progress: Callable[[str, float], None], extra: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Drop one thing after another, and look at what is alive.

    `extra` are more consumers, as in `values.measure`; the kept part is what minimal's would be. Return, JSON-able, the
    producer's `buffers` with their bytes, `consumers` with their `steps`, and what `holding` measures.
    """
    places = consumers.READERS | {RECIPE: f"{__name__}:recipe"} | dict(extra or {})
    here = {"available": True, "reason": "", "version": ""}
    present = consumers.availability() | {name: dict(here) for name in (RECIPE, *(extra or ()))}
    watches: dict[str, Watch] = {}
    watched(None, watches)
    result: dict[str, Any] = {
        "rows": ROWS,
        "kept": KEPT,
        "buffers": {name: watch.size for name, watch in watches.items()},
        "consumers": present,
    }
    for done, (name, entry) in enumerate(present.items()):
        progress(f"lifetime: {name}", done / len(present) / 2)
        only = ["int", "float"] if name == RECIPE else None
        entry.update({"held": PARTS.get(name, PARTS["minimal"]), "refused": {}, "steps": [], "leaks": []})
        entry.update(_outcome(entry, places[name], only))
    result["table"] = holding.measure(lambda text, fraction: progress(text, (1 + fraction) / 2))
    return result


def _outcome(found: dict[str, Any], place: str, only: list[str] | None) -> dict[str, Any]:
    """Run one consumer's job, unless it is absent."""
    if not found["available"]:
        return {"outcome": "absent", "detail": found["reason"]}
    outcome, end = processes.answer(f"{__name__}:_job", {"place": place, "only": only})
    return outcome | ({"outcome": end["end"], "detail": end["detail"]} if end else {})


def recipe(frame: Any) -> dict[str, Any]:
    """Read the data buffer of each column as the discussion of 2021 did: a pointer, cast, viewed, without an owner."""
    import ctypes

    import numpy as np

    exchange = frame.__dataframe__()
    made = {}
    for name in exchange.column_names():
        buffer, _ = exchange.get_column_by_name(name).get_buffers()["data"]
        kind = np.float64 if name == "float" else np.int64
        pointer = ctypes.cast(buffer.ptr, ctypes.POINTER(np.ctypeslib.as_ctypes_type(kind)))
        made[name] = np.ctypeslib.as_array(pointer, shape=(buffer.bufsize // 8,))
    return made


def _job(payload: dict[str, Any], tell: Tell) -> None:
    read = consumers.find(payload["place"])
    names, refused = _readable(read, payload["only"])
    if not names:
        tell({"outcome": "refused", "detail": "no column of the frame could be read", "refused": refused})
        return
    gc.collect()
    watches: dict[str, Watch] = {}
    frame = watched(names, watches)
    held: Any = read(consumers.Exchange(frame))
    everything = set(watches)
    least = [everything, _needed(held, watches), _needed(held[KEPT], watches), _needed(_part(held), watches), set()]
    steps = [_step(STEPS[0], watches, least[0])]
    del frame
    steps.append(_step(STEPS[1], watches, least[1]))
    part = _part(held)
    held = held[KEPT]
    steps.append(_step(STEPS[2], watches, least[2]))
    held = part
    del part
    steps.append(_step(STEPS[3], watches, least[3]))
    del held
    steps.append(_step(STEPS[4], watches, least[4]))
    tell({"outcome": "measured", "detail": "", "refused": refused, "steps": steps, "leaks": steps[-1]["excess"]})


def _readable(read: Callable[[Any], Any], only: list[str] | None) -> tuple[list[str], dict[str, str]]:
    """Return the columns that a consumer reads, each tried in a frame of its own, and its reasons for the others."""
    names, refused = [], {}
    for name in only or ("int", "float", "text", "category"):
        try:
            read(consumers.Exchange(watched([name])))
        except BaseException as error:  # noqa: BLE001 - polars' panics are no Exception
            refused[name] = sentence(error)
        else:
            names.append(name)
    return (names if KEPT in names else []), refused


def _step(text: str, watches: dict[str, Watch], least: set[str]) -> dict[str, Any]:
    gc.collect()
    alive = {name for name, watch in watches.items() if watch.owner() is not None}
    return {
        "step": text,
        "alive": _ordered(alive, watches),
        "alive_bytes": sum(watches[name].size for name in alive),
        "least": _ordered(least, watches),
        "least_bytes": sum(watches[name].size for name in least),
        "excess": _ordered(alive - least, watches),
        "dangling": _ordered(least - alive, watches),
    }


def _ordered(names: set[str], watches: dict[str, Watch]) -> list[str]:
    return [name for name in watches if name in names]


def watched(names: list[str] | None = None, watches: dict[str, Watch] | None = None) -> Frame:
    """Make the frame, or some of its columns: integers; masked floats; text with mask and offsets; categories.

    `watches` gets a watch on each buffer's memory, by name.
    """
    import numpy as np

    watches = {} if watches is None else watches

    def lend(name: str, memory: Any) -> Buf:
        buffer = Buf(memory)
        watches[name] = Watch(weakref.ref(memory), buffer.address, memory.nbytes)
        return buffer

    def column(name: str, values: Any, kind: Dtype, part: str = "data", **more: Any) -> Col:
        return Col(lend(f"{name}.{part}", values), kind, ROWS, **more)

    def masked(name: str) -> dict[str, Any]:
        mask = lend(f"{name}.validity", np.packbits(np.arange(ROWS) % 7 != 0, bitorder="little"))
        gone = len(range(0, ROWS, 7))
        return {"validity": (mask, dtype("bits")), "null": (Null.USE_BITMASK, 0), "null_count": gone}

    def text(name: str, words: list[bytes]) -> dict[str, Any]:
        offsets = np.cumsum([0, *map(len, words)], dtype=np.int32)
        return {
            "data": lend(f"{name}.data", np.frombuffer(b"".join(words), np.uint8).copy()),
            "type_": dtype("string"),
            "size": len(words),
            "data_dtype": dtype("uint8"),
            "offsets": (lend(f"{name}.offsets", offsets), dtype("int32")),
        }

    def categories() -> Col:
        words = Col(**text("category.words", [b"one", b"two", b"three"]))
        codes = np.arange(ROWS, dtype=np.uint32) % 3
        kind = Dtype(Kind.CATEGORICAL, 32, "I")
        return column("category", codes, kind, "codes", data_dtype=dtype("uint32"), categories=words)

    words = [b"%d words" % row for row in range(ROWS)]
    make: dict[str, Callable[[], Col]] = {
        "int": lambda: column("int", np.arange(ROWS, dtype=np.int64), dtype("int64")),
        "float": lambda: column("float", np.arange(ROWS, dtype=np.float64), dtype("float64"), **masked("float")),
        "text": lambda: Col(**text("text", words), **masked("text")),
        "category": categories,
    }
    return Frame({name: one() for name, one in make.items() if names is None or name in names})


def _part(held: Any) -> Any:
    """Return one part of the kept column: see PARTS."""
    column = held[KEPT]
    library = type(held).__module__.partition(".")[0]
    if library == "pandas":
        return column.to_numpy()
    if library == "pyarrow":
        return column.chunk(0).buffers()[1]
    if library == "polars":
        return column.slice(1, 1)
    return column.values if hasattr(column, "values") else column


def _needed(held: Any, watches: dict[str, Watch]) -> set[str]:
    """Return the buffers that something held lies in."""
    regions = list(_regions(held))
    return {
        name
        for name, watch in watches.items()
        if any(start < watch.address + watch.size and watch.address < start + size for start, size in regions)
    }


def _regions(held: Any) -> Iterator[tuple[int, int]]:
    """Yield address and bytes of all memory that a frame, column, array or buffer of any library lies in."""
    library = type(held).__module__.partition(".")[0]
    if isinstance(held, dict | tuple):
        for one in held.values() if isinstance(held, dict) else held:
            yield from _regions(one)
    elif library == "numpy" and hasattr(held, "__array_interface__") and held.dtype.kind not in "OT":
        yield held.__array_interface__["data"][0], held.nbytes
    elif library == "pyarrow":
        yield from _arrow_regions(held)
    elif library == "pandas":
        for column in [held[name] for name in held.columns] if held.ndim == 2 else [held]:
            yield from _pandas_regions(column)
    elif library == "polars":
        frame = held if hasattr(held, "get_columns") else held.to_frame()
        for column in frame.__dataframe__().get_columns():
            for chunk in column.get_chunks():
                yield from ((part[0].ptr, part[0].bufsize) for part in chunk.get_buffers().values() if part)


def _arrow_regions(held: Any) -> Iterator[tuple[int, int]]:
    if hasattr(held, "address"):
        yield held.address, held.size
    elif hasattr(held, "columns"):
        for column in held.columns:
            yield from _arrow_regions(column)
    elif hasattr(held, "chunks"):
        for chunk in held.chunks:
            yield from _arrow_regions(chunk)
    else:
        for buffer in filter(None, held.buffers()):
            yield buffer.address, buffer.size
        if hasattr(held, "dictionary"):
            yield from _arrow_regions(held.dictionary)


def _pandas_regions(column: Any) -> Iterator[tuple[int, int]]:
    if hasattr(column.dtype, "categories"):
        yield from _regions(column.cat.codes.to_numpy())
        yield from _pandas_regions(column.dtype.categories.to_series())
    elif column.dtype.kind in "OSU" and getattr(column.dtype, "storage", "") == "pyarrow":
        import pyarrow as pa

        yield from _regions(pa.array(column))
    else:
        yield from _regions(column.to_numpy())
