"""Columns of pandas by its own arrays: nothing is copied, and no value is looked at, but where strings are objects.

Lives here: which array of pandas is which column. Must not know: NumPy's dtypes, Arrow's capsules. pandas is looked up
in `sys.modules`: of a library that was never imported, no object exists. Sources: pandas, "pandas arrays, scalars, and
data types"; the two arrays that a masked one consists of have no documented name.
"""

import sys
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np

from ..shared.arrow_c import NULLABLE, ORDERED
from ..shared.errors import BuflendError, ProducerError
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import failed
from .column import Column
from .column_ndarray import from_ndarray
from .piece import UNKNOWN

Reader = Callable[[Any], Column | None]


def from_series(obj: Any, allow_copy: bool) -> Column | None:  # noqa: FBT001
    """Return the column that a Series or an Index is; None for any other object and what only Arrow's capsule can tell.

    Raises
    ------
    CopyRequiredError
        For strings that are Python's objects, where copies are not allowed.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(obj, (pandas.Series, pandas.Index)):
        return None
    try:
        name = _name(obj.name)
        found = _read(obj, pandas, allow_copy)
    except BuflendError:
        raise
    except BaseException as error:
        raise failed(type(obj).__name__, "its array", error) from error
    return found and Column._make(found._type._replace(name=name), found._pieces, allow_copy=allow_copy)


def from_frame(df: Any, allow_copy: bool) -> list[tuple[str, Column]] | None:  # noqa: FBT001
    """Return names and columns of a DataFrame, without its index; None as for `from_series`, if it is so of one.

    Raises
    ------
    ProducerError
        When columns have the same name.
    """
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(df, pandas.DataFrame):
        return None
    found: list[tuple[str, Column]] = []
    names = [_name(label) for label in df.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ProducerError("DataFrame.columns", got=twice, expected="different names", hint="rename the columns")
    for name, (_, series) in zip(names, df.items(), strict=True):
        column = from_series(series, allow_copy)
        if column is None:
            return None
        found.append((name, column))
    return found


def _name(label: Any) -> str:
    return "" if label is None else str(label)


def _read(obj: Any, pandas: Any, allow_copy: bool) -> Column | None:  # noqa: FBT001
    if isinstance(obj.dtype, np.dtype):
        if obj.dtype.kind != "O":
            return _values(obj.to_numpy())
        is_text = pandas.api.types.infer_dtype(obj, skipna=True) == "string"
        return from_ndarray(obj.to_numpy(), allow_copy=allow_copy, name=_name(obj.name)) if is_text else None
    array = obj.array
    if type(array).__module__.partition(".")[0] != "pandas":
        return None
    name = type(array).__name__.removesuffix("NumpySemantics")  # strings of pandas 2.3, whose NaN is missing
    if name == "StringArray":
        return from_ndarray(array.to_numpy(), allow_copy=allow_copy, name=_name(obj.name))
    read = _READERS.get(name)
    return read and read(array)


def _values(array: Any) -> Column:
    """Return the column that an ndarray is to pandas, whose NaN and NaT are missing."""
    column = from_ndarray(array)
    if column.dtype.kind == DtypeKind.FLOAT:
        return _with(column, null=(NullKind.USE_NAN, None), null_count=UNKNOWN)
    return column


def _with(column: Column, type: Any = None, **changes: Any) -> Column:  # noqa: A002 - the record's name
    return Column._make(type or column._type, (column._pieces[0]._replace(**changes),))


def _locked(array: Any) -> Any:
    """Return a view of an array that is pandas' own affair: only what pandas hands out itself may be written."""
    view = array.view()
    view.flags.writeable = False
    return view


def _masked(array: Any) -> Column | None:
    data, mask = getattr(array, "_data", None), getattr(array, "_mask", None)
    if not isinstance(data, np.ndarray) or not isinstance(mask, np.ndarray) or mask.dtype != bool:
        return None
    column, missing = from_ndarray(_locked(data)), from_ndarray(_locked(mask))._piece
    return _with(
        column,
        null=(NullKind.USE_BYTEMASK, 1),
        null_count=UNKNOWN,
        buffers=column.buffers | {"validity": missing.buffers["data"]},
        validity_offset=missing.byte_offset,
        validity_stride=missing.stride,
    )


def _zoned(array: Any) -> Column | None:
    zone = _zone(array.tz)
    if zone is None:
        return None
    column = _values(_locked(array.asi8).view(f"M8[{array.unit}]"))
    dtype = column.dtype
    return _with(column, column._type._replace(dtype=dtype._replace(format=dtype.format + zone)))


def _zone(tz: Any) -> str | None:
    """Return Arrow's name of a zone, None where it has none: a name of the database, or an offset."""
    for attribute in ("key", "zone"):  # of zoneinfo and of pytz
        if isinstance(name := getattr(tz, attribute, None), str):
            return name
    offset = tz.utcoffset(None)
    if offset is None or offset % timedelta(minutes=1):
        return None
    minutes = offset // timedelta(minutes=1)
    hours, rest = divmod(abs(minutes), 60)
    return f"{'-' if minutes < 0 else '+'}{hours:02}:{rest:02}" if minutes else "UTC"


def _categories(array: Any) -> Column | None:
    categories = from_series(array.categories, allow_copy=True)
    if categories is None or categories.num_chunks() > 1:
        return None
    column = from_ndarray(_locked(array.codes))
    type_ = column._type._replace(
        dtype=column.dtype._replace(kind=DtypeKind.CATEGORICAL), flags=NULLABLE | (ORDERED if array.ordered else 0)
    )
    return _with(column, type_, null=(NullKind.USE_SENTINEL, -1), null_count=UNKNOWN, dictionary=categories)


def _arrow(array: Any) -> Column | None:
    from .arrow_source import read, to_column

    chunked = array.__arrow_array__()
    found = read(chunked.chunk(0) if chunked.num_chunks == 1 else chunked)  # a stream takes longer than an array
    return found and to_column(found)


# Name of an array's class -> reader.
_READERS: dict[str, Reader] = {
    "IntegerArray": _masked,
    "FloatingArray": _masked,
    "BooleanArray": _masked,
    "Categorical": _categories,
    "DatetimeArray": _zoned,
    "ArrowExtensionArray": _arrow,
    "ArrowStringArray": _arrow,
}
