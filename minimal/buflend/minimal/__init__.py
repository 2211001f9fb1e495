"""The minimal reference implementation of a lent buffer: pointer, size, device, owner.

Importing this package imports no other library. `SupportsBuffer`, `InterchangeColumn`, `InterchangeFrame` and
`SupportsDataFrame` are typed protocols for annotations; they are loaded when they are asked for.
"""

from .buffer import Buffer, as_buffer, as_cupy, as_memoryview, as_ndarray
from .frame import column_to_ndarray, dataframe_to_ndarrays

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..shared.protocols import (
        InterchangeBuffer,
        InterchangeColumn,
        InterchangeFrame,
        SupportsBuffer,
        SupportsDataFrame,
    )
    from ..shared.result import ColumnArrays

__all__ = [
    "Buffer",
    "ColumnArrays",
    "InterchangeBuffer",
    "InterchangeColumn",
    "InterchangeFrame",
    "SupportsBuffer",
    "SupportsDataFrame",
    "as_buffer",
    "as_cupy",
    "as_memoryview",
    "as_ndarray",
    "column_to_ndarray",
    "dataframe_to_ndarrays",
]

# Loaded on demand, since they need what a light import must not load.
_LAZY = {
    "ColumnArrays": "result",
    "InterchangeBuffer": "protocols",
    "InterchangeColumn": "protocols",
    "InterchangeFrame": "protocols",
    "SupportsBuffer": "protocols",
    "SupportsDataFrame": "protocols",
}


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"..shared.{_LAZY[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


# Tracebacks and reprs show the name a user imports, not the private file.
for _name in set(__all__) - set(_LAZY):
    globals()[_name].__module__ = __name__
del _name
