"""The smallest protocol: pointer, size, device, as the dataframe interchange protocol's buffer has them; inwards.

Outwards it is the buffer's own attributes.
"""

from ..shared.memory import Memory, borrow, describes
from .found import Found


def read(obj: object) -> Found | None:
    """Return what an object says of its memory by `ptr`, `bufsize` and `__dlpack_device__`; the object is the owner."""
    if not describes(obj):
        return None
    memory = borrow(Memory, obj, type(obj).__name__)
    return memory._ptr, memory._bufsize, obj, memory._device, memory._readonly, None
