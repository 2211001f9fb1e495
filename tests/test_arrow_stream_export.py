"""Arrow streams out, read as a consumer in C would: functions called through the struct, at the offsets of `abi.h`."""

import ctypes
import dis
import gc
import struct
import threading
import tracemalloc
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import pytest

from buflend.shared import CPU, Device, arrow_export, arrow_release, arrow_stream_export, callback, dlpack_light
from buflend.shared.arrow_c import NULLABLE, ORDERED, Data, Field
from buflend.shared.arrow_stream_export import device_stream_capsule, stream_capsule

from .only import Owner

pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
Get = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
GetError = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

SCHEMA, ARRAY, DEVICE_ARRAY = 72, 80, 128  # sizes
RELEASE_OF_SCHEMA, RELEASE_OF_ARRAY = 56, 64  # offsets
EINVAL, EIO = 22, 5
GARBAGE = 0xA5

NUMBERS = Field("l", "x", NULLABLE)
TABLE = Field("+s", children=(NUMBERS, Field("c", "y", ORDERED, dictionary=Field("u"))))


@pytest.fixture(autouse=True)
def _all_is_released() -> Iterator[None]:
    arrow_export.flush()
    arrow_stream_export._errors.clear()  # by address: another test's stream may have failed there, and never ended
    yield
    arrow_export.flush()
    gc.collect()
    assert not arrow_export._live, "something was not released"
    assert not arrow_release._blocks, "a capsule was not destroyed"


def word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def numbers(returned: list[int], *values: int) -> Data:
    owner = Owner(returned, struct.pack(f"={len(values)}q", *values))
    return Data(len(values), (None, (owner.address, owner)))


def release(address: int, field: int) -> None:
    Release(word(address + field))(address)


class Consumer:
    """A stream that was moved out of its capsule, as is specified, into memory of its own."""

    NAME, FIRST, SIZE, CHUNK = b"arrow_array_stream", 0, 40, ARRAY

    def __init__(self, capsule: object) -> None:
        source = pointer(capsule, self.NAME)
        self.memory = ctypes.create_string_buffer(ctypes.string_at(source, self.SIZE), self.SIZE)
        self.address = ctypes.addressof(self.memory)
        ctypes.memset(source + self.FIRST + 24, 0, 8)

    def function(self, i: int) -> int:
        return word(self.address + self.FIRST + 8 * i)

    def schema(self) -> tuple[int, Any]:
        out = ctypes.create_string_buffer(bytes([GARBAGE]) * SCHEMA, SCHEMA)
        return Get(self.function(0))(self.address, ctypes.addressof(out)), out

    def next(self) -> tuple[int, Any]:
        """Return the status and the memory, which held garbage before."""
        out = ctypes.create_string_buffer(bytes([GARBAGE]) * self.CHUNK, self.CHUNK)
        return Get(self.function(1))(self.address, ctypes.addressof(out)), out

    def error(self) -> bytes | None:
        at = GetError(self.function(2))(self.address)
        return ctypes.string_at(at) if at else None

    def release(self) -> None:
        Release(self.function(3))(self.address)


class DeviceConsumer(Consumer):
    NAME, FIRST, SIZE, CHUNK = b"arrow_device_array_stream", 8, 48, DEVICE_ARRAY


def values_of(array: Any) -> list[int]:
    length, null_count, offset, n_buffers, n_children, buffers = struct.unpack_from("=5qQ", array)
    assert (null_count, offset, n_buffers, n_children) == (0, 0, 2, 0)
    assert word(buffers) == 0
    return list(struct.unpack(f"={length}q", ctypes.string_at(word(buffers + 8), 8 * length)))


