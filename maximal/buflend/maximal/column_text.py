"""From NumPy's text to a column: UTF-8 between offsets of 64 bits, always a copy.

Lives here: text of fixed width (UTF-32), `StringDType`, and objects that are strings or nothing. Must not know: other
types of arrays.
"""

import math
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shared.chunk import Dtype
from ..shared.errors import ProducerError
from ..shared.interchange import DtypeKind
from .buffer import as_buffer
from .column import Column
from .convert import allocate, pack_bits
from .nulls import Copy
from .piece import ARROW_NULLS, Piece, Type

_TEXT = Dtype(DtypeKind.STRING, 8, "U", "=")


def from_text(array: NDArray[Any], mask: NDArray[np.bool_] | None, copy: Copy, name: str = "") -> Column:
    """Return a column of the text of an array; what `mask` marks is not looked at.

    Raises
    ------
    TypeError
        For an object that is neither text nor a sign of nothing: None, NaN, NA of pandas.
    ProducerError
        When what stands in memory is no text.
    UnicodeError
        When text cannot be UTF-8, as lone surrogates cannot.
    """
    copy("text becomes UTF-8")
    there = None if mask is None else ~mask
    if array.dtype.kind == "U":
        text, lengths = _fixed(array, there)
    else:
        text, lengths, there = _listed(array, there)
    characters = np.frombuffer(text.encode(), np.uint8)
    ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    if len(characters) != len(text):
        # Counted in characters so far; every byte that does not continue a character starts one.
        ends = np.append(np.flatnonzero((characters & 0xC0) != 0x80), len(characters))[ends]
    data, offsets = allocate(len(characters)), allocate(8 * len(ends))
    data[:] = characters
    offsets.view(np.int64)[:] = ends
    piece = Piece(len(array), 0, {"offsets": as_buffer(offsets), "data": as_buffer(data)})
    if there is not None and not there.all():
        buffers = piece.buffers | {"validity": as_buffer(pack_bits(there, 0))}
        lost = len(there) - int(np.count_nonzero(there))
        piece = piece._replace(buffers=buffers, null=ARROW_NULLS, null_count=lost)
    return Column._make(Type(_TEXT, name), (piece,))


def _fixed(array: NDArray[Any], there: NDArray[np.bool_] | None) -> tuple[str, NDArray[Any]]:
    """Return text of fixed width joined, and the characters of each; NUL at the end is padding."""
    width = array.dtype.itemsize // 4
    if not width:  # of a field: NumPy makes no such array otherwise
        return "", np.zeros(len(array), np.uint32)
    points = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).view(np.uint32).reshape(len(array), width)
    lengths = ((points != 0) * np.arange(1, width + 1, dtype=np.uint32)).max(axis=1)
    if there is not None:
        lengths = np.where(there, lengths, 0)
    raw = points[np.arange(width) < lengths[:, None]].tobytes()
    try:
        return raw.decode(f"utf-32-{sys.byteorder[0]}e", "surrogatepass"), lengths
    except UnicodeDecodeError as error:
        got = hex(int.from_bytes(raw[error.start : error.start + 4], sys.byteorder))
        raise ProducerError("text of fixed width", got=got, expected="characters of Unicode") from None


def _listed(
    array: NDArray[Any], there: NDArray[np.bool_] | None
) -> tuple[str, NDArray[np.int64], NDArray[np.bool_] | None]:
    """Return strings joined, the characters of each, and what is present."""
    texts = array.tolist()
    nothing = (getattr(array.dtype, "na_object", None), getattr(sys.modules.get("pandas"), "NA", None))
    if there is None and nothing[0] is None:
        try:
            joined = "".join(texts)
        except TypeError:  # not all are text
            pass
        else:
            return joined, np.fromiter(map(len, texts), np.int64, len(texts)), None
    for i, item in enumerate(texts):
        if (there is not None and not there[i]) or _is_nothing(item, nothing):
            texts[i] = None
        elif not issubclass(type(item), str):
            raise TypeError(
                f"element {i} of the array is a {type(item).__name__}, expected text, or None or NaN for nothing"
            )
    there = np.fromiter((item is not None for item in texts), np.bool_, len(texts))
    texts = [item or "" for item in texts]
    return "".join(texts), np.fromiter(map(len, texts), np.int64, len(texts)), there


def _is_nothing(item: Any, nothing: tuple[Any, ...]) -> bool:
    return item is None or any(item is mark for mark in nothing) or (issubclass(type(item), float) and math.isnan(item))
