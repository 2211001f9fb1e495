"""Pickle: bytes travel, addresses do not.

Lives here: what a buffer becomes in a pickle. With protocol 5 and a `buffer_callback` the bytes of host memory go out
of band, uncopied (PEP 574); else they are in the pickle. Memory of a device is refused: copy it to the host first.
"""

import pickle
from typing import Any

from ..shared.device import device_name
from ..shared.errors import DeviceError
from ..shared.memory import Memory, to_memoryview

_OUT_OF_BAND = 5


def reduce(memory: Memory, protocol: int, restore: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what `__reduce_ex__` answers: a function and its arguments, of which the first are the bytes."""
    if not memory.bufsize:
        return restore, (b"", memory.readonly)
    try:
        view = to_memoryview(memory)
    except DeviceError as error:
        raise DeviceError(
            f"a buffer on {device_name(memory.device)} is not pickled, which would copy it to the host without a word: "
            "pickle buffer.to_host() instead"
        ) from error
    if protocol >= _OUT_OF_BAND:
        return restore, (pickle.PickleBuffer(view), memory.readonly)
    return restore, (view.tobytes() if memory.readonly else bytearray(view), memory.readonly)
