"""The consumers of `__dataframe__`, those that are not here included.

Lives here: which there are, whether they can read, and what is special about each. Must not know: how each is called
(`adapters`), the cases, or what is right.

What a library cannot tell apart (pandas: NaN and missing) is said by `nan_is_null`.
"""

import importlib
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from . import peers
from .adapters import Adapter, Ours, Pandas, Polars, PyArrow
from .reading import Reading, UnreadableError

__all__ = ["Consumer", "Reading", "UnreadableError", "consumers"]


class Consumer(NamedTuple):
    """A library that may be here.

    Parameters
    ----------
    name : str
        For display.
    available : bool
        Whether it can read.
    reason : str
        Why not.
    read : callable, or None
        Takes an object with `__dataframe__` and `allow_copy`.
    nan_is_null : bool
        Whether its results cannot tell NaN from missing.
    reread : callable, or None
        Turns a native result into a reading again.
    cut : callable, or None
        Takes a native result and a row; returns a result of the rows from there on that shares its memory.
    always_ordered : bool
        Whether its only type for categories orders them, so that an order where there was none is no fault.
    ours : bool
        Whether this is buflend, which then has to raise the exceptions a case names.
    load : callable
        Imports the library and reads nothing.
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
    reason, ours = _why_not(name), isinstance(adapter, Ours)
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


def _why_not(name: str) -> str:
    """Say why one of our packages or a peer cannot read, or nothing."""
    if name in ("minimal", "maximal"):
        module = importlib.import_module(f"buflend.{name}")
        return "" if hasattr(module, "dataframe_to_ndarrays") else peers.NOT_BUILT
    found = peers.peer(name)
    if name == "polars" and found.available and int(found.version.partition(".")[0]) >= 2:
        return f"polars {found.version} has no __dataframe__ any more (gone in 2.0)"
    return found.reason


def consumers() -> list[Consumer]:
    """Return the consumers in the order of display, those that are not here included."""
    return [
        _consumer("minimal", Ours("minimal")),
        _consumer("maximal", Ours("maximal")),
        _consumer("pandas", Pandas(), nan_is_null=True),
        _consumer("pyarrow", PyArrow()),
        _consumer("polars", Polars(), always_ordered=True),
    ]
