"""Columns of any library in one form, so that they can be compared whole, on arrays.

A column is read with its own library's means, never through an exchange protocol, since those are being judged, and no
library is imported: an object that one made proves that it is loaded. What cannot be put into this form is `other`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

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
    """One column: its values, and where they are missing.

    `kind` is `number`, `bool`, `text`, `time` (an instant or a date), `span` (a duration or a time of day) or `other`;
    `time` and `span` are integers that count NumPy's `unit`. Items of missing rows mean nothing. `type` is as the
    column's library calls it.
    """

    kind: str
    values: np.ndarray[Any, Any]
    missing: np.ndarray[Any, Any]
    type: str
    unit: str = ""
    zone: str = ""


class Difference(NamedTuple):
    """Where two columns part: the first row that differs, and how many do; both None for kind, length or zone."""

    row: int | None
    expected: str
    got: str
    rows: int | None


def difference(expected: Cells, got: Cells, *, nan_is_missing: bool = False) -> Difference | None:
    """Return where a column differs from the one expected, or None.

    Numbers are the same where their values are, whatever their width: `5` and `5.0` are, `2**60 + 1` and its nearest
    float are not. The same instant may be counted in another unit. Text may come as categories. Some libraries cannot
    tell NaN from missing: for them it counts as missing on both sides.
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


TEXT: Any = np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else np.dtype(object)
"""Type of arrays of text."""


def cells_of(table: Any) -> dict[str, Cells]:
    """Return the columns of a pandas, pyarrow or polars table, or of a dictionary of our column arrays, by name."""
    library = type(table).__module__.partition(".")[0]
    if library == "pyarrow":
        named = zip(table.column_names, table.columns, strict=True)
        return {name: _attempted(_arrow, column, str(column.type)) for name, column in named}
    if library == "pandas":
        return {str(name): _attempted(_pandas, column, str(column.dtype)) for name, column in table.items()}
    if library == "polars":
        return {column.name: _attempted(_polars, column, str(column.dtype)) for column in table.get_columns()}
    if isinstance(table, dict):
        return {name: _ours(column) for name, column in table.items()}
    raise TypeError(
        f"table: got {type(table)}, expected a frame of pandas, pyarrow or polars, or a dictionary of column arrays"
    )


def _attempted(make: Callable[[Any], Cells], column: Any, name: str) -> Cells:
    """Return the cells of a column; of a type whose values its own library cannot give, `other`."""
    try:
        return make(column)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001 - polars' panics are no Exception
        return _other(len(column), name)


def _text(values: Any) -> np.ndarray[Any, Any]:
    return np.asarray(values, dtype=object).astype(TEXT)


def _numeric(values: np.ndarray[Any, Any], missing: np.ndarray[Any, Any], name: str) -> Cells:
    return Cells("bool" if values.dtype.kind == "b" else "number", values, missing, name)


def _timed(values: np.ndarray[Any, Any], missing: np.ndarray[Any, Any], name: str, zone: str = "") -> Cells:
    """Return the cells of a datetime64 or timedelta64 array."""
    kind = "time" if values.dtype.kind == "M" else "span"
    unit, step = np.datetime_data(values.dtype)
    return Cells(kind, values.astype(np.int64) * step, missing | np.isnat(values), name, unit, zone)


def _taken(categories: Cells, codes: np.ndarray[Any, Any], missing: np.ndarray[Any, Any], name: str) -> Cells:
    """Return the categories that codes stand for; codes of missing rows may be anything."""
    if not len(categories.values):
        none = np.zeros(len(codes), np.int64)
        return Cells(
            categories.kind, _text(np.full(len(codes), "")) if categories.kind == "text" else none, missing, name
        )
    safe = np.where(missing, 0, codes).astype(np.int64)
    return categories._replace(values=categories.values[safe], missing=missing | categories.missing[safe], type=name)


def _other(length: int, name: str) -> Cells:
    return Cells("other", np.zeros(length, bool), np.zeros(length, bool), name)


def _ours(column: Any) -> Cells:
    values = np.asarray(column.values)
    missing = np.zeros(len(values), bool) if column.valid is None else ~np.asarray(column.valid)
    name = str(values.dtype)
    if column.categories is not None:
        categories = (
            _ours(column.categories) if hasattr(column.categories, "values") else _plain(np.asarray(column.categories))
        )
        return _taken(
            categories, values, missing, f"codes {name} of {categories.type}{', ordered' if column.ordered else ''}"
        )
    return _plain(values, missing, column.timezone or "")


def _plain(values: np.ndarray[Any, Any], missing: np.ndarray[Any, Any] | None = None, zone: str = "") -> Cells:
    missing = np.zeros(len(values), bool) if missing is None else missing
    name = f"{values.dtype}{', ' + zone if zone else ''}"
    if values.dtype.kind in "biuf":
        return _numeric(values, missing, name)
    if values.dtype.kind in "mM":
        return _timed(values, missing, name, zone)
    return Cells("text", _text(values) if values.dtype.kind == "O" else values, missing, name)


