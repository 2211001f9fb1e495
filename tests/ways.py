"""Ways from a thing of the library to a consumer: what is exported, who takes it, and how the bytes are read there.

Lives here: the levels, the exports, the takers. Must not know: whose memory it is, when it goes back. Imported by
tests, as `from .ways import EXPORTS, TAKERS`.
"""

import contextlib
import ctypes
import importlib
import pickle
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from buflend import maximal, minimal
from buflend.maximal import Buffer, Column, Table, as_buffer, as_column, as_memoryview, as_ndarray, as_table
from buflend.maximal.dlpack import tensor_of
from buflend.shared import dlpack_light

from .only import only
from .raw import RawTensor, raw_array, raw_stream

NUMPY = tuple(map(int, np.__version__.split(".")[:2]))
LOW, HIGH = 16, 48  # what is seen by a view of a taken thing: these of its 64 bytes

LEVELS: dict[str, Callable[[Any], Any]] = {
    "minimal": minimal.as_buffer,
    "buffer": as_buffer,
    "column": as_column,
    "table": lambda source: as_table({"x": source}),
    "frame": as_table,
    "arrays": lambda source: maximal.dataframe_to_ndarrays(source)["x"].values,
    "minimal-arrays": lambda source: minimal.dataframe_to_ndarrays(source)["x"].values,
}
"""Level -> how a source is read. "frame" is a table of what is one already, "arrays" are those of its columns."""


