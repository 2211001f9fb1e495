"""The maximal table: columns by name, and every protocol that they can speak together.

Lives here: the wiring of the dunders. What a table consists of stands in `table_parts`; what each protocol says stands
in a file of its own, imported when it is spoken.
"""

from typing import TYPE_CHECKING, Any

from ..shared.device import CPU, Device
from ..shared.errors import DeviceError
from .arrow_dunders import ArrowDunders
from .arrow_form import Form, form_of_table
from .offer import HOST, offered_value
from .table_parts import Columns

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray


class Table(Columns, ArrowDunders):
    """Columns of one length, by name.

    Parameters
    ----------
    columns : mapping of str to Column
        In order. Their lengths are equal, their chunks need not be.

    Raises
    ------
    TypeError
        For a name that is no text, or a value that is no `Column`: `as_table` makes columns of arrays.
    ValueError
        When the lengths differ.

    Examples
    --------
    >>> import numpy as np
    >>> from buflend.maximal import as_table
    >>> table = as_table({"n": np.arange(3), "x": np.array([0.5, 1.5, 2.5])})
    >>> table["x"][1:].tolist(), np.asarray(table).shape
    ([1.5, 2.5], (3, 2))
    """

    __slots__ = ()

    @property
    def device(self) -> Device:
        """Where the memory lies; that of the first column that has memory."""
        memories = (column._pieces[0].memory for column in self._columns)
        return next((memory.device for memory in memories if memory is not None), CPU)

    def _make_form(self) -> Form:
        return form_of_table(self)

    # Arrays of two dimensions.

    # There on devices too, where it raises: of a table without it NumPy would make an array of the names.
    def __array__(self, dtype: "DTypeLike | None" = None, copy: bool | None = None) -> "NDArray[Any]":  # noqa: FBT001 - NumPy's
        """Return the values as an ndarray of rows and columns; a view where the columns lie evenly in one block.

        DeviceError where the host cannot read them.
        """
        from .table_array import to_array

        return to_array(self, dtype, copy)

    @offered_value(HOST)
    def __array_interface__(self) -> dict[str, Any]:
        """Return NumPy's array interface, version 3, of columns of one type that lie evenly in one block."""
        from .table_array import interface

        return interface(self)

    @offered_value(0)
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Return the CUDA array interface, version 3, of columns of one type that lie evenly in one block."""
        from .table_array import cuda_interface

        return cuda_interface(self)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device as a pair of plain integers (device type, device id), as DLPack numbers them."""
        memories = [column._pieces[0].memory for column in self._columns]
        places = {memory.__dlpack_device__() for memory in memories if memory is not None} or {(1, 0)}
        if len(places) > 1:
            raise DeviceError(f"the columns lie on {len(places)} devices, {sorted(places)}: select those of one")
        return places.pop()

    def __dlpack__(self, **options: Any) -> object:
        """Return a DLPack capsule of rows and columns: numbers of one type, none missing; else BufferError."""
        from .table_array import export

        return export(self, **options)
