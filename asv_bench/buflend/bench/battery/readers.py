"""Who reads the cases: each library behind the same functions, those that are not here included."""

from __future__ import annotations

import importlib
import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from ..consumers import why_not
from .adapters import Adapter, Ours, Pandas, Polars, PyArrow, Reading, Through, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .cases import Case


class Consumer(NamedTuple):
    """A library that may be here.

    `read` takes a frame and `allow_copy`, `reread` a native result; `cut` returns the rows of one from a row on,
    sharing its memory; `load` imports the library and reads nothing. Ours must raise the exceptions that a case names.
    Whose only type for categories orders them is `always_ordered`: an order where there was none is no fault then.
    """

    name: str
    available: bool
    reason: str
    read: Callable[[object, bool], Reading] | None
    nan_is_null: bool
    reread: Callable[[Any], Reading] | None = None
    cut: Callable[[Any, int], Any] | None = None
    always_ordered: bool = False
    ours: bool = False
    load: Callable[[], object] = dict


def _consumer(name: str, adapter: Adapter, *, nan_is_null: bool = False, always_ordered: bool = False) -> Consumer:
    reason, ours = why_not(name.partition(" ")[0]), isinstance(adapter, Ours)
    if reason:
        return Consumer(name, available=False, reason=reason, read=None, nan_is_null=nan_is_null, ours=ours)

    def reread(native: Any) -> Reading:
        try:
            return adapter.canonical(native)
        except Exception as error:
            raise UnreadableError(f"{type(error).__name__}: {error}") from error

    def read(frame: object, allow_copy: bool) -> Reading:  # noqa: FBT001 - part of the contract of `Consumer`
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            native = adapter.convert(frame, allow_copy=allow_copy)
            return reread(native)

    return Consumer(
        name,
        available=True,
        reason="",
        read=read,
        nan_is_null=nan_is_null,
        reread=reread,
        cut=adapter.cut,
        always_ordered=always_ordered,
        ours=ours,
        load=adapter.load,
    )


def consumers() -> list[Consumer]:
    """Return the consumers in the order of display, those that are not here included.

    Where `buflend.maximal` makes tables, peers read each case a second time: what its table shows through
    `__dataframe__`, instead of the producer.
    """
    found = [
        _consumer("minimal", Ours("minimal")),
        _consumer("maximal", Ours("maximal")),
        _consumer("pandas", Pandas(), nan_is_null=True),
        _consumer("pyarrow", PyArrow()),
        _consumer("polars", Polars(), always_ordered=True),
    ]
    if hasattr(importlib.import_module("buflend.maximal"), "as_table"):
        found += [
            _consumer("pandas from maximal", Through(Pandas()), nan_is_null=True),
            _consumer("pyarrow from maximal", Through(PyArrow())),
        ]
    return found


class Fault(NamedTuple):
    """What a peer is known to do wrong with what it is told truly: in which cases (a pattern), and who reported it."""

    cases: str
    what: str
    reports: str = "no report found"


FAULTS = {
    "pandas": (
        Fault("no-copy|must-copy", "copies whatever `allow_copy` says"),
        Fault("not-written|read-only", "writes NaN into the memory that it is lent"),
        Fault("big-endian", "ignores the byte order"),
        Fault("bit-9", "refuses one packed bool at bit 9", "pandas #49888, #52824"),
        Fault("categor|codes|dictionar|many-columns", "refuses categories of others", "pandas #53077, #53078"),
        Fault("float16|duration|time-", "refuses half floats, durations and times of day"),
        Fault("date32", "reads 64 bits where 32 are meant", "pandas #56801"),
        Fault("sentinel|-nat", "takes sentinels for values, or refuses them", "dataframe-api #352"),
        Fault("bool", "makes False of missing bools", "pandas #56805, #55332"),
        Fault("exact-beside-a-null", "makes floats of integers with missing values", "pandas #57643, #57664"),
        Fault("no-rows|no-chunks", "refuses frames without rows", "pandas #53155, #53161, #56700, #57175, #56703"),
        Fault("announced-uint8", "reads a mask by its type alone", "cudf #11389"),
        Fault("device", "does not ask for the device", "dataframe-api #361, cudf #17282"),
    ),
    "pyarrow": (
        Fault("big-endian", "ignores the byte order"),
        Fault("float16|date32|date64|duration|time-", "refuses half floats with NaN, dates, durations, times of day"),
        Fault("string-sentinel|sentinel-(string|uint64|every-width|float)", "refuses sentinels of some types"),
        Fault(
            "(bytemask|inverted|sentinel|nan|nat).*(offset-[1-9]|phase)",
            "shifts nulls twice by the offset, unless they are a bit mask of Arrow's",
        ),
        Fault("ordered|dictionaries-equal|no-chunks-categ", "loses the order of categories", "arrow #51046"),
        Fault("null-pointer|many-columns", "refuses strings without characters", "arrow #37050, #38037"),
        Fault("use-nan", "refuses NaN as the null of a time stamp"),
        Fault("under-null", "validates what lies under missing strings"),
        Fault("in-chunks", "reads no categories in chunks"),
        Fault("categories-byte-bool", "makes numbers of categories that are bools"),
        Fault("announced-uint8", "reads a mask by its type alone", "cudf #11389"),
        Fault("device", "does not ask for the device", "dataframe-api #361, cudf #17282"),
    ),
}
"""By peer; the first whose pattern is in a case's name explains it."""


def known(peer: str, case: Case) -> str:
    """Say which known fault of a peer's a case shows, or nothing; a lie is ours to refuse before the peer sees it."""
    if "ProducerError" in case.errors:
        return ""
    faults = (one for one in FAULTS[peer] if re.search(one.cases, case.name))
    return next((f"known: {one.what} ({one.reports})" for one in faults), "")
