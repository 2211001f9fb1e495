"""Public reports of other libraries about memory of devices, each with what is right, shown on the stand-in.

One test a report or a group of one cause; the name has the first number, the docstring all of them.
"""

import ctypes
import pickle
from typing import Any

import pytest

from buflend.maximal import Buffer, as_buffer, as_column, as_memoryview, as_ndarray, as_table
from buflend.shared import DeviceError, DeviceType, ProducerError

from ..arrow_producer import Lie, keep
from ..capsules import consume, name_of, read_struct, struct_of
from ..hand import i32
from ..only import only
from .hooks import StandIn, contract
from .lenders import (
    LEGACY,
    NEW,
    OLD,
    PER_THREAD,
    SIZE,
    Arrow,
    Block,
    Described,
    Exporting,
    event_behind,
    late,
    refusal,
    seen,
    seen_on,
    settled,
    side,
    tabled,
)
from .test_lifetimes import Consumer, in_a_thread


def host_bytes(buffer: Any) -> bytes:
    return as_memoryview(buffer.to_host()).tobytes()


def test_numba_4933_the_stream_of_an_interface(stand_in: StandIn) -> None:
    """numba#4933, numba PR #5162, DALI PR #5125: it is waited for before use; 0 is no stream."""
    for device in (0, 1):
        block, handle = late(stand_in, device=device)
        as_buffer(Described(block, stream=handle))
        assert seen(stand_in, block.address) == NEW
    assert "0 is forbidden" in refusal(lambda: as_buffer(Described(block, stream=0)), ProducerError)


def test_numba_4886_the_object_is_kept_and_not_its_dict(stand_in: StandIn) -> None:
    """numba#4886, numba#5007: the dict has no owner; what it came from is one."""
    for level in (as_buffer, as_column):
        block = Block(stand_in)
        freed, made = block.freed, level(Described(block))
        del block
        buffer = made if level is as_buffer else made.data
        assert isinstance(buffer.owner, Described)
        assert (host_bytes(buffer), freed) == (OLD, [])
        del made, buffer
        assert freed == [contract.SUCCESS]


@pytest.mark.parametrize("stream", [None, LEGACY, PER_THREAD, -1])
def test_pytorch_150217_what_streams_mean(stand_in: StandIn, stream: int | None) -> None:
    """Reports pytorch PR #150217, #163242, drjit PR #377: None and 1 are the default stream; -1 asks for no order."""
    block, handle = late(stand_in, device=1)
    producer = Exporting(block, handle)
    buffer = as_buffer(producer)
    assert producer.asked == [LEGACY], "said aloud: defaults differ between libraries"
    stand_in.forget_calls()
    buffer.__dlpack__(stream=stream, max_version=(1, 3))
    assert ("cudaStreamWaitEvent" in stand_in.calls()) == (stream == PER_THREAD)
    on = side(stand_in, 1) if stream == -1 else stream or LEGACY
    assert seen_on(stand_in, block.address, on, 1) == (OLD if stream == -1 else NEW)


def test_dlpack_176_queued_work_is_no_reference(stand_in: StandIn) -> None:
    """dlpack#176, cupy#8068: who drops the last view before the work is done has freed its memory."""
    for waits_first in (True, False):
        block, _ = late(stand_in, LEGACY)
        view, stream, target = as_buffer(Exporting(block, LEGACY)), side(stand_in), contract.host()
        del block
        taken = Consumer(view.__dlpack__(stream=stream, max_version=(1, 3)))
        stand_in.call("cudaMemcpyAsync", target, view.ptr, SIZE, contract.TO_HOST, stream)
        del view
        if waits_first:
            assert stand_in.call("cudaStreamSynchronize", stream) == contract.SUCCESS
            assert target.raw == NEW
            del taken
        else:
            del taken
            assert stand_in.call("cudaStreamSynchronize", stream) == contract.INVALID_VALUE
        stand_in.reset()


def test_rmm_654_the_stream_lives_as_long_as_the_memory(stand_in: StandIn) -> None:
    """Reports rmm PR #654, #931, cuda-python PR #1032, #2602: an owner that frees on a stream holds the stream."""

    class Pooled(Block):
        """Waits for its stream before it frees, and lets the stream go after that."""

        def __init__(self, cuda: StandIn) -> None:
            super().__init__(cuda, 1)
            self.stream = side(cuda, 1)

        def __del__(self) -> None:
            self.freed.append(self.cuda.call("cudaStreamSynchronize", self.stream))
            super().__del__()
            self.freed.append(self.cuda.call("cudaStreamDestroy", self.stream))

    block, before = Pooled(stand_in), stand_in.streams()
    block.queue(NEW, block.stream)
    freed, buffer = block.freed, as_buffer(Described(block, stream=block.stream))
    del block
    capsule = buffer.__dlpack__(max_version=(1, 3))
    del buffer
    assert (freed, stand_in.streams()) == ([], before)
    del capsule
    assert (freed, stand_in.streams()) == ([contract.SUCCESS] * 3, before - 1)


