"""Typed protocols: what a library can annotate its functions with, and what a producer must write.

Lives here: shapes of objects, for type checkers and readers. Nothing in the library imports this file at run time.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class SupportsBuffer(Protocol):
    """Memory described by pointer, size and device: the smallest protocol there is.

    Satisfied by both `Buffer` classes and by the buffers of the dataframe interchange protocol of pandas, pyarrow and
    polars.

    Examples
    --------
    >>> class Lent:
    ...     ptr = 0
    ...     bufsize = 0
    ...     def __dlpack_device__(self):
    ...         return 1, 0
    >>> isinstance(Lent(), SupportsBuffer)
    True
    """

    @property
    def ptr(self) -> int:
        """Address of the first byte; 0 only where `bufsize` is 0."""
        ...

    @property
    def bufsize(self) -> int:
        """Size in bytes; contiguous."""
        ...

    def __dlpack_device__(self) -> tuple[int, int | None]:
        """Return device type and id, in DLPack's numbers."""
        ...


InterchangeBuffer = SupportsBuffer
"""What the dataframe interchange protocol calls a buffer."""


@runtime_checkable
class InterchangeColumn(Protocol):
    """A column of the dataframe interchange protocol, as far as a consumer reads it.

    Satisfied by the columns of pandas (2 and 3), pyarrow and polars (before 2.0).
    """

    def size(self) -> int:
        """Return the number of elements."""
        ...

    @property
    def offset(self) -> int:
        """First element, in every buffer that is indexed by element."""
        ...

    @property
    def dtype(self) -> tuple[Any, int, str, str]:
        """Kind, bits, Arrow format string, endianness."""
        ...

    @property
    def describe_categorical(self) -> Any:
        """For a categorical column, a dict of `is_ordered`, `is_dictionary`, `categories`."""
        ...

    @property
    def describe_null(self) -> tuple[Any, Any]:
        """Null kind, and the value that means missing."""
        ...

    @property
    def null_count(self) -> int | None:
        """Number of missing elements, None where it is not known."""
        ...

    def num_chunks(self) -> int:
        """Return the number of chunks."""
        ...

    def get_chunks(self, n_chunks: int | None = None) -> "Iterable[Any]":
        """Return the chunks, columns themselves."""
        ...

    def get_buffers(self) -> Any:
        """Return a dict of `data`, `validity`, `offsets`: each a tuple (buffer, dtype) or None."""
        ...


@runtime_checkable
class InterchangeFrame(Protocol):
    """A frame of the dataframe interchange protocol, as far as a consumer reads it."""

    def num_rows(self) -> int | None:
        """Return the number of rows, None where it is not known."""
        ...

    def column_names(self) -> "Iterable[str]":
        """Return the names, unique strings."""
        ...

    def get_column_by_name(self, name: str) -> Any:
        """Return a column."""
        ...

    def get_chunks(self, n_chunks: int | None = None) -> "Iterable[Any]":
        """Return the chunks, frames themselves."""
        ...


@runtime_checkable
class SupportsDataFrame(Protocol):
    """An object that offers the dataframe interchange protocol.

    Satisfied by `pandas.DataFrame`, `pyarrow.Table`, `pyarrow.RecordBatch`, `polars.DataFrame` (before 2.0).
    """

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002 - the protocol's
        """Return the interchange frame."""
        ...


__all__: Sequence[str] = (
    "InterchangeBuffer",
    "InterchangeColumn",
    "InterchangeFrame",
    "SupportsBuffer",
    "SupportsDataFrame",
)
