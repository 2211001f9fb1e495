"""Memory in, by the array interfaces, the buffer protocol and `ptr` + `bufsize`: each alone, right and wrong.

Expected values are those of the specifications: NumPy, "The array interface protocol", version 3; Numba, "CUDA Array
Interface (Version 3)"; PEP 3118 and PEP 688.
"""

import array
import ctypes
import gc
import math
import mmap
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from buflend.maximal import Native, as_buffer, as_memoryview, as_ndarray
from buflend.shared import CPU, CopyRequiredError, DeviceError, ProducerError
from tests import cuda_runtime
from tests.capsules import refusal

NOWHERE = 0x10  # an address that cannot be read


class Memory:
    """64 bytes of the values 0 to 63, and whether they are there."""

    def __init__(self) -> None:
        self.bytes = (ctypes.c_ubyte * 64)(*range(64))
        self.ptr = ctypes.addressof(self.bytes)


class Interface:
    """An object with `__array_interface__` and nothing else; it owns what it describes."""

    def __init__(self, **fields: Any) -> None:
        self.memory = Memory()
        self.asked = 0
        self.fields = {"shape": (64,), "typestr": "|u1", "data": (self.memory.ptr, False), "version": 3} | fields
        self.fields = {key: value for key, value in self.fields.items() if value is not ...}

    @property
    def __array_interface__(self) -> dict[str, Any]:
        self.asked += 1
        return dict(self.fields)


class Cuda(Interface):
    """An object with `__cuda_array_interface__` and nothing else."""

    @property
    def __array_interface__(self) -> dict[str, Any]:
        raise AttributeError("only the other one")

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        self.asked += 1
        return dict(self.fields)


def raising(name: str, error: BaseException) -> Any:
    """Return an object whose property of this name raises."""

    def get(_: object) -> Any:
        raise error

    return type("Raising", (), {name: property(get)})()


BOTH = pytest.mark.parametrize("kind", [Interface, Cuda])


