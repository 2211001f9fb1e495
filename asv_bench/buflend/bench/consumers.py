"""The libraries that read `__dataframe__`, those that are not here included, and how each reads a real table.

A real table is read as an `Exchange`, an object with nothing but `__dataframe__`, since libraries prefer an Arrow
capsule, or recognise their own frame, where they can. Libraries are imported when a function is called. How results
become Python values is in `adapters`; what a library cannot tell apart (NaN and missing) is `nan_is_null`.
"""

from __future__ import annotations

import importlib
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from . import peers
from .adapters import Adapter, Ours, Pandas, Polars, PyArrow, Reading, UnreadableError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Consumer", "Reading", "UnreadableError", "consumers"]


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


Reader = "Callable[[Any], Any]"


class Exchange:
    """A frame of which only the interchange protocol can be seen."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        return self._frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def minimal(exchange: Any) -> Any:
    """Read with `buflend.minimal`."""
    from buflend.minimal import dataframe_to_ndarrays

    return dataframe_to_ndarrays(exchange)


def maximal(exchange: Any) -> Any:
    """Read with `buflend.maximal`."""
    return importlib.import_module("buflend.maximal").dataframe_to_ndarrays(exchange)


def pandas(exchange: Any) -> Any:
    """Read with pandas."""
    from pandas.api.interchange import from_dataframe

    return from_dataframe(exchange)


def pyarrow(exchange: Any) -> Any:
    """Read with pyarrow."""
    from pyarrow.interchange import from_dataframe

    return from_dataframe(exchange)


def polars(exchange: Any) -> Any:
    """Read with polars."""
    from polars import from_dataframe

    return from_dataframe(exchange)


def readers() -> dict[str, str]:
    """Return every consumer's name, in the order of display, with the place of its function as `module:function`."""
    return {name: f"{__name__}:{name}" for name in ("minimal", "maximal", "pandas", "pyarrow", "polars")}


def find(place: str) -> Callable[[Any], Any]:
    """Import the function that stands at `module:function`."""
    module, _, name = place.partition(":")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return found


def availability() -> dict[str, dict[str, Any]]:
    """Return for every consumer whether it can read here, else why not, and its version; JSON-able."""
    return {
        one.name: {
            "available": one.available,
            "reason": one.reason,
            "version": peers.version(f"buflend.{one.name}" if one.name in ("minimal", "maximal") else one.name),
        }
        for one in consumers()
    }
