"""A column as one ndarray: a view where that says the same, else a copy.

Lives here: which dtype the values have in NumPy, what stands for what is missing, and when something is copied. Must
not know: other protocols. Source: NumPy, "Interoperability with NumPy", `__array__`.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..shared.column import read_column
from ..shared.device import require_host
from ..shared.errors import ProducerError
from ..shared.interchange import NAT, TIMES, DtypeKind, NullKind
from ..shared.validity import as_bools, unpack_bits
from .column_interchange import for_interchange
from .elements import elements, numpy_dtype
from .nulls import present
from .piece import Piece, Type

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .column import Column

    Values = tuple[NDArray[Any], NDArray[np.bool_] | None]  # and what of them is present; None = all

# Kinds of dtype that have a value for what is missing.
_MISSING: dict[str, Any] = {"f": np.nan, "c": np.nan, "M": "NaT", "m": "NaT"}

NUMBERS = (DtypeKind.INT, DtypeKind.UINT, DtypeKind.FLOAT, DtypeKind.BOOL, DtypeKind.COMPLEX)


class _Copies:
    """Whether copies are allowed, and whether one was made."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed = allowed
        self.made = False

    def need(self, why: str) -> None:
        """Raise where a copy is not allowed; NumPy's error for `copy=False` is ValueError."""
        if not self.allowed:
            raise ValueError(f"copy=False: {why}, which needs a copy")
        self.made = True


def value_dtype(type: Type) -> np.dtype[Any] | None:  # noqa: A002 - the record's name
    """Return NumPy's dtype where the elements, as they lie, are the values of one."""
    kind, bits, text, _ = type.dtype
    if kind in NUMBERS or (kind == DtypeKind.DATETIME and bits == 64) or text.startswith("w:"):
        return numpy_dtype(type)
    return None


def says_itself(piece: Piece, type: Type) -> bool:  # noqa: A002
    """Tell whether what is missing, if anything, is NaN or NaT, which NumPy's values say themselves."""
    kind, value = piece.null
    if kind == NullKind.USE_SENTINEL and type.dtype.kind == DtypeKind.DATETIME and type.dtype.bits == 64:
        return bool(value == NAT)
    return kind in (NullKind.NON_NULLABLE, NullKind.USE_NAN)


def to_array(column: "Column", dtype: "DTypeLike | None", copy: bool | None) -> "NDArray[Any]":  # noqa: FBT001 - NumPy's
    """Return the values of a column; see `Column.__array__`.

    Raises
    ------
    ValueError
        When elements are missing and `dtype` has no value for that, and where `copy=False` cannot be met.
    TypeError
        For a type that NumPy lacks and Python has no objects for.
    ProducerError
        When codes are none of the dictionary's, or text is not UTF-8.
    """
    if column._type.dtype.kind == DtypeKind.OPAQUE:
        raise TypeError("NumPy lacks the type of this column: column.part('data') has its bits as numbers")
    wanted = None if dtype is None else np.dtype(dtype)
    copies = _Copies(allowed=copy is not False)
    if wanted is not None and wanted.hasobject:
        return _objects(column, copies)
    found = _values(column, copies, keep=wanted is None or wanted.kind in _MISSING)
    if found is None:
        made = _objects(column, copies)
        if wanted is None:
            return made
        known = np.fromiter((item is not None for item in made), np.bool_, len(made))
        found = made, None if known.all() else known
    values, there = found
    if there is None:
        if wanted is not None and wanted != values.dtype:
            copies.need(f"{values.dtype} becomes {wanted}")
            return values.astype(wanted)
        return values.copy() if copy and not copies.made else values
    kind = (wanted or values.dtype).kind
    if wanted is None and kind not in _MISSING:
        return _objects(column, copies)
    if kind not in _MISSING and not hasattr(wanted, "na_object"):
        lost = len(there) - int(np.count_nonzero(there))
        raise ValueError(f"{lost} of the column's {len(there)} elements are missing, for which {wanted} has no value")
    copies.need("a value is stored where an element is missing")
    resolved = values.dtype if wanted is None else values[:0].astype(wanted).dtype
    filler = _MISSING.get(kind, getattr(wanted, "na_object", None))
    made = np.full(len(values), filler, resolved)
    made[there] = values[there]
    return made


def _objects(column: "Column", copies: _Copies) -> "NDArray[np.object_]":
    from .objects import to_objects

    copies.need("elements become Python objects")
    return np.fromiter(to_objects(column), np.object_, column.size())


def _values(column: "Column", copies: _Copies, *, keep: bool) -> "Values | None":
    """Return the values, chunks joined, and what is present; None where NumPy has no such values.

    With `keep` NaN and NaT stay what they are, and are not looked for.
    """
    pieces = [piece for piece in column._pieces if piece.size] or column._pieces[:1]
    found = []
    for piece in pieces:
        read = _read(piece, column._type, copies, keep=keep)
        if read is None:
            return None
        found.append(read)
    if len(found) == 1:
        return found[0]
    copies.need(f"the column has {len(found)} chunks")
    there = None
    if any(part is not None for _, part in found):
        there = np.concatenate([np.ones(len(values), np.bool_) if part is None else part for values, part in found])
    return np.concatenate([values for values, _ in found]), there


def _read(piece: Piece, type: Type, copies: _Copies, *, keep: bool) -> "Values | None":  # noqa: A002
    require_host(piece.device, "the column")
    kind, bits, text, _ = type.dtype
    if kind == DtypeKind.CATEGORICAL:
        return _decoded(piece, type, copies, keep=keep)
    if kind == DtypeKind.STRING:
        copies.need("NumPy has no view of UTF-8")
        from .column import Column

        read = read_column(for_interchange(Column._make(type, (piece,)), allow_copy=True))
        return read.values, read.valid
    if kind == DtypeKind.BOOL and bits == 1:
        copies.need("booleans are packed in bits")
        size = piece.size
        values: NDArray[Any] = unpack_bits(piece.buffers["data"], piece.offset, size) if size else np.empty(0, "u1")
        values = values.view(np.bool_)
    elif kind == DtypeKind.BOOL:
        values, derived = as_bools(elements(piece, type).view(np.uint8))
        if derived:
            copies.need("booleans hold bytes other than 0 and 1")
    elif kind == DtypeKind.DATETIME and bits == 32:
        copies.need("dates and times of 32 bits are 64 bits wide in NumPy")
        values = elements(piece, type).astype(np.int64).view(TIMES[text][1])
    elif value_dtype(type) is not None:
        values = elements(piece, type)
    else:
        return None
    return values, None if keep and says_itself(piece, type) else present(piece, type)


def _decoded(piece: Piece, type: Type, copies: _Copies, *, keep: bool) -> "Values | None":  # noqa: A002
    """Return what codes stand for. What is missing has no code, or the code of a category that is missing."""
    dictionary = piece.dictionary
    found = None if dictionary is None else _values(dictionary, _Copies(allowed=True), keep=keep)
    if found is None:
        return None
    copies.need("codes become what they stand for")
    values, valid = found
    codes, there = elements(piece, type), present(piece, type)
    used = codes if there is None else codes[there]
    if len(used) and not (used.min() >= 0 and used.max() < len(values)):
        raise ProducerError(
            "codes", got=f"{used.min()} to {used.max()}", expected=f"codes of the dictionary, 0 to {len(values) - 1}"
        )
    if not len(values):
        return np.zeros(len(codes), values.dtype), there
    codes = codes if there is None else np.where(there, codes, 0)
    if valid is not None:
        kept = valid[codes]
        there = kept if there is None else there & kept
    return values[codes], None if there is None or there.all() else there
