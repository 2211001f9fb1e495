"""Strings: UTF-8 characters between offsets.

Lives here: the checks of offsets and characters, and the making of NumPy strings. Must not know: sentinels, chunks of
one column. NumPy has no view of UTF-8, so strings are always copied.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import to_ndarray
from .chunk import Chunk
from .errors import ProducerError
from .interchange import DtypeKind
from .validity import Present

_StringDType = getattr(getattr(np, "dtypes", None), "StringDType", None)  # NumPy 2

STRING_TYPE: np.dtype[Any] = np.dtype(object) if _StringDType is None else _StringDType()


_UTF32 = f"utf-32-{sys.byteorder[0]}e"  # of this machine, without a byte order mark
_MOST_PADDING = 4  # characters of fixed width for one of text


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
    offsets = checked_offsets(chunk)
    first, last = int(offsets[0]), int(offsets[-1])
    chunk.context.copy("NumPy strings cannot view UTF-8")
    characters = to_ndarray(chunk.part("data").memory, "uint8", shape=last - first, offset=first)
    lengths = np.diff(offsets)
    if present is not None:
        # What stands under a missing string means nothing: it is left out before anything is decoded.
        characters = characters[np.repeat(present, lengths)]
        lengths = np.where(present, lengths, 0)
    return _decode(characters, lengths, chunk)


def checked_offsets(chunk: Chunk) -> NDArray[Any]:
    """Return a copy of the size + 1 offsets of the window, which never decrease and lie within the data buffer.

    Raises
    ------
    ProducerError
        When they do not.
    """
    offsets = _offsets(chunk)
    first, last = int(offsets[0]), int(offsets[-1])
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if first < 0 or len(falls):
        at = int(falls[0]) if len(falls) else 0
        raise chunk.context.broken(
            "offsets buffer", offsets[at : at + 2].tolist(), f"offsets of 0 or more that never decrease (element {at})"
        )
    chunk.part("data").require(last, f"the last string, which ends at byte {last}")
    return offsets


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


def _decode(characters: NDArray[np.uint8], lengths: NDArray[np.int64], chunk: Chunk) -> NDArray[Any]:
    """Return strings that follow one another, of `lengths` bytes each."""
    raw = characters.tobytes()
    characters = np.frombuffer(raw, np.uint8)  # what was decoded and what is cut are the same, whoever writes meanwhile
    if raw.isascii():
        return _cut(raw.decode("ascii"), characters, lengths)
    # Every byte that does not continue a character starts one.
    begins = (characters & 0xC0) != 0x80
    ends = np.cumsum(lengths)
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise _no_text(raw, ends, int(np.searchsorted(ends, error.start, "right")), chunk) from None
    cuts = ends[ends < len(raw)]
    if not begins[cuts].all():
        at = int(cuts[np.argmin(begins[cuts])])
        raise _no_text(raw, ends, int(np.searchsorted(ends, at, "left")), chunk)
    position = np.concatenate(([0], np.cumsum(begins)))
    return _cut(text, np.frombuffer(text.encode(_UTF32), np.uint32), np.diff(position[ends], prepend=0))


def _cut(text: str, points: NDArray[Any], lengths: NDArray[np.int64]) -> NDArray[Any]:
    """Return the pieces of a text, whose characters are `points`, as an array of strings.

    NumPy converts fixed-width text to its strings several times as fast as a list. Fixed width is taken unless it would
    need much more memory than the text, or loses something: it cannot tell a NUL at the end from padding.
    """
    longest = int(lengths.max(initial=0))
    wide = longest * len(lengths) > _MOST_PADDING * (len(points) + len(lengths))
    if _StringDType is None or wide or not longest or not points.all():
        ends = np.cumsum(lengths).tolist()
        return to_strings([text[start:end] for start, end in zip([0, *ends], ends, strict=False)])
    padded = np.zeros((len(lengths), longest), points.dtype)
    padded[np.arange(longest) < lengths[:, None]] = points
    return padded.view(f"{'S' if points.itemsize == 1 else 'U'}{longest}").ravel().astype(STRING_TYPE)


def _no_text(raw: bytes, ends: NDArray[np.int64], row: int, chunk: Chunk) -> ProducerError:
    """Return the error for the string of a row that is not UTF-8."""
    start, end = int(ends[row - 1]) if row else 0, int(ends[row])
    return chunk.context.broken(f"data buffer, element {row}", raw[start:end], "UTF-8")
