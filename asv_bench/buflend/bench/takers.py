"""Calls by which libraries take somebody's memory.

Lives here: one function per call, which takes an object and says where the result lies and how its bytes are read. Must
not know: who lends. Libraries are imported when a function is called. Results are read with the library's own means,
and only once the lender is gone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable


class Taken(NamedTuple):
    """What a call made of an object.

    Parameters
    ----------
    address
        Where the first byte of the result lies, None where the library does not tell.
    values
        Returns the bytes as numbers; holds the result.
    type
        What type the library gives them.
    """

    address: int | None
    values: Callable[[], list[int]]
    type: str = "uint8"


class NotTakenError(TypeError):
    """A call returned, and nothing of the memory is in what it returned."""


class Taker(NamedTuple):
    """One call.

    Parameters
    ----------
    name
        For display; 18 characters or words of less, so that six columns fit in a terminal.
    package
        What is imported; empty where Python has the call.
    place
        Its function, as `module:function`.
    also
        Another package that the function needs.
    """

    name: str
    package: str
    place: str
    also: str = ""


def _of_ndarray(array: Any) -> Taken:
    if array.dtype.hasobject:
        raise NotTakenError("an array of Python objects came, which reads nothing")
    # `bytes` become one fixed-width text; its bytes are what counts.
    values = array.tolist if array.ndim == 1 else lambda: list(array.tobytes())
    return Taken(array.ctypes.data, values, str(array.dtype).lstrip("|"))


def _of_view(view: memoryview) -> Taken:
    import numpy as np

    return _of_ndarray(np.frombuffer(view, np.uint8))


def numpy_from_dlpack(lent: Any) -> Taken:
    """Call `numpy.from_dlpack`."""
    import numpy as np

    return _of_ndarray(np.from_dlpack(lent))


def numpy_asarray(lent: Any) -> Taken:
    """Call `numpy.asarray`."""
    import numpy as np

    return _of_ndarray(np.asarray(lent))


def numpy_frombuffer(lent: Any) -> Taken:
    """Call `numpy.frombuffer`."""
    import numpy as np

    return _of_ndarray(np.frombuffer(lent, np.uint8))


def python_memoryview(lent: Any) -> Taken:
    """Call `memoryview`."""
    return _of_view(memoryview(lent))


def method_memoryview(lent: Any) -> Taken:
    """Call the object's own `memoryview()`, which needs no Python 3.12."""
    return _of_view(lent.memoryview())


