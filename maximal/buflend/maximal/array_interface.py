"""The array interface of NumPy, version 3, both directions.

Lives here: what a buffer says by it (unsigned bytes) and what is read of others. Source: NumPy, "The array interface
protocol".
"""

from typing import Any

from ..shared.access import admit_host
from ..shared.array_interface import read_interface
from ..shared.device import CPU
from ..shared.errors import ProducerError
from ..shared.exporter import exported
from ..shared.memory import Memory, foreign_integer
from .found import Found, ask_interface

NAME = "__array_interface__"


def interface(memory: Memory) -> dict[str, Any]:
    """Return the interface of host memory; the object it is asked of is the owner."""
    if memory._device is not CPU:
        admit_host(memory)
    # Of nothing NumPy before 2.4 misreads the address 0.
    return {"version": 3, "shape": (memory.bufsize,), "typestr": "|u1", "data": (memory.ptr or 1, memory.readonly)}


def read(obj: Any) -> Found | None:
    """Return what an object's array interface describes, None where it has none."""
    found = ask_interface(obj, NAME)
    if found is None:
        return None
    whose = f"{type(obj).__name__}.{NAME}"
    block, nbytes = read_interface(found, whose)
    if block is not None:
        return block.ptr if nbytes else 0, nbytes, obj, CPU, block.readonly, None
    return _from_exporter(obj, found, nbytes, whose)


def _from_exporter(obj: object, found: dict[str, Any], nbytes: int, whose: str) -> Found:
    """Read an interface whose data is an exporter; NumPy checks neither the offset nor the length."""
    data = found.get("data")
    lent = exported(obj if data is None else data)
    if lent is None:
        raise ProducerError(f"{whose}['data']", got=data, expected="an address with access, or an exported buffer")
    address, view = lent
    offset = foreign_integer(found.get("offset", 0), f"{whose}['offset']")
    if offset < 0 or offset + nbytes > view.nbytes:
        raise ProducerError(
            f"{whose}['data']", got=f"{view.nbytes} bytes", expected=f"{nbytes} bytes behind offset {offset}"
        )
    return address + offset, nbytes, (view, obj), CPU, view.readonly, None
