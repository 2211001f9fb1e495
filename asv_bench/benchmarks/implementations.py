"""Which implementation does what, and how: the one table that the benchmarks of memory of the host are made of.

Lives here: literal tables. A way to do something is an expression in the names of `things`; what is not done has a
reason. Must not know: how an expression is timed.

A topic is named like the class that measures it. What an expression makes is dropped in the loop, so that a loan is
measured whole, its end included. Nothing is imported but what the expression of the one implementation speaks of: where
that is not pyarrow, maximal makes Arrow's capsules without it.
"""

from typing import NamedTuple


class No(NamedTuple):
    """Why an implementation does not do something."""

    reason: str


IMPLEMENTATIONS = {
    "minimal": "buflend.minimal",
    "maximal": "buflend.maximal",
    "numpy": "numpy",
    "pyarrow": "pyarrow",
    "nanoarrow": "nanoarrow",
    "arro3": "arro3.core",
    "pandas": "pandas",
    "polars": "polars",
    "torch": "torch",
    "cupy": "cupy",
    "numba": "numba.cuda",
    "cuda.core": "cuda.core",
    "recipe2021": "numpy",
    "callbacks": "numpy",
}
"""Implementation -> what it imports; the order of the columns. `recipe2021` is that of the discussion of 2021, which
keeps no owner; `callbacks` is a Python function that C calls, by ctypes: as the deleter of an export of DLPack, or
alone. Who exports so imports ctypes and, for the numbers of devices, enum."""

RECIPE = (
    "np.ctypeslib.as_array(ctypes.cast(minimal_buffer.ptr, ctypes.POINTER(np.ctypeslib.as_ctypes_type(np.int64))),"
    " shape=(minimal_buffer.bufsize // 8,))"
)

NOT_LENT = No("minimal lends a pointer, a size, a device and an owner, and speaks no other protocol")
NOT_READ = No("minimal reads pointers, the buffer protocol and the interchange protocol, and no other")
NOT_HELD = No("minimal makes arrays of its own of texts, and holds no offsets")

READERS: dict[str, str | No] = {
    "minimal": "minimal.dataframe_to_ndarrays(frame)",
    "maximal": "maximal.as_table(stream)",
    "pyarrow": "pa.table(stream)",
    "polars": "pl.DataFrame(stream)",
}
OF_INTERCHANGE: dict[str, str | No] = {
    "minimal": "minimal.dataframe_to_ndarrays(frame)",
    "maximal": "maximal.as_table(frame)",
    "pyarrow": "pa_interchange.from_dataframe(frame)",
    "pandas": "pd.api.interchange.from_dataframe(frame)",
}

