"""Arrow in: from capsules to types, and to arrays with their owners.

Lives here: what is asked of a capsule, moving an array out of it, devices and streams. Must not know: what the structs
of types and arrays say, and what becomes of the memory. Source: Apache Arrow, "The Arrow C stream interface", "The
Arrow C device data interface", "The Arrow PyCapsule interface".

A capsule whose struct is refused before the array was moved is left to its own destructor. From then on the owner
releases, whatever fails.
"""

import ctypes
import errno
import struct
from typing import Any

from .access import CUDA
from .arrow_array import Imported, array_of
from .arrow_c import (
    CAPSULES,
    ArrowArray,
    ArrowArrayStream,
    ArrowDeviceArray,
    ArrowDeviceArrayStream,
    ArrowSchema,
    Field,
)
from .arrow_owner import ArrowOwner
from .arrow_schema import foreign, schema_at
from .cpython import CAPSULE, capsule_is_valid, capsule_name, capsule_pointer
from .device import CPU, Device, device_name, to_device
from .errors import DeviceError, ProducerError, Raised

__all__ = [
    "ArrowOwner",
    "Imported",
    "read_array",
    "read_device_array",
    "read_device_stream",
    "read_schema",
    "read_stream",
]

# These give up the interpreter's lock during the call.
_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Fill = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
_Text = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

_MESSAGE = ctypes.c_char * 2**16  # its value ends before the first NUL

_DEVICE = struct.Struct("@qiP")  # what follows the array in an ArrowDeviceArray
_CALLBACKS = struct.Struct("@4P")
_INT32 = struct.Struct("@i")
_POINTER = struct.Struct("@P")

# Struct -> where its release is.
_RELEASE_AT = {
    ArrowSchema: ArrowSchema.release.offset,
    ArrowArray: ArrowArray.release.offset,
    ArrowDeviceArray: ArrowDeviceArray.array.offset + ArrowArray.release.offset,
    ArrowArrayStream: ArrowArrayStream.release.offset,
    ArrowDeviceArrayStream: ArrowDeviceArrayStream.release.offset,
}


def _open(capsule: object, kind: type[ctypes.Structure]) -> int:
    """Return the address of an unused struct in a capsule."""
    name = CAPSULES[kind]
    if type(capsule) is not CAPSULE or not capsule_is_valid(capsule, name):
        got = capsule_name(capsule) if type(capsule) is CAPSULE else capsule
        raise ProducerError("Arrow capsule", got=got, expected=f"a capsule named {name.decode()!r}")
    address: int = capsule_pointer(capsule, name)
    if not _POINTER.unpack_from(foreign(address), _RELEASE_AT[kind])[0]:
        raise ProducerError(
            f"capsule {name.decode()!r}",
            got="one whose struct was released or moved",
            expected="one that was not used: it is already consumed",
        )
    return address


def _release(address: int, kind: type[ctypes.Structure]) -> None:
    """Release a struct that is ours; what has its release cleared afterwards is never released again."""
    function = ctypes.c_void_p.from_address(address + _RELEASE_AT[kind])
    if function.value:
        _Release(function.value)(address)
        function.value = None


def read_schema(capsule: object) -> Field:
    """Return what an `arrow_schema` capsule says, and release it.

    Raises
    ------
    ProducerError
        When this is no unused capsule of that name, or describes what Arrow does not define. It is left as it is then.
    """
    address = _open(capsule, ArrowSchema)
    field = schema_at(address)
    _release(address, ArrowSchema)
    return field


def read_array(schema: object, array: object) -> Imported:
    """Return what the capsules of `__arrow_c_array__` describe; the array is moved out and has an owner.

    Raises
    ------
    ProducerError
        When these are no unused capsules of their names, or say what cannot be true.
    """
    _open(array, ArrowArray)
    field = read_schema(schema)
    return array_of(field, ArrowOwner(_open(array, ArrowArray)), CPU)  # a foreign release ran since it was looked at


def read_device_array(schema: object, array: object) -> Imported:
    """Return what the capsules of `__arrow_c_device_array__` describe, once the device has finished writing it.

    Raises
    ------
    ProducerError
        As for `read_array`.
    DeviceError
        When the memory must be waited for, or looked at, and cannot be.
    """
    _open(array, ArrowDeviceArray)
    field = read_schema(schema)
    address = _open(array, ArrowDeviceArray)
    device = _ready(address)
    return array_of(field, ArrowOwner(address), device)