def out_of_band(lent: Any) -> Taken:
    """Pickle with protocol 5 and load, buffers handed over as they are."""
    import pickle

    from buflend.maximal import as_ndarray

    buffers: list[pickle.PickleBuffer] = []
    told = pickle.dumps(lent, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(told, buffers=buffers)  # noqa: S301 - made in the line before
    return _of_ndarray(as_ndarray(loaded))


def _of_tensor(tensor: Any) -> Taken:
    return Taken(tensor.data_ptr(), tensor.tolist, str(tensor.dtype).removeprefix("torch."))


def torch_from_dlpack(lent: Any) -> Taken:
    """Call `torch.from_dlpack`."""
    import torch

    return _of_tensor(torch.from_dlpack(lent))


def torch_asarray(lent: Any) -> Taken:
    """Call `torch.asarray`, which reads the buffer protocol and array interfaces too."""
    import torch

    return _of_tensor(torch.asarray(lent, dtype=torch.uint8))


def jax_from_dlpack(lent: Any) -> Taken:
    """Call `jax.dlpack.from_dlpack`."""
    import jax

    array = jax.dlpack.from_dlpack(lent)
    return Taken(array.unsafe_buffer_pointer(), array.tolist, str(array.dtype))


def pyarrow_array(lent: Any) -> Taken:
    """Call `pyarrow.array`."""
    import pyarrow as pa

    array = pa.array(lent)
    return Taken(array.buffers()[1].address, array.to_pylist, str(array.type))


def pyarrow_py_buffer(lent: Any) -> Taken:
    """Call `pyarrow.py_buffer`."""
    import pyarrow as pa

    buffer = pa.py_buffer(lent)
    return Taken(buffer.address, lambda: list(buffer.to_pybytes()))


def nanoarrow_c_array(lent: Any) -> Taken:
    """Call `nanoarrow.c_array`."""
    import nanoarrow

    array = nanoarrow.c_array(lent)
    return Taken(array.buffers[1], lambda: list(bytes(array.view().buffer(1))))


def nanoarrow_c_buffer(lent: Any) -> Taken:
    """Call `nanoarrow.c_buffer`."""
    import nanoarrow

    return _of_view(memoryview(nanoarrow.c_buffer(lent)))


def polars_series(lent: Any) -> Taken:
    """Call `polars.Series`."""
    import polars as pl

    series = pl.Series(lent)
    return Taken(series._get_buffer_info()[0], series.to_list, str(series.dtype).lower())  # noqa: SLF001


def duckdb_from_arrow(lent: Any) -> Taken:
    """Query it as a column of an Arrow table."""
    import duckdb
    import pyarrow as pa

    column = duckdb.from_arrow(pa.table([pa.array(lent)], ["a"])).fetchnumpy()["a"]
    return _of_ndarray(column)


def arro3_array(lent: Any) -> Taken:
    """Call `arro3.core.Array`; pyarrow tells where it lies."""
    import arro3.core
    import pyarrow as pa

    array = arro3.core.Array(lent)
    theirs = pa.array(array)
    return Taken(theirs.buffers()[1].address, lambda: array.to_numpy().tolist(), str(theirs.type))


def tvm_ffi_from_dlpack(lent: Any) -> Taken:
    """Call `tvm_ffi.from_dlpack`; NumPy reads the result."""
    import numpy as np

    tensor = import_module("tvm_ffi").from_dlpack(lent)
    return Taken(tensor.data_ptr(), lambda: np.from_dlpack(tensor).tolist())


def strided_memory_view(lent: Any) -> Taken:
    """Make a `cuda.core` StridedMemoryView of host memory; NumPy reads the result."""
    import numpy as np

    view = import_module("cuda.core.utils").StridedMemoryView.from_any_interface(lent, stream_ptr=-1)
    return Taken(view.ptr, lambda: np.from_dlpack(view).tolist())


def minimal_as_ndarray(lent: Any) -> Taken:
    """Call `buflend.minimal.as_buffer` and `as_ndarray`."""
    from buflend.minimal import Buffer, as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(lent if isinstance(lent, Buffer) else as_buffer(lent)))


def maximal_as_ndarray(lent: Any) -> Taken:
    """Call `buflend.maximal.as_buffer` and `as_ndarray`."""
    from buflend.maximal import as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(as_buffer(lent)))


def _taker(name: str, package: str, function: Callable[[Any], Taken], also: str = "") -> Taker:
    return Taker(name, package, f"{__name__}:{function.__name__}", also)


TAKERS = (
    _taker("minimal.as_buffer", "", minimal_as_ndarray),
    _taker("maximal.as_buffer", "", maximal_as_ndarray),
    _taker("memoryview", "", python_memoryview),
    _taker("x.memoryview()", "", method_memoryview),
    _taker("pickle out of band", "", out_of_band),
    _taker("numpy.from_dlpack", "numpy", numpy_from_dlpack),
    _taker("numpy.asarray", "numpy", numpy_asarray),
    _taker("numpy.frombuffer", "numpy", numpy_frombuffer),
    _taker("torch.from_dlpack", "torch", torch_from_dlpack),
    _taker("torch.asarray", "torch", torch_asarray),
    _taker("jax from_dlpack", "jax", jax_from_dlpack),
    _taker("pyarrow.array", "pyarrow", pyarrow_array),
    _taker("pyarrow.py_buffer", "pyarrow", pyarrow_py_buffer),
    _taker("nanoarrow.c_array", "nanoarrow", nanoarrow_c_array),
    _taker("nanoarrow.c_buffer", "nanoarrow", nanoarrow_c_buffer),
    _taker("polars.Series", "polars", polars_series),
    _taker("duckdb from Arrow", "duckdb", duckdb_from_arrow, "pyarrow"),
    _taker("arro3.core.Array", "arro3.core", arro3_array, "pyarrow"),
    _taker("tvm_ffi from_dlpack", "tvm_ffi", tvm_ffi_from_dlpack),
    _taker("StridedMemoryView", "cuda.core", strided_memory_view),
)
"""All calls in the order of display."""
