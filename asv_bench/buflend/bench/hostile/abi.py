"""The structs of DLPack and Arrow as C lays them out, capsules around them, and what is still owed.

Lives here: layouts, capsules, the count of releases. Must not know: any lie, any library. Sources: `dlpack.h` 1.3;
Apache Arrow, "The Arrow C data interface", "The Arrow C stream interface", "The Arrow C device data interface".

Nothing here is ever freed, so that a second release is counted and does not crash: the process that reads one input
ends after it.
"""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np

from ..battery import pages

ptr, i32, i64, u32, u64 = ctypes.c_void_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_uint32, ctypes.c_uint64


class Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = (
        ("data", ptr),
        ("device_type", i32),
        ("device_id", i32),
        ("ndim", i32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ptr),
        ("strides", ptr),
        ("byte_offset", u64),
    )


class Legacy(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = (("tensor", Tensor), ("private_data", ptr), ("release", ptr))


class Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = (
        ("major", u32),
        ("minor", u32),
        ("private_data", ptr),
        ("release", ptr),
        ("flags", u64),
        ("tensor", Tensor),
    )


class Schema(ctypes.Structure):
    """ArrowSchema."""

    _fields_ = (
        ("format", ptr),
        ("name", ptr),
        ("metadata", ptr),
        ("flags", i64),
        ("n_children", i64),
        ("children", ptr),
        ("dictionary", ptr),
        ("release", ptr),
        ("private_data", ptr),
    )


class Array(ctypes.Structure):
    """ArrowArray."""

    _fields_ = (
        ("length", i64),
        ("null_count", i64),
        ("offset", i64),
        ("n_buffers", i64),
        ("n_children", i64),
        ("buffers", ptr),
        ("children", ptr),
        ("dictionary", ptr),
        ("release", ptr),
        ("private_data", ptr),
    )


class DeviceArray(ctypes.Structure):
    """ArrowDeviceArray; its first field is the array, and with it the callback."""

    _fields_ = (
        ("array", Array),
        ("device_id", i64),
        ("device_type", i32),
        ("sync_event", ptr),
        ("reserved", i64 * 3),
    )


class Stream(ctypes.Structure):
    """ArrowArrayStream."""

    _fields_ = (
        ("get_schema", ptr),
        ("get_next", ptr),
        ("get_last_error", ptr),
        ("release", ptr),
        ("private_data", ptr),
    )


NAMES = {
    Legacy: b"dltensor",
    Versioned: b"dltensor_versioned",
    Schema: b"arrow_schema",
    Array: b"arrow_array",
    DeviceArray: b"arrow_device_array",
    Stream: b"arrow_array_stream",
}
"""What each struct's capsule is called as long as nobody has consumed it."""

Release = ctypes.CFUNCTYPE(None, ptr)
Fill = ctypes.CFUNCTYPE(ctypes.c_int, ptr, ptr)
Text = ctypes.CFUNCTYPE(ptr, ptr)
_Destructor = ctypes.PYFUNCTYPE(None, ptr)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ptr, ptr, ptr)(("PyCapsule_New", ctypes.pythonapi))
_name_of = ctypes.PYFUNCTYPE(ptr, ptr)(("PyCapsule_GetName", ctypes.pythonapi))
_pointer_of = ctypes.PYFUNCTYPE(ptr, ptr, ptr)(("PyCapsule_GetPointer", ctypes.pythonapi))

_kept: list[Any] = []
_numbers = itertools.count(1)


def keep(thing: Any) -> int:
    """Return the address of a ctypes object, which lives as long as the process."""
    _kept.append(thing)
    return ctypes.addressof(thing)


def text(value: bytes) -> int:
    """Return the address of a terminated text."""
    return keep(ctypes.create_string_buffer(value))


def address(struct: Any) -> int:
    """Return where a struct lies."""
    return ctypes.addressof(struct)


