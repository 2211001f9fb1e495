"""DLPack at the level of columns, both directions.

Lives here: which types and nulls go out, and what a tensor of one dimension becomes. Must not know: structs and
capsules, which are `shared`'s. Sources: `dlpack.h` 1.3; Python array API standard, `array.__dlpack__`.

A number that neither NumPy nor Arrow has (bfloat16, float8) is of kind OPAQUE, and its metadata name DLPack's code, so
that it goes out as it came.
"""

from typing import TYPE_CHECKING, Any

from ..shared import dlpack
from ..shared.access import stream_of
from ..shared.arrow_format import NUMBER_FORMATS
from ..shared.chunk import NATIVE, Dtype
from ..shared.device import CPU, HOST_READABLE, device_name
from ..shared.dlpack import NUMPY_TYPES, Tensor
from ..shared.dlpack_method import check_stream
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import offers
from .buffer import checked
from .column import Column
from .dlpack import ask, exporter, read_ordered
from .metadata import pack, unpack
from .piece import NO_NULLS, Piece, Type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

CODE = "DLPACK:code"

_KINDS = {
    dlpack.INT: DtypeKind.INT,
    dlpack.UINT: DtypeKind.UINT,
    dlpack.FLOAT: DtypeKind.FLOAT,
    dlpack.COMPLEX: DtypeKind.COMPLEX,
    dlpack.BOOL: DtypeKind.BOOL,
}
_CODES: dict[int, int] = {kind: code for code, kind in _KINDS.items()}


def export(column: Column, *, copy: bool | None = None, **options: Any) -> object:
    """Return a capsule of a column's values; see `Column.__dlpack__`.

    Parameters
    ----------
    column : Column
        Numbers or booleans.
    copy : bool, optional
        As the protocol has it: what is strided by no whole number of elements, in foreign byte order, in bits or in
        several chunks goes out in a copy.
    **options
        `stream`, `max_version` and `dl_device` of the protocol.

    Raises
    ------
    BufferError
        For a type that DLPack lacks, for missing elements, and where a copy is needed and `copy` is False.
    """
    triple = check(column)
    pieces = [piece for piece in column._pieces if piece.size] or column._pieces[:1]
    piece, width = pieces[0], column._type.width
    if len(pieces) > 1:
        why = f"the column has {len(pieces)} chunks"
    elif not width:
        why = "booleans are packed in bits"
    elif width > 1 and column._type.dtype.order not in NATIVE:
        why = "the elements are in foreign byte order"
    elif piece.size > 1 and piece.stride % width:
        why = f"the elements are {piece.stride} bytes apart, no multiple of their {width}"
    else:
        data = piece.buffers.get("data")
        tensor = Tensor(0, (0,), (1,), triple)
        if data is not None:
            at = data.ptr + (piece.byte_offset + piece.offset * piece.stride if piece.size else 0)
            step = piece.stride // width if piece.size > 1 else 1
            tensor = Tensor(at, (piece.size,), (step,), triple, data._device, data._readonly, stream_of(data))
        return exporter()(column if data is None else data.owner, tensor)(copy=copy, **options)
    if copy is False:
        raise BufferError(f"copy=False: {why}, which needs a copy")
    for piece in pieces:
        if piece.device[0] not in HOST_READABLE:
            raise BufferError(f"{why}, and the column lies on {device_name(piece.device)}, where it is not copied")
    if column.device != CPU and options.get("dl_device") is None:
        check_stream(column.device, options.pop("stream", None))  # of a copy in host memory nothing is pending
    array = _copied(pieces, column._type)
    tensor = Tensor(array.ctypes.data, (len(array),), (1,), triple)
    return exporter()(array, tensor, fresh=True)(copy=copy, **options)


