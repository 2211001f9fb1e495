"""The array interfaces, NumPy's and CUDA's: the dict, by address and by an exporter, with mask and stream.

Lives here: the producers. Sources: NumPy, "The array interface protocol"; Numba, "CUDA Array Interface (Version 3)".
"""

import struct
from typing import Any

from ..guard import UNREADABLE
from .case import UNTOLD, Base, Protocol
from .pointers import CONTENT, LARGE
from .tree import Block, Exporter, Extent, Fixed, Thing, text

WIDE = struct.pack("<3q", 1, -2, 3)


def interface(content: bytes = CONTENT, typestr: str = "|u1", count: int | None = None, **more: Any) -> dict[str, Any]:
    """Return NumPy's interface of a block, by its address; the number of items is told by nothing else."""
    return {
        "version": 3,
        "shape": (Extent(len(content) if count is None else count),),
        "typestr": text("typestr", typestr),
        "data": (Block(content), False),
        **more,
    }


def _speaks(described: dict[str, Any], name: str = "__array_interface__") -> Thing:
    return Thing({name: described})


def _by_exporter(content: bytes, typestr: str, *shape: int, **more: Any) -> dict[str, Any]:
    """Return an interface whose memory is an exporter: all can be held against its size."""
    return {
        "version": 3,
        "shape": shape,
        "typestr": text("typestr", typestr),
        "data": Exporter(content),
        "offset": 0,
        **more,
    }


# By an address a type must not become wider: no table of words here but of its own width.
def _narrow(described: dict[str, Any]) -> dict[str, Any]:
    return {**described, "typestr": Fixed(str(described["typestr"]))}


_MASK = _narrow(interface(b"\1\0\1", "|b1"))

INTERFACES = Protocol(
    {
        "bytes": Base(_speaks(_narrow(interface())), CONTENT, list(CONTENT)),
        "numbers": Base(_speaks(_narrow(interface(WIDE, "<i8", 3))), WIDE, [1, -2, 3]),
        "strided": Base(_speaks(_narrow(interface(CONTENT, "|u1", 12, strides=(Fixed(2),)))), None, list(CONTENT[::2])),
        "in C order": Base(_speaks(_narrow(interface(strides=(Fixed(1),)))), CONTENT, list(CONTENT)),
        "nothing": Base(_speaks(_narrow(interface(b"", data=(Fixed(0), False)))), b"", []),
        "masked": Base(
            _speaks(_narrow(interface(b"\1\2\3", mask=_speaks(_MASK)))),
            b"\1\2\3",
            [1, None, 3],
        ),
        "dates": Base(_speaks(_narrow(interface(WIDE, "<M8[us]", 3))), WIDE, UNTOLD),
        "text": Base(_speaks(_narrow(interface("ab".encode("utf-32-le"), "<U2", 1))), UNTOLD, UNTOLD),
        "fields": Base(
            _speaks(_narrow(interface(CONTENT[:8], "|V4", 2, descr=[("a", "<i2"), ("b", "<i2")]))), CONTENT[:8], UNTOLD
        ),
        "by an exporter": Base(_speaks(_by_exporter(CONTENT, "|u1", 24)), CONTENT, list(CONTENT)),
        "numbers by an exporter": Base(_speaks(_by_exporter(WIDE, "<i8", 3)), WIDE, [1, -2, 3]),
        "behind an offset": Base(_speaks(_by_exporter(WIDE, "<i8", 2, offset=8)), WIDE[8:], [-2, 3]),
        "strided by an exporter": Base(_speaks(_by_exporter(WIDE, "<i8", 2, strides=(16,))), None, [1, 3]),
        "backwards by an exporter": Base(
            _speaks(_by_exporter(WIDE, "<i8", 3, strides=(-8,), offset=16)), None, [3, -2, 1]
        ),
        "masked by an exporter": Base(_speaks(_by_exporter(WIDE, "<i8", 3, mask=_speaks(_MASK))), WIDE, [1, None, 3]),
        "two dimensions": Base(_speaks(_by_exporter(WIDE, "<i4", 2, 3)), WIDE, None),
        "extents that cannot be said": Base(_speaks({**_narrow(interface()), "shape": Fixed((2**63 - 1,) * 400)})),
        "extents that cannot be said, nowhere": Base(
            _speaks({**_narrow(interface()), "shape": Fixed((2**63 - 1,) * 400), "data": Fixed((0, False))})
        ),
        "of itself": Base(Thing({"__array_interface__": {**_by_exporter(WIDE, "<i8", 3), "data": None}}, bytearray)),
    },
    LARGE,
)


def _on_device(**more: Any) -> dict[str, Any]:
    return {
        "version": 3,
        "shape": (3,),
        "typestr": text("typestr", "<i8"),
        "data": (Fixed(UNREADABLE), False),
        "strides": None,
        "stream": None,
        **more,
    }


def _cuda(described: dict[str, Any]) -> Base:
    return Base(_speaks(described, "__cuda_array_interface__"), UNTOLD, UNTOLD)


CUDA = Protocol(
    {
        "numbers": _cuda(_on_device()),
        "on a stream": _cuda(_on_device(stream=1)),
        "nothing": _cuda(_on_device(shape=(0,), data=(0, False))),
        "strided": _cuda(_on_device(strides=(16,))),
        "masked": _cuda(
            _on_device(mask=_speaks(_on_device(typestr=text("typestr", "|b1")), "__cuda_array_interface__"))
        ),
        "masked by bits": _cuda(
            _on_device(mask=_speaks(_on_device(typestr=text("typestr", "|t1")), "__cuda_array_interface__"))
        ),
        "two dimensions": _cuda(_on_device(shape=(1, 3))),
    },
    LARGE,
)
