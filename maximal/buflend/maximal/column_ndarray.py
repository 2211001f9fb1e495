"""From an ndarray to a column: its memory as it lies, strided and in its byte order, with what NumPy says is missing.

Lives here: which type of column an array becomes, and its buffers. Must not know: text, which `column_text` copies;
other objects.

NaN is a number here, as in NumPy. NaT is missing, and so is what a mask marks.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shared.arrow_format import NUMBER_FORMATS
from ..shared.chunk import Dtype
from ..shared.context import Context
from ..shared.errors import ProducerError
from ..shared.interchange import DtypeKind, NullKind
from .buffer import Buffer, as_buffer
from .column import Column
from .nulls import Copy
from .piece import NO_NULLS, UNKNOWN, Piece, Type

_KINDS = {
    "i": DtypeKind.INT,
    "u": DtypeKind.UINT,
    "f": DtypeKind.FLOAT,
    "b": DtypeKind.BOOL,
    "c": DtypeKind.COMPLEX,
    "S": DtypeKind.BINARY,
    "V": DtypeKind.BINARY,
}

# Units of NumPy that Arrow has -> the letter of its format strings.
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}


def from_ndarray(array: NDArray[Any], *, allow_copy: bool = True, name: str = "", owner: object = None) -> Column:
    """Return a column over the memory of an array of one dimension.

    Parameters
    ----------
    array : ndarray
        Numbers, booleans, times and bytes of a fixed width are lent as they are, fields of a structured array each by
        itself, a mask as a mask of bytes. Text is copied, and times in units that Arrow lacks.
    allow_copy : bool, default True
        Whether those may be.
    name : str, default ""
        Name of the column.
    owner : object, optional
        What keeps the memory; the array where it is not given.

    Raises
    ------
    TypeError
        For an array of another number of dimensions, or of a type that a column lacks.
    CopyRequiredError
        When a copy is needed and not allowed.
    OverflowError
        When a time is too far away for seconds of 64 bits.
    """
    mask, copy = None, Context(name or "array", allow_copy).copy
    owner = array if owner is None else owner
    if type(array) is not np.ndarray:  # what a subclass says of itself may be anything
        is_masked = issubclass(type(array), np.ma.MaskedArray)
        mask = _mask_of(array) if is_masked else None  # type: ignore[arg-type]
        array = np.ndarray.view(array, np.ndarray)
        owner = array if is_masked else owner
    if array.ndim != 1:
        what = "reshape(1) makes one of it" if not array.ndim else "as_table makes a column of each column of two"
        raise TypeError(f"a column has one dimension, but this array has {array.ndim}: {what}")
    if mask is not None and mask.shape != array.shape:
        raise ProducerError("mask", got=mask.shape, expected=f"{array.shape}, the shape of the array")
    if array.dtype.kind in "OTU":
        from .column_text import from_text

        return from_text(array, mask, copy, name)
    if array.dtype.kind in "Mm":
        known = _in_known_units(array, copy)
        array, owner = known, owner if known is array else known
    dtype = described(array.dtype)
    if dtype is not None:
        column = lend(array, Type(dtype, name), owner)
    elif array.dtype.names is not None:
        children = tuple(
            from_ndarray(array[field], allow_copy=allow_copy, name=field, owner=owner) for field in array.dtype.names
        )
        struct = Type(Dtype(DtypeKind.STRUCT, 0, "+s", "="), name)
        column = Column._make(struct, (Piece(len(array), 0, {}, children=children),))
    else:
        raise TypeError(f"a column has no type for NumPy's {array.dtype}")
    return column if mask is None else _masked(column, array, mask, copy)


def _mask_of(array: "np.ma.MaskedArray[Any, Any]") -> NDArray[np.bool_] | None:
    """Return the mask of an array, True = missing; None where it has none."""
    mask: Any = np.ma.getmask(array)
    if mask is np.ma.nomask:
        return None
    mask = np.ndarray.view(mask, np.ndarray)
    if mask.dtype != np.bool_:
        raise TypeError("a masked structured array has a mask for each field: take its fields one by one")
    found: NDArray[np.bool_] = mask
    return found


def described(dtype: "np.dtype[Any]") -> Dtype | None:
    """Return the type of a column of items as they lie, None where there is none: text, objects, fields."""
    if dtype.names is not None or dtype.subdtype is not None or dtype.isbuiltin == _OF_OTHERS:
        return None
    order, bits = "=" if dtype.isnative else dtype.byteorder, 8 * dtype.itemsize
    if dtype.kind in "Mm":
        unit, count = np.datetime_data(dtype)
        if count == 1 and unit in _UNITS:
            letter = _UNITS[unit]
            return Dtype(DtypeKind.DATETIME, bits, f"ts{letter}:" if dtype.kind == "M" else f"tD{letter}", order)
        return Dtype(DtypeKind.DATETIME, bits, "tdD", order) if dtype.str[1:] == "M8[D]" else None
    kind = _KINDS.get(dtype.kind)
    if kind is None:
        return None
    text = f"w:{dtype.itemsize}" if kind == DtypeKind.BINARY else NUMBER_FORMATS.get((kind, bits), "")
    return Dtype(kind, bits, text, order)


_OF_OTHERS = 2  # `isbuiltin` of a dtype that another library registered, bfloat16 say


def lend(array: NDArray[Any], type: Type, owner: object) -> Column:  # noqa: A002 - the record's name
    """Return a column of the items of an array as they lie."""
    buffer, start = _span(array, owner)
    null, count = ((NullKind.USE_NAN, None), UNKNOWN) if array.dtype.kind in "Mm" else (NO_NULLS, 0)
    piece = Piece(len(array), 0, {"data": buffer}, null, count, byte_offset=start, stride=array.strides[0])
    return Column._make(type, (piece,))


def _span(array: NDArray[Any], owner: object) -> tuple[Buffer, int]:
    """Return the bytes from the lowest to the highest item of an array, and where the first one is among them."""
    if array.flags.c_contiguous and owner is array:
        return as_buffer(array), 0
    if array.flags.c_contiguous:
        return Buffer(array.ctypes.data, array.nbytes, owner=owner, readonly=not array.flags.writeable), 0
    reach = (len(array) - 1) * array.strides[0]
    low = array.__array_interface__["data"][0] + min(reach, 0)
    bufsize = abs(reach) + array.dtype.itemsize
    return Buffer(low, bufsize, owner=owner, readonly=not array.flags.writeable), max(-reach, 0)


def _masked(column: Column, array: NDArray[Any], mask: NDArray[np.bool_], copy: Copy) -> Column:
    """Return a column with NumPy's mask, in which True is missing; there is one way to be missing, so NaT joins it."""
    if array.dtype.kind in "Mm" and (lost := np.isnat(array)).any():
        copy("NaT joins what the mask marks")
        mask = mask | lost
    buffer, start = _span(mask, mask)
    piece = column._pieces[0]
    masked = piece._replace(
        buffers=piece.buffers | {"validity": buffer},
        null=(NullKind.USE_BYTEMASK, 1),
        null_count=UNKNOWN,
        validity_offset=start,
        validity_stride=mask.strides[0],
    )
    return Column._make(column._type, (masked,))


def _in_known_units(array: NDArray[Any], copy: Copy) -> NDArray[Any]:
    """Return times in a unit that Arrow has: themselves, or a copy in seconds for coarser ones."""
    unit, count = np.datetime_data(array.dtype)
    kind = array.dtype.kind
    if described(array.dtype) is not None:
        return array
    if unit not in (_UNITS | _COARSE[kind]):
        raise TypeError(f"a column has no unit for NumPy's {array.dtype}: cast it to one of s, ms, us, ns first")
    known = unit if unit in _UNITS else "s"
    copy(f"times in units of {count} {unit} become {known}")
    made = array.astype(f"{kind}8[{known}]")
    if not ((made.astype(array.dtype) == array) | np.isnat(array)).all():
        raise OverflowError(f"a time of {array.dtype} lies outside what 64 bits of {known} can say")
    return made


# Units that are so many seconds. Months and years are so many as dates, but not as spans.
_COARSE = {"M": dict.fromkeys("YMWDhm"), "m": dict.fromkeys("WDhm")}
