"""What a person passes to make a column, checked: each error names the argument.

Lives here: the meaning of single arguments. Must not know: buffers' sizes, which `fault` holds against them.
"""

from collections.abc import Iterable
from itertools import islice
from operator import index
from typing import Any

from ..shared.arrow_format import parse_format
from ..shared.chunk import Dtype
from ..shared.interchange import DtypeKind, NullKind
from ..shared.memory import Memory
from .piece import MASKS, Type

_MOST_PARTS = 2**20  # of one column; more is nonsense, or has no end
MOST = 2**63 - 1  # elements and bytes, as Arrow's structs have them

# Kinds whose elements can be sentinels -> what a sentinel of theirs is.
_SENTINELS: dict[int, tuple[type, ...]] = {
    DtypeKind.INT: (int,),
    DtypeKind.UINT: (int,),
    DtypeKind.BOOL: (int,),
    DtypeKind.CATEGORICAL: (int,),
    DtypeKind.DATETIME: (int,),
    DtypeKind.FLOAT: (int, float),
    DtypeKind.STRING: (str,),
}
_WITH_NAN = (DtypeKind.FLOAT, DtypeKind.DATETIME)
_WITHOUT_MASK = (DtypeKind.NULL, DtypeKind.UNION, DtypeKind.RUN_END)
_WITHOUT_FORMAT = (DtypeKind.COMPLEX, DtypeKind.FLOAT, DtypeKind.OPAQUE)
# Formats -> other widths than Arrow's, in which NumPy has them.
_WIDER = {"b": 8, "tdD": 64}


def _is(value: object, kinds: type | tuple[type, ...]) -> bool:
    """Tell whether a value is of a class, and not whether it says so."""
    return issubclass(type(value), kinds)


def integer(value: Any, name: str, least: int = 0, most: int = MOST) -> int:
    """Return an integer of any library within its bounds."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or type(value) is bool:
        raise TypeError(f"{name}: got {value!r}, expected an integer")
    if not least <= number <= most:
        raise ValueError(f"{name}: got {number}, expected {least} to {most}")
    return number


def text(value: Any, name: str) -> str:
    """Return a text."""
    if not _is(value, str):
        raise TypeError(f"{name}: got {value!r}, expected text")
    return str.__getitem__(value, slice(None))


def dtype(given: Any, *, categorical: bool) -> Dtype:
    """Return the type that a format string or four values name."""
    if _is(given, str):
        given = text(given, "dtype")
        layout = parse_format(given)
        given = (DtypeKind.CATEGORICAL if categorical else layout.kind, layout.bits, given, "=")
    try:
        kind, bits, form, order = given
    except (TypeError, ValueError):
        raise TypeError(f"dtype: got {given!r}, expected an Arrow format or (kind, bits, format, byte order)") from None
    found = Dtype(DtypeKind(integer(kind, "dtype[0]")), integer(bits, "dtype[1]"), text(form, "dtype[2]"), order)
    if order not in ("=", "<", ">"):
        raise ValueError(f"dtype[3]: got {order!r}, expected '=', '<' or '>'")
    if not found.format:
        if found.kind not in _WITHOUT_FORMAT or not found.bits or found.bits % 8:
            raise ValueError(
                f"dtype: got {tuple(given)}, expected a format: only complex numbers and the like have none"
            )
        return found
    layout = parse_format(found.format)
    if categorical and layout.kind not in (DtypeKind.INT, DtypeKind.UINT):
        raise ValueError(f"dictionary: codes are integers, but the format is {found.format!r}")
    kinds = (DtypeKind.CATEGORICAL,) if categorical else (layout.kind,)
    if found.kind not in kinds or found.bits not in (layout.bits, _WIDER.get(found.format)):
        raise ValueError(
            f"dtype: got {tuple(given)}, expected kind {int(kinds[0])} and {layout.bits} bits for {found.format!r}"
        )
    return found


def null(given: Any, type: Type) -> tuple[NullKind, Any]:  # noqa: A002 - the record's name
    """Return how what is missing is marked, where a column of the type can be marked so."""
    try:
        number, value = given
    except (TypeError, ValueError):
        raise TypeError(f"null: got {given!r}, expected a pair (null kind, value)") from None
    marked, kind = NullKind(integer(number, "null[0]")), type.dtype.kind
    if _is(value, int):
        value = index(value)
    if marked in MASKS:
        bit = next((number for number in (0, 1) if number == value), None)  # what equals it may be more than that
        allowed, expected = bit is not None and kind not in _WITHOUT_MASK, "0 or 1, on a type that has a mask"
        value = value if bit is None else bit
    elif marked == NullKind.USE_NAN:
        allowed, expected = kind in _WITH_NAN, "a column of floats or times"
    elif marked == NullKind.USE_SENTINEL:
        allowed = _is(value, _SENTINELS.get(kind, ())) and not type.is_view
        expected = "a value of the column's type, other than of views, binary and nested types"
    else:
        allowed, expected = True, ""
    if not allowed:
        raise ValueError(f"null: got {(marked.name, value)} for kind {int(kind)}, expected {expected}")
    return marked, value


def stride(given: Any, type: Type) -> int:  # noqa: A002
    """Return the bytes from one element to the next."""
    if given is None:
        return type.width
    if not _is(given, Iterable) or len(values := tuple(islice(given, 2))) != 1 or not type.width:
        raise TypeError(f"strides: got {given!r}, expected a tuple of one integer, for elements of whole bytes")
    return integer(values[0], "strides[0]", -MOST)


def buffers(given: dict[str, Any]) -> dict[str, Any]:
    """Return the buffers that were passed."""
    for name, buffer in given.items():
        if buffer is not None and not _is(buffer, Memory):
            kind = type(buffer).__name__
            raise TypeError(f"{name}: got {kind}, expected a Buffer; as_buffer makes one of what owns memory")
    return {name: buffer for name, buffer in given.items() if buffer is not None}


def instances(given: Any, kind: type, name: str, what: str) -> tuple[Any, ...]:
    """Return a sequence whose items are all of a kind."""
    found = tuple(islice(given, _MOST_PARTS + 1)) if _is(given, Iterable) else (None,)
    if len(found) > _MOST_PARTS:
        raise ValueError(f"{name}: got more, expected at most {_MOST_PARTS} {what}")
    if not all(_is(item, kind) for item in found):
        raise TypeError(f"{name}: got {given!r}, expected a sequence of {what}")
    return found