def _ready(address: int) -> Device:
    """Return the device of an ArrowDeviceArray, after waiting for it."""
    ordinal, kind, event = _DEVICE.unpack_from(foreign(address), ArrowDeviceArray.device_id.offset)
    device = to_device((kind, ordinal), "ArrowDeviceArray: (device_type, device_id)")
    if event:
        if device[0] not in CUDA:  # of these `sync_event` is a cudaEvent_t*
            raise DeviceError(
                f"an event of {device_name(device)} says when the Arrow array is ready; it cannot be waited for here: "
                "synchronise the device before the export"
            )
        from .cuda import wait_event

        wait_event(event)
    return device


def read_stream(capsule: object) -> tuple[Field, list[Imported]]:
    """Return the type and all chunks of an `arrow_array_stream` capsule, and release it.

    Raises
    ------
    ProducerError
        When the stream reports an error, or says what cannot be true.
    """
    return _drain(_open(capsule, ArrowArrayStream), ArrowArrayStream, None)


def read_device_stream(capsule: object) -> tuple[Field, list[Imported]]:
    """Return the type and all chunks of an `arrow_device_array_stream` capsule, and release it.

    Raises
    ------
    ProducerError
        As for `read_stream`.
    DeviceError
        As for `read_device_array`.
    """
    address = _open(capsule, ArrowDeviceArrayStream)
    kind: int = _INT32.unpack_from(foreign(address), ArrowDeviceArrayStream.device_type.offset)[0]
    return _drain(address, ArrowDeviceArrayStream, to_device((kind, 0), "ArrowDeviceArrayStream.device_type"))


def _drain(
    address: int,
    kind: type[ArrowArrayStream] | type[ArrowDeviceArrayStream],
    device: Device | None,
) -> tuple[Field, list[Imported]]:
    callbacks = _CALLBACKS.unpack_from(foreign(address), kind.get_schema.offset)
    if not all(callbacks):
        raise ProducerError(f"{kind.__name__}: callbacks", got=None, expected="the addresses of four functions")
    get_last_error = _Text(callbacks[2])

    def ask(function: int, out: ctypes.Structure, name: str, what: str) -> int:
        if code := _Fill(function)(address, ctypes.addressof(out)):
            ctypes.memset(ctypes.addressof(out), 0, ctypes.sizeof(out))  # nothing was given that could be released
            text = get_last_error(address)  # dies with the next call: copied at once
            message = (_MESSAGE.from_address(text).value if text else b"") or b"no message"
            error = Raised(f"error {code} ({errno.errorcode.get(code, 'unknown')}): {message.decode(errors='replace')}")
            raise ProducerError(f"{kind.__name__}.{name}()", got=error, expected=what)
        return ctypes.addressof(out)

    out: Any = ArrowSchema()  # what was asked for last: it is released, unless an owner has it
    try:
        field = schema_at(ask(callbacks[0], out, "get_schema", "a schema"))
        _release(ctypes.addressof(out), ArrowSchema)
        chunks: list[Imported] = []
        while True:
            # Zeros before each call: what a producer leaves untouched is the end.
            out = ArrowArray() if device is None else ArrowDeviceArray()
            chunk = _take_chunk(ask(callbacks[1], out, "get_next", "a chunk"), type(out), field, device)
            if chunk is None:
                return field, chunks
            chunks.append(chunk)
    finally:
        try:
            _release(ctypes.addressof(out), type(out))
        finally:
            _release(address, kind)


def _take_chunk(address: int, kind: type[ctypes.Structure], field: Field, device: Device | None) -> Imported | None:
    """Move an array that lies in our memory to an owner; None where there is none."""
    if not _POINTER.unpack_from(foreign(address), _RELEASE_AT[kind])[0]:
        return None
    owner = ArrowOwner(address)
    if device is None:
        return array_of(field, owner, CPU)
    found = _ready(address)
    if found[0] != device[0]:
        raise ProducerError(
            "ArrowDeviceArray.device_type", got=int(found[0]), expected=f"{int(device[0])}, as the stream said"
        )
    return array_of(field, owner, found)
