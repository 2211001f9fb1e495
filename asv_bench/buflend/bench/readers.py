"""How each consumer reads a whole frame into its own arrays.

Rules of this file: one function per consumer, each giving the library's own result, unlike `consumers`, which turns
everything into Python values and is too slow for a real table. What is read is an `Exchange`: an object with nothing
but `__dataframe__`, since libraries prefer an Arrow capsule, or recognise their own frame, where they can. Libraries
are imported when a function is called.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import peers

if TYPE_CHECKING:
    from collections.abc import Callable

Reader = "Callable[[Any], Any]"


class Exchange:
    """A frame of which only the interchange protocol can be seen.

    Parameters
    ----------
    frame
        Any object with `__dataframe__`.
    """

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
    from .consumers import consumers

    return {
        one.name: {
            "available": one.available,
            "reason": one.reason,
            "version": peers.version(f"buflend.{one.name}" if one.name in ("minimal", "maximal") else one.name),
        }
        for one in consumers()
    }
