"""What `as_column` and `as_table` read, cheapest first.

Lives here: the two ladders. Must not know: how a source is read, which stands in a file for each.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from ..shared.context import Context
from ..shared.errors import CopyRequiredError, ProducerError, shown
from ..shared.memory import offers
from . import arrow_source
from .column import Column
from .found import first_answer
from .table import Table


def as_column(obj: object, *, allow_copy: bool = True) -> Column:
    """Return a column over the memory that an object offers, without a copy where one can be avoided.

    Parameters
    ----------
    obj : object
        A `Column`, which is returned as it is, or an object that offers, in this order: an array of NumPy (strided, in
        either byte order, masked, of strings), a Series or Index of pandas; Arrow's capsules (array, stream, device
        array, device stream); a column of the dataframe interchange protocol; DLPack, `__cuda_array_interface__`,
        `__array_interface__` or the buffer protocol, of one dimension.
    allow_copy : bool, default True
        Whether what has no common layout (text of fixed width, NumPy's strings, Python objects) may be copied.

    Returns
    -------
    Column
        Each part is a buffer with an owner. Of Arrow's structs without nulls of their own each field has its own.

    Raises
    ------
    TypeError
        When the object offers none of these, or values that no column holds.
    ProducerError
        When what it says cannot be true.
    CopyRequiredError
        When a copy is needed and not allowed.
    DeviceError
        When a device's runtime is needed and does not answer.
    UnicodeError
        When text of NumPy holds lone surrogates, which no other library takes.

    Examples
    --------
    >>> import numpy as np
    >>> column = as_column(np.array([1, 2, 3], ">i4")[::-1])
    >>> column.tolist(), column.strides, column.dtype.order
    ([3, 2, 1], (-4,), '>')
    """
    if issubclass(type(obj), Column):
        return obj  # type: ignore[return-value]
    native = _native_column(obj, allow_copy=allow_copy)
    if native is not None:
        return native
    column: Column | None = first_answer(obj, _column_readers(), allow_copy=allow_copy)
    if column is not None:
        return column
    raise TypeError(
        f"cannot read a {_name(obj)} as a column: looked for an array of NumPy, a Series of pandas, Arrow's capsules, "
        "the dataframe interchange protocol's column, __dlpack__, __cuda_array_interface__, __array_interface__ and "
        "the buffer protocol"
    )


def as_table(obj: object, *, allow_copy: bool = True) -> Table:
    """Return a table over the memory that an object offers, without a copy where one can be avoided.

    Parameters
    ----------
    obj : object
        A `Table`, which is returned as it is; a mapping of names to what `as_column` reads; a structured or
        two-dimensional array of NumPy; a DataFrame of pandas; or an object that offers, in this order: Arrow's capsules
        (array, stream, device array, device stream); `__dataframe__`.
    allow_copy : bool, default True
        Whether what has no common layout may be copied here. What a producer copies to make its capsules cannot be
        told.

    Returns
    -------
    Table
        Names are text. The index of a pandas frame is no part of it.

    Raises
    ------
    TypeError
        When the object offers none of these, and for a name of a mapping that is no text.
    ValueError
        When the values of a mapping differ in length.
    ProducerError
        When what it says cannot be true.
    CopyRequiredError
        When a copy is needed and not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> as_table({"n": np.arange(3), "x": np.zeros(3)}).column_names()
    ['n', 'x']
    """
    kind, found = type(obj), cast("Any", obj)  # what it is, and not what it says of its class
    if issubclass(kind, Table):
        return cast("Table", obj)
    if issubclass(kind, Column) and found.dtype.format == "+s" and found.num_chunks() == 1 and found.null_count == 0:
        return _table("children: name", [(child.name, child) for child in found.children])
    if issubclass(kind, Mapping):
        return Table({name: _named(name, value, allow_copy=allow_copy) for name, value in _pairs(obj)})
    native = _native_table(obj, allow_copy=allow_copy)
    if native is not None:
        return native
    readers = (_table_by_arrow, _table_by_interchange)
    table: Table | None = first_answer(obj, readers, allow_copy=allow_copy)
    if table is not None:
        return table
    raise TypeError(
        f"cannot read a {_name(obj)} as a table: looked for a mapping of names to arrays, an array of NumPy, a "
        "DataFrame of pandas, Arrow's capsules and __dataframe__"
    )


def _pairs(mapping: Any) -> list[Any]:
    """Return the pairs of name and value that a mapping yields, as they were when it was asked, once."""
    context = Context(_name(mapping), allow_copy=True)
    pairs = [context.parts(pair, 2, "items()", "pairs of name and value") for pair in context.items(mapping, "items")]
    for name, _ in pairs:
        if not issubclass(type(name), str):
            raise TypeError(f"column names: got {shown(name)}, expected text")
    return pairs


def _named(name: object, value: object, *, allow_copy: bool) -> Column:
    """Return the column of a mapping's value; an error says which."""
    try:
        return as_column(value, allow_copy=allow_copy)
    except (TypeError, CopyRequiredError) as error:
        raise type(error)(f"column {name!r}: {error}") from error


def _name(obj: object) -> str:
    return f"{type(obj).__module__}.{type(obj).__qualname__}"


def _is(obj: object, module: str, *names: str) -> bool:
    library = sys.modules.get(module)
    return library is not None and issubclass(type(obj), tuple(getattr(library, name) for name in names))


def is_native_table(obj: object) -> bool:
    """Tell whether an object is a frame of a library whose own memory is read, without a protocol."""
    return _is(obj, "pandas", "DataFrame")


def _native_column(obj: Any, *, allow_copy: bool) -> Column | None:
    if _is(obj, "numpy", "ndarray"):
        from .column_ndarray import from_ndarray

        return from_ndarray(obj, allow_copy=allow_copy)
    if _is(obj, "pandas", "Series", "Index"):
        from .pandas_source import from_series

        return from_series(obj, allow_copy=allow_copy)
    return None


def _native_table(obj: Any, *, allow_copy: bool) -> Table | None:
    if _is(obj, "numpy", "ndarray"):
        # A subclass says of itself what it likes; of those, masked arrays cut their masks, too.
        ndarray = sys.modules["numpy"].ndarray
        item = type(obj).__getitem__ if _is(obj, "numpy.ma", "MaskedArray") else ndarray.__getitem__
        names, shape = ndarray.dtype.__get__(obj).names, ndarray.shape.__get__(obj)
        if names is None and len(shape) != 2:  # rows and columns
            raise TypeError(
                f"an array of {len(shape)} dimensions is no table: as_column reads one dimension, as_table two"
            )
        if names is None:
            return as_table({str(i): item(obj, (slice(None), i)) for i in range(shape[1])}, allow_copy=allow_copy)
        return as_table({name: item(obj, name) for name in names}, allow_copy=allow_copy)
    if is_native_table(obj):
        from .pandas_source import from_frame

        columns = from_frame(obj, allow_copy=allow_copy)
        return None if columns is None else Table(dict(columns))
    return None


def _column_by_arrow(obj: Any, *, allow_copy: bool) -> Column | None:  # noqa: ARG001 - nothing is copied
    chunks = arrow_source.read(obj)
    return None if chunks is None else arrow_source.to_column(chunks)


def _column_by_interchange(obj: Any, *, allow_copy: bool) -> Column | None:
    if not offers(obj, "get_buffers", "describe_null", "dtype"):
        return None
    from .interchange_source import read_column

    return read_column(obj, Context("column", allow_copy))


def _column_readers() -> Iterator[Callable[..., Column | None]]:
    """Yield what reads a column, cheapest first; a file is imported when those before it have found nothing."""
    yield from (_column_by_arrow, _column_by_interchange)
    from .column_dlpack import read

    yield read
    from .column_interface import from_cuda_interface, from_exporter, from_interface

    yield from (from_cuda_interface, from_interface, from_exporter)


def _table_by_arrow(obj: Any, *, allow_copy: bool) -> Table | None:  # noqa: ARG001 - nothing is copied
    chunks = arrow_source.read(obj)
    if chunks is None:
        return None
    field = chunks[0]
    columns = arrow_source.to_columns(chunks)
    made = _table("ArrowSchema.children: name", [(column.name, column) for column in columns])
    made._metadata = field.metadata
    return made


def _table(whose: str, pairs: list[tuple[str, Column]]) -> Table:
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ProducerError(whose, got=twice, expected="names that are unique", hint="rename the columns")
    return Table(dict(pairs))


def _table_by_interchange(obj: Any, *, allow_copy: bool) -> Table | None:
    if not offers(obj, "__dataframe__"):
        return None
    from .interchange_source import read_frame

    return Table(read_frame(obj, allow_copy=allow_copy))