@contextlib.contextmanager
def without_pyarrow() -> Iterator[None]:
    """Let an export find no pyarrow, so that it is made of callbacks."""
    there = "pyarrow" in sys.modules
    loaded = sys.modules.get("pyarrow")
    sys.modules["pyarrow"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if there:
            sys.modules["pyarrow"] = loaded  # type: ignore[assignment]
        else:
            del sys.modules["pyarrow"]


def by_callbacks(export: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def made(wrapped: Any) -> Any:
        with without_pyarrow():
            return export(wrapped)

    return made


class Export(NamedTuple):
    """One protocol, one way.

    Attributes
    ----------
    levels : str
        Those that speak it.
    make : callable
        Returns what is handed over: capsules, or an object that offers this protocol alone.
    group : str
        Who takes it.
    kind : str
        What `live_exports` calls it; nothing where it makes no loan.
    copies : bool
        Whether it is a copy, which holds nothing.
    writes : bool
        Whether it is refused where memory is read-only.
    is_parked : bool
        Whether an unused capsule keeps its owner until it is used again or flushed (`arrow_release`).
    library : str
        What must be installed.
    """

    levels: str
    make: Callable[[Any], Any]
    group: str
    kind: str
    copies: bool = False
    writes: bool = False
    is_parked: bool = False
    library: str = ""


def _pickled(wrapped: Any) -> tuple[bytes, list[pickle.PickleBuffer]]:
    parts: list[pickle.PickleBuffer] = []
    return pickle.dumps(wrapped, 5, buffer_callback=parts.append), parts


def _interface(wrapped: Any) -> Any:
    assert wrapped.__array_interface__  # where it raises, NumPy would take the object for a value
    return only(wrapped, "array_interface")


VERSION = {"max_version": (1, 0)}
ANY, ARROW, STREAMS = "buffer column table frame", "buffer column table frame", "column table frame"
EXPORTS = {
    "dlpack": Export(ANY, lambda w: w.__dlpack__(**VERSION), "tensor", "dlpack"),
    "dlpack before 1.0": Export(ANY, lambda w: w.__dlpack__(), "old tensor", "dlpack", writes=True),
    "dlpack copy": Export(ANY, lambda w: w.__dlpack__(copy=True, **VERSION), "tensor", "", copies=True),
    "dlpack without NumPy": Export(
        "buffer", lambda w: dlpack_light.exporter(w.owner, tensor_of(w))(**VERSION), "tensor", "dlpack"
    ),
    "dlpack before 1.0 without NumPy": Export(
        "buffer", lambda w: dlpack_light.exporter(w.owner, tensor_of(w))(), "old tensor", "dlpack", writes=True
    ),
    "arrow array": Export(ARROW, lambda w: w.__arrow_c_array__(), "array", "arrow", library="pyarrow"),
    "arrow device array": Export(
        ARROW, lambda w: w.__arrow_c_device_array__(), "device array", "arrow", library="pyarrow"
    ),
    "arrow stream": Export(STREAMS, lambda w: w.__arrow_c_stream__(), "stream", "arrow", library="pyarrow"),
    "arrow array by callbacks": Export(
        ARROW, by_callbacks(lambda w: w.__arrow_c_array__()), "array", "arrow", is_parked=True
    ),
    "arrow device array by callbacks": Export(
        ARROW, by_callbacks(lambda w: w.__arrow_c_device_array__()), "device array", "arrow", is_parked=True
    ),
    "arrow stream by callbacks": Export(
        STREAMS, by_callbacks(lambda w: w.__arrow_c_stream__()), "stream", "arrow", is_parked=True
    ),
    "pyarrow": Export(ARROW, lambda w: w.__arrow_array__(), "pyarrow", "arrow", library="pyarrow"),
    "array interface": Export(ANY, _interface, "interface", ""),
    "array": Export(ANY, lambda w: w.__array__(), "ndarray", ""),
    "memoryview": Export("buffer", lambda w: w.memoryview(), "view", "view"),
    "as_memoryview": Export("buffer", as_memoryview, "view", "view"),
    "as_ndarray": Export("buffer", as_ndarray, "ndarray", "view"),
    "itself": Export("arrays minimal-arrays", lambda w: w[:], "ndarray", ""),
    "column_to_ndarray": Export("column", lambda w: maximal.column_to_ndarray(w).values, "ndarray", ""),
    "minimal.column_to_ndarray": Export("column", lambda w: minimal.column_to_ndarray(w).values, "ndarray", ""),
    "dataframe_to_ndarrays": Export(
        "table frame", lambda w: maximal.dataframe_to_ndarrays(w)["x"].values, "ndarray", ""
    ),
    "minimal.dataframe_to_ndarrays": Export(
        "table frame", lambda w: minimal.dataframe_to_ndarrays(w)["x"].values, "ndarray", ""
    ),
    "minimal.as_memoryview": Export("minimal buffer", minimal.as_memoryview, "view", "view"),
    "minimal.as_ndarray": Export("minimal buffer", minimal.as_ndarray, "ndarray", "view"),
    "interchange": Export("table frame", lambda w: only(w, "dataframe"), "dataframe", ""),
    "interchange buffer": Export("column", lambda w: w.get_buffers()["data"][0], "described", ""),
    "pickle out of band": Export(ANY, _pickled, "pickle", "view"),
}


class Given:
    """What hands over one thing, as often as it is asked, by the one method that it is asked by."""

    def __init__(self, given: Any) -> None:
        self.given = given


def _giver(*names: str) -> type[Given]:
    def give(self: Given, *_: object, **__: object) -> Any:
        return self.given

    host = {"__dlpack_device__": lambda _: (1, 0)} if "__dlpack__" in names else {}
    return type("Given", (Given,), dict.fromkeys(names, give) | host)


TENSOR, ARRAY = _giver("__dlpack__"), _giver("__arrow_c_array__")
DEVICE_ARRAY, STREAM = _giver("__arrow_c_device_array__"), _giver("__arrow_c_stream__")


def _import(name: str) -> Any:
    return sys.modules.get(name) or importlib.import_module(name)


class Result(NamedTuple):
    """A kind of thing that a consumer has: how its bytes are read, and a view of it and how that is read."""

    read: Callable[[Any], bytes]
    view: Callable[[Any], Any] | None = None
    read_view: Callable[[Any], bytes] | None = None


def _cut(read: Callable[[Any], bytes]) -> Result:
    return Result(read, lambda one: one[LOW:HIGH], read)


def _numbers(rows: list[Any]) -> bytes:
    if isinstance(rows[0], dict):
        return b"".join(bytes([row[name] for row in rows]) for name in rows[0])
    return bytes(rows)


def _nanoarrow(array: Any) -> bytes:
    found = b""
    for child in [array.child(i) for i in range(array.n_children)] or [array]:
        skip = child.offset + (array.offset if array.n_children else 0)
        found += bytes(memoryview(child.view().buffer(1)))[skip : skip + array.length]
    return found


def _nanoarrow_chunk(capsule: object) -> Any:
    stream = _import("nanoarrow").c_array_stream(STREAM(capsule))
    (array,) = stream
    stream.release()
    return array


def _nanoarrow_view(array: Any) -> Any:
    return (array.child(0) if array.n_children else array).view().buffer(1)


# Of two dimensions, column by column.
NDARRAY, VIEW, TORCH = _cut(lambda a: a.T.tobytes()), _cut(bytes), _cut(lambda t: t.numpy().T.tobytes())
RAW = Result(lambda raw: raw.read())
BUFFER = Result(
    lambda b: ctypes.string_at(b.ptr, b.bufsize),
    lambda b: as_ndarray(b, offset=LOW, shape=HIGH - LOW),
    lambda a: a.tobytes(),
)
COLUMN = _cut(lambda c: _numbers(c.tolist()))
PYARROW = Result(
    lambda a: _numbers(a.to_pylist()), lambda a: a.slice(LOW, HIGH - LOW), lambda a: _numbers(a.to_pylist())
)
SERIES = _cut(lambda s: _numbers(s.to_list()))
FRAME = _cut(lambda f: _numbers(f.to_dicts()))
NANOARROW = Result(_nanoarrow, _nanoarrow_view, lambda b: bytes(b)[LOW:HIGH])


class Taker(NamedTuple):
    """A consumer.

    Attributes
    ----------
    groups : str
        The groups of exports that it takes, between commas.
    take : callable
        Returns what it has then.
    result : Result
        What that is.
    uses_up : bool
        Whether what was handed over holds nothing afterwards; else it goes on holding the owner.
    levels : str
        Those whose exports it takes.
    library : str
        What must be installed.
    numpy : tuple of (int, int)
        The first NumPy of which that is true.
    """

    groups: str
    take: Callable[[Any], Any]
    result: Result
    uses_up: bool = False
    levels: str = "minimal buffer column table frame arrays minimal-arrays"
    library: str = ""
    numpy: tuple[int, int] = (1, 26)


FLAT, ROWS = "minimal buffer column arrays minimal-arrays", "table frame"
C_TENSORS, CAPSULES = "tensor,old tensor", "tensor,old tensor,array,device array,stream"
TAKERS = {
    "nobody": Taker(f"{CAPSULES},interface,pyarrow,ndarray,view,dataframe,described,pickle", lambda _: None, RAW),
    # This library again: a capsule of DLPack stays as it is, and is the owner.
    "as_buffer": Taker(C_TENSORS, lambda c: as_buffer(TENSOR(c)), BUFFER),
    "as_column of a tensor": Taker(C_TENSORS, lambda c: as_column(TENSOR(c)), COLUMN, levels=FLAT),
    "as_column of an array": Taker("array", lambda c: as_column(ARRAY(c)), COLUMN, uses_up=True),
    "as_column of a device array": Taker("device array", lambda c: as_column(DEVICE_ARRAY(c)), COLUMN, uses_up=True),
    "as_column of a stream": Taker("stream", lambda c: as_column(STREAM(c)), COLUMN, uses_up=True),
    "as_table of an array": Taker("array", lambda c: as_table(ARRAY(c)), COLUMN, uses_up=True, levels=ROWS),
    "as_table of a stream": Taker("stream", lambda c: as_table(STREAM(c)), COLUMN, uses_up=True, levels=ROWS),
    "data of a column": Taker("array", lambda c: as_column(ARRAY(c)).data, BUFFER, uses_up=True, levels=FLAT),
    "column of a table": Taker("array", lambda c: as_table(ARRAY(c))["x"], COLUMN, uses_up=True, levels=ROWS),
    "as_buffer of what is offered": Taker("interface,ndarray,view", as_buffer, BUFFER),
    "minimal.as_buffer": Taker("ndarray,view,described", minimal.as_buffer, BUFFER),
    "as_ndarray of what is offered": Taker("interface,view,described", as_ndarray, NDARRAY, levels=FLAT),
    "as_column of what is offered": Taker("interface,ndarray,view", as_column, COLUMN, levels=FLAT),
    "as_table of what is offered": Taker("dataframe", as_table, COLUMN),
    "pickle.loads": Taker("pickle", lambda p: pickle.loads(p[0], buffers=p[1]), BUFFER, levels="buffer"),  # noqa: S301 - ours
    "pickle.loads of columns": Taker(
        "pickle",
        lambda p: pickle.loads(p[0], buffers=p[1]),  # noqa: S301
        COLUMN,
        levels="column table frame",
    ),
    # As little of a consumer in C as can be.
    "tensor in C": Taker(C_TENSORS, RawTensor, RAW, uses_up=True),
    "array in C": Taker("array,device array", raw_array, RAW, uses_up=True),
    "stream in C": Taker("stream", raw_stream, RAW, uses_up=True),
    "numpy.from_dlpack": Taker("tensor", lambda c: np.from_dlpack(TENSOR(c)), NDARRAY, uses_up=True, numpy=(2, 1)),
    "numpy.from_dlpack before 1.0": Taker("old tensor", lambda c: np.from_dlpack(TENSOR(c)), NDARRAY, uses_up=True),
    "numpy.asarray": Taker("interface,view", np.asarray, NDARRAY),
    "numpy.frombuffer": Taker("view", lambda v: np.frombuffer(v, np.uint8), NDARRAY),
    "memoryview": Taker("ndarray,view", memoryview, VIEW, levels=FLAT),
    "torch.from_dlpack": Taker(
        C_TENSORS, lambda c: _import("torch").from_dlpack(TENSOR(c)), TORCH, uses_up=True, library="torch"
    ),
    "pyarrow.array": Taker(
        "array", lambda c: _import("pyarrow").array(ARRAY(c)), PYARROW, uses_up=True, library="pyarrow"
    ),
    "pyarrow.array of a device array": Taker(
        "device array", lambda c: _import("pyarrow").array(DEVICE_ARRAY(c)), PYARROW, uses_up=True, library="pyarrow"
    ),
    "pyarrow.chunked_array": Taker(
        "stream", lambda c: _import("pyarrow").chunked_array(STREAM(c)), PYARROW, uses_up=True, library="pyarrow"
    ),
    "pyarrow.table": Taker(
        "stream", lambda c: _import("pyarrow").table(STREAM(c)), PYARROW, uses_up=True, levels=ROWS, library="pyarrow"
    ),
    "pyarrow.array again": Taker("pyarrow", lambda a: _import("pyarrow").array(a), PYARROW, library="pyarrow"),
    "pyarrow.py_buffer": Taker("view", lambda v: _import("pyarrow").py_buffer(v), VIEW, library="pyarrow"),
    "as_column of pyarrow's": Taker("pyarrow", as_column, COLUMN),
    "polars.Series": Taker(
        "array", lambda c: _import("polars").Series(ARRAY(c)), SERIES, uses_up=True, library="polars"
    ),
    "polars.Series of a stream": Taker(
        "stream", lambda c: _import("polars").Series(STREAM(c)), SERIES, uses_up=True, library="polars"
    ),
    "polars.DataFrame": Taker(
        "stream", lambda c: _import("polars").DataFrame(STREAM(c)), FRAME, uses_up=True, levels=ROWS, library="polars"
    ),
    "nanoarrow.c_array": Taker(
        "array", lambda c: _import("nanoarrow").c_array(ARRAY(c)), NANOARROW, library="nanoarrow"
    ),
    "nanoarrow.c_array_stream": Taker("stream", _nanoarrow_chunk, NANOARROW, uses_up=True, library="nanoarrow"),
    "arro3.core.Array": Taker(
        "array",
        lambda c: _import("arro3.core").Array(ARRAY(c)),
        Result(lambda a: _numbers(_import("pyarrow").array(a).to_pylist())),
        uses_up=True,
        library="arro3.core",
    ),
    "arro3.core.ChunkedArray": Taker(
        "stream",
        lambda c: _import("arro3.core").ChunkedArray(STREAM(c)),
        Result(lambda a: _numbers(_import("pyarrow").chunked_array(a).to_pylist())),
        uses_up=True,
        library="arro3.core",
    ),
    "pandas.api.interchange": Taker(
        "dataframe",
        lambda d: _import("pandas.api.interchange").from_dataframe(d),
        Result(lambda f: _numbers(f.to_dict("records"))),
        library="pandas",
    ),
    "pyarrow.interchange": Taker(
        "dataframe", lambda d: _import("pyarrow.interchange").from_dataframe(d), PYARROW, library="pyarrow"
    ),
}
"""Name -> who takes what. "nobody" leaves what was handed over as it is."""


def level_of(obj: object) -> str:
    """Return what of this library an object is; of another one it is taken."""
    if isinstance(obj, Column):
        return "struct" if obj.dtype.format == "+s" else "column"
    kinds = {Table: "table", Buffer: "buffer", minimal.Buffer: "minimal"}
    return next((level for kind, level in kinds.items() if isinstance(obj, kind)), "taken")


OWN = {
    "minimal": BUFFER.read,
    "buffer": BUFFER.read,
    "column": COLUMN.read,
    "struct": COLUMN.read,
    "table": COLUMN.read,
}
"""Level of what is this library's -> how it is read."""
