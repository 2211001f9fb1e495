"""The minimal buffer: what is accepted, what is refused, and what is read from a foreign object."""

import array
import copy
import ctypes
import gc
import mmap
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from buflend.minimal import Buffer, SupportsBuffer, as_buffer, as_memoryview, as_ndarray
from buflend.shared import CPU, STATIC, BuflendError, CopyRequiredError, Device, DeviceError, ProducerError


def described(**changes: Any) -> SimpleNamespace:
    """Return an object with the three attributes of a buffer, over memory that lives for ever."""
    numbers = np.arange(4, dtype="int32")
    fields = {"ptr": numbers.ctypes.data, "bufsize": 16, "__dlpack_device__": lambda: (1, None), "keep": numbers}
    return SimpleNamespace(**{name: value for name, value in {**fields, **changes}.items() if value is not ...})


class TestConstructor:
    def test_fields(self) -> None:
        owner = object()
        buffer = Buffer(0x1000, 24, owner=owner, device=(2, 1), readonly=True)
        assert (buffer.ptr, buffer.bufsize, buffer.device, buffer.readonly) == (0x1000, 24, (2, 1), True)
        assert buffer.owner is owner
        assert type(buffer.device) is Device

    def test_defaults(self) -> None:
        buffer = Buffer(0x1000, 1, owner=STATIC)
        assert buffer.device is CPU
        assert buffer.readonly is False

    def test_device_is_plain_integers_to_others(self) -> None:
        kind, ordinal = Buffer(0x1000, 1, owner=STATIC, device=Device(2, 1)).__dlpack_device__()
        assert (kind, ordinal) == (2, 1)
        assert type(kind) is type(ordinal) is int
        assert Buffer(0, 0, owner=STATIC).__dlpack_device__() == (1, 0)

    def test_integers_of_other_libraries(self) -> None:
        buffer = Buffer(np.uint64(0x1000), np.int32(8), owner=STATIC)  # type: ignore[arg-type]
        assert type(buffer.ptr) is type(buffer.bufsize) is int

    def test_owner_is_required(self) -> None:
        with pytest.raises(TypeError, match="owner"):
            Buffer(0x1000, 8)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match="owner=STATIC of the shared package"):
            Buffer(0x1000, 8, owner=None)

    @pytest.mark.parametrize(
        ("ptr", "bufsize", "word"),
        [
            (-1, 0, "address"),
            (1, -1, "bufsize"),
            (0, 1, "NULL"),
            (2**64, 0, "address"),
            (2**64 - 8, 9, "address"),
            (1, 2**63, "bufsize"),
        ],
    )
    def test_numbers_that_cannot_be(self, ptr: int, bufsize: int, word: str) -> None:
        with pytest.raises(ValueError, match=word) as caught:
            Buffer(ptr, bufsize, owner=STATIC)
        assert not isinstance(caught.value, BuflendError)  # the caller's mistake, not a producer's

    def test_the_last_byte_of_the_address_space(self) -> None:
        assert Buffer(2**64 - 8, 8, owner=STATIC).bufsize == 8

    @pytest.mark.parametrize(("ptr", "bufsize"), [(1.0, 8), ("1", 8), (1, None), (1, 8.0)])
    def test_wrong_types(self, ptr: Any, bufsize: Any) -> None:
        with pytest.raises(TypeError):
            Buffer(ptr, bufsize, owner=STATIC)

    def test_the_error_names_the_class_and_the_argument(self) -> None:
        with pytest.raises(TypeError, match=r"^Buffer\.__init__\(\)"):
            Buffer(1, 1)  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"^bufsize: got 'x', expected an integer"):
            Buffer(1, "x", owner=STATIC)  # type: ignore[arg-type]

    def test_a_number_of_any_length_gets_its_error(self) -> None:
        for ptr, bufsize in ((10**5000, 1), (1, 10**5000), (1, 2**62 + 1)):
            with pytest.raises(ValueError, match=r"ptr|bufsize"):
                Buffer(ptr, bufsize, owner=STATIC)

    @pytest.mark.parametrize("device", [Device(1, 3), Device(1, -1)])
    def test_the_cpu_has_one_id(self, device: Device) -> None:
        assert Buffer(1, 1, owner=STATIC, device=device).device is CPU

    @pytest.mark.parametrize("device", [Device("cpu", 0), Device(0, 0), Device(-5, 0), Device(2, -9)])  # type: ignore[arg-type]
    def test_a_device_is_looked_at(self, device: Device) -> None:
        with pytest.raises(TypeError, match="device"):
            Buffer(1, 1, owner=STATIC, device=device)

    @pytest.mark.parametrize("device", [None, 1, "cpu", (0, 0), (1, 2, 3), (1.0, 0)])
    def test_wrong_device(self, device: Any) -> None:
        with pytest.raises(TypeError, match=r"^device: got"):
            Buffer(1, 1, owner=STATIC, device=device)

    def test_null_pointer_to_nothing(self) -> None:
        assert as_ndarray(Buffer(0, 0, owner=STATIC), "int64").shape == (0,)
        assert as_memoryview(Buffer(0, 0, owner=STATIC)).tobytes() == b""


