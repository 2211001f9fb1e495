"""Who can take memory of the host: every consumer's call on every lender's bytes; `taking` says how that is judged.

One function per lender makes its object anew and says where its bytes lie; one per call takes an object and says where
the result lies and how its bytes are read, with the library's own means. The bytes are aligned to 64, as Arrow asks
for, so that nobody has to copy for that; those of `bytes` lie where Python puts them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import consumers, peers, taking
from .taking import SIZE, Lender, Lent, NotTakenError, Taken, Taker, content

if TYPE_CHECKING:
    from collections.abc import Callable

ALIGNMENT = 64
INTERCHANGE = "Buffers that interchange frames hand out, and ours"
NATIVE = "For comparison: what libraries hold their bytes in"

LENDERS: list[Lender] = []
"""All lenders in the order of display."""

TAKERS: list[Taker] = []
"""All calls in the order of display."""


def lenders(_of: str = "") -> list[Lender]:
    """Return all lenders: they are the same whatever is asked for."""
    return LENDERS


def _lender(name: str, group: str, package: str = "") -> Callable[[Callable[[], Lent]], None]:
    """List the function below as a lender."""
    return lambda make: LENDERS.append(Lender(name, package, group, make))


def _taker(name: str, package: str = "", also: str = "") -> Callable[[Callable[[Any], Taken]], Callable[[Any], Taken]]:
    """List the function below as a call."""

    def listed(take: Callable[[Any], Taken]) -> Callable[[Any], Taken]:
        TAKERS.append(Taker(name, package, f"{__name__}:{take.__name__}", also))
        return take

    return listed


def aligned() -> Any:
    """Return an ndarray of the bytes in memory of its own."""
    import numpy as np

    memory = np.empty(SIZE + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    array = memory[start : start + SIZE]
    array[:] = content()
    return array


def availability() -> dict[str, dict[str, Any]]:
    """Return for every lender whether it can be made here, else why not; JSON-able."""
    found: dict[str, dict[str, Any]] = {}
    frames = consumers.availability()
    for one in LENDERS:
        reason = peers.peer(one.package).reason if one.package else ""
        if one.group == INTERCHANGE and one.package:
            reason = frames[one.package]["reason"]
        found[one.name] = {"available": not reason, "reason": reason, "group": one.group}
    return found


def _interchange(frame: Any) -> Lent:
    buffer = frame.__dataframe__().get_column(0).get_buffers()["data"][0]
    return buffer, buffer.ptr


@_lender("minimal", INTERCHANGE)
def _minimal() -> Lent:
    array = aligned()
    buffer = import_module("buflend.minimal").Buffer(array.ctypes.data, array.nbytes, owner=array)
    return buffer, buffer.ptr


@_lender("maximal", INTERCHANGE)
def _maximal() -> Lent:
    array = aligned()
    buffer = import_module("buflend.maximal").Buffer(array.ctypes.data, array.nbytes, owner=array)
    return buffer, buffer.ptr


@_lender("pandas", INTERCHANGE, "pandas")
def _pandas_interchange() -> Lent:
    import pandas as pd

    return _interchange(pd.DataFrame({"a": aligned()}))


@_lender("pyarrow", INTERCHANGE, "pyarrow")
def _pyarrow_interchange() -> Lent:
    import pyarrow as pa

    return _interchange(pa.table({"a": pa.array(aligned())}))


@_lender("polars", INTERCHANGE, "polars")
def _polars_interchange() -> Lent:
    import polars as pl

    return _interchange(pl.DataFrame({"a": aligned()}))


@_lender("ndarray", NATIVE)
def _ndarray() -> Lent:
    array = aligned()
    return array, array.ctypes.data


@_lender("bytes", NATIVE)
def _plain_bytes() -> Lent:
    import numpy as np

    plain = bytes(content())
    return plain, np.frombuffer(plain, np.uint8).ctypes.data


@_lender("pyarrow.Buffer", NATIVE, "pyarrow")
def _pyarrow_buffer() -> Lent:
    import pyarrow as pa

    buffer = pa.py_buffer(aligned())
    return buffer, buffer.address


@_lender("pyarrow.Array", NATIVE, "pyarrow")
def _arrow_array() -> Lent:
    import pyarrow as pa

    array = pa.array(aligned())
    return array, array.buffers()[1].address


def _of_ndarray(array: Any) -> Taken:
    if array.dtype.hasobject:
        raise NotTakenError("an array of Python objects came, which reads nothing")
    # `bytes` become one fixed-width text; its bytes are what counts.
    values = array.tolist if array.ndim == 1 else lambda: list(array.tobytes())
    return Taken(array.ctypes.data, values, str(array.dtype).lstrip("|"))


def _of_view(view: memoryview) -> Taken:
    import numpy as np

    return _of_ndarray(np.frombuffer(view, np.uint8))


def _of_tensor(tensor: Any) -> Taken:
    return Taken(tensor.data_ptr(), tensor.tolist, str(tensor.dtype).removeprefix("torch."))


@_taker("minimal.as_buffer")
def _minimal_as_ndarray(lent: Any) -> Taken:
    from buflend.minimal import Buffer, as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(lent if isinstance(lent, Buffer) else as_buffer(lent)))


@_taker("maximal.as_buffer")
def _maximal_as_ndarray(lent: Any) -> Taken:
    from buflend.maximal import as_buffer, as_ndarray

    return _of_ndarray(as_ndarray(as_buffer(lent)))


@_taker("memoryview")
def _python_memoryview(lent: Any) -> Taken:
    return _of_view(memoryview(lent))


@_taker("x.memoryview()")
def _method_memoryview(lent: Any) -> Taken:
    return _of_view(lent.memoryview())


@_taker("pickle out of band")
def _out_of_band(lent: Any) -> Taken:
    import pickle

    from buflend.maximal import as_ndarray

    buffers: list[pickle.PickleBuffer] = []
    told = pickle.dumps(lent, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(told, buffers=buffers)  # noqa: S301 - made in the line before
    return _of_ndarray(as_ndarray(loaded))


@_taker("numpy.from_dlpack", "numpy")
def _numpy_from_dlpack(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.from_dlpack(lent))


@_taker("numpy.asarray", "numpy")
def _numpy_asarray(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.asarray(lent))


@_taker("numpy.frombuffer", "numpy")
def _numpy_frombuffer(lent: Any) -> Taken:
    import numpy as np

    return _of_ndarray(np.frombuffer(lent, np.uint8))


@_taker("torch.from_dlpack", "torch")
def _torch_from_dlpack(lent: Any) -> Taken:
    import torch

    return _of_tensor(torch.from_dlpack(lent))


@_taker("torch.asarray", "torch")
def _torch_asarray(lent: Any) -> Taken:
    import torch

    return _of_tensor(torch.asarray(lent, dtype=torch.uint8))


@_taker("jax from_dlpack", "jax")
def _jax_from_dlpack(lent: Any) -> Taken:
    import jax

    array = jax.dlpack.from_dlpack(lent)
    return Taken(array.unsafe_buffer_pointer(), array.tolist, str(array.dtype))


@_taker("pyarrow.array", "pyarrow")
def _pyarrow_array(lent: Any) -> Taken:
    import pyarrow as pa

    array = pa.array(lent)
    return Taken(array.buffers()[1].address, array.to_pylist, str(array.type))


@_taker("pyarrow.py_buffer", "pyarrow")
def _pyarrow_py_buffer(lent: Any) -> Taken:
    import pyarrow as pa

    buffer = pa.py_buffer(lent)
    return Taken(buffer.address, lambda: list(buffer.to_pybytes()))


@_taker("nanoarrow.c_array", "nanoarrow")
def _nanoarrow_c_array(lent: Any) -> Taken:
    import nanoarrow

    array = nanoarrow.c_array(lent)
    return Taken(array.buffers[1], lambda: list(bytes(array.view().buffer(1))))


@_taker("nanoarrow.c_buffer", "nanoarrow")
def _nanoarrow_c_buffer(lent: Any) -> Taken:
    import nanoarrow

    return _of_view(memoryview(nanoarrow.c_buffer(lent)))


@_taker("polars.Series", "polars")
def _polars_series(lent: Any) -> Taken:
    import polars as pl

    series = pl.Series(lent)
    return Taken(series._get_buffer_info()[0], series.to_list, str(series.dtype).lower())  # noqa: SLF001


@_taker("duckdb from Arrow", "duckdb", "pyarrow")
def _duckdb_from_arrow(lent: Any) -> Taken:
    import duckdb
    import pyarrow as pa

    column = duckdb.from_arrow(pa.table([pa.array(lent)], ["a"])).fetchnumpy()["a"]
    return _of_ndarray(column)


@_taker("arro3.core.Array", "arro3.core", "pyarrow")
def _arro3_array(lent: Any) -> Taken:
    import arro3.core
    import pyarrow as pa

    array = arro3.core.Array(lent)
    theirs = pa.array(array)
    return Taken(theirs.buffers()[1].address, lambda: array.to_numpy().tolist(), str(theirs.type))


@_taker("tvm_ffi from_dlpack", "tvm_ffi")
def _tvm_ffi_from_dlpack(lent: Any) -> Taken:
    import numpy as np

    tensor = import_module("tvm_ffi").from_dlpack(lent)
    return Taken(tensor.data_ptr(), lambda: np.from_dlpack(tensor).tolist())


@_taker("StridedMemoryView", "cuda.core")
def _strided_memory_view(lent: Any) -> Taken:
    import numpy as np

    view = import_module("cuda.core.utils").StridedMemoryView.from_any_interface(lent, stream_ptr=-1)
    return Taken(view.ptr, lambda: np.from_dlpack(view).tolist())


PLACE = taking.Lenders(f"{__name__}:lenders")
"""Where a child finds the lenders."""


def measure(progress: Callable[[str, float], None]) -> dict[str, Any]:
    """Let every consumer take every lender's bytes.

    Return, JSON-able, `lenders`, `takers`, `packages`, `cells[taker][lender]`, and `count[lender]` of outcomes.
    """
    names = dict.fromkeys([one.package for one in TAKERS if one.package])
    names |= dict.fromkeys([one.package for one in LENDERS if one.package])
    packages = {name: peers.peer(name)._asdict() for name in names}

    def told(text: str, fraction: float) -> None:
        progress(f"consumers: {text}", fraction)

    return taking.matrix(TAKERS, PLACE, availability(), packages, told)