def _arrow(column: Any) -> Cells:
    import pyarrow as pa  # loaded already: the column is its own

    kinds = pa.types
    name = str(column.type)
    if (plain := _unpacked(column)) is not None:
        return _arrow(plain)._replace(type=name)
    whole = _whole(column)
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    if kinds.is_boolean(whole.type) or kinds.is_integer(whole.type) or kinds.is_floating(whole.type):
        # Zeros for nulls in the type's own width: to_numpy would turn integers with nulls into floats.
        zero = (
            pa.scalar(0).cast(whole.type) if not kinds.is_float16(whole.type) else pa.scalar(np.float16(0), whole.type)
        )
        return _numeric(
            (whole.fill_null(zero) if whole.null_count else whole).to_numpy(zero_copy_only=False), missing, name
        )
    if kinds.is_temporal(whole.type) and not kinds.is_interval(whole.type):
        width = pa.int32() if whole.type.bit_width == 32 else pa.int64()
        counts = whole.view(width)
        counts = (counts.fill_null(0) if counts.null_count else counts).to_numpy(zero_copy_only=False).astype(np.int64)
        if kinds.is_date(whole.type):
            return Cells("time", counts, missing, name, "D" if width == pa.int32() else "ms")
        kind = "time" if kinds.is_timestamp(whole.type) else "span"
        return Cells(kind, counts, missing, name, whole.type.unit, getattr(whole.type, "tz", None) or "")
    if kinds.is_string(whole.type) or kinds.is_large_string(whole.type):
        return Cells("text", _text(whole.fill_null("").to_numpy(zero_copy_only=False)), missing, name)
    return _other(len(whole), name)


def _unpacked(column: Any) -> Any:
    """Return the values behind dictionaries, run ends and views; None where a column has none of these."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):  # by chunk: dictionaries that hold a null cannot be unified
        return pa.chunked_array([chunk.dictionary_decode() for chunk in column.chunks], column.type.value_type)
    if pa.types.is_run_end_encoded(column.type):
        from pyarrow import compute

        return pa.chunked_array(map(compute.run_end_decode, column.chunks), column.type.value_type)
    return column.cast(pa.large_string()) if str(column.type) == "string_view" else None


def _whole(column: Any) -> Any:
    whole = column.combine_chunks()
    if hasattr(whole, "num_chunks"):  # older versions keep a chunked array
        import pyarrow as pa

        return whole.chunk(0) if whole.num_chunks else pa.array([], whole.type)
    return whole


def _pandas(column: Any) -> Cells:
    pd = sys.modules["pandas"]
    dtype = column.dtype
    name = str(dtype)
    missing = column.isna().to_numpy()
    if isinstance(dtype, pd.CategoricalDtype):
        categories = _pandas(pd.Series(dtype.categories))
        return _taken(
            categories,
            column.cat.codes.to_numpy(),
            missing,
            f"category of {categories.type}{', ordered' if dtype.ordered else ''}",
        )
    if isinstance(dtype, pd.ArrowDtype):
        pa = sys.modules["pyarrow"]
        return _arrow(pa.chunked_array([pa.array(column)]))._replace(type=name)
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _timed(column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy(), missing, name, str(dtype.tz))
    if isinstance(dtype, np.dtype) and dtype.kind in "biufmM":
        return (_timed if dtype.kind in "mM" else _numeric)(column.to_numpy(), missing, name)
    if hasattr(dtype, "numpy_dtype"):
        return _numeric(column.to_numpy(dtype=dtype.numpy_dtype, na_value=0), missing, name)
    return _objects(column, missing, name)


OBJECTS: dict[str, Any] = {
    "boolean": bool,
    "integer": np.int64,
    "floating": np.float64,
    "mixed-integer-float": np.float64,
    "date": "datetime64[D]",
}
"""What pandas finds in a column of Python objects -> type of the array made of them."""


def _objects(column: Any, missing: np.ndarray[Any, Any], name: str) -> Cells:
    held = sys.modules["pandas"].api.types.infer_dtype(column, skipna=True)
    values = column.to_numpy(dtype=object)
    if held in ("string", "empty"):
        return Cells("text", _text(np.where(missing, "", values)), missing, name)
    if held not in OBJECTS:
        return _other(len(values), f"{name} of {held}")
    blank = np.datetime64("NaT", "D") if held == "date" else 0
    filled = np.where(missing, blank, values).astype(OBJECTS[held])
    return (_timed if held == "date" else _numeric)(filled, missing, f"{name} of {held}")


def _polars(column: Any) -> Cells:
    pl = sys.modules["polars"]
    dtype = column.dtype
    name = dtype.base_type().__name__ if dtype in (pl.Categorical, pl.Enum) else str(dtype)  # not every category
    missing = column.is_null().to_numpy()
    if dtype == pl.Boolean or dtype.is_integer() or dtype.is_float():
        return _numeric(column.fill_null(value=False if dtype == pl.Boolean else 0).to_numpy(), missing, name)
    if dtype in (pl.Categorical, pl.Enum, pl.String):
        return Cells("text", _text(column.cast(pl.String).fill_null("").to_numpy()), missing, name)
    if dtype.is_temporal():
        counts = column.to_physical().fill_null(0).to_numpy().astype(np.int64)
        kind = "time" if dtype in (pl.Date, pl.Datetime) else "span"
        unit = "D" if dtype == pl.Date else getattr(dtype, "time_unit", None) or "ns"
        return Cells(kind, counts, missing, name, unit, getattr(dtype, "time_zone", None) or "")
    return _other(len(column), name)