class TestArrayInterface:
    def test_by_address(self) -> None:
        obj = Interface()
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize, buffer.device, buffer.readonly) == (obj.memory.ptr, 64, CPU, False)
        assert buffer.owner is obj
        assert buffer.native is Native.NONE
        assert obj.asked == 1, "a property may answer anew each time"
        as_ndarray(buffer)[3] = 99
        assert obj.memory.bytes[3] == 99

    def test_the_object_is_kept_and_returned(self) -> None:
        obj = Interface()
        died = weakref.ref(obj)
        view = as_ndarray(obj, "int16")
        del obj
        assert died() is not None
        assert view.view("u1").tolist() == list(range(64))
        del view
        assert died() is None

    def test_a_temporary_producer_stays(self) -> None:
        assert as_ndarray(Interface())[:3].tolist() == [0, 1, 2]
        buffer = as_buffer(Interface())
        gc.collect()
        assert as_ndarray(buffer).tolist() == list(range(64))

    @pytest.mark.parametrize("access", [True, False])
    def test_access(self, access: bool) -> None:
        obj = Interface()
        obj.fields["data"] = (obj.memory.ptr, access)
        assert as_buffer(obj).readonly is access
        assert as_ndarray(obj).flags.writeable is not access

    @BOTH
    @pytest.mark.parametrize(
        ("shape", "strides"),
        [
            ((4, 4), ...),
            ((4, 4), None),
            ((4, 4), (16, 4)),
            ((4, 4), (4, 16)),
            ((4, 4, 1), (16, 4, 999)),
            ((1, 16), (-1, 4)),
            ((2, 4, 2), (8, 16, 4)),
            ((16,), (4,)),
            ((), ()),
            ((), None),
            ((1,), (3,)),
        ],
    )
    def test_one_range(self, kind: type[Interface], shape: tuple[int, ...], strides: Any) -> None:
        obj = kind(shape=shape, strides=strides, typestr="<f4")
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize) == (obj.memory.ptr, 4 * math.prod(shape))

    @BOTH
    @pytest.mark.parametrize(
        ("shape", "strides"),
        [((4,), (8,)), ((4,), (-4,)), ((4,), (0,)), ((2, 2), (16, 4)), ((2, 2), (4, 4)), ((4,), (6,)), ((4,), (1,))],
    )
    def test_strided(self, kind: type[Interface], shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        text = refusal(CopyRequiredError, kind(shape=shape, strides=strides, typestr="<f4"))
        assert "contiguous" in text
        assert "copy" in text

    @BOTH
    @pytest.mark.parametrize("address", [0, 1, 2**64 - 1])
    @pytest.mark.parametrize(("shape", "strides"), [((0,), None), ((0, 3), (7, -2)), ((2**62, 0), None)])
    def test_nothing(self, kind: type[Interface], shape: tuple[int, ...], strides: Any, address: int) -> None:
        assert as_buffer(kind(shape=shape, strides=strides, typestr="<f8", data=(address, False))).bufsize == 0

    @BOTH
    @pytest.mark.parametrize(
        ("typestr", "size"),
        [
            ("|b1", 1),
            ("|i1", 1),
            ("|u1", 1),
            ("<i2", 2),
            (">i4", 4),
            ("=u8", 8),
            ("<f2", 2),
            ("<f8", 8),
            (">f16", 16),
            ("<c8", 8),
            ("<c16", 16),
            ("|S5", 5),
            ("|V7", 7),
            ("<U3", 12),
            ("<V2", 2),
            ("<m8", 8),
            ("<M8", 8),
            ("<M8[ns]", 8),
            ("<m8[D]", 8),
            (">M8[25s]", 8),
        ],
    )
    def test_types(self, kind: type[Interface], typestr: str, size: int) -> None:
        assert as_buffer(kind(shape=(3,), typestr=typestr)).bufsize == 3 * size

    @BOTH
    @pytest.mark.parametrize(
        "typestr",
        [
            ...,
            None,
            "",
            "<",
            "<f",
            "f8",
            "<q8",
            "<fx",
            "<f-8",
            "|O8",
            "|t1",
            b"<f8",
            8,
            ["<", "f", "8"],
            "!f8",
            "<f8,<f8",
        ],
        ids=repr,
    )
    def test_what_is_no_type_of_data(self, kind: type[Interface], typestr: object) -> None:
        assert "['typestr']" in refusal(ProducerError, kind(typestr=typestr))

    @BOTH
    @pytest.mark.parametrize("shape", [..., None, [64], 64, "64", (-1,), (64.0,), (2, None), ("4",)], ids=repr)
    def test_what_is_no_shape(self, kind: type[Interface], shape: object) -> None:
        assert "['shape']" in refusal(ProducerError, kind(shape=shape))

    @BOTH
    def test_no_extent_is_left_out(self, kind: type[Interface]) -> None:
        assert as_buffer(kind(shape=(*[1] * 1023, 64))).bufsize == 64
        assert "1024 extents at most" in refusal(ProducerError, kind(shape=(*[1] * 1024, 64)))

    @BOTH
    @pytest.mark.parametrize("strides", [(1, 1), (), 1, ("1",), (1.0,)], ids=repr)
    def test_what_are_no_strides(self, kind: type[Interface], strides: object) -> None:
        assert "['strides']" in refusal(ProducerError, kind(strides=strides))

    @BOTH
    @pytest.mark.parametrize(
        "data", [(0, False), (-8, False), (None, False), ("1", False), (1.5, False), (64,), (), (1, 2, 3)], ids=repr
    )
    def test_what_is_no_address(self, kind: type[Interface], data: object) -> None:
        assert "['data']" in refusal(ProducerError, kind(data=data))

    @BOTH
    @pytest.mark.parametrize(
        "fields",
        [
            {"shape": (2**62, 2**62)},
            {"shape": (2**63,)},
            {"typestr": f"<V{2**70}"},
            {"data": (2**64 - 1, False)},
            {"data": (2**64, False)},
            {"data": (2**200, False)},
        ],
        ids=str,
    )
    def test_more_than_there_is(self, kind: type[Interface], fields: dict[str, Any]) -> None:
        refusal(ProducerError, kind(**fields))

    @BOTH
    @pytest.mark.parametrize("answer", [None, [], "x", 1, SimpleNamespace(shape=(1,))], ids=repr)
    def test_what_is_no_dict(self, kind: type[Interface], answer: object) -> None:
        name = "__array_interface__" if kind is Interface else "__cuda_array_interface__"
        assert "expected a dict" in refusal(ProducerError, type("Wrong", (), {name: answer})())

    @pytest.mark.parametrize("name", ["__array_interface__", "__cuda_array_interface__"])
    def test_a_property_that_says_it_is_absent(self, name: str) -> None:
        assert "looked for" in refusal(TypeError, raising(name, AttributeError("no")))

    @pytest.mark.parametrize("name", ["__array_interface__", "__cuda_array_interface__"])
    @pytest.mark.parametrize("error", [RuntimeError("driver"), ValueError("driver"), KeyError("driver")], ids=repr)
    def test_a_property_that_fails(self, name: str, error: Exception) -> None:
        with pytest.raises(
            ProducerError, match=f"{name}: the producer raised {type(error).__name__}.*driver"
        ) as caught:
            as_buffer(raising(name, error))
        assert caught.value.__cause__ is error

    @pytest.mark.parametrize("name", ["__array_interface__", "__cuda_array_interface__"])
    def test_a_property_that_fails_does_not_hide_another_protocol(self, name: str) -> None:
        memory = (ctypes.c_ubyte * 4)(1, 2, 3, 4)
        others = {"ptr": ctypes.addressof(memory), "bufsize": 4, "__dlpack_device__": lambda _: (1, 0)}
        kind = type("Other", (type(raising(name, RuntimeError("no driver"))),), others)
        assert as_ndarray(kind()).tolist() == [1, 2, 3, 4]

    @pytest.mark.parametrize("value", [np.float64(1.5), np.int32(7), np.complex128(2)], ids=lambda v: type(v).__name__)
    def test_a_numpy_scalar_is_read_where_it_lies(self, value: Any) -> None:
        assert as_buffer(value).ptr == np.frombuffer(value, "u1").ctypes.data


class TestInterfaceOverAnExporter:
    """`data` may be an object with a buffer, or absent: then the object itself has one."""

    @pytest.mark.parametrize("offset", [..., 0, 4, 8])
    @pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
    def test_offset_and_access(self, kind: Any, offset: Any) -> None:
        data = kind(bytes(range(16)))
        start = 0 if offset is ... else offset
        buffer = as_buffer(Interface(data=data, offset=offset, shape=(2,), typestr="<i4"))
        assert buffer.ptr == np.frombuffer(data, "u1").ctypes.data + start
        assert buffer.readonly is (kind is not bytearray)
        assert as_ndarray(buffer).tolist() == list(range(start, start + 8))

    @pytest.mark.parametrize(
        ("size", "offset"), [(7, 0), (0, 0), (15, 8), (8, 1), (8, -1), (16, 9), (16, 2**63), (16, -(2**63))]
    )
    def test_too_short(self, size: int, offset: int) -> None:
        text = refusal(ProducerError, Interface(data=bytearray(size), offset=offset, shape=(2,), typestr="<i4"))
        assert "['data']" in text
        assert f"{size} bytes" in text

    @pytest.mark.parametrize("offset", [None, "1", 1.0], ids=repr)
    def test_an_offset_that_is_no_number(self, offset: object) -> None:
        refusal(ProducerError, Interface(data=bytearray(16), offset=offset, shape=(2,), typestr="<i4"))

    @pytest.mark.parametrize("data", [..., None], ids=["absent", "None"])
    def test_the_object_itself_exports(self, data: object) -> None:
        class Both(bytearray):
            pass

        obj = Both(range(32))
        interface = {"shape": (4,), "typestr": "<i4", "offset": 8} | ({"data": None} if data is None else {})
        obj.__array_interface__ = interface  # type: ignore[attr-defined]
        buffer = as_buffer(obj)
        assert buffer.bufsize == 16
        assert as_ndarray(buffer).tolist() == list(range(8, 24))

    @pytest.mark.parametrize("data", [..., None, 5, "text", 1.5, [], object], ids=repr)
    def test_nothing_exports(self, data: object) -> None:
        assert "['data']" in refusal(ProducerError, Interface(data=data))

    def test_strided_data(self) -> None:
        refusal(CopyRequiredError, Interface(data=memoryview(bytes(64))[::2], shape=(8,)))

    def test_a_closed_map(self) -> None:
        closed = mmap.mmap(-1, 64)
        closed.close()
        refusal(ProducerError, Interface(data=closed))

    def test_nothing(self) -> None:
        assert as_buffer(Interface(data=b"", shape=(0,))).bufsize == 0

    def test_the_export_and_the_object_are_kept(self) -> None:
        memory = bytearray(range(64))
        obj = Interface(data=memory)
        died = weakref.ref(obj)
        buffer = as_buffer(obj)
        del obj
        with pytest.raises(BufferError):
            memory.append(1)
        assert died() is not None
        del buffer
        memory.append(1)
        assert died() is None


class TestCudaArrayInterface:
    @pytest.mark.parametrize("stream", [..., None])
    @pytest.mark.parametrize("access", [True, False])
    def test_nothing_is_read_and_no_device_is_named(self, access: bool, stream: object) -> None:
        obj = Cuda(data=(NOWHERE, access), stream=stream)
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize, buffer.device, buffer.readonly) == (NOWHERE, 64, (2, -1), access)
        assert buffer.owner is obj
        assert obj.asked == 1
        for view in (as_ndarray, as_memoryview):
            with pytest.raises(DeviceError):
                view(buffer)

    @pytest.mark.parametrize("stream", [0, -1, -(2**40), 1.0, "1", [1]], ids=repr)
    def test_a_stream_that_is_forbidden(self, stream: object) -> None:
        assert "['stream']" in refusal(ProducerError, Cuda(stream=stream))

    @pytest.mark.parametrize("stream", [1, 2, 0x7F0012345678])
    def test_a_stream_without_a_runtime(self, stream: int, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)
        assert "no CUDA runtime library can be loaded" in refusal(DeviceError, Cuda(stream=stream))

    @pytest.mark.parametrize("status", [0, 700])
    @pytest.mark.parametrize("stream", [1, 7])
    def test_a_stream_is_waited_for(self, stream: int, status: int, monkeypatch: pytest.MonkeyPatch) -> None:
        fails = "cudaStreamSynchronize" if status else ""
        runtime = cuda_runtime.install(monkeypatch, ordinal=1, fails=fails, status=status)
        obj = Cuda(stream=stream)
        if status:
            text = refusal(DeviceError, obj)
            assert "700" in text
            assert "no luck" in text
        else:
            assert as_buffer(obj).ptr == obj.memory.ptr
        # The default streams are those of the device that is current: it is made that of the pointer.
        assert runtime.calls == [("cudaPointerGetAttributes", obj.memory.ptr), ("cudaStreamSynchronize", stream)]
        assert (runtime.devices[-1], runtime.current, runtime.cleared) == (1, 0, bool(status))

    @pytest.mark.parametrize("stream", [None, 1, 7])
    def test_nothing_is_not_waited_for(self, stream: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
        cuda_runtime.remove(monkeypatch)
        assert as_buffer(Cuda(shape=(0,), data=(0, False), stream=stream)).bufsize == 0

    def test_a_mask_is_not_left_out(self) -> None:
        assert "['mask']" in refusal(ProducerError, Cuda(mask=Cuda()))
        assert as_buffer(Cuda(mask=None)).bufsize == 64

    @pytest.mark.parametrize("data", [b"bytes", None, ..., 5], ids=repr)
    def test_only_addresses(self, data: object) -> None:
        assert "['data']" in refusal(ProducerError, Cuda(data=data))

    def test_an_object_whose_every_attribute_fails(self) -> None:
        class Trap:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(f"no driver for {name}")

        assert "looked for" in refusal(TypeError, Trap())

    @pytest.mark.peers
    def test_cupy_without_a_driver(self) -> None:
        cupy: Any = pytest.importorskip("cupy")
        if cupy.cuda.is_available():
            pytest.skip("a driver is there")
        pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(NOWHERE, 64, self, 0), 0)
        strided = cupy.ndarray((4,), "f4", pointer, (8,))
        assert "strided" in refusal(CopyRequiredError, strided)

    @pytest.mark.peers
    @pytest.mark.parametrize("what", ["array", "empty array", "stream"])
    def test_cupy_without_a_driver_is_a_device_error(self, what: str) -> None:
        cupy: Any = pytest.importorskip("cupy")
        if cupy.cuda.is_available():
            pytest.skip("a driver is there")
        pointer = cupy.cuda.MemoryPointer(cupy.cuda.UnownedMemory(NOWHERE, 64, self, 0), 0)
        obj = {
            "array": cupy.ndarray((16,), "f4", pointer),
            "empty array": cupy.ndarray((0,), "f4", pointer),
            "stream": Cuda(stream=1),
        }[what]
        assert "CUDA runtime" in refusal(DeviceError, obj)


