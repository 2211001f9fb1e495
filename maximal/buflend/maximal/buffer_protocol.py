"""The buffer protocol (PEP 3118, and PEP 688 for classes), both directions.

Lives here: nothing but the two calls. A class can export since Python 3.12; before, `Buffer.memoryview()` gives the
same view.
"""

from ..shared.device import CPU
from ..shared.exporter import exported
from ..shared.memory import Memory, to_memoryview
from .found import Found

_WRITABLE = 0x0001  # PyBUF_WRITABLE


def export(memory: Memory, flags: int) -> memoryview:
    """Return the view that `__buffer__` answers with; BufferError where it is to be written and may not."""
    if flags & _WRITABLE and memory.readonly:
        raise BufferError("the memory is read-only and a writable view was asked for")
    return to_memoryview(memory)


def read(obj: object) -> Found | None:
    """Return what an object exports by the buffer protocol; the owner is the view that holds the export."""
    lent = exported(obj)
    if lent is None:
        return None
    address, view = lent
    return address, view.nbytes, view, CPU, view.readonly, None
