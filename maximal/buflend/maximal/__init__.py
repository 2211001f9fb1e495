"""The maximal reference implementation of a lent buffer: every native and exchange protocol.

What `buflend.minimal` offers has the same name and signature here. Columns and tables are not built yet.
"""

from ..shared.loan import Export, live_exports
from ..shared.result import ColumnArrays
from .buffer import Buffer, as_buffer, as_cupy, as_memoryview, as_ndarray
from .frame import column_to_ndarray, dataframe_to_ndarrays
from .native import Native

__all__ = [
    "Buffer",
    "ColumnArrays",
    "Export",
    "Native",
    "as_buffer",
    "as_cupy",
    "as_memoryview",
    "as_ndarray",
    "column_to_ndarray",
    "dataframe_to_ndarrays",
    "live_exports",
]

# Tracebacks and reprs show the name a user imports, not the private file.
for _name in ("Buffer", "Native", *(name for name in __all__ if name.islower() and name != "live_exports")):
    globals()[_name].__module__ = __name__
del _name