EXPORTERS: dict[str, tuple[Callable[[], Any], bool]] = {
    "bytes": (lambda: bytes(range(16)), True),
    "bytearray": (lambda: bytearray(range(16)), False),
    "array of int32": (lambda: array.array("i", [50462976, 117835012, 185207048, 252579084]), False),
    "memoryview": (lambda: memoryview(bytes(range(16))), True),
    "part of a memoryview": (lambda: memoryview(bytes(range(20)))[:16], True),
    "memoryview of 4 x 4": (lambda: memoryview(bytearray(range(16))).cast("B", (4, 4)), False),
    "read-only memoryview": (lambda: memoryview(bytearray(range(16))).toreadonly(), True),
    "ctypes array": (lambda: (ctypes.c_ubyte * 16)(*range(16)), False),
    "ctypes array of structs": (
        lambda: (type("Pair", (ctypes.Structure,), {"_fields_": [("a", ctypes.c_int64)]}) * 2).from_buffer_copy(
            bytes(range(16))
        ),
        False,
    ),
    "memoryview in Fortran order": (
        lambda: memoryview(np.frombuffer(bytearray(range(16)), "u1").reshape(4, 4).T),
        False,
    ),
    "read-only memoryview in Fortran order": (
        lambda: memoryview(np.frombuffer(bytes(range(16)), "u1").reshape(4, 4).T),
        True,
    ),
}


