"""What is present in a chunk: masks of bits or bytes, sentinels, NaN.

Lives here: the five null kinds, each made into a boolean array with True = present, or None where nothing is missing.
Must not know: types of columns, beyond the stored integer, float or text that a sentinel is compared with.
"""

from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrays import to_ndarray
from .chunk import Chunk
from .errors import EXITS
from .interchange import MASKS, NAT, DtypeKind, NullKind
from .memory import Memory

Present = NDArray[np.bool_] | None


def from_mask(chunk: Chunk) -> Present:
    """Return what is present by the chunk's mask; None where it has none, or where the mask marks nothing missing.

    A byte mask of zeros and ones whose zeros mean missing is viewed, not copied. Any other mask that marks something is
    derived, which needs a copy.

    Raises
    ------
    ProducerError
        When the mask is not announced as what it is, is too small, or contradicts `null_count`.
    CopyRequiredError
        When it must be derived and copies are not allowed.
    """
    missing = describe_mask(chunk)
    if missing is None:
        return None
    context = chunk.context
    if chunk.null_kind == NullKind.USE_BITMASK:
        bits = unpack(chunk, "validity")
        present, derived = ~bits if missing else bits, True
    else:
        present, derived = _from_bytes(chunk, missing=bool(missing))
    count = chunk.size - int(np.count_nonzero(present))
    announced = chunk.null_count()
    if announced is not None and 0 <= announced != count:
        raise context.broken("null_count", announced, f"{count}, the number of elements that the mask marks")
    if not count:
        return None
    if derived:
        context.copy(f"what is missing stands in a {_mask_name(chunk)} that cannot be viewed as booleans")
    return present


def describe_mask(chunk: Chunk) -> int | None:
    """Return the value, 0 or 1, by which the chunk's mask marks what is missing; None where there is no mask to read.

    Raises
    ------
    ProducerError
        When the mask is not announced as what it is, or is missing while something is.
    """
    if chunk.null_kind not in (NullKind.USE_BITMASK, NullKind.USE_BYTEMASK) or not chunk.size:
        return None
    context = chunk.context
    missing: int = context.integer(chunk.null_value, "describe_null[1]")
    if missing not in (0, 1):
        raise context.broken("describe_null[1]", chunk.null_value, "0 or 1, the mask's value that means missing")
    if "validity" not in chunk.parts:
        if (announced := chunk.null_count()) == 0:
            return None
        raise context.broken(
            "get_buffers()['validity']",
            None,
            f"a {_mask_name(chunk)}, since null_count is {announced} and describe_null {chunk.null_kind.name}",
        )
    part = chunk.parts["validity"]
    if not MASKS.get((chunk.null_kind, (part.dtype.kind, part.dtype.bits)), False):
        raise context.broken(
            "validity dtype",
            tuple(part.dtype),
            f"the type of a {_mask_name(chunk)}, since describe_null says {chunk.null_kind.name}",
        )
    return missing


def _mask_name(chunk: Chunk) -> str:
    return "bit mask" if chunk.null_kind == NullKind.USE_BITMASK else "byte mask"


