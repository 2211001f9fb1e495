"""Facts of the Arrow C data, stream and device interfaces, as tables and structs.

Lives here: layouts, names and flags of `abi.h`, and the description of an array in Python's terms. Must not know: how a
struct is released. Source: Apache Arrow, "The Arrow C data interface", "The Arrow C device data interface", "The Arrow
PyCapsule interface".

Pointers and callbacks are plain addresses: a field of a function type would hold a Python object that does not follow
when the struct is moved.
"""

import ctypes
from typing import Any, NamedTuple

_ptr, _i64 = ctypes.c_void_p, ctypes.c_int64

ORDERED, NULLABLE, KEYS_SORTED = 1, 2, 4  # ArrowSchema.flags

CPU_ID = -1  # Arrow's id of the CPU, where DLPack says 0


class ArrowSchema(ctypes.Structure):
    """`ArrowSchema`: type, name and metadata of an array."""

    _fields_ = (
        ("format", _ptr),
        ("name", _ptr),
        ("metadata", _ptr),
        ("flags", _i64),
        ("n_children", _i64),
        ("children", _ptr),
        ("dictionary", _ptr),
        ("release", _ptr),
        ("private_data", _ptr),
    )


class ArrowArray(ctypes.Structure):
    """`ArrowArray`: the buffers of an array; sizes are not transmitted."""

    _fields_ = (
        ("length", _i64),
        ("null_count", _i64),
        ("offset", _i64),
        ("n_buffers", _i64),
        ("n_children", _i64),
        ("buffers", _ptr),
        ("children", _ptr),
        ("dictionary", _ptr),
        ("release", _ptr),
        ("private_data", _ptr),
    )


class ArrowDeviceArray(ctypes.Structure):
    """`ArrowDeviceArray`: an array, where it lies, and a pointer to the event that says it is ready (NULL: it is)."""

    _fields_ = (
        ("array", ArrowArray),
        ("device_id", _i64),
        ("device_type", ctypes.c_int32),
        ("sync_event", _ptr),
        ("reserved", _i64 * 3),
    )


class ArrowArrayStream(ctypes.Structure):
    """`ArrowArrayStream`: chunks of one type, one after another; all but `private_data` are functions."""

    _fields_ = (
        ("get_schema", _ptr),
        ("get_next", _ptr),
        ("get_last_error", _ptr),
        ("release", _ptr),
        ("private_data", _ptr),
    )


class ArrowDeviceArrayStream(ctypes.Structure):
    """`ArrowDeviceArrayStream`: the same for chunks on one kind of device."""

    _fields_ = (
        ("device_type", ctypes.c_int32),
        ("get_schema", _ptr),
        ("get_next", _ptr),
        ("get_last_error", _ptr),
        ("release", _ptr),
        ("private_data", _ptr),
    )


# Struct -> name of its capsule. A capsule that was consumed keeps its name, its struct's release is NULL.
CAPSULES: dict[type[ctypes.Structure], bytes] = {
    ArrowSchema: b"arrow_schema",
    ArrowArray: b"arrow_array",
    ArrowDeviceArray: b"arrow_device_array",
    ArrowArrayStream: b"arrow_array_stream",
    ArrowDeviceArrayStream: b"arrow_device_array_stream",
}


def clear_reserved(capsule: object) -> None:
    """Zero the reserved words of an `arrow_device_array` capsule, as is specified: pyarrow 26 leaves garbage there."""
    from .cpython import capsule_pointer

    address = capsule_pointer(capsule, CAPSULES[ArrowDeviceArray]) + ArrowDeviceArray.reserved.offset
    ctypes.memset(address, 0, ArrowDeviceArray.reserved.size)


class Field(NamedTuple):
    """What an ArrowSchema says; `metadata` is as it stands there: numbers and texts, lengths before each."""

    format: str
    name: str = ""
    flags: int = 0
    children: "tuple[Field, ...]" = ()
    dictionary: "Field | None" = None
    metadata: bytes | None = None


class Data(NamedTuple):
    """What an ArrowArray says: elements, and for each buffer its address and the object that keeps it, or None."""

    length: int
    buffers: tuple[tuple[int, Any] | None, ...]
    null_count: int = 0
    offset: int = 0
    children: "tuple[Data, ...]" = ()
    dictionary: "Data | None" = None
