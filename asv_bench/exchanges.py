"""Every way in which something is lent, taken, pickled or refused, as statements that are run often.

Rules of this file: a statement leaves nothing behind by itself, and is one expression. The names that it uses are made
by `names`, once for each process. Where a statement needs a package, nothing is said of who else was imported: without
pyarrow, Arrow goes out through callbacks.
"""

from __future__ import annotations

import mmap
import pickle
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

EXCHANGES = {
    # Buffers, out.
    "as_ndarray": ("numpy", "as_ndarray(as_buffer(array))"),
    "as_memoryview": ("numpy", "as_memoryview(memory)"),
    "minimal.as_ndarray": ("numpy", "minimal.as_ndarray(memory, 'int64')"),
    "minimal.as_ndarray, strided": ("numpy", "minimal.as_ndarray(memory, 'int64', shape=(2, 2), strides=(16, 8))"),
    "minimal.as_memoryview": ("numpy", "minimal.as_memoryview(memory)"),
    "memoryview of a buffer": ("numpy", "as_buffer(memory).memoryview()"),
    "numpy.from_dlpack": ("numpy", "numpy.from_dlpack(as_buffer(array))"),
    "numpy.from_dlpack of a kept buffer": ("numpy", "numpy.from_dlpack(buffer)"),
    "numpy.from_dlpack of bytes": ("numpy", "numpy.from_dlpack(as_buffer(memory))"),
    "numpy.asarray": ("numpy", "numpy.asarray(as_buffer(memory))"),
    "__array__": ("numpy", "as_buffer(memory).__array__()"),
    "unused capsule": ("numpy", "as_buffer(memory).__dlpack__()"),
    "unused versioned capsule": ("numpy", "as_buffer(memory).__dlpack__(max_version=(1, 3))"),
    "copied capsule": ("numpy", "as_buffer(memory).__dlpack__(max_version=(1, 3), copy=True)"),
    "capsule of CUDA memory": ("numpy", "Buffer(4096, 64, owner=array, device=(2, 0)).__dlpack__(max_version=(1, 3))"),
    "capsule of bfloat16": ("numpy", "exporter(array, bfloat16)(max_version=(1, 3))"),
    "capsule of float4": ("numpy", "exporter(array, float4)(max_version=(1, 3))"),
    "capsule by callbacks": ("numpy", "light(array, uint8)(max_version=(1, 3))"),
    "numpy.from_dlpack by callbacks": ("numpy", "numpy.from_dlpack(Once(light(array, uint8)(max_version=(1, 3))))"),
    "Arrow capsules by callbacks": ("numpy", "buffer.__arrow_c_array__()"),
    "Arrow device capsules by callbacks": ("numpy", "buffer.__arrow_c_device_array__()"),
    "Arrow schema by callbacks": ("numpy", "buffer.__arrow_c_schema__()"),
    "pyarrow.array": ("pyarrow", "pyarrow.array(as_buffer(array))"),
    "pyarrow of its capsules": ("pyarrow", "pyarrow.Array._import_from_c_capsule(*buffer.__arrow_c_array__())"),
    "pyarrow of device capsules": (
        "pyarrow",
        "pyarrow.Array._import_from_c_device_capsule(*buffer.__arrow_c_device_array__())",
    ),
    "pyarrow of callbacks": (
        "pyarrow",
        "pyarrow.Array._import_from_c_capsule(schema_capsule(C), array_capsule(bytes_))",
    ),
    "nanoarrow of callbacks": ("nanoarrow", "nanoarrow.c_array(buffer).view()"),
    "polars of callbacks": ("polars", "polars.Series(column)"),
    "arro3 of callbacks": ("arro3.core", "arro3.core.Array(buffer)"),
    "torch.from_dlpack": ("torch", "torch.from_dlpack(as_buffer(array))"),
    "pickle in band": ("numpy", "pickle.loads(pickle.dumps(buffer, 5))"),
    "pickle out of band": ("numpy", "out_of_band(buffer)"),
    # Buffers, in.
    "as_buffer of a capsule": ("numpy", "as_buffer(Once(buffer.__dlpack__(max_version=(1, 3))))"),
    "as_buffer of a capsule by callbacks": ("numpy", "as_buffer(Once(light(array, uint8)(max_version=(1, 3))))"),
    "as_buffer of an array interface": ("numpy", "as_buffer(interface)"),
    "as_buffer of a CUDA array interface": ("numpy", "as_buffer(cuda_interface)"),
    "as_buffer of a map": ("numpy", "as_buffer(mapped)"),
    "as_buffer of a description": ("numpy", "as_buffer(described)"),
    "minimal.as_buffer of a description": ("numpy", "minimal.as_buffer(described)"),
    "as_buffer of pyarrow's": ("pyarrow", "as_buffer(pyarrow.py_buffer(memory))"),
    "as_ndarray of a tensor": ("torch", "as_ndarray(as_buffer(torch.from_numpy(array)))"),
    # Columns.
    "as_column of an array": ("numpy", "as_column(array)"),
    "as_column of Arrow capsules": ("numpy", "as_column(buffer_of_arrow)"),
    "as_column of a stream": ("numpy", "as_column(chunked_of_arrow)"),
    "as_column of pyarrow's": ("pyarrow", "as_column(pyarrow.array([1, None, 3]))"),
    "as_column of pandas'": ("pandas", "as_column(pandas.Series([0.5, None, 2.5]))"),
    "as_column of polars'": ("polars", "as_column(polars_series)"),
    "numpy.from_dlpack of a column": ("numpy", "numpy.from_dlpack(column)"),
    "numpy.asarray of a column": ("numpy", "numpy.asarray(column)"),
    "column to text": ("numpy", "texts.tolist()"),
    "capsules of a column by callbacks": ("numpy", "column.__arrow_c_array__()"),
    "capsules of text by callbacks": ("numpy", "texts.__arrow_c_array__()"),
    "capsules of categories by callbacks": ("numpy", "categories.__arrow_c_array__()"),
    "device capsules of a column": ("numpy", "column.__arrow_c_device_array__()"),
    "stream of a column, unused": ("numpy", "column.__arrow_c_stream__()"),
    "pyarrow.array of a column": ("pyarrow", "pyarrow.array(column)"),
    "pyarrow.array of text": ("pyarrow", "pyarrow.array(texts)"),
    "column_to_ndarray": ("numpy", "column_to_ndarray(table.__dataframe__().get_column_by_name('n'))"),
    "pickle of a column": ("numpy", "pickle.loads(pickle.dumps(column, 5))"),
    # Tables.
    "as_table of arrays": ("numpy", "as_table({'n': array, 'x': array})"),
    "as_table of a stream": ("numpy", "as_table(table_of_arrow)"),
    "as_table of pandas'": ("pandas", "as_table(new_frame())"),
    "as_table of pyarrow's": ("pyarrow", "as_table(pyarrow_table)"),
    "as_table of polars'": ("polars", "as_table(polars_frame)"),
    "numpy.asarray of a table": ("numpy", "numpy.asarray(numbers)"),
    "numpy.from_dlpack of a table": ("numpy", "numpy.from_dlpack(numbers)"),
    "capsules of a table by callbacks": ("numpy", "table.__arrow_c_array__()"),
    "device capsules of a table": ("numpy", "table.__arrow_c_device_array__()"),
    "stream of a table, unused": ("numpy", "table.__arrow_c_stream__()"),
    "pyarrow.table": ("pyarrow", "pyarrow.table(table)"),
    "pyarrow.record_batch": ("pyarrow", "pyarrow.record_batch(table)"),
    "pyarrow.table of callbacks": ("pyarrow", "pyarrow.table(stream_of_callbacks)"),
    "pyarrow's half-read reader": (
        "pyarrow",
        "pyarrow.RecordBatchReader.from_stream(stream_of_callbacks).read_next_batch()",
    ),
    "polars.DataFrame of callbacks": ("polars", "polars.DataFrame(table)"),
    "nanoarrow of a stream": ("nanoarrow", "nanoarrow.Array(table)"),
    "arro3 of a stream": ("arro3.core", "arro3.core.Table(table)"),
    "pandas' from_dataframe": ("pandas", "pandas.api.interchange.from_dataframe(table)"),
    "dataframe_to_ndarrays of a table": ("numpy", "dataframe_to_ndarrays(table)"),
    "minimal.dataframe_to_ndarrays of a table": ("numpy", "minimal.dataframe_to_ndarrays(table)"),
    "minimal.dataframe_to_ndarrays of pandas'": ("pandas", "minimal.dataframe_to_ndarrays(new_frame())"),
    "minimal.dataframe_to_ndarrays of pyarrow's": ("pyarrow", "minimal.dataframe_to_ndarrays(pyarrow_table)"),
    "pickle of a table": ("numpy", "pickle.loads(pickle.dumps(table, 5))"),
    # What is refused, and what fails.
    "refused: no memory": ("numpy", "refused(TypeError, as_buffer, array_type)"),
    "refused: strided": ("numpy", "refused(BufferError, as_buffer, strided)"),
    "refused: a description that lies": ("numpy", "refused(ValueError, as_buffer, liar)"),
    "refused: a producer that raises": ("numpy", "refused(ValueError, as_buffer, raising)"),
    "refused: a used capsule": ("numpy", "refused(ValueError, as_buffer, used)"),
    "refused: out of bounds": ("numpy", "refused(ValueError, as_ndarray, memory, 'int64', shape=10**6)"),
    "refused: memory of a device": ("numpy", "refused(BufferError, as_ndarray, card)"),
    "refused: no owner": ("numpy", "refused(TypeError, Buffer, 4096, 8, owner=None)"),
    "refused: NumPy takes no CUDA memory": ("numpy", "refused((BufferError, RuntimeError), numpy.from_dlpack, card)"),
    "refused: dropped with an error pending": ("numpy", "refused(TypeError, scalar_of, buffer)"),
    "refused: no copy": ("numpy", "refused(BufferError, column_to_ndarray, texts, allow_copy=False)"),
    "refused: no such table": ("numpy", "refused(TypeError, as_table, array_type)"),
    "refused: a frame that lies": ("numpy", "refused(ValueError, minimal.dataframe_to_ndarrays, lying_frame)"),
    "refused: a capsule of callbacks, by pyarrow": (
        "pyarrow",
        "refused((TypeError, ValueError), pyarrow.Array._import_from_c_capsule, schema_capsule(C), schema_capsule(C))",
    ),
    "refused: a stream that fails, by pyarrow": ("pyarrow", "refused((TypeError, ValueError), pyarrow.table, wrong)"),
}  # fmt: skip
"""Name -> the package that it needs beside NumPy, and the statement."""


