"""Calls that must fail, and leave who holds what as it was.

Lives here: the calls, by the level of what they are made with. Imported by tests, as `from .failing import FAILING`.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from buflend import minimal
from buflend.maximal import as_buffer, as_column, as_ndarray, as_table

from . import ways

REFUSALS = (AttributeError, BufferError, NotImplementedError, TypeError, ValueError)
"""What is raised where a protocol is not spoken, or something cannot be read."""
FAILURES = (*REFUSALS, LookupError, RuntimeError)
MANY = 2**20  # more bytes than anything here has

FAILING: dict[str, list[Callable[[Any], Any]]] = {
    "minimal": [
        lambda b: minimal.as_ndarray(b, shape=MANY),
        lambda b: minimal.as_ndarray(b, "O"),
    ],
    "buffer": [
        lambda b: as_ndarray(b, shape=MANY),
        lambda b: b.__dlpack__(dl_device=(2, 0)),
        lambda b: b.__dlpack__(stream=5),
        lambda b: b.__array__("f8", copy=False),
        lambda b: b.__arrow_c_device_array__(nonsense=1),
        as_table,
    ],
    "column": [
        lambda c: c["x"],
        lambda c: c.__dlpack__(dl_device=(2, 0)),
        lambda c: c.__dlpack__(max_version="x"),
        lambda c: c.__array__("M8[s]", copy=False),
        lambda c: c.__arrow_c_device_array__(nonsense=1),
        as_table,
    ],
    "table": [
        lambda t: t["none"],
        lambda t: t.__dlpack__(dl_device=(2, 0)),
        lambda t: t.__array__("M8[s]", copy=False),
        lambda t: as_buffer(SimpleNamespace(__dlpack__=t, __dlpack_device__=lambda: (1, 0))),
    ],
    "handed": [
        lambda h: as_buffer(ways.TENSOR((h,))),
        lambda h: as_column(ways.STREAM((h,))),
        lambda h: as_column(ways.ARRAY((h, h))),
    ],
}
