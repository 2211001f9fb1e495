"""Array interfaces, NumPy's and CUDA's, and exporters of the buffer protocol become columns.

Expected values are those of the specifications: NumPy, "The array interface protocol", version 3; Numba, "CUDA Array
Interface (Version 3)"; PEP 3118.
"""

import array as arrays
import ctypes
import gc
import weakref
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend import minimal
from buflend.maximal import Column, as_buffer, as_column
from buflend.maximal.column_interface import from_cuda_interface, from_exporter, from_interface
from buflend.shared import CopyRequiredError, Device, ProducerError
from tests import cuda_runtime
from tests.streams import Described

USE_BITMASK, USE_BYTEMASK = 3, 4


def first(column: Column) -> int:
    """Return the address of element 0, by what the column says of itself."""
    assert column.data is not None
    assert column.strides is not None
    return column.data.ptr + column.byte_offset + column.offset * column.strides[0]


class Interface:
    """An object with `__array_interface__` over 64 bytes of the values 0 to 63, which it owns."""

    def __init__(self, **fields: Any) -> None:
        self.bytes = (ctypes.c_ubyte * 64)(*range(64))
        self.ptr = ctypes.addressof(self.bytes)
        self.fields = {"shape": (8,), "typestr": "<i8", "data": (self.ptr, True), "version": 3} | fields

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return self.fields


