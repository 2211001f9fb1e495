"""A producer of Arrow structs, written by `abi.h` alone: it tells any lie, and counts how often it is released.

`Lie` describes one array and its type together. What `schema` and `array` name is written over the fields of the
structs last, so that a test states the one thing that is wrong. Released buffers are overwritten: whoever reads them
later reads 0xDD. Nothing here is ever freed, so that a release that comes too late or twice is counted and does not
crash.
"""

import ctypes
import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

_ptr, _i64 = ctypes.c_void_p, ctypes.c_int64


class Schema(ctypes.Structure):
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


class Array(ctypes.Structure):
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


class DeviceArray(ctypes.Structure):
    _fields_ = (
        ("array", Array),
        ("device_id", _i64),
        ("device_type", ctypes.c_int32),
        ("sync_event", _ptr),
        ("reserved", _i64 * 3),
    )


class Stream(ctypes.Structure):
    _fields_ = (
        ("get_schema", _ptr),
        ("get_next", _ptr),
        ("get_last_error", _ptr),
        ("release", _ptr),
        ("private_data", _ptr),
    )


class DeviceStream(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), *Stream._fields_)


Release = ctypes.CFUNCTYPE(None, _ptr)
Fill = ctypes.CFUNCTYPE(ctypes.c_int, _ptr, _ptr)
Text = ctypes.CFUNCTYPE(_ptr, _ptr)
_Destructor = ctypes.PYFUNCTYPE(None, _ptr)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, _ptr, ctypes.c_char_p, _ptr)(("PyCapsule_New", ctypes.pythonapi))
_immortal = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(_ptr, _ptr, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))

NAMES = {
    Schema: b"arrow_schema",
    Array: b"arrow_array",
    DeviceArray: b"arrow_device_array",
    Stream: b"arrow_array_stream",
    DeviceStream: b"arrow_device_array_stream",
}


@dataclass
class Lie:
    """An array and its type; a buffer is bytes, None for NULL, or an integer that is used as the address.

    A ctypes array is lent as it lies, and overwritten like all that was released.
    """

    format: Any
    length: int
    buffers: list[Any] = field(default_factory=list)
    null_count: int = 0
    offset: int = 0
    children: "list[Lie]" = field(default_factory=list)
    dictionary: "Lie | None" = None
    name: Any = ""
    flags: int = 2
    metadata: bytes | None = None
    schema: dict[str, Any] = field(default_factory=dict)
    array: dict[str, Any] = field(default_factory=dict)
    owner: Callable[[], object] | None = None  # of what the array holds until its release: asked when it is made


class Log:
    """What was released, in order: the names of types in `schemas`, of arrays in `arrays`, a "?" for a second time."""

    def __init__(self) -> None:
        self.schemas: list[str] = []
        self.arrays: list[str] = []
        self.streams = 0
        self.calls: Counter[str] = Counter()


@dataclass
class _Record:
    names: list[str]
    name: str
    buffers: list[Any]
    nested: list[int]
    offset: int  # of release in the struct
    owner: object = None
    done: bool = False


_kept: list[Any] = []  # for ever
for _each in (_kept, *NAMES.values()):
    _immortal(_each)
_records: dict[int, _Record] = {}
_numbers = itertools.count(1)


def keep(thing: Any) -> int:
    """Return the address of something that stays for ever."""
    _kept.append(thing)
    return ctypes.addressof(thing)


def text(value: bytes) -> int:
    return keep(ctypes.create_string_buffer(value))


def address_of(callback: Any) -> int:
    """Return the address of a callback, which outlives this module."""
    _immortal(callback)
    return ctypes.cast(callback, _ptr).value or 0


def _release_of(private: int) -> int:
    # All that is used is bound: at exit globals may be gone.
    def release(
        address: int,
        *,
        at: Any = _ptr.from_address,
        records: dict[int, _Record] = _records,
        call: Any = Release,
        fill: Any = ctypes.memset,
        size: Any = ctypes.sizeof,
    ) -> None:
        record = records[at(address + private).value]
        record.names.append("?" + record.name if record.done else record.name)
        record.done = True
        for nested in record.nested:
            own = at(nested + record.offset).value
            if own:
                call(own)(nested)
        for buffer in record.buffers:
            fill(buffer, 0xDD, size(buffer))
        record.owner = None
        at(address + record.offset).value = None

    return address_of(Release(release))


release_schema = _release_of(Schema.private_data.offset)
release_array = _release_of(Array.private_data.offset)


def _number(record: _Record) -> int:
    number = next(_numbers)
    _records[number] = record
    return number


def _pointers(addresses: list[int | None]) -> int:
    return keep((_ptr * max(len(addresses), 1))(*addresses))


def fill_schema(struct: Any, lie: Lie, log: Log) -> None:
    encoded = lie.format.encode() if isinstance(lie.format, str) else lie.format
    name = lie.name.encode() if isinstance(lie.name, str) else lie.name
    nested = [keep(Schema()) for _ in [*lie.children, *([lie.dictionary] if lie.dictionary else [])]]
    for address, part in zip(nested, [*lie.children, *([lie.dictionary] if lie.dictionary else [])], strict=True):
        fill_schema(Schema.from_address(address), part, log)
    struct.format = None if encoded is None else text(encoded)
    struct.name = None if name is None else text(name)
    struct.metadata = None if lie.metadata is None else text(lie.metadata)
    struct.flags, struct.n_children = lie.flags, len(lie.children)
    struct.children = _pointers([*nested[: len(lie.children)]]) if lie.children else None
    struct.dictionary = nested[-1] if lie.dictionary else None
    struct.private_data = _number(_Record(log.schemas, str(lie.name), [], nested, Schema.release.offset))
    struct.release = release_schema
    for key, value in lie.schema.items():
        setattr(struct, key, value)


