"""CuPy and cuda.core where no driver is found: what they take and refuse of ours, and what we say of theirs.

Both read a capsule without a driver and touch no memory, so that address, layout, device and owner are seen to arrive.
Expected are the layouts lent here, as `dlpack.h` 1.3 counts them, in elements; the refusals are each library's own.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from buflend import maximal, minimal
from buflend.maximal import Buffer, Column, Native, Table, as_buffer, as_column, as_cupy, as_table
from buflend.shared import CopyRequiredError, DeviceError, ProducerError

from .capsules import Producer
from .driver import absent
from .only import CONTENT, Owner, lend, only

pytestmark = [pytest.mark.peers, absent]

OTHER = 0x7F0012345678  # a stream's handle


class Layout(NamedTuple):
    """What is made of 64 bytes, how many bytes from their start its first element lies, and how it is laid out."""

    make: Callable[[Buffer], Any]
    at: int
    shape: tuple[int, ...]
    steps: tuple[int, ...]
    dtype: str

    def strides(self) -> tuple[int, ...]:
        return tuple(step * np.dtype(self.dtype).itemsize for step in self.steps)


def two(buffer: Buffer, rows: int = 4) -> Table:
    return Table({name: Column("f", rows, data=buffer, offset=at) for name, at in (("a", 0), ("b", 8))})


LAYOUTS = {
    "buffer": Layout(lambda b: b, 0, (64,), (1,), "uint8"),
    "column": Layout(lambda b: Column("i", 5, data=b, offset=2), 8, (5,), (1,), "int32"),
    "strided": Layout(lambda b: Column("s", 4, data=b, byte_offset=4, strides=(12,)), 4, (4,), (6,), "int16"),
    "reversed": Layout(lambda b: Column("l", 3, data=b, byte_offset=40, strides=(-16,)), 40, (3,), (-2,), "int64"),
    "table": Layout(two, 0, (4, 2), (1, 8), "float32"),
}
EMPTY: dict[str, tuple[Callable[[Buffer], Any], tuple[int, ...]]] = {
    "buffer": (lambda b: b, (0,)),
    "column": (lambda b: Column("i", 0, data=b), (0,)),
    "table": (lambda b: Table({"a": Column("g", 0, data=b), "b": Column("g", 0, data=b)}), (0, 2)),
}
layouts = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
versions = pytest.mark.parametrize("version", [None, (1, 3)], ids=["legacy", "versioned"])


def refused(kind: type[BaseException], function: Callable[..., Any], *args: Any, **options: Any) -> str:
    """Return the text of the error, of exactly this kind, that a call must raise; the error itself is gone."""
    __tracebackhide__ = True  # a failure shows arguments by their text, and there may be no memory to read
    try:
        made = function(*args, **options)
    except Exception as error:
        if type(error) is not kind:
            raise
        return str(error)
    raise AssertionError(f"accepted, as a {type(made)}")


class TestCupyTakes:
    @pytest.fixture(autouse=True)
    def _cupy(self) -> None:
        self.cupy: Any = pytest.importorskip("cupy")

    @layouts
    @versions
    @pytest.mark.parametrize("ordinal", [0, 1])
    def test_what_lies_on_a_device(self, layout: Layout, version: Any, ordinal: int) -> None:
        buffer, returned = lend(device=(2, ordinal))
        at = buffer.ptr + layout.at
        taken = self.cupy.from_dlpack(layout.make(buffer).__dlpack__(max_version=version))
        assert (taken.data.ptr, taken.device.id) == (at, ordinal)
        assert (taken.shape, taken.strides, taken.dtype) == (layout.shape, layout.strides(), layout.dtype)
        part = taken[1:]
        del buffer, taken
        assert not returned
        assert part.data.ptr == at + layout.strides()[0]
        del part
        assert returned == [1]

    @versions
    @pytest.mark.parametrize(("make", "shape"), EMPTY.values(), ids=EMPTY)
    def test_nothing(self, make: Callable[[Buffer], Any], shape: tuple[int, ...], version: Any) -> None:
        buffer, returned = lend(b"", device=(2, 1))
        taken = self.cupy.from_dlpack(make(buffer).__dlpack__(max_version=version))
        assert (taken.shape, taken.size, taken.device.id) == (shape, 0, 1)
        del buffer
        assert not returned
        del taken
        assert returned == [1]

    @layouts
    @versions
    @pytest.mark.parametrize(
        ("device", "words"),
        [((3, 0), "different from the backend"), ((10, 0), "different from the backend"), ((13, 0), "Driver")],
    )
    def test_not_what_lies_elsewhere(self, layout: Layout, version: Any, device: tuple[int, int], words: str) -> None:
        buffer, returned = lend(device=device)
        capsule = layout.make(buffer).__dlpack__(max_version=version)
        del buffer
        assert not returned
        kind = self.cupy.cuda.runtime.CUDARuntimeError if device[0] == 13 else RuntimeError
        assert words in refused(kind, self.cupy.from_dlpack, capsule)
        assert returned == [1], "a consumer that refuses what it has taken gives it back"
        del capsule
        assert returned == [1]

    @versions
    def test_no_capsule_twice(self, version: Any) -> None:
        buffer, returned = lend(device=(2, 0))
        capsule = buffer.__dlpack__(max_version=version)
        taken = self.cupy.from_dlpack(capsule)
        refused(ValueError, self.cupy.from_dlpack, capsule)
        del buffer, capsule
        assert not returned
        assert taken.data.ptr
        del taken
        assert returned == [1]

    @layouts
    def test_an_object_where_the_device_must_be_asked(self, layout: Layout) -> None:
        buffer, returned = lend(device=(2, 0))
        error = self.cupy.cuda.runtime.CUDARuntimeError
        assert "Driver" in refused(error, self.cupy.from_dlpack, layout.make(buffer))
        assert "Driver" in refused(error, self.cupy.asarray, only(layout.make(buffer), "cuda_array_interface"))
        del buffer
        assert returned == [1]


class TestCupyLends:
    """An array that CuPy makes without a driver, since its ordinal is given: whatever asks it for more raises."""

    @pytest.fixture(autouse=True)
    def _cupy(self) -> None:
        self.cupy: Any = pytest.importorskip("cupy")

    def lent(self, kind: str) -> tuple[Any, list[int]]:
        returned: list[int] = []
        owner = Owner(returned, CONTENT)
        memory = self.cupy.cuda.UnownedMemory(owner.address, 64, owner, 1)
        array = self.cupy.ndarray((16,), "f4", self.cupy.cuda.MemoryPointer(memory, 0))
        own = type("Own", (self.cupy.ndarray,), {})
        kinds = {"array": lambda: array, "part": lambda: array[4:8], "empty": lambda: array[:0]}
        return kinds.get(kind, lambda: array.view(own))(), returned

    def test_even_looking_for_the_interface_raises(self) -> None:
        array, _ = self.lent("array")
        with pytest.raises(self.cupy.cuda.runtime.CUDARuntimeError):
            hasattr(array, "__cuda_array_interface__")

    @pytest.mark.parametrize("kind", ["array", "part", "empty", "subclass"])
    @pytest.mark.parametrize(
        "take",
        [
            as_buffer,
            as_column,
            as_cupy,
            maximal.as_memoryview,
            maximal.as_ndarray,
            maximal.column_to_ndarray,
            pytest.param(lambda array: as_table({"x": array}), id="as_table"),
        ],
    )
    def test_the_driver_is_named(self, take: Callable[[Any], Any], kind: str) -> None:
        array, returned = self.lent(kind)
        text = refused(DeviceError, take, array)
        assert "CUDA runtime does not answer" in text
        assert "driver" in text
        del array
        assert returned == [1], "an error keeps nothing"

    def test_what_is_no_range_is_seen_before_the_driver_is_asked(self) -> None:
        array, _ = self.lent("array")
        assert "strided" in refused(CopyRequiredError, as_buffer, array[::2])
        assert "CUDA runtime" in refused(DeviceError, as_column, array[::2])

    @pytest.mark.parametrize("take", [minimal.as_buffer, minimal.as_ndarray, minimal.as_cupy, as_table])
    def test_who_does_not_read_it_says_what_it_looked_for(self, take: Callable[[Any], Any]) -> None:
        array, returned = self.lent("array")
        text = refused(TypeError, take, array)
        assert "cupy.ndarray" in text
        assert "looked for" in text
        del array
        assert returned == [1]

    def test_its_memory_can_be_lent_by_hand(self) -> None:
        array, returned = self.lent("part")
        buffer = Buffer(array.data.ptr, array.nbytes, owner=array, device=(2, 1))
        assert buffer.native is Native.CUPY
        assert "owner=ndarray" in repr(buffer), "the owner's own text would ask the driver"
        view = as_cupy(buffer, "float32")
        assert (view.data.ptr, view.shape, view.device.id) == (array.data.ptr, (4,), 1)
        del array, buffer
        assert not returned
        del view
        assert returned == [1]


class Recorded:
    """A producer that passes on what it is asked, and notes it."""

    def __init__(self, lent: Any) -> None:
        self.lent = lent
        self.asked: list[dict[str, Any]] = []

    def __dlpack_device__(self) -> tuple[int, int]:
        where: tuple[int, int] = self.lent.__dlpack_device__()
        return where

    def __dlpack__(self, **options: Any) -> object:
        self.asked.append(options)
        capsule: object = self.lent.__dlpack__(**options)
        return capsule


class TestCudaCore:
    @pytest.fixture(autouse=True)
    def _core(self) -> None:
        pytest.importorskip("cuda.bindings")
        self.view: Any = pytest.importorskip("cuda.core.utils").StridedMemoryView
        self.core: Any = sys.modules["cuda.core"]

    @layouts
    @pytest.mark.parametrize("way", ["from_dlpack", "from_any_interface"])
    @pytest.mark.parametrize("device", [(2, 0), (2, 1), (3, 0), (13, 0)])
    def test_takes(self, layout: Layout, way: str, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        at = buffer.ptr + layout.at
        lent = Recorded(layout.make(buffer))
        view = getattr(self.view, way)(lent, stream_ptr=-1)
        assert (view.ptr, view.device_id, view.is_device_accessible) == (at, device[1], True)
        assert (view.shape, view.strides, view.dtype) == (layout.shape, layout.steps, layout.dtype)
        assert view.exporting_obj is lent
        assert not view.readonly
        del buffer, lent
        assert not returned
        del view
        assert returned == [1]

    @pytest.mark.parametrize(("make", "shape"), EMPTY.values(), ids=EMPTY)
    def test_takes_nothing(self, make: Callable[[Buffer], Any], shape: tuple[int, ...]) -> None:
        buffer, returned = lend(b"", device=(2, 1))
        view = self.view.from_dlpack(make(buffer), stream_ptr=-1)
        assert (view.shape, view.device_id) == (shape, 1)
        del buffer, view
        assert returned == [1]

    # What is given -> what arrives; the standard forbids 0, and None is its default.
    @pytest.mark.parametrize(("given", "arrives"), [(-1, -1), (0, None), (1, 1), (2, 2), (OTHER, OTHER)])
    @pytest.mark.parametrize("device", [(2, 1), (13, 0)])
    @layouts
    def test_streams_arrive(self, given: int, arrives: int | None, device: tuple[int, int], layout: Layout) -> None:
        buffer, returned = lend(device=device)
        lent = Recorded(layout.make(buffer))
        view = self.view.from_dlpack(lent, stream_ptr=given)
        assert [asked["stream"] for asked in lent.asked] == [arrives]
        assert [asked["max_version"][0] for asked in lent.asked] == [1]
        del buffer, lent, view
        assert returned == [1]

    @pytest.mark.parametrize("given", [1, 2, OTHER])
    @layouts
    def test_pinned_memory_has_no_stream(self, given: int, layout: Layout) -> None:
        buffer, returned = lend(device=(3, 0))
        text = refused(ValueError, self.view.from_dlpack, layout.make(buffer), stream_ptr=given)
        assert text.startswith(f"stream: got {given}, expected None or -1")
        assert self.view.from_dlpack(layout.make(buffer), stream_ptr=0).ptr
        del buffer
        assert returned == [1]

    @pytest.mark.parametrize("device", [(10, 0), (14, 1), (99, 3)])
    def test_other_devices_are_refused(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        assert "device" in refused(BufferError, self.view.from_dlpack, buffer, stream_ptr=-1)
        del buffer
        assert returned == [1]

    @layouts
    def test_an_interface_needs_the_driver(self, layout: Layout) -> None:
        buffer, returned = lend(device=(2, 1))
        described = only(layout.make(buffer), "cuda_array_interface")
        with pytest.raises(RuntimeError, match="driver"):
            self.view.from_any_interface(described, stream_ptr=-1)
        del buffer, described
        assert returned == [1]

    @pytest.mark.parametrize("stream", [-1, 0, 1, 2, OTHER])
    def test_memory_passed_on_needs_no_driver(self, stream: int) -> None:
        producer = Producer(device=(2, 1))
        view = self.view.from_dlpack(as_buffer(producer), stream_ptr=stream)
        (lent,) = producer.lent
        assert (view.ptr, view.device_id) == (lent.ptr, 1)
        assert not lent.deleted
        del view
        assert len(lent.deleted) == 1

    @pytest.mark.parametrize("device", [(2, 0), (2, 1)])
    def test_a_view_lends(self, device: tuple[int, int]) -> None:
        buffer, returned = lend(device=device)
        view = self.view.from_dlpack(buffer, stream_ptr=-1)
        again = as_buffer(view)
        assert (again.ptr, again.bufsize, again.device) == (buffer.ptr, 64, device)
        del buffer, view
        assert not returned
        del again
        assert returned == [1]

    @pytest.mark.parametrize("take", [as_buffer, as_column])
    def test_its_buffer_asks_the_driver_where_it_is(self, take: Callable[[Any], Any]) -> None:
        returned: list[int] = []
        owner = Owner(returned, CONTENT)
        source = self.core.Buffer.from_handle(owner.address, 64, owner=owner)
        del owner
        assert "driver" in refused(ProducerError, take, source)
        del source
        assert returned == [1]
