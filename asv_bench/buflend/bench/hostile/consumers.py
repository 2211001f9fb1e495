"""Who reads hostile producers: each library's usual call for a protocol, and how its values are told.

Lives here: the calls. Must not know: any input. A call takes an object and returns what gives the values, so that the
object is dropped before they are read. Nobody is asked to check more than people have checked: pyarrow's
`validate(full=True)` is not called.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import peers
from ..consumers import OURS
from .inputs import ARRAY, BUFFER, DEVICE, DLPACK, INTERFACE, POINTER, STREAM

if TYPE_CHECKING:
    from collections.abc import Callable

    Take = Callable[[Any], Any]


class NotTakenError(TypeError):
    """A call returned, and made nothing of the memory: an array of the object itself, say."""


class Consumer(NamedTuple):
    """A library: its calls by protocol, and what it needs beside itself.

    `rows` is whether it reads arrays as tables only, `lacks` the beginning of faults that are none of what it speaks.
    """

    name: str
    takes: dict[str, Take]
    also: tuple[str, ...] = ()
    rows: bool = False
    lacks: str | None = None

    def packages(self) -> tuple[str, ...]:
        """Return what is imported before it reads."""
        return (f"buflend.{self.name}" if self.name in OURS else self.name, *self.also)

    def reason(self) -> str:
        """Say why it cannot read here, or nothing."""
        for package in self.packages():
            found = peers.peer(package)
            if not found.available:
                return found.reason if package == self.name else f"needs {package}: {found.reason}"
        return ""


def _ndarray(array: Any) -> Any:
    if array.dtype.hasobject:
        raise NotTakenError("an array of Python objects came, which reads nothing")
    return array.tolist


def _minimal(obj: Any) -> Any:
    array = import_module("buflend.minimal").as_ndarray(obj)
    return array.tobytes


def _maximal(obj: Any) -> Any:
    column = import_module("buflend.maximal").as_column(obj)
    return column.tolist


def _maximal_bytes(obj: Any) -> Any:
    array = import_module("buflend.maximal").as_ndarray(obj)
    return array.tobytes


def _numpy_dlpack(obj: Any) -> Any:
    return _ndarray(import_module("numpy").from_dlpack(obj))


def _numpy(obj: Any) -> Any:
    return _ndarray(import_module("numpy").asarray(obj))


def _torch_dlpack(obj: Any) -> Any:
    tensor = import_module("torch").from_dlpack(obj)
    return tensor.tolist


def _torch_buffer(obj: Any) -> Any:
    torch = import_module("torch")
    tensor = torch.frombuffer(obj, dtype=torch.uint8)
    return lambda: bytes(tensor.tolist())


def _pyarrow(obj: Any) -> Any:
    array = import_module("pyarrow").array(obj)
    return array.to_pylist


def _pyarrow_stream(obj: Any) -> Any:
    chunked = import_module("pyarrow").chunked_array(obj)
    return chunked.to_pylist


def _pyarrow_buffer(obj: Any) -> Any:
    buffer = import_module("pyarrow").py_buffer(obj)
    return buffer.to_pybytes


def _nanoarrow(obj: Any) -> Any:
    array = import_module("nanoarrow").Array(obj)
    return array.to_pylist


def _nanoarrow_device(obj: Any) -> Any:
    array = import_module("nanoarrow").Array(import_module("nanoarrow.device").c_device_array(obj))
    return array.to_pylist


def _nanoarrow_buffer(obj: Any) -> Any:
    buffer = import_module("nanoarrow").c_buffer(obj)
    return lambda: bytes(buffer)


def _arro3(obj: Any) -> Any:
    array = import_module("arro3.core").Array.from_arrow(obj)
    return array.to_pylist


def _arro3_stream(obj: Any) -> Any:
    chunked = import_module("arro3.core").ChunkedArray.from_arrow(obj)
    return lambda: [value.as_py() for value in chunked]


def _arro3_buffer(obj: Any) -> Any:
    buffer = import_module("arro3.core").Buffer(obj)
    return lambda: bytes(memoryview(buffer))


def _pandas(obj: Any) -> Any:
    series = import_module("pandas").Series.from_arrow(obj)
    return series.tolist


def _polars(obj: Any) -> Any:
    series = import_module("polars").Series(obj)
    return series.to_list


def _duckdb(obj: Any) -> Any:
    relation = import_module("duckdb").from_arrow(obj)
    return lambda: [row[0] for row in relation.fetchall()]


CONSUMERS = (
    Consumer("minimal", {BUFFER: _minimal, POINTER: _minimal}, ("numpy",)),
    Consumer(
        "maximal",
        {**dict.fromkeys((DLPACK, INTERFACE, BUFFER, ARRAY, STREAM, DEVICE), _maximal), POINTER: _maximal_bytes},
        ("numpy",),
    ),
    Consumer("numpy", {DLPACK: _numpy_dlpack, INTERFACE: _numpy, BUFFER: _numpy}),
    Consumer("torch", {DLPACK: _torch_dlpack, BUFFER: _torch_buffer}),
    Consumer("pyarrow", {BUFFER: _pyarrow_buffer, ARRAY: _pyarrow, STREAM: _pyarrow_stream, DEVICE: _pyarrow}),
    Consumer(
        "nanoarrow",
        {
            **dict.fromkeys((DLPACK, DEVICE), _nanoarrow_device),
            BUFFER: _nanoarrow_buffer,
            **dict.fromkeys((ARRAY, STREAM), _nanoarrow),
        },
        lacks="versioned, ",  # it asks for the struct before DLPack 1.0
    ),
    Consumer("arro3.core", {BUFFER: _arro3_buffer, ARRAY: _arro3, STREAM: _arro3_stream}),
    Consumer("pandas", {ARRAY: _pandas, STREAM: _pandas}, ("pyarrow",)),
    Consumer("polars", {ARRAY: _polars, STREAM: _polars}),
    Consumer("duckdb", {ARRAY: _duckdb, STREAM: _duckdb}, ("pyarrow",), rows=True),
)
"""In the order of display. What is not among a library's calls it does not speak, and is not asked."""


def plain(value: Any) -> Any:
    """Return a value of any library as Python's own."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    elif hasattr(value, "to_list"):
        value = value.to_list()
    elif hasattr(value, "as_py"):
        value = value.as_py()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return value
