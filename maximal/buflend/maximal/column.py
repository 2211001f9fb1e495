"""The maximal column: a type, pieces of buffers, and every protocol that they can speak.

Lives here: the wiring of the dunders. What a column consists of stands in `parts`; what each protocol says stands in a
file of its own, imported when it is spoken.
"""

from typing import TYPE_CHECKING, Any

from ..shared.chunk import Dtype
from ..shared.interchange import NullKind
from .arrow_dunders import ArrowDunders
from .arrow_form import Form, form_of
from .buffer import Buffer
from .metadata import unpack
from .offer import HOST, ONE_PIECE, offered, offered_value
from .parts import Parts
from .piece import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike, NDArray


class Column(Parts, ArrowDunders):
    """A column: elements of one type, in one piece or in chunks, some of which may be missing.

    Parameters
    ----------
    dtype : tuple of (kind, bits, format, byte order), or str
        Type in the terms of the dataframe interchange protocol, or an Arrow format string alone. For categories, bits
        and format are those of the codes.
    size : int
        Elements.
    data, validity, offsets, sizes, type_ids : Buffer, optional
        What the type's layout asks for; `validity` is a mask of bits or of bytes, as `null` says.
    variadic : sequence of Buffer
        The characters of string views.
    children : sequence of Column
        Of nested types.
    dictionary : Column, optional
        The categories.
    ordered : bool, default False
        Whether the categories are ordered.
    null : tuple of (NullKind, value), optional
        How what is missing is marked: for masks the value, 0 or 1, that means missing; for sentinels the sentinel.
        Where it is not given, `validity` is a mask of bits in which 0 means missing, as Arrow's are.
    null_count : int, optional
        How many elements are missing; counted when it is asked for where it is not given.
    offset : int, default 0
        Elements before the first one, in every buffer that has an item for each element.
    byte_offset : int, default 0
        Bytes of `data` before the element of index 0.
    strides : tuple of one int, optional
        Bytes of `data` from one element to the next; the width of an element where it is not given.
    validity_offset : int, optional
        Bits, of a byte mask bytes, before the mask's first; `offset` where it is not given.
    name : str, default ""
        Name of the column.
    metadata : mapping of str to str, optional
        What an Arrow schema says beside the type, the name of an extension type for one.

    Raises
    ------
    ValueError
        When a buffer is missing or too small, or arguments contradict one another.
    TypeError
        For an argument of the wrong type.

    Notes
    -----
    Nothing is copied. Each part is a `Buffer` with an owner of its own. What a column cannot say by a protocol is
    absent or raises: nulls are never dropped in silence.

    Examples
    --------
    >>> from buflend.maximal import Column, as_buffer
    >>> numbers = Column("i", 3, data=as_buffer(bytes([1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0])))
    >>> numbers.tolist(), numbers.strides
    ([1, 2, 3], (4,))
    >>> masked = Column("C", 4, data=as_buffer(b"abcd"), validity=as_buffer(bytes([0b1011])))
    >>> masked.tolist(), masked.null_count
    ([97, 98, None, 100], 1)
    >>> text = Column("u", 2, data=as_buffer(b"yesno"), offsets=as_buffer(bytes([0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0])))
    >>> text.tolist()
    ['yes', 'no']
    """

    __slots__ = ()

    def __iter__(self) -> "Iterator[Any]":
        """Yield the elements as Python objects, as `tolist` has them."""
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """Return the elements as Python objects, None where one is missing.

        Times are NumPy's `datetime64` and `timedelta64`, which have units that Python's lack; zoned ones are UTC.
        Offsets, codes and text are checked: ProducerError where they cannot be.
        """
        from .objects import to_objects

        return to_objects(self)

    # The column of the dataframe interchange protocol.

    @property
    def describe_null(self) -> tuple[NullKind, Any]:
        """Null kind and the value that means missing; of several chunks each has its own."""
        return self._pieces[0].null

    @property
    def null_count(self) -> int | None:
        """How many elements are missing; None where the host cannot look."""
        from .nulls import count

        counts = [count(piece, self._type) for piece in self._pieces]
        return None if UNKNOWN in counts else sum(counts)

    @property
    def describe_categorical(self) -> dict[str, Any]:
        """For categories a dict of `is_ordered`, `is_dictionary` and `categories`; TypeError for any other column."""
        from .column_interchange import describe_categorical

        return describe_categorical(self)

    @property
    def metadata(self) -> dict[str, str]:
        """What an Arrow schema says beside the type."""
        return unpack(self._type.metadata)

    def num_chunks(self) -> int:
        """Return the number of chunks."""
        return len(self._pieces)

    def get_chunks(self, n_chunks: int | None = None) -> "Iterator[Column]":
        """Yield the chunks, or `n_chunks` of them, a multiple of `num_chunks()`."""
        from .column_interchange import get_chunks

        return get_chunks(self, n_chunks)

    def get_buffers(self) -> dict[str, tuple[Buffer, Dtype] | None]:
        """Return `data`, `validity` and `offsets`, each a buffer with its type, or None.

        TypeError where the column lies as the protocol cannot say it (strided, in views, of a type that it lacks): take
        `for_interchange()` of it, as the columns of a `Table` do.
        """
        from .column_interchange import get_buffers

        return get_buffers(self)

    def for_interchange(self, *, allow_copy: bool = True) -> "Column":
        """Return the column as the protocol can say it: itself, or with the parts copied that it cannot say.

        Raises
        ------
        TypeError
            For a type that the protocol lacks.
        CopyRequiredError
            When something must be copied and `allow_copy` is False.
        """
        from .column_interchange import for_interchange

        return for_interchange(self, allow_copy=allow_copy)

    def _make_form(self) -> Form:
        return form_of(self)

    # Arrays.

    @offered(HOST)
    def __array__(self, dtype: "DTypeLike | None" = None, copy: bool | None = None) -> "NDArray[Any]":  # noqa: FBT001 - NumPy's
        """Return the values as an ndarray, a view where that is the same; what is missing is NaN, NaT or None."""
        from .column_array import to_array

        return to_array(self, dtype, copy)

    @offered_value(HOST | ONE_PIECE)
    def __array_interface__(self) -> dict[str, Any]:
        """Return NumPy's array interface, version 3, of values of a fixed width of which none is missing."""
        from .column_interface import interface

        return interface(self)

    @offered_value(ONE_PIECE)
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Return the CUDA array interface, version 3, of numbers in CUDA memory; a byte mask becomes its mask."""
        from .column_interface import cuda_interface

        return cuda_interface(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device as a pair of plain integers (device type, device id), as DLPack numbers them."""
        memory = self._pieces[0].memory
        return (1, 0) if memory is None else memory.__dlpack_device__()

    def __dlpack__(self, **options: Any) -> object:
        """Return a DLPack capsule of numbers or booleans of which none is missing; BufferError for any other column."""
        from .column_dlpack import export

        return export(self, **options)
