"""Arrow out, read as a consumer in C would: every field of the structs, at the offsets of `abi.h`.

Each test runs both ways: through pyarrow where it is loaded, and by callbacks of our own where it is not.
"""

import ctypes
import struct
import sys
import weakref
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from buflend.maximal import Buffer, Column
from buflend.shared import STATIC, arrow_export
from buflend.shared.arrow_c import Data, Field

from .only import CONTENT, Owner, lend, only

pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
name_of = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", ctypes.pythonapi))
Release = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

NULLABLE = 2
RELEASE_OF_SCHEMA, RELEASE_OF_ARRAY = 56, 64  # offsets
SIZE_OF_ARRAY = 80


class Schema(NamedTuple):
    """The fields of an ArrowSchema, in its order."""

    format: bytes
    name: bytes | None
    metadata: int
    flags: int
    n_children: int
    children: int
    dictionary: int
    release: int


class Array(NamedTuple):
    """The fields of an ArrowArray, in its order, with its buffers read."""

    length: int
    null_count: int
    offset: int
    buffers: tuple[int, ...]
    n_children: int
    children: int
    dictionary: int
    release: int


def schema_at(address: int) -> Schema:
    fmt, name, *rest = struct.unpack("=QQQqqQQQ", ctypes.string_at(address, 64))
    return Schema(ctypes.string_at(fmt), ctypes.string_at(name) if name else None, *rest)


def array_at(address: int) -> Array:
    length, null_count, offset, n_buffers, n_children, buffers, children, dictionary, release = struct.unpack(
        "=qqqqqQQQQ", ctypes.string_at(address, 72)
    )
    pointers = struct.unpack(f"={n_buffers}Q", ctypes.string_at(buffers, 8 * n_buffers))
    return Array(length, null_count, offset, pointers, n_children, children, dictionary, release)


def release(address: int, field: int) -> None:
    """Call a struct's release, as a consumer does that is done."""
    Release(ctypes.c_uint64.from_address(address + field).value)(address)


