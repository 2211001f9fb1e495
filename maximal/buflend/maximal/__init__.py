"""The maximal reference implementation of a lent buffer: every native and exchange protocol.

What `buflend.minimal` offers has the same name and signature here.
"""

from ..shared.interchange import DtypeKind, NullKind
from ..shared.loan import Export, live_exports
from ..shared.result import ColumnArrays
from .buffer import Buffer, as_buffer, as_cupy, as_memoryview, as_ndarray
from .column import Column
from .copies import Copied, copied
from .frame import column_to_ndarray, dataframe_to_ndarrays
from .native import Native
from .sources import as_column, as_table
from .table import Table

__all__ = [
    "Buffer",
    "Column",
    "ColumnArrays",
    "Copied",
    "DtypeKind",
    "Export",
    "Native",
    "NullKind",
    "Table",
    "as_buffer",
    "as_column",
    "as_cupy",
    "as_memoryview",
    "as_ndarray",
    "as_table",
    "column_to_ndarray",
    "copied",
    "dataframe_to_ndarrays",
    "live_exports",
]

# Tracebacks and reprs show the name a user imports, not the private file.
for _name in (
    "Buffer",
    "Column",
    "Native",
    "Table",
    *(name for name in __all__ if name.islower() and name != "live_exports"),
):
    globals()[_name].__module__ = __name__
del _name