def test_chunks_one_by_one_and_then_the_end() -> None:
    returned: list[int] = []
    stream = Consumer(stream_capsule(NUMBERS, [numbers(returned, 1, 2, 3), numbers(returned, -4)]))
    status, first = stream.next()
    assert (status, values_of(first)) == (0, [1, 2, 3])
    status, second = stream.next()
    assert (status, values_of(second)) == (0, [-4])
    for _ in range(2):
        assert [stream.next()[0], bytes(stream.next()[1])] == [0, bytes(ARRAY)]
    assert stream.error() is None
    stream.release()
    assert stream.function(3) == 0
    assert returned == [], "chunks that were handed over outlive the stream"
    assert values_of(first) == [1, 2, 3]
    release(ctypes.addressof(first), RELEASE_OF_ARRAY)
    assert returned == [1]
    release(ctypes.addressof(second), RELEASE_OF_ARRAY)
    assert returned == [1, 1]


def test_the_schema_any_number_of_times() -> None:
    stream = Consumer(stream_capsule(TABLE._replace(metadata=struct.pack("=3i", 1, 0, 0)), []))
    seen = []
    for _ in range(3):
        status, schema = stream.schema()
        assert status == 0
        fmt, name, metadata, flags, n_children, children, dictionary = struct.unpack_from("=3Q2q2Q", schema)
        assert (ctypes.string_at(fmt), ctypes.string_at(name), flags, n_children) == (b"+s", b"", 0, 2)
        assert struct.unpack("=3i", ctypes.string_at(metadata, 12)) == (1, 0, 0)
        assert dictionary == 0
        for i, expected in enumerate([(b"l", b"x", NULLABLE), (b"c", b"y", ORDERED)]):
            fmt, name, metadata, flags, n_children = struct.unpack(
                "=3Q2q", ctypes.string_at(word(children + 8 * i), 40)
            )
            assert (ctypes.string_at(fmt), ctypes.string_at(name), flags) == expected
            assert (metadata, n_children) == (0, 0)
        inner = word(word(children + 8) + 48)
        assert ctypes.string_at(word(inner)) == b"u"
        seen.append(schema)
    stream.release()
    numbers_written = {struct.unpack_from("=Q", schema, 64)[0] for schema in seen}
    assert len(numbers_written) == 3, "each has its own private_data"
    for schema in seen:
        release(ctypes.addressof(schema), RELEASE_OF_SCHEMA)
        assert struct.unpack_from("=Q", schema, RELEASE_OF_SCHEMA) == (0,)


def test_a_stream_without_chunks() -> None:
    stream = Consumer(stream_capsule(NUMBERS, []))
    status, end = stream.next()
    assert (status, bytes(end)) == (0, bytes(ARRAY))
    stream.release()


def test_dropped_half_way() -> None:
    returned: list[int] = []
    stream = Consumer(stream_capsule(NUMBERS, [numbers(returned, i) for i in range(3)]))
    _, first = stream.next()
    stream.release()
    assert returned == [1, 1], "the two that were not handed over"
    assert values_of(first) == [0]
    release(ctypes.addressof(first), RELEASE_OF_ARRAY)
    assert returned == [1, 1, 1]


def test_a_capsule_that_nobody_takes() -> None:
    returned: list[int] = []
    capsule = stream_capsule(NUMBERS, [numbers(returned, i) for i in range(3)])
    assert returned == []
    del capsule
    assert returned == [], "it is parked"
    arrow_export.flush()
    assert returned == [1, 1, 1]


def test_released_through_the_struct_in_the_capsule() -> None:
    returned: list[int] = []
    capsule = stream_capsule(NUMBERS, [numbers(returned, 1)])
    release(pointer(capsule, b"arrow_array_stream"), 24)
    assert returned == [1]
    del capsule
    arrow_export.flush()
    assert returned == [1]


def test_release_twice_and_of_a_copy_is_once() -> None:
    returned: list[int] = []
    stream = Consumer(stream_capsule(NUMBERS, [numbers(returned, 1)]))
    function = Release(stream.function(3))
    copy = ctypes.create_string_buffer(bytes(stream.memory), 40)
    for address in (stream.address, stream.address, ctypes.addressof(copy)):
        function(address)
    assert returned == [1]
    assert struct.unpack_from("=Q", copy, 24) == (0,)


