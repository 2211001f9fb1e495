"""Facts of the array interfaces, NumPy's and CUDA's, version 3: the dict, read and checked.

Lives here: from a dict to address, bytes and access. Must not know: devices, streams, owners. Sources: NumPy, "The
array interface protocol"; Numba, "CUDA Array Interface (Version 3)".
"""

from itertools import islice
from operator import index
from typing import Any, NamedTuple

from .dlpack import is_contiguous
from .errors import EXITS, CopyRequiredError, ProducerError
from .memory import _MOST_BYTES

# Characters of a typestr: bytes of one unit of its size. Bit fields (t) and objects (O) are no data.
_UNITS = {"b": 1, "i": 1, "u": 1, "f": 1, "c": 1, "m": 1, "M": 1, "S": 1, "V": 1, "U": 4}


class Block(NamedTuple):
    """What an array interface says of memory: address, bytes, access."""

    ptr: int
    nbytes: int
    readonly: bool


def typestr_size(typestr: Any, whose: str) -> int:
    """Return the bytes of one item.

    Examples
    --------
    >>> typestr_size("<f8", "x"), typestr_size("|b1", "x"), typestr_size("<U3", "x")
    (8, 1, 12)
    """
    if type(typestr) is str and typestr[:1] in _ORDERS:
        digits = typestr[2:].partition("[")[0]  # NumPy says the unit of a date behind its size
        if typestr[1:2] in _UNITS and digits.isascii() and digits.isdecimal() and len(digits) <= _MOST_DIGITS:
            return int(digits) * _UNITS[typestr[1]]
    raise ProducerError(f"{whose}['typestr']", got=typestr, expected="a type of plain data, such as '<f8'")


_ORDERS = frozenset("<>|=")
_MOST_DIGITS = 19  # of a size in bytes


class Layout(NamedTuple):
    """What an array interface says of the items: the block (None where by a buffer object), extents, bytes of an item.

    `strides` are bytes, None in C order; `nbytes` are those of all items, one after another; `typestr` is a plain text.
    """

    block: Block | None
    shape: tuple[int, ...]
    strides: tuple[int, ...] | None
    width: int
    nbytes: int
    typestr: str


def read_interface(interface: Any, whose: str) -> tuple[Block | None, int]:
    """Return the block that an interface describes by address (None where by a buffer object), and the bytes needed.

    Raises
    ------
    ProducerError
        When the dict lacks what it must have, or says what cannot be.
    CopyRequiredError
        When the elements are strided.
    """
    block, shape, strides, width, nbytes, _ = read_layout(interface, whose)
    if strides is not None and nbytes:
        elements = tuple(step // width if step % width == 0 else -1 for step in strides)
        if not is_contiguous(shape, elements):
            raise CopyRequiredError(
                f"{whose}: a buffer is one contiguous range of bytes, but shape {shape} with strides {strides} is not: "
                "copy it to contiguous memory first"
            )
    return block, nbytes


def read_layout(interface: Any, whose: str) -> Layout:
    """Return what an interface describes, strided or not; ProducerError as `read_interface` raises it."""
    if type(interface) is not dict:
        raise ProducerError(whose, got=interface, expected="a dict")
    shape = _shape(interface.get("shape"), f"{whose}['shape']")
    typestr: Any = interface.get("typestr")
    if type(typestr) is not str and issubclass(type(typestr), str):
        typestr = str.__getitem__(typestr, slice(None))
    width = typestr_size(typestr, whose)
    nbytes = width
    for extent in shape:
        nbytes *= extent
    strides: Any = interface.get("strides")
    if strides is not None:
        strides = _strides(shape, strides, f"{whose}['strides']")
    if nbytes > _MOST_BYTES:
        raise ProducerError(f"{whose}['shape']", got=shape, expected=f"extents of {_MOST_BYTES} bytes at most")
    data: Any = interface.get("data")
    if not issubclass(type(data), tuple):
        return Layout(None, shape, strides, width, nbytes, typestr)
    try:
        address, access = data
        ptr, readonly = index(address), bool(access)
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - foreign numbers may raise anything
        raise ProducerError(f"{whose}['data']", got=data, expected="a tuple (address, read-only)") from None
    if nbytes and ptr <= 0:
        raise ProducerError(f"{whose}['data'][0]", got=address, expected=f"the address of {nbytes} bytes")
    return Layout(Block(max(ptr, 0), nbytes, readonly), shape, strides, width, nbytes, typestr)


def _shape(shape: Any, field: str) -> tuple[int, ...]:
    if not issubclass(type(shape), tuple):
        raise ProducerError(field, got=shape, expected="a tuple of extents")
    found = _integers(shape) or ((-1,) if tuple.__len__(shape) else ())
    if min(found, default=0) < 0:
        expected = f"a tuple of {_MOST_DIMENSIONS} extents at most, integers of 0 or more"
        raise ProducerError(field, got=shape, expected=expected)
    return found


def _integers(given: Any) -> tuple[int, ...]:
    """Return the integers that a foreign sequence holds, 64 bits at most; none where it holds others, or too many."""
    try:
        found = tuple(islice(map(index, given), _MOST_DIMENSIONS + 1))
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - foreign numbers may raise anything
        return ()
    if len(found) > _MOST_DIMENSIONS:
        return ()
    return found if all(-_MOST_BYTES <= number <= _MOST_BYTES for number in found) else ()


_MOST_DIMENSIONS = 1024  # more is nonsense, or has no end


def _strides(shape: tuple[int, ...], strides: Any, field: str) -> tuple[int, ...]:
    steps = _integers(strides)
    if len(steps) != len(shape):
        raise ProducerError(field, got=strides, expected=f"{len(shape)} integers, one for each dimension")
    return steps