def erase(at: int, kind: Any) -> None:
    """Write zeros over a struct, which says then that it was released."""
    ctypes.memset(at, 0, ctypes.sizeof(kind))


def pointers(addresses: list[int]) -> bytes:
    """Return the bytes of pointers."""
    return bytes((ptr * len(addresses))(*addresses))


def place(content: bytes) -> int:
    """Return the address of bytes that end at an unreadable page."""
    memory = pages.guarded(np.frombuffer(content, np.uint8))
    _kept.append(memory)
    return int(memory.ctypes.data)


def call(callback: Any) -> int:
    """Return the address of a callback, which lives as long as the process."""
    _kept.append(callback)
    return ctypes.cast(callback, ptr).value or 0


class Loan:
    """One struct that a consumer has to release once; its blocks are overwritten then, so that who reads on is seen."""

    def __init__(self, what: str, blocks: list[tuple[int, int]], inner: list[int]) -> None:
        self.what, self.blocks, self.inner = what, blocks, inner
        self.times = 0


LOANS: dict[int, Loan] = {}
"""By the number in the struct's private data; emptied between two inputs that one process reads."""


def lend(what: str, blocks: list[tuple[int, int]] = [], inner: list[int] = []) -> int:  # noqa: B006 - never changed
    """Write down a struct, and return the number for its private data; `inner` are addresses of the structs in it."""
    number = next(_numbers)
    LOANS[number] = Loan(what, blocks, inner)
    return number


def owed() -> str:
    """Say which structs were not released once; empty where all were."""
    never = sorted({loan.what for loan in LOANS.values() if not loan.times})
    twice = sorted({loan.what for loan in LOANS.values() if loan.times > 1})
    said = [f"leaks {' and '.join(never)}"] if never else []
    return "; ".join([*said, *([f"released twice: {' and '.join(twice)}"] if twice else [])])


def _releases(kind: Any) -> int:
    """Return the callback that releases a kind of struct, and all in it that was not moved out; without recursion."""

    def release(address: int) -> None:
        _settle()
        waiting = [address]
        while waiting:
            struct = kind.from_address(waiting.pop())
            loan = LOANS.get(struct.private_data or 0)
            if loan is not None:
                loan.times += 1
                for at, size in loan.blocks:
                    ctypes.memset(at, 0xDD, size)
                waiting += [each for each in loan.inner if kind.from_address(each).release]
            if kind not in (Legacy, Versioned):
                struct.release = None

    return call(Release(release))


def _settle() -> None:
    """Take the error that may be pending, else the first call into C would raise SystemError instead."""
    try:  # noqa: SIM105 - `suppress` would be that call itself
        len(())
    except SystemError:
        pass


RELEASE: dict[Any, int] = {kind: _releases(kind) for kind in (Legacy, Versioned, Schema, Array, Stream)}
RELEASE[DeviceArray] = RELEASE[Array]
"""Each kind of struct's callback."""

_ours: dict[int, tuple[Any, bytes | None]] = {}


def capsule(struct: Any, name: bytes | None = b"") -> object:
    """Return a capsule around a struct, by default with the name that its kind has unused.

    It returns what nobody has consumed, whatever it is called: who has consumed has changed a tensor's name, or has
    moved a struct of Arrow out.
    """
    called = NAMES[type(struct)] if name == b"" else name
    at = keep(struct)
    _ours[at] = type(struct), called
    return _new(at, None if called is None else text(called), _DESTROY)


def _destroy(found: int) -> None:
    _settle()
    name = _name_of(found)
    at = _pointer_of(found, name)
    kind, called = _ours[at]
    is_tensor = kind in (Legacy, Versioned)
    if is_tensor and ((name and ctypes.string_at(name)) or None) != called:
        return
    struct = kind.from_address(at)
    release = struct.array.release if kind is DeviceArray else struct.release
    if release and not (called or b"").startswith(b"used_"):
        Release(release)(at)


_DESTROY = call(_Destructor(_destroy))
