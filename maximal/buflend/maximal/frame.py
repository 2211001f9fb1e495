"""Columns and frames of the dataframe interchange protocol, read into NumPy arrays.

Lives here: the two functions, as `buflend.minimal` has them. The reader is of `shared`, imported when it is used.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..shared.protocols import InterchangeColumn, SupportsDataFrame
    from ..shared.result import ColumnArrays


def column_to_ndarray(column: "InterchangeColumn", *, allow_copy: bool = True) -> "ColumnArrays":
    """Read a column of the dataframe interchange protocol into NumPy arrays.

    Parameters, result and errors are those of `buflend.minimal.column_to_ndarray`: both are the same reader.
    """
    from ..shared.column import read_column

    return read_column(column, allow_copy=allow_copy)


def dataframe_to_ndarrays(df: "SupportsDataFrame", *, allow_copy: bool = True) -> "dict[str, ColumnArrays]":
    """Read a frame of any library that offers `__dataframe__` into NumPy arrays.

    Parameters, result and errors are those of `buflend.minimal.dataframe_to_ndarrays`: both are the same reader.
    """
    from ..shared.frame import read_frame

    return read_frame(df, allow_copy=allow_copy)