def test_pytorch_54139_no_copy_that_nobody_asked_for(stand_in: StandIn) -> None:
    """pytorch#54139: a consumer that is told no device gets the memory where it is, or an error, and no copy."""
    block, handle = late(stand_in, device=1)
    buffer = as_buffer(Described(block, stream=handle))
    stand_in.forget_calls()
    said = read_struct(buffer.__dlpack__(max_version=(1, 3)))
    assert (said["data"], said["device"]) == (block.address, (2, 1))
    for read in (as_ndarray, as_memoryview, memoryview, pickle.dumps):
        refusal(lambda read=read: read(buffer), (DeviceError, TypeError))
    assert set(stand_in.calls()) == {"cudaPointerGetAttributes"}


@pytest.mark.parametrize("current", [0, 1])
def test_cupy_3991_a_pointer_is_asked_while_another_device_is_current(stand_in: StandIn, current: int) -> None:
    """cupy#3991: the answer is the memory's, and the current device stays current."""
    blocks = [Block(stand_in, device) for device in (0, 1)]
    with stand_in.on(current):
        assert [as_buffer(Described(block)).__dlpack_device__() for block in blocks] == [(2, 0), (2, 1)]
        assert stand_in.number("cudaGetDevice") == current


def test_cuvs_2239_the_device_is_not_always_0(stand_in: StandIn) -> None:
    """Reports cuvs PR #2239, mahout#744, Paddle PR #68549: from the pointer, or from the producer, everywhere."""
    block, handle = late(stand_in, device=1)
    event = event_behind(stand_in, handle, 1)
    for obj in (
        Described(block, stream=handle),
        Exporting(block, handle),
        Arrow(Lie("C", SIZE, [None, block.address]), (2, 1), event),
    ):
        column = as_column(obj)
        assert (column.device, column.__dlpack_device__()) == ((2, 1), (2, 1))
        assert read_struct(column.__dlpack__(max_version=(1, 3)))["device"] == (2, 1)
        array = struct_of(column.__arrow_c_device_array__()[1])
        assert tuple((ctypes.c_int32 * 3).from_address(array + 80))[::2] == (1, 2)
    assert as_buffer(tabled(block, handle)).device == (2, 1)


@pytest.mark.parametrize("device", [(2, 0), (2, 1), (2, 5)])
@pytest.mark.parametrize("current", [0, 1])
def test_tensorflow_47866_ordinals_are_not_translated(stand_in: StandIn, current: int, device: tuple[int, int]) -> None:
    """tensorflow#47866: what a producer says goes out as it came in, whatever is current and however many there are."""
    block = Block(stand_in, 1)
    with stand_in.on(current):
        buffer = as_buffer(Exporting(block, LEGACY, device=device))
        again = as_buffer(only(buffer, "dlpack"))
    assert (buffer.device, again.device) == (device, device)
    assert read_struct(again.__dlpack__())["device"] == device


def test_pytorch_96318_managed_memory_is_13(stand_in: StandIn) -> None:
    """pytorch#96318, cuda-python PR #1863: not 3, not 2; as the CPU's for who takes no other, and without a copy."""
    block, handle = late(stand_in, kind="managed")
    buffer = as_buffer(Described(block, stream=handle))
    assert (buffer.device.type, buffer.__dlpack_device__()) == (DeviceType.CUDA_MANAGED, (13, 0))
    said = read_struct(buffer.__dlpack__(dl_device=(1, 0), max_version=(1, 3)))
    assert (said["device"], said["data"], said["flags"]) == ((1, 0), block.address, 0)
    assert ctypes.string_at(said["data"], SIZE) == NEW


def test_jax_22346_the_host_reads_pinned_memory(stand_in: StandIn) -> None:
    """jax#22346, jax PR #37896: pinned memory is of CUDA, and the host's to read."""
    block, handle = late(stand_in, kind="pinned")
    buffer = as_buffer(Described(block, stream=handle))
    assert buffer.__dlpack_device__() == (3, 0)
    assert as_ndarray(buffer).tobytes() == as_ndarray(buffer.to_host()).tobytes() == NEW
    assert hasattr(buffer, "__array_interface__")


