"""Checks of order: what is exchanged while its producer is still at work is read after that, by each protocol.

Every check here has its negative control; see `race`. The producer's stream is the current one while its array is lent,
the consumer's while it is taken. "The host waits" where a protocol has no other way, and nowhere else.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from buflend.maximal import Buffer, as_buffer, as_column, as_cupy, as_memoryview, as_ndarray
from buflend.shared import cuda
from buflend.shared.arrow_c import ArrowDeviceArray
from buflend.shared.cpython import capsule_pointer

from .check import SkippedError, check, expect
from .offers import Arrow, Interface, copied_by_numpy
from .places import CUDA, MANAGED
from .race import SIZE, Race, ordered, requires_concurrent_managed_access, seen

if TYPE_CHECKING:
    from .race import Reader


def lent(race: Race) -> Buffer:
    """Return a buffer over the source, made while the producer's stream is current."""
    with race.stream:
        return as_buffer(race.source)


def taken_by_dlpack(race: Race, ours: Any) -> Reader:
    """Let CuPy take what is lent while the consumer's stream is current."""
    import cupy

    with race.consumer:
        view = cupy.from_dlpack(ours)
    return partial(race.read, view.data.ptr, view)


def not_ordered(race: Race) -> Reader:
    """Take a buffer by DLPack as a consumer that wants no order."""
    import cupy

    view = cupy.from_dlpack(lent(race).__dlpack__(stream=-1, max_version=(1, 0)))
    return partial(race.read, view.data.ptr, view)


@check("cupy")
def dlpack_orders_streams() -> dict[str, Any]:
    """Show a buffer of a side stream's array, taken on another; `stream=-1` is the control."""
    return ordered(Race(), lambda race: taken_by_dlpack(race, lent(race)), control=not_ordered)


@check("cupy")
def dlpack_of_a_column_orders_streams() -> dict[str, Any]:
    """Show a column of a side stream's array, taken on another."""

    def exchange(race: Race) -> Reader:
        with race.stream:
            column = as_column(race.source)
        return taken_by_dlpack(race, column)

    return ordered(Race(), exchange)


@check("cupy")
def dlpack_orders_the_default_stream() -> dict[str, Any]:
    """Show a buffer of the default stream's array, taken on a side stream."""
    import cupy

    race = Race(stream=cupy.cuda.Stream.null)
    return ordered(race, lambda race: taken_by_dlpack(race, lent(race)), control=not_ordered)


@check("cupy")
def as_cupy_orders_streams() -> dict[str, Any]:
    """Show a view of a buffer, made on the consumer's stream."""

    def exchange(race: Race) -> Reader:
        buffer = lent(race)
        with race.consumer:
            view = as_cupy(buffer)
        return partial(race.read, view.data.ptr, view)

    return ordered(Race(), exchange)


@check("cupy")
def an_interface_in_is_waited_for() -> dict[str, Any]:
    """Show that the host waits for the stream that a CUDA array interface names."""

    def exchange(race: Race) -> Reader:
        return partial(race.read, as_buffer(Interface(race.source, race.stream.ptr)).ptr)

    def control(race: Race) -> Reader:
        return partial(race.read, as_buffer(Interface(race.source)).ptr)

    return ordered(Race(), exchange, waits=True, control=control)


@check("cupy")
def an_interface_in_as_cupy_orders_streams() -> dict[str, Any]:
    """Show that for a view of CuPy its stream waits for the one that is named, and the host does not."""

    def exchange(race: Race) -> Reader:
        with race.consumer:
            view = as_cupy(Interface(race.source, race.stream.ptr))
        return partial(race.read, view.data.ptr, view)

    def control(race: Race) -> Reader:
        with race.consumer:
            view = as_cupy(Interface(race.source))
        return partial(race.read, view.data.ptr, view)

    return ordered(Race(), exchange, control=control)


@check("cupy")
def an_interface_out_names_its_stream() -> dict[str, Any]:
    """Show that who waits for the stream that a buffer's interface names reads the new bytes, as CuPy does."""
    import cupy

    def exchange(race: Race) -> Reader:
        buffer = lent(race)
        expect("stream", buffer.__cuda_array_interface__["stream"], 1)
        with race.consumer:
            view = cupy.asarray(buffer)
        return partial(race.read, view.data.ptr, view)

    return ordered(Race(), exchange, waits=None)


@check("cupy", "numba.cuda")
def an_interface_out_is_waited_for_by_numba() -> dict[str, Any]:
    """Show that numba-cuda waits for the stream that a buffer's interface names."""
    numba_cuda = import_module("numba.cuda")

    def exchange(race: Race) -> Reader:
        view = numba_cuda.as_cuda_array(lent(race))
        return partial(race.read, view.device_ctypes_pointer.value, view)

    return ordered(Race(), exchange, waits=None)


@check("cupy", "cuda.core")
def cuda_core_orders_streams() -> dict[str, Any]:
    """Show that cuda.core makes the stream that it is given wait, by both protocols."""
    core, views = import_module("cuda.core"), import_module("cuda.core.utils").StridedMemoryView
    core.Device(0).set_current()
    found = {}
    for name in ("from_dlpack", "from_cuda_array_interface"):
        take = getattr(views, name)

        def exchange(race: Race, take: Any = take) -> Reader:
            view = take(lent(race), stream_ptr=race.consumer.ptr)
            return partial(race.read, view.ptr, view)

        found[name] = ordered(Race(), exchange, waits=None)
    return found


