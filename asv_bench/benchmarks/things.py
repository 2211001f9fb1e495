"""What the expressions of the implementations speak of: modules, and things that are made before anything is timed.

Lives here: literal tables. Must not know: who uses what.
"""

MODULES = {
    "arro3": "arro3.core",
    "ctypes": "ctypes",
    "cuda_core": "cuda.core",
    "cupy": "cupy",
    "dlpack": "buflend.shared.dlpack",
    "duckdb": "duckdb",
    "light": "buflend.shared.dlpack_light",
    "maximal": "buflend.maximal",
    "minimal": "buflend.minimal",
    "nanoarrow": "nanoarrow",
    "nanoarrow_device": "nanoarrow.device",
    "np": "numpy",
    "numba_cuda": "numba.cuda",
    "pa": "pyarrow",
    "pa_interchange": "pyarrow.interchange",
    "pd": "pandas",
    "pl": "polars",
    "shared": "buflend.shared",
    "torch": "torch",
    "views": "cuda.core.utils",
}
"""Name in an expression -> module."""

THINGS = {
    # 4096 bytes of the host, and what libraries hold them in.
    "array": 'np.arange(512, dtype="int64")',
    "ptr": "array.ctypes.data",
    "size": "array.nbytes",
    "owner": "array",
    "writable": "bytearray(4096)",
    "minimal_buffer": "minimal.Buffer(ptr, size, owner=owner)",
    "maximal_buffer": "maximal.Buffer(ptr, size, owner=owner)",
    "maximal_column": "maximal.as_column(array)",
    "maximal_table": 'maximal.as_table({"a": array})',
    "tensor": "torch.from_numpy(array)",
    "arrow": "pa.array(array)",
    "arrow_buffer": "pa.py_buffer(array)",
    "nanoarrow_array": "nanoarrow.c_array(array)",
    "nanoarrow_buffer": "nanoarrow.c_buffer(array)",
    "arro3_array": "arro3.Array(array)",
    "series": "pd.Series(array)",
    "nullable": 'pd.array(array, dtype="Int64")',
    "pandas_frame": 'pd.DataFrame({"a": array})',
    "polars_series": "pl.Series(array)",
    "polars_frame": 'pl.DataFrame({"a": array})',
    "exported": "light.exporter(array, dlpack.Tensor(ptr, (512,), (1,), (0, 64, 1)))",
    "callback": "ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda address: None)",
    "called": "ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(callback, ctypes.c_void_p).value)",
    # Objects that offer one protocol and nothing else.
    "pointer": 'Only(minimal_buffer, "ptr", "bufsize", "__dlpack_device__")',
    "by_dlpack": 'Only(array, "__dlpack__", "__dlpack_device__")',
    "by_interface": 'Only(array, "__array_interface__")',
    "by_arrow": 'Only(arrow, "__arrow_c_array__")',
    "by_stream": 'Only(pieces, "__arrow_c_stream__")',
    "by_device": 'Only(arrow, "__arrow_c_device_array__")',
    "stream": 'Only(table, "__arrow_c_stream__")',
    "frame": 'Only(table, "__dataframe__")',
    # A table of pyarrow.
    "rows": "10_000",
    "columns": "1",
    "chunks": "1",
    "numbers": 'np.arange(rows, dtype="int64")',
    "pieces": "pa.chunked_array([pa.array(piece) for piece in np.split(numbers, chunks)])",
    "table": "pa.table({str(place): pieces for place in range(columns)})",
    "words": 'pa.array([f"word {number}" if number % 7 else None for number in range(rows)])',
    "few": 'pa.array([f"word {number % 20}" if number % 7 else None for number in range(rows)])',
    # Tables of ten columns with nulls, of 1,000,000 rows.
    "places": "np.arange(1_000_000)",
    "large_frame": (
        "pd.DataFrame({"
        '**{f"float {i}": np.where(places % 7, places / 3, np.nan) + i for i in range(5)},'
        '**{f"integer {i}": pd.arrays.IntegerArray(places, places % 5 == 0) for i in range(2)},'
        '"category": pd.Categorical.from_codes(places % 3 - 1, ["a", "b"]),'
        '"time": pd.Series(places.astype("M8[ns]")).where(places % 11 > 0),'
        '"flag": pd.arrays.BooleanArray(places % 2 == 0, places % 4 == 0)})'
    ),
    "large_table": "pa.Table.from_pandas(large_frame)",
    "large_interchange": 'Only(large_frame, "__dataframe__")',
    "large_table_interchange": 'Only(large_table, "__dataframe__")',
    # A column in which every seventh number is missing.
    "present": "np.arange(rows) % 7 > 0",
    "data": "maximal.as_buffer(numbers)",
    # DuckDB looks for what a query names among the variables of its caller.
    "scan": 'lambda lent: duckdb.sql("from lent").fetchnumpy()',
    # A file that has a length and no content.
    "mapped": "sparse(nbytes)",
    # A table of text whose memory is watched, by each protocol alone.
    "lent_array": 'Only(watched, "__arrow_c_array__")',
    "lent_stream": 'Only(watched, "__arrow_c_stream__")',
    "lent_frame": 'Only(watched, "__dataframe__")',
    # 4096 bytes of a CUDA device.
    "gpu_array": 'cupy.arange(512, dtype="int64")',
    "gpu_tensor": 'torch.arange(512, dtype=torch.int64, device="cuda:0")',
    "gpu_numba": 'numba_cuda.to_device(np.arange(512, dtype="int64"))',
    "gpu_type": 'cupy.dtype("int64")',
    "gpu_lent": "device_memory()",
    "gpu_minimal": "minimal.Buffer(gpu_lent[1], 4096, owner=gpu_lent[0], device=(2, 0))",
    "gpu_buffer": "maximal.Buffer(gpu_lent[1], 4096, owner=gpu_lent[0], device=(2, 0))",
    "gpu_by_interface": 'Only(gpu_buffer, "__cuda_array_interface__")',
    "gpu_described": "dlpack.Tensor(gpu_lent[1], (512,), (1,), (0, 64, 1), shared.Device(2, 0))",
    "gpu_exported": "light.exporter(gpu_lent[0], gpu_described)",
    "gpu_viewed": (
        "lambda ptr, owner: cupy.ndarray((512,), cupy.int64,"
        " cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(ptr, 4096, owner, 0), 0))"
    ),
}
"""Name in an expression -> the expression that makes it."""