class TestObject:
    def test_does_not_change(self) -> None:
        buffer = Buffer(0x1000, 8, owner=STATIC)
        for name in ("ptr", "bufsize", "device", "owner", "readonly", "anything"):
            with pytest.raises(AttributeError):
                setattr(buffer, name, 1)

    def test_repr_shows_life_and_reads_nothing(self) -> None:
        assert repr(Buffer(0x1000, 8, owner=[1], device=(2, 3), readonly=True)) == (
            "<buflend.minimal.Buffer ptr=0x1000 bufsize=8 device=CUDA:3 readonly owner=list>"
        )
        assert repr(Buffer(0x1000, 8, owner=STATIC, device=(99, 0))) == (
            "<buflend.minimal.Buffer ptr=0x1000 bufsize=8 device=99:0 writable owner=STATIC>"
        )

    @pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
    def test_an_address_does_not_travel(self, copied: Callable[[object], object]) -> None:
        with pytest.raises(TypeError, match="no meaning in another process"):
            copied(Buffer(0x1000, 8, owner=STATIC))

    def test_is_collected_in_cycles(self) -> None:
        owner: list[Any] = []
        owner.append(Buffer(0x1000, 8, owner=owner))
        died: list[int] = []
        import weakref

        weakref.finalize(owner[0], died.append, 1)
        del owner
        gc.collect()
        assert died == [1]

    def test_satisfies_its_protocol(self) -> None:
        assert isinstance(Buffer(0, 0, owner=STATIC), SupportsBuffer)
        assert isinstance(described(), SupportsBuffer)
        assert not isinstance(b"", SupportsBuffer)

    def test_size_stays_small(self) -> None:
        assert sys.getsizeof(Buffer(0, 0, owner=STATIC)) <= 128  # bytes, the collector's header included