class TestBufferProtocol:
    @pytest.mark.parametrize("name", EXPORTERS)
    def test_bytes_and_access(self, name: str) -> None:
        make, readonly = EXPORTERS[name]
        obj = make()
        buffer = as_buffer(obj)
        assert (buffer.bufsize, buffer.device, buffer.readonly) == (16, CPU, readonly)
        assert as_ndarray(buffer).tolist() == list(range(16))
        if not readonly:
            as_ndarray(buffer)[0] = 200
            assert memoryview(obj).tobytes("A")[0] == 200

    @pytest.mark.parametrize(
        "empty", [b"", bytearray(), memoryview(b""), array.array("d")], ids=lambda x: type(x).__name__
    )
    def test_nothing(self, empty: Any) -> None:
        assert as_buffer(empty).bufsize == 0

    def test_the_export_is_held_and_returned(self) -> None:
        memory = bytearray(16)
        view = as_ndarray(memory)
        with pytest.raises(BufferError):
            memory.append(0)
        del view
        memory.append(0)

    def test_a_map(self, tmp_path: Path) -> None:
        file = tmp_path / "mapped"
        file.write_bytes(bytes(range(64)))
        with file.open("r+b") as handle:
            mapped = mmap.mmap(handle.fileno(), 64)
        buffer = as_buffer(mapped)
        with pytest.raises(BufferError):
            mapped.close()
        as_ndarray(buffer)[0] = 77
        del buffer
        mapped.flush()
        mapped.close()
        assert file.read_bytes()[0] == 77
        assert "closed" in refusal(ProducerError, mapped)

    @pytest.mark.parametrize("step", [2, -1])
    def test_strided(self, step: int) -> None:
        assert "strided" in refusal(CopyRequiredError, memoryview(bytes(16))[::step])

    def test_references_are_no_data(self) -> None:
        class Kept(ctypes.Structure):
            _fields_ = (("reference", ctypes.py_object),)

        assert "Python objects" in refusal(TypeError, Kept())
        assert "Python objects" in refusal(TypeError, memoryview((ctypes.py_object * 2)()))

    def test_a_field_whose_name_has_an_o(self) -> None:
        class Named(ctypes.Structure):
            _fields_ = (("One", ctypes.c_int64),)

        assert as_buffer(Named(5)).bufsize == 8

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688")
    def test_a_class_that_exports(self) -> None:
        released: list[int] = []

        class Exporter:
            def __init__(self) -> None:
                self.memory = bytearray(range(16))

            def __buffer__(self, flags: int) -> memoryview:
                return memoryview(self.memory)

            def __release_buffer__(self, view: memoryview) -> None:
                released.append(1)
                view.release()

        obj = Exporter()
        died = weakref.ref(obj)
        buffer = as_buffer(obj)
        del obj
        assert as_ndarray(buffer).tolist() == list(range(16))
        assert not released
        assert died() is not None
        del buffer
        assert released
        assert died() is None

    @pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688")
    @pytest.mark.parametrize("error", [BufferError, RuntimeError, ValueError])
    def test_a_class_that_fails(self, error: type[Exception]) -> None:
        class Failing:
            def __buffer__(self, flags: int) -> memoryview:
                raise error("no")

        assert error.__name__ in refusal(ProducerError, Failing())