FRAME = 'Only(maximal.Table({"a": column}), "__dataframe__")'

CHOICES: dict[str, dict[str, dict[str, str]]] = {
    "layout": {
        "text": {"table": 'pa.table({"a": words})'},
        "categories": {"table": 'pa.table({"a": few.dictionary_encode()})'},
    },
    # All ways of the interchange protocol to mark what is missing.
    "nulls": {
        "bits": {
            "frame": FRAME,
            "column": 'maximal.Column("l", rows, data=data, validity=mask, null=(3, 0))',
            "mask": 'maximal.as_buffer(np.packbits(present, bitorder="little"))',
        },
        "bytes": {
            "frame": FRAME,
            "column": 'maximal.Column("l", rows, data=data, validity=mask, null=(4, 0))',
            "mask": 'maximal.as_buffer(present.astype("uint8"))',
        },
        "nan": {
            "frame": FRAME,
            "column": 'maximal.Column("g", rows, data=data, null=(1, None))',
            "numbers": "np.where(present, np.arange(rows), np.nan)",
        },
        "sentinel": {
            "frame": FRAME,
            "column": 'maximal.Column("l", rows, data=data, null=(2, -1))',
            "numbers": "np.where(present, np.arange(rows), -1)",
        },
    },
}
"""Parameter -> its values -> the things that they make otherwise; values of other parameters are numbers."""