@pytest.mark.parametrize("device", [0, 1])
def test_cupy_2104_nothing(stand_in: StandIn, device: int) -> None:
    """cupy#2104, #2610, #2789, rmm#210, #296, cuda-python#1396, numba#4175: the pointer is 0, and nobody is asked."""
    empty = Block(stand_in, device, content=b"")
    assert empty.address == 0, "as the runtime gives it"
    stand_in.forget_calls()
    by_dlpack = as_buffer(Exporting(empty, LEGACY))
    by_interface = as_buffer(Described(empty, stream=LEGACY))
    column = as_column(Described(empty, stream=LEGACY))
    with stand_in.on(device):
        devices = [made.__dlpack_device__() for made in (by_dlpack, by_interface, column)]
    assert devices == [(2, device)] * 3
    for made in (by_dlpack, by_interface, column, as_column(Described(Block(stand_in, device)))[4:4]):
        assert made.__cuda_array_interface__["data"] == (0, False)
        assert read_struct(made.__dlpack__(max_version=(1, 3)))["shape"] == (0,)
    nothing = as_table({"n": as_column(Described(Block(stand_in, device)))[4:4]})
    assert nothing.__cuda_array_interface__["data"] == (0, False)
    assert by_dlpack.to_host().bufsize == 0
    assert not {"cudaStreamSynchronize", "cudaMemcpyAsync"} & set(stand_in.calls())


def test_cupy_2589_strides(stand_in: StandIn) -> None:
    """cupy#2589: None where elements follow one another; else bytes by the interface, elements by DLPack."""
    block = Block(stand_in)
    whole = as_column(Described(block, typestr="<i4", shape=(16,)))
    every_other = as_column(Described(block, typestr="<i4", shape=(8,), strides=(8,)))
    one = as_table({"n": whole})
    said = [made.__cuda_array_interface__["strides"] for made in (as_buffer(Described(block)), whole, every_other, one)]
    assert said == [None, None, (8,), None]
    capsules = [read_struct(made.__dlpack__(max_version=(1, 3))) for made in (whole, every_other)]
    assert [capsule["strides"] for capsule in capsules] == [(1,), (2,)]


def test_pytorch_88082_a_deleter_on_any_thread(stand_in: StandIn) -> None:
    """pytorch#88082, numpy#22507, dlpack#103, #129, CV-CUDA#298: it takes the interpreter's lock for itself."""
    block = Block(stand_in, 1)
    freed, buffer = block.freed, as_buffer(Described(block))
    del block
    for versioned in ({"max_version": (1, 3)}, {}):
        if not versioned:
            buffer = Buffer(buffer.ptr, SIZE, owner=buffer.owner, device=(2, 1))
        capsule = buffer.__dlpack__(**versioned)
        address = struct_of(capsule)
        deleter = ctypes.c_void_p.from_address(address + (16 if versioned else 56)).value
        consume(capsule)
        del capsule
        if not versioned:
            del buffer
        assert freed == []
        in_a_thread(deleter, address)
    assert freed == [contract.SUCCESS]


def test_pytorch_9260_the_destructor_of_a_consumed_capsule_does_nothing(stand_in: StandIn) -> None:
    """pytorch#9260: else the memory is freed twice, or under its consumer."""
    block = Block(stand_in)
    freed, capsule = block.freed, as_buffer(Described(block)).__dlpack__(max_version=(1, 3))
    del block
    delete = consume(capsule)
    assert name_of(capsule) == b"used_dltensor_versioned"
    del capsule
    settled()
    assert freed == []
    delete()
    assert freed == [contract.SUCCESS]


def test_cupy_9842_a_copy_on_the_device_is_refused_aloud(stand_in: StandIn) -> None:
    """cupy#9842: `copy=True` that gives a view would be worse than none."""
    buffer = as_buffer(Described(Block(stand_in)))
    text = refusal(lambda: buffer.__dlpack__(copy=True, max_version=(1, 3)), BufferError)
    assert "copy=True: a copy on CUDA device 0 is not made here" in text


