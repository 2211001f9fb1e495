"""The libraries that read `__dataframe__`, each behind the same functions, and what they read as plain values.

The rule is fairness: a library may keep a value in a type of its own. A time stamp is compared as an instant, a
duration in nanoseconds, a category as what it means. No library is imported before it reads; no case is known here.
"""

import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import peers
from ..consumers import Exchange
from ..producer import Buf, Col, Frame, dtype

NANOSECONDS = {"D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class UnreadableError(Exception):
    """A library gave a result whose values cannot be had: no refusal."""


class Reading(NamedTuple):
    """What a consumer read.

    Of the values None is missing, a NaN that is a value stays NaN; dates and time stamps are ISO 8601 strings (zoned
    ones in UTC) without trailing zeros of the second, durations and times of day integers of nanoseconds. An address is
    where the first value lies, of strings the characters, of categorical columns the codes; None where it is not shown.
    """

    columns: dict[str, list[Any]]
    ordered: dict[str, bool]
    timezone: dict[str, str]
    address: dict[str, int | None]
    native: Any


def iso(value: int, unit: str) -> str:
    """Write an instant, counted in `unit` from 1970, as an ISO 8601 string without trailing zeros of the second.

    Examples
    --------
    >>> iso(1500, "ms"), iso(-1, "D")
    ('1970-01-01T00:00:01.5', '1969-12-31')
    """
    text = str(np.array(value, np.int64).view(f"datetime64[{unit}]"))
    return text.rstrip("0").removesuffix(".") if "." in text else text


def plain(array: Any, present: Iterable[bool]) -> list[Any]:
    """Turn an array of NumPy's into plain values, None where `present` is False."""
    kind = array.dtype.kind
    if kind in "mM":
        unit, step = np.datetime_data(array.dtype)
        numbers = array.view(np.int64).tolist() if array.dtype.isnative else array.astype(np.int64).tolist()
        if kind == "M":
            values = [iso(number * step, unit) if here else None for number, here in zip(numbers, present, strict=True)]
        else:
            values = [number * step * NANOSECONDS[unit] for number in numbers]
    else:
        values = array.tolist()
    return [value if here else None for value, here in zip(values, present, strict=True)]


def address(array: Any) -> int:
    """Return where an array of NumPy's begins."""
    return int(array.__array_interface__["data"][0])


class Adapter(Protocol):
    """A library behind the same functions."""

    def load(self) -> object:
        """Import the library."""

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read a frame into the library's own result."""

    def canonical(self, native: Any) -> Reading:
        """Turn the library's result into plain values."""

    def cut(self, native: Any, start: int) -> Any:
        """Return the rows from `start` on, without a copy."""


class Ours:
    """`buflend.minimal` or `buflend.maximal`."""

    def __init__(self, name: str) -> None:
        self.name = f"buflend.{name}"

    def load(self) -> ModuleType:
        """Import the package and what it would import while it reads."""
        importlib.import_module("buflend.shared.frame")
        return importlib.import_module(self.name)

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read into column arrays by name."""
        return self.load().dataframe_to_ndarrays(frame, allow_copy=allow_copy)

    def canonical(self, native: Any) -> Reading:
        """Turn column arrays into plain values."""
        reading = Reading({}, {}, {}, {}, native)
        for name, (values, valid, categories, ordered, timezone) in native.items():
            present = [True] * len(values) if valid is None else valid.tolist()
            if categories is not None:
                meanings = plain(categories, [True] * len(categories))
                picked = zip(values.tolist(), present, strict=True)
                reading.columns[name] = [meanings[code] if here else None for code, here in picked]
                reading.ordered[name] = ordered
            else:
                reading.columns[name] = plain(values, present)
            if timezone is not None:
                reading.timezone[name] = timezone
            reading.address[name] = address(values)
        return reading

    def cut(self, native: Any, start: int) -> Any:
        """Return column arrays that share the memory."""
        pieces = {}
        for name, arrays in native.items():
            valid = None if arrays.valid is None else arrays.valid[start:]
            pieces[name] = arrays._replace(values=arrays.values[start:], valid=valid)
        return pieces


class Pandas:
    """pandas, whose missing float is NaN."""

    def load(self) -> ModuleType:
        """Import pandas and what it would import while it reads."""
        pandas = importlib.import_module("pandas")
        if peers.peer("pyarrow").available:
            importlib.import_module("pyarrow.compute")  # pandas would import it while it reads
        return pandas

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read into a pandas frame."""
        return self.load().api.interchange.from_dataframe(frame, allow_copy=allow_copy)

    def canonical(self, native: Any) -> Reading:
        """Turn a pandas frame into plain values."""
        pandas = self.load()
        reading = Reading({}, {}, {}, {}, native)
        for name in native.columns:
            series = native[name]
            where = None
            if isinstance(series.dtype, pandas.CategoricalDtype):
                reading.ordered[name] = bool(series.dtype.ordered)
                series = series.astype(series.cat.categories.dtype)
            elif series.dtype.kind in "biufmM" and isinstance(series.dtype, np.dtype):
                where = address(series.to_numpy())
            if isinstance(series.dtype, pandas.DatetimeTZDtype):
                reading.timezone[name] = str(series.dt.tz)
                series = series.dt.tz_convert("UTC").dt.tz_localize(None)
            present = series.notna().tolist()
            if isinstance(series.dtype, np.dtype) and series.dtype.kind != "O":
                reading.columns[name] = plain(series.to_numpy(), present)
            else:
                reading.columns[name] = [
                    _scalar(value) if here else None for value, here in zip(series.tolist(), present, strict=True)
                ]
            reading.address[name] = where
        return reading

    def cut(self, native: Any, start: int) -> Any:
        """Return a slice of a pandas frame."""
        return native.iloc[start:]


def _scalar(value: Any) -> Any:
    """Turn what stands in an object column of pandas into a plain value."""
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if isinstance(value, (np.datetime64, np.timedelta64)):
        return plain(np.array([value]), [True])[0]
    if hasattr(value, "isoformat"):
        return value.isoformat()
    return value.item() if isinstance(value, np.generic) else value


class PyArrow:
    """pyarrow, whose tables are validated in full."""

    def load(self) -> ModuleType:
        """Import pyarrow and what it would import while it reads."""
        importlib.import_module("pyarrow.compute")
        importlib.import_module("pyarrow.interchange")
        return importlib.import_module("pyarrow")

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read into a pyarrow table."""
        table = self.load().interchange.from_dataframe(frame, allow_copy=allow_copy)
        table.validate(full=True)
        return table

    def canonical(self, native: Any) -> Reading:
        """Turn a pyarrow table into plain values."""
        types = self.load().types
        reading = Reading({}, {}, {}, {}, native)
        for name, column in zip(native.column_names, native.columns, strict=True):
            chunks = column.chunks
            reading.address[name] = self._where(chunks[0]) if chunks else None
            if types.is_dictionary(column.type):
                reading.ordered[name] = bool(column.type.ordered)
                chunks = [chunk.dictionary_decode() for chunk in chunks]
            if types.is_timestamp(column.type) and column.type.tz:
                reading.timezone[name] = column.type.tz
            reading.columns[name] = [value for chunk in chunks for value in self._values(chunk)]
        return reading

    def _values(self, chunk: Any) -> list[Any]:
        pyarrow, type_ = self.load(), chunk.type
        types = pyarrow.types
        if types.is_date(type_) or types.is_timestamp(type_) or types.is_duration(type_) or types.is_time(type_):
            unit = {"date32[day]": "D", "date64[ms]": "ms"}.get(str(type_)) or type_.unit
            numbers = chunk.view(pyarrow.int32() if type_.bit_width == 32 else pyarrow.int64()).to_pylist()
            if types.is_duration(type_) or types.is_time(type_):
                return [None if number is None else number * NANOSECONDS[unit] for number in numbers]
            return [None if number is None else iso(number, unit) for number in numbers]
        if types.is_float16(type_):
            return [None if value is None else float(value) for value in chunk.to_pylist()]
        values: list[Any] = chunk.to_pylist()
        return values

    def _where(self, chunk: Any) -> int | None:
        types, type_ = self.load().types, chunk.type
        if types.is_dictionary(type_):
            return self._where(chunk.indices)
        if types.is_string(type_) or types.is_large_string(type_):
            buffer = chunk.buffers()[2]
            return None if buffer is None else int(buffer.address)
        buffer = chunk.buffers()[1]
        return None if buffer is None else int(buffer.address) + chunk.offset * type_.bit_width // 8

    def cut(self, native: Any, start: int) -> Any:
        """Return a slice of a pyarrow table."""
        return native.slice(start)


class Polars:
    """polars, whose only ordered type is Enum."""

    def load(self) -> ModuleType:
        """Import polars."""
        return importlib.import_module("polars")

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read into a polars frame."""
        return self.load().from_dataframe(frame, allow_copy=allow_copy)

    def canonical(self, native: Any) -> Reading:
        """Turn a polars frame into plain values."""
        polars = self.load()
        reading = Reading({}, {}, {}, {}, native)
        for series in native.get_columns():
            name, dtype = series.name, series.dtype
            values = series
            if dtype in (polars.Categorical, polars.Enum):
                reading.ordered[name] = dtype == polars.Enum  # What it makes of ordered categories.
                values = series.cast(polars.String)
            if dtype == polars.Datetime and dtype.time_zone:
                reading.timezone[name] = dtype.time_zone
            reading.columns[name] = self._values(values)
            reading.address[name] = None
            if dtype.is_numeric() or dtype.is_temporal() or dtype == polars.Boolean:
                pointer, offset, _ = series.to_physical()._get_buffer_info()  # noqa: SLF001 - no public way
                reading.address[name] = pointer + (offset // 8 if dtype == polars.Boolean else 0)
        return reading

    def _values(self, series: Any) -> list[Any]:
        polars, dtype = self.load(), series.dtype
        if dtype == polars.Date:
            return [None if day is None else iso(day, "D") for day in series.to_physical().to_list()]
        if dtype == polars.Datetime:
            return [
                None if number is None else iso(number, dtype.time_unit) for number in series.to_physical().to_list()
            ]
        if dtype in (polars.Duration, polars.Time):
            factor = 1 if dtype == polars.Time else NANOSECONDS[dtype.time_unit]
            return [None if number is None else number * factor for number in series.to_physical().to_list()]
        values: list[Any] = series.to_list()
        return values

    def cut(self, native: Any, start: int) -> Any:
        """Return a slice of a polars frame."""
        return native[start:]


class Through:
    """A peer that reads the table which `buflend.maximal` made of a frame, of which it sees `__dataframe__` alone."""

    def __init__(self, peer: Adapter) -> None:
        self._ours, self._peer = Ours("maximal"), peer
        self.canonical, self.cut = peer.canonical, peer.cut

    def load(self) -> ModuleType:
        """Import the peer, the package, and what it imports when it makes its first table."""
        self._peer.load()
        ours = self._ours.load()
        ours.as_table(Frame({"a": Col(Buf(b"1"), dtype("int8"), 1)}))
        return ours

    def convert(self, frame: object, *, allow_copy: bool) -> Any:
        """Read into the peer's own result; what maximal refuses, the peer never sees."""
        table = self._ours.load().as_table(frame, allow_copy=allow_copy)
        return self._peer.convert(Exchange(table), allow_copy=allow_copy)
