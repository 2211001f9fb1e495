"""A table as an array of rows and columns: NumPy's, CUDA's and DLPack's protocols.

Lives here: when columns lie so evenly that they are one array as they are, and how they are copied into one. Must not
know: how a column becomes an array.

Columns lie evenly where one owner has them all and each starts as many bytes behind the one before. Every element of
such an array is one of a column's own.
"""

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..shared.access import admit_host, stream_of
from ..shared.chunk import NATIVE
from ..shared.device import CPU, Device
from ..shared.dlpack import Tensor
from . import column_dlpack
from .array_interface import NAME
from .column_array import says_itself, value_dtype
from .cuda_array_interface import NAME as CUDA_NAME
from .dlpack import exporter
from .nulls import count
from .offer import AbsentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .column import Column
    from .table import Table


class Grid(NamedTuple):
    """Columns as one array: where it starts, its layout in bytes, and the owners of its memory."""

    ptr: int
    shape: tuple[int, int]
    strides: tuple[int, int]
    dtype: "np.dtype[Any]"
    device: Device
    readonly: bool
    owner: object
    stream: int | None

    @property
    def __array_interface__(self) -> dict[str, Any]:
        """The interface by which NumPy makes the array, with this grid as its base."""
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.ptr or 1, self.readonly),  # of nothing NumPy before 2.4 misreads the address 0
            "strides": self.strides,
        }


def grid(table: "Table") -> Grid | None:
    """Return the columns as one array where they are one as they lie, None where they are not."""
    columns = table.columns
    dtype = value_dtype(columns[0]._type) if columns else None
    if dtype is None or not all(_is_like(column, columns[0]) for column in columns):
        return None
    pieces = [column._pieces[0] for column in columns]
    buffers = [piece.buffers["data"] for piece in pieces]
    starts = [piece.buffers["data"].ptr + piece.byte_offset + piece.offset * piece.stride for piece in pieces]
    steps = {after - before for before, after in pairwise(starts)}
    if len(steps) > 1 or len({id(_root(buffer.owner)) for buffer in buffers}) > 1:
        return None
    streams = [stream for buffer in buffers if (stream := stream_of(buffer)) is not None]
    return Grid(
        starts[0],
        (len(table), len(columns)),
        (columns[0]._pieces[0].stride, steps.pop() if steps else dtype.itemsize),
        dtype,
        columns[0].device,
        any(buffer.readonly for buffer in buffers),
        tuple(buffer.owner for buffer in buffers),
        max(streams, default=None),  # they are all of one device, and so one stream
    )


def _is_like(column: "Column", first: "Column") -> bool:
    """Tell whether a column in one piece has the type, the stride and the device of another, and none is missing."""
    piece, other = column._pieces[0], first._pieces[0]
    if len(column._pieces) > 1 or "data" not in piece.buffers or column.dtype != first.dtype:
        return False
    if piece.stride != other.stride or column.device != first.device:
        return False
    return says_itself(piece, column._type) or not count(piece, column._type)


def _root(owner: object) -> object:
    """Return the array that an array is a view of, the owner itself where it is none."""
    while isinstance(owner, np.ndarray) and owner.base is not None:
        owner = owner.base
    return owner


def _on_host(table: "Table") -> Grid | None:
    """Return the columns as one array that the host may read, None where they are not one."""
    found = grid(table)
    if found is not None and found.device is not CPU:
        for column in table.columns:
            admit_host(column._pieces[0].buffers["data"])
    return found


def to_array(table: "Table", dtype: "DTypeLike | None", copy: bool | None) -> "NDArray[Any]":  # noqa: FBT001 - NumPy's
    """Return the values of a table; see `Table.__array__`.

    Errors are those of a column's `__array__`.
    """
    found = _on_host(table)
    if found is not None:
        view = np.asarray(found)
        if dtype is None or np.dtype(dtype) == view.dtype:
            return view.copy() if copy else view
    if copy is False:
        raise ValueError("copy=False: the columns are no one array as they lie, and become one only in a copy")
    parts = [np.asarray(column, dtype) for column in table.columns]
    if dtype is None and parts:
        dtype = parts[0].dtype if len({part.dtype for part in parts}) == 1 else _common(parts)
    made = np.empty((len(table), len(parts)), dtype, order="F")
    for i, part in enumerate(parts):
        # Times stay what they are among objects: NumPy would make integers of nanoseconds.
        made[:, i] = list(part) if made.dtype.hasobject and part.dtype.kind in "Mm" else part
    return made


def _common(parts: "list[NDArray[Any]]") -> "np.dtype[Any]":
    """Return the dtype that holds all values: numbers have one, anything else becomes objects."""
    numbers = all(part.dtype.kind in "biufc" for part in parts) and len({part.dtype.kind == "b" for part in parts}) == 1
    return np.result_type(*parts) if numbers else np.dtype(object)


def interface(table: "Table") -> dict[str, Any]:
    """Return NumPy's array interface; see `Table.__array_interface__`."""
    found = _on_host(table)
    if found is None:
        raise AbsentError(f"{NAME}: the columns are no one array as they lie")
    return found.__array_interface__


def cuda_interface(table: "Table") -> dict[str, Any]:
    """Return the CUDA array interface; see `Table.__cuda_array_interface__`."""
    found = grid(table) if table.device[0] in (2, 13) else None
    if found is None:
        raise AbsentError(f"{CUDA_NAME}: the columns are no one array of CUDA memory as they lie")
    rows, count = found.shape
    width = found.dtype.itemsize
    return {
        **found.__array_interface__,
        "data": (found.ptr if rows else 0, found.readonly),
        "strides": None if found.strides == (count * width, width) else found.strides,
        "stream": found.stream if rows else None,
    }


def export(table: "Table", *, copy: bool | None = None, **options: Any) -> object:
    """Return a DLPack capsule; see `Table.__dlpack__`.

    Raises
    ------
    BufferError
        For columns of several types, for types and missing elements that DLPack cannot say, and where a copy is needed
        and `copy` is False or the device is not the CPU.
    """
    columns = table.columns
    if not columns:
        raise BufferError("a table without columns has no type")
    triple, *others = {column_dlpack.check(column) for column in columns}
    if others:
        raise BufferError(
            f"DLPack has one type for all columns, but these are {[triple, *others]}: select some, or cast"
        )
    found = grid(table)
    width = 0 if found is None else found.dtype.itemsize
    if found is not None and found.dtype.str[0] in (*NATIVE, "|", "=") and not any(s % width for s in found.strides):
        strides = found.strides[0] // width, found.strides[1] // width
        tensor = Tensor(found.ptr, found.shape, strides, triple, found.device, found.readonly, found.stream)
        return exporter()(found.owner, tensor)(copy=copy, **options)
    if copy is False:
        raise BufferError("copy=False: the columns are no one array as they lie, and become one only in a copy")
    array = np.ascontiguousarray(to_array(table, None, None))
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    tensor = Tensor(array.ctypes.data, array.shape, (array.shape[1], 1), triple)
    return exporter()(array, tensor, fresh=True)(copy=copy, **options)
