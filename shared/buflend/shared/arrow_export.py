"""Arrow out without pyarrow: structs whose release is Python code, hardened.

Lives here: the callbacks, the registry of what they release, and the capsules. Must not know: what the memory means.

A callback may run with an exception pending, on any thread, while modules are cleared at exit. Hence:

- its first statement clears the error, with a call without arguments: any other ctypes call would raise that error
  instead, `release` would stay set, and Arrow C++ aborts the process then;
- its thunk is immortal, and every name it uses is bound as a default, the built-in ones too;
- what it releases is found by a number that is never reused, so that a moved struct is released once and a second time
  does nothing;
- the last capsules are parked: a consumer that refuses one drops it with its own exception pending, and where that drop
  is not the last one, no destructor runs and the exception survives.

What it cannot promise: an exception that is pending when a consumer drops the last reference itself is lost, and a
consumer that releases after the interpreter is gone calls Python code that is no more.
"""

import ctypes
import gc
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

from .arrow_c import CAPSULES, CPU_ID, ArrowArray, ArrowDeviceArray, ArrowSchema, Data, Field
from .cpython import (
    capsule_pointer_raw,
    clear_error,
    immortal,
    new_capsule,
    raw_calloc,
    raw_free,
)
from .device import CPU, Device

_Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # called on foreign threads: takes the interpreter's lock
_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)  # the capsule has no references left: an address, not an object

_live: dict[int, Any] = {}  # number in private_data -> all that the struct needs
_next_number = itertools.count(1).__next__

_PARKED = 8  # capsules in each; an unused one holds its memory as long, a used one a hundred bytes
_parked: "deque[object]" = deque(maxlen=_PARKED)
_parked_before: "deque[object]" = deque(maxlen=_PARKED)  # since before the last collection


def _unpark(
    phase: str,
    _: dict[str, Any],
    parked: "deque[object]" = _parked,
    before: "deque[object]" = _parked_before,
) -> None:
    # Not what was parked just now: a collection may come between an export and its refusal.
    if phase == "start":
        before.clear()
        before.extend(parked)
        parked.clear()


gc.callbacks.append(_unpark)


def flush() -> None:
    """Drop the capsules that are parked, so that unused ones return their memory now."""
    _parked.clear()
    _parked_before.clear()


def _thunk(kind: Any, callback: Callable[..., Any]) -> int:
    """Return the address of a callback that outlives this module."""
    made = kind(callback)
    immortal(made)
    return ctypes.cast(made, ctypes.c_void_p).value or 0


def _release_of(struct: type[ArrowSchema] | type[ArrowArray]) -> int:
    def release(
        address: int,
        clear: Any = clear_error,
        at: Any = ctypes.c_void_p.from_address,
        count: Any = ctypes.c_int64.from_address,
        call: Any = _Release,
        forget: Any = _live.pop,
        own: int = struct.release.offset,
        number: int = struct.private_data.offset,
        n_children: int = struct.n_children.offset,
        children: int = struct.children.offset,
        dictionary: int = struct.dictionary.offset,
        span: Any = range,
    ) -> None:
        clear()
        if not at(address + own).value:
            return
        # Each part by its own release, which is NULL where the part was moved out.
        parts = [at(at(address + children).value + 8 * i).value for i in span(count(address + n_children).value)]
        for part in [*parts, at(address + dictionary).value]:
            if part and at(part + own).value:
                call(at(part + own).value)(part)
        at(address + own).value = None
        forget(at(address + number).value, None)

    return _thunk(_Release, release)


def _destructor_of(struct: type[ctypes.Structure], own: int) -> int:
    def destructor(
        capsule: int,
        clear: Any = clear_error,
        pointer: Any = capsule_pointer_raw,
        name: bytes = CAPSULES[struct],
        at: Any = ctypes.c_void_p.from_address,
        call: Any = _Release,
        own: int = own,
        free: Any = raw_free,
    ) -> None:
        clear()
        address = pointer(capsule, name)
        if at(address + own).value:
            call(at(address + own).value)(address)
        free(address)

    return _thunk(_Destructor, destructor)