class TestAsBuffer:
    def test_a_buffer_is_itself(self) -> None:
        buffer = Buffer(0x1000, 8, owner=STATIC)
        assert as_buffer(buffer) is buffer

    def test_described_memory(self) -> None:
        source = described()
        buffer = as_buffer(source)
        assert (buffer.ptr, buffer.bufsize, buffer.device) == (source.ptr, 16, CPU)
        assert buffer.owner is source
        assert buffer.readonly
        assert as_ndarray(buffer, "int32").tolist() == [0, 1, 2, 3]

    def test_described_memory_that_permits_writing(self) -> None:
        source = described(readonly=False)
        as_ndarray(source, "int32")[0] = 7
        assert source.keep[0] == 7
        assert as_buffer(described(readonly=None)).readonly  # only the word False permits it

    @pytest.mark.parametrize(
        ("changes", "field"),
        [
            ({"ptr": -1}, "ptr"),
            ({"ptr": None}, "ptr"),
            ({"ptr": 1.5}, "ptr"),
            ({"ptr": 0}, "ptr"),
            ({"ptr": 2**64}, "ptr"),
            ({"bufsize": -1}, "bufsize"),
            ({"bufsize": "16"}, "bufsize"),
            ({"bufsize": 2**63}, "bufsize"),
            ({"__dlpack_device__": lambda: None}, "__dlpack_device__"),
            ({"__dlpack_device__": lambda: (0, 0)}, "__dlpack_device__"),
            ({"__dlpack_device__": lambda: 1 // 0}, "__dlpack_device__"),
            ({"__dlpack_device__": (1, 0)}, "__dlpack_device__"),
        ],
    )
    def test_a_description_that_cannot_be_true(self, changes: dict[str, Any], field: str) -> None:
        with pytest.raises(ProducerError) as caught:
            as_buffer(described(**changes))
        assert field in caught.value.field

    @pytest.mark.parametrize("name", ["ptr", "bufsize", "readonly", "__dlpack_device__"])
    def test_an_attribute_that_raises(self, name: str) -> None:
        def fail(_: object) -> None:
            raise RuntimeError("not today")

        fields = {"ptr": 0, "bufsize": 0, "__dlpack_device__": lambda _: (1, 0), name: property(fail)}
        with pytest.raises(ProducerError, match="RuntimeError: not today") as caught:
            as_buffer(type("Raising", (), fields)())
        assert isinstance(caught.value.__cause__, RuntimeError)

    def test_an_interrupt_is_not_the_producers_fault(self) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            as_buffer(described(__dlpack_device__=interrupt))

    def test_an_interrupt_is_no_attribute_that_is_not_there(self) -> None:
        class Interrupted:
            def __getattr__(self, name: str) -> None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            as_buffer(Interrupted())

    def test_the_device_is_never_assumed(self) -> None:
        with pytest.raises(TypeError, match="looked for"):
            as_buffer(described(__dlpack_device__=...))

    def test_a_weak_proxy_keeps_nothing_alive(self) -> None:
        import weakref

        class Foreign:
            ptr = bufsize = 0

            def __dlpack_device__(self) -> tuple[int, int]:
                return 1, 0

        foreign, buffer = Foreign(), Buffer(0, 0, owner=STATIC)
        for proxy in (weakref.proxy(foreign), weakref.proxy(buffer)):
            with pytest.raises(TypeError, match="looked for"):
                as_buffer(proxy)

    def test_a_class_that_says_it_is_another(self) -> None:
        class Mimic:
            __class__ = Buffer  # type: ignore[assignment]

        with pytest.raises(TypeError, match="looked for"):
            as_buffer(Mimic())

    @pytest.mark.parametrize("obj", [None, 1, "text", object(), [1], Buffer])
    def test_nothing_readable(self, obj: object) -> None:
        with pytest.raises(TypeError, match=r"looked for .*__dlpack_device__.*PEP 3118"):
            as_buffer(obj)

    def test_device_memory_is_described_and_not_read(self) -> None:
        buffer = as_buffer(described(ptr=0xDEAD0000, __dlpack_device__=lambda: (2, 1)))
        assert buffer.device == (2, 1)
        for view in (as_ndarray, as_memoryview):
            with pytest.raises(DeviceError, match="CUDA device 1"):
                view(buffer)


class TestExporters:
    @pytest.mark.parametrize(
        ("exporter", "readonly"),
        [
            (b"12345678", True),
            (bytearray(b"12345678"), False),
            (array.array("q", [1]), False),
            (memoryview(b"12345678"), True),
            (memoryview(bytearray(b"xx12345678"))[2:], False),
            (np.arange(1), False),
            ((ctypes.c_char * 8)(), False),
        ],
        ids=["bytes", "bytearray", "array", "view", "part-of-view", "ndarray", "ctypes"],
    )
    def test_same_bytes_same_address(self, exporter: Any, readonly: bool) -> None:
        buffer = as_buffer(exporter)
        assert buffer.readonly is readonly
        assert buffer.bufsize == 8
        assert as_memoryview(buffer).tobytes() == memoryview(exporter).tobytes()
        assert as_ndarray(buffer).ctypes.data == np.frombuffer(exporter, "uint8").ctypes.data == buffer.ptr

    def test_what_is_written_arrives(self) -> None:
        exporter = bytearray(4)
        as_ndarray(exporter)[1] = 7
        as_memoryview(exporter)[2] = 8
        assert exporter == b"\0\x07\x08\0"

    def test_read_only_is_kept(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            as_ndarray(b"abc")[0] = 1
        with pytest.raises(TypeError, match="read-only"):
            as_memoryview(b"abc")[0] = 1
        with pytest.raises(ValueError, match="WRITEABLE"):
            as_ndarray(b"abc").setflags(write=True)

    def test_a_bytearray_cannot_be_resized_while_it_is_lent(self) -> None:
        exporter = bytearray(8)
        view = as_ndarray(exporter)
        with pytest.raises(BufferError):
            exporter.extend(b"x")
        del view
        exporter.extend(b"x")

    def test_a_map_cannot_be_closed_while_it_is_lent(self, tmp_path: Path) -> None:
        path = tmp_path / "data"
        path.write_bytes(b"12345678")
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            view = as_ndarray(mapped)
            with pytest.raises(BufferError):
                mapped.close()
            assert view.tobytes() == b"12345678"
            del view

    def test_empty_exporters(self) -> None:
        for exporter in (b"", bytearray(), np.empty(0), np.empty((3, 0))):
            assert as_buffer(exporter).bufsize == 0
            assert as_ndarray(exporter).shape == (0,)
            assert as_memoryview(exporter).tobytes() == b""

    def test_zero_dimensions(self) -> None:
        assert as_ndarray(np.array(7, "int32"), "int32").tolist() == [7]

    def test_any_contiguous_order_is_a_range_of_bytes(self) -> None:
        numbers = np.asfortranarray(np.arange(6, dtype="uint8").reshape(2, 3))
        assert as_memoryview(numbers).tobytes() == bytes([0, 3, 1, 4, 2, 5])

    @pytest.mark.parametrize("exporter", [np.arange(4)[::2], np.arange(4)[::-1], memoryview(b"abcd")[::2]])
    def test_strided_memory_is_no_buffer(self, exporter: object) -> None:
        with pytest.raises(CopyRequiredError, match="strided"):
            as_buffer(exporter)

    def test_references_are_no_data(self) -> None:
        with pytest.raises(TypeError, match="Python objects"):
            as_buffer(np.array([object()]))
        assert as_buffer(np.zeros(1, [("Offset", "i4")])).bufsize == 4  # an O in a name is none

    def test_a_closed_map(self) -> None:
        mapped = mmap.mmap(-1, 8)
        mapped.close()
        with pytest.raises(ProducerError, match="closed"):
            as_buffer(mapped)

    def test_a_users_view_may_be_released(self) -> None:
        user = memoryview(bytearray(b"abc"))
        buffer = as_buffer(user)
        user.release()
        assert as_memoryview(buffer).tobytes() == b"abc"

    def test_owner_is_the_held_export(self) -> None:
        exporter = bytearray(3)
        owner: Any = as_buffer(exporter).owner
        assert owner.obj is exporter