WAYS: dict[str, dict[str, str | No]] = {
    # Buffers.
    "Address": {
        "minimal": "minimal.Buffer(ptr, size, owner=owner)",
        "maximal": "maximal.Buffer(ptr, size, owner=owner)",
        "pyarrow": "pa.foreign_buffer(ptr, size, owner)",
        "cuda.core": "cuda_core.Buffer.from_handle(ptr, size, owner=owner)",
    },
    "Ndarray": {
        "minimal": "minimal.as_buffer(array)",
        "maximal": "maximal.as_buffer(array)",
        "pyarrow": "pa.py_buffer(array)",
        "nanoarrow": "nanoarrow.c_buffer(array)",
        "torch": "torch.from_numpy(array)",
        "cuda.core": "views.StridedMemoryView.from_any_interface(array, stream_ptr=-1)",
    },
    "View": {
        "minimal": 'minimal.as_ndarray(minimal_buffer, "int64")',
        "maximal": 'maximal.as_ndarray(maximal_buffer, "int64")',
        "numpy": 'np.frombuffer(owner, "int64")',
        "torch": "tensor.numpy()",
        "recipe2021": RECIPE,
    },
    "Size": {
        "minimal": "minimal.as_ndarray(minimal.as_buffer(mapped))",
        "maximal": "np.from_dlpack(maximal.as_buffer(mapped))",
        "numpy": 'np.frombuffer(mapped, "uint8")',
    },
    "FreeOrder": {
        "minimal": 'minimal.as_ndarray(minimal_buffer, "int64")',
        "maximal": "np.from_dlpack(maximal_buffer)",
        "callbacks": "np.from_dlpack(Exporter(exported))",
    },
    # Each protocol out.
    "OutDLPack": {
        "minimal": NOT_LENT,
        "maximal": "maximal_buffer.__dlpack__(max_version=(1, 0))",
        "numpy": "array.__dlpack__(max_version=(1, 0))",
        "pyarrow": "arrow.__dlpack__(max_version=(1, 0))",
        "torch": "tensor.__dlpack__(max_version=(1, 0))",
        "callbacks": "exported(max_version=(1, 0))",
    },
    "OutDLPackLegacy": {
        "minimal": NOT_LENT,
        "maximal": "maximal_buffer.__dlpack__()",
        "numpy": "array.__dlpack__()",
        "torch": "tensor.__dlpack__()",
        "callbacks": "exported()",
    },
    "OutArrayInterface": {
        "minimal": NOT_LENT,
        "maximal": "maximal_buffer.__array_interface__",
        "numpy": "array.__array_interface__",
    },
    "OutBuffer": {
        "minimal": "minimal.as_memoryview(minimal_buffer)",
        "maximal": "maximal_buffer.memoryview()",
        "numpy": "memoryview(array)",
        "pyarrow": "memoryview(arrow_buffer)",
        "nanoarrow": "memoryview(nanoarrow_buffer)",
    },
    "OutArray": {
        "minimal": NOT_LENT,
        "maximal": "maximal_buffer.__array__()",
        "pyarrow": "arrow.__array__()",
        "pandas": "series.__array__()",
        "torch": "tensor.__array__()",
    },
    "OutArrowArray": {
        "minimal": NOT_LENT,
        "maximal": "maximal_buffer.__arrow_array__()",
        "pandas": "nullable.__arrow_array__()",
    },
    "OutArrow": {
        "minimal": NOT_LENT,
        "maximal": "maximal_column.__arrow_c_array__()",
        "pyarrow": "arrow.__arrow_c_array__()",
        "nanoarrow": "nanoarrow_array.__arrow_c_array__()",
        "arro3": "arro3_array.__arrow_c_array__()",
    },
    # One call of a Python function through C is the measure: so much costs each release of a struct at least.
    "OutArrowCall": {
        "minimal": NOT_LENT,
        "maximal": "maximal_column.__arrow_c_array__()",
        "callbacks": "called(1)",
    },
    "OutArrowStream": {
        "minimal": NOT_LENT,
        "maximal": "maximal_column.__arrow_c_stream__()",
        "pyarrow": "pieces.__arrow_c_stream__()",
        "pandas": "series.__arrow_c_stream__()",
        "polars": "polars_series.__arrow_c_stream__()",
    },
    "OutArrowDevice": {
        "minimal": NOT_LENT,
        "maximal": "maximal_column.__arrow_c_device_array__()",
        "pyarrow": "arrow.__arrow_c_device_array__()",
    },
    "OutInterchange": {
        "minimal": NOT_LENT,
        "maximal": "maximal_table.__dataframe__().get_column(0).get_buffers()",
        "pyarrow": "table.__dataframe__().get_column(0).get_buffers()",
        "pandas": "pandas_frame.__dataframe__().get_column(0).get_buffers()",
        "polars": "polars_frame.__dataframe__().get_column(0).get_buffers()",
    },
    # Each protocol in, of an object that offers no other.
    "InPointer": {
        "minimal": "minimal.as_buffer(pointer)",
        "maximal": "maximal.as_buffer(pointer)",
    },
    "InBuffer": {
        "minimal": "minimal.as_buffer(writable)",
        "maximal": "maximal.as_buffer(writable)",
        "numpy": 'np.frombuffer(writable, "uint8")',
        "pyarrow": "pa.py_buffer(writable)",
        "nanoarrow": "nanoarrow.c_buffer(writable)",
        "torch": "torch.frombuffer(writable, dtype=torch.uint8)",
    },
    "InDLPack": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_buffer(by_dlpack)",
        "numpy": "np.from_dlpack(by_dlpack)",
        "torch": "torch.from_dlpack(by_dlpack)",
        "cuda.core": "views.StridedMemoryView.from_dlpack(by_dlpack, stream_ptr=-1)",
    },
    "InArrayInterface": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_buffer(by_interface)",
        "numpy": "np.asarray(by_interface)",
    },
    "InArrow": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_column(by_arrow)",
        "pyarrow": "pa.array(by_arrow)",
        "nanoarrow": "nanoarrow.c_array(by_arrow)",
        "arro3": "arro3.Array(by_arrow)",
    },
    "InArrowStream": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_column(by_stream)",
        "pyarrow": "pa.chunked_array(by_stream)",
        "pandas": "pd.Series.from_arrow(by_stream)",
        "polars": "pl.Series(by_stream)",
    },
    "InArrowDevice": {
        "minimal": NOT_READ,
        "maximal": "maximal.as_column(by_device)",
        "pyarrow": "pa.array(by_device)",
        "nanoarrow": "nanoarrow_device.c_device_array(by_device)",
    },
    "InInterchange": OF_INTERCHANGE | {"polars": "pl.from_dataframe(frame)"},
    # Each consumer, taking memory of the implementation; minimal's as the array that it gives.
    "TakeNumpy": {
        "minimal": "minimal.as_ndarray(minimal_buffer)",
        "maximal": "np.from_dlpack(maximal_buffer)",
        "numpy": "np.from_dlpack(array)",
        "torch": "np.from_dlpack(tensor)",
    },
    "TakeTorch": {
        "minimal": "torch.from_dlpack(minimal.as_ndarray(minimal_buffer))",
        "maximal": "torch.from_dlpack(maximal_buffer)",
        "numpy": "torch.from_dlpack(array)",
        "torch": "torch.from_dlpack(tensor)",
    },
    "TakePyarrow": {
        "minimal": "pa.array(minimal.as_ndarray(minimal_buffer))",
        "maximal": "pa.array(maximal_buffer)",
        "numpy": "pa.array(array)",
    },
    "TakeColumn": {
        "minimal": 'pa.array(minimal.as_ndarray(minimal_buffer, "int64"))',
        "maximal": "pa.array(maximal_column)",
        "numpy": "pa.array(array)",
    },
    "TakeSeries": {
        "minimal": "pl.Series(minimal.as_ndarray(minimal_buffer))",
        "maximal": "pl.Series(maximal_buffer)",
        "numpy": "pl.Series(array)",
    },
    "TakeFrame": {
        "minimal": 'pl.DataFrame({"a": minimal.as_ndarray(minimal_buffer)})',
        "maximal": "pl.DataFrame(maximal_table)",
        "pyarrow": "pl.DataFrame(table)",
    },
    "TakeNanoarrow": {
        "minimal": "nanoarrow.c_array(minimal.as_ndarray(minimal_buffer))",
        "maximal": "nanoarrow.c_array(maximal_buffer)",
        "pyarrow": "nanoarrow.c_array(arrow)",
    },
    "TakeArro3": {
        "minimal": "arro3.Array(minimal.as_ndarray(minimal_buffer))",
        "maximal": "arro3.Array(maximal_buffer)",
        "pyarrow": "arro3.Array(arrow)",
    },
    "TakeDuckdb": {
        "minimal": 'scan(pa.table({"a": minimal.as_ndarray(minimal_buffer)}))',
        "maximal": "scan(maximal_table)",
        "pyarrow": "scan(table)",
    },
    # From end to end.
    "Handed": {
        "minimal": "minimal.as_ndarray(minimal.as_buffer(array))",
        "maximal": "np.from_dlpack(maximal.as_buffer(array))",
        "numpy": "np.from_dlpack(array)",
        "torch": "np.from_dlpack(torch.from_numpy(array))",
    },
    "HandedTensor": {
        "minimal": NOT_READ,
        "maximal": 'maximal.as_ndarray(maximal.as_buffer(tensor), "int64")',
        "numpy": "np.from_dlpack(tensor)",
        "torch": "tensor.numpy()",
    },
    "LargeFrame": {
        "minimal": "minimal.dataframe_to_ndarrays(large_interchange)",
        "maximal": "maximal.as_table(large_frame)",
        "pandas": "pd.api.interchange.from_dataframe(large_interchange)",
    },
    "LargeTable": {
        "minimal": "minimal.dataframe_to_ndarrays(large_table_interchange)",
        "maximal": "maximal.as_table(large_table)",
        "pyarrow": "pa_interchange.from_dataframe(large_table_interchange)",
    },
    # Columns and tables.
    "Columns": READERS,
    "Chunks": READERS,
    "Rows": READERS,
    "Text": READERS,
    "Nulls": OF_INTERCHANGE,
    # What it weighs.
    "Import": {
        "minimal": "import buflend.minimal",
        "maximal": "import buflend.maximal",
        "numpy": "import numpy",
        "pyarrow": "import pyarrow",
        "nanoarrow": "import nanoarrow",
        "arro3": "import arro3.core",
        "pandas": "import pandas",
        "polars": "import polars",
        "torch": "import torch",
        "cuda.core": "import cuda.core",
        "callbacks": "import ctypes, enum",
    },
    "BytesPerObject": {
        "minimal": "minimal.Buffer((1 << 40) + i, (1 << 20) + i, owner=owner)",
        "maximal": "maximal.Buffer((1 << 40) + i, (1 << 20) + i, owner=owner)",
        "numpy": 'np.frombuffer(owner, "int64")',
        "pyarrow": "pa.foreign_buffer((1 << 40) + i, (1 << 20) + i, owner)",
        "nanoarrow": "nanoarrow.c_buffer(owner)",
        "torch": "torch.from_numpy(owner)",
    },
    "HeldColumn": {
        "minimal": 'minimal.dataframe_to_ndarrays(lent_frame)["0"]',
        "maximal": 'maximal.as_table(lent_array)["0"]',
        "pyarrow": "pa.record_batch(lent_array).column(0)",
        "nanoarrow": "nanoarrow.c_array(lent_array).child(0)",
        "arro3": "arro3.RecordBatch.from_arrow(lent_array).column(0)",
        "polars": 'pl.DataFrame(lent_stream)["0"]',
    },
    "HeldOffsets": {
        "minimal": NOT_HELD,
        "maximal": 'maximal.as_table(lent_array)["0"].offsets',
        "pyarrow": "pa.record_batch(lent_array).column(0).buffers()[1]",
        "nanoarrow": "nanoarrow.c_array(lent_array).child(0).view().buffer(1)",
    },
}
"""Topic -> implementation -> the expression that does it (of `Import` the statement), or why it is not done."""
