"""Strings: UTF-8 characters between offsets.

Lives here: the checks of offsets and characters, and the making of NumPy strings. Must not know: sentinels, chunks of
one column. NumPy has no view of UTF-8, so strings are always copied.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import to_ndarray
from .chunk import Chunk
from .interchange import DtypeKind
from .validity import Present

_StringDType = getattr(getattr(np, "dtypes", None), "StringDType", None)  # NumPy 2

STRING_TYPE: np.dtype[Any] = np.dtype(object) if _StringDType is None else _StringDType()


def to_strings(texts: list[str]) -> NDArray[Any]:
    """Return a list of text as an array of NumPy's strings, of objects where NumPy lacks them."""
    return np.array(texts, dtype=STRING_TYPE)


def read_strings(chunk: Chunk, present: Present) -> NDArray[Any]:
    """Return the strings of a chunk; what is missing becomes the empty string and is not decoded.

    Raises
    ------
    ProducerError
        When offsets decrease or leave the data buffer, or a string that is present is not UTF-8.
    """
    offsets = _offsets(chunk)
    first, last = int(offsets[0]), int(offsets[-1])
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if first < 0 or len(falls):
        at = int(falls[0]) if len(falls) else 0
        raise chunk.context.broken(
            "offsets buffer", offsets[at : at + 2].tolist(), f"offsets of 0 or more that never decrease (element {at})"
        )
    data = chunk.part("data")
    data.require(last, f"the last string, which ends at byte {last}")
    chunk.context.copy("NumPy strings cannot view UTF-8")
    characters = to_ndarray(data.memory, "uint8", shape=last - first, offset=first)
    starts, ends = offsets[:-1] - first, offsets[1:] - first
    if present is not None:
        ends = np.where(present, ends, starts)
    return to_strings(_decode(characters, starts, ends, chunk))


def _offsets(chunk: Chunk) -> NDArray[Any]:
    """Return the size + 1 offsets of the window, as wide as their own tuple says, whatever the column's format."""
    part = chunk.part("offsets")
    kind, bits, _, order = part.dtype
    if kind not in (DtypeKind.INT, DtypeKind.UINT) or bits not in (32, 64):
        raise chunk.context.broken("offsets dtype", tuple(part.dtype), "integers of 32 or 64 bits")
    width = bits // 8
    part.require((chunk.offset + chunk.size + 1) * width, f"{chunk.window} + 1 offsets of {width} bytes")
    character = f"{order}{'i' if kind == DtypeKind.INT else 'u'}{width}"
    found = to_ndarray(part.memory, character, shape=chunk.size + 1, offset=chunk.offset * width)
    if kind == DtypeKind.UINT and found[-1] > np.iinfo(np.int64).max:
        raise chunk.context.broken("offsets buffer", int(found[-1]), "offsets within the data buffer")
    return found.astype(np.int64)


def _decode(characters: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any], chunk: Chunk) -> list[str]:
    """Return the strings between byte positions."""
    raw = characters.tobytes()
    if not raw.isascii():
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            return _decode_singly(raw, starts, ends, chunk)
        # Every byte that does not continue a character starts one: their running count turns byte positions into
        # positions in the text.
        begins = (characters & 0xC0) != 0x80
        filled = ends > starts
        cut = np.append(begins, True)
        if not (cut[starts[filled]].all() and cut[ends[filled]].all()):
            return _decode_singly(raw, starts, ends, chunk)
        position = np.concatenate(([0], np.cumsum(begins)))
        starts, ends = position[starts], position[ends]
    else:
        text = raw.decode("ascii")
    return [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _decode_singly(raw: bytes, starts: NDArray[Any], ends: NDArray[Any], chunk: Chunk) -> list[str]:
    texts = []
    for row, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        try:
            texts.append(raw[start:end].decode())
        except UnicodeDecodeError as error:
            raise chunk.context.broken(
                f"data buffer, element {row}", raw[start:end], f"UTF-8, but {error.reason}"
            ) from None
    return texts
