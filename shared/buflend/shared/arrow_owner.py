"""Arrow in, lifetime: who releases an ArrowArray.

Lives here: moving the struct, and the one call of its release. Must not know: what the array holds. Source: Apache
Arrow, "The Arrow C data interface", sections "Memory management" and "Moving an array".
"""

import ctypes
import struct
from typing import Any

from .arrow_c import ArrowArray

_ArrayBytes = ctypes.c_char * ctypes.sizeof(ArrowArray)
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # gives up the interpreter's lock during the call
_POINTER = struct.Struct("@P")
_RELEASE_AT = ArrowArray.release.offset


class ArrowOwner:
    """Owns one ArrowArray, which lies in memory of its own, and releases it when it goes.

    Parameters
    ----------
    source : int
        Address of an ArrowArray to move here: it counts as released afterwards.
    """

    __slots__ = ("__weakref__", "_struct", "address")

    def __init__(self, source: int) -> None:
        raw = _ArrayBytes.from_address(source)
        self._struct = _ArrayBytes.from_buffer_copy(raw)
        self.address = ctypes.addressof(self._struct)
        _POINTER.pack_into(raw, _RELEASE_AT, 0)

    def release(
        self,
        read: Any = _POINTER.unpack_from,
        write: Any = _POINTER.pack_into,
        call: Any = _Release,
        where: int = _RELEASE_AT,
        twice: range = range(2),
        anything: Any = BaseException,
    ) -> None:
        """Release the array, where that was not done: whoever still holds an address of it must not use it."""
        interrupted: Any = None
        for _ in twice:  # what a signal's handler interrupts is tried once more
            try:
                (function,) = read(self._struct, where)
                if function:  # all that is used is bound: at exit globals may be gone
                    call(function)(self.address)
                    write(self._struct, where, 0)
            except anything as error:
                interrupted = [error]
            else:
                break
        if interrupted:
            raise interrupted.pop()

    __del__ = release