@check("cupy", "torch")
def a_tensor_of_a_side_stream_is_ordered() -> dict[str, Any]:
    """Show that PyTorch's current stream, which its exchange table tells, comes before the consumer's."""
    import torch

    race = Race()
    tensor, stream = torch.from_dlpack(race.source), torch.cuda.ExternalStream(race.stream.ptr)

    def exchange(race: Race) -> Reader:
        with torch.cuda.stream(stream):
            buffer = as_buffer(tensor)
        with race.consumer:
            view = as_cupy(buffer)
        return partial(race.read, view.data.ptr, view)

    found = {"as_cupy": ordered(race, exchange)}

    def column(race: Race) -> Reader:
        with torch.cuda.stream(stream):
            ours = as_column(tensor)
        return taken_by_dlpack(race, ours)

    return found | {"column": ordered(race, column)}


@check("cupy", "torch")
def torch_orders_its_side_stream() -> dict[str, Any]:
    """Show that PyTorch's current stream waits, when it takes a buffer."""
    import torch

    race = Race()
    stream = torch.cuda.ExternalStream(race.consumer.ptr)

    def exchange(race: Race) -> Reader:
        buffer = lent(race)
        with torch.cuda.stream(stream):
            tensor = torch.from_dlpack(buffer)
        return partial(race.read, tensor.data_ptr(), tensor)

    return ordered(race, exchange)


@check("cupy", "jax")
def jax_orders_its_stream() -> dict[str, Any]:
    """Show that JAX reads a column after the producer."""
    import jax.dlpack
    import numpy as np

    def exchange(race: Race) -> Reader:
        with race.stream:
            column = as_column(race.source)
        array = jax.dlpack.from_dlpack(column)
        return lambda: seen(np.asarray(array))

    return ordered(Race(), exchange, waits=None)


def _event_of(pair: tuple[object, object]) -> ArrowDeviceArray:
    return ArrowDeviceArray.from_address(capsule_pointer(pair[1], b"arrow_device_array"))


@check("cupy")
def arrow_out_is_ready() -> dict[str, Any]:
    """Show that the host waits before a device array goes out, which has no event."""

    def exchange(race: Race) -> Reader:
        pair = lent(race).__arrow_c_device_array__()
        expect("event", _event_of(pair).sync_event, None)
        buffer, _ = as_column(Arrow(pair)).get_buffers()["data"] or (None, None)
        expect("address", None if buffer is None else buffer.ptr, race.address)
        return partial(race.read, race.address, buffer)

    return ordered(Race(), exchange, waits=True)


@check("cupy")
def arrow_in_is_waited_for() -> dict[str, Any]:
    """Show that the host waits for the event of a device array that comes in; one without is the control."""
    import cupy
    import numpy as np

    event = cupy.cuda.Event(disable_timing=True)
    handle = np.array([event.ptr], np.uintp)

    def exchange(race: Race, *, told: bool = True) -> Reader:
        ready = Buffer(race.address, SIZE, owner=race.source, device=(CUDA, cuda.current_device().id))
        pair = ready.__arrow_c_device_array__()
        event.record(race.stream)
        if told:
            _event_of(pair).sync_event = handle.ctypes.data
        column = as_column(Arrow(pair))
        return partial(race.read, race.address, column)

    return ordered(Race(), exchange, waits=True, control=partial(exchange, told=False))


@check("cupy")
def the_host_reads_managed_memory_when_it_is_ready() -> dict[str, Any]:
    """Show that a view of managed memory is made after the work that is queued for it."""
    import cupy

    requires_concurrent_managed_access()
    race = Race(managed=True)
    kind = int(race.source.__dlpack_device__()[0])
    if kind != MANAGED:
        raise SkippedError(f"CuPy {cupy.__version__} calls managed memory a device of type {kind}")

    def exchange(race: Race) -> Reader:
        view = as_ndarray(lent(race), "float32")
        return lambda: seen(view)

    def control(race: Race) -> Reader:
        raw = as_ndarray(Buffer(race.address, SIZE, owner=race.source), "float32")
        return lambda: seen(raw)

    return ordered(race, exchange, waits=True, control=control)


@check("cupy")
def the_copy_to_the_host_comes_behind_the_producer() -> dict[str, Any]:
    """Show that copies which are asked for by name have the new bytes."""
    import numpy as np

    def explicit(race: Race) -> Reader:
        host = as_memoryview(lent(race).to_host())
        return lambda: seen(np.frombuffer(host, np.float32))

    def by_dlpack(race: Race) -> Reader:
        host = copied_by_numpy(lent(race))
        return lambda: seen(host.view(np.float32))

    return {
        "to_host()": ordered(Race(), explicit, waits=True),
        "dl_device": ordered(Race(), by_dlpack, waits=True),
    }


@check("cupy")
def streams_of_the_second_device_are_ordered() -> dict[str, Any]:
    """Show the order of streams of the second device, while the first is current where the exchange is made."""
    import cupy

    if cuda.device_count() < 2:
        raise SkippedError("there is one device")
    first = cupy.cuda.runtime.getDevice()
    with cupy.cuda.Device(1 - min(first, 1)):
        race = Race()

        def exchange(race: Race) -> Reader:
            buffer = lent(race)
            with cupy.cuda.Device(first):
                capsule = buffer.__dlpack__(stream=race.consumer.ptr, max_version=(1, 0))
            view = cupy.from_dlpack(capsule)
            return partial(race.read, view.data.ptr, view)

        return ordered(race, exchange)
