"""Columns and frames of the dataframe interchange protocol, read into NumPy arrays.

Lives here: the two functions of the minimal surface. The reading itself is `shared`'s, imported at the first call.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..shared.protocols import InterchangeColumn, SupportsDataFrame
    from ..shared.result import ColumnArrays


def column_to_ndarray(column: "InterchangeColumn", *, allow_copy: bool = True) -> "ColumnArrays":
    """Read a column of the dataframe interchange protocol into NumPy arrays.

    Parameters
    ----------
    column : interchange column
        What `get_column_by_name` of an interchange frame returns.
    allow_copy : bool, default True
        False gives arrays over the producer's own memory or raises.

    Returns
    -------
    ColumnArrays
        A named tuple of

        - `values` (ndarray of n items): the values, or the codes of a categorical column. Zero-copy and read-only where
          NumPy has the type: integers, floats, bools of one byte, timestamps, durations, codes. Dates become
          `datetime64[D]`, times of day `timedelta64`, strings `StringDType` (object arrays where NumPy lacks it). What
          stands in a missing slot means nothing.
        - `valid` (bool ndarray of n items, or None): True where a value is present; None where nothing is missing.
        - `categories` (ndarray, or None): what the codes mean, None for a column that is not categorical.
        - `ordered` (bool, or None): whether the categories are ordered.
        - `timezone` (str, or None): name of the zone; the values are UTC then.

    Raises
    ------
    ProducerError
        When the column contradicts itself or its buffers are too small.
    DeviceError
        When a buffer lies where the host cannot read; its pointer is not asked for.
    CopyRequiredError
        With `allow_copy=False`, when a part cannot be given without a copy.

    Notes
    -----
    Each array holds the buffer objects that it reads, so it outlives column and frame. Source: the dataframe
    interchange protocol, version 0, `dataframe_protocol.py`.
    """
    from ..shared.column import read_column

    return read_column(column, allow_copy=allow_copy)


def dataframe_to_ndarrays(df: "SupportsDataFrame", *, allow_copy: bool = True) -> "dict[str, ColumnArrays]":
    """Read a frame of any library that offers `__dataframe__` into NumPy arrays.

    Parameters
    ----------
    df : object
        Anything with `__dataframe__`.
    allow_copy : bool, default True
        False gives arrays over the producer's own memory or raises; it is passed on to the producer.

    Returns
    -------
    dict of str to ColumnArrays
        In the frame's order, chunks joined. See `column_to_ndarray` for the parts. A column in one chunk is not copied,
        several chunks are joined into new arrays.

    Raises
    ------
    TypeError
        When the object has no `__dataframe__`.
    ProducerError, DeviceError, CopyRequiredError
        As for a column; also when columns differ in length or names are not unique strings.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"a": [1, 2, None], "b": ["x", "y", "z"]})
    >>> arrays = dataframe_to_ndarrays(table)
    >>> arrays["a"].values[arrays["a"].valid].tolist()
    [1, 2]
    >>> arrays["b"].values.tolist(), arrays["b"].valid
    (['x', 'y', 'z'], None)
    """
    from ..shared.frame import read_frame

    return read_frame(df, allow_copy=allow_copy)