def unpack(chunk: Chunk, name: str) -> NDArray[np.bool_]:
    """Return the chunk's window of a buffer of bits, least significant first, as an array of our own."""
    part = chunk.part(name)
    end = chunk.offset + chunk.size
    part.require(-(-end // 8), f"{chunk.window} bits")
    return unpack_bits(part.memory, chunk.offset, chunk.size).view(np.bool_)


def unpack_bits(memory: Memory, start: int, size: int) -> NDArray[np.uint8]:
    """Return `size` bits from bit `start` on, one in a byte, in an array of our own."""
    first, phase = divmod(start, 8)
    packed = to_ndarray(memory, "uint8", shape=-(-(phase + size) // 8), offset=first)
    return np.unpackbits(packed, count=phase + size, bitorder="little")[phase:]


def _from_bytes(chunk: Chunk, *, missing: bool) -> tuple[NDArray[np.bool_], bool]:
    """Return the byte mask as booleans, and whether they are memory of our own."""
    part = chunk.part("validity")
    part.require(chunk.offset + chunk.size, f"{chunk.window} bytes")
    raw = to_ndarray(part.memory, "uint8", shape=chunk.size, offset=chunk.offset)
    if missing:
        return raw == 0, True
    return as_bools(raw)


def as_bools(raw: NDArray[np.uint8]) -> tuple[NDArray[np.bool_], bool]:
    """Return bytes as booleans, and whether they are memory of our own.

    The same memory where all are zeros and ones, which is all that a NumPy bool may be.
    """
    return (raw != 0, True) if raw.max(initial=0) > 1 else (raw.view(np.bool_), False)


def from_values(chunk: Chunk, stored: NDArray[Any]) -> Present:
    """Return what is present by the stored values themselves: not the sentinel, not NaN; None where nothing is missing.

    Raises
    ------
    ProducerError
        When the null kind does not go with the column's type.
    CopyRequiredError
        When something is missing and copies are not allowed: the mask is new memory.
    """
    present: Present
    if chunk.null_kind == NullKind.USE_SENTINEL:
        present = _unequal(chunk, stored, chunk.null_value)
    elif chunk.null_kind == NullKind.USE_NAN and chunk.dtype.kind == DtypeKind.DATETIME:
        present = _unequal(chunk, stored, NAT)
    elif chunk.null_kind == NullKind.USE_NAN:
        if chunk.dtype.kind != DtypeKind.FLOAT:
            raise chunk.context.broken("describe_null", "USE_NAN", "a null kind that a column without NaN can have")
        present = ~np.isnan(stored)
    else:
        return None
    if present is None or present.all():
        return None
    chunk.context.copy("what is missing is told by the values, and the mask that says so is new memory")
    return present


def _unequal(chunk: Chunk, stored: NDArray[Any], sentinel: Any) -> Present:
    """Return where the stored values differ from the sentinel; None where no value of their type can equal it.

    Compared as the stored type, and never through another: a sentinel that it cannot hold marks nothing.
    """
    kind = stored.dtype.kind
    if kind not in "iufb":
        return _unequal_text(chunk, stored, sentinel)
    if kind == "f":
        wanted = _as_float(chunk, sentinel)
        with np.errstate(over="ignore"):
            held = stored.dtype.type(wanted)
        if np.isnan(held):
            return ~np.isnan(stored)  # type: ignore[no-any-return]
        # As Python's numbers, whose comparison is exact: NumPy would round the other one to the stored type.
        exact = float(held) == wanted and (not issubclass(type(sentinel), int) or wanted == index(sentinel))
        return stored != held if exact else None
    number = chunk.context.integer(sentinel, "describe_null[1]")
    if kind == "b":
        return stored != bool(number) if number in (0, 1) else None
    bounds = np.iinfo(stored.dtype)
    return stored != stored.dtype.type(number) if bounds.min <= number <= bounds.max else None


def _as_float(chunk: Chunk, sentinel: Any) -> float:
    if not issubclass(type(sentinel), (str, bytes)):
        try:
            return float(sentinel)
        except EXITS:
            raise
        except BaseException:  # noqa: BLE001, S110 - a foreign __float__ may raise anything
            pass
    raise chunk.context.broken("describe_null[1]", sentinel, "a number, the sentinel of a float column")


def _unequal_text(chunk: Chunk, stored: NDArray[Any], sentinel: Any) -> Present:
    text = chunk.context.text(sentinel, "describe_null[1]", "text, the sentinel of a string column")
    try:
        # An array of strings, since NumPy makes a fixed-width string of a plain one and drops a NUL at its end.
        wanted = np.array([text], dtype=stored.dtype)
    except (TypeError, ValueError):
        return None  # lone surrogates, which no string of the column can hold
    return np.asarray(stored != wanted, dtype=np.bool_)
