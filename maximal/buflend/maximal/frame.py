"""Columns and frames read into NumPy arrays.

Lives here: the two functions, as `buflend.minimal` has them, and by which protocol an object is read. The reader is of
`shared`, imported when it is used.
"""

from typing import TYPE_CHECKING, Any

from ..shared.context import Context
from ..shared.memory import offers
from .column import Column
from .sources import as_column, as_table, is_native_table
from .table import Table

if TYPE_CHECKING:
    from ..shared.result import ColumnArrays


def column_to_ndarray(column: Any, *, allow_copy: bool = True) -> "ColumnArrays":
    """Read a column into NumPy arrays.

    Parameters, result and errors are those of `buflend.minimal.column_to_ndarray`: both are the same reader. Here
    whatever `as_column` reads is taken, too; values that NumPy has no type for (decimals, lists, binary text) become
    Python objects.
    """
    if not issubclass(type(column), Column) and offers(column, "get_buffers", "describe_null", "dtype"):
        from ..shared.column import read_column

        return read_column(column, allow_copy=allow_copy)
    return _arrays(as_column(column, allow_copy=allow_copy), "column", allow_copy=allow_copy)


def dataframe_to_ndarrays(df: Any, *, allow_copy: bool = True) -> "dict[str, ColumnArrays]":
    """Read a table into NumPy arrays.

    Parameters, result and errors are those of `buflend.minimal.dataframe_to_ndarrays`. Here whatever `as_table` reads
    is taken: where a frame offers Arrow's capsules beside `__dataframe__`, the capsules are read, since they carry
    their own release and say more. What a producer copies to make them `allow_copy=False` cannot refuse.
    """
    if offers(df, "__dataframe__") and not issubclass(type(df), Table):
        capsules = offers(df, "__arrow_c_stream__") or offers(df, "__arrow_c_array__") or is_native_table(df)
        if not capsules:
            from ..shared.frame import read_frame

            return read_frame(df, allow_copy=allow_copy)
    table = as_table(df, allow_copy=allow_copy)
    pairs = zip(table.column_names(), table.columns, strict=True)
    return {name: _arrays(column, f"column {name!r}", allow_copy=allow_copy) for name, column in pairs}


def _arrays(column: Column, whose: str, *, allow_copy: bool) -> "ColumnArrays":
    from ..shared.column import read_column

    try:
        known = column.for_interchange(allow_copy=allow_copy)
    except TypeError:  # the protocol has no such type
        return _objects(column, Context(whose, allow_copy))
    return read_column(known, allow_copy=allow_copy, whose=whose)


def _objects(column: Column, context: Context) -> "ColumnArrays":
    import numpy as np

    from ..shared.result import ColumnArrays

    context.copy(f"values of type {column.dtype.format!r} become Python objects")
    items = column.tolist()
    values = np.empty(len(items), object)
    values[:] = items
    valid = np.array([item is not None for item in items], np.bool_)
    return ColumnArrays(values, None if valid.all() else valid)