class _Once:
    """A producer of one capsule."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self.capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _OnlyArrow:
    """What speaks one protocol of Arrow, of an object that speaks many."""

    def __init__(self, obj: Any, name: str) -> None:
        setattr(self, name, getattr(obj, name))


class _Described:
    """Memory by three attributes."""

    def __init__(self, ptr: int, bufsize: int) -> None:
        self.ptr = ptr
        self.bufsize = bufsize

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Raising:
    def __dlpack__(self, **_: object) -> object:
        raise RuntimeError("a producer's own")

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


class _Attributes:
    def __init__(self, **attributes: object) -> None:
        vars(self).update(attributes)


class _LyingFrame:
    """An interchange frame whose one column has no buffers."""

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002 - the protocol's
        del nan_as_null, allow_copy
        return self

    def column_names(self) -> list[str]:
        return ["n"]

    def num_columns(self) -> int:
        return 1

    def num_rows(self) -> int:
        return 3

    def num_chunks(self) -> int:
        return 1

    def get_chunks(self) -> list[Any]:
        return [self]

    def get_column_by_name(self, name: str) -> Any:
        return _Attributes(name=name)

    def get_column(self, i: int) -> Any:
        return _Attributes(i=i)


def refused(error: Any, call: Callable[..., object], *arguments: object, **options: object) -> None:
    """Call what must raise."""
    try:
        call(*arguments, **options)
    except error:
        return
    raise AssertionError(f"{call} was to raise {error}")


def _out_of_band(buffer: object) -> object:
    parts: list[pickle.PickleBuffer] = []
    return pickle.loads(pickle.dumps(buffer, 5, buffer_callback=parts.append), buffers=parts)  # noqa: S301 - ours


def names(package: str) -> dict[str, Any]:
    """Return what the statements of a package use."""
    import numpy as np

    from buflend import maximal, minimal
    from buflend.maximal import as_buffer, as_column, as_table
    from buflend.shared.arrow_c import Data, Field
    from buflend.shared.arrow_export import array_capsule, schema_capsule
    from buflend.shared.arrow_stream_export import stream_capsule
    from buflend.shared.dlpack import Tensor
    from buflend.shared.dlpack_export import exporter
    from buflend.shared.dlpack_light import exporter as light

    array = np.arange(1000)
    ptr, mapped = array.ctypes.data, mmap.mmap(-1, 8000)
    buffer, card = as_buffer(array), maximal.Buffer(4096, 64, owner=array, device=(2, 0))
    numbers = as_table({"n": array, "m": array})
    texts = as_column(np.array(["a", "", "longer than twelve"], dtype=object))
    table = as_table({"n": array[:3].copy(), "t": texts})
    chunk = Data(1000, (None,), children=(Data(1000, (None, (ptr, array))),))
    used = buffer.__dlpack__(max_version=(1, 0))
    np.from_dlpack(_Once(used))  # type: ignore[arg-type]
    given: dict[str, Any] = {name: getattr(maximal, name) for name in maximal.__all__}
    given |= {
        "C": Field("C"),
        "Once": _Once,
        "array": array,
        "array_capsule": array_capsule,
        "array_type": np.ndarray,
        "bfloat16": Tensor(ptr, (4,), (1,), (4, 16, 1)),
        "buffer": buffer,
        "buffer_of_arrow": _OnlyArrow(buffer, "__arrow_c_array__"),
        "bytes_": Data(8000, (None, (ptr, array))),
        "card": card,
        "chunked_of_arrow": _OnlyArrow(as_column(array), "__arrow_c_stream__"),
        "column": as_column(array),
        "cuda_interface": _Attributes(
            __cuda_array_interface__={
                "shape": (64,),
                "typestr": "|u1",
                "data": (4096, False),
                "version": 3,
                "stream": None,
            }
        ),
        "described": _Described(ptr, 8000),
        "exporter": exporter,
        "float4": Tensor(ptr, (4,), (1,), (17, 4, 1)),
        "interface": _Attributes(
            __array_interface__={"shape": (64,), "typestr": "|u1", "data": (ptr, False), "version": 3}
        ),
        "liar": _Described(0, 8000),
        "light": light,
        "lying_frame": _LyingFrame(),
        "mapped": mapped,
        "memory": bytearray(8000),
        "minimal": minimal,
        "numbers": numbers,
        "numpy": np,
        "out_of_band": _out_of_band,
        "pickle": pickle,
        "raising": _Raising(),
        "refused": refused,
        "scalar_of": lambda lent: int(np.from_dlpack(lent)),
        "schema_capsule": schema_capsule,
        "stream_of_callbacks": _Attributes(),
        "strided": array[::2],
        "table": table,
        "table_of_arrow": _OnlyArrow(table, "__arrow_c_stream__"),
        "texts": texts,
        "uint8": Tensor(ptr, (64,), (1,)),
        "used": _Once(used),
        "wrong": _Attributes(),
    }
    field = Field("+s", children=(Field("l", "n"),))
    given["stream_of_callbacks"].__arrow_c_stream__ = lambda _=None: stream_capsule(field, [chunk, chunk])
    given["wrong"].__arrow_c_stream__ = lambda _=None: stream_capsule(Field("no such type"), [])
    codes = maximal.Column("c", 3, data=as_buffer(np.array([0, 2, 1], dtype="int8")), dictionary=texts)
    given["categories"] = codes
    given[package.partition(".")[0]] = import_module(package.partition(".")[0])
    import_module(package)
    if package == "pandas":
        pandas = given["pandas"]
        values = {"n": [1, 2, 3], "x": [0.5, None, 2.5], "t": ["a", None, "c"]}
        given["new_frame"] = lambda: pandas.DataFrame(values)
    elif package == "pyarrow":
        given["pyarrow_table"] = given["pyarrow"].table({"n": [1, None, 3], "t": ["a", None, "c"]})
    elif package == "polars":
        given["polars_frame"] = given["polars"].DataFrame({"n": [1, None, 3], "t": ["a", None, "c"]})
        given["polars_series"] = given["polars_frame"]["n"]
    return given
