"""Array interfaces and the buffer protocol at the level of columns: NumPy's interface and CUDA's in both directions.

Lives here: what a column says of its items and its mask, and what is read of others. Must not know: text, times,
structs, which `column_ndarray` reads. Sources: NumPy, "The array interface protocol"; Numba, "CUDA Array Interface
(Version 3)"; PEP 3118.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shared.access import admit_host, stream_of
from ..shared.array_interface import Block, Layout, read_layout
from ..shared.arrays import to_ndarray
from ..shared.chunk import Dtype
from ..shared.device import CPU, Device, device_name
from ..shared.errors import EXITS, ProducerError, raised
from ..shared.exporter import exported, view_address
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import foreign_integer
from .array_interface import NAME
from .buffer import Buffer, checked
from .column import Column
from .column_array import says_itself, value_dtype
from .column_ndarray import described, from_ndarray
from .cuda_array_interface import CUDA_DEVICE, checked_stream, wait
from .cuda_array_interface import NAME as CUDA_NAME
from .found import ask_interface
from .nulls import count
from .offer import AbsentError
from .piece import NO_NULLS, UNKNOWN, Piece, Type

if TYPE_CHECKING:
    from numpy.typing import NDArray

_CUDA = (2, 13)
_NUMBER_TYPES = frozenset("biufc")


def interface(column: Column) -> dict[str, Any]:
    """Return NumPy's interface of a column in one piece in host memory; see `Column.__array_interface__`."""
    piece, type = column._pieces[0], column._type  # noqa: A001 - the record's name
    dtype = value_dtype(type)
    if dtype is None:
        raise AbsentError(f"{NAME}: NumPy has no such type as {_name(type)}")
    if not says_itself(piece, type) and (missing := count(piece, type)):
        raise AbsentError(f"{NAME}: {missing} of {piece.size} elements are missing, which the interface cannot say")
    if "data" in piece.buffers and piece.buffers["data"]._device is not CPU:
        admit_host(piece.buffers["data"])
    # Of nothing NumPy before 2.4 misreads the address 0.
    ptr, readonly = _first(piece)
    return {
        "version": 3,
        "shape": (piece.size,),
        "typestr": dtype.str,
        "data": (ptr or 1, readonly),
        "strides": (piece.stride,),
    }


def cuda_interface(column: Column) -> dict[str, Any]:
    """Return CUDA's interface of a column in one piece, with the stream in whose order it is ready, if any."""
    piece, type = column._pieces[0], column._type  # noqa: A001
    if piece.device[0] not in _CUDA:
        raise AbsentError(f"{CUDA_NAME}: a column on {device_name(piece.device)} does not speak this protocol")
    dtype = value_dtype(type)
    if dtype is None or dtype.kind not in _NUMBER_TYPES:
        raise AbsentError(f"{CUDA_NAME}: it has no such type as {_name(type)}")
    mask = None
    if piece.null == (NullKind.USE_BYTEMASK, 0) and piece.null_count:
        mask = Column._make(
            Type(Dtype(DtypeKind.BOOL, 8, "b", "=")),
            (
                Piece(
                    piece.size,
                    0,
                    {"data": piece.buffers["validity"]},
                    byte_offset=piece.validity_offset,
                    stride=piece.validity_stride,
                ),
            ),
        )
    elif not says_itself(piece, type) and count(piece, type):
        raise AbsentError(f"{CUDA_NAME}: elements may be missing, and not as a mask of bytes in which 0 says so")
    ptr, readonly = _first(piece)
    stream = max((stream_of(buffer) or 0 for buffer in piece.buffers.values()), default=0) or None
    return {
        "version": 3,
        "shape": (piece.size,),
        "typestr": dtype.str,
        "data": (ptr if piece.size else 0, readonly),
        "strides": None if piece.stride == dtype.itemsize else (piece.stride,),
        "stream": stream,
        "mask": mask,
    }


