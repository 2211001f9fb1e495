"""Numbers, booleans and times: elements of a fixed width.

Lives here: from a data buffer to the stored values and to the values a person reads. Must not know: what is missing.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import to_ndarray
from .chunk import NATIVE, Chunk, Part, settle_order, settle_width
from .interchange import NUMBERS, TIMES, DtypeKind
from .validity import as_bools, unpack


def read_numbers(chunk: Chunk) -> NDArray[Any]:
    """Return integers or floats: the producer's memory, or a copy in native byte order."""
    part = chunk.part("data")
    order = settle_order(chunk, part, chunk.dtype.kind)
    return view(chunk, part, number_type(chunk, chunk.dtype.kind, settle_width(chunk, part)), order)


def number_type(chunk: Chunk, kind: int, bits: int) -> str:
    """Return NumPy's type character and size of a kind of number, without byte order."""
    try:
        return NUMBERS[kind, bits]
    except KeyError:
        raise chunk.context.broken(
            "dtype", (kind, bits), "a kind and bits of the protocol: integers of 8 to 64 bits, floats of 16 to 64"
        ) from None


def view(chunk: Chunk, part: Part, character: str, order: str) -> NDArray[Any]:
    """Return the chunk's window of a buffer as one NumPy type, checked against `bufsize`, in native byte order."""
    width = int(character[1:])
    part.require((chunk.offset + chunk.size) * width, f"{chunk.window} elements of {width} bytes")
    found = to_ndarray(part.memory, order + character, shape=chunk.size, offset=chunk.offset * width)
    if order in NATIVE or width == 1:
        return found
    chunk.context.copy(f"the {part.name} buffer is not in native byte order")
    return found.astype(found.dtype.newbyteorder("="))


def read_bools(chunk: Chunk) -> tuple[NDArray[np.bool_], NDArray[Any]]:
    """Return booleans, and what is stored: bytes may hold a sentinel that is neither 0 nor 1."""
    part = chunk.part("data")
    settle_order(chunk, part, DtypeKind.BOOL)
    bits = settle_width(chunk, part)
    if bits == 1:
        values = unpack(chunk, "data")
        chunk.context.copy("booleans are packed in bits")
        return values, values
    if bits != 8:
        raise chunk.context.broken("dtype", (int(DtypeKind.BOOL), bits), "booleans of 1 or 8 bits")
    part.require(chunk.offset + chunk.size, f"{chunk.window} bytes")
    stored = to_ndarray(part.memory, "uint8", shape=chunk.size, offset=chunk.offset)
    values, derived = as_bools(stored)
    if derived:
        chunk.context.copy("booleans hold bytes other than 0 and 1")
    return values, stored


def time_type(chunk: Chunk) -> tuple[int, str, str | None]:
    """Return bits of the stored integer, NumPy's type and the zone (None = naive) of a DATETIME column."""
    text, colon, zone = chunk.dtype.format.partition(":")
    if text not in TIMES or (colon and not text.startswith("ts")):
        raise chunk.context.broken(
            "dtype[2]", chunk.dtype.format, "the Arrow format of a date, time, time stamp (ts?:zone) or duration"
        )
    bits, character = TIMES[text]
    return bits, character, zone or None


def read_times(chunk: Chunk) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return dates, times, time stamps or durations, and the integers that are stored."""
    bits, character, _ = time_type(chunk)
    part = chunk.part("data")
    if (settled := settle_width(chunk, part, bits)) != bits:
        raise chunk.context.broken("dtype[1]", settled, f"{bits} bits, the width of format {chunk.dtype.format!r}")
    order = settle_order(chunk, part, DtypeKind.DATETIME, DtypeKind.INT)
    stored = view(chunk, part, number_type(chunk, DtypeKind.INT, bits), order)
    if bits == 64:
        return stored.view(character), stored
    chunk.context.copy("dates and times of 32 bits are 64 bits wide in NumPy")
    return stored.astype(np.int64).view(character), stored


def check_times(chunk: Chunk, stored: NDArray[Any], present: NDArray[np.bool_] | None) -> None:
    """Raise `ProducerError` where an element cannot be what the format announces: what is stored is something else.

    polars 1.44 announces times of day in microseconds and stores nanoseconds; pandas 3.1 announces Arrow's dates and
    stores addresses of objects. Source: Apache Arrow, `Schema.fbs`, tables Date and Time.
    """
    day = DAY.get(chunk.dtype.format)
    if day is None:
        return
    if chunk.dtype.format == "tdm":
        wild, expected = stored % day != 0, f"a date: whole days of {day} milliseconds"
    else:
        wild, expected = (stored < 0) | (stored >= day), f"a time of day, 0 to {day - 1} as {chunk.dtype.format!r}"
    if present is not None:
        wild &= present
    if wild.any():
        row = int(np.argmax(wild))
        raise chunk.context.broken(f"data buffer, element {row}", int(stored[row]), expected)


# Formats whose elements can be held against the length of a day, in the format's unit.
DAY = {"tdm": 86_400_000, "tts": 86_400, "ttm": 86_400_000, "ttu": 86_400_000_000, "ttn": 86_400_000_000_000}
