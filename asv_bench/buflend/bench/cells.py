"""Columns in one form, so that they can be compared whole.

Rules of this file: everything is done on arrays, never value by value, and on arrays of NumPy only: how a library's
column is put into this form is `conversion`'s.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

NANOSECONDS = {
    "D": 86_400_000_000_000,
    "h": 3_600_000_000_000,
    "m": 60_000_000_000,
    "s": 1_000_000_000,
    "ms": 1_000_000,
    "us": 1_000,
    "ns": 1,
}


class Cells(NamedTuple):
    """One column.

    Parameters
    ----------
    kind
        `number`, `bool`, `text`, `time` (an instant or a date), `span` (a duration or a time of day) or `other`.
    values
        Array with one item per row; integers counted in `unit` for `time` and `span`. Items of missing rows mean
        nothing.
    missing
        Boolean array, True where there is no value.
    type
        The type as the column's library calls it.
    unit
        NumPy's name of the unit of `time` and `span`, else empty.
    zone
        Time zone of `time`, else empty.
    """

    kind: str
    values: np.ndarray[Any, Any]
    missing: np.ndarray[Any, Any]
    type: str
    unit: str = ""
    zone: str = ""


class Difference(NamedTuple):
    """Where two columns part.

    Parameters
    ----------
    row
        First row that differs, from 0; None where kind, length or zone differ.
    expected, got
        Both values as text.
    rows
        Number of rows that differ; None where `row` is.
    """

    row: int | None
    expected: str
    got: str
    rows: int | None


def difference(expected: Cells, got: Cells, *, nan_is_missing: bool = False) -> Difference | None:
    """Return where a column differs from the one expected, or None.

    Numbers are the same where their values are, whatever their width: `5` and `5.0` are, `2**60 + 1` and its nearest
    float are not. The same instant may be counted in another unit. Text may come as categories.

    Parameters
    ----------
    nan_is_missing
        Whether a NaN counts as a missing value on both sides: some libraries cannot tell them apart.
    """
    if expected.kind != got.kind:
        return Difference(None, f"{expected.kind} ({expected.type})", f"{got.kind} ({got.type})", None)
    if len(expected.values) != len(got.values):
        return Difference(None, f"{len(expected.values)} rows", f"{len(got.values)} rows", None)
    if expected.zone != got.zone:
        return Difference(None, f"zone {expected.zone or 'none'}", f"zone {got.zone or 'none'}", None)
    if expected.kind == "other":
        return Difference(None, f"a type that can be compared, not {expected.type}", got.type, None)
    absent, gone = expected.missing, got.missing
    if nan_is_missing:
        absent, gone = absent | _nan(expected.values), gone | _nan(got.values)
    unlike = (absent != gone) | (~absent & ~_equal(expected, got))
    rows = int(np.count_nonzero(unlike))
    if not rows:
        return None
    row = int(np.argmax(unlike))
    return Difference(row, _show(expected, row, absent), _show(got, row, gone), rows)


def _show(cells: Cells, row: int, missing: np.ndarray[Any, Any]) -> str:
    if missing[row]:
        return "missing"
    value = cells.values[row]
    if cells.kind == "time":
        return f"{np.datetime64(int(value), cells.unit)}{' ' + cells.zone if cells.zone else ''}"  # type: ignore[call-overload]
    if cells.kind == "span":
        return f"{int(value)} {cells.unit}"
    return repr(value.item() if isinstance(value, np.generic) else value)


def _nan(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.isnan(values) if values.dtype.kind == "f" else np.zeros(len(values), bool)


def _equal(one: Cells, two: Cells) -> np.ndarray[Any, Any]:
    a, b = one.values, two.values
    if one.kind in ("time", "span"):
        return _equal_counts(a, NANOSECONDS[one.unit], b, NANOSECONDS[two.unit])
    if one.kind == "number":
        if a.dtype.kind == "f" and b.dtype.kind == "f":
            both: np.ndarray[Any, Any] = (a == b) | (_nan(a) & _nan(b))
            return both
        if a.dtype.kind == "f":
            return _equal_to_float(b, a)
        if b.dtype.kind == "f":
            return _equal_to_float(a, b)
    return np.asarray(a == b, bool)


def _equal_counts(a: np.ndarray[Any, Any], a_unit: int, b: np.ndarray[Any, Any], b_unit: int) -> np.ndarray[Any, Any]:
    """Compare counts of different units without multiplying, since seconds of far years overflow in nanoseconds."""
    if a_unit < b_unit:
        return _equal_counts(b, b_unit, a, a_unit)
    whole, rest = np.divmod(b.astype(np.int64), a_unit // b_unit)
    return np.asarray((whole == a) & (rest == 0), bool)


def _equal_to_float(whole: np.ndarray[Any, Any], real: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Compare integers with floats exactly; NumPy itself would round the integer first."""
    info = np.iinfo(whole.dtype)
    # The largest integer of 64 bits has no float of its own: the next one up is out of range, hence `<`.
    fits = (
        (real >= float(info.min)) & (real < float(info.max))
        if info.bits == 64
        else (real >= info.min) & (real <= info.max)
    )
    back = np.where(fits, real, 0).astype(whole.dtype)
    return np.asarray(fits & (back == whole) & (back.astype(real.dtype) == real), bool)