class Described:
    """An object with `ptr`, `bufsize` and `__dlpack_device__` and nothing else."""

    def __init__(self, device: object = (1, None), **fields: Any) -> None:
        self.memory = Memory()
        self.device = device
        self.asked: list[str] = []
        self.fields = {"ptr": self.memory.ptr, "bufsize": 64} | fields

    @property
    def ptr(self) -> Any:
        self.asked.append("ptr")
        return self.fields["ptr"]

    @property
    def bufsize(self) -> Any:
        self.asked.append("bufsize")
        return self.fields["bufsize"]

    def __dlpack_device__(self) -> object:
        self.asked.append("device")
        return self.device


class TestDescription:
    def test_is_read_and_the_object_is_the_owner(self) -> None:
        obj = Described()
        died = weakref.ref(obj)
        buffer = as_buffer(obj)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (obj.memory.ptr, 64, CPU)
        assert buffer.owner is obj
        assert obj.asked[0] == "device", "the device is looked at before the pointer"
        del obj
        assert as_ndarray(buffer).tolist() == list(range(64))
        del buffer
        assert died() is None

    @pytest.mark.parametrize(("said", "readonly"), [(False, False), (True, True), (..., True), (0, True)], ids=repr)
    def test_what_does_not_say_that_it_may_be_written_is_read_only(self, said: object, readonly: bool) -> None:
        obj = Described()
        if said is not ...:
            obj.readonly = said  # type: ignore[attr-defined]
        assert as_buffer(obj).readonly is readonly

    def test_a_device_is_kept(self) -> None:
        buffer = as_buffer(Described(device=(2, 3), ptr=NOWHERE))
        assert buffer.device == (2, 3)
        with pytest.raises(DeviceError):
            as_ndarray(buffer)

    @pytest.mark.parametrize(
        "fields",
        [
            {"ptr": 0},
            {"ptr": None},
            {"ptr": "1"},
            {"ptr": -1},
            {"ptr": 2**64},
            {"bufsize": -1},
            {"bufsize": None},
            {"bufsize": 2**64},
            {"ptr": 2**64 - 1},
            {"device": None},
            {"device": (0, 0)},
        ],
        ids=str,
    )
    def test_what_cannot_be(self, fields: dict[str, Any]) -> None:
        refusal(ProducerError, Described(**fields))

    @pytest.mark.parametrize("missing", ["ptr", "bufsize", "__dlpack_device__"])
    def test_two_of_three(self, missing: str) -> None:
        members = {"ptr": 0, "bufsize": 0, "__dlpack_device__": lambda _: (1, 0)}
        del members[missing]
        assert "looked for" in refusal(TypeError, type("Part", (), members)())