_RELEASE = {struct: _release_of(struct) for struct in (ArrowSchema, ArrowArray)}
_DESTRUCTOR = {
    ArrowSchema: _destructor_of(ArrowSchema, ArrowSchema.release.offset),
    ArrowArray: _destructor_of(ArrowArray, ArrowArray.release.offset),
    ArrowDeviceArray: _destructor_of(ArrowDeviceArray, ArrowDeviceArray.array.offset + ArrowArray.release.offset),
}
for _name in CAPSULES.values():
    immortal(_name)
immortal(_live)


def _capsule(struct: type[ctypes.Structure], fill: Callable[[int], None]) -> object:
    """Return a capsule around a struct in memory of its own; `release` is NULL until it is filled."""
    address = raw_calloc(1, ctypes.sizeof(struct))
    if not address:
        raise MemoryError
    capsule: object = new_capsule(address, CAPSULES[struct], _DESTRUCTOR[struct])
    fill(address)
    _parked.append(capsule)
    return capsule


def schema_capsule(field: Field) -> object:
    """Return an `arrow_schema` capsule."""
    return _capsule(ArrowSchema, lambda address: _fill_schema(address, field))


def array_capsule(data: Data) -> object:
    """Return an `arrow_array` capsule; each buffer's owner lives until the consumer releases the array."""
    return _capsule(ArrowArray, lambda address: _fill_array(address, data))


def device_array_capsule(data: Data, device: Device) -> object:
    """Return an `arrow_device_array` capsule of memory that is ready to be used: no event to wait for."""

    def fill(address: int) -> None:
        outer = ArrowDeviceArray.from_address(address)
        outer.device_type, outer.device_id = int(device[0]), CPU_ID if device == CPU else device[1]
        _fill_array(address + ArrowDeviceArray.array.offset, data)

    return _capsule(ArrowDeviceArray, fill)


def _fill_schema(address: int, field: Field) -> None:
    struct = ArrowSchema.from_address(address)
    texts = ctypes.create_string_buffer(field.format.encode()), ctypes.create_string_buffer(field.name.encode())
    struct.format, struct.name = map(ctypes.addressof, texts)
    struct.flags = field.flags
    kept = [*texts, *_nest(struct, ArrowSchema, field, _fill_schema)]
    _register(struct, ArrowSchema, kept)


def _fill_array(address: int, data: Data) -> None:
    struct = ArrowArray.from_address(address)
    struct.length, struct.null_count, struct.offset = data.length, data.null_count, data.offset
    struct.n_buffers = len(data.buffers)
    pointers = (ctypes.c_void_p * max(len(data.buffers), 1))(*(buffer and buffer[0] for buffer in data.buffers))
    struct.buffers = ctypes.addressof(pointers)
    kept = [pointers, *(buffer[1] for buffer in data.buffers if buffer), *_nest(struct, ArrowArray, data, _fill_array)]
    _register(struct, ArrowArray, kept)


def _nest(struct: Any, kind: type[ctypes.Structure], described: Any, fill: Callable[[int, Any], None]) -> list[object]:
    """Fill the structs of children and dictionary; return what they need to stay where they are."""
    parts = [*described.children, *([] if described.dictionary is None else [described.dictionary])]
    if not parts:
        return []
    structs = (kind * len(parts))()
    addresses = [ctypes.addressof(structs) + i * ctypes.sizeof(kind) for i in range(len(parts))]
    for at, part in zip(addresses, parts, strict=True):
        fill(at, part)
    pointers = (ctypes.c_void_p * len(parts))(*addresses)
    struct.n_children = len(described.children)
    struct.children = ctypes.addressof(pointers)
    struct.dictionary = None if described.dictionary is None else addresses[-1]
    return [structs, pointers]


def _register(struct: Any, kind: type[ArrowSchema] | type[ArrowArray], kept: list[object]) -> None:
    number = _next_number()
    _live[number] = kept
    struct.private_data = number
    struct.release = _RELEASE[kind]  # last: only now is there something to release