class Exported(Interface):
    """The same by the buffer that it exports."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(**fields)
        self.fields["data"] = self.bytes


class TestInterface:
    @pytest.mark.parametrize("kind", [Interface, Exported])
    def test_values_and_owner(self, kind: type[Interface]) -> None:
        obj = kind(typestr=">u2", shape=(32,))
        died, ptr = weakref.ref(obj), obj.ptr
        column = as_column(obj)
        del obj
        gc.collect()
        assert died() is not None
        assert first(column) == ptr
        assert column.tolist() == [256 * n + n + 1 for n in range(0, 64, 2)]
        del column
        gc.collect()
        assert died() is None

    def test_strides(self) -> None:
        obj = Interface(typestr="|u1", shape=(4,), strides=(-3,))
        obj.fields["data"] = (obj.ptr + 20, True)
        column = from_interface(obj)
        assert column is not None
        assert column.data is not None
        assert column.tolist() == [20, 17, 14, 11]
        assert (column.data.ptr, column.data.bufsize, column.data.readonly) == (obj.ptr + 11, 10, True)

    def test_descr(self) -> None:
        obj = Interface(typestr="|V8", shape=(2,), descr=[("a", "<u2"), ("b", "<u2"), ("", "|V4")])
        column = from_interface(obj)
        assert column is not None
        assert column.children[1].tolist() == [2 + 256 * 3, 10 + 256 * 11]

    def test_the_export_is_held(self) -> None:
        memory = bytearray(range(8))
        column = from_interface(Interface(typestr="|u1", data=memory))
        assert column is not None
        with pytest.raises(BufferError):
            memory.append(0)
        assert column.tolist() == list(range(8))

    def test_exported_memory_is_held_against_what_is_described(self) -> None:
        said = r"'64 bytes', expected \(9,\) items of 8 bytes, strides None, behind offset 0"
        with pytest.raises(ProducerError, match=said):
            from_interface(Exported(shape=(9,)))
        with pytest.raises(ProducerError):
            from_interface(Exported(offset=1))
        with pytest.raises(ProducerError):
            from_interface(Exported(shape=(2,), strides=(-8,)))
        column = from_interface(Exported(shape=(2,), strides=(-8,), offset=8, typestr="|u1"))
        assert column is not None
        assert column.tolist() == [8, 0]

    @pytest.mark.parametrize(
        "fields",
        [
            {"typestr": "<i3"},
            {"typestr": "|O8"},
            {"typestr": "|V8", "descr": [("a", "<u4")]},
            {"typestr": "|V8", "descr": [("a", "O")]},
            {"strides": (8, 8)},
            {"data": (0, False)},
            {"shape": 8},
        ],
    )
    def test_what_cannot_be(self, fields: dict[str, Any]) -> None:
        with pytest.raises(ProducerError):
            from_interface(Interface(**fields))

    def test_two_dimensions(self) -> None:
        with pytest.raises(TypeError, match="dimension"):
            from_interface(Interface(shape=(4, 2)))

    def test_a_mask_says_what_is_there(self) -> None:
        mask = Interface(typestr="|b1", shape=(3,), strides=(1,))
        column = from_interface(Interface(typestr="|u1", shape=(3,), mask=mask))
        assert column is not None
        assert column.tolist() == [None, 1, 2]
        with pytest.raises(ProducerError, match="mask"):
            from_interface(Interface(typestr="|u1", shape=(64,), mask=mask))

    @pytest.mark.parametrize(
        ("stride", "start", "there"), [(1, 3, [3, 4, 5]), (2, 3, [3, 5, 7]), (-2, 5, [5, 3, 1])], ids=str
    )
    def test_a_mask_is_read_where_it_lies(self, stride: int, start: int, there: list[int]) -> None:
        mask = Interface(typestr="|b1", shape=(3,), strides=(stride,))
        mask.fields["data"] = (mask.ptr + start, True)
        for value in range(64):
            mask.bytes[value] = value == there[1]
        column = from_interface(Interface(typestr="|u1", shape=(3,), mask=mask))
        assert column is not None
        assert column.tolist() == [None, 1, None]

    @pytest.mark.parametrize("memory", [b"lent", bytearray(b"lent")])
    def test_what_an_exporter_forbids_is_not_written(self, memory: Any) -> None:
        column = from_interface(Interface(typestr="|u1", shape=(4,), data=memory))
        assert column is not None
        assert column.data is not None
        assert column.data.readonly is isinstance(memory, bytes)

    def test_none(self) -> None:
        assert from_interface(SimpleNamespace()) is None
        assert from_cuda_interface(SimpleNamespace()) is None


class TestCuda:
    """No device is needed: memory is described, never read."""

    def described(self, **fields: Any) -> Any:
        fields = {"shape": (4,), "typestr": "<f4", "data": (0x1000, False), "version": 3} | fields
        return SimpleNamespace(__cuda_array_interface__=fields)

    def test_numbers(self) -> None:
        column = from_cuda_interface(self.described(strides=(-8,)))
        assert column is not None
        assert column.data is not None
        assert column.device == Device(2, -1)
        assert (tuple(column.dtype), column.strides, column.null_count) == ((2, 32, "f", "="), (-8,), 0)
        assert (column.data.ptr, column.data.bufsize, first(column)) == (0x1000 - 24, 28, 0x1000)

    @pytest.mark.parametrize(
        ("typestr", "shape", "null", "nbytes"),
        [("|b1", (4,), (USE_BYTEMASK, 0), 4), ("|u1", (4,), (USE_BYTEMASK, 0), 4), ("<t1", (4,), (USE_BITMASK, 0), 1)],
    )
    def test_masks(self, typestr: str, shape: tuple[int], null: tuple[int, int], nbytes: int) -> None:
        mask = self.described(typestr=typestr, shape=shape, data=(0x2000, True))
        column = from_cuda_interface(self.described(mask=mask))
        assert column is not None
        assert column.validity is not None
        assert column.describe_null == null
        assert (column.validity.ptr, column.validity.bufsize) == (0x2000, nbytes)
        assert column.null_count is None, "nobody can look"

    @pytest.mark.parametrize("wrong", [{"shape": (9,)}, {"shape": (2,)}, {"shape": ()}, {"strides": (-1,)}], ids=str)
    def test_the_shape_of_a_mask_of_bits_counts_bits(self, wrong: dict[str, Any]) -> None:
        fields = {"typestr": "<t1", "shape": (10,), "data": (0x2000, True)}
        column = from_cuda_interface(self.described(shape=(10,), mask=self.described(**fields)))
        assert column is not None
        assert column.validity is not None
        assert (column.validity.ptr, column.validity.bufsize) == (0x2000, 2)
        with pytest.raises((ProducerError, TypeError), match="mask"):
            from_cuda_interface(self.described(shape=(10,), mask=self.described(**fields | wrong)))

    def test_the_object_is_kept_and_that_of_the_mask(self) -> None:
        mask = self.described(typestr="|b1", data=(0x2000, True))
        obj = self.described(mask=mask)
        column = from_cuda_interface(obj)
        assert column is not None
        assert column.data is not None
        assert column.validity is not None
        assert (column.data.owner, column.validity.owner) == (obj, mask)

    @pytest.mark.parametrize("typestr", ["<M8[s]", "|S4", "<U4"])
    def test_no_numbers(self, typestr: str) -> None:
        with pytest.raises(TypeError):
            from_cuda_interface(self.described(typestr=typestr))


class TestExporters:
    def test_types(self) -> None:
        assert as_column(b"ab").tolist() == [97, 98]
        assert as_column(arrays.array("d", [1.5, 2.5])).tolist() == [1.5, 2.5]
        assert as_column(memoryview(bytearray(range(6)))[::-2]).tolist() == [5, 3, 1]
        assert as_column((ctypes.c_int32 * 2)(3, -4)).tolist() == [3, -4]

    def test_the_export_is_held(self) -> None:
        memory = bytearray(8)
        column = from_exporter(memory)
        with pytest.raises(BufferError):
            memory.append(0)
        del column
        memory.append(0)

    def test_refusals(self) -> None:
        assert from_exporter(object()) is None
        with pytest.raises(TypeError, match="dimension"):
            from_exporter(memoryview(bytes(6)).cast("B", (2, 3)))
        with pytest.raises(TypeError, match="objects"):
            from_exporter(memoryview(np.array([None])))
        released = memoryview(b"x")
        released.release()
        with pytest.raises(ProducerError):
            from_exporter(released)


def test_a_mask_that_lies_apart_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = cuda_runtime.install(monkeypatch)
    answers = {}

    def attributes(out: Any, ptr: int) -> int:
        ctypes.memmove(out, bytes((ctypes.c_int * 2)(2, answers[ptr])), 8)
        return 0

    monkeypatch.setattr(runtime, "cudaPointerGetAttributes", attributes)
    values, mask = Described(), Described(typestr="|b1")
    answers |= {ctypes.addressof(values.memory): 0, ctypes.addressof(mask.memory): 1}
    values.__cuda_array_interface__["mask"] = mask
    with pytest.raises(ProducerError, match=r"\['mask'\]"):
        as_column(values)
    answers[ctypes.addressof(mask.memory)] = 0
    assert as_column(values).__dlpack_device__() == (2, 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"data": (4, False), "shape": (10,), "strides": (-8,)},
        {"data": (2**64 + 5, False)},
        {"data": (2**63, False), "strides": (2**70,)},
    ],
    ids=repr,
)
def test_numbers_that_can_be_no_memory_are_the_producers_fault(fields: dict[str, Any]) -> None:
    for make in (as_buffer, as_column):
        with pytest.raises((ProducerError, CopyRequiredError)):
            make(Described(**fields))


@pytest.mark.parametrize("count", [1, 24])
@pytest.mark.parametrize(
    "make", [minimal.as_buffer, as_buffer, as_column], ids=["minimal.as_buffer", "as_buffer", "as_column"]
)
def test_an_exporter_without_memory_is_refused(make: Any, count: int) -> None:
    nowhere = (ctypes.c_ubyte * count).from_address(0)
    for exporter in (nowhere, memoryview(nowhere).toreadonly()):
        with pytest.raises(ProducerError, match=f"buffer protocol: got None, expected the address of {count} byte"):
            make(exporter)


def test_a_strided_view_of_no_memory_is_refused_and_nothing_is_nothing() -> None:
    with pytest.raises(ProducerError, match="buffer protocol: got None"):
        as_column(memoryview((ctypes.c_ubyte * 24).from_address(0))[::2])
    nothing = (ctypes.c_ubyte * 0).from_address(0)
    assert as_column(nothing).tolist() == []
    assert (minimal.as_buffer(nothing).bufsize, as_buffer(nothing).bufsize) == (0, 0)