def _copied(pieces: "Sequence[Piece]", type: Type) -> "NDArray[Any]":  # noqa: A002 - the record's name
    """Return the values one after another, in native byte order, in memory of their own."""
    import numpy as np

    from ..shared.validity import unpack_bits
    from .elements import elements, numpy_dtype

    dtype = numpy_dtype(type)
    if dtype is None:
        filled = [piece for piece in pieces if piece.size]
        parts = [unpack_bits(piece.buffers["data"], piece.offset, piece.size) for piece in filled]
        return np.concatenate(parts) if parts else np.empty(0, np.uint8)
    made = np.empty(sum(piece.size for piece in pieces), dtype.newbyteorder("="))
    return np.concatenate([elements(piece, type) for piece in pieces], out=made)


def check(column: Column) -> tuple[int, int, int]:
    """Return DLPack's code, bits and lanes of a column that DLPack can say; BufferError for any other."""
    triple = _triple(column._type)
    _refuse_missing(column)
    return triple


def _triple(type: Type) -> tuple[int, int, int]:  # noqa: A002 - the record's name
    """Return DLPack's code, bits and lanes; BufferError where it has none for the type."""
    kind, bits, text, _ = type.dtype
    if kind == DtypeKind.BOOL:
        return dlpack.BOOL, 8, 1
    code = unpack(type.metadata).get(CODE) if kind == DtypeKind.OPAQUE else None
    triple = (_CODES.get(kind, -1) if code is None else int(code), bits, 1)
    if code is None and triple not in NUMPY_TYPES:
        name = getattr(kind, "name", kind)
        raise BufferError(
            f"DLPack has no type for a column of {name} ({text!r}, {bits} bits): column.part('data') has the stored "
            "numbers"
        )
    return triple


def _refuse_missing(column: Column) -> None:
    """Raise where elements are missing, which DLPack cannot say; NaN goes out as the number that it is."""
    pieces = [piece for piece in column._pieces if piece.null[0] not in (NullKind.NON_NULLABLE, NullKind.USE_NAN)]
    if not any(piece.null_count for piece in pieces):
        return
    missing = column.null_count
    if missing == 0:
        return
    many = "elements may be" if missing is None else f"{missing} of {column.size()} elements are"
    raise BufferError(
        f"{many} missing, which DLPack cannot say: column.part('data') and column.part('validity') are the values and "
        "the mask, and numpy.asarray(column, 'float64') has NaN instead"
    )


def read(obj: Any, *, allow_copy: bool = True) -> Column | None:  # noqa: ARG001 - nothing is copied
    """Return a column over the tensor that an object exports by a DLPack capsule, None where it exports none.

    Parameters
    ----------
    obj : object
        Any producer; off the CPU its work is ordered before the default stream's.

    Returns
    -------
    Column or None
        The capsule, unused, is the owner.

    Raises
    ------
    TypeError
        For another number of dimensions than one, several lanes, and elements below a byte.
    ProducerError
        When the capsule describes what cannot be.
    RefusedError
        When the producer raises: another protocol may be spoken.
    """
    if not offers(obj, "__dlpack__", "__dlpack_device__"):
        return None
    capsule = ask(obj)
    tensor, nbytes = read_ordered(capsule)
    if len(tensor.shape) != 1:
        raise TypeError(f"a column has one dimension, but this {type(obj).__name__} has {len(tensor.shape)}")
    code, bits, lanes = tensor.dtype
    if lanes != 1 or bits % 8:
        raise TypeError(f"a column has no type for DLPack's (code, bits, lanes) {tensor.dtype}: cast it first")
    (size,), width = tensor.shape, bits // 8
    stride = tensor.strides[0] * width
    reach = (size - 1) * stride if size else 0
    low, bufsize = (tensor.ptr + min(reach, 0), abs(reach) + width) if nbytes else (0, 0)
    buffer = checked((low, bufsize, capsule, tensor.device, tensor.readonly, tensor.stream), type(obj).__name__)
    piece = Piece(size, 0, {"data": buffer}, NO_NULLS, 0, byte_offset=max(-reach, 0), stride=stride)
    kind, metadata = DtypeKind.OPAQUE, pack({CODE: str(code)})
    if tensor.dtype in NUMPY_TYPES:
        kind, metadata = _KINDS[code], None
    dtype = Dtype(kind, bits, NUMBER_FORMATS.get((kind, bits), ""), "=")
    return Column._make(Type(dtype, metadata=metadata), (piece,))
