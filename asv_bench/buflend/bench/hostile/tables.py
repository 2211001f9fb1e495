"""All hostile inputs, by protocol in the order of display."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from . import arrays, dlpack, exporters, memory, nested, streams

if TYPE_CHECKING:
    from .inputs import Input


@cache
def inputs() -> tuple[Input, ...]:
    """Return all inputs; their producers are made when one is read."""
    tables = (
        dlpack.inputs,
        memory.interfaces,
        exporters.buffers,
        arrays.inputs,
        nested.inputs,
        streams.streams,
        streams.devices,
        memory.pointers,
    )
    return tuple(one for table in tables for one in table())