SIZES = {"|u1": 1, "<i2": 2, ">f4": 4, "<c16": 16, "|S3": 3, "<U2": 8}


@given(
    kind=st.sampled_from([Interface, Cuda]),
    typestr=st.sampled_from(sorted(SIZES)),
    shape=st.lists(st.integers(0, 3), max_size=4).map(tuple),
    order=st.randoms(use_true_random=False),
    wild=st.one_of(st.none(), st.lists(st.integers(-20, 20), min_size=4, max_size=4)),
)
def test_any_layout_is_read_as_the_specification_says(
    kind: type[Interface], typestr: str, shape: tuple[int, ...], order: Any, wild: list[int] | None
) -> None:
    axes, steps, step = list(range(len(shape))), [0] * len(shape), SIZES[typestr]
    order.shuffle(axes)
    for axis in axes:
        steps[axis], step = step, step * max(shape[axis], 1)
    strides = tuple(steps if wild is None else wild[: len(shape)])
    obj = kind(shape=shape, strides=strides, typestr=typestr)
    places = sorted(sum(i * step for i, step in zip(where, strides, strict=True)) for where in np.ndindex(*shape))
    if places != [SIZES[typestr] * i for i in range(math.prod(shape))]:
        refusal(CopyRequiredError, obj)
    else:
        buffer = as_buffer(obj)
        assert buffer.bufsize == SIZES[typestr] * math.prod(shape)
        assert buffer.ptr == obj.memory.ptr or not buffer.bufsize


@given(size=st.integers(0, 40), offset=st.integers(-50, 50), shape=st.lists(st.integers(0, 6), max_size=3).map(tuple))
def test_no_byte_outside_the_exporter_is_lent(size: int, offset: int, shape: tuple[int, ...]) -> None:
    memory = bytes(range(size))
    obj = Interface(data=memory, offset=offset, shape=shape, typestr="<i2")
    needed = 2 * math.prod(shape)
    if 0 <= offset <= offset + needed <= size:
        assert as_memoryview(obj).tobytes() == memory[offset : offset + needed]
    else:
        refusal(ProducerError, obj)
