"""What a consumer read, as plain Python values that can be compared.

Lives here: the record, and the turning of NumPy's arrays into plain values. Must not know: libraries, cases, what is
right.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

NANOSECONDS = {"D": 86_400 * 10**9, "h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


class UnreadableError(Exception):
    """A library gave a result whose values cannot be had: no refusal."""


class Reading(NamedTuple):
    """What a consumer read.

    Parameters
    ----------
    columns : dict of str to list
        In the result's order. None is missing, a NaN that is a value stays NaN; dates and time stamps are ISO 8601
        strings (zoned ones in UTC) without trailing zeros of the second, durations and times of day integers of
        nanoseconds.
    ordered : dict of str to bool
        Of categorical columns.
    timezone : dict of str to str
        Of zoned columns.
    address : dict of str to int or None
        Where the first value lies, of strings the characters, of categorical columns the codes; None where the library
        does not show it.
    native : object
        The library's own result.
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
