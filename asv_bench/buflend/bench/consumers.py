"""The libraries that read `__dataframe__`, those that are not here included, and how each reads a real table.

A real table is read as an `Exchange`, an object with nothing but `__dataframe__`, since libraries prefer an Arrow
capsule, or recognise their own frame, where they can.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import peers

if TYPE_CHECKING:
    from collections.abc import Callable

OURS = ("minimal", "maximal")

READERS = {
    **{name: f"buflend.{name}:dataframe_to_ndarrays" for name in OURS},
    "pandas": "pandas.api.interchange:from_dataframe",
    "pyarrow": "pyarrow.interchange:from_dataframe",
    "polars": "polars:from_dataframe",
}
"""Consumers in the order of display, and how each reads what has `__dataframe__`, as `module:function`."""


class Exchange:
    """A frame of which only the interchange protocol can be seen."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:  # noqa: FBT001, FBT002
        return self._frame.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def find(place: str) -> Callable[[Any], Any]:
    """Import the function that stands at `module:function`."""
    module, _, name = place.partition(":")
    found: Callable[[Any], Any] = getattr(importlib.import_module(module), name)
    return found


def why_not(name: str) -> str:
    """Say why one of our packages or a peer cannot read here, or nothing."""
    found = peers.peer(f"buflend.{name}" if name in OURS else name)
    if name == "polars" and found.available and int(found.version.partition(".")[0]) >= 2:
        return f"polars {found.version} has no __dataframe__ any more (gone in 2.0)"
    return found.reason


def availability() -> dict[str, dict[str, Any]]:
    """Return for every consumer whether it can read here, else why not, and its version; JSON-able."""
    reasons = {name: why_not(name) for name in READERS}
    return {
        name: {"available": not reason, "reason": reason, "version": version(name)} for name, reason in reasons.items()
    }


def version(name: str) -> str:
    """Return the version of a consumer's package."""
    return peers.version(f"buflend.{name}" if name in OURS else name)