def test_callbacks_of_a_released_stream_and_of_nothing() -> None:
    stream = Consumer(stream_capsule(NUMBERS, []))
    get_schema, get_next = (Get(stream.function(i)) for i in range(2))
    get_error, end = GetError(stream.function(2)), Release(stream.function(3))
    out = ctypes.create_string_buffer(bytes([GARBAGE]) * ARRAY, ARRAY)
    at = ctypes.addressof(out)
    assert get_schema(stream.address, None) == get_next(stream.address, None) == EINVAL
    stream.release()
    for address in (stream.address, None):
        assert get_schema(address, at) == EINVAL
        assert get_next(address, at) == EINVAL
        assert get_error(address) is None
        end(address)
    assert bytes(out) == bytes([GARBAGE]) * ARRAY


def test_an_error_within_a_callback_is_told_until_the_next() -> None:
    returned: list[int] = []
    stream = Consumer(stream_capsule(NUMBERS, [numbers(returned, 5)]))
    state = arrow_export._live[word(stream.address + 32)]
    schema, state.schema = state.schema, None
    assert stream.error() is None
    assert stream.schema()[0] == EIO
    assert [stream.error(), stream.error()] == [b"TypeError", b"TypeError"]
    state.schema = schema
    status, array = stream.next()
    assert (status, stream.error()) == (0, None)
    assert values_of(array) == [5]
    release(ctypes.addressof(array), RELEASE_OF_ARRAY)
    del state
    stream.release()


@pytest.mark.parametrize(
    ("field", "data"),
    [
        (Field("l", "\ud800"), []),
        (NUMBERS, [Data(2**63, (None, None))]),
        (NUMBERS, [Data(1, ((-1, None),))]),
        (TABLE, [Data(1, (None,), children=(Data(1, (("text", None),)),))]),
    ],
)
def test_what_cannot_be_converted_is_told_at_once(field: Field, data: list[Data]) -> None:
    returned: list[int] = []
    with pytest.raises((UnicodeEncodeError, struct.error, OverflowError, TypeError)) as refused:
        stream_capsule(field, [numbers(returned, 1), *data])
    del refused
    gc.collect()
    assert returned == [1]


def test_an_error_of_the_chunks_themselves_is_told_as_it_is() -> None:
    def chunks() -> Iterator[Data]:
        yield numbers([], 1)
        raise KeyError("of the caller")

    with pytest.raises(KeyError, match="of the caller"):
        stream_capsule(NUMBERS, chunks())  # type: ignore[arg-type]


@pytest.mark.parametrize("device", [CPU, Device(2, 1), Device(13, 0), Device(99, 3)])  # type: ignore[arg-type]
def test_a_stream_of_a_device(device: Device) -> None:
    returned: list[int] = []
    chunks = [numbers(returned, 1, 2), numbers(returned, 3)]
    stream = DeviceConsumer(device_stream_capsule(NUMBERS, chunks, device))
    del chunks
    assert struct.unpack_from("=i", stream.memory) == (device[0],)
    status, schema = stream.schema()
    assert (status, ctypes.string_at(struct.unpack_from("=Q", schema)[0])) == (0, b"l")
    release(ctypes.addressof(schema), RELEASE_OF_SCHEMA)
    status, array = stream.next()
    assert (status, values_of(array)) == (0, [1, 2])
    ordinal, kind, event, *reserved = struct.unpack_from("=qi4xQ3q", array, ARRAY)
    assert (kind, ordinal) == (device if device != CPU else (1, -1))
    assert (event, reserved) == (0, [0, 0, 0])
    release(ctypes.addressof(array), RELEASE_OF_ARRAY)
    assert returned == [1]
    stream.release()
    assert returned == [1, 1]
    assert stream.next()[0] == EINVAL

    stream = DeviceConsumer(device_stream_capsule(NUMBERS, [], device))
    assert bytes(stream.next()[1]) == bytes(DEVICE_ARRAY)
    stream.release()