def fill_array(struct: Any, lie: Lie, log: Log) -> None:
    nested = [keep(Array()) for _ in [*lie.children, *([lie.dictionary] if lie.dictionary else [])]]
    for address, part in zip(nested, [*lie.children, *([lie.dictionary] if lie.dictionary else [])], strict=True):
        fill_array(Array.from_address(address), part, log)
    lent = [
        ctypes.create_string_buffer(each, len(each) + 1) if isinstance(each, bytes) else each for each in lie.buffers
    ]
    memory = [each for each in lent if isinstance(each, ctypes.Array)]
    _kept.append(memory)
    addresses = [ctypes.addressof(each) if isinstance(each, ctypes.Array) else each for each in lent]
    struct.length, struct.null_count, struct.offset = lie.length, lie.null_count, lie.offset
    struct.n_buffers, struct.n_children = len(addresses), len(lie.children)
    struct.buffers = _pointers(addresses) if addresses else None
    struct.children = _pointers([*nested[: len(lie.children)]]) if lie.children else None
    struct.dictionary = nested[-1] if lie.dictionary else None
    owner = lie.owner and lie.owner()
    struct.private_data = _number(_Record(log.arrays, str(lie.name), memory, nested, Array.release.offset, owner))
    struct.release = release_array
    for key, value in lie.array.items():
        setattr(struct, key, value)


_FIRST_RELEASE = {
    Schema: Schema.release.offset,
    Array: Array.release.offset,
    DeviceArray: Array.release.offset,
    Stream: Stream.release.offset,
    DeviceStream: DeviceStream.release.offset,
}


def _destructor(kind: type[ctypes.Structure]) -> int:
    def destroy(
        capsule: int,
        *,
        pointer: Any = _pointer,
        name: bytes = NAMES[kind],
        where: int = _FIRST_RELEASE[kind],
        at: Any = _ptr.from_address,
        call: Any = Release,
    ) -> None:
        address = pointer(capsule, name)
        own = at(address + where).value
        if own:
            call(own)(address)

    return address_of(_Destructor(destroy))


_DESTRUCTORS = {kind: _destructor(kind) for kind in NAMES}


def wrap(struct: Any) -> Any:
    """Return a capsule of a struct, whose destructor releases it if nobody did."""
    kind = type(struct)
    return _new(keep(struct), NAMES[kind], _DESTRUCTORS[kind])


def schema(lie: Lie, log: Log) -> Any:
    struct = Schema()
    fill_schema(struct, lie, log)
    return wrap(struct)


def array(lie: Lie, log: Log) -> Any:
    struct = Array()
    fill_array(struct, lie, log)
    return wrap(struct)


def device_array(lie: Lie, log: Log, device: tuple[int, int] = (1, -1), event: int | None = None) -> Any:
    struct = DeviceArray()
    fill_array(struct.array, lie, log)
    struct.device_type, struct.device_id = device
    struct.sync_event = event
    return wrap(struct)


@dataclass
class Script:
    """What a stream answers.

    A chunk is a `Lie`, an error code, an exception that the callback raises, or None for the end. `message` is what
    `get_last_error` says, None for NULL. `device` makes it a stream of device arrays.
    """

    type: Any
    chunks: list[Any]
    message: bytes | None = b"the disk is gone"
    device: int | None = None
    stream: dict[str, Any] = field(default_factory=dict)  # written over the struct last
    event: int | None = None  # address of what each chunk of a device waits for


def _answer(given: Any, out: int, script: Script, log: Log) -> int:
    if isinstance(given, int):
        return given
    if isinstance(given, BaseException):
        raise given
    if given is not None:
        fill_array(Array.from_address(out), given, log)
        if script.device is not None:
            whole = DeviceArray.from_address(out)
            whole.device_type, whole.device_id = script.device, -1 if script.device == 1 else 0
            whole.sync_event = script.event
    else:
        Array.from_address(out).release = None
    return 0


def stream(script: Script, log: Log) -> Any:
    answers = iter(script.chunks)
    message = None if script.message is None else text(script.message)

    def get_schema(_: int, out: int) -> int:
        log.calls["get_schema"] += 1
        if not isinstance(script.type, Lie):
            return _answer(script.type, out, script, log) if script.type is not None else 0
        fill_schema(Schema.from_address(out), script.type, log)
        return 0

    def get_next(_: int, out: int) -> int:
        log.calls["get_next"] += 1
        return _answer(next(answers, None), out, script, log)

    def get_last_error(_: int) -> int | None:
        log.calls["get_last_error"] += 1
        return message

    struct: Any = Stream() if script.device is None else DeviceStream()

    def release(address: int, at: Any = _ptr.from_address, own: int = type(struct).release.offset) -> None:
        log.streams += 1
        at(address + own).value = None

    struct.get_schema, struct.get_next = address_of(Fill(get_schema)), address_of(Fill(get_next))
    struct.get_last_error, struct.release = address_of(Text(get_last_error)), address_of(Release(release))
    if script.device is not None:
        struct.device_type = script.device
    for key, value in script.stream.items():
        setattr(struct, key, value)
    return wrap(struct)