@pytest.mark.parametrize("dtype", [(4, 16, 1), (10, 8, 1), (2, 16, 1)], ids=["bfloat16", "float8_e4m3fn", "float16"])
def test_cupy_9480_types_that_numpy_lacks(stand_in: StandIn, dtype: tuple[int, int, int]) -> None:
    """cupy#9480, cuda-python PR #838: bfloat16 and its like go through with their name and their bits."""
    block, handle = late(stand_in, device=1)
    column = as_column(Exporting(block, handle, dtype=dtype, shape=(8 * SIZE // dtype[1],)))
    said = read_struct(column.__dlpack__(max_version=(1, 3)))
    assert (said["dtype"], said["data"], said["device"]) == (dtype, block.address, (2, 1))
    assert host_bytes(column.data) == NEW
    capsule = column.__dlpack__(dl_device=(1, 0), max_version=(1, 3))
    host = read_struct(capsule)
    assert (host["dtype"], ctypes.string_at(host["data"], SIZE)) == (dtype, NEW)


def test_cupy_9436_nothing_for_another_process(stand_in: StandIn) -> None:
    """cupy#9436, numba#5429, rmm PR #375: an address is not sent, and memory not copied without a word."""
    block, handle = late(stand_in, device=1)
    for made in (as_buffer(Exporting(block, handle)), as_column(Exporting(block, handle))):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            text = refusal(lambda made=made, protocol=protocol: pickle.dumps(made, protocol), DeviceError)
            assert "pickle buffer.to_host() instead" in text
    buffer = as_buffer(Exporting(block, handle))
    loaded = pickle.loads(pickle.dumps(buffer.to_host()))  # noqa: S301 - our own
    assert (as_memoryview(loaded).tobytes(), loaded.device) == (NEW, (1, 0))


def test_cudf_16058_the_event_is_behind_a_pointer(stand_in: StandIn) -> None:
    """Report cudf PR #16058: `sync_event` is the address of a handle, which is looked at when the array is taken."""
    first, second = (late(stand_in, old=i32(0, 0), new=i32(0, 4)) for _ in range(2))
    text = Block(stand_in)
    obj = Arrow(Lie("u", 1, [None, first[0].address, text.address]), (2, 0))
    handle = ctypes.c_void_p(event_behind(stand_in, second[1], 0))
    obj.event = keep(handle)
    handle.value = event_behind(stand_in, first[1], 0)
    assert as_column(obj).data.bufsize == 4  # type: ignore[union-attr]
    assert [seen(stand_in, block.address, 8) for block, _ in (first, second)] == [i32(0, 4), i32(0, 0)]
    handle.value = 12345
    assert "waiting for an event failed: CUDA error 400" in refusal(lambda: as_column(obj), DeviceError)


@pytest.mark.parametrize("level", [as_buffer, as_column], ids=["buffer", "column"])
def test_cudf_13307_spillable_memory_is_asked_for_once(stand_in: StandIn, level: Any) -> None:
    """Reports cudf PR #13307, #15436: the interface pins memory to where it then is; before that it may move."""

    class Spillable:
        def __init__(self) -> None:
            self.at, self.asked = Block(stand_in), 0

        def move(self) -> None:
            if not self.asked:
                self.at = Block(stand_in)

        @property
        def __cuda_array_interface__(self) -> dict[str, Any]:
            self.asked += 1
            return {"shape": (SIZE,), "typestr": "|u1", "data": (self.at.address, False), "version": 3}

    obj = Spillable()
    obj.move()
    made = level(obj)
    obj.move()
    buffer = made if level is as_buffer else made.data
    assert (buffer.ptr, buffer.owner) == (obj.at.address, obj)
    assert (made.__dlpack_device__(), host_bytes(buffer)) == ((2, 0), OLD)
    assert made.__cuda_array_interface__["data"] == (obj.at.address, False)
    assert obj.asked == 1


def test_cuda_python_1624_views_that_start_inside(stand_in: StandIn) -> None:
    """cuda-python#449, cuda-python PR #1624, #2592: `byte_offset` is added once, and the sum goes out."""
    block, handle = late(stand_in, device=1)
    obj = Exporting(block, handle, byte_offset=16, shape=(SIZE - 16,))
    for made in (as_buffer(obj), as_column(obj)):
        buffer = getattr(made, "data", made)
        assert (buffer.ptr, host_bytes(buffer)) == (block.address + 16, NEW[16:])
        said = read_struct(made.__dlpack__(max_version=(1, 3)))
        assert said["data"] + said["byte_offset"] == block.address + 16
        assert made.__cuda_array_interface__["data"][0] == block.address + 16
    part = as_column(obj)[8:24]
    assert part.__cuda_array_interface__["data"] == (block.address + 24, False)