def _name(type: Type) -> str:  # noqa: A002
    kind, bits, text, _ = type.dtype
    return repr(text) if text and kind != DtypeKind.CATEGORICAL else f"{getattr(kind, 'name', kind)} of {bits} bits"


def _first(piece: Piece) -> tuple[int, bool]:
    """Return the address of the first element, and whether it may not be written."""
    data = piece.buffers.get("data")
    if data is None:
        return 0, True
    return data.ptr + piece.byte_offset + piece.offset * piece.stride if piece.size else data.ptr, data.readonly


def from_interface(obj: Any, *, allow_copy: bool = True) -> Column | None:
    """Return a column over what an object's array interface describes, None where it has none.

    Raises
    ------
    TypeError
        For another number of dimensions than one, and for a type that a column lacks.
    ProducerError
        When the interface says what cannot be.
    CopyRequiredError
        As `from_ndarray` raises it.
    """
    found = ask_interface(obj, NAME)
    if found is None:
        return None
    whose = f"{type(obj).__name__}.{NAME}"
    layout, dtype = _typed(found, whose)
    size, stride, reach = _line(layout, whose)
    if layout.block is None:
        data = found.get("data")
        lent = exported(obj if data is None else data)
        if lent is None:
            raise ProducerError(f"{whose}['data']", got=data, expected="an address with access, or an exported buffer")
        address, view = lent
        start = foreign_integer(found.get("offset", 0), f"{whose}['offset']")
        if start + min(reach, 0) < 0 or start + max(reach, 0) + (layout.width if size else 0) > view.nbytes:
            items = f"{layout.shape} items of {layout.width} bytes, strides {layout.strides}, behind offset {start}"
            raise ProducerError(f"{whose}['data']", got=f"{view.nbytes} bytes", expected=items)
        buffer = Buffer(address, view.nbytes, owner=(view, obj), readonly=view.readonly)
    else:
        buffer, start = _around(layout.block, layout.width, reach, obj, CPU), max(-reach, 0)
    array: NDArray[Any] = to_ndarray(buffer, dtype, size, stride, start)
    return _with_mask(from_ndarray(array, allow_copy=allow_copy), found.get("mask"), NAME, CPU)


def from_cuda_interface(obj: Any, *, allow_copy: bool = True) -> Column | None:  # noqa: ARG001 - nothing is copied
    """Return a column over what an object's CUDA array interface describes, None where it has none.

    Its stream is waited for, and the device's ordinal is asked of the pointer when somebody wants it. Errors are those
    of `from_interface`; DeviceError where the CUDA runtime does not answer.
    """
    found = ask_interface(obj, CUDA_NAME)
    if found is None:
        return None
    whose = f"{type(obj).__name__}.{CUDA_NAME}"
    layout, dtype = _typed(found, whose)
    size, stride, reach = _line(layout, whose)
    if layout.block is None:
        raise ProducerError(f"{whose}['data']", got=found.get("data"), expected="a tuple (address, read-only)")
    made = described(dtype)
    if made is None or dtype.kind not in _NUMBER_TYPES:
        raise TypeError(f"a column has no type for {dtype} in CUDA memory")
    stream = checked_stream(found.get("stream"), f"{whose}['stream']")
    buffer = _around(layout.block, layout.width, reach, obj, CUDA_DEVICE)
    if stream is not None and size:
        wait(stream, buffer.ptr)
    piece = Piece(size, 0, {"data": buffer}, byte_offset=max(-reach, 0), stride=stride)
    return _with_mask(Column._make(Type(made), (piece,)), found.get("mask"), CUDA_NAME, CUDA_DEVICE)