def test_children_of_a_chunk_are_moved_out() -> None:
    returned: list[int] = []
    chunk = Data(2, (None,), children=(numbers(returned, 1, 2), numbers(returned, 3, 4)))
    stream = Consumer(stream_capsule(Field("+s", children=(NUMBERS, NUMBERS)), [chunk]))
    del chunk
    _, array = stream.next()
    stream.release()
    child = word(word(ctypes.addressof(array) + 48) + 8)
    moved = ctypes.create_string_buffer(ctypes.string_at(child, ARRAY), ARRAY)
    ctypes.memset(child + RELEASE_OF_ARRAY, 0, 8)
    release(ctypes.addressof(array), RELEASE_OF_ARRAY)
    assert returned == [1]
    assert values_of(moved) == [3, 4]
    release(ctypes.addressof(moved), RELEASE_OF_ARRAY)
    assert returned == [1, 1]


def test_streams_on_many_threads() -> None:
    returned: list[int] = []
    handed: list[Any] = []

    def work() -> None:
        for i in range(100):
            stream = Consumer(stream_capsule(NUMBERS, [numbers(returned, i), numbers(returned, i + 1), numbers([], 0)]))
            for expected in (i, i + 1):
                _, array = stream.next()
                assert values_of(array) == [expected]
                handed.append(array)
            stream.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handed) == 800
    assert returned == []
    for array in handed:
        release(ctypes.addressof(array), RELEASE_OF_ARRAY)
    assert returned == [1] * 800


def test_20000_exports_do_not_grow() -> None:
    returned: list[int] = []
    data = numbers(returned, 1)

    def run(count: int) -> None:
        for _ in range(count):
            stream = Consumer(stream_capsule(NUMBERS, [data]))
            _, array = stream.next()
            release(ctypes.addressof(array), RELEASE_OF_ARRAY)
            stream.release()
            arrow_export.schema_capsule(NUMBERS)
            arrow_export.array_capsule(data)

    run(1000)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        run(20_000)
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
    assert returned == []


def code_of(module: Any, name: str) -> list[CodeType]:
    """Return the code of every function of that name that a factory of the module makes, with what it contains."""
    found = []
    todo: list[Any] = [value.__code__ for value in vars(module).values() if isinstance(value, FunctionType)]
    while todo:
        code = todo.pop()
        inner = [const for const in code.co_consts if isinstance(const, CodeType)]
        todo += inner
        if code.co_name == name:
            found += [code, *inner]
    return found


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (arrow_release, "release"),
        (arrow_release, "destructor"),
        (arrow_release, "_unpark"),
        (arrow_export, "fill"),
        *((arrow_stream_export, name) for name in ("get", "release", "take", "_take_schema")),
    ],
)
def test_what_runs_at_exit_looks_up_no_name(module: Any, name: str) -> None:
    code = code_of(module, name)
    assert code
    found = [i.argval for each in code for i in dis.get_instructions(each) if i.opname in {"LOAD_GLOBAL", "LOAD_NAME"}]
    assert found == []


@pytest.mark.parametrize("module", [arrow_release, arrow_stream_export, dlpack_light])
def test_what_is_pending_is_taken_before_each_callback(module: Any) -> None:
    for name in ("_release_of", "_destructor_of", "_deleter_of"):
        for code in code_of(module, name):
            if code.co_name == name:
                assert "taking" in code.co_names
    first = {"begin": ["pending", "UNARY_NEGATIVE"], "get": ["clear", "CALL"]}
    for code in [*code_of(callback, "begin"), *code_of(module, "get")]:
        if code.co_name in first:
            steps = [i for i in dis.get_instructions(code) if i.opname in {"LOAD_FAST", "CALL", "UNARY_NEGATIVE"}]
            assert [steps[0].argval, steps[1].opname] == first[code.co_name]