@pytest.fixture(params=[pytest.param("pyarrow", marks=pytest.mark.peers), "callbacks"], autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    arrow_export.flush()
    if request.param == "pyarrow":
        pytest.importorskip("pyarrow")
    else:
        for name in [name for name in sys.modules if name == "pyarrow" or name.startswith("pyarrow.")]:
            monkeypatch.delitem(sys.modules, name)
    yield request.param
    arrow_export.flush()
    assert not arrow_export._live, "something was not released"


def flush() -> None:
    arrow_export.flush()


def check_schema(capsule: object) -> None:
    assert name_of(capsule) == b"arrow_schema"
    schema = schema_at(pointer(capsule, b"arrow_schema"))
    assert schema.format == b"C"
    assert schema.name in {b"", None}
    assert (schema.metadata, schema.n_children, schema.dictionary) == (0, 0, 0)
    assert schema.release


def check_array(address: int, ptr: int, length: int = 64) -> None:
    array = array_at(address)
    assert (array.length, array.null_count, array.offset) == (length, 0, 0)
    assert array.buffers == (0, ptr)
    assert (array.n_children, array.dictionary) == (0, 0)
    assert array.release


class TestStructs:
    def test_schema(self) -> None:
        buffer, _ = lend()
        capsule = buffer.__arrow_c_schema__()
        check_schema(capsule)
        schema = schema_at(pointer(capsule, b"arrow_schema"))
        assert schema.name == b""
        assert not schema.flags & NULLABLE

    def test_schema_of_memory_on_a_device(self) -> None:
        check_schema(Buffer(0x1000, 8, owner=STATIC, device=(2, 0)).__arrow_c_schema__())  # type: ignore[arg-type]

    def test_array(self) -> None:
        buffer, returned = lend()
        schema, array = buffer.__arrow_c_array__()
        check_schema(schema)
        assert name_of(array) == b"arrow_array"
        address = pointer(array, b"arrow_array")
        check_array(address, buffer.ptr)
        del buffer
        assert ctypes.string_at(array_at(address).buffers[1], 64) == CONTENT
        assert not returned
        del array
        flush()
        assert returned == [1]

    def test_the_schema_of_an_array_is_not_nullable(self) -> None:
        buffer, _ = lend()
        for make in (buffer.__arrow_c_array__, buffer.__arrow_c_device_array__):
            schema, _ = make()
            assert not schema_at(pointer(schema, b"arrow_schema")).flags & NULLABLE

    @pytest.mark.parametrize("device", [(1, 0), (3, 0), (2, 1), (10, 2), (13, 0), (14, 0), (99, 3)])
    def test_device_array(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        schema, array = buffer.__arrow_c_device_array__()
        check_schema(schema)
        assert name_of(array) == b"arrow_device_array"
        address = pointer(array, b"arrow_device_array")
        check_array(address, buffer.ptr)
        ordinal, kind, event, *reserved = struct.unpack("=qi4xQ3q", ctypes.string_at(address + SIZE_OF_ARRAY, 48))
        assert (kind, ordinal) == (device if device != (1, 0) else (1, -1))
        assert (event, reserved) == (0, [0, 0, 0])
        del buffer
        assert not returned
        del array
        flush()
        assert returned == [1]

    @pytest.mark.parametrize("device", [(1, 0), (3, 0), (2, 1)])
    def test_device_array_of_a_column(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        _, array = Column("C", 64, data=buffer).__arrow_c_device_array__()
        check_array(pointer(array, b"arrow_device_array"), buffer.ptr)
        del buffer
        assert not returned
        del array
        flush()
        assert returned == [1]

    @pytest.mark.parametrize("ptr", [0, 0x1000])
    def test_nothing(self, ptr: int) -> None:
        buffer = Buffer(ptr, 0, owner=STATIC)
        _, array = buffer.__arrow_c_array__()
        found = array_at(pointer(array, b"arrow_array"))
        assert (found.length, found.null_count, found.offset, len(found.buffers)) == (0, 0, 0, 2)
        assert found.buffers[0] == 0

    def test_an_array_of_memory_on_a_device_is_not_offered(self) -> None:
        buffer = Buffer(0x1000, 8, owner=STATIC, device=(2, 0))  # type: ignore[arg-type]
        assert not hasattr(buffer, "__arrow_c_array__")
        assert not hasattr(buffer, "__arrow_array__")
        assert hasattr(buffer, "__arrow_c_device_array__")

    def test_each_call_makes_capsules_of_its_own(self) -> None:
        buffer, _ = lend()
        pairs = [buffer.__arrow_c_array__() for _ in range(2)]
        assert len({pointer(pair[0], b"arrow_schema") for pair in pairs}) == 2
        assert len({pointer(pair[1], b"arrow_array") for pair in pairs}) == 2


class TestArguments:
    def test_options_that_are_none(self) -> None:
        buffer, _ = lend()
        assert len(buffer.__arrow_c_device_array__(None, stream=None, anything=None)) == 2

    @pytest.mark.parametrize("device", [(1, 0), (2, 0)])
    def test_options_that_are_not_known(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        with pytest.raises(NotImplementedError, match="anything"):
            buffer.__arrow_c_device_array__(anything=1)
        del buffer
        assert returned == [1]

    def test_a_requested_schema_of_bytes(self) -> None:
        buffer, _ = lend()
        for make, name in (
            (buffer.__arrow_c_array__, b"arrow_array"),
            (buffer.__arrow_c_device_array__, b"arrow_device_array"),
        ):
            requested = arrow_export.schema_capsule(Field("C"))
            schema, array = make(requested_schema=requested)
            check_schema(schema)
            check_array(pointer(array, name), buffer.ptr)

    def test_another_requested_schema_is_met_or_left_aside(self, way: str) -> None:
        buffer, _ = lend()
        schema, array = buffer.__arrow_c_array__(arrow_export.schema_capsule(Field("s")))
        wanted = b"s" if way == "pyarrow" else b"C"  # pyarrow casts; best effort by the specification
        assert schema_at(pointer(schema, b"arrow_schema")).format == wanted
        found = array_at(pointer(array, b"arrow_array"))
        if way == "pyarrow":
            assert ctypes.string_at(found.buffers[1], 128) == struct.pack("=64h", *CONTENT)
        else:
            assert found.buffers[1] == buffer.ptr


class TestRelease:
    def test_by_the_consumer(self) -> None:
        buffer, returned = lend()
        schema, array = buffer.__arrow_c_array__()
        address = pointer(array, b"arrow_array")
        del buffer
        release(address, RELEASE_OF_ARRAY)
        assert returned == [1]
        assert array_at(address).release == 0
        release(pointer(schema, b"arrow_schema"), RELEASE_OF_SCHEMA)
        assert ctypes.c_uint64.from_address(pointer(schema, b"arrow_schema") + RELEASE_OF_SCHEMA).value == 0
        del schema, array
        flush()
        assert returned == [1]

    @pytest.mark.parametrize("way", ["callbacks"], indirect=True)
    def test_twice_is_once(self) -> None:
        buffer, returned = lend()
        _, array = buffer.__arrow_c_array__()
        address = pointer(array, b"arrow_array")
        del buffer
        function = Release(array_at(address).release)
        function(address)
        function(address)
        assert returned == [1]
        assert array_at(address).release == 0

    def test_a_struct_that_was_moved(self) -> None:
        buffer, returned = lend()
        _, array = buffer.__arrow_c_array__()
        source = pointer(array, b"arrow_array")
        del buffer
        moved = ctypes.create_string_buffer(ctypes.string_at(source, SIZE_OF_ARRAY), SIZE_OF_ARRAY)
        ctypes.c_uint64.from_address(source + RELEASE_OF_ARRAY).value = 0
        del array  # its destructor has nothing to release
        flush()
        assert not returned
        address = ctypes.addressof(moved)
        assert ctypes.string_at(array_at(address).buffers[1], 64) == CONTENT
        release(address, RELEASE_OF_ARRAY)
        assert returned == [1]
        assert ctypes.c_uint64.from_address(address + RELEASE_OF_ARRAY).value == 0

    @pytest.mark.parametrize("way", ["callbacks"], indirect=True)
    def test_a_child_that_was_moved_outlives_its_parent(self) -> None:
        returned: list[int] = []
        owners = [Owner(returned, CONTENT) for _ in range(2)]
        children = tuple(Data(64, (None, (owner.address, owner))) for owner in owners)
        capsule = arrow_export.array_capsule(Data(64, (None,), children=children))
        del owners, children
        address = pointer(capsule, b"arrow_array")
        found = array_at(address)
        assert (found.n_children, found.buffers) == (2, (0,))
        (second,) = struct.unpack("=Q", ctypes.string_at(found.children + 8, 8))
        moved = ctypes.create_string_buffer(ctypes.string_at(second, SIZE_OF_ARRAY), SIZE_OF_ARRAY)
        ctypes.c_uint64.from_address(second + RELEASE_OF_ARRAY).value = 0
        del capsule
        flush()
        assert returned == [1], "the parent, and the child that stayed"
        assert ctypes.string_at(array_at(ctypes.addressof(moved)).buffers[1], 64) == CONTENT
        release(ctypes.addressof(moved), RELEASE_OF_ARRAY)
        assert returned == [1, 1]

    @pytest.mark.parametrize("way", ["callbacks"], indirect=True)
    def test_a_dictionary_is_released(self) -> None:
        returned: list[int] = []
        owners = [Owner(returned, CONTENT) for _ in range(2)]
        values, codes = (Data(64, (None, (owner.address, owner))) for owner in owners)
        capsule = arrow_export.array_capsule(codes._replace(dictionary=values))
        schema = arrow_export.schema_capsule(Field("c", dictionary=Field("C")))
        del owners, values, codes
        inner = schema_at(pointer(schema, b"arrow_schema")).dictionary
        assert schema_at(inner).format == b"C"
        assert array_at(array_at(pointer(capsule, b"arrow_array")).dictionary).length == 64
        del capsule, schema
        flush()
        assert returned == [1, 1]

    def test_a_thousand_that_nobody_takes(self) -> None:
        buffer, returned = lend()
        for _ in range(1000):
            buffer.__arrow_c_array__()
            buffer.__arrow_c_device_array__()
        del buffer
        flush()
        assert returned == [1]


@pytest.mark.peers
class TestConsumers:
    @pytest.mark.parametrize("protocol", ["arrow_c_array", "arrow_c_device_array"])
    def test_pyarrow(self, protocol: str, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        buffer, returned = lend()
        capsules = getattr(only(buffer, protocol), f"__{protocol}__")()
        address = buffer.ptr
        del buffer
        if way == "callbacks":
            monkeypatch.undo()  # pyarrow is there again
        pa: Any = pytest.importorskip("pyarrow")
        take = {
            "arrow_c_array": pa.Array._import_from_c_capsule,
            "arrow_c_device_array": pa.Array._import_from_c_device_capsule,
        }[protocol]
        array = take(*capsules)
        array.validate(full=True)
        assert (array.type, array.to_pylist(), array.buffers()[1].address) == (pa.uint8(), list(CONTENT), address)
        with pytest.raises(pa.ArrowInvalid):
            take(*capsules)
        del capsules
        flush()
        part = array[10:20]
        del array
        assert not returned
        assert part.to_pylist() == list(CONTENT[10:20])
        del part
        assert returned == [1]

    @pytest.mark.parametrize("name", ["nanoarrow", "polars", "arro3.core"])
    def test_others(self, name: str) -> None:
        library: Any = pytest.importorskip(name)
        buffer, returned = lend()
        producer = only(buffer, "arrow_c_array")
        del buffer
        if name == "nanoarrow":
            taken = library.Array(producer)
            values = taken.to_pylist()
        elif name == "polars":
            taken = library.Series(producer)
            values = taken.to_list()
        else:
            taken = library.Array(producer)
            values = taken.to_pylist()
        assert values == list(CONTENT) or [int(str(value)) for value in values] == list(CONTENT)
        del producer
        flush()
        assert not returned
        del taken
        flush()
        assert returned == [1]

    @pytest.mark.parametrize("way", ["pyarrow"], indirect=True)
    def test_the_type_that_pyarrow_is_asked_for(self) -> None:
        pa: Any = pytest.importorskip("pyarrow")
        buffer, returned = lend()
        assert pa.array(buffer, type=pa.int16()).to_pylist() == list(CONTENT)
        assert pa.array(buffer, type=pa.uint8()).buffers()[1].address == buffer.ptr
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("way", ["pyarrow"], indirect=True)
    def test_an_array_of_pyarrow_holds_the_owner_not_the_buffer(self) -> None:
        pa: Any = pytest.importorskip("pyarrow")
        buffer, returned = lend()
        alive = weakref.ref(buffer)
        array = pa.array(buffer)
        del buffer
        assert alive() is None
        assert not returned
        del array
        assert returned == [1]