def _typed(found: Any, whose: str) -> tuple[Layout, "np.dtype[Any]"]:
    """Return what an interface says, and NumPy's dtype of an item."""
    layout = read_layout(found, whose)
    typestr, descr = layout.typestr, found.get("descr")
    try:
        dtype = np.dtype(descr if typestr[1] == "V" and descr else typestr)
    except EXITS:
        raise
    except BaseException:  # noqa: BLE001 - a foreign description may raise anything
        dtype = np.dtype(object)
    if dtype.hasobject or dtype.itemsize != layout.width:
        raise ProducerError(f"{whose}['typestr']", got=(typestr, descr), expected="a type of NumPy, of plain data")
    return layout, dtype


def _line(layout: Layout, whose: str) -> tuple[int, int, int]:
    """Return how many items there are, the bytes from one to the next, and those from the first to the last."""
    if len(layout.shape) != 1:
        raise TypeError(f"a column has one dimension, but {whose} has {len(layout.shape)}")
    size = layout.shape[0]
    stride = layout.width if layout.strides is None else layout.strides[0]
    return size, stride, (size - 1) * stride if size else 0


def _around(block: Block, width: int, reach: int, owner: object, device: Device) -> Buffer:
    """Return the bytes from the lowest to the highest item."""
    ptr, nbytes, readonly = block
    found = (ptr + min(reach, 0), abs(reach) + width) if nbytes else (0, 0)
    return checked((*found, owner, device, readonly, None), type(owner).__name__)


def _with_mask(column: Column, mask: Any, name: str, device: Device) -> Column:
    """Return a column with the mask of an interface, in which what is true is there: bytes, or bits (cuDF's)."""
    if mask is None:
        return column
    found, whose = ask_interface(mask, name), f"{name}['mask']"
    piece = column._pieces[0]
    if type(found) is not dict or piece.null != NO_NULLS:
        raise ProducerError(whose, got=mask, expected=f"None, or an object with {name} beside numbers")
    # Of bits the shape counts bits.
    bits = type(found.get("typestr")) is str and found["typestr"] in _BIT_TYPES
    layout, _ = _typed({**found, "typestr": "|u1"} if bits else found, whose)
    size, stride, reach = _line(layout, whose)
    if layout.block is None or layout.width != 1 or size < piece.size or (bits and stride != 1):
        raise ProducerError(whose, got=found, expected=f"{piece.size} bytes or bits by their address")
    if bits:
        reach = max(-(-piece.size // 8) - 1, 0)
    stream = checked_stream(found.get("stream"), f"{whose}['stream']") if name == CUDA_NAME else None
    if stream is not None and size:
        wait(stream, layout.block.ptr)
    lost = _around(layout.block, layout.width, reach, mask, device)
    if lost.bufsize and piece.device != lost.device:
        raise ProducerError(whose, got=lost, expected=f"memory beside the values, on {device_name(piece.device)}")
    masked = piece._replace(
        buffers=piece.buffers | {"validity": lost},
        null=(NullKind.USE_BITMASK if bits else NullKind.USE_BYTEMASK, 0),
        null_count=UNKNOWN,
        validity_offset=0 if bits else max(-reach, 0),
        validity_stride=1 if bits else stride,
    )
    return Column._make(column._type, (masked,))


_BIT_TYPES = ("|t1", "<t1", ">t1", "=t1")


def from_exporter(obj: Any, *, allow_copy: bool = True) -> Column | None:
    """Return a column over what an object exports by the buffer protocol, None where it exports nothing.

    Errors are those of `from_interface`.
    """
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    except EXITS:
        raise
    except BaseException as error:
        raise ProducerError("buffer protocol", got=raised(error), expected="an exported buffer") from error
    try:
        array = np.asarray(view)
    except (TypeError, ValueError, NotImplementedError):
        raise TypeError(f"NumPy has no type for the buffer protocol's format {view.format!r}") from None
    if array.dtype.hasobject:
        raise TypeError(f"the memory of this {type(obj).__name__} holds Python objects, not data: convert it first")
    view_address(view)  # where there is none, NumPy has made memory of its own, and left in it what was there
    return from_ndarray(array, allow_copy=allow_copy)
